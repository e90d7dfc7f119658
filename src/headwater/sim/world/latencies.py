"""Worlds to be far apart in: latency matrices, made up like a test bed's or measured for real.

Each function yields the sites' names, their regions, and a square matrix of one-way delays in
seconds with zeros on its diagonal. A measured round trip counts half for each way.

The measured ones are public traces that are no part of the product; whoever has them says where.
"""

from __future__ import annotations

import csv
import gzip
import tarfile
from io import StringIO
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headwater.errors import ConfigurationError

Matrix: TypeAlias = NDArray[np.float64]

STUBS = 34
STUB_NODE_S = 0.001
STUB_STUB_S = 0.002
STUB_TRANSIT_S = 0.010
TRANSIT_TRANSIT_S = 0.020
"""Mortar's ModelNet test bed (section 7)."""
TRANSITS = 8
"""Routers in a ring, so that the farthest are four hops apart. Then the longest delay between two
peers is the paper's 104 ms: 1 + 10 + 4 * 20 + 10 + 2 + 1, with one end behind another stub."""
DETOUR_SHARE = 0.25
"""Stubs that reach their transit router through another stub; only in one half of the ring, so
that no longest path has one at both ends."""

PLANETLAB = "lat_planetlab490_18slices.tar.xz"
SEATTLE = "lat_seattle99_688slices.tar.xz"
WONDER_PINGS = "lat_wondernetwork_pings_20200719.csv.gz"
WONDER_SERVERS = "lat_wondernetwork_servers_20200719.csv.gz"


class World(NamedTuple):
    names: tuple[str, ...]
    regions: tuple[str, ...]
    one_way_s: Matrix


def transit_stub(count: int, *, seed: int) -> World:
    """Mortar's test bed: ``count`` sites, spread evenly over 34 stubs around a ring of transits.

    ::

        site ─1─ stub ─10─ transit ─20─ transit ─10─ stub ─1─ site
                                                      └─2─ stub ─1─ site
    """
    chance = Random(seed)
    core_s = _core(STUBS, chance)
    stubs = [number % STUBS for number in range(count)]
    chance.shuffle(stubs)
    stub_of = np.array(stubs, dtype=np.intp)
    one_way_s = core_s[np.ix_(stub_of, stub_of)] + 2 * STUB_NODE_S
    np.fill_diagonal(one_way_s, 0.0)
    return World(
        tuple(f"s{number}" for number in range(count)),
        tuple(f"stub{stub}" for stub in stub_of),
        one_way_s,
    )


