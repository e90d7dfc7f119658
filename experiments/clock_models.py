"""Three ways to put a record into its window when clocks are wrong, for figures 9 and 10.

*Timestamps*: the record carries the time of its site. The product runs (real machines in the
simulator); what is in a first answer is weighed by how much of each site's window really lies in
the root's.

*Placed once* (ours, "Age places a record once, at its site"): the site places a record by its own
clock plus the offset to the root's that its heartbeats have found. The same runs give the offsets
that each peer has found, ``Peer.root_clock``, and how far they are from the truth.

*Per hop* (Mortar, figure 7): a small model of its own over the same tree and delays. Each operator
keeps ``t_ref`` from its install on (corrected by the age of the install message), indexes what
comes by its age, and gives what leaves the average age of what went in. Its operators are as
Mortar's: they wait netDist, an EWMA of the largest age.
"""

from __future__ import annotations

import heapq
from random import Random
from typing import NamedTuple

import msgspec

from experiments.mortar_bed import bed, mean
from headwater.plan.tree import Tree
from headwater.sim.findings import find
from headwater.sim.latencies import Matrix
from headwater.sim.scenario import START_S
from headwater.sim.simulation import (
    make_place,
    make_roster,
    make_scenario,
    make_trees,
    run_simulation,
)

SITES = 439
WINDOW_S = 5.0
DURATION_S = 75.0
DEADLINE_S = 6.0
NET_DIST_ALPHA = 0.1
HOLD_FACTOR = 1.25
DELAY_JITTER = 0.25
CLOCK_RATE_ERROR = 100e-6


class Point(NamedTuple):
    completeness: float
    """True completeness in per cent: of the records of a window, those in the right answer."""
    latency_s: float


def overlap(offset_s: float) -> float:
    """How much of a window of one clock lies in the same window of another."""
    return max(0.0, 1.0 - abs(offset_s) / WINDOW_S)


def by_machines(seed: int, scale: float) -> tuple[Point, Point, float]:
    """(timestamps, placed once, worst error of a found offset in s)."""
    file = bed(
        seed=seed, duration=DURATION_S, sites=SITES,
        query={"window": WINDOW_S, "deadline": DEADLINE_S, "begin_after": 8},
        workload={"poll_every": 1.0, "polls": "aligned"},
        clocks={"kind": "planetlab", "scale": scale, "drift_ppm": 50},
    )  # fmt: skip
    place = make_place(file)
    scenario = make_scenario(file, place=place)
    offsets_s = (0.0, *scenario.offsets_s[1:])
    scenario = msgspec.structs.replace(scenario, offsets_s=offsets_s)
    ran = run_simulation(file, scenario)
    if ran.outcome.rule:
        raise SystemExit(f"seed {seed}: {ran.outcome.failure}")
    found = find(ran)
    off = {site.name: offsets_s[n] for n, site in enumerate(scenario.roster.sites)}
    shares = []
    for one in found.windows[2:]:
        seen = ran.gauge.windows.get(one.window)
        missing = frozenset(off) if seen is None else seen.first.missing
        shares.append(sum(overlap(off[name]) for name in off if name not in missing) / SITES)
    timestamps = Point(100 * mean(shares), mean([one.latency_s for one in found.windows[2:]]))
    errors = []
    end_s = START_S + DURATION_S
    root = ran.world.sites[scenario.roster.home]
    for site in ran.world.sites.values():
        assert site.node is not None
        clock = site.node.peer.root_clock(scenario.roster.home)
        true_s = root.clock.at_s(end_s) - site.clock.at_s(end_s)
        errors.append(DURATION_S if clock is None else abs(clock.offset_s - true_s))
    placed = Point(100 * mean([overlap(error) for error in errors]), 0.0)
    return timestamps, placed, max(errors)


class _Operator:
    def __init__(self, t_install_s: float, age_s: float, rate: float) -> None:
        self.t_install_s = t_install_s
        self.age_s = age_s
        self.rate = rate
        self.net_dist_s = 0.5
        self.open: dict[int, list[tuple[float, float, dict[int, int]]]] = {}
        """By index: (birth of the average, weight 1, true windows of the records)."""

    def t_ref_s(self, now_s: float) -> float:
        return (now_s - self.t_install_s) * self.rate + self.age_s


