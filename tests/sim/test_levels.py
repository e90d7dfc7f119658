"""Sites that go up and down between levels, in worlds with every other trouble."""

from __future__ import annotations

import msgspec
import pytest

from headwater.sim.faults.faults import Kind
from headwater.sim.scenario import Scenario, draw_scenario
from headwater.sim.world.world import World

WORLDS = (3, 13, 45, 62)
"""Of those with levels: one and two of them, panes that never follow, lost disks, small limits."""


@pytest.mark.parametrize("seed", WORLDS)
def test_worlds_with_levels_are_true(seed: int) -> None:
    scenario = draw_scenario(seed)
    assert scenario.levels
    outcome = World(scenario).run()
    assert outcome.is_good, outcome.report()
    assert outcome.counts["a pane was taken by a level"]
    assert outcome.counts["a coarse window was answered"]


WITH_THRESHOLD = (71, 128, 276)
"""Of those that have a threshold among their levels: before them, between them and behind."""


@pytest.mark.parametrize("seed", WITH_THRESHOLD)
def test_worlds_with_a_threshold_among_levels_are_true(seed: int) -> None:
    scenario = draw_scenario(seed)
    assert scenario.levels
    assert {one.tolerates for one in scenario.levels} == {scenario.first_query.tolerates}
    outcome = World(scenario).run()
    assert outcome.is_good, outcome.report()
    assert outcome.counts["a coarse window was answered"]


def test_coarse_windows_state_what_a_threshold_keeps_back() -> None:
    outcome = World(draw_scenario(276)).run()
    assert outcome.counts["a coarse window lacks what a threshold keeps back"]


def calm(seed: int) -> Scenario:
    """Nothing is wrong but that sites go to levels."""
    scenario = draw_scenario(seed)
    steps = tuple(fault for fault in scenario.faults if fault.kind is Kind.STEP)
    return msgspec.structs.replace(scenario, faults=steps)


def test_in_a_calm_world_fine_windows_become_exact_when_all_has_followed() -> None:
    world = World(calm(23))
    outcome = world.run()
    assert outcome.is_good, outcome.report()
    full = world.scenario.first_query
    checks = [one for (id_, _), one in world.checkers.answers.items() if id_ == str(full.id)]
    final = [a.envelope for one in checks for a in one.newest.values() if a.envelope.final]
    assert final
    assert outcome.counts["deferred panes followed"]
    declined = [one for one in final if any(m.reason == "coarse" for m in one.missing)]
    assert not declined
