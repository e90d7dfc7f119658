"""The site part as SQL over ``records``: expand, filter, place in panes, group, aggregate."""

from collections.abc import Iterable

from headwater.algebra.panes import WindowSpec
from headwater.algebra.rows.types import PANE_COLUMN
from headwater.sql.read.sql_text import name_sql, named_sql, parse, sql_of
from headwater.sql.tree.grouping_sets import GROUPING, grouping_sql
from headwater.sql.tree.nodes import Grouped, Node, Split, the
from headwater.sql.write.select_sql import select_sql

RECORDS = "records"
VIEW = "__view_"
"""Followed by a number: what a view is called."""


def write_site_sql(tree: Node) -> str:
    split = the(tree, Split)
    group = split.below
    placing = placing_sql(group.window, group.source.time_column, group.counted)
    columns = [f"{placing} AS {PANE_COLUMN}"]
    columns += [named_sql(key.sql, key.name) for key in split.keys]
    columns += [f"{GROUPING} AS {name_sql(split.number)}"] if split.number else []
    columns += [named_sql(text, partial.name) for partial, text in split.partials.items()]
    where = [sql_of(kept.condition) for kept in group.conditions]
    groups = grouping_sql(len(split.keys) - len(split.hidden), len(split.hidden), split.sets)
    return sql_of(parse(select_sql(columns, expanded_sql(group), where=where, groups=groups)))


def expanded_sql(group: Grouped) -> str:
    """``records`` with its views."""
    views = [
        view_sql(view.names, sql_of(view.call), f"{VIEW}{number}", is_outer=view.is_outer)
        for number, view in enumerate(group.views, start=1)
    ]
    return " ".join([RECORDS, *views])


def view_sql(names: Iterable[str], call: str, alias: str, *, is_outer: bool) -> str:
    outer = "OUTER " if is_outer else ""
    columns = ", ".join(map(name_sql, names))
    return " ".join(filter(None, [f"LATERAL VIEW {outer}{call}", alias, f"AS {columns}"]))


def placing_sql(window: WindowSpec, time_column: str, counted: str) -> str:
    """The number of a record's pane, by its time, or by the number in the ``counted`` column."""
    return number_pane_sql(window, counted) if counted else pane_sql(window, time_column)


def number_pane_sql(window: WindowSpec, column: str) -> str:
    """⌊number / pane⌋, as ``pane_sql``."""
    return _floor_sql(f"CAST({name_sql(column)} AS BIGINT)", window)


def pane_sql(window: WindowSpec, time_column: str) -> str:
    """The number of a record's pane, in whole microseconds: ⌊(time − start) / pane⌋.

    DIV rounds towards zero, so before 1970 one is taken off where there is a rest. (No double is
    involved, which would misplace microseconds, and nothing is subtracted from the time that
    could overflow at its ends, beside the window's start.)
    """
    time = f"UNIX_MICROS({name_sql(time_column)})"
    if window.start_us:
        time = f"({time} - {window.start_us})"
    return _floor_sql(time, window)


def _floor_sql(number: str, window: WindowSpec) -> str:
    return f"{number} DIV {window.pane_us} - CAST({number} % {window.pane_us} < 0 AS BIGINT)"
