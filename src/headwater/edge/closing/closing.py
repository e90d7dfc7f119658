"""When a site may close a pane: the rule "Closing at a site".

A site closes a pane when a read that began after the pane's end plus ``disorder`` (site clock) has
been committed up to the end of input. A poll that finds nothing new counts as such a read. While
a source is behind, the site closes by its own highest record time instead, minus ``disorder``, but
never beyond its clock: a record from the future closes nothing. Where input can't be read, nothing
says what times its records have: nothing closes for ``unread_wait_s``, and then without it, and
damaged. If no read is committed, nothing closes, and the site is unknown, not empty. What a reading
of the past has not passed closes by no clock. How far the clock is believed is ``Belief``'s to
say::

    disorder 2 s, panes of 10 s           reads begin at    v        v
    pane 0 |---------|                                  at 11.9   at 12.0
    pane 1           |---------|                        nothing   closes pane 0
           0         10        20
"""

from __future__ import annotations

import msgspec

from headwater.algebra.panes import MICROS
from headwater.algebra.words.site_state import FOREVER
from headwater.edge.report import BatchReport
from headwater.plan.query import Query


class SourceClock(msgspec.Struct):
    """How far one source has been read at this site."""

    high_time_us: int | None = None
    read_through_s: float | None = None
    """In steady time. None: it is behind, or nothing was reported since the start."""
    unread_since_s: float | None = None
    """Some input can't be read since then (steady time); None: all can."""
    ended: bool = False
    loss_through: int = 0
    """The number of the newest loss that was told."""

    def hear(self, report: BatchReport, *, now_s: float) -> None:
        times = [time for time in (self.high_time_us, report.high_time_us) if time is not None]
        self.high_time_us = max(times, default=None)
        self.read_through_s = report.read_through_s
        if not report.has_unread:
            self.unread_since_s = None
        elif self.unread_since_s is None:
            self.unread_since_s = now_s
        self.ended = self.ended or report.ended
        self.loss_through = max(self.loss_through, report.loss_through)


def closable_through(query: Query, clock: SourceClock, *, now_s: float | None) -> int:
    """Panes below the returned number may be closed; ``-FOREVER``: none.

    Times are those that panes are numbered by; ``now_s`` None: the clock is in doubt.
    """
    if clock.ended or query.ends:
        return FOREVER if clock.ended else -FOREVER
    if now_s is None:
        return -FOREVER
    frontier_us = _read_through_us(clock, now_s=now_s)
    if frontier_us is None:
        return -FOREVER
    disorder_us = round(query.timing.disorder_s * MICROS)
    return query.window.pane_at(frontier_us - disorder_us)


def passed_through(query: Query, past: SourceClock | None) -> int:
    """Panes below were passed by the reading of the past; ``-FOREVER``: none. It is behind by what
    it is, so it goes by the times of its records: older ones that follow come as late updates."""
    if past is None or (past.high_time_us is None and not past.ended):
        return -FOREVER
    if past.ended:
        return FOREVER
    assert past.high_time_us is not None
    return query.window.pane_at(past.high_time_us - round(query.timing.disorder_s * MICROS))


def sealable_through(
    query: Query, clock: SourceClock, *, lateness_s: float, now_s: float | None
) -> int:
    """Panes below the returned number can get no more records that count.

    Only a source that is not behind seals: while it catches up, records of any age still come.
    """
    if clock.ended or query.ends:
        return FOREVER if clock.ended else -FOREVER
    if now_s is None or clock.read_through_s is None:
        return -FOREVER
    read_s = min(now_s, clock.read_through_s)
    return query.window.pane_at(round((read_s - lateness_s) * MICROS))


def _read_through_us(clock: SourceClock, *, now_s: float) -> int | None:
    now_us = round(now_s * MICROS)
    if clock.read_through_s is not None:
        return min(now_us, round(clock.read_through_s * MICROS))
    if clock.high_time_us is None:
        return None
    return min(now_us, clock.high_time_us)
