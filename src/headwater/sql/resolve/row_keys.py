"""Rows instead of groups: a SELECT without aggregates, grouped by all that it shows.

Rows travel as a bag: merging makes equal rows one, with how often they occur beside them. So all
that a row shows, or is ordered by, is a key. What has the window in it is made at the root, where
windows are, of the columns that it takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from headwater.sql.read.objection import Objection
from headwater.sql.resolve.group_slots import is_aggregate
from headwater.sql.tree.items import Key
from headwater.sql.tree.slots import window_field
from headwater.sql.types.place_functions import is_place

ROW_COLUMNS_MAX = 500


def asks_for_rows(select: exp.Select) -> bool:
    """True of a SELECT with neither GROUP BY nor an aggregate."""
    if select.args.get("group") is not None or select.args.get("having") is not None:
        return False
    return not any(is_aggregate(node) for node in select.walk())


def row_keys(asked: Iterable[exp.Expr]) -> list[exp.Expr]:
    """What rows are told apart by, for all that is shown or ordered by. Constants tell none."""
    found: list[exp.Expr] = []
    for expression in asked:
        columns = list(expression.find_all(exp.Column))
        of_records = [column for column in columns if window_field(column) is None]
        if len(of_records) < len(columns):
            found += of_records
        elif of_records or is_place(expression):
            found.append(expression.unnest())
    return found


def check_row_size(keys: Sequence[Key]) -> None:
    """Raises ``Objection``."""
    if len(keys) > ROW_COLUMNS_MAX:
        raise Objection(
            keys[ROW_COLUMNS_MAX].expression, f"more than {ROW_COLUMNS_MAX} columns in a row"
        )
