"""The figures after Heintz et al. on a small made trace: their rows mean what they are called."""

from __future__ import annotations

import pytest
from experiments import heintz_03, heintz_04
from experiments.heintz.sweep import Ready, gap_closed, settled
from experiments.heintz.traces import WARM_UP, Trace, synthetic


@pytest.fixture(scope="module")
def trace() -> Trace:
    return synthetic(records=600, windows=WARM_UP + 4)


def test_section_5_3_1_a_wider_bound_is_met_sooner_and_nobody_is_before_the_optimum(
    trace: Trace,
) -> None:
    rows = heintz_03.rows_of(trace, whats=("sum", "max"), bandwidths=(0.5,), above=(0.4, 0.1))
    assert [(row.aggregate, row.above) for row in rows] == [
        ("sum", 0.4),
        ("sum", 0.1),
        ("max", 0.4),
        ("max", 0.1),
    ]
    for tight, wide in (rows[:2], rows[2:]):
        assert tight.load == pytest.approx(0.8, abs=0.1)
        assert tight.load > 3 * wide.load
        assert tight.batching > wide.batching
        assert tight.random > wide.random
        assert tight.optimum <= min(tight.lru, tight.gain) < tight.random < tight.batching
    assert all(row.windows == 4 for row in rows)
    assert all(1.0 <= row.sends_gain < row.sends_random for row in rows if row.above == 0.1)


def test_a_bound_above_which_nothing_is_has_no_row(trace: Trace) -> None:
    ready = Ready(trace, "sum")
    assert heintz_03.row_of(ready, 0.5, 0.0) is None
    assert ready.due(ready.bound(0.0)) == [0] * len(trace.windows)


def a_row(**fields: float) -> heintz_03.Row:
    given = {
        "bandwidth": 0.5,
        "above": 0.2,
        "windows": 4,
        "load": 0.4,
        "streaming": 9.0,
        "batching": 0.5,
        "random": 0.3,
        "lru": 0.1,
        "gain": 0.05,
        "optimum": 0.0,
        "sends_random": 2.0,
        "sends_lru": 1.5,
        "sends_gain": 1.2,
    }
    return heintz_03.Row(trace="made", aggregate="sum", **{**given, **fields})


def test_each_goal_is_measured_over_the_loads_for_which_it_is_said() -> None:
    rows = [
        a_row(),
        a_row(load=0.8, random=0.7, lru=0.3, gain=0.35, optimum=0.2, sends_gain=1.25),
        a_row(load=0.1, random=0.005, lru=0.0, gain=0.005, sends_gain=3.0),
        a_row(load=1.6, gain=9.0, sends_gain=9.0),
    ]
    found = heintz_03.goals_of(rows)
    assert found[0] == pytest.approx(1 - 0.05 / 0.3), "of a random that is not resolved: nothing"
    assert found[1] == pytest.approx(0.05)
    assert found[3] == pytest.approx(0.35 / 0.5)
    assert found[4] == pytest.approx(0.05)
    assert found[5:] == (1.25, 3.0)
    assert heintz_03.goals_of([rows[-1]]) == ("",) * len(heintz_03.GOALS)


def test_section_5_3_2_a_later_deadline_leaves_less_error_and_nobody_less_than_the_optimum(
    trace: Trace,
) -> None:
    soon, late = heintz_04.rows_of(trace, whats=("sum",), bandwidths=(0.5,), staleness=(0.02, 0.5))
    assert soon.batching > late.batching
    assert soon.optimum <= min(soon.lru, soon.gain) < soon.random < soon.batching <= 1.0
    assert soon.closed == gap_closed(soon.gain, random=soon.random, best=soon.optimum, least=0.0)
    assert soon.times_optimum("gain") == soon.gain / soon.optimum
    found = heintz_04.goals_of([soon])
    assert found[2] == soon.times_optimum("gain")
    assert found[3] == 1.0 - soon.gain / soon.random


def test_windows_of_the_warm_up_do_not_count() -> None:
    assert settled([9.0] * WARM_UP + [1.0, 2.0, 3.0]) == 2.0
