"""Which panes of a query lie in one of its levels, and what is no level of it."""

from __future__ import annotations

import msgspec
import pytest
from pane_kit import FULL, LEVEL

from headwater.algebra.panes import MICROS, WindowSpec
from headwater.plan.degrading.companion import Companion, coarse_pane, fine_panes, level_fault
from headwater.plan.degrading.degradation import OperatorKind
from headwater.plan.flat_query import FlatQuery
from headwater.plan.query import Query, TimeKind

replace = msgspec.structs.replace


def test_three_panes_lie_in_one_of_a_level_three_times_as_long() -> None:
    assert fine_panes(FULL, LEVEL, 5) == range(15, 18)
    assert [coarse_pane(FULL, LEVEL, pane) for pane in range(14, 19)] == [4, 5, 5, 5, 6]


def test_panes_before_1970_lie_in_one_as_well() -> None:
    assert fine_panes(FULL, LEVEL, -1) == range(-3, 0)
    assert coarse_pane(FULL, LEVEL, -1) == -1


def test_a_level_fits_its_query() -> None:
    assert level_fault(FULL, LEVEL) is None


@pytest.mark.parametrize(
    ("level", "why"),
    [
        (replace(LEVEL, companion=Companion("other@s0#1", 1)), "is no level of"),
        (replace(LEVEL, companion=Companion(str(FULL.id), 1, kind=OperatorKind.TOP)), "not known"),
        (replace(LEVEL, window=WindowSpec(25 * MICROS, 25 * MICROS)), "no whole number"),
        (replace(LEVEL, window=FULL.window), "gives up nothing"),
        (replace(LEVEL, root="s1"), "another root"),
        (replace(LEVEL, sites=("s1",)), "other sites"),
        (replace(LEVEL, program=replace(LEVEL.program, partials=())), "other columns"),
    ],
)
def test_what_is_no_level_is_left_alone(level: Query, why: str) -> None:
    assert why in (level_fault(FULL, level) or "")


def test_a_query_by_age_has_no_levels() -> None:
    with pytest.raises(ValueError, match="by age"):
        replace(LEVEL, time=TimeKind.AGE)
    assert level_fault(replace(FULL, time=TimeKind.AGE), LEVEL) is not None


def test_a_level_survives_the_wire_and_others_have_the_bytes_that_they_had() -> None:
    sent = msgspec.msgpack.encode(FlatQuery.of(LEVEL))
    assert msgspec.msgpack.decode(sent, type=FlatQuery).query() == LEVEL
    assert b"companion" not in msgspec.json.encode(FlatQuery.of(FULL))
