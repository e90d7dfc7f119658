"""Mortar's test bed (section 7) as a simulation: 680 peers, four trees of 16, windows of a second.

Heartbeats come every two seconds, as there and in the product. Trees are planned by coordinates as
an agent finds them. Sites read within a tenth of a second after the end of a window, as an operator
does that closes windows by time. The deadline is ours (Mortar has none: its root answers when
netDist has passed): four seconds, so that answers come within the 4.5 s that the paper reports.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from headwater.plan.tree import Tree
from headwater.sim.measure.findings import Findings, WindowFound, find
from headwater.sim.simulation import (
    Ran,
    make_place,
    make_roster,
    make_scenario,
    make_trees,
    run_simulation,
)
from headwater.sim.simulation_file import SimulationFile
from headwater.sim.world import latencies

SITES = 680
HEARTBEAT_S = 2.0


def bed(
    *,
    seed: int,
    duration: float,
    sites: int = SITES,
    trees: int = 4,
    branching: int = 16,
    last_resort: bool = True,
    faults: tuple[dict[str, Any], ...] = (),
    **parts: dict[str, Any],
) -> SimulationFile:
    """The test bed with these changes; ``parts`` are further entries of the file's tables."""
    content: dict[str, Any] = {
        "seed": seed,
        "duration": duration,
        "checks": "light",
        "world": {"kind": "transit-stub", "sites": sites},
        "query": {"trees": trees, "branching": branching, "begin_after": 8},
        "workload": {"polls": "aligned"},
        "routing": {"last_resort": last_resort},
        "overlay": {"heartbeat_every_s": HEARTBEAT_S},
        "faults": list(faults),
    }
    for name, entries in parts.items():
        content[name] = {**content.get(name, {}), **entries}
    return msgspec.convert(content, SimulationFile)


def run(file: SimulationFile) -> tuple[Ran, Findings]:
    """Worlds and trees are made once for a seed, however many runs there are on them."""
    place, trees = _world(msgspec.json.encode(_world_of(file)))
    ran = run_simulation(file, make_scenario(file, place=place, trees=trees))
    if ran.outcome.rule:
        raise SystemExit(f"seed {file.seed}: {ran.outcome.failure}")
    return ran, find(ran)


def between(found: Findings, from_s: float, until_s: float) -> list[WindowFound]:
    """The windows that end in this stretch of the run."""
    return [one for one in found.windows if from_s <= one.end_s < until_s]


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


def _world_of(file: SimulationFile) -> SimulationFile:
    query = msgspec.structs.replace(
        SimulationFile().query, trees=file.query.trees, branching=file.query.branching
    )
    return SimulationFile(seed=file.seed, world=file.world, query=query)


@lru_cache(maxsize=8)
def _world(encoded: bytes) -> tuple[latencies.World, tuple[Tree, ...]]:
    file = msgspec.json.decode(encoded, type=SimulationFile)
    place = make_place(file)
    return place, make_trees(file, make_roster(file, place), place)
