"""The options of a stream whose windows are of numbers: lengths are numbers where they are of time
elsewhere, and what only a clock can say is refused."""

from __future__ import annotations

import msgspec

from headwater.algebra.panes import WindowSpec
from headwater.algebra.windows.sequence_grid import NUMBER_MAX, OWN_COUNTS, SequenceGrid
from headwater.plan.query import Timing
from headwater.sql.read.answering import read_deadline_s
from headwater.sql.read.options import Options
from headwater.sql.read.streams import BEGIN_KEYWORDS, Stay

DIGITS_MAX = 20
OF_CLOCKS = {
    "time": "numbers place a record, whatever its time is",
    "extent": "nobody knows when numbers are reached",
    "window": "sequence_window(…) names it",
}


OF_ORDER = {
    "disorder": "records are counted in the order in which they are read",
    "lateness": "what is read is counted, however late it is",
}


def check_sequence(options: Options, column: str) -> None:
    """Raises ``QueryRefused``."""
    own = OWN_COUNTS.get(column)
    told = f"`{column}`" if own is None else f"the {own}s that each site has read"
    refused = OF_CLOCKS if own is None else {**OF_CLOCKS, **OF_ORDER}
    for name, why in refused.items():
        if name in options.names():
            raise options.refused(name, f"its windows count {told}: {why}; leave out {name}")


def read_sequence_timing(options: Options) -> Timing:
    """Raises ``QueryRefused``."""
    default = Timing()
    revise_for_s = options.duration_s("revise_for", default.revise_for_s)
    return Timing(
        deadline_s=read_deadline_s(options, disorder_s=0.0, revise_for_s=revise_for_s),
        disorder_s=0.0,
        lateness_s=None,
        revise_every_s=options.duration_s("revise_every", default.revise_every_s),
        revise_for_s=revise_for_s,
    )


def read_sequence_grid(
    options: Options, window: WindowSpec, column: str, *, default: str, ends: bool
) -> SequenceGrid:
    """A number that comes back by less than a window is late, and counts, unless lateness says
    otherwise. What a site counts itself it counts in order. Raises ``QueryRefused``."""
    if column in OWN_COUNTS:
        return SequenceGrid(column)
    return SequenceGrid(
        column,
        disorder=_number(options, "disorder", 0),
        lateness=_number(options, "lateness", window.range_us),
        from_now=not ends and _begin(options, default) == "now",
    )


def read_sequence_stay(
    options: Options, window: WindowSpec, column: str, *, default: str, ends: bool
) -> Stay:
    """Raises ``QueryRefused``."""
    word = _begin(options, default)
    if column in OWN_COUNTS:
        return _own_stay(options, word, OWN_COUNTS[column], ends=ends)
    if word in BEGIN_KEYWORDS:
        return Stay(None)
    begin = _whole(word)
    if begin is None:
        raise options.refused(
            "begin",
            f"`{word[:60]}` is no number; windows of numbers begin with 'earliest', 'now' or a "
            "number such as begin = '500000'",
        )
    first = window.first_window_from(begin)
    reads_past = msgspec.UNSET if ends else True
    return Stay(window.panes_of(first).start, reads_past=reads_past)


def _own_stay(options: Options, word: str, unit: str, *, ends: bool) -> Stay:
    """A site counts from the first record on that it reads for the query."""
    is_told = "begin" in options.names()
    if is_told and word != "now" and not (ends and word == "earliest"):
        raise options.refused(
            "begin",
            f"`{word[:60]}` lies in the past, whose {unit}s nobody has counted in the order of "
            "reading; a site counts from the first record on that it reads for the stream: leave "
            "out begin",
        )
    return Stay(None if ends else 0)


def _begin(options: Options, default: str) -> str:
    """What is asked for in general is a time, and none of a window of numbers."""
    usual = default if default in BEGIN_KEYWORDS else BEGIN_KEYWORDS[0]
    return (options.text("begin") or usual).strip().lower()


def _number(options: Options, name: str, default: int) -> int:
    text = options.text(name)
    if text is None:
        return default
    number = _whole(text.strip())
    if number is None or number < 0:
        raise options.refused(
            name,
            f"`{text[:60]}` is no length in numbers, as the window's is; write {name} = '1000'",
        )
    return number


def _whole(text: str) -> int | None:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < DIGITS_MAX):
        return None
    return int(text) if abs(int(text)) < NUMBER_MAX else None