def per_hop(seed: int, tree: Tree, delays_s: Matrix) -> Point:
    """Clocks do not matter here: only their rates do, which no scale changes."""
    random = Random(f"per hop {seed}")
    parent = dict(tree.parents)
    queue: list[tuple[float, int, str, int, object]] = []
    number = 0

    def at(time_s: float, what: str, site: int, word: object) -> None:
        nonlocal number
        number += 1
        heapq.heappush(queue, (time_s, number, what, site, word))

    def delay_s(one: int, other: int) -> float:
        return float(delays_s[one][other]) * (1.0 + DELAY_JITTER * random.random())

    operators: dict[int, _Operator] = {}
    order = sorted(tree.levels, key=lambda site: tree.levels[site])
    for site in order:
        rate = 1.0 + random.uniform(-CLOCK_RATE_ERROR, CLOCK_RATE_ERROR)
        if site == tree.root:
            operators[site] = _Operator(0.0, 0.0, rate)
            continue
        above = operators[parent[site]]
        took_s = delay_s(parent[site], site)
        known_s = float(delays_s[parent[site]][site]) * (1.0 + DELAY_JITTER / 2)
        operators[site] = _Operator(above.t_install_s + took_s, above.age_s + known_s, rate)
    end_s = DURATION_S
    for site in order:
        born_s = operators[site].t_install_s + random.random()
        while born_s < end_s:
            at(born_s, "record", site, {int(born_s // WINDOW_S): 1})
            born_s += 1.0
    answers: dict[int, tuple[float, dict[int, int]]] = {}
    while queue:
        now_s, _, what, site, word = heapq.heappop(queue)
        operator = operators[site]
        if what == "evict":
            index = word
            assert isinstance(index, int)
            parts = operator.open.pop(index)
            age_s = mean([now_s - birth_s for birth_s, _, _ in parts])
            records: dict[int, int] = {}
            for _, _, true in parts:
                for window, count in true.items():
                    records[window] = records.get(window, 0) + count
            if site == tree.root:
                answers.setdefault(index, (now_s, records))
            else:
                took_s = delay_s(site, parent[site])
                known_s = float(delays_s[site][parent[site]]) * (1.0 + DELAY_JITTER / 2)
                at(now_s + took_s, "summary", parent[site], (age_s + known_s, records))
            continue
        age_s, true = word if what == "summary" else (0.0, word)  # type: ignore[misc]
        t_ref_s = operator.t_ref_s(now_s)
        index = int((t_ref_s - age_s) // WINDOW_S)
        if what == "summary":
            # How long after the window's end the slowest has come, which is what to wait for.
            late_s = t_ref_s - (index + 1) * WINDOW_S
            if late_s > operator.net_dist_s:
                operator.net_dist_s = late_s
            else:
                operator.net_dist_s += NET_DIST_ALPHA / 16 * (late_s - operator.net_dist_s)
        if index not in operator.open:
            operator.open[index] = []
            wait_s = (index + 1) * WINDOW_S - t_ref_s
            hold_s = HOLD_FACTOR * operator.net_dist_s if tree.children_of(site) else 0.0
            at(max(now_s, now_s + wait_s + hold_s), "evict", site, index)
        operator.open[index].append((now_s - age_s, 1.0, true))
    shares, latencies_s = [], []
    for index, (at_s, records) in answers.items():
        if 3 <= index <= DURATION_S / WINDOW_S - 3:
            shares.append(records.get(index, 0) / (SITES * WINDOW_S))
            latencies_s.append(at_s - (index + 1) * WINDOW_S)
    return Point(100 * mean(shares), mean(latencies_s))


def primary(seed: int) -> tuple[Tree, Matrix]:
    file = bed(seed=seed, duration=DURATION_S, sites=SITES, trees=1)
    place = make_place(file)
    return make_trees(file, make_roster(file, place), place)[0], place.one_way_s
