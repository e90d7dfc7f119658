"""Work grows with what there is to do: counted in messages, writes and panes, never in seconds.

Each test runs two worlds of which one has four times as much of something. Linear is four times as
much work; what grows with the square would be sixteen times as much.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from headwater.node import effects as do
from headwater.overlay.messages import Heartbeat
from headwater.sim.measure.gauge import Gauge
from headwater.sim.simulation import make_scenario
from headwater.sim.simulation_file import parse_simulation
from headwater.sim.world.site import SimulatedSite
from headwater.sim.world.world import World

TIMES = 4
LINEAR = 1.25 * TIMES
"""Trees have a border, so a little more than four times is allowed; the square is far beyond."""
WRITES = (do.MakeUpdates, do.Remember, do.MarkSent, do.MarkAcked, do.Keep, do.KeepState, do.Trim)


class WorkCount(Gauge):
    """Looks on, and counts what is asked of network, disk and Spark from ``begin_s`` on."""

    def __init__(self, world: World, *, begin_s: float = 0.0) -> None:
        super().__init__(world.queue, world.truth, world.births, storm=world.storm, checkers=None)
        self._begin_s = world.queue.now_s + begin_s
        self.work: Counter[str] = Counter()

    def executing(self, site: SimulatedSite, effect: Any) -> None:
        super().executing(site, effect)
        if self._queue.now_s < self._begin_s:
            return
        if isinstance(effect, do.Transmit):
            is_beat = isinstance(effect.message, Heartbeat)
            self.work["heartbeats" if is_beat else "messages"] += 1
        elif isinstance(effect, do.Dial):
            self.work["dials"] += 1
        elif isinstance(effect, WRITES):
            self.work["writes"] += 1
        elif isinstance(effect, do.Answer):
            self.work["jobs"] += 1
            self.work["panes answered"] += sum(len(one.panes) for one in effect.requests)


def work_of(text: str, *, begin_s: float = 0.0) -> Counter[str]:
    found: list[WorkCount] = []

    def watch(world: World) -> WorkCount:
        found.append(WorkCount(world, begin_s=begin_s))
        return found[0]

    scenario = make_scenario(parse_simulation(text))
    outcome = World(scenario, watch=watch, is_light=True, is_judged=False).run()
    assert outcome.is_good, outcome
    return found[0].work


def test_sites_cost_no_more_than_their_number() -> None:
    def with_sites(count: int) -> Counter[str]:
        return work_of(
            f'duration = 40\n[world]\nkind = "plane"\nsites = {count}\n'
            "[query]\nwindow = 2\nbranching = 4\n"
        )

    few, many = with_sites(48), with_sites(48 * TIMES)
    for kind in ("heartbeats", "messages", "writes", "dials"):
        assert many[kind] <= LINEAR * few[kind], (kind, few, many)
    assert many["panes answered"] <= 1.5 * few["panes answered"], "the root's windows are as many"


@pytest.mark.parametrize("kind", ["restart", "nodes"])
def test_windows_behind_after_an_outage_cost_no_more_than_their_number(kind: str) -> None:
    """The root is away while windows pile up at eight sites. Counted is what follows its return;
    the calm that follows is the same for all, so it falls out of the differences: 80 windows
    more against 60 more are 1.3 times the work, and would be 3.2 times by the square."""
    calm_s, follows_s = 30.0, 60.0

    def behind(windows: int) -> Counter[str]:
        gone_s = 2.0 * windows
        back_s = calm_s + gone_s
        whom = f'kind = "{kind}"\nnames = ["s0"]\nfrom = {calm_s}\n'
        restart = f"until = {calm_s + 0.1}\ndown_for = {gone_s}"
        how = restart if kind == "restart" else f"until = {back_s}"
        fault = f"[[faults]]\n{whom}{how}\n"
        return work_of(_world(back_s + follows_s) + fault, begin_s=back_s)

    few, more, many = behind(20), behind(80), behind(160)
    for work in ("messages", "writes", "panes answered"):
        first, second = more[work] - few[work], many[work] - more[work]
        assert second <= 2.2 * max(first, 20), (work, few, more, many)
    assert many["jobs"] < many["panes answered"], "windows that are due are answered together"


def test_revisions_cost_no_more_than_their_number() -> None:
    """Of windows that late records change. Each time four times as many are late; what comes
    without any falls out of the differences."""

    def with_late(share: float) -> Counter[str]:
        return work_of(_world(120.0) + f"[workload]\nlate_share = {share}\nlate = 30\n")

    few, more, many = with_late(0.02), with_late(0.08), with_late(0.32)
    for work in ("messages", "writes", "jobs", "panes answered"):
        first, second = more[work] - few[work], many[work] - more[work]
        assert 0 < second <= 1.5 * LINEAR * first, (work, few, more, many)


def _world(duration_s: float) -> str:
    return (
        f'duration = {duration_s}\n[world]\nkind = "plane"\nsites = 8\n'
        "[query]\nwindow = 2\nbranching = 4\ndeadline = 4\n"
    )
