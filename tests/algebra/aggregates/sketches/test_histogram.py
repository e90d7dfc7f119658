"""Logarithmic histograms: the bound holds of every number, and coarsening commutes with merging."""

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.aggregates.growing.fold_rule import OwnedRows
from headwater.algebra.aggregates.sketches.fold_percentile import percentile_fault, percentiles
from headwater.algebra.aggregates.sketches.histogram import (
    ERROR_MAX,
    ERROR_MIN,
    INFINITY,
    MIDDLE,
    NOT_A_NUMBER,
    coarser,
    coarser_error,
    stand_ins,
    width,
)

ERRORS = st.sampled_from([ERROR_MIN, 0.01, 0.05, ERROR_MAX])
NUMBERS = st.lists(st.floats(allow_nan=True), min_size=1, max_size=30)


def slots(numbers: list[float], error: float) -> np.ndarray:
    """As the SQL of a site says it."""
    found = []
    for one in numbers:
        if math.isnan(one):
            found.append(NOT_A_NUMBER)
        elif one == 0:
            found.append(0)
        else:
            steps = MIDDLE if math.isinf(one) else math.ceil(math.log(abs(one)) / width(error))
            found.append(int(math.copysign(MIDDLE + steps, one)))
    return np.array(found, np.int32)


def counted(numbers: list[float], error: float) -> dict[int, int]:
    found, counts = np.unique(slots(numbers, error), return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def merged(one: dict[int, int], other: dict[int, int]) -> dict[int, int]:
    return {slot: one.get(slot, 0) + other.get(slot, 0) for slot in {*one, *other}}


def made_coarser(histogram: dict[int, int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for slot, count in histogram.items():
        to = int(coarser(np.array([slot]))[0])
        found[to] = found.get(to, 0) + count
    return found


@given(NUMBERS, ERRORS)
def test_every_number_is_within_the_error_of_what_stands_for_it(
    numbers: list[float], error: float
) -> None:
    for one, near in zip(numbers, stand_ins(slots(numbers, error), error).tolist(), strict=True):
        if math.isfinite(one):
            assert abs(near - one) <= error * abs(one) + 5e-324
        else:
            assert near == one or (math.isnan(near) and math.isnan(one))


@given(NUMBERS, ERRORS)
def test_slots_are_in_the_order_of_their_numbers(numbers: list[float], error: float) -> None:
    there = [one for one in numbers if not math.isnan(one)]
    ordered = slots(sorted(there), error)
    assert (np.diff(ordered) >= 0).all()
    assert NOT_A_NUMBER > INFINITY >= ordered.max(initial=-INFINITY)


@given(NUMBERS, NUMBERS, st.sampled_from([ERROR_MIN, 0.01, 0.05]))
def test_coarsening_commutes_with_merging_and_has_the_bound_of_a_coarser_histogram(
    some: list[float], others: list[float], error: float
) -> None:
    one, other = counted(some, error), counted(others, error)
    assert made_coarser(merged(one, other)) == merged(made_coarser(one), made_coarser(other))
    wider = coarser_error(error)
    assert width(wider) == pytest.approx(2 * width(error))
    near = stand_ins(coarser(slots(some, error)), wider)
    for truth, found in zip(some, near.tolist(), strict=True):
        if math.isfinite(truth):
            assert abs(found - truth) <= wider * (1 + 1e-9) * abs(truth) + 5e-324


def folded(numbers: list[list[float]], made: pa.DataType, *values: float) -> list:
    """Percentiles of groups."""
    rows = [(n, *pair) for n, one in enumerate(numbers) for pair in counted(one, values[0]).items()]
    owners, found, counts = (np.array(one, np.int64) for one in zip(*rows, strict=True))
    columns = [pa.array(found, pa.int32()), pa.array(counts)]
    cells, within = percentiles(OwnedRows(owners, columns, len(numbers), values), made)
    assert within is None
    return cells.to_pylist()


@given(st.lists(NUMBERS, min_size=1, max_size=4), st.sampled_from([0.0, 0.1, 0.5, 0.99, 1.0]))
def test_a_percentile_is_within_the_bound_of_the_value_at_its_place(
    groups: list[list[float]], share: float
) -> None:
    found = folded(groups, pa.float64(), 0.01, share)
    for numbers, near in zip(groups, found, strict=True):
        ordered = sorted(numbers, key=lambda one: (math.isnan(one), one))
        truth = ordered[max(1, math.ceil(share * len(ordered))) - 1]
        if math.isfinite(truth):
            assert abs(near - truth) <= 0.01 * abs(truth) + 5e-324
        else:
            assert near == truth or (math.isnan(near) and math.isnan(truth))


@pytest.mark.parametrize(
    ("made", "number"),
    [
        (pa.int8(), -128),
        (pa.int8(), 127),
        (pa.int16(), 2**15 - 1),
        (pa.int32(), -(2**31)),
        (pa.int64(), 2**63 - 1),
        (pa.int64(), -(2**63)),
        (pa.decimal128(38, 0), 10**38 - 1),
        (pa.decimal128(10, 2), 99_999_999.99),
        (pa.float32(), 3.4028234e38),
        (pa.float64(), 1.7976931348623157e308),
        (pa.float64(), 5e-324),
    ],
)
def test_a_percentile_stays_within_its_type_at_the_ends_of_it(
    made: pa.DataType, number: float
) -> None:
    (found,) = folded([[float(number)]], made, 0.05, 0.5)
    assert float(abs(Decimal(found) - Decimal(number))) <= 0.05 * abs(number) + 0.5


def test_arrays_have_a_percentile_for_each_share_and_nothing_is_null() -> None:
    made = pa.list_(pa.int32())
    numbers = [[float(n) for n in range(1, 11)], []]
    assert folded(numbers, made, 0.01, 0.0, 0.25, 1.0) == [[1, 3, 10], None]
    assert folded(numbers, pa.int32(), 0.01, 0.5) == [5, None]


@pytest.mark.parametrize(
    ("types", "made", "values"),
    [
        ([pa.int32()], pa.float64(), (0.01, 0.5)),
        ([pa.int64(), pa.int64()], pa.float64(), (0.01, 0.5)),
        ([pa.int32(), pa.int64()], pa.string(), (0.01, 0.5)),
        ([pa.int32(), pa.int64()], pa.float64(), ()),
        ([pa.int32(), pa.int64()], pa.float64(), (0.01,)),
        ([pa.int32(), pa.int64()], pa.float64(), (0.01, 1.5)),
        ([pa.int32(), pa.int64()], pa.float64(), (0.01, math.nan)),
        ([pa.int32(), pa.int64()], pa.float64(), (0.0, 0.5)),
        ([pa.int32(), pa.int64()], pa.float64(), (0.01, 0.5, 0.6)),
        ([pa.int32(), pa.int64()], pa.list_(pa.float64()), (0.01, *[0.5] * 101)),
    ],
)
def test_a_fold_that_a_plan_can_t_mean_is_refused(
    types: list[pa.DataType], made: pa.DataType, values: tuple[float, ...]
) -> None:
    assert percentile_fault(types, made, values) is not None
