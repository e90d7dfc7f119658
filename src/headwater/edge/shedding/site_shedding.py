"""Shedding at one site: what its queries skip of a source, and what they know of it afterwards.

The site's reading asks after each poll and each batch (``skips``); it alone moves input aside, and
says so before it says anything else of that source (``hear``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from headwater.algebra.panes import MICROS
from headwater.algebra.sets.interval_set import IntervalSet
from headwater.algebra.words.site_state import FOREVER, RUNNING
from headwater.edge.batches.reading_pace import ReadingPace
from headwater.edge.closing.closing import SourceClock, closable_through
from headwater.edge.record import SetAside
from headwater.edge.report import BatchReport
from headwater.edge.shedding.asides import forget_what_is_over, give_up, hear_aside, take_aside
from headwater.edge.shedding.choose_skip import Ahead, PaneTimes, Skip, choose_skip
from headwater.plan.readings import is_aside, source_of

if TYPE_CHECKING:
    from headwater.edge.query_edge import QueryEdge

TRAVEL_S = 1.0
"""What an update is given to arrive in time, before the root has told."""
DUE_SHARE_MAX = 0.5
"""Of the deadline, that is left to the way at most."""
CLOCKS_KEPT_MAX = 64
"""Steps of the wall clock that are remembered."""
STAMPED_S = 60.0
"""So long before they are found records may have been stamped, as far as clocks are concerned."""


class SiteShedding:
    """Of all queries of a site; ``edges`` and ``clocks`` are those of ``Edge``."""

    def __init__(
        self,
        edges: Mapping[str, QueryEdge],
        clocks: Mapping[str, SourceClock],
        to_change: Callable[[str], QueryEdge | None],
    ) -> None:
        self._edges = edges
        self._clocks = clocks
        self._to_change = to_change
        self._clock_was: deque[tuple[float, float]] = deque(maxlen=CLOCKS_KEPT_MAX)
        """(until when, in steady time; how far ahead of the steady clock) of the wall clock."""

        self._clock_s: float | None = None
        """What it is now, whatever panes are closed by."""

    def set_clock(self, ahead_s: float, *, now_s: float) -> None:
        """The wall clock is so far ahead of the steady one from now on."""
        if self._clock_s not in (None, ahead_s):
            self._clock_was.append((now_s, self._clock_s or 0.0))
        self._clock_s = ahead_s

    def _was_ahead_s(self, ahead_s: float, *, since_s: float) -> float:
        were = [was_s for until_s, was_s in self._clock_was if until_s >= since_s - STAMPED_S]
        is_now_s = ahead_s if self._clock_s is None else self._clock_s
        return max(0.0, max([is_now_s, *were]) - ahead_s)

    def skips(
        self, source: str, ahead: Ahead, pace: ReadingPace, *, now_s: float
    ) -> dict[str, Skip]:
        """By query: how far input of this source is skipped; none: all of it is read."""
        found = {}
        for id_, edge in self._edges.items():
            if edge.state.query.source_name != source or edge.state.query.sheds is None:
                continue
            skip = self._skip(edge, ahead, pace, now_s=now_s)
            if skip is not None:
                found[id_] = skip
        return found

    def _skip(
        self, edge: QueryEdge, ahead: Ahead, pace: ReadingPace, *, now_s: float
    ) -> Skip | None:
        state = edge.state
        record, timing = state.record, state.query.timing
        closing_s = state.belief.closing_s(now_s)
        is_live = record.is_running and not (record.catching_up or record.past)
        if closing_s is None or not is_live or record.awaits_greeting:
            return None
        ahead_s = closing_s - now_s
        clock = self._clocks.get(state.query.source_name, SourceClock())
        travel_s = TRAVEL_S if edge.early.travel_s is None else edge.early.travel_s
        deadline_s = timing.deadline_s - min(travel_s, DUE_SHARE_MAX * timing.deadline_s)
        times = PaneTimes(state.query.window, timing.disorder_s, deadline_s, ahead_s)
        if ahead.found:
            was_ahead_s = self._was_ahead_s(ahead_s, since_s=ahead.found[0].found_s)
            times = msgspec.structs.replace(times, was_ahead_s=was_ahead_s)
        asides = IntervalSet((one.first, one.last) for one in record.set_aside)
        high_us = clock.high_time_us

        def is_wanted(pane: int) -> bool:
            is_owed = state.owes(pane) and pane not in state.declined
            return is_owed and pane not in asides and pane < _end_of(edge)

        return choose_skip(
            times,
            ahead,
            pace,
            edge.estimate,
            pane=max(record.lowest_unclosed(), self._read_through(edge, clock, now_s=now_s)),
            is_wanted=is_wanted,
            high_s=None if high_us is None else high_us / MICROS - ahead_s,
            now_s=now_s,
        )

    def _read_through(self, edge: QueryEdge, clock: SourceClock, *, now_s: float) -> int:
        state = edge.state
        closing_s = state.belief.closing_s(now_s)
        return closable_through(state.query, state.time.of_source(clock), now_s=closing_s)

    def hear(self, query: str, aside: SetAside, *, now_s: float) -> None:
        """It was set aside for the query, or has grown; told of each after a start, too, before the
        first report of the source."""
        edge = self._to_change(query)
        if edge is not None:
            clock = self._clocks.get(source_of(aside.reading), SourceClock())
            hear_aside(edge, aside, read_through=self._read_through(edge, clock, now_s=now_s))

    def give_up(self, reading: str, *, now_s: float) -> None:
        """There is no room for it any more."""
        for edge in self._of(reading):
            self._to_change(edge.state.id)
            give_up(edge, reading, now_s=now_s)

    def take(self, report: BatchReport, *, now_s: float) -> None:
        if not is_aside(report.source):
            return
        batches = {batch.query: batch for batch in report.queries}
        for edge in self._of(report.source):
            take_aside(edge, batches.get(edge.state.id), report, now_s=now_s)

    def forget_what_is_over(self, *, now_s: float) -> None:
        """Once a tick."""
        for edge in self._edges.values():
            if edge.state.record.set_aside:
                forget_what_is_over(edge, now_s=now_s)

    def _of(self, reading: str) -> list[QueryEdge]:
        return [
            edge
            for edge in self._edges.values()
            if any(one.reading == reading for one in edge.state.record.set_aside)
        ]


def _end_of(edge: QueryEdge) -> int:
    record = edge.state.record
    if record.status != RUNNING:
        return -FOREVER
    return FOREVER if record.end_pane is None else record.end_pane
