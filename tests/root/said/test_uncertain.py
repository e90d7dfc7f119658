"""Which rows of the largest may not be among them, where sites have kept something back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.remainders.tolerance import ChosenRows
from headwater.root.said.withheld import StatedError, StatedErrors, UncertainRows, uncertain_rows

NOTHING = -np.inf
"""As NULL is said."""


def stated(largest: float) -> StatedErrors:
    return StatedErrors((StatedError("n", "5", largest, None, largest, True),), keys=1)


def unsure(
    values: list[float], *, count: int, off: float, is_never_negative: bool = True
) -> UncertainRows | None:
    chosen = ChosenRows("n", count, is_never_negative)
    return uncertain_rows(chosen, stated(off), np.array(values))


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
