"""What a query may give up, as a plan: operators, levels and steps."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from headwater.plan.degrading.degradation import Degradation, Operator, OperatorKind
from headwater.plan.degrading.time_hierarchy import HIERARCHY_US, coarse_lengths

TIME = Operator(OperatorKind.COARSEN_TIME, (5e6, 10e6))
SAMPLE = Operator(OperatorKind.SAMPLE, (0.5, 0.25), "url")


def test_an_operator_comes_in_when_those_before_it_have_given_all_and_goes_first() -> None:
    both = Degradation((TIME, SAMPLE))
    assert both.last_step == 4
    steps = [tuple(level.size for level in both.levels_at(step)) for step in range(5)]
    assert steps == [(None, None), (5e6, None), (10e6, None), (10e6, 0.5), (10e6, 0.25)]
    assert list(both.levels_at(9)) == list(both.levels_at(4))


def test_a_step_is_named_by_the_level_that_it_adds() -> None:
    both = Degradation((TIME, SAMPLE))
    found = [both.newest_at(step) for step in range(5)]
    named = [None if one is None else (one.operator.kind, one.at) for one in found]
    time, sample = OperatorKind.COARSEN_TIME, OperatorKind.SAMPLE
    assert named == [None, (time, 1), (time, 2), (sample, 1), (sample, 2)]
    assert both.size_at(OperatorKind.SAMPLE, 3) == 0.5
    assert both.size_at(OperatorKind.TOP, 3) is None


@pytest.mark.parametrize(
    ("operators", "fault"),
    [
        ((TIME, TIME), "degrade: `coarsen time` occurs twice"),
        ((Operator(OperatorKind.COARSEN_TIME, (10e6, 5e6)),), "the mildest first"),
        ((Operator(OperatorKind.SAMPLE, (0.25, 0.5)),), "the mildest first"),
        ((Operator(OperatorKind.SAMPLE, (0.5, 0.5)),), "each level once"),
        ((Operator(OperatorKind.THRESHOLD, (0.0, 1.0)),), "levels above 0"),
        ((Operator(OperatorKind.THRESHOLD, (float("nan"),)),), "levels above 0"),
    ],
)
def test_a_plan_that_makes_no_sense_has_a_fault(
    operators: tuple[Operator, ...], fault: str
) -> None:
    assert fault in (Degradation(operators).fault() or "")


def test_an_operator_of_a_later_version_is_read_as_another_one() -> None:
    later = msgspec.msgpack.encode({"operators": [{"kind": "dream", "levels": [1.0]}]})
    (one,) = msgspec.msgpack.decode(later, type=Degradation).operators
    assert one.kind is OperatorKind.OTHER


def test_every_length_of_the_hierarchy_is_a_multiple_of_the_one_before() -> None:
    for pane_us in (1_000_000, 2_000_000, 15_000_000, 3_600_000_000):
        lengths = [pane_us, *coarse_lengths(pane_us)]
        assert all(later % former == 0 for former, later in itertools.pairwise(lengths))
    assert list(coarse_lengths(HIERARCHY_US[-1])) == []
