"""*Trouble sheds*: whoever is late accuses nobody, and what trouble makes is within its budget.

Two truths that no machine knows are held against what machines do. How often a process dialled,
sought hosts and repaired is counted here, second by second, and must fit the budgets that its
configuration names. And when it calls a neighbour silent, nothing of that neighbour may have been
lying unheard before its own door: a gap in what *came* must be as long as its patience, not a gap
in what it got round to hearing.
"""

from __future__ import annotations

import msgspec

from headwater.algebra.summary import Lane
from headwater.node import effects as do
from headwater.node.config import NodeConfig
from headwater.sim.outcome import Violation
from headwater.sim.world.event_queue import EventQueue
from headwater.sim.world.site import SimulatedSite

SLACK_S = 0.05
"""Clocks drift, and a message that comes in the very instant of the verdict is nobody's fault."""


class _Level(msgspec.Struct):
    """What was spent lately: it sinks by the budget's rate and may never be above its burst."""

    spent: float = 0.0
    at_s: float = 0.0


class StormCheck:
    """For all sites of a run; a new process has new budgets."""

    def __init__(self, queue: EventQueue, config: NodeConfig) -> None:
        overlay, edge = config.overlay, config.edge
        self._queue = queue
        self._patience_s = overlay.silent_floor_s
        self._budgets = {
            "dials": (overlay.dials_per_s_max, overlay.dials_burst_max),
            "hosts sought": (overlay.hosts_sought_per_s_max, overlay.hosts_sought_burst_max),
            "repairs": (edge.repairs_per_s_max, edge.repairs_burst_max + REPAIRS_AT_ONCE),
        }
        self._levels: dict[tuple[str, int, str], _Level] = {}
        self.counts: dict[str, int] = dict.fromkeys(self._budgets, 0)
        """How often each happened, over all sites."""
        self.worst_in_second: dict[str, int] = dict.fromkeys(self._budgets, 0)
        """In the worst second, over all sites."""
        self._second = 0
        self._in_second: dict[str, int] = {}

    def dialled(self, site: SimulatedSite, dial: do.Dial) -> None:
        self._spend(site, "hosts sought" if dial.as_host else "dials")

    def loaded(self, site: SimulatedSite, send: do.LoadAndSend) -> None:
        if send.lane is Lane.SPARE and send.updates:
            self._spend(site, "repairs")

    def hung_up(self, site: SimulatedSite, hangup: do.Hangup) -> None:
        """The inbox of a machine that is not slow is empty: it hears what comes as it comes."""
        inbox = None if site.life is None else site.life.inbox
        if inbox is None or site.node is None or not site.node.peer.is_silent(hangup.site):
            return
        gap_s = inbox.longest_gap_s(hangup.site)
        if gap_s is not None and gap_s < self._patience_s - SLACK_S:
            raise Violation(
                "trouble sheds",
                f"{site.name} calls {hangup.site} silent, of whom nothing had come for "
                f"{gap_s:.2f} s at most: the rest lay unheard before {site.name} itself",
            )

    def _spend(self, site: SimulatedSite, what: str) -> None:
        """What waited behind a slow disk comes in a lump, and was wanted over the time before."""
        self._count(what)
        if site.life is None or site.life.is_behind:
            return
        per_s, burst = self._budgets[what]
        level = self._levels.setdefault((site.name, site.life_count, what), _Level())
        now_s = self._queue.now_s
        level.spent = max(0.0, level.spent - (now_s - level.at_s) * per_s) + 1.0
        level.at_s = now_s
        if level.spent > burst + per_s * SLACK_S:
            raise Violation(
                "no storm", f"{site.name}: more than {burst:g} {what} and {per_s:g} a second"
            )

    def _count(self, what: str) -> None:
        second = int(self._queue.now_s)
        if second != self._second:
            self._second, self._in_second = second, {}
        count = self._in_second[what] = self._in_second.get(what, 0) + 1
        self.counts[what] += 1
        self.worst_in_second[what] = max(self.worst_in_second[what], count)


REPAIRS_AT_ONCE = 64
"""A pane that has several updates is repaired whole: so far may a budget be overdrawn."""
