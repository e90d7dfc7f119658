"""Mortar's own way with bad clocks, as a variant to compare with: indices anew at every hop.

Headwater places a record once, at its site, in the root's time. Mortar (section 5.1, figure 7)
places nothing: a tuple carries its age, and every operator that it comes to finds an index for it::

    arrival of T    index = (t_ref - T.age) / slide
    eviction of S   S.age = the average age of what went in

``t_ref`` counts the seconds since the operator was installed, corrected by the age of the install
message, so no clock is compared with another. What the paper says of the rest is kept (section
4.3): the first tuple of an index sets its timeout to ``netDist - T.age``; netDist is an EWMA, with
a weight of 10%, of the largest age received; what comes after an eviction is an entry of its own,
and at the root a second result. Sources send what their sensor gave, one record a second, at the
end of each window on their own ``t_ref``.

It is a model of its own on the trees and delays of a simulated world, not a mode of the product's
machines: a repair that lands in another window could count twice, so nothing else of ours would
hold on top of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import msgspec

from headwater.plan.tree import Tree
from headwater.sim.world.event_queue import Clock, EventQueue
from headwater.sim.world.latencies import Matrix

NET_DIST_ALPHA = 0.1
"""Footnote 3 of the paper."""


class PerHopTuning(msgspec.Struct, frozen=True):
    slide_s: float = 5.0
    duration_s: float = 330.0
    warm_up_s: float = 150.0
    """Windows before are not counted: netDist begins with nothing and learns by tenths."""
    hold_factor: float = 1.0
    """Timeouts are "in proportion to" netDist - T.age; the paper does not say in which."""
    jitter: float = 0.25
    """Delays are longer by up to this share. Peers know the mean, by their round trips."""
    drift_ppm: float = 50.0
    install_wait_s: float = 0.0
    """An install waits up to so long at each hop in queues that its age does not show."""


class SummaryTuple(msgspec.Struct, frozen=True):
    age_s: float
    records: Counter[int]
    """How many of each true window: what no operator can see."""


class Operator:
    """Figure 7 and the time-space list of one peer. ``now_s`` is its own clock, whatever it
    shows: only differences are used."""

    def __init__(self, tuning: PerHopTuning, *, installed_s: float, install_age_s: float) -> None:
        self._tuning = tuning
        self._zero_s = installed_s - install_age_s
        self.net_dist_s = 0.0
        self._open: dict[int, list[tuple[float, SummaryTuple]]] = {}
        """By index: when each came, and what."""

    def t_ref_s(self, now_s: float) -> float:
        return now_s - self._zero_s

    def arrive(self, what: SummaryTuple, *, now_s: float) -> tuple[int, float | None]:
        """Its index; and how long to wait before ``evict``, if it is the first of that index."""
        index = int((self.t_ref_s(now_s) - what.age_s) // self._tuning.slide_s)
        entry = self._open.setdefault(index, [])
        entry.append((now_s, what))
        if len(entry) > 1:
            return index, None
        return index, max(0.0, self._tuning.hold_factor * (self.net_dist_s - what.age_s))

    def evict(self, index: int, *, now_s: float) -> SummaryTuple:
        entry = self._open.pop(index)
        most_s = max(what.age_s for _, what in entry)
        self.net_dist_s += NET_DIST_ALPHA * (most_s - self.net_dist_s)
        records: Counter[int] = Counter()
        for _, what in entry:
            records.update(what.records)
        ages_s = [what.age_s + now_s - came_s for came_s, what in entry]
        return SummaryTuple(sum(ages_s) / len(ages_s), records)


class PerHopFound(msgspec.Struct, frozen=True):
    completeness: float
    """Of the records that were born in a window, the share in its first result."""
    elsewhere: float
    """The share in the first result of another window."""
    latency_s: float
    """From the window's end to its first result."""


