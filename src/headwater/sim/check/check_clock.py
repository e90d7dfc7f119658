"""*Voted clocks*: a site that calls the clock of a root confirmed is right about it, whoever lies.

What a site takes the root's clock to be is held against the two clocks themselves. It is right
within the spread that it tells, and ``BOUND_S``: so far may one who lies move it, since votes that
differ by less agree. The root may have been started anew since it told its clock: then the site
knows the former one, as it should, until it is told. And what the root's signature proves is true
without any bound, unless the root has begun another life.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.node.node import Node
from headwater.overlay.clocks.root_clock import RootClock
from headwater.plan.query import Query
from headwater.sim.outcome import Violation
from headwater.sim.transcript import Transcript
from headwater.sim.world.event_queue import EventQueue
from headwater.sim.world.site import SimulatedSite

CLOCKS_EVERY_S = 1.0
BOUND_S = 0.3
"""``clock_apart_s`` and some milliseconds of drift."""


class ClockCheck:
    def __init__(
        self, queue: EventQueue, sites: Mapping[str, SimulatedSite], transcript: Transcript
    ) -> None:
        self._queue = queue
        self._sites = sites
        self._transcript = transcript
        self._lives: dict[str, tuple[int, float]] = {}
        """By root: its life, and when it was first seen in it."""

    def look(self, queries: Mapping[str, Query]) -> None:
        for root in {query.root for query in queries.values()}:
            self._look_at(self._sites[root])

    def _look_at(self, root: SimulatedSite) -> None:
        if self._lives.get(root.name, (0, 0.0))[0] != root.life_count:
            self._lives[root.name] = (root.life_count, self._queue.now_s)
        for site in self._sites.values():
            node = site.node
            if node is not None and root.is_up and site is not root:
                self._check_voted(site, node, root)
                self._check_proven(site, node, root)

    def _check_voted(self, site: SimulatedSite, node: Node, root: SimulatedSite) -> None:
        clock = node.peer.root_clock(root.name)
        if clock is None or not self._is_told_in_this_life(clock, site, root):
            return
        what = "confirmed" if clock.is_confirmed else "unconfirmed"
        self._transcript.count(f"the clock of a root was {what}")
        wrong_s = abs(clock.offset_s - _true_s(site, root))
        if clock.is_confirmed and wrong_s > clock.spread_at(site.clock.now_s()) + BOUND_S:
            raise Violation(
                "voted clocks",
                f"{site.name} is wrong by {wrong_s:.3f} s about the clock of {root.name}, which it "
                f"calls confirmed within {clock.spread_s:.3f} s",
            )

    def _is_told_in_this_life(
        self, clock: RootClock, site: SimulatedSite, root: SimulatedSite
    ) -> bool:
        told_s = self._queue.now_s - (site.clock.now_s() - clock.told_s)
        return told_s > self._lives[root.name][1]

    def _check_proven(self, site: SimulatedSite, node: Node, root: SimulatedSite) -> None:
        bounds = node.peer.clock_bounds(root.name)
        if bounds is None or bounds.life != (root.disk.root_incarnation, root.disk.start_count):
            return
        self._transcript.count("the clock of a root was proven")
        true_s, now_s = _true_s(site, root), site.clock.now_s()
        if bounds.contradicts(true_s, within_s=0.001, now_s=now_s):
            low_s, high_s = bounds.low_s - true_s, bounds.high_s - true_s
            raise Violation(
                "proven clocks",
                f"{site.name} has proof that the clock of {root.name} lies between {low_s:+.3f} "
                f"and {high_s:+.3f} s of what it is",
            )


def _true_s(site: SimulatedSite, root: SimulatedSite) -> float:
    """By how much the root's steady clock is ahead of the site's."""
    return root.clock.now_s() - site.clock.now_s()
