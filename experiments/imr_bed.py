"""What iMR's figures share: what is in by each demand, at how much of the data, and how soon.

A window is a matrix of sites and panes. Which of it is in when a window is answered follows from
the product's own parts: shares are rounded as ``Demand`` does, random panes are drawn by
``PaneDraw``, and that the demand is met is asked of the C² of the matrix. *Earliest* is the first
panes of every site (spatial completeness), *temporal* some sites with all of their panes: which, is
drawn anew for each window, as the paper does.

How soon is measured with the real machines in virtual time (``answered_after``): ten sites read
every fifth of a pane, and the root answers by the demand.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from statistics import mean

import msgspec
import numpy as np
from numpy.typing import NDArray

from headwater.algebra.demand import ALL, Chance, Demand, least
from headwater.algebra.fidelity import measure
from headwater.algebra.pane_draw import pane_draw
from headwater.algebra.panes import MICROS
from headwater.sim.measure.gauge import Gauge
from headwater.sim.simulation import make_scenario, run_simulation
from headwater.sim.simulation_file import SimulationFile

RANDOM, APART, EARLIEST, TEMPORAL = "random", "random apart", "earliest", "temporal"
POLICIES = (RANDOM, APART, EARLIEST, TEMPORAL)
PERCENTS = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
PANES = 20
"""Of a window, as in the paper's sessions."""
SIM_SITES = 10
PANE_S = 1.0
SIM_S = 260.0
Mask = NDArray[np.bool_]


def demand_of(policy: str, percent: int) -> Demand | None:
    """None: all."""
    share = percent * ALL // 100
    if share == ALL:
        return None
    if policy == EARLIEST:
        return Demand(panes=share, sites=ALL)
    if policy == TEMPORAL:
        return Demand(panes=ALL, sites=share)
    return Demand(area=share, chance=Chance.ALIKE if policy == RANDOM else Chance.APART)


class Policy:
    """What is in of windows that follow on each other, of the same sites and as many panes."""

    def __init__(self, name: str, percent: int, *, sites: int, panes: int = PANES) -> None:
        self.name = name
        self.demand = demand_of(name, percent)
        self.sites = sites
        self.panes = panes
        self._chance = np.random.default_rng(7)

    def mask(self, window: int) -> Mask:
        """[site, pane]: whether it is in. Windows are asked for in their order."""
        found = self._mask(window)
        if self.demand is not None:
            bits = [sum(1 << int(site) for site in np.flatnonzero(column)) for column in found.T]
            drawn = [0] * self.panes
            if self.demand.is_random:
                everybody = (1 << self.sites) - 1
                drawn = [everybody & ~one for one in bits]
            asked = self.demand.panes_asked(self.panes)
            c2 = measure(bits, (1 << self.sites) - 1, panes_asked=asked, undrawn=drawn)
            assert self.demand.is_met_by(c2), f"{self.name}: {c2} is not {self.demand.text()}"
        return found

    def _mask(self, window: int) -> Mask:
        found = np.zeros((self.sites, self.panes), dtype=bool)
        demand = self.demand
        if demand is None:
            found[:] = True
        elif demand.is_random:
            for site in range(self.sites):
                found[site] = [
                    self._draws(window * self.panes + n, site) for n in range(self.panes)
                ]
        elif self.name == EARLIEST:
            found[:, : least(demand.panes, self.panes)] = True
        else:
            count = least(demand.sites, self.sites)
            found[self._chance.permutation(self.sites)[:count]] = True
        return found

    def _draws(self, pane: int, site: int) -> bool:
        assert self.demand is not None, "what is random is demanded"
        count = self.demand.panes_drawn(self.panes)
        is_apart = self.demand.chance is Chance.APART
        draw = pane_draw("figure@imr#1", panes=self.panes, count=count, is_apart=is_apart)
        return draw.has(pane, site)


@lru_cache
def answered_after(policy: str, percent: int) -> float:
    """From a window's begin to its first answer, in parts of its length: the mean of the windows
    of a run."""
    content = {
        "seed": 3,
        "duration": SIM_S,
        "checks": "light",
        "world": {"kind": "transit-stub", "sites": SIM_SITES},
        "query": {
            "window": PANES * PANE_S,
            "slide": (PANES - 1) * PANE_S,
            "trees": 2,
            "branching": 4,
            "deadline": 10.0,
        },
        "workload": {"poll_every": PANE_S / 5},
    }
    scenario = make_scenario(file := msgspec.convert(content, SimulationFile))
    demand = demand_of(policy, percent)
    if demand is not None:
        query = msgspec.structs.replace(scenario.first_query, demand=demand)
        scenario = msgspec.structs.replace(scenario, first_query=query)
    ran = run_simulation(file, scenario)
    assert not ran.outcome.rule, ran.outcome.failure
    after_s = list(_after_s(ran.gauge, scenario.first_query.window.window_start_us))
    return mean(after_s) / (PANES * PANE_S)


def _after_s(gauge: Gauge, start_us) -> Iterator[float]:  # type: ignore[no-untyped-def]
    for number, seen in gauge.windows.items():
        yield seen.first.at_s - start_us(number) / MICROS
