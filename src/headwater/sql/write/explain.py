"""A query as text for people: which part runs where, and what travels between."""

from msgspec import UnsetType

from headwater.algebra.rows.types import WINDOW_COLUMN
from headwater.plan.durations import duration_text
from headwater.plan.program import Program
from headwater.plan.query import Query
from headwater.plan.sources.source import Source
from headwater.plan.timestamps import timestamp_text
from headwater.sql.read.sql_text import pretty


def explain(query: Query) -> str:
    """The plan from the records up to the answer, with the place of each part."""
    sections = [
        (f"stream {_name(query)}", _about(query)),
        (f"site    {', '.join(query.sites) or 'every site with data'}", _site(query)),
        ("network every relay on the way", _network(query.program)),
        (f"root    {query.root}", _root(query)),
    ]
    return "\n\n".join(f"{title}\n{_indented(body)}" for title, body in sections) + "\n"


def _name(query: Query) -> str:
    return query.id.name if query.part is None else f"{query.id.name}, {query.part}"


def _about(query: Query) -> str:
    window, source = query.window, query.program.source
    slide = f" every {duration_text(window.slide_us)}" if window.slide_us < window.range_us else ""
    start = f" from {duration_text(window.start_us)}" if window.start_us else ""
    return "\n".join(
        [
            f"source  {source.name}: {source.format} {source.path}, time {_time(source)}",
            f"window  {duration_text(window.range_us)}{slide}{start}, "
            f"panes of {duration_text(window.pane_us)}, {window.panes_per_window} a window",
            f"begin   {_begin(query)}",
            f"query   {query.id}",
        ]
    )


def _time(source: Source) -> str:
    is_read = isinstance(source.time_sql, UnsetType)
    return source.time_column if is_read else f"{source.time_column} = {source.time_sql}"


def _begin(query: Query) -> str:
    if query.begin_pane is None:
        return "the earliest record"
    start = timestamp_text(query.window.pane_start_us(query.begin_pane))
    return f"{start}, pane {query.begin_pane}"


def _site(query: Query) -> str:
    timing = query.timing
    sealed = "when the site's retention is over"
    if timing.lateness_s is not None:
        sealed = f"after {_seconds(timing.lateness_s)}"
    return "\n".join(
        [
            f"reads {', '.join(query.program.columns_used)}",
            f"closes a pane {_seconds(timing.disorder_s)} after its end, seals it {sealed}",
            pretty(query.program.site_sql),
        ]
    )


def _network(program: Program) -> str:
    """What one row of a summary is, and how rows of the same keys become one."""
    keys = [f"{key.name} {key.type}" for key in program.keys]
    lines = [f"one row for each {', '.join(keys)}" if keys else "one row"]
    lines += [
        f"{partial.name} {partial.type} merges by {partial.merge}" for partial in program.partials
    ]
    return "\n".join(lines)


def _root(query: Query) -> str:
    timing = query.timing
    columns = [f"{column.name} {column.type}" for column in query.program.output]
    return "\n".join(
        [
            f"answers a window at the latest {_seconds(timing.deadline_s)} after its end; revises "
            f"at most every {_seconds(timing.revise_every_s)}, for {_seconds(timing.revise_for_s)}",
            pretty(query.program.root_sql),
            f"yields {WINDOW_COLUMN}, {', '.join(columns)}",
        ]
    )


def _seconds(seconds: float) -> str:
    return duration_text(round(seconds * 1_000_000))


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