class PerHopWorld:
    """A query over ``trees`` of the same sites and root; windows are striped over them."""

    def __init__(
        self, trees: Sequence[Tree], delays_s: Matrix, *, seed: int, tuning: PerHopTuning
    ) -> None:
        self._trees = [dict(tree.parents) for tree in trees]
        self._root = trees[0].root
        self._delays_s = delays_s
        self._tuning = tuning
        self._random = Random(f"per hop {seed}")
        self._queue = EventQueue(start_s=0.0)
        self._clocks: dict[int, Clock] = {}
        self._operators: dict[int, Operator] = {}
        self._results: dict[int, tuple[float, Counter[int]]] = {}
        self._born: Counter[int] = Counter()
        self._install(trees[0])

    def run(self) -> PerHopFound:
        for site in self._operators:
            self._close_next(site, self._random.random(), 0.0)
        self._queue.run_until(self._tuning.duration_s)
        return self._found()

    def _found(self) -> PerHopFound:
        tuning = self._tuning
        first = int(tuning.warm_up_s // tuning.slide_s)
        last = int(tuning.duration_s // tuning.slide_s) - 3
        right = there = born = 0
        latencies_s = []
        for window in range(first, last):
            at_s, records = self._results.get(window, (tuning.duration_s, Counter()))
            right += records[window]
            there += records.total()
            born += self._born[window]
            latencies_s.append(at_s - (window + 1) * tuning.slide_s)
        return PerHopFound(
            right / born, (there - right) / born, sum(latencies_s) / len(latencies_s)
        )

    # ---- installing: down the first tree, with the age that each hop believes

    def _install(self, tree: Tree) -> None:
        believed_s, true_s = {self._root: 0.0}, {self._root: 0.0}
        for site in sorted(tree.levels, key=lambda site: tree.levels[site]):
            if site != self._root:
                above = self._trees[0][site]
                believed_s[site] = believed_s[above] + self._mean_s(above, site)
                unseen_s = self._tuning.install_wait_s * self._random.random()
                true_s[site] = true_s[above] + self._delay_s(above, site) + unseen_s
            drift = self._tuning.drift_ppm
            clock = Clock(self._queue, offset_s=0.0, drift_ppm=self._random.uniform(-drift, drift))
            self._clocks[site] = clock
            self._operators[site] = Operator(
                self._tuning, installed_s=clock.at_s(true_s[site]), install_age_s=believed_s[site]
            )

    def _mean_s(self, one: int, other: int) -> float:
        return float(self._delays_s[one][other]) * (1.0 + self._tuning.jitter / 2)

    def _delay_s(self, one: int, other: int) -> float:
        jitter = self._tuning.jitter * self._random.random()
        return float(self._delays_s[one][other]) * (1.0 + jitter)

    # ---- sources: merging across time

    def _close_next(self, site: int, next_s: float, after_s: float) -> None:
        """Plan the end of the window of ``site`` that comes after this true time."""
        clock, operator = self._clocks[site], self._operators[site]
        slide_s, local_s = self._tuning.slide_s, self._clocks[site].at_s(after_s)
        passed = operator.t_ref_s(local_s) // slide_s + 1
        end_s = clock.true_s(local_s + passed * slide_s - operator.t_ref_s(local_s))
        self._queue.at(end_s, self._close, site, next_s, end_s)

    def _close(self, site: int, next_s: float, end_s: float) -> None:
        births_s = []
        while next_s < end_s:
            births_s.append(next_s)
            next_s += 1.0
        if births_s:
            windows = Counter(int(born_s // self._tuning.slide_s) for born_s in births_s)
            self._born.update(windows)
            age_s = sum(end_s - born_s for born_s in births_s) / len(births_s)
            self._arrive(site, SummaryTuple(age_s, windows), None)
        self._close_next(site, next_s, end_s + self._tuning.slide_s / 2)

    # ---- operators: merging across space

    def _arrive(self, site: int, what: SummaryTuple, tree: int | None) -> None:
        now_s = self._clocks[site].now_s()
        index, wait_s = self._operators[site].arrive(what, now_s=now_s)
        if wait_s is not None:
            tree = index % len(self._trees) if tree is None else tree
            self._queue.after(wait_s, self._evict, site, index, tree)

    def _evict(self, site: int, index: int, tree: int) -> None:
        what = self._operators[site].evict(index, now_s=self._clocks[site].now_s())
        if site == self._root:
            self._results.setdefault(index, (self._queue.now_s, what.records))
            return
        above = self._trees[tree][site]
        sent = msgspec.structs.replace(what, age_s=what.age_s + self._mean_s(site, above))
        self._queue.after(self._delay_s(site, above), self._arrive, above, sent, tree)
