"""iMR, figure 10: goodput while workers fail, with failure eviction and without it.

Ten workers under one root, in a star, as in the paper; a window of two panes; an answer within 30 s
of its end. From some time on workers are stopped. Without eviction by absence each window waits
for its deadline; with it, for the word of the parents that they have lost them (the real machines,
in virtual time).

The paper's reader takes one result after the other, and counts the panes that it got in a second
of its waiting. So do we: of a window, panes that are in its first answer, by the time from its
begin to its answer. Beside it stands how old answers were. A window is answered no later with
eviction than without it; that is looked at one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import mean
from typing import NamedTuple

import msgspec

from experiments.common import draw_lines, print_table, timed, write_csv
from headwater.algebra.panes import MICROS
from headwater.sim.scenario import START_S
from headwater.sim.simulation import make_scenario, run_simulation
from headwater.sim.simulation_file import SimulationFile

WORKERS = 10
PANE_S = 15.0
PANES = 2
DEADLINE_S = 30.0
RESULTS = 20
FAILS_S = 90.0
"""From then on workers are gone; the results are counted behind it."""
PERCENTS = (0, 10, 20, 30, 40, 50)
SEEDS = (1, 2, 3)
NEVER_S = 1e9
"""After so long a parent says whom it has lost: without eviction by absence."""
PAPER = "57-64 %"


class Seen(NamedTuple):
    """One window, as it was answered first."""

    panes: float
    """Of all workers together, whole panes of the window: 2 where nobody is missing."""
    waited_s: float
    """From its begin."""
    age_s: float
    """From its end."""


def run(percent: int, seed: int, *, evicts: bool) -> Mapping[int, Seen]:
    content = {
        "seed": seed,
        "duration": FAILS_S + (RESULTS + 4) * PANES * PANE_S,
        "checks": "full",
        "world": {"kind": "transit-stub", "sites": WORKERS + 1},
        "query": {
            "window": PANES * PANE_S,
            "trees": 1,
            "branching": WORKERS,
            "deadline": DEADLINE_S,
        },
        "overlay": {} if evicts else {"absent_after_s": NEVER_S},
    }
    file = msgspec.convert(content, SimulationFile)
    names = [site.name for site in make_scenario(file).roster.sites if site.ordinal]
    stopped = names[: percent * WORKERS // 100]
    if stopped:
        content["faults"] = [{"kind": "nodes", "names": stopped, "from": FAILS_S, "how": "crash"}]
        file = msgspec.convert(content, SimulationFile)
    scenario = make_scenario(file)
    ran = run_simulation(file, scenario)
    assert not ran.outcome.rule, ran.outcome.failure
    spec = scenario.first_query.window
    from_s = START_S + FAILS_S
    found = {}
    for number, window in sorted(ran.gauge.windows.items()):
        begin_s = spec.window_start_us(number) / MICROS
        if begin_s >= from_s and len(found) < RESULTS:
            in_share = window.first.covered / window.first.expected
            waited_s = window.first.at_s - begin_s
            found[number] = Seen(PANES * in_share, waited_s, waited_s - PANES * PANE_S)
    return found


def goodput(windows: Mapping[int, Seen]) -> float:
    """Panes in a second of waiting."""
    seen = windows.values()
    return sum(one.panes for one in seen) / sum(one.waited_s for one in seen)


def main() -> None:
    table = []
    with timed("runs"):
        for percent in PERCENTS:
            without = {seed: run(percent, seed, evicts=False) for seed in SEEDS}
            with_it = {seed: run(percent, seed, evicts=True) for seed in SEEDS}
            later = sum(
                one.waited_s > without[seed][number].waited_s + 1e-6
                for seed in SEEDS
                for number, one in with_it[seed].items()
            )
            before = mean(goodput(without[seed]) for seed in SEEDS)
            after = mean(goodput(with_it[seed]) for seed in SEEDS)
            ages = [
                mean(one.age_s for seed in SEEDS for one in runs[seed].values())
                for runs in (without, with_it)
            ]
            count = sum(map(len, with_it.values()))
            table.append(
                (
                    percent,
                    round(before, 5),
                    round(after, 5),
                    round(100.0 * (after / before - 1.0), 1),
                    *(round(age, 2) for age in ages),
                    count,
                    later,
                )
            )
    header = (
        "failed_percent",
        "goodput_without",
        "goodput_with",
        "more_percent",
        "age_without_s",
        "age_with_s",
        "windows",
        "later_windows",
    )
    print_table(header, table)
    write_csv("imr_10", header, table)
    print(f"the paper: {PAPER} more, at 10 to 50 % failed")
    draw_lines(
        "imr_10",
        {
            "with failure eviction": ([row[0] for row in table], [row[2] for row in table]),
            "without": ([row[0] for row in table], [row[1] for row in table]),
        },
        title="Workers that fail: panes for a second of waiting",
        x="workers stopped (%)",
        y="panes / s",
    )


if __name__ == "__main__":
    main()
