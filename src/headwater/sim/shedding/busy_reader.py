"""A site's reading with a share of the CPU, in a few lines: polls find bytes, batches read them.

Bytes come evenly; a batch costs a fixed part and a part for each byte, both divided by the share of
the CPU that is left. Panes of ten seconds. What is skipped is never read.
"""

from __future__ import annotations

from collections import deque

from headwater.algebra.panes import MICROS, WindowSpec
from headwater.edge.batches.reading_pace import ReadingPace
from headwater.edge.shedding.choose_skip import Ahead, Found, PaneTimes, choose_skip
from headwater.edge.shedding.pane_estimate import PaneEstimate

BYTES_PER_S = 1_000_000
BATCH_BYTES_MAX = 3_000_000
BATCH_S = 0.05
DISORDER_S = 1.0


class BusyReader:
    def __init__(
        self,
        share: float,
        *,
        sheds: bool = True,
        pane_s: float = 10.0,
        panes: int = 1,
        deadline_s: float = 4.0,
        s_per_mb: float = 1.0,
    ) -> None:
        """Windows of so many panes, each with one in common with the next. ``s_per_mb``: with all
        of the CPU; 1.0 is just as fast as bytes come."""
        self.share, self.sheds = share, sheds
        pane_us = round(pane_s * MICROS)
        window = WindowSpec(panes * pane_us, max(1, panes - 1) * pane_us)
        self.times = PaneTimes(window, DISORDER_S, deadline_s, 0.0)
        self.s_per_mb = s_per_mb
        self.pace, self.estimate = ReadingPace(6), PaneEstimate()
        self.now_s, self.polled_s = 0.0, 0.0
        self.waiting: deque[Found] = deque()
        self.cut = 0
        self.read_bytes = 0
        self.read_s = 0.0
        """Up to when all was read or skipped."""
        self.shed: set[int] = set()
        self.done_s: dict[int, float] = {}

    def run(self, until_s: float) -> None:
        while self.now_s < until_s:
            self._poll()
            if self.sheds:
                self._skip()
            if not self.waiting:
                self.now_s += 0.5
                continue
            self._batch()

    def _poll(self) -> None:
        while self.polled_s + 1.0 <= self.now_s:
            self.polled_s += 1.0
            self.cut += 1
            self.waiting.append(Found(self.cut, BYTES_PER_S, self.polled_s))

    def _skip(self) -> None:
        ahead = Ahead(tuple(self.waiting), BYTES_PER_S, self.read_bytes)
        skip = choose_skip(
            self.times,
            ahead,
            self.pace,
            self.estimate,
            pane=self.times.pane_at(max(0.0, self.read_s - DISORDER_S)),
            is_wanted=lambda pane: pane not in self.shed,
            high_s=self.read_s,
            now_s=self.now_s,
        )
        if skip is None:
            return
        while self.waiting and self.waiting[0].through_cut <= skip.through_cut:
            self.read_s = self.waiting.popleft().found_s
        self.shed.update(range(skip.first, skip.last + 1))

    def _batch(self) -> None:
        taken = 0
        while self.waiting and taken + self.waiting[0].bytes <= BATCH_BYTES_MAX:
            one = self.waiting.popleft()
            taken, self.read_s = taken + one.bytes, one.found_s
        took_s = (BATCH_S + self.s_per_mb * taken / 1e6) / self.share
        self.now_s += took_s
        self.pace.took(taken, took_s)
        self.read_bytes += taken
        first = self.times.pane_at(0.0)
        for pane in range(first, self.times.pane_at(self.read_s - DISORDER_S)):
            if pane not in self.shed:
                self.done_s.setdefault(pane, self.now_s)

    def fidelity(self, panes: range) -> float:
        """Of these panes the share that was done by the deadline."""
        good = [p for p in panes if self.done_s.get(p, 1e12) <= self.times.due_s(p)]
        return len(good) / len(panes)
