"""An outage of ten minutes: when live panes are on time again, and how long the backlog takes.

Four sites, all of them the product's own machines in virtual time (``headwater.sim``), with all
checks: answers must end with every record once. Links carry so many times what a site sends in
calm. One site is cut off for ten minutes. A pane is late by what it takes from its end until all
of it is at the root. The backlog can take what live panes, heartbeats, states and acknowledgements
leave of the link, so its bytes ÷ that is the least that it can take.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple

import msgspec

from experiments.common import draw_lines, print_table, timed, write_csv
from headwater.edge.config import EdgeConfig
from headwater.node import effects as do
from headwater.node.config import NodeConfig
from headwater.overlay.config import OverlayConfig
from headwater.overlay.messages import SummaryMessage
from headwater.sim.faults.faults import Fault, Kind
from headwater.sim.scenario import START_S, Scenario
from headwater.sim.simulation import make_scenario
from headwater.sim.simulation_file import SimulationFile
from headwater.sim.world.site import SimulatedSite
from headwater.sim.world.world import World

SITES = 4
PANE_S = 5.0
RECORDS_PER_S = 80.0
"""At the site that is cut off: 33 kbit/s of panes."""
FEW_PER_S = 2.0
"""At the others."""
UPDATE_RECORDS = 10
CUT_S = 300.0
OUTAGE_S = 600.0
CALM_S = (150.0, 290.0)
"""In which it is measured what a site sends, and how late its panes are."""
SPARES = (1.5, 2.0, 4.0)
"""What links carry, by what a site sends in calm."""
SEEDS = (1,)
DIAL_LAST_S = 4.0
"""The longest pause between dials: with the default of 30 s a site may try as much later."""
ON_TIME_S = 2.0
"""Beyond the median of calm: what may wait on a link, and lie before a live pane."""
LATENESS_S = 30.0
RETENTION_S = 7_200.0


class Row(NamedTuple):
    spare: float
    seed: int
    calm_s: float
    """How late a live pane is, in the middle."""
    normal_after_s: float
    """From the return on: until the first live pane that is on time has ended."""
    on_time: float
    """The share of live panes that are, while the backlog leaves."""
    latest_s: float
    """Of these."""
    backlog_kb: float
    """What panes of the outage come to."""
    again: float
    """What was sent for them beyond that, as a share of it."""
    through_s: float
    least_s: float
    """The backlog ÷ what the link has to spare."""
    ratio: float


class Watch:
    """The checkers, and beside them what one site sends and the root has of it."""

    def __init__(self, world: World, site: str, ordinal: int) -> None:
        self.sent: list[tuple[float, int, int | None]] = []
        """(when, bytes, the pane if it is a summary's)"""
        self.held: dict[int, float] = {}
        """By pane: when the newest update of it came in."""
        self._world = world
        self._site = site
        self._bit = 1 << ordinal

    def executing(self, site: SimulatedSite, effect: Any) -> None:
        now_s = self._world.queue.now_s - START_S
        if type(effect) is do.Transmit and site.name == self._site:
            self._transmit(effect.message, now_s)
        elif type(effect) is do.Keep and effect.kept.coverage.sites & self._bit:
            self.held[effect.kept.pane] = now_s
        self._world.checkers.executing(site, effect)

    def _transmit(self, message: Any, now_s: float) -> None:
        pane = message.summary.pane if type(message) is SummaryMessage else None
        self.sent.append((now_s, self._world.ends.size_bytes(message), pane))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world.checkers, name)


def scenario_of(seed: int, bytes_per_s: float | None, *, is_cut: bool, end_s: float) -> Scenario:
    file = msgspec.convert(
        {
            "seed": seed,
            "duration": end_s,
            "world": {"kind": "plane", "sites": SITES},
            "query": {"window": PANE_S, "trees": 1, "branching": SITES, "lateness": LATENESS_S},
            "workload": {"records_per_s": RECORDS_PER_S, "polls": "aligned"},
        },
        SimulationFile,
    )
    made = make_scenario(file)
    site = made.roster.sites[1].name
    fault = Fault(Kind.ISOLATE, CUT_S, OUTAGE_S, (site,))
    timing = msgspec.structs.replace(made.first_query.timing, revise_for_s=RETENTION_S)
    edge = EdgeConfig()
    busy = made.workloads[1]
    few = msgspec.structs.replace(busy, records_per_s=FEW_PER_S)
    return msgspec.structs.replace(
        made,
        workloads=(few, busy, *(few for _ in made.workloads[2:])),
        bytes_per_s=bytes_per_s,
        faults=(fault,) if is_cut else (),
        faults_until_s=CUT_S + OUTAGE_S if is_cut else 0.0,
        first_query=msgspec.structs.replace(made.first_query, timing=timing),
        pace=msgspec.structs.replace(
            made.pace,
            update_records_max=UPDATE_RECORDS,
            retention_s=RETENTION_S,
            summary_life_s=edge.summary_life_s,
        ),
        config=NodeConfig(overlay=OverlayConfig(dial_last_s=DIAL_LAST_S)),
    )


