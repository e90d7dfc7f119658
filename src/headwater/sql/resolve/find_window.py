"""The window of a stream, from the ``window(…)`` call in its GROUP BY."""

from collections.abc import Sequence

from sqlglot import exp

from headwater.algebra.panes import WindowSpec
from headwater.plan.durations import EXAMPLES, duration_text, duration_us
from headwater.plan.sources.source import Source
from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import name_sql
from headwater.sql.read.time_of import converted_time
from headwater.sql.types.call_types import name_of

PANE_US_MIN = 100_000
"""A tenth of a second: below, the work for a pane outweighs the records in it."""
PANES_PER_WINDOW_MAX = 10_000
"""The root merges so many panes for each answer."""

_SHAPE = "window({time}, '10 seconds') or window({time}, '1 hour', '10 minutes')"


def is_window_call(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and name_of(node) == "window"


def find_window(groups: Sequence[exp.Expr], source: Source, *, at: exp.Expr) -> WindowSpec:
    """The one window in GROUP BY. Raises ``Objection``."""
    calls = [group for group in groups if is_window_call(group)]
    shape = _SHAPE.format(time=name_sql(converted_time(source) or source.time_column))
    if not calls:
        raise Objection(at, f"a stream answers by windows of time: GROUP BY {shape} is missing")
    specs = {read_window(call, source): call for call in calls if isinstance(call, exp.Anonymous)}
    if len(specs) > 1:
        raise Objection(calls[1], "two windows; write one stream for each")
    return next(iter(specs))


def read_window(call: exp.Anonymous, source: Source) -> WindowSpec:
    """Range, slide and start of one call, as Spark reads them. Raises ``Objection``."""
    arguments = call.expressions
    shape = _SHAPE.format(time=name_sql(converted_time(source) or source.time_column))
    if not 2 <= len(arguments) <= 4:
        raise Objection(call, f"window takes a time, a length, a slide and a start: {shape}")
    time = arguments[0]
    names = {source.time_column.lower(), (converted_time(source) or source.time_column).lower()}
    if not isinstance(time, exp.Column) or time.name.lower() not in names:
        raise Objection(
            time,
            f"windows are over the time column of the source: {shape}; to make another column it, "
            "write time = '…' in CREATE SOURCE",
        )
    range_us = _length(arguments[1], "a length")
    slide_us = _length(arguments[2], "a slide") if len(arguments) > 2 else range_us
    start_us = _start(arguments[3]) if len(arguments) > 3 else 0
    if slide_us > range_us:
        raise Objection(arguments[2], "the slide is longer than the window; records would be lost")
    if abs(start_us) >= slide_us:
        raise Objection(arguments[3], "the start must be shorter than the slide")
    return _checked(call, WindowSpec(range_us, slide_us, start_us % slide_us))


def _length(node: exp.Expr, what: str) -> int:
    us = duration_us(node.name) if isinstance(node, exp.Literal) and node.is_string else None
    if not us:
        raise Objection(node, f"window takes {what} of fixed size in quotes: {EXAMPLES}")
    return us


def _start(node: exp.Expr) -> int:
    text = node.name.strip() if isinstance(node, exp.Literal) and node.is_string else ""
    us = duration_us(text.removeprefix("-"))
    if us is None:
        raise Objection(node, f"window takes a start in quotes: {EXAMPLES}")
    return -us if text.startswith("-") else us


def _checked(call: exp.Anonymous, window: WindowSpec) -> WindowSpec:
    if window.pane_us < PANE_US_MIN:
        raise Objection(
            call,
            f"length and slide have only {duration_text(window.pane_us)} in common, which would be "
            f"the size of a pane; at least {duration_text(PANE_US_MIN)}",
        )
    if window.panes_per_window > PANES_PER_WINDOW_MAX:
        raise Objection(
            call,
            f"a window of {window.panes_per_window} panes of {duration_text(window.pane_us)}; at "
            f"most {PANES_PER_WINDOW_MAX}: take a longer slide or a shorter window",
        )
    return window