def _core(stubs: int, chance: Random) -> Matrix:
    """One-way delays between stubs: shortest paths over the drawn links."""
    size = stubs + TRANSITS
    links = np.full((size, size), np.inf)
    np.fill_diagonal(links, 0.0)

    def link(one: int, other: int, delay_s: float) -> None:
        links[one, other] = links[other, one] = min(links[one, other], delay_s)

    for number in range(TRANSITS):
        link(stubs + number, stubs + (number + 1) % TRANSITS, TRANSIT_TRANSIT_S)
    direct = [stub for stub in range(stubs) if stub < TRANSITS or chance.random() >= DETOUR_SHARE]
    doors = [stub for stub in direct if stub % TRANSITS < TRANSITS // 2]
    for stub in range(stubs):
        if stub in direct:
            link(stub, stubs + stub % TRANSITS, STUB_TRANSIT_S)
        else:
            link(stub, chance.choice(doors), STUB_STUB_S)
    return _shortest(links)[:stubs, :stubs]


def _shortest(links: Matrix) -> Matrix:
    """Floyd and Warshall's."""
    paths = links.copy()
    for middle in range(len(paths)):
        paths = np.minimum(paths, paths[:, middle, None] + paths[None, middle, :])
    return paths


def plane(count: int, *, seed: int, side_s: float = 0.1, height_s: float = 0.01) -> World:
    """Points in a square, with access links of up to twice ``height_s``: a world that coordinates
    of a plane with heights describe without error."""
    chance = np.random.default_rng(seed)
    places = chance.uniform(0.0, side_s, size=(count, 2))
    heights_s = chance.uniform(0.0, 2.0 * height_s, size=count)
    apart_s = np.sqrt(((places[:, None, :] - places[None, :, :]) ** 2).sum(axis=2))
    one_way_s = apart_s + (heights_s[:, None] + heights_s[None, :])
    np.fill_diagonal(one_way_s, 0.0)
    regions = tuple(f"r{int(4 * x / side_s)}{int(4 * y / side_s)}" for x, y in places)
    return World(tuple(f"s{number}" for number in range(count)), regions, one_way_s)


def planetlab(folder: Path, *, slice_number: int = 1) -> World:
    """490 PlanetLab nodes (Zhu et al., NetLatency-Data); slices 1 to 18. Regions are unknown."""
    rtt_ms = _slice(folder / PLANETLAB, f"PlanetLabData_{slice_number}.tsv")
    return _measured("p", rtt_ms / 1_000.0)


def seattle(folder: Path, *, slice_number: int = 1) -> World:
    """99 personal devices of the Seattle test bed; slices 1 to 688. Regions are unknown.

    The file is in seconds, to the hundredth; a pair measured as zero is taken as half of that.
    """
    rtt_s = _slice(folder / SEATTLE, f"SeattleData_{slice_number}.tsv")
    return _measured("d", np.maximum(rtt_s, 0.005))


def wonder_network(folder: Path) -> World:
    """The cities of WonderNetwork that were measured to and from all others; region = country."""
    with gzip.open(folder / WONDER_SERVERS, "rt", encoding="utf-8", newline="") as lines:
        servers = {int(row["id"]): row for row in csv.DictReader(lines)}
    pings: dict[tuple[int, int], float] = {}
    with gzip.open(folder / WONDER_PINGS, "rt", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            pings[int(row["source"]), int(row["destination"])] = float(row["avg"]) / 1_000.0
    ids = _wholly_measured(sorted(set(servers) & {source for source, _ in pings}), pings)
    rtt_s = np.array([[pings[one, other] if one != other else 0.0 for other in ids] for one in ids])
    world = _measured("w", rtt_s)
    names = tuple(f"{servers[number]['name']}-{number}" for number in ids)
    return World(names, tuple(servers[number]["country"] for number in ids), world.one_way_s)


def _wholly_measured(ids: list[int], pings: dict[tuple[int, int], float]) -> list[int]:
    """Leaves out the city with the most pairs missing, until none is missing."""
    while True:
        missing = {
            one: sum(
                (one, other) not in pings or (other, one) not in pings
                for other in ids
                if other != one
            )
            for one in ids
        }
        worst = max(ids, key=lambda number: missing[number], default=None)
        if worst is None or missing[worst] == 0:
            return ids
        ids = [number for number in ids if number != worst]


def _slice(path: Path, name: str) -> Matrix:
    with tarfile.open(path, "r:xz") as archive:
        try:
            member = archive.extractfile(name)
        except KeyError:
            known = archive.getnames()
            raise ConfigurationError(
                f"{path.name}: no slice {name!r}; there are {len(known)}, as {known[0]!r}"
            ) from None
        if member is None:
            raise ConfigurationError(f"{path.name}: {name!r} is not a file")
        text = member.read().decode()
    return np.loadtxt(StringIO(text), dtype=np.float64)


def _measured(prefix: str, rtt_s: Matrix) -> World:
    """The two directions of a pair were measured apart; their mean stands for both."""
    one_way_s = (rtt_s + rtt_s.T) / 4.0
    np.fill_diagonal(one_way_s, 0.0)
    count = len(one_way_s)
    return World(tuple(f"{prefix}{n}" for n in range(count)), ("",) * count, one_way_s)
