"""Names for columns of an answer that the user gave none."""

import re

from sqlglot import exp

from headwater.algebra.aggregates import AGGREGATES
from headwater.algebra.rows.types import WINDOW_COLUMN
from headwater.plan.sources.column_names import NAME_LENGTH_MAX, name_fault
from headwater.sql.read.objection import Objection
from headwater.sql.read.statements import NAME_PATTERN
from headwater.sql.resolve.grids.last_rows import LAST_ROWS
from headwater.sql.resolve.grids.own_counts import COLUMN_OF
from headwater.sql.resolve.grids.sequence_windows import SEQUENCE_WINDOW
from headwater.sql.types.call_types import name_of


def item_name(item: exp.Expr, position: int) -> str:
    """The alias, else the column's own name, else one made of an aggregate and its column.

    ``count(*)`` is ``count``, ``sum(bytes)`` is ``sum_bytes``, anything else ``column_3``.
    """
    if isinstance(item, exp.Alias):
        alias = item.args["alias"]
        fault = name_fault(item.alias)
        is_word = alias.args.get("quoted") or re.fullmatch(NAME_PATTERN, item.alias)
        if fault is None and not (isinstance(alias, exp.Identifier) and is_word):
            fault = "wanted an alias of letters a-z, digits and _, or one in backticks"
        if fault is not None:
            raise Objection(alias, fault)
        return item.alias
    if isinstance(item, exp.Column | exp.Dot):
        return item.name or item.expression.name
    if isinstance(item, exp.Bracket) and isinstance(item.expressions[0], exp.Literal):
        key = item.expressions[0]
        return key.name if key.is_string and name_fault(key.name) is None else f"column_{position}"
    call = item.this if isinstance(item, exp.Filter) else item
    if isinstance(call, exp.Anonymous):
        name = name_of(call)
        if name in (WINDOW_COLUMN, SEQUENCE_WINDOW, LAST_ROWS, *COLUMN_OF):
            return WINDOW_COLUMN
        argument = call.expressions[0] if len(call.expressions) == 1 else None
        if name in AGGREGATES and isinstance(argument, exp.Column) and item is call:
            return f"{name}_{argument.name}"[:NAME_LENGTH_MAX]
        if name in AGGREGATES and isinstance(argument, exp.Star) and item is call:
            return name
    return f"column_{position}"
