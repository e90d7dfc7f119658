"""What a simulated cube gives questions: panes of a stream, also those that its root is done with.

A pane that the root is done with stays for a retention, and then goes without a trace, but for the
pane from which on nothing has gone. So an empty pane and one that went look alike here, as they do
in an agent's cube, and what is said of them is told from that number.

A question looks once, and reads a moment later what it saw then: what goes in between must not be
among its panes, so they are pinned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from headwater.algebra.sets import ranges
from headwater.algebra.words.site_state import FOREVER, Declined, Reason
from headwater.edge.record import EdgeRecord
from headwater.edge.take_asked import Asked
from headwater.plan.query import Query
from headwater.sim.records.pane_disk import PaneDisk, Records


class _Seen(NamedTuple):
    """Of one question: the stream's panes first … last, at one moment."""

    stream: str
    first: int
    last: int
    record: EdgeRecord
    kept_from: int


class AskedPanes:
    """Of one cube, in one incarnation."""

    def __init__(self, nothing: Records) -> None:
        self._nothing = nothing
        self._done: dict[str, dict[int, PaneDisk]] = {}
        self._kept_from: dict[str, int] = {}
        self._seen: dict[str, _Seen] = {}
        """By question, in memory: a site that starts anew looks anew."""

    def keep(self, query: str, pane: int, at: PaneDisk) -> None:
        """The root is done with it."""
        self._done.setdefault(query, {})[pane] = at

    def forget(self, query: str) -> None:
        self._done.pop(query, None)
        self._kept_from.pop(query, None)
        self._seen.pop(query, None)

    def let_go(self, query: str, *, before_s: float) -> int:
        """What was last written before, and no question reads; how many panes."""
        done = self._done.get(query, {})
        gone = [
            pane
            for pane, at in done.items()
            if at.written_s < before_s and not self._is_pinned(query, pane)
        ]
        for pane in gone:
            del done[pane]
            self._kept_from[query] = max(self._kept_from.get(query, pane), pane + 1)
        return len(gone)

    def _is_pinned(self, query: str, pane: int) -> bool:
        pins = (one for one in self._seen.values() if one.stream == query)
        return any(one.first <= pane <= one.last for one in pins)

    def begin_life(self) -> None:
        self._seen.clear()

    def look(self, question: Query, stream: Query, record: EdgeRecord) -> None:
        """What is there is seen now, and pinned until it is read."""
        panes, name = panes_asked(question), str(stream.id)
        first = stream_panes(panes.start, question, stream).start
        last = stream_panes(panes.stop - 1, question, stream).stop - 1
        kept_from = self._kept_from.get(name, -FOREVER)
        self._seen[str(question.id)] = _Seen(name, first, last, record, kept_from)

    def asked(
        self, question: Query, stream: Query, held: Mapping[int, PaneDisk]
    ) -> tuple[Asked, dict[int, Records]]:
        """What the cube had for the question when it looked, and the rows by pane of the
        question."""
        seen = self._seen.pop(str(question.id))
        record, kept_from = seen.record, seen.kept_from
        panes = {**self._done.get(str(stream.id), {}), **held}
        declined: list[Declined] = []
        damaged: list[tuple[int, int]] = []
        rows: dict[int, Records] = {}
        flaws = ranges.union(record.flawed, record.damaged)
        for pane in panes_asked(question):
            own = stream_panes(pane, question, stream)
            lacks = (_why_lacking(one, record, kept_from, one in panes) for one in own)
            why = next((one for one in lacks if one is not None), None)
            if why is not None:
                declined.append(Declined(first=pane, last=pane, reason=why))
                continue
            if ranges.intersects(flaws, ((own[0], own[-1]),)):
                damaged.append((pane, pane))
            found = self._merged([panes[one] for one in own if one in panes])
            if found.once or found.twice:
                rows[pane] = found
        counts = tuple((pane, len(found)) for pane, found in sorted(rows.items()))
        asked = Asked(str(question.id), counts, tuple(declined), ranges.normal(damaged))
        return asked, rows

    def _merged(self, panes: list[PaneDisk]) -> Any:
        found = self._nothing
        for at in panes:
            for rows in (*at.updates, at.waiting, *([] if at.rest is None else [at.rest])):
                found = found.merge(rows)
        return found


def panes_asked(question: Query) -> range:
    assert question.begin_pane is not None, "a question has a begin"
    assert question.ends_at is not None, "and an end"
    return range(question.begin_pane, question.ends_at)


def stream_panes(pane: int, question: Query, stream: Query) -> range:
    """Of one of the question's."""
    first = stream.window.pane_at(question.window.pane_start_us(pane))
    return range(first, first + question.window.pane_us // stream.window.pane_us)


def _why_lacking(pane: int, record: EdgeRecord, kept_from: int, is_there: bool) -> Reason | None:
    for one in record.declined:
        if one.first <= pane <= one.last:
            return one.reason
    if any(one.first <= pane <= one.last for one in record.set_aside):
        return Reason.SHED
    if record.first_pane is None or pane < record.first_pane:
        return Reason.NOT_INSTALLED
    if pane >= record.closed_through:
        return Reason.NOT_CLOSED
    return Reason.EXPIRED if pane < kept_from and not is_there else None
