"""One simulation from its file: the world is made, run in virtual time, and measured."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random

import msgspec

from headwater.algebra.coordinate import Coordinate
from headwater.algebra.far_times import NEVER_DUE_S
from headwater.algebra.panes import MICROS, WindowSpec
from headwater.errors import ConfigurationError
from headwater.node.config import NodeConfig
from headwater.overlay.config import OverlayConfig
from headwater.overlay.coordinates.vivaldi import Vivaldi
from headwater.placement.plan_trees import plan_trees
from headwater.plan.query import Query, QueryId, TimeKind, Timing
from headwater.plan.roster import Roster, Site
from headwater.plan.tree import Tree
from headwater.sim.faults.faults import Fault
from headwater.sim.faults.named_faults import NamedFaults
from headwater.sim.measure.gauge import Gauge
from headwater.sim.outcome import Outcome
from headwater.sim.records.admits import DIVISOR, admitting
from headwater.sim.scenario import START_S, Scenario
from headwater.sim.simulation_file import FULL_SITES_MAX, MEASURED, SimulationFile, WorldPart
from headwater.sim.tuning import Pace
from headwater.sim.world import latencies
from headwater.sim.world.clock_offsets import draw_offsets
from headwater.sim.world.log import Workload
from headwater.sim.world.world import World

SITES_USUAL = 100
VIVALDI_ROUNDS = 6
VIVALDI_NEIGHBOURS = 16
"""Enough for coordinates that trees can be planned by."""


class Ran(msgspec.Struct, frozen=True):
    """A simulation that has run to its end, or to the rule that it broke."""

    file: SimulationFile
    scenario: Scenario
    world: World
    gauge: Gauge
    outcome: Outcome
    wall_s: float


def run_simulation(file: SimulationFile, scenario: Scenario | None = None) -> Ran:
    """``scenario`` is for experiments that have made it already."""
    scenario = scenario or make_scenario(file)
    is_light = _is_light(file, len(scenario.roster.sites))

    def watch(world: World) -> Gauge:
        checkers = None if is_light else world.checkers
        return Gauge(world.queue, world.truth, world.births, storm=world.storm, checkers=checkers)

    begun_s = time.perf_counter()
    world = World(scenario, watch=watch, is_light=is_light, is_judged=False)
    with _without_collector():
        outcome = world.run()
    assert isinstance(world.watcher, Gauge), "it was made here"
    wall_s = time.perf_counter() - begun_s
    return Ran(file, scenario, world, world.watcher, outcome, wall_s)


@contextmanager
def _without_collector() -> Iterator[None]:
    """A run makes no cycles to speak of, and walking a large world for them takes its time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _is_light(file: SimulationFile, site_count: int) -> bool:
    if file.checks is not None:
        return file.checks == "light"
    return site_count > FULL_SITES_MAX


def make_scenario(
    file: SimulationFile,
    *,
    place: latencies.World | None = None,
    trees: tuple[Tree, ...] | None = None,
) -> Scenario:
    """``place`` and ``trees`` are for experiments that make one of them for many runs."""
    place = place or make_place(file)
    roster = make_roster(file, place)
    trees = trees or make_trees(file, roster, place)
    query = _make_query(file, roster)
    count = len(roster.sites)
    clocks = Random(f"clocks {file.seed}")
    drift = file.clocks.drift_ppm
    faults = _make_faults(file, roster, trees)
    return Scenario(
        seed=file.seed,
        roster=roster,
        trees=trees,
        offsets_s=draw_offsets(
            file.clocks.kind,
            count,
            random=clocks,
            scale=file.clocks.scale,
            spread_s=file.clocks.spread,
        ),
        drifts_ppm=tuple(clocks.uniform(-drift, drift) for _ in range(count)),
        delays_s=place.one_way_s,
        workloads=(_make_workload(file),) * count,
        first_query=query,
        refusals=(),
        faults=faults,
        faults_until_s=max((fault.at_s + fault.for_s for fault in faults), default=0.0),
        end_s=file.duration,
        pace=_make_pace(file),
        config=_make_config(file),
        query_trees=trees,
        jitter=file.world.jitter,
        install_s=file.query.install_at,
        merges=file.routing.aggregation,
    )


# ---- the world


def make_place(file: SimulationFile) -> latencies.World:
    part = file.world
    seed = file.seed if part.seed is None else part.seed
    if part.kind in MEASURED:
        return _some_of(_measured(part), part.sites, Random(f"sites {seed}"))
    make = latencies.plane if part.kind == "plane" else latencies.transit_stub
    return make(part.sites or SITES_USUAL, seed=seed)


def _measured(part: WorldPart) -> latencies.World:
    folder = Path(part.data) if part.data else None
    wanted = {
        "planetlab": latencies.PLANETLAB,
        "seattle": latencies.SEATTLE,
        "wondernetwork": latencies.WONDER_PINGS,
    }[part.kind]
    if folder is None or not (folder / wanted).is_file():
        came = "no data directory" if folder is None else f"no such file in {folder}"
        raise ConfigurationError(
            f"world.data: {part.kind} wanted the directory with {wanted}, got {came}; "
            'kinds that need no data: "transit-stub", "plane"'
        )
    if part.kind == "planetlab":
        return latencies.planetlab(folder, slice_number=part.slice)
    if part.kind == "seattle":
        return latencies.seattle(folder, slice_number=part.slice)
    return latencies.wonder_network(folder)


