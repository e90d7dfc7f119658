"""Functions and kinds of SQL that no stream may have, found before anything else is judged.

Somebody who writes ``median(bytes)`` should read why not and what instead, and not that ``bytes``
is missing in GROUP BY, which is also true.
"""

from collections.abc import Iterator

from sqlglot import exp

from headwater.algebra.aggregates import AGGREGATES
from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import UNIT_FUNCTIONS, offset_of
from headwater.sql.resolve.find_window import is_session_call, is_window_call
from headwater.sql.resolve.generators import is_generator
from headwater.sql.resolve.resolve_ranks import is_rank
from headwater.sql.tree.grouping_sets import GROUPING_ID, GROUPING_OF
from headwater.sql.types.call_types import name_of, not_available
from headwater.sql.types.functions import CAST_FUNCTIONS, FUNCTIONS
from headwater.sql.types.lambda_types import FORMS
from headwater.sql.types.place_functions import PLACES
from headwater.sql.types.refused_nodes import is_refused, unknown_node

WRITTEN_ANEW = ("struct", GROUPING_ID, GROUPING_OF, *PLACES)
"""Functions that become others, or keys that sites fill in, when names are resolved."""


def check_functions(select: exp.Select) -> None:
    """Raises the first ``Objection`` in the order of the text."""
    found = list(_objections(select))
    if found:
        raise min(found, key=lambda objection: offset_of(objection.node or select) or 0)


def _objections(select: exp.Select) -> Iterator[Objection]:
    views = select.args.get("laterals") or ()
    calls_over = {id(node.this) for node in select.find_all(exp.Window, exp.WithinGroup)}
    calls_over |= {id(view.this) for view in views if is_generator(view.this)}
    for node in select.walk(prune=lambda node: isinstance(node, exp.From | exp.With)):
        if node is select or (isinstance(node, exp.Window) and is_rank(node)):
            continue
        if isinstance(node, exp.Anonymous) and id(node) not in calls_over:
            name = name_of(node)
            known = (FUNCTIONS, FORMS, AGGREGATES, CAST_FUNCTIONS, UNIT_FUNCTIONS, WRITTEN_ANEW)
            is_listed = any(name in names for names in known)
            if not is_listed and not is_window_call(node) and not is_session_call(node):
                yield Objection(node, not_available(name))
        elif is_refused(node):
            yield Objection(node, unknown_node(node))
