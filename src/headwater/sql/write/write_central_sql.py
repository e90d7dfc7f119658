"""The reference: the user's own SELECT, run by one Spark over the records of all sites.

It stays as close to the text as can be, because an answer is compared with it: the source is
called ``records``, the window comes first, columns without a name get one, numbers of columns in
GROUP BY become the columns, and ORDER BY and LIMIT hold for each window. Rows without GROUP BY are
read with their window beside them. Nothing of how the query is split goes in, but for the part: of
a stream with several roots, one part is compared with the groups that belong to it. And where Spark
leaves open which of several values a function gives, the order is written that we state.
"""

from collections.abc import Sequence

from sqlglot import exp

from headwater.algebra.aggregates import AGGREGATES, DISTINCT
from headwater.algebra.aggregates.aggregate import spelled
from headwater.plan.durations import duration_text
from headwater.sql.read.sql_text import name_sql, named_sql, parse, parse_expression, sql_of
from headwater.sql.rules.count_copies import COPIES
from headwater.sql.rules.keep_what_has_a_time import placed_sql
from headwater.sql.tree.grouping_sets import GROUPING_ID
from headwater.sql.tree.nodes import Grouped, Node, Records, Shown, the
from headwater.sql.types.call_types import name_of
from headwater.sql.write.select_sql import WINDOW, answer_sql, select_sql
from headwater.sql.write.state_records import states_sql
from headwater.sql.write.write_site_sql import RECORDS, view_sql

_GRID = "__grid"
_NUMBERS = f"NAMED_STRUCT('start', UNIX_MICROS({_GRID}.start), 'end', UNIX_MICROS({_GRID}.end))"
"""The window of a record that goes by a number."""


def write_central_sql(tree: Node) -> str:
    shown, group = the(tree, Shown), the(tree, Grouped)
    items = [item for item in shown.columns if item.name != COPIES]
    columns = [
        window_item(group),
        *(named_sql(_settled_sql(one.written), one.name) for one in items),
    ]
    where = [sql_of(kept.written) for kept in group.conditions if kept.written is not None]
    if len(where) > 1:
        where[0] = f"({where[0]})"
    written = None if shown.having is None else shown.having.written
    own = None if written is None else _settled_sql(written)
    alias = the(tree, Records).alias
    inner = select_sql(
        columns,
        _records_sql(group, where, alias),
        where=[] if group.last_n else where,
        groups=[] if group.of_rows else [grouped_sql(group), *map(sql_of, group.written)],
        having=own if group.sessions is None else _session_having(group, own),
        is_distinct=shown.is_distinct,
    )
    return sql_of(parse(answer_sql(tree, inner)))


def _settled_sql(written: exp.Expr) -> str:
    """Aggregates stand in no aggregate, so none that is written anew is looked at again."""
    tree = written.copy()
    for call in list(tree.find_all(exp.Anonymous)):
        if name_of(call) == GROUPING_ID:  # of all keys, and Spark would have the window among them
            call.set("expressions", [])
        arguments = call.expressions
        is_distinct = bool(arguments) and isinstance(arguments[0], exp.Distinct)
        found = (DISTINCT if is_distinct else AGGREGATES).get(name_of(call))
        if found is not None and found.settled:
            whole, kept = call.parent, ""
            if isinstance(whole, exp.Filter) and call.arg_key == "this":
                kept = f" FILTER(WHERE {sql_of(whole.expression.this)})"
            else:
                whole = call
            texts = list(map(sql_of, arguments[0].expressions if is_distinct else arguments))
            new = parse_expression(spelled(found.settled, texts, kept))
            tree = new if whole is tree else tree
            whole.replace(new)
    return sql_of(tree)


def _records_sql(group: Grouped, where: Sequence[str], alias: str) -> str:
    """Which are the last of a site is asked of those that ``where`` keeps."""
    records = RECORDS
    if group.last_n:
        records = states_sql(group, where, alias)
    elif group.counted:
        records = f"(SELECT {_NUMBERS} AS {WINDOW}, * FROM {_counted_sql(group)})"
    elif group.of_rows:
        records = f"(SELECT {window_sql(group)} AS {WINDOW}, * FROM {RECORDS})"
    views = [
        view_sql(
            view.names,
            sql_of(view.written),
            name_sql(view.alias) if view.alias else "",
            is_outer=view.is_outer,
        )
        for view in group.views
    ]
    return " ".join([f"{records} AS {name_sql(alias)}", *views])


def _counted_sql(group: Grouped) -> str:
    """Numbers taken for times, so that the grid is Spark's own here too, of what has both."""
    condition = placed_sql(group.source.time_column, group.counted)
    placed = f"(SELECT * FROM {RECORDS} WHERE {condition})"
    return f"(SELECT {window_sql(group)} AS {_GRID}, * FROM {placed})"


def grouped_sql(group: Grouped) -> str:
    return WINDOW if group.counted or group.last_n else window_sql(group)


def window_item(group: Grouped) -> str:
    """What is selected as the window of a group. A session is in the one in whose last slide its
    last time plus the gap lies."""
    sessions = group.sessions
    if sessions is None:
        return WINDOW
    end, slide = f"(UNIX_MICROS({sessions.last}) + {sessions.gap_us})", group.window.slide_us
    number = f"({end} DIV {slide} - CAST({end} % {slide} < 0 AS BIGINT) + 1)"
    start = f"TIMESTAMP_MICROS({number} * {slide} - {group.window.range_us})"
    fields = f"'start', {start}, 'end', TIMESTAMP_MICROS({number} * {slide})"
    return f"NAMED_STRUCT({fields}) AS {WINDOW}"


def _session_having(group: Grouped, own: str | None) -> str:
    return " AND ".join([*([] if own is None else [f"({own})"]), *session_conditions(group)])


def session_conditions(group: Grouped) -> list[str]:
    """What HAVING keeps beside what the user asks for: sessions that are not too long."""
    sessions = group.sessions
    if sessions is None:
        return []
    length = f"UNIX_MICROS({sessions.last}) - UNIX_MICROS({sessions.first})"
    return [f"{length} <= {sessions.longest_us}"]


def window_sql(group: Grouped) -> str:
    """Spark's own ``window()`` or ``session_window()`` call for the grid."""
    window = group.window
    if group.sessions is not None:
        gap = duration_text(group.sessions.gap_us)
        return f"SESSION_WINDOW({name_sql(group.source.time_column)}, '{gap}')"
    lengths = [window.range_us, window.slide_us, window.start_us]
    if not window.start_us:
        lengths = lengths[:1] if window.slide_us == window.range_us else lengths[:2]
    arguments = [f"'{duration_text(length)}'" for length in lengths]
    time = name_sql(group.source.time_column)
    if group.counted:
        time = f"TIMESTAMP_MICROS({name_sql(group.counted)})"
    return f"WINDOW({', '.join([time, *arguments])})"
