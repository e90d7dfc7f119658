"""How much input is skipped, so that the next pane that can be made in time is made in time.

A site that is short of CPU reads its input in order and is ever later: soon every pane misses its
deadline, and all that it reads is for nothing. If it skips the panes that it can't make, it makes
the others (iMR, section 3.4)::

    input        | pane 4        | pane 5        | pane 6        |   at twice what can be read
    in order      4 4 4 4 4 4 4 4 5 5 5 5 …                          each later than the one before
    with skips    4 4 4 4 4 4 4 4 ----- skipped -- 6 6 6 6 6 6 …     4 and 6 in time

Nobody has looked into input that is skipped. What it may hold is known by when it was found: no
record is stamped later than that, but for ``disorder`` and what the highest time seen says of the
clocks; from the pane under way on, all up to there may be in it. So input is skipped up to where
the next pane can't have begun, and a pane is left out as a whole.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from headwater.algebra.panes import MICROS, WindowSpec
from headwater.edge.batches.reading_pace import ReadingPace
from headwater.edge.shedding.pane_estimate import PaneEstimate

PANES_LOOKED_MAX = 1_000
"""Panes in a row that are looked at for one that can be made in time."""
LEFT_READS_S = 1.0
"""No more reading is left for a pane's end where a site keeps up: see ``batch_times``."""


class Found(msgspec.Struct, frozen=True):
    """What one poll has found and no batch has read."""

    through_cut: int
    bytes: int
    found_s: float
    """Steady time."""


class Ahead(msgspec.Struct, frozen=True):
    """What a site has of a source that it has not read."""

    found: tuple[Found, ...] = ()
    """The oldest first."""
    bytes_per_s: float = 0.0
    """That come, as the newest polls have found them."""
    read_bytes: int = 0
    """That were read, in this life."""


class Skip(msgspec.Struct, frozen=True):
    """For one query: cuts up to this one are not read for it now."""

    through_cut: int
    first: int
    last: int
    """The panes that they may touch."""


class PaneTimes(msgspec.Struct, frozen=True):
    """The panes of a query in steady time."""

    window: WindowSpec
    disorder_s: float
    deadline_s: float
    """After the end of a window, by which a pane has to be made."""
    ahead_s: float
    """How far the clock that panes go by is ahead of the steady one."""
    was_ahead_s: float = 0.0
    """So much more was a clock lately, by which unread records may have been stamped."""

    def pane_at(self, steady_s: float) -> int:
        return self.window.pane_at(round((steady_s + self.ahead_s) * MICROS))

    def pane_before(self, steady_s: float) -> int:
        """The last that begins before this time."""
        return self.window.pane_at(round((steady_s + self.ahead_s) * MICROS) - 1)

    def start_s(self, pane: int) -> float:
        return self.window.pane_start_us(pane) / MICROS - self.ahead_s

    def ready_s(self, pane: int) -> float:
        """All of it is written."""
        return self.window.pane_end_us(pane) / MICROS + self.disorder_s - self.ahead_s

    def due_s(self, pane: int) -> float:
        """For the first window that has it: who keeps up with that one keeps up with all."""
        first = self.window.windows_of(pane)[0]
        return self.window.window_end_us(first) / MICROS + self.deadline_s - self.ahead_s


def choose_skip(
    times: PaneTimes,
    ahead: Ahead,
    pace: ReadingPace,
    estimate: PaneEstimate,
    *,
    pane: int,
    is_wanted: Callable[[int], bool],
    high_s: float | None,
    now_s: float,
) -> Skip | None:
    """None: what is under way can be made in time, or that is not known yet. Where no pane in sight
    can be made, the next that begins is tried all the same: a site that reads nothing would never
    learn that its load is gone. ``pane``: the lowest
    that is not read to its end; ``is_wanted``: of a pane, whether it is to be made; ``high_s``: the
    highest record time that was read, in steady time."""
    if not ahead.found:
        return None
    last = times.pane_at(now_s) + 1
    looked = range(pane, min(last + 1, pane + PANES_LOOKED_MAX))
    wanted = next((one for one in looked if is_wanted(one)), None)
    if wanted is None:
        return None
    left = _bytes_of(times, ahead, wanted, now_s=now_s)
    done_s = _done_s(times, pace, wanted, left, now_s=now_s)
    known_s = estimate.hear(
        wanted, done_s, read_bytes=ahead.read_bytes, left_bytes=left, now_s=now_s
    )
    is_begun = times.start_s(wanted) < now_s
    if is_begun and known_s is None and now_s <= times.due_s(wanted):
        return None
    if (done_s if known_s is None else known_s) <= times.due_s(wanted):
        return None
    made = next(
        (
            one
            for one in range(wanted + 1, looked.stop)
            if is_wanted(one)
            and _done_s(times, pace, one, _bytes_of(times, ahead, one, now_s=now_s), now_s=now_s)
            <= times.due_s(one)
        ),
        looked.stop - 1,
    )
    return _skip_before(times, ahead, made, first=pane, high_s=high_s)


def _skip_before(
    times: PaneTimes, ahead: Ahead, made: int, *, first: int, high_s: float | None
) -> Skip | None:
    """All that was found before the pane that is made next can have begun."""
    before_s = times.start_s(made) - times.disorder_s
    skipped = [one for one in ahead.found if one.found_s <= before_s]
    if not skipped:
        return None
    last = times.pane_before(skipped[-1].found_s + times.disorder_s + times.was_ahead_s)
    if high_s is not None:
        last = max(last, times.pane_at(high_s))
    return Skip(skipped[-1].through_cut, first, max(first, last))


def _bytes_of(times: PaneTimes, ahead: Ahead, pane: int, *, now_s: float) -> float:
    """Of what is not read, as much as has to be for the pane: with what is still to come."""
    from_s, ready_s = times.start_s(pane) - times.disorder_s, times.ready_s(pane)
    there, before_s = 0.0, from_s
    for one in ahead.found:
        if one.found_s > from_s and before_s < ready_s:
            there += one.bytes
        before_s = one.found_s
    known_s = max(from_s, min(now_s, ready_s), ahead.found[-1].found_s)
    return there + ahead.bytes_per_s * max(0.0, ready_s - known_s)


def _done_s(
    times: PaneTimes, pace: ReadingPace, pane: int, left_bytes: float, *, now_s: float
) -> float:
    """When its reading is over, if nothing else is read before: what comes faster than it is read
    is read from the pane's begin on; else a little is left for the end."""
    takes_s = pace.batches_s(round(left_bytes))
    begun_s = max(now_s, times.start_s(pane))
    at_end_s = times.ready_s(pane) + min(takes_s, pace.batch_s(0) + LEFT_READS_S)
    return max(begun_s + takes_s, at_end_s)
