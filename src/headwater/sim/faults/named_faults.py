"""From the troubles that a file names to the faults that strike, drawn from the seed."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from headwater.errors import ConfigurationError
from headwater.plan.roster import Roster
from headwater.plan.tree import Tree
from headwater.sim.faults.faults import Fault, Kind
from headwater.sim.simulation_file import FaultPart

LINK_KINDS = {"links": Kind.CUT, "one-way": Kind.ONE_WAY, "lossy": Kind.LOSSY, "slow": Kind.SLOW}
GONE = frozenset({Kind.ISOLATE, Kind.CRASH, Kind.POWER, Kind.DISK_LOSS})
"""A site that meets one of these can't be in an answer while it lasts."""


class NamedFaults:
    """One simulation's: who may be struck, and by which chance."""

    def __init__(
        self, roster: Roster, trees: Sequence[Tree], *, root: str, duration_s: float, random: Random
    ) -> None:
        self._names = {site.ordinal: site.name for site in roster.sites}
        self._others = [site.name for site in roster.sites if site.name != root]
        self._known = set(self._names.values())
        self._links = sorted({pair for tree in trees for pair in tree.parents})
        self._duration_s = duration_s
        self._random = random

    def faults_of(self, part: FaultPart) -> list[Fault]:
        until_s = self._duration_s if part.until_s is None else part.until_s
        if part.kind == "nodes":
            return self._gone(self._sites(part), part, part.from_s, until_s)
        if part.kind == "rolling":
            return self._rolling(part, until_s)
        if part.kind == "churn":
            return self._churn(part, until_s)
        if part.kind in LINK_KINDS:
            kind, value = LINK_KINDS[part.kind], self._value(part)
            for_s = until_s - part.from_s
            return [Fault(kind, part.from_s, for_s, pair, value) for pair in self._pairs(part)]
        sites = self._sites(part)
        for_s = until_s - part.from_s
        if part.kind == "partition":
            return [Fault(Kind.PARTITION, part.from_s, for_s, tuple(sites))]
        if part.kind == "slow-machine":
            return [Fault(Kind.SLOW_MACHINE, part.from_s, for_s, tuple(sites), part.factor)]
        if part.kind == "straggler":
            return [Fault(Kind.STRAGGLE, part.from_s, for_s, (one,), part.delay) for one in sites]
        if part.kind == "clock":
            return [Fault(Kind.CLOCK_STEP, part.from_s, 0.0, (one,), part.step) for one in sites]
        kind = Kind.CRASH if part.kind == "restart" else Kind.DISK_LOSS
        return [
            Fault(kind, self._random.uniform(part.from_s, until_s), part.down_for, (one,))
            for one in sites
        ]

    def _value(self, part: FaultPart) -> float:
        return {"lossy": part.lost, "slow": part.bytes_per_s}.get(part.kind, 0.0)

    def _gone(
        self, sites: Sequence[str], part: FaultPart, from_s: float, until_s: float
    ) -> list[Fault]:
        if part.how == "disconnect":
            return [Fault(Kind.ISOLATE, from_s, until_s - from_s, tuple(sites))]
        return [Fault(Kind.CRASH, from_s, until_s - from_s, (site,)) for site in sites]

    def _rolling(self, part: FaultPart, until_s: float) -> list[Fault]:
        faults, at_s = [], part.from_s
        for share in part.shares:
            if at_s >= until_s:
                break
            end_s = min(at_s + part.down, until_s)
            faults += self._gone(self._some(share), part, at_s, end_s)
            at_s += part.down + part.up
        return faults

    def _churn(self, part: FaultPart, until_s: float) -> list[Fault]:
        """A share is gone; every so often some of them come back, and as many others go."""
        gone_since = dict.fromkeys(self._sites(part), part.from_s)
        swapped = max(1, round(part.swap * len(gone_since)))
        faults, at_s = [], part.from_s + part.every
        while at_s < until_s:
            back = self._random.sample(sorted(gone_since), swapped)
            for site in back:
                faults += self._gone([site], part, gone_since.pop(site), at_s)
            free = [name for name in self._others if name not in gone_since and name not in back]
            gone_since |= dict.fromkeys(self._random.sample(free, min(swapped, len(free))), at_s)
            at_s += part.every
        for site, since_s in gone_since.items():
            faults += self._gone([site], part, since_s, until_s)
        return sorted(faults, key=lambda fault: (fault.at_s, fault.sites))

    def _sites(self, part: FaultPart) -> list[str]:
        unknown = [name for name in part.names if name not in self._known]
        if unknown:
            some = ", ".join(sorted(self._known)[:8])
            raise ConfigurationError(
                f"faults: {part.kind}: no site {unknown[0]!r}; there are {len(self._known)}, "
                f"as {some}"
            )
        return list(part.names) or self._some(part.share or 0.0)

    def _some(self, share: float) -> list[str]:
        """Never the root: without it there are no answers to look at."""
        count = min(len(self._others), max(1, round(share * len(self._known))))
        return sorted(self._random.sample(self._others, count))

    def _pairs(self, part: FaultPart) -> list[tuple[str, str]]:
        links = [(self._names[child], self._names[parent]) for child, parent in self._links]
        if not part.names:
            count = max(1, round((part.share or 0.0) * len(links)))
            return sorted(self._random.sample(links, min(count, len(links))))
        named = {f"{child}-{parent}": (child, parent) for child, parent in links}
        unknown = [name for name in part.names if name not in named]
        if unknown:
            raise ConfigurationError(
                f"faults: {part.kind}: no link {unknown[0]!r} in the trees; as "
                f"{', '.join(sorted(named)[:6])}"
            )
        return [named[name] for name in part.names]
