"""The acts that are drawn: the same for the same seed, and enough of each kind."""

from __future__ import annotations

import pytest
from chaos.nemesis import KILLS, LINK_TROUBLES, Kind, draw_acts
from chaos.places import AGENTS, DATA_SITES


def test_the_same_seed_draws_the_same_acts() -> None:
    assert draw_acts(kills=20, seed=7, disks=DATA_SITES) == draw_acts(
        kills=20, seed=7, disks=DATA_SITES
    )
    assert draw_acts(kills=20, seed=7, disks=DATA_SITES) != draw_acts(
        kills=20, seed=8, disks=DATA_SITES
    )


@pytest.mark.parametrize("seed", range(20))
def test_twenty_kills_meet_every_agent_and_every_kind_of_trouble(seed: int) -> None:
    faults = [f for act in draw_acts(kills=20, seed=seed, disks=DATA_SITES) for f in act.faults]
    killed = [fault.target for fault in faults if fault.kind in KILLS]
    assert len(killed) == 20
    assert set(killed) == set(AGENTS)
    assert {*LINK_TROUBLES, Kind.PAUSE, Kind.FILL_DISK} <= {fault.kind for fault in faults}


def test_a_disk_that_is_not_there_is_not_filled() -> None:
    acts = draw_acts(kills=20, seed=1, disks=())
    assert all(fault.kind is not Kind.FILL_DISK for act in acts for fault in act.faults)


@pytest.mark.parametrize("seed", range(20))
def test_no_act_strikes_one_target_twice(seed: int) -> None:
    for act in draw_acts(kills=20, seed=seed, disks=DATA_SITES):
        assert len({fault.target for fault in act.faults}) == len(act.faults)
