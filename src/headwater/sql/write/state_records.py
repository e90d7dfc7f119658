"""The reference for states: the last records of each site, beside each window that they are in.

A record of a site is among its last *n* from its own pane on, and as long as fewer than *n* were
read after it that lie in panes up to the one that is asked for. None of the next *n* that were read
lies in a later pane than the latest of them: so there it is over at the latest. Within these bounds
records are ranked in each pane, and those that rank beyond *n* go::

    n = 2       read:  a (pane 0)  b (pane 2)  c (pane 1)  d (pane 2)
    a: up to pane 1    b: none    c and d: to the end
    pane 0: {a}        pane 1: {a, c}        pane 2: {c, d}
"""

from collections.abc import Sequence

from headwater.algebra.windows.sequence_grid import ROW
from headwater.sql.read.sql_text import name_sql
from headwater.sql.rules.keep_what_has_a_time import placed_sql
from headwater.sql.tree.nodes import Grouped
from headwater.sql.write.select_sql import WINDOW
from headwater.sql.write.write_site_sql import RECORDS, pane_sql

AT = "__at_site"
"""Column of the reference's records: the site of a record."""
BEGIN = "__begin"
END = "__end"
"""And the first pane that is asked for, and the first that is not any more."""
_FROM, _UNTIL, _PANE, _AGE = "__from", "__until", "__pane", "__age"


def states_sql(group: Grouped, where: Sequence[str], alias: str) -> str:
    """The records that ``where`` keeps, once for each window whose state they are in."""
    order = f"PARTITION BY {AT} ORDER BY {ROW}"
    next_ones = f"{order} ROWS BETWEEN 1 FOLLOWING AND {group.last_n} FOLLOWING"
    placed = (
        f"SELECT *, {pane_sql(group.window, group.source.time_column)} AS {_FROM} FROM {RECORDS}"
    )
    kept = " AND ".join([placed_sql(group.source.time_column, ""), *(f"({one})" for one in where)])
    known = f"SELECT * FROM ({placed}) AS {name_sql(alias)} WHERE {kept} AND {_FROM} >= {BEGIN}"
    bounded = (
        f"SELECT *, CASE WHEN COUNT(*) OVER ({next_ones}) < {group.last_n} THEN {END} ELSE "
        f"MAX({_FROM}) OVER ({next_ones}) END AS {_UNTIL} FROM ({known})"
    )
    panes = f"EXPLODE(SEQUENCE({_FROM}, LEAST({_UNTIL}, {END}) - 1)) AS {_PANE}"
    spread = f"SELECT *, {panes} FROM ({bounded}) WHERE {_FROM} < LEAST({_UNTIL}, {END})"
    age = f"ROW_NUMBER() OVER (PARTITION BY {AT}, {_PANE} ORDER BY {ROW} DESC) AS {_AGE}"
    ranked = f"SELECT *, {age} FROM ({spread})"
    length = group.window.pane_us
    window = (
        f"NAMED_STRUCT('start', TIMESTAMP_MICROS({_PANE} * {length}), "
        f"'end', TIMESTAMP_MICROS(({_PANE} + 1) * {length}))"
    )
    return f"(SELECT {window} AS {WINDOW}, * FROM ({ranked}) WHERE {_AGE} <= {group.last_n})"