def run(seed: int, bytes_per_s: float | None, *, is_cut: bool = True, end_s: float) -> Watch:
    scenario = scenario_of(seed, bytes_per_s, is_cut=is_cut, end_s=end_s)
    site = scenario.roster.sites[1]
    watches: list[Watch] = []

    def watch(world: World) -> Watch:
        watches.append(Watch(world, site.name, site.ordinal))
        return watches[0]

    outcome = World(scenario, watch=watch).run()
    assert outcome.is_good, outcome.report()
    return watches[0]


def pane_end_s(pane: int) -> float:
    return (pane + 1) * PANE_S - START_S


def latencies(found: Watch) -> dict[int, float]:
    return {pane: at_s - pane_end_s(pane) for pane, at_s in sorted(found.held.items())}


def need_of(found: Watch) -> float:
    """Bytes a second that the site sends in calm."""
    first_s, last_s = CALM_S
    calm = sum(size for at_s, size, _ in found.sent if first_s <= at_s < last_s)
    return calm / (last_s - first_s)


def row_of(spare: float, seed: int, found: Watch, *, need: float) -> Row:
    late, back_s = latencies(found), CUT_S + OUTAGE_S
    calm_s = median(
        late_s for pane, late_s in late.items() if CALM_S[0] < pane_end_s(pane) < CALM_S[1]
    )
    missed = [p for p in late if CUT_S - calm_s <= pane_end_s(p) < back_s]
    through_s = max(found.held[pane] for pane in missed) - back_s
    live = [p for p in late if back_s <= pane_end_s(p) <= back_s + through_s]
    on_time = [pane for pane in live if late[pane] <= calm_s + ON_TIME_S]
    sent = sum(size for at_s, size, pane in found.sent if at_s >= back_s and pane in set(missed))
    own = len(missed) * _pane_bytes(found)
    least_s = own / ((spare - 1.0) * need)
    return Row(
        spare,
        seed,
        calm_s,
        pane_end_s(on_time[0]) - back_s,
        len(on_time) / len(live),
        max(late[pane] for pane in live),
        own / 1e3,
        sent / own - 1.0,
        through_s,
        least_s,
        through_s / least_s,
    )


def _pane_bytes(found: Watch) -> float:
    """In calm."""
    sizes: Counter[int] = Counter()
    for _, size, pane in found.sent:
        if pane is not None and CALM_S[0] < pane_end_s(pane) < CALM_S[1]:
            sizes[pane] += size
    return float(median(sizes.values()))


def end_s(spare: float) -> float:
    return CUT_S + OUTAGE_S + 1.3 * OUTAGE_S / (spare - 1.0) + 90.0


def main() -> None:
    rows: list[Row] = []
    lines: dict[str, tuple[Sequence[float], Sequence[float]]] = {}
    with timed("all"):
        for seed in SEEDS:
            need = need_of(run(seed, None, is_cut=False, end_s=400.0))
            for spare in SPARES:
                found = run(seed, spare * need, end_s=end_s(spare))
                rows.append(row_of(spare, seed, found, need=need))
                print(rows[-1], flush=True)
                if seed == SEEDS[0]:
                    late = latencies(found)
                    label = f"links carry {spare:g} times what a site sends"
                    lines[label] = ([pane_end_s(pane) for pane in late], list(late.values()))
    header = Row._fields
    shown = [(*row[:2], *(f"{value:.3g}" for value in row[2:])) for row in rows]
    print_table(header, shown)
    write_csv("jetstream_outage", header, shown)
    draw_lines(
        "jetstream_outage",
        lines,
        title="A site is cut off from 300 s to 900 s",
        x="end of the pane, in seconds",
        y="seconds from there until all of it is at the root",
    )


if __name__ == "__main__":
    main()
