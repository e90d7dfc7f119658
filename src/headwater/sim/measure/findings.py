"""What a simulation found, in numbers: for people as a table, for programs as one object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from headwater.algebra.panes import MICROS
from headwater.plan.query import TimeKind
from headwater.sim.faults.limits import Reach
from headwater.sim.measure.gauge import HEARTBEATS, REST, SUMMARIES, WindowSeen
from headwater.sim.scenario import START_S
from headwater.sim.simulation import Ran

SETTLE_S = 1.0
"""A window whose first answer would come less than this before the end is left out."""


class WindowFound(msgspec.Struct, frozen=True):
    """One window; times count from the start of the run, shares are of sites."""

    window: int
    end_s: float
    latency_s: float
    """From its end to its first answer, in true time. A window of an age query ends by the clock
    of its root; one of timestamps by no clock in particular, so by true time."""
    trigger: str
    expected: int
    live: int
    """Sites that were up and connected from the window's start to its first answer."""
    reachable: int
    """Of those, the ones that the network allows, as the query was routed."""
    upwards: int
    """Of those, the ones with a live path to the root up the links of any trees."""
    by_trees: int
    """The same over the trees' links in either direction."""
    first: int
    """Live sites in the first answer."""
    covered_first: int
    """All sites in the first answer."""
    covered_last: int
    """All sites in the newest answer."""
    revisions: int
    hops: float
    """The mean length of the way of what was in it."""
    exact_s: float | None
    born: int
    """Records that were truly born in the window, by the clock of its root."""
    right: int
    """Of those, the ones in the first answer."""

    @property
    def of_born(self) -> float:
        """True completeness, as Mortar calls it."""
        return self.right / self.born if self.born else 1.0

    @property
    def of_live(self) -> float:
        return self.first / self.live if self.live else 1.0


class Load(msgspec.Struct, frozen=True):
    """Mean bits a second over all overlay hops, from the first window's start to the end."""

    total: float
    heartbeats: float
    summaries: float
    rest: float


class Findings(msgspec.Struct, frozen=True):
    seed: int
    world: str
    sites: int
    trees: int
    branching: int
    virtual_s: float
    wall_s: float
    events: int
    windows: tuple[WindowFound, ...]
    completeness_first: float
    """Of live sites, the mean over windows."""
    completeness_worst: float
    true_completeness: float
    """Of the records born in a window, those in its first answer; the mean over windows."""
    limit: float
    """What the network allowed of live sites, the mean over windows."""
    completeness_last: float
    """Of all sites, in the newest revision."""
    latency_mean_s: float
    latency_p90_s: float
    hops_mean: float
    stages: dict[str, int]
    load_bits_s: Load
    installed: int
    installed_all_s: float | None
    """From the install to the last site that has it; None: not all have."""
    notices: dict[str, int]
    messages: dict[str, int]
    checks: str
    verdict: str
    """Which rule was broken and how; or that none was."""


def find(ran: Ran) -> Findings:
    windows = _windows(ran)
    latencies = sorted(one.latency_s for one in windows)
    stages: Counter[str] = Counter()
    for site in ran.world.sites.values():
        if site.node is not None:
            stages.update(site.node.peer.stages())
    installed = sorted(ran.gauge.installed_s.values())
    is_all = len(installed) == len(ran.world.sites)
    outcome = ran.outcome
    last = [one.covered_last / one.expected for one in windows]
    return Findings(
        seed=ran.file.seed,
        world=ran.file.world.kind,
        sites=len(ran.world.sites),
        trees=ran.file.query.trees,
        branching=ran.file.query.branching,
        virtual_s=round(outcome.virtual_s, 3),
        wall_s=round(ran.wall_s, 3),
        events=outcome.event_count,
        windows=windows,
        completeness_first=_mean([one.of_live for one in windows]),
        completeness_worst=min((one.of_live for one in windows), default=0.0),
        true_completeness=_mean([one.of_born for one in windows]),
        limit=_mean([one.reachable / one.live for one in windows if one.live]),
        completeness_last=_mean(last),
        latency_mean_s=_mean(latencies),
        latency_p90_s=latencies[int(0.9 * (len(latencies) - 1))] if latencies else 0.0,
        hops_mean=_mean([one.hops for one in windows]),
        stages=dict(stages),
        load_bits_s=_load(ran),
        installed=len(installed),
        installed_all_s=installed[-1] - START_S - ran.file.query.install_at if is_all else None,
        notices=dict(ran.gauge.notices),
        messages=dict(ran.gauge.message_count),
        checks="light" if ran.gauge.is_light else "full",
        verdict=outcome.failure or "no rule was broken",
    )