def _some_of(place: latencies.World, count: int | None, random: Random) -> latencies.World:
    there = len(place.names)
    if count is None or count == there:
        return place
    if count > there:
        raise ConfigurationError(f"world.sites: wanted at most {there}, got {count}")
    chosen = sorted(random.sample(range(there), count))
    return latencies.World(
        tuple(place.names[n] for n in chosen),
        tuple(place.regions[n] for n in chosen),
        place.one_way_s[chosen][:, chosen],
    )


def make_roster(file: SimulationFile, place: latencies.World) -> Roster:
    random = Random(f"dialable {file.seed}")
    sites = [
        Site(
            n,
            name,
            region=place.regions[n],
            dialable=n == 0 or random.random() >= file.world.undialable,
        )
        for n, name in enumerate(place.names)
    ]
    return Roster(version=1, sites=tuple(sites), home=place.names[0])


def make_trees(file: SimulationFile, roster: Roster, place: latencies.World) -> tuple[Tree, ...]:
    coordinates: Mapping[str, Coordinate] | None = None
    if file.routing.placement == "coordinates":
        coordinates = settle(place, seed=file.seed)
    return plan_trees(
        roster,
        root=roster.home,
        branching=file.query.branching,
        count=file.query.trees,
        coordinates=coordinates,
        seed=file.seed,
    )


def settle(place: latencies.World, *, seed: int) -> dict[str, Coordinate]:
    """Where everybody is, after each has heard some random others a few times."""
    random = Random(f"vivaldi {seed}")
    count = len(place.names)
    sites = [Vivaldi(random=Random(f"vivaldi {seed} {n}")) for n in range(count)]
    heard = [
        [m for m in random.sample(range(count), min(VIVALDI_NEIGHBOURS + 1, count)) if m != n]
        for n in range(count)
    ]
    rtts_s = [(2.0 * place.one_way_s[n, heard[n]]).tolist() for n in range(count)]
    for _ in range(VIVALDI_ROUNDS):
        for n in range(count):
            for m, rtt_s in zip(heard[n], rtts_s[n], strict=True):
                sites[n].observe(place.names[m], sites[m].coordinate, rtt_s=rtt_s)
    return {name: sites[n].coordinate for n, name in enumerate(place.names)}


# ---- the query and what troubles it


def _make_query(file: SimulationFile, roster: Roster) -> Query:
    part = file.query
    slide_s = part.window if part.slide is None else part.slide
    window = WindowSpec(round(part.window * MICROS), round(slide_s * MICROS))
    begin_s = START_S + part.install_at + part.begin_after
    first = window.first_window_from(int(begin_s * MICROS))
    return Query(
        id=QueryId("simulated", roster.home, 1),
        window=window,
        program=admitting(DIVISOR),
        root=roster.home,
        begin_pane=window.panes_of(first)[0],
        time=TimeKind(part.time),
        timing=Timing(
            deadline_s=part.deadline,
            disorder_s=part.disorder,
            lateness_s=part.lateness,
            revise_every_s=part.revise_every,
        ),
    )


def _make_workload(file: SimulationFile) -> Workload:
    part = file.workload
    return Workload(
        records_per_s=part.records_per_s,
        busy_s=((START_S, START_S + file.duration),),
        disorder_s=file.query.disorder,
        late_share=part.late_share,
        late_s=max(part.late, file.query.disorder),
        is_even=part.arrivals == "even",
    )


def _make_pace(file: SimulationFile) -> Pace:
    part = file.workload
    return Pace(
        poll_every_s=part.poll_every,
        poll_within_s=0.1 if part.polls == "aligned" else None,
        install_s=(0.0, 0.05),
        batch_s=(part.batch_takes / 2, part.batch_takes),
        answer_s=(file.query.answer_takes / 2, file.query.answer_takes),
        answer_fails_share=0.0,
        batch_records_max=1_000_000,
        update_records_max=1_000_000,
        tell_s=0.001,
    )


def _make_config(file: SimulationFile) -> NodeConfig:
    fields = OverlayConfig.__struct_fields__
    known = {name: file.overlay[name] for name in fields if name in file.overlay}
    whole = {
        name: int(value) if isinstance(getattr(OverlayConfig(), name), int) else float(value)
        for name, value in known.items()
    }
    if not file.routing.last_resort:
        whole["resort_after_s"] = NEVER_DUE_S
    return NodeConfig(overlay=msgspec.convert(whole, OverlayConfig))


def _make_faults(
    file: SimulationFile, roster: Roster, trees: tuple[Tree, ...]
) -> tuple[Fault, ...]:
    named = NamedFaults(
        roster,
        trees,
        root=roster.home,
        duration_s=file.duration,
        random=Random(f"faults {file.seed}"),
    )
    faults = [fault for part in file.faults for fault in named.faults_of(part)]
    assert all(math.isfinite(fault.for_s) for fault in faults), "faults end with the run at last"
    return tuple(sorted(faults, key=lambda fault: fault.at_s))
