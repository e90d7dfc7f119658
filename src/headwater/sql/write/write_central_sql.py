"""The reference: the user's own SELECT, run by one Spark over the records of all sites.

It stays as close to the text as can be, because an answer is compared with it: the source is
called ``records``, the window comes first, columns without a name get one, numbers of columns in
GROUP BY become the columns, and ORDER BY and LIMIT hold for each window. Nothing of how the query
is split goes in, but for the part: of a stream with several roots, one part is compared with the
groups that belong to it.
"""

from headwater.plan.durations import duration_text
from headwater.sql.read.sql_text import name_sql, named_sql, parse, sql_of
from headwater.sql.tree.nodes import Grouped, Node, Records, Shown, the
from headwater.sql.write.select_sql import WINDOW, ordered_sql, select_sql
from headwater.sql.write.write_site_sql import RECORDS


def write_central_sql(tree: Node) -> str:
    shown, group = the(tree, Shown), the(tree, Grouped)
    columns = [WINDOW, *(named_sql(sql_of(item.written), item.name) for item in shown.columns)]
    where = [sql_of(kept.written) for kept in group.conditions if kept.written is not None]
    if len(where) > 1:
        where[0] = f"({where[0]})"
    written = None if shown.having is None else shown.having.written
    having = None if written is None else sql_of(written)
    view = f"{RECORDS} AS {name_sql(the(tree, Records).alias)}"
    groups = [window_sql(group), *map(sql_of, group.written)]
    inner = select_sql(columns, view, where=where, groups=groups, having=having)
    return sql_of(parse(ordered_sql(tree, inner)))


def window_sql(group: Grouped) -> str:
    """Spark's own ``window()`` call for the grid."""
    window = group.window
    lengths = [window.range_us, window.slide_us, window.start_us]
    if not window.start_us:
        lengths = lengths[:1] if window.slide_us == window.range_us else lengths[:2]
    arguments = [f"'{duration_text(length)}'" for length in lengths]
    return f"WINDOW({', '.join([name_sql(group.source.time_column), *arguments])})"
