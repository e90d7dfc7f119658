"""The window of a stream, from the ``window(…)`` call in its GROUP BY."""

from collections.abc import Sequence

from sqlglot import exp

from headwater.algebra.panes import WindowSpec
from headwater.algebra.windows.sessions import Sessions
from headwater.plan.durations import EXAMPLES, duration_text, duration_us
from headwater.plan.sources.source import Source
from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import name_sql, offset_of
from headwater.sql.read.time_of import converted_time
from headwater.sql.resolve.grids.last_rows import is_last_rows_call, read_last_rows
from headwater.sql.resolve.grids.own_counts import is_own_count_call, read_own_count
from headwater.sql.resolve.grids.sequence_windows import (
    PANES_PER_WINDOW_MAX,
    Grid,
    is_sequence_call,
    read_sequence,
)
from headwater.sql.types.call_types import name_of
from headwater.sql.types.refused_nodes import brief

PANE_US_MIN = 100_000
"""A tenth of a second: below, the work for a pane outweighs the records in it."""

SESSION_WINDOW = "session_window"
SESSION_GAPS = 12
"""A session is at most so many gaps long, unless session_max says otherwise."""

_SHAPE = "window({time}, '10 seconds') or window({time}, '1 hour', '10 minutes')"


def is_window_call(node: exp.Expr) -> bool:
    """Of times, of numbers or of states: what an answer calls ``window``."""
    is_of_time = isinstance(node, exp.Anonymous) and name_of(node) == "window"
    is_of_numbers = is_sequence_call(node) or is_own_count_call(node)
    return is_of_time or is_of_numbers or is_last_rows_call(node)


