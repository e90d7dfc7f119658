"""Looks on at a simulated federation and measures: answers, loads, lengths of ways, installs.

It also holds what it sees against the truth: with checkers behind it (``checks = "full"``) all of
their rules, else only what costs little: what a root keeps is what its coverage says, revisions
rise, coverage never falls, and no alarm was raised.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from headwater.algebra.sets import bitset
from headwater.algebra.summary import Lane
from headwater.node import effects as do
from headwater.overlay.messages import Heartbeat, SummaryMessage
from headwater.overlay.outputs import Transmit
from headwater.plan.notice import Notice
from headwater.plan.query import Query
from headwater.root.outputs import WindowAnswer
from headwater.root.said.envelope import Envelope
from headwater.sim.check.check_storm import StormCheck
from headwater.sim.check.checkers import Checkers
from headwater.sim.check.truth import Truth
from headwater.sim.measure.wire_size import HEARTBEAT_BYTES, wire_bytes
from headwater.sim.outcome import Violation
from headwater.sim.records.births import Births
from headwater.sim.records.counted_bag import CountedBag
from headwater.sim.world.event_queue import EventQueue
from headwater.sim.world.site import SimulatedSite

HEARTBEATS, SUMMARIES, REST = "heartbeats", "summaries", "rest"


class FirstAnswer(msgspec.Struct, frozen=True):
    """The first answer of a window."""

    at_s: float
    """True time of its publication."""
    trigger: str
    covered: int
    expected: int
    missing: frozenset[str]
    records: int
    right: int
    """Records that were truly born in the window, by the clock of its root. In light checks a
    record counts only if it is in the very pane of its birth, which is the same for windows of one
    pane."""


class WindowSeen(msgspec.Struct):
    """All that was published of a window."""

    first: FirstAnswer
    newest: Envelope
    records: int
    """In the newest revision."""
    exact_s: float | None = None
    """True time of the first exact revision."""


class Gauge:
    """``SiteWatcher`` of all sites of a run."""

    def __init__(
        self,
        queue: EventQueue,
        truth: Truth,
        births: Births,
        *,
        storm: StormCheck,
        checkers: Checkers | None,
    ) -> None:
        self.storm = storm
        self.windows: dict[int, WindowSeen] = {}
        self.load_bytes: dict[str, Counter[int]] = {
            HEARTBEATS: Counter(),
            SUMMARIES: Counter(),
            REST: Counter(),
        }
        """By kind and second of true time: bytes that left, once for each hop."""
        self.message_count: Counter[str] = Counter()
        self.hops: Counter[int] = Counter()
        """By pane: steps of live summaries, times the sites in them."""
        self.installed_s: dict[str, float] = {}
        """By site: true time when it first had the query."""
        self.notices: Counter[str] = Counter()
        self._queue = queue
        self._truth = truth
        self._births = births
        self._checkers = checkers

    @property
    def is_light(self) -> bool:
        return self._checkers is None

    def executing(self, site: SimulatedSite, effect: Any) -> None:
        kind = type(effect)
        if kind is Transmit:
            self._transmit(effect.message)
        elif kind is do.Keep:
            if self._checkers is None:
                self._check_kept(effect)
        elif kind is do.Installed:
            self.installed_s.setdefault(site.name, self._queue.now_s)
        elif self._checkers is None and kind is do.Dial:
            self.storm.dialled(site, effect)
        elif self._checkers is None and kind is do.Hangup:
            self.storm.hung_up(site, effect)
        elif kind is Notice:
            self.notices[f"{effect.part}: {effect.kind}"] += 1
            if effect.kind == "alarm":
                raise Violation("no false alarm", f"{site.name}: {effect.text}")
        if self._checkers is not None:
            self._checkers.executing(site, effect)

    def loaded(self, site: SimulatedSite, send: do.LoadAndSend, rows: Any) -> None:
        if self._checkers is not None:
            self._checkers.loaded(site, send, rows)
        else:
            self.storm.loaded(site, send)

    def published(self, site: SimulatedSite, answer: do.Answer, rows: dict[int, Any]) -> None:
        if self._checkers is not None:
            self._checkers.published(site, answer, rows)
        query = site.disk.installs[answer.query].query
        for request in answer.requests:
            self._see(request, query, rows[request.window])

    def crashed(self, site: SimulatedSite, *, loses_disk: bool) -> None:
        if self._checkers is not None:
            self._checkers.crashed(site, loses_disk=loses_disk)

    def _transmit(self, message: Any) -> None:
        second = int(self._queue.now_s)
        kind = type(message)
        if kind is Heartbeat:
            self.load_bytes[HEARTBEATS][second] += HEARTBEAT_BYTES
            return
        self.message_count[kind.__name__] += 1
        size = wire_bytes(message)
        if kind is SummaryMessage:
            summary = message.summary
            self.load_bytes[SUMMARIES][second] += size
            if summary.lane is Lane.LIVE:
                self.hops[summary.pane] += summary.coverage.sites.bit_count()
        else:
            self.load_bytes[REST][second] += size

    def _check_kept(self, keep: do.Keep) -> None:
        """What the root keeps holds exactly what its coverage says."""
        kept = keep.kept
        held = CountedBag()
        for ordinal, life, number in self._truth.updates_of(keep.query, kept.pane, kept.coverage):
            update = self._truth.update(keep.query, kept.pane, ordinal, life, number)
            if update is None:
                raise Violation(
                    "true coverage",
                    f"{keep.query} pane {kept.pane}: site {ordinal} never cut update {number}",
                )
            held = held.merge(update)
        rows = CountedBag() if kept.rows is None else kept.rows
        if rows != held:
            raise Violation(
                "true coverage",
                f"{keep.query} pane {kept.pane}: the summary holds {rows}, its coverage {held}",
            )

    def _right(self, query: Query, window: int, rows: Any) -> int:
        if isinstance(rows, CountedBag):
            return rows.right
        panes = query.window.panes_of(window)
        return sum(self._births.pane_of(query, n) in panes for n in bitset.members(rows.once))

    def _see(self, request: WindowAnswer, query: Query, rows: Any) -> None:
        window, envelope, records = request.window, request.envelope, len(rows)
        seen = self.windows.get(window)
        now_s = self._queue.now_s
        if seen is None:
            missing = frozenset(one.site for one in envelope.missing)
            first = FirstAnswer(
                now_s,
                envelope.trigger.value,
                envelope.covered,
                envelope.expected,
                missing,
                records,
                self._right(query, window, rows),
            )
            seen = self.windows[window] = WindowSeen(first, envelope, records)
        else:
            before = seen.newest
            if envelope.revision != before.revision + 1 or before.final:
                raise Violation("revisions rise", f"window {window}: {envelope.revision}")
            if envelope.covered < before.covered or records < seen.records:
                raise Violation("revisions never lower coverage", f"window {window}")
            seen.newest, seen.records = envelope, records
        if envelope.exact and seen.exact_s is None:
            seen.exact_s = now_s
