"""What early sends cost behind relays, and what a bound saves, over sites with keys in common.

Not in the paper. 9 sites (honeypots, weeks) under one relay and 64 (reddit's feeds, days) under
eight, sums with an absolute bound. Key-updates on the root's links when all send at the close only,
when early updates meet on one grid of rounds, and when each site sends at its own moments. Then one
site with a narrow link: the bound divided evenly, and moved to where the link is narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from experiments.common import draw_lines, print_table, timed, write_csv
from experiments.heintz.link import TICKS
from experiments.heintz.sites import Sent, Sited, Tree, root_error, run_site, sited, values_of
from experiments.heintz.traces import WARM_UP

ABOVE = 0.1
"""Of the keys over all sites, in a window: what the bound is exceeded by."""
LOADS = (0.4, 0.8)
"""Of a narrow link: keys that must go ÷ what it carries in a window."""
ROUNDS = (2, 8)
CLOSE_ONLY: tuple[int, ...] = ()
FREE = tuple(range(1, TICKS))


class Row(NamedTuple):
    """Medians of the windows behind the warm-up."""

    trace: str
    sites: int
    links: str
    load: float
    shares: str
    sends: str
    of_sites: float
    """Key-updates that leave the sites."""
    of_narrow: float
    """Those of the site with the narrow link."""
    at_root: float
    """Key-updates on the root's links."""
    flush: float
    """Of the slowest site, in windows."""
    error: float
    """The largest at the root ÷ the bound, over all windows."""


def grid(rounds: int) -> tuple[int, ...]:
    """The ticks at which rounds end; the close is one more.

    >>> grid(4)
    (10, 20, 30, 40)
    """
    return tuple(round(TICKS * n / (rounds + 1)) for n in range(1, rounds + 1))


class Bed:
    """One trace under one tree."""

    def __init__(self, of: Sited, tree: Tree) -> None:
        self.of, self.tree = of, tree
        merged = [values_of([one[n] for one in of.windows])[1] for n in range(of.window_count)]
        self.bound = float(np.quantile(np.concatenate(merged), 1.0 - ABOVE))
        self.narrow = int(np.argmax([sum(len(one.at) for one in site) for site in of.windows]))

    def due(self, site: int, share: float) -> float:
        """Keys that the site must send in a window."""
        above = [(values_of([one])[1] > share).sum() for one in self.of.windows[site]]
        return float(np.mean(above))

    def row(
        self,
        sends: str,
        shares: str,
        *,
        pulls: Sequence[int],
        meet: bool,
        load: float,
        all_narrow: bool,
    ) -> Row:
        sent: list[list[Sent]] = []
        flushes: list[list[float]] = []
        for site in range(self.of.site_count):
            share, is_narrow = self._share(site, shares), all_narrow or site == self.narrow
            rate = max(1.0, self.due(site, self._share(site, "equal")) / load)
            early = pulls if is_narrow else CLOSE_ONLY
            found = run_site(self.of.windows[site], share=share, rate=rate, pulls=early)
            sent.append(found)
            flushes.append([len(one.closing) / rate if is_narrow else 0.0 for one in found])
        links = ("all narrow" if all_narrow else "one narrow", load)
        return self._measured((*links, shares, sends), sent, flushes, meet=meet)

    def _share(self, site: int, shares: str) -> float:
        if shares == "moved":
            return self.bound if site == self.narrow else 0.0
        return self.bound / self.of.site_count

    def _measured(
        self,
        named: tuple[str, float, str, str],
        sent: list[list[Sent]],
        flushes: list[list[float]],
        *,
        meet: bool,
    ) -> Row:
        windows = range(WARM_UP, self.of.window_count)
        by_window = [[one[n] for one in sent] for n in windows]
        return Row(
            self.of.name,
            self.of.site_count,
            *named,
            median(sum(one.count for one in window) for window in by_window),
            median(window[self.narrow].count for window in by_window),
            median(self.tree.key_updates(window, meet=meet) for window in by_window),
            median(max(one[n] for one in flushes) for n in windows),
            max(map(root_error, by_window)) / self.bound,
        )


def rows_of(
    of: Sited, tree: Tree, *, rounds: Sequence[int] = ROUNDS, loads: Sequence[float] = LOADS
) -> list[Row]:
    bed = Bed(of, tree)
    ways = [("close only", CLOSE_ONLY, True)]
    ways += [(f"{count} rounds", grid(count), True) for count in rounds]
    ways += [("free", FREE, False)]
    found = [
        bed.row(name, "equal", pulls=pulls, meet=meet, load=load, all_narrow=True)
        for load in loads
        for name, pulls, meet in ways
    ]
    for shares in ("equal", "moved"):
        for name, pulls, meet in (ways[0], ways[-2]):
            found.append(
                bed.row(name, shares, pulls=pulls, meet=meet, load=loads[-1], all_narrow=False)
            )
    return found


def main() -> None:
    rows: list[Row] = []
    for name, sites, per_relay in (("honeypots by site", 9, 9), ("reddit by feed", 64, 8)):
        with timed(f"{name}, {sites} sites"):
            rows += rows_of(sited(name, sites), Tree(per_relay))
    cells = [[f"{one:.4g}" if isinstance(one, float) else one for one in row] for row in rows]
    write_csv("heintz_trees", Row._fields, cells)
    print_table(Row._fields, rows)
    lines = {}
    for sites, load in dict.fromkeys((row.sites, row.load) for row in rows):
        alike = [
            row for row in rows if (row.sites, row.load, row.links) == (sites, load, "all narrow")
        ]
        ratios = [row.at_root / alike[0].at_root for row in alike]
        told = (f"{row.sends} {ratio:.2f}" for row, ratio in zip(alike, ratios, strict=True))
        print(f"{sites} sites, load {load}, ÷ close only:", ", ".join(told))
        lines[f"{sites} sites, {alike[0].trace}, load {load}"] = (
            [1.0, *map(float, ROUNDS), float(TICKS)],
            ratios,
        )
    draw_lines(
        "heintz_trees",
        lines,
        title="Early updates behind relays, equal shares",
        x=f"rounds (1: close only, {TICKS}: each site at its own moments)",
        y="key-updates on the root's links ÷ close only",
        x_is_log=True,
    )


if __name__ == "__main__":
    main()
