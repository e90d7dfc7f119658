"""The acts that are drawn: the same for the same seed, and enough of each kind."""

from __future__ import annotations

import pytest
from chaos.acts import (
    CLOCK_STEP_S,
    CLOCK_TROUBLES,
    GROUPS,
    OF_JVM,
    REINSTALL_GAP_S,
    STILL_S,
    Act,
    Fault,
    Kind,
    draw_acts,
)
from chaos.failing_disk import Trouble
from chaos.places import AGENTS, CHURNED, DATA_SITES, LINKS, ROOT
from chaos.steps import ROOT_STEPS, Step, Victim

ALL = tuple(GROUPS)
SEEDS = range(20)


def faults(acts: tuple[Act, ...]) -> list[Fault]:
    return [fault for act in acts for fault in act.faults]


def firsts(seed: int, *groups: str, count: int = 40) -> list[Fault]:
    return [act.faults[0] for act in draw_acts(groups=groups, count=count, seed=seed)]


def test_the_same_seed_draws_the_same_acts() -> None:
    assert draw_acts(groups=ALL, count=20, seed=7) == draw_acts(groups=ALL, count=20, seed=7)
    assert draw_acts(groups=ALL, count=20, seed=7) != draw_acts(groups=ALL, count=20, seed=8)


@pytest.mark.parametrize("seed", SEEDS)
def test_so_many_acts_as_there_are_groups_meet_every_group(seed: int) -> None:
    kinds = {fault.kind for fault in firsts(seed, *ALL, count=len(GROUPS))}
    assert all(kinds & set(group) for group in GROUPS.values())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("group", ALL)
def test_a_group_that_is_chosen_brings_all_its_kinds_and_no_other(seed: int, group: str) -> None:
    assert {fault.kind for fault in firsts(seed, group)} == set(GROUPS[group])


@pytest.mark.parametrize("seed", SEEDS)
def test_kills_and_clocks_meet_every_agent(seed: int) -> None:
    for group in ("kill", "clock", "overload"):
        assert set(AGENTS) <= {fault.target for fault in firsts(seed, group)}


@pytest.mark.parametrize("seed", SEEDS)
def test_every_kind_of_wrong_clock_comes_to_every_agent(seed: int) -> None:
    found = {(fault.kind, fault.target) for fault in firsts(seed, "clock", count=200)}
    assert found == {(kind, agent) for kind in CLOCK_TROUBLES for agent in AGENTS}


@pytest.mark.parametrize("seed", SEEDS)
def test_what_needs_a_jvm_meets_only_those_who_have_one(seed: int) -> None:
    found = [fault for fault in firsts(seed, *ALL, count=200) if fault.kind in OF_JVM]
    assert {fault.target for fault in found} == set(DATA_SITES)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_step_of_a_batch_and_of_an_answer_is_aimed_at(seed: int) -> None:
    snares = [(fault.target, fault.snare) for fault in firsts(seed, "step")]
    assert {snare.step for _, snare in snares if snare} == set(Step)
    assert {snare.victim for _, snare in snares if snare} == set(Victim)
    assert all(target == ROOT for target, snare in snares if snare and snare.step in ROOT_STEPS)


@pytest.mark.parametrize("seed", SEEDS)
def test_clocks_are_set_ahead_and_back_by_seconds_and_by_hours_up_to_a_day(seed: int) -> None:
    by_s = [fault.by_s for fault in firsts(seed, "clock") if fault.kind in CLOCK_TROUBLES]
    low_s, high_s = CLOCK_STEP_S
    assert all(low_s <= abs(step_s) <= high_s for step_s in by_s)
    assert min(by_s) < -3_600
    assert max(by_s) > 3_600
    assert any(abs(step_s) < 60 for step_s in by_s)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_trouble_of_a_disk_comes_to_those_who_have_data(seed: int) -> None:
    found = firsts(seed, "disk", count=60)
    assert {fault.trouble for fault in found} == {*Trouble, None}
    assert {fault.target for fault in found} == set(DATA_SITES)


@pytest.mark.parametrize("seed", SEEDS)
def test_somebody_stands_still_for_up_to_a_minute(seed: int) -> None:
    acts = draw_acts(groups=["overload"], count=40, seed=seed)
    held = [act.hold_s for act in acts if act.faults[0].kind is not Kind.HOG]
    assert STILL_S[0] <= min(held) < 5.0
    assert 30.0 < max(held) <= STILL_S[1]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_stream_comes_back_within_a_quarter_of_a_second(seed: int) -> None:
    for fault in firsts(seed, "reinstall"):
        assert fault.target == CHURNED
        assert REINSTALL_GAP_S[0] <= fault.by_s <= REINSTALL_GAP_S[1] <= 0.25


@pytest.mark.parametrize("seed", SEEDS)
def test_what_the_machine_can_not_have_is_not_drawn(seed: int) -> None:
    without = {Kind.FILL_DISK, *CLOCK_TROUBLES}
    acts = draw_acts(groups=ALL, count=40, seed=seed, without=without)
    assert len(acts) == 40
    assert not without & {fault.kind for fault in faults(acts)}


def test_without_a_kind_that_is_left_there_are_no_acts() -> None:
    assert draw_acts(groups=["clock"], count=5, seed=1, without=CLOCK_TROUBLES) == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_no_act_strikes_one_target_twice(seed: int) -> None:
    for act in draw_acts(groups=ALL, count=40, seed=seed):
        assert len({fault.target for fault in act.faults}) == len(act.faults)
        assert all(fault.target in LINKS for fault in act.faults[1:])
