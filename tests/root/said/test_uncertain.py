"""Which rows of the largest may not be among them, where sites have kept something back."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.remainders.tolerance import ChosenRows, Comparison, Condition
from headwater.root.said.withheld import (
    StatedError,
    StatedErrors,
    UncertainCondition,
    UncertainRows,
    uncertain_by,
    uncertain_rows,
)

NOTHING = -np.inf
"""As NULL is said."""


def unsure(
    values: list[float], *, count: int, off: float, is_never_negative: bool = True
) -> UncertainRows | None:
    chosen = ChosenRows("n", count, is_never_negative)
    column = StatedError("n", "5", off, None, off, True)
    return uncertain_rows(StatedErrors((column,), keys=1, chosen=chosen), np.array(values))


def test_rows_nearer_to_the_last_place_than_what_may_be_off_are_not_sure() -> None:
    found = unsure([90.0, 54.0, 51.0, 50.0], count=4, off=4.0)
    assert found == UncertainRows("n", below=54.0, rows=2, of=4)


def test_values_that_may_be_negative_may_be_too_large_as_well() -> None:
    found = unsure([90.0, 54.0, 51.0, 50.0], count=4, off=4.0, is_never_negative=False)
    assert found == UncertainRows("n", below=58.0, rows=3, of=4)


def test_where_all_rows_are_in_only_what_nobody_sent_could_be_larger() -> None:
    assert unsure([90.0, 54.0, 51.0], count=4, off=4.0) is None
    assert unsure([90.0, 3.0], count=4, off=4.0) == UncertainRows("n", below=4.0, rows=1, of=2)


def test_a_row_without_a_value_is_never_sure() -> None:
    assert unsure([90.0, NOTHING], count=2, off=4.0) == UncertainRows("n", 4.0, rows=1, of=2)


@pytest.mark.parametrize("values", [[], [5.0]])
def test_where_nothing_may_be_off_all_are_sure(values: list[float]) -> None:
    assert unsure(values, count=1, off=0.0) is None


def test_a_group_that_is_nothing_may_be_larger_than_one_that_is_less() -> None:
    found = unsure([-1.0], count=1, off=0.0, is_never_negative=False)
    assert found == UncertainRows("n", below=0.0, rows=1, of=1)


@given(
    truth=st.lists(st.integers(-50, 50), min_size=1, max_size=12),
    kept=st.lists(st.integers(-9, 9), min_size=12, max_size=12),
    sent=st.lists(st.booleans(), min_size=12, max_size=12),
    count=st.integers(1, 6),
    is_never_negative=st.booleans(),
)
def test_whoever_is_sure_is_among_the_largest_of_the_truth(
    truth: list[int], kept: list[int], sent: list[bool], count: int, is_never_negative: bool
) -> None:
    if is_never_negative:
        truth, kept = [abs(t) for t in truth], [abs(k) for k in kept]
        kept = [min(t, k) for t, k in zip(truth, kept, strict=False)]
    off = max(abs(k) for k in kept[: len(truth)])
    seen = {n: t - k for n, (t, k) in enumerate(zip(truth, kept, strict=False))}
    seen = {n: v for n, v in seen.items() if sent[n] or abs(truth[n]) > off}
    shown = sorted(seen, key=lambda n: -seen[n])[:count]
    found = unsure(
        [seen[n] for n in shown], count=count, off=off, is_never_negative=is_never_negative
    )
    below = NOTHING if found is None else found.below
    for n in shown:
        larger = sum(other > truth[n] for other in truth)
        assert seen[n] < below or larger < count


COMPARED: dict[Comparison, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


def near(
    values: list[float], comparison: Comparison, *, off: float, is_never_negative: bool = True
) -> UncertainCondition | None:
    condition = Condition("n", comparison, 100.0, is_never_negative)
    column = StatedError("n", "5", off, None, off, True)
    stated = StatedErrors((column,), keys=1, conditions=(condition,))
    found = uncertain_by(stated, {"n": np.array(values)})
    return found[0] if found else None


def test_rows_above_a_limit_only_grow_and_rows_below_may_be_lacking() -> None:
    assert near([101.0, 300.0], ">", off=12.0) == UncertainCondition(
        "n", "n > 100", rows=0, of=2, lacking=(88.0, 100.0)
    )


def test_rows_below_a_limit_may_grow_above_it_and_none_is_lacking() -> None:
    assert near([10.0, 87.0, 88.0, 99.0], "<", off=12.0) == UncertainCondition(
        "n", "n < 100", rows=2, of=4
    )
    assert near([10.0, 88.0], "<=", off=12.0) is None


def test_of_what_may_be_negative_neither_side_is_sure() -> None:
    found = near([101.0, 112.0, 113.0], ">", off=12.0, is_never_negative=False)
    assert found == UncertainCondition("n", "n > 100", rows=2, of=3, lacking=(88.0, 100.0))


def test_what_can_not_be_negative_is_not_said_to_lack_rows_below_nothing() -> None:
    assert near([101.0], ">", off=400.0) == UncertainCondition("n", "n > 100", 0, 1, (0.0, 100.0))


def test_where_nothing_may_be_off_every_row_is_on_its_side() -> None:
    assert near([101.0], ">", off=0.0) is None
    assert near([], ">", off=12.0) == UncertainCondition("n", "n > 100", 0, 0, (88.0, 100.0))


@given(
    truth=st.lists(st.integers(-150, 150), min_size=1, max_size=12),
    kept=st.lists(st.integers(-30, 30), min_size=12, max_size=12),
    comparison=st.sampled_from(list(COMPARED)),
    is_never_negative=st.booleans(),
)
def test_whoever_is_sure_fulfils_the_condition_and_whoever_lacks_is_near(
    truth: list[int], kept: list[int], comparison: Comparison, is_never_negative: bool
) -> None:
    if is_never_negative:
        truth, kept = [abs(t) for t in truth], [abs(k) for k in kept]
        kept = [min(t, k) for t, k in zip(truth, kept, strict=False)]
    off = float(max(abs(k) for k in kept[: len(truth)]))
    holds = COMPARED[comparison]
    seen = [(t, float(t - k)) for t, k in zip(truth, kept, strict=False)]
    shown = [pair for pair in seen if holds(pair[1], 100.0)]
    found = near(
        [value for _, value in shown], comparison, off=off, is_never_negative=is_never_negative
    )
    wrong = sum(not holds(t, 100.0) for t, _ in shown)
    assert wrong <= (0 if found is None else found.rows)
    low, high = (1.0, 0.0) if found is None or found.lacking is None else found.lacking
    for t, value in seen:
        if holds(t, 100.0) and not holds(value, 100.0):
            assert low <= value <= high
