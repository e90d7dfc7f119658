"""Functions and kinds of SQL that no stream may have, found before anything else is judged.

Somebody who writes ``median(bytes)`` should read why not and what instead, and not that ``bytes``
is missing in GROUP BY, which is also true.
"""

from collections.abc import Iterator

from sqlglot import exp

from headwater.algebra.aggregates import AGGREGATES
from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import offset_of
from headwater.sql.resolve.find_window import is_window_call
from headwater.sql.types.call_types import name_of, not_available
from headwater.sql.types.functions import CAST_FUNCTIONS, FUNCTIONS
from headwater.sql.types.refused_nodes import is_refused, unknown_node


def check_functions(select: exp.Select) -> None:
    """Raises the first ``Objection`` in the order of the text."""
    found = list(_objections(select))
    if found:
        raise min(found, key=lambda objection: offset_of(objection.node or select) or 0)


def _objections(select: exp.Select) -> Iterator[Objection]:
    calls_over = {id(node.this) for node in select.find_all(exp.Window, exp.WithinGroup)}
    for node in select.walk():
        if node is select:
            continue
        if isinstance(node, exp.Anonymous) and id(node) not in calls_over:
            name = name_of(node)
            is_listed = name in FUNCTIONS or name in AGGREGATES or name in CAST_FUNCTIONS
            if not is_listed and not is_window_call(node):
                yield Objection(node, not_available(name))
        elif is_refused(node):
            yield Objection(node, unknown_node(node))
