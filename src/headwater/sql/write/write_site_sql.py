"""The site part as SQL over ``records``: filter, place in panes, group, compute partials."""

from headwater.algebra.panes import WindowSpec
from headwater.algebra.rows.types import PANE_COLUMN
from headwater.sql.read.sql_text import name_sql, named_sql, parse, sql_of
from headwater.sql.tree.nodes import Node, Split, the
from headwater.sql.write.select_sql import select_sql

RECORDS = "records"


def write_site_sql(tree: Node) -> str:
    split = the(tree, Split)
    group = split.below
    columns = [f"{pane_sql(group.window, group.source.time_column)} AS {PANE_COLUMN}"]
    columns += [named_sql(key.sql, key.name) for key in group.keys]
    columns += [named_sql(text, partial.name) for partial, text in split.partials.items()]
    where = [sql_of(kept.condition) for kept in group.conditions]
    positions = [str(position) for position in range(1, len(group.keys) + 2)]
    return sql_of(parse(select_sql(columns, RECORDS, where=where, groups=positions)))


def pane_sql(window: WindowSpec, time_column: str) -> str:
    """The number of a record's pane, in whole microseconds: ⌊(time − start) / pane⌋.

    DIV rounds towards zero, so before 1970 one is taken off where there is a rest. (No double is
    involved, which would misplace microseconds, and nothing is subtracted from the time that
    could overflow at its ends, beside the window's start.)
    """
    time = f"UNIX_MICROS({name_sql(time_column)})"
    if window.start_us:
        time = f"({time} - {window.start_us})"
    return f"{time} DIV {window.pane_us} - CAST({time} % {window.pane_us} < 0 AS BIGINT)"