def is_session_call(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and name_of(node) == SESSION_WINDOW


def find_sessions(
    groups: Sequence[exp.Expr], source: Source, *, longest_us: int | None
) -> Sessions | None:
    """The sessions in GROUP BY, with the aggregates over records that are their times; None:
    windows are asked for. Raises ``Objection``."""
    calls = [group for group in groups if is_session_call(group)]
    if not calls:
        return None
    others = [group for group in groups if is_window_call(group)]
    if len(calls) > 1 or others:
        in_order = sorted([*calls, *others], key=lambda one: offset_of(one) or 0)
        raise Objection(in_order[1], "two windows; write one stream for each")
    arguments = calls[0].expressions
    time = name_sql(converted_time(source) or source.time_column)
    shape = f"{SESSION_WINDOW}({time}, '30 minutes')"
    if len(arguments) != 2:
        raise Objection(calls[0], f"{SESSION_WINDOW} takes a time and a gap: {shape}")
    _check_time(arguments[0], source, shape)
    gap_us = _length(arguments[1], "a gap", SESSION_WINDOW)
    longest_us = SESSION_GAPS * gap_us if longest_us is None else longest_us
    time = name_sql(source.time_column)
    sessions = Sessions(gap_us, longest_us, f"MIN({time})", f"MAX({time})")
    pane_count = sessions.window().panes_per_window
    if gap_us < PANE_US_MIN:
        raise Objection(
            arguments[1],
            f"a gap of {duration_text(gap_us)}, which is the size of a pane; at least "
            f"{duration_text(PANE_US_MIN)}",
        )
    if pane_count > PANES_PER_WINDOW_MAX:
        raise Objection(
            calls[0],
            f"a session of {duration_text(longest_us)} has {pane_count} panes of "
            f"{duration_text(gap_us)}; at most {PANES_PER_WINDOW_MAX}: write a shorter session_max "
            "or a longer gap",
        )
    return sessions


class WindowMissing(Objection):
    """Said once of a stream, whatever else is wrong with it."""


def find_window(
    among: Sequence[exp.Expr], source: Source, *, named: WindowSpec | None, at: exp.Expr
) -> Grid:
    """The one window among what GROUP BY lists, or the one that WITH names. Raises ``Objection``.

    Rows have no GROUP BY, so of them it is among what is selected.
    """
    calls = [one for one in among if is_window_call(one)]
    shape = _SHAPE.format(time=name_sql(converted_time(source) or source.time_column))
    if not calls and named is None:
        raise WindowMissing(
            at,
            f"a stream answers by windows of time: GROUP BY {shape} is missing; of rows, or "
            "elsewhere, WITH (window = '10 seconds') names one",
        )
    grids = {read_grid(call, source): call for call in calls if isinstance(call, exp.Anonymous)}
    if len(grids) > 1:
        raise Objection(calls[1], "two windows; write one stream for each")
    found = next(iter(grids), None) or (None if named is None else Grid(named))
    assert found is not None
    if named is not None and found != Grid(named):
        raise Objection(calls[0], "another window than the one in WITH; name one of them")
    return found


def read_grid(call: exp.Anonymous, source: Source) -> Grid:
    """Raises ``Objection``."""
    if is_sequence_call(call):
        return read_sequence(call, source)
    if is_own_count_call(call):
        return read_own_count(call, source)
    if is_last_rows_call(call):
        return _often_enough(call, read_last_rows(call))
    return Grid(read_window(call, source))


def _often_enough(call: exp.Anonymous, grid: Grid) -> Grid:
    if grid.window.pane_us < PANE_US_MIN:
        raise Objection(
            call.expressions[-1],
            f"an answer every {duration_text(grid.window.pane_us)}; at most every "
            f"{duration_text(PANE_US_MIN)}",
        )
    return grid


def read_window(call: exp.Anonymous, source: Source) -> WindowSpec:
    """Range, slide and start of one call, as Spark reads them. Raises ``Objection``."""
    arguments = call.expressions
    shape = _SHAPE.format(time=name_sql(converted_time(source) or source.time_column))
    if not 2 <= len(arguments) <= 4:
        raise Objection(call, f"window takes a time, a length, a slide and a start: {shape}")
    _check_time(arguments[0], source, shape)
    range_us = _length(arguments[1], "a length")
    slide_us = _length(arguments[2], "a slide") if len(arguments) > 2 else range_us
    start_us = _start(arguments[3]) if len(arguments) > 3 else 0
    if slide_us > range_us:
        raise Objection(arguments[2], "the slide is longer than the window; records would be lost")
    if abs(start_us) >= slide_us:
        raise Objection(arguments[3], "the start must be shorter than the slide")
    return _checked(call, WindowSpec(range_us, slide_us, start_us % slide_us))


def _check_time(time: exp.Expr, source: Source, shape: str) -> None:
    names = {source.time_column.lower(), (converted_time(source) or source.time_column).lower()}
    if not isinstance(time, exp.Column) or time.name.lower() not in names:
        raise Objection(
            time,
            f"windows are over the time column of the source: {shape}; to make another column it, "
            "write time = '…' in CREATE SOURCE",
        )


def _length(node: exp.Expr, what: str, function: str = "window") -> int:
    us = duration_us(node.name) if isinstance(node, exp.Literal) and node.is_string else None
    if not us:
        raise Objection(
            node, f"{function} takes {what} of fixed size in quotes: {EXAMPLES}; got {brief(node)}"
        )
    return us


def _start(node: exp.Expr) -> int:
    text = node.name.strip() if isinstance(node, exp.Literal) and node.is_string else ""
    us = duration_us(text.removeprefix("-"))
    if us is None:
        raise Objection(node, f"window takes a start in quotes: {EXAMPLES}; got {brief(node)}")
    return -us if text.startswith("-") else us


def _checked(call: exp.Anonymous, window: WindowSpec) -> WindowSpec:
    fault = pane_fault(window)
    if fault is not None:
        raise Objection(call, fault)
    return window


def pane_fault(window: WindowSpec) -> str | None:
    """What is wrong with the panes of a window, and what to write; None: nothing."""
    if window.pane_us < PANE_US_MIN:
        return (
            f"length and slide have only {duration_text(window.pane_us)} in common, which would be "
            f"the size of a pane; at least {duration_text(PANE_US_MIN)}"
        )
    if window.panes_per_window > PANES_PER_WINDOW_MAX:
        return (
            f"a window of {window.panes_per_window} panes of {duration_text(window.pane_us)}; at "
            f"most {PANES_PER_WINDOW_MAX}: take a longer slide or a shorter window"
        )
    return None