def _windows(ran: Ran) -> tuple[WindowFound, ...]:
    """All windows whose first answer was due before the end, answered or not."""
    query, scenario = ran.scenario.first_query, ran.scenario
    reach = Reach(scenario.roster, scenario.trees, scenario.faults, root=query.root)
    spec = query.window
    assert query.begin_pane is not None, "simulated queries say where they begin"
    number = spec.first_window_from(spec.pane_start_us(query.begin_pane))
    found: list[WindowFound] = []
    births = ran.world.births.by_pane(query)
    while True:
        start_s = (spec.start_us + number * spec.slide_us) / MICROS
        end_s = start_s + spec.range_us / MICROS
        if query.time is TimeKind.AGE:
            clock = ran.world.sites[query.root].clock
            start_s, end_s = clock.true_s(start_s), clock.true_s(end_s)
        due_s = end_s + query.timing.deadline_s + SETTLE_S + 2 * ran.file.query.answer_takes
        if due_s > START_S + ran.outcome.virtual_s:
            return tuple(found)
        seen = ran.gauge.windows.get(number)
        found.append(_window(number, seen, start_s, end_s, reach, births, ran))
        number += 1


def _window(
    number: int,
    seen: WindowSeen | None,
    start_s: float,
    end_s: float,
    reach: Reach,
    births: Mapping[int, int],
    ran: Ran,
) -> WindowFound:
    query = ran.scenario.first_query
    answered_s = end_s + query.timing.deadline_s if seen is None else seen.first.at_s
    live, upwards, by_trees, by_network = reach.during(start_s - START_S, answered_s - START_S)
    count = len(ran.world.sites)
    first = 0 if seen is None else len(live - seen.first.missing)
    hops = sum(ran.gauge.hops[pane] for pane in query.window.panes_of(number))
    covered = 0 if seen is None else seen.first.covered
    reachable = by_network if ran.file.routing.last_resort else by_trees
    return WindowFound(
        window=number,
        end_s=end_s - START_S,
        latency_s=round(answered_s - end_s, 4),
        trigger="unanswered" if seen is None else seen.first.trigger,
        expected=count,
        live=len(live),
        reachable=len(reachable & live),
        upwards=len(upwards & live),
        by_trees=len(by_trees & live),
        first=first,
        covered_first=covered,
        covered_last=0 if seen is None else seen.newest.covered,
        revisions=0 if seen is None else seen.newest.revision,
        hops=round(hops / max(1, covered) / query.window.panes_per_window, 3),
        exact_s=None if seen is None or seen.exact_s is None else seen.exact_s - end_s,
        born=sum(births.get(pane, 0) for pane in query.window.panes_of(number)),
        right=0 if seen is None else seen.first.right,
    )


def _load(ran: Ran) -> Load:
    part = ran.file.query
    from_s = int(START_S + part.install_at + part.begin_after)
    until_s = int(START_S + ran.outcome.virtual_s)
    seconds = max(1, until_s - from_s)
    bits = {
        kind: 8 * sum(count for second, count in by_second.items() if second >= from_s) / seconds
        for kind, by_second in ran.gauge.load_bytes.items()
    }
    return Load(sum(bits.values()), bits[HEARTBEATS], bits[SUMMARIES], bits[REST])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
