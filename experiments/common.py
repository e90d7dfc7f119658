"""What the experiments share: worlds, seeds, means with their spread, tables, files, pictures."""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import sqrt
from pathlib import Path
from random import Random

import numpy as np

from headwater.algebra.coordinate import Coordinate
from headwater.overlay.coordinates.vivaldi import Vivaldi
from headwater.plan.roster import Roster, Site
from headwater.plan.tree import Tree
from headwater.sim.world import latencies
from headwater.sim.world.latencies import Matrix, World

PROJECT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("HEADWATER_TRACES") or PROJECT.parent / "shared" / "data")
"""Real traces, which are not part of the project: beside it, or where the environment says."""
EVIDENCE = PROJECT / "docs" / "evidence"

Row = Sequence[object]


def planetlab_or_made_up() -> tuple[str, World]:
    """The measured world, or a made-up one of the same size, with what it is called."""
    if (DATA / latencies.PLANETLAB).exists():
        return "PlanetLab (490 nodes, measured)", latencies.planetlab(DATA)
    print(f"NOT MEASURED DATA: {DATA / latencies.PLANETLAB} is not there; a made-up plane is used.")
    return "made-up plane (490 nodes)", latencies.plane(490, seed=1)


def some_of(world: World, count: int, *, random: Random) -> World:
    chosen = sorted(random.sample(range(len(world.names)), count))
    rows = np.array(chosen, dtype=np.intp)
    return World(
        tuple(world.names[n] for n in chosen),
        tuple(world.regions[n] for n in chosen),
        world.one_way_s[np.ix_(rows, rows)],
    )


def roster_of(world: World) -> Roster:
    sites = (Site(n, name, region=world.regions[n]) for n, name in enumerate(world.names))
    return Roster(1, tuple(sites), world.names[0])


def random_tree(count: int, *, root: int, branching: int, random: Random) -> Tree:
    """A full tree over sites in random order."""
    order = [n for n in range(count) if n != root]
    random.shuffle(order)
    order.insert(0, root)
    return Tree(root, tuple((order[n], order[(n - 1) // branching]) for n in range(1, count)))


def settle(
    world: World,
    *,
    rounds: int,
    neighbours: int,
    seed: int,
    after_round: Callable[[int, list[Coordinate]], None] | None = None,
) -> list[Coordinate]:
    """Everyone's coordinate when each has heard each of its random neighbours ``rounds`` times."""
    random = Random(seed)
    count = len(world.names)
    rtt_s = (2.0 * world.one_way_s).tolist()
    sites = [Vivaldi(random=Random(f"{seed} {n}")) for n in range(count)]
    heard = [
        random.sample([m for m in range(count) if m != n], min(neighbours, count - 1))
        for n in range(count)
    ]
    order = list(range(count))
    for number in range(1, rounds + 1):
        random.shuffle(order)
        for n in order:
            for m in heard[n]:
                sites[n].observe(world.names[m], sites[m].coordinate, rtt_s=rtt_s[n][m])
        if after_round is not None:
            after_round(number, [site.coordinate for site in sites])
    return [site.coordinate for site in sites]


def relative_errors(coordinates: Sequence[Coordinate], world: World) -> Matrix:
    """|predicted - measured| / measured, of every pair once."""
    points = np.array([[at.x, at.y, at.z] for at in coordinates])
    heights = np.array([at.height for at in coordinates])
    apart = points[:, None, :] - points[None, :, :]
    rtt_ms = np.sqrt((apart**2).sum(axis=2)) + heights[:, None] + heights[None, :]
    pairs = np.triu_indices(len(points), 1)
    measured_s = 2.0 * world.one_way_s[pairs]
    return np.asarray(np.abs(rtt_ms[pairs] / 1_000.0 - measured_s) / measured_s)


def mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """The mean and the standard deviation of the sample."""
    mean = sum(values) / len(values)
    if len(values) < 2:
        return mean, 0.0
    return mean, sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))


def write_csv(name: str, header: Row, rows: Sequence[Row]) -> Path:
    EVIDENCE.mkdir(parents=True, exist_ok=True)
    path = EVIDENCE / f"{name}.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    print(f"wrote {path.relative_to(PROJECT)}")
    return path


def print_table(header: Row, rows: Sequence[Row]) -> None:
    texts = [[_text(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[n]) for row in texts) for n in range(len(header))]
    for row in texts:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


def _text(cell: object) -> str:
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)


def draw_lines(
    name: str,
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    title: str,
    x: str,
    y: str,
    x_is_log: bool = False,
    y_from: float = 0.0,
) -> None:
    """One picture of labelled lines; passed over, with a word, where matplotlib is not there."""
    try:
        import matplotlib
    except ImportError:
        print("no picture: matplotlib is not there (pip install -e '.[experiments]')")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.0, 4.5))
    for label, (xs, ys) in lines.items():
        axes.plot(xs, ys, label=label, marker=".")
    if x_is_log:
        axes.set_xscale("log", base=2)
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.set_ylim(bottom=y_from)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)
    path = EVIDENCE / f"{name}.png"
    figure.savefig(path, dpi=110, bbox_inches="tight", metadata={"Software": None})
    pyplot.close(figure)
    print(f"wrote {path.relative_to(PROJECT)}")


@contextmanager
def timed(what: str) -> Iterator[None]:
    start_s = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - start_s:.0f} s")
