"""Every kind of fault can be struck, whoever draws it or names it in a file."""

from headwater.sim.faults.faults import WEIGHTS, Kind
from headwater.sim.scenario import draw_scenario
from headwater.sim.world.world import World


def test_the_nemesis_has_an_entry_for_every_kind() -> None:
    assert set(World(draw_scenario(1)).nemesis._strikes) == set(Kind)


def test_every_kind_that_sweeps_draw_has_a_share_and_a_length() -> None:
    assert all(one.share > 0 for one in WEIGHTS.values())
    assert all(0 <= least <= most for least, most in (one.for_s for one in WEIGHTS.values()))
