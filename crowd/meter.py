"""What trouble makes, counted in one process: every dial, host sought, repair and greeting.

The product knows nothing of it: a public method and a function of its modules are wrapped when the
process begins, and one that is not there any more is an error at once. What a node wants done is
looked at when it is taken from it. By then it may be as old as the last taking, so a budget is
allowed its rate for that long: a loop that was stopped takes in a lump what was decided before.

A sample a second goes to a file, a JSON object a line. Counts are since the last one.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

import msgspec

from headwater.agent.runtime import SiteRuntime
from headwater.algebra.summary import Lane
from headwater.net.network import NetworkStats
from headwater.net.refusal import Refusal
from headwater.net.transport import tls_network
from headwater.node import effects as fx
from headwater.node.config import NodeConfig
from headwater.node.node import Node
from headwater.overlay.ways.staged_policy import SAME

DIALS, HOSTS, REPAIRS, GREETINGS = "dials", "hosts sought", "repairs", "greetings"
DETOURS, PUSHED_OUT, LOST = "detours", "pushed out", "neighbours lost"
KINDS = (LOST, DIALS, HOSTS, DETOURS, REPAIRS, GREETINGS, PUSHED_OUT)
SAMPLE_EVERY_S = 1.0
SLACK = 0.5
"""Of one: rounding, and clocks that are read a moment apart."""
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
STORMS_MAX = 20
"""Storms that one process tells of; a further one is no news."""
DIALLED_MAX = 50
"""Dials that one sample names; all are counted."""


class Sample(msgspec.Struct, frozen=True):
    at_s: float
    cpu_s: float
    """Of this process, since it began."""
    rss_bytes: int
    counts: dict[str, int]
    """Since the last sample, over all agents of the process."""
    asleep_s: float
    """By how much their ticks have come late, over all agents, since they began."""
    links: int
    queued_bytes: int
    """What waits for all links together."""
    storms: tuple[str, ...] = ()
    """New ones."""
    failures: tuple[str, ...] = ()
    """Agents that no longer work, and why."""
    disk_waits: int = 0
    """How often a slow disk was waited for, since the process began."""
    notices: dict[str, int] = {}
    """Since the agents began, by kind."""
    dialled: tuple[str, ...] = ()
    """Who dialled which neighbour since the last sample, as "a>b"."""
    missing: int = 0
    """Neighbours without a link, over all agents."""


class Level:
    """What was spent lately of one budget: it sinks by the rate, and is bounded by the burst."""

    def __init__(self, per_s: float, burst: float) -> None:
        self._per_s = per_s
        self._burst = burst
        self._spent = 0.0
        self._at_s = 0.0

    def is_over(self, count: int, *, now_s: float, since_s: float) -> bool:
        """So many more, decided at some time since ``since_s``."""
        self._spent = max(0.0, self._spent - (now_s - self._at_s) * self._per_s) + count
        self._at_s = now_s
        return self._spent > self._burst + self._per_s * (now_s - since_s) + SLACK


class Meter:
    """One for a process; made before its agents are."""

    def __init__(self, config: NodeConfig, now_s: Callable[[], float] = time.monotonic) -> None:
        overlay, edge = config.overlay, config.edge
        at_once = edge.spares_per_tick_max  # a pane of several updates is repaired whole
        self._budgets = {
            DIALS: (overlay.dials_per_s_max, overlay.dials_burst_max),
            HOSTS: (overlay.hosts_sought_per_s_max, overlay.hosts_sought_burst_max),
            REPAIRS: (edge.repairs_per_s_max, edge.repairs_burst_max + at_once),
        }
        self._now_s = now_s
        self._levels: dict[tuple[str, str], Level] = {}
        self._taken_s: dict[str, float] = {}
        self._counts: Counter[str] = Counter()
        self._storms: list[str] = []
        self._totals: Counter[str] = Counter()
        self._dialled: list[str] = []

    def lay_hooks(self) -> None:
        """From now on all nodes and listeners of this process are watched."""
        take, down, accept = Node.take, Node.link_down, vars(tls_network)["accept_tls"]

        def watched(node: Node) -> list[fx.Effect]:
            effects = take(node)
            self.taken(node.site, effects)
            return effects

        def lost(node: Node, site: str, **more: Any) -> None:
            self._counts[LOST] += site in node.peer.neighbours()
            down(node, site, **more)

        async def counted(*arguments: Any) -> Any:
            self._counts[GREETINGS] += 1
            return await accept(*arguments)

        setattr(Node, "take", watched)  # noqa: B010 - mypy knows them as what they were
        setattr(Node, "link_down", lost)  # noqa: B010
        setattr(tls_network, "accept_tls", counted)  # noqa: B010

    def taken(self, site: str, effects: Sequence[fx.Effect]) -> None:
        """This is what a node wants done now."""
        now_s = self._now_s()
        since_s, self._taken_s[site] = self._taken_s.get(site, now_s), now_s
        self._dialled += [f"{site}>{one.site}" for one in effects if _is_dial(one)]
        for kind, count in _trouble_in(effects).items():
            self._counts[kind] += count
            if self._level(site, kind).is_over(count, now_s=now_s, since_s=since_s):
                per_s, burst = self._budgets[kind]
                self._storm(f"{site}: more than {burst:g} {kind} and {per_s:g} a second")

    def _level(self, site: str, kind: str) -> Level:
        if (site, kind) not in self._levels:
            self._levels[site, kind] = Level(*self._budgets[kind])
        return self._levels[site, kind]

    def _storm(self, text: str) -> None:
        if len(self._storms) < STORMS_MAX:
            self._storms.append(text)

    def sample(self, runtimes: Sequence[SiteRuntime], *, disk_waits: int = 0) -> Sample:
        stats = [runtime.network.stats() for runtime in runtimes]
        links = [link for one in stats for link in one.links.values()]
        pushed_out = sum(one.refused.get(Refusal.TOO_MANY_CONNECTIONS, 0) for one in stats)
        self._since(PUSHED_OUT, pushed_out)
        self._since(DETOURS, sum(_detours(runtime) for runtime in runtimes))
        counts, self._counts = dict(self._counts), Counter()
        storms, self._storms = tuple(self._storms), []
        dialled, self._dialled = tuple(self._dialled[:DIALLED_MAX]), []
        return Sample(
            at_s=time.time(),
            cpu_s=time.process_time(),
            rss_bytes=rss_bytes(),
            counts=counts,
            asleep_s=sum(runtime.node.peer.wake.asleep_s for runtime in runtimes),
            links=sum(link.is_up for link in links),
            queued_bytes=sum(link.queued_bytes for link in links),
            storms=storms,
            failures=tuple(runtime.failure for runtime in runtimes if runtime.failure),
            disk_waits=disk_waits,
            notices=dict(_notices(runtimes)),
            dialled=dialled,
            missing=sum(map(_missing, runtimes, stats)),
        )

    def _since(self, kind: str, total: int) -> None:
        """What is only known as a total."""
        self._counts[kind] += total - self._totals[kind]
        self._totals[kind] = total


async def keep_samples(path: Path, take: Callable[[], Sample]) -> None:
    """Until it is cancelled."""
    with path.open("ab", buffering=0) as file:
        while True:
            file.write(msgspec.json.encode(take()) + b"\n")
            await asyncio.sleep(SAMPLE_EVERY_S)


def read_samples(path: Path) -> list[Sample]:
    """Whole lines only: the last one may be half written."""
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")[:-1]
    return [msgspec.json.decode(line, type=Sample) for line in lines]


def rss_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES


def _trouble_in(effects: Sequence[fx.Effect]) -> Mapping[str, int]:
    found: Counter[str] = Counter()
    for effect in effects:
        if isinstance(effect, fx.Dial):
            found[HOSTS if effect.as_host else DIALS] += 1
        elif isinstance(effect, fx.LoadAndSend) and effect.lane is Lane.SPARE and effect.updates:
            found[REPAIRS] += 1
    return found


def _is_dial(effect: fx.Effect) -> TypeGuard[fx.Dial]:
    """Of a neighbour."""
    return isinstance(effect, fx.Dial) and not effect.as_host


def _missing(runtime: SiteRuntime, stats: NetworkStats) -> int:
    linked = {site for site, link in stats.links.items() if link.is_up}
    return len(runtime.node.peer.neighbours() - linked)


def _detours(runtime: SiteRuntime) -> int:
    """Summaries that left by another way than their tree."""
    return sum(count for stage, count in runtime.node.peer.stages().items() if stage != SAME)


def _notices(runtimes: Sequence[SiteRuntime]) -> Counter[str]:
    found: Counter[str] = Counter()
    for runtime in runtimes:
        found.update(runtime.notice_counts)
    return found
