"""Sketches of percentiles: however values are divided, the rank is within the bound."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headwater.algebra.aggregates.sketches.kll_cells import (
    COUNT_MAX,
    KINDS,
    Sketches,
    counts_of,
    decoded,
    encoded,
    of_values,
    rooms,
)
from headwater.algebra.aggregates.sketches.merge_kll import KLLS, merged, rank_error, sorted_within
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Column, Partial

K = 200
BIGINT = KINDS["bigint"]


class Layout:
    keys = (Column("k", "bigint"),)

    def __init__(self, rule: str) -> None:
        self.partials = (Partial("c", "binary", rule),)


def of(values: np.ndarray, k: int = K) -> Sketches:
    return merged(of_values(values), np.zeros(len(values), int), 1, k)


def cell_of(values: np.ndarray, k: int = K) -> bytes:
    cell: bytes = encoded(of(values, k), k)[0].as_py()
    return cell


def ranks(sketch: Sketches, values: np.ndarray) -> np.ndarray:
    """The share of what the sketch has at or below each value."""
    weights = 1 << sketch.levels
    return np.array([weights[sketch.values <= one].sum() for one in values]) / sketch.counts[0]


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
@pytest.mark.parametrize("parts", [1, 7, 60])
def test_ranks_are_within_the_bound_however_values_are_divided(
    parts: int, kind: np.dtype[Any]
) -> None:
    values = np.random.default_rng(parts).lognormal(5, 3, 9000).astype(kind)
    found = merged(of_values(values), np.arange(len(values)) * parts // len(values), parts, K)
    while len(found.counts) > 1:
        groups = -(-len(found.counts) // 3)
        found = merged(found, np.arange(len(found.counts)) // 3, groups, K)
    assert found.counts == [len(values)]
    assert found.ends.tolist() == [[values.min(), values.max()]]
    asked = np.quantile(values, np.linspace(0.01, 0.99, 50), method="inverted_cdf")
    true = np.array([(values <= one).mean() for one in asked])
    assert np.abs(ranks(found, asked) - true).max() <= rank_error(K)


def test_equal_counts_do_not_lean_to_one_side() -> None:
    """Which of two values stays must not go by the count alone: panes are often of equal size."""
    values = np.random.default_rng(1).permutation(1 << 16)
    found = merged(of_values(values), np.repeat(np.arange(64), 1 << 10), 64, K)
    while len(found.counts) > 1:
        found = merged(found, np.arange(len(found.counts)) // 2, len(found.counts) // 2, K)
    asked = np.quantile(values, np.linspace(0.01, 0.99, 50), method="inverted_cdf")
    true = np.array([(values <= one).mean() for one in asked])
    assert np.abs(ranks(found, asked) - true).max() <= rank_error(K)


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
@pytest.mark.parametrize("count", [0, 1, 2, 199, 200, 201, 5000])
def test_a_sketch_is_read_as_it_was_written(count: int, kind: np.dtype[Any]) -> None:
    cell = cell_of(np.arange(count).astype(kind))
    found = decoded(pa.array([None, cell, cell]), K, kind)
    assert found.counts.tolist() == [0, count, count]
    assert encoded(found, K)[2].as_py() == cell
    assert counts_of(pa.array([cell, None])).tolist() == [count, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_groups_merge_by_their_rule_and_nothing_is_nothing(kind: str) -> None:
    merger = ArrowMerger(Layout(f"kll_{kind}_200"))
    nine, five = (cell_of(np.arange(n).astype(KINDS[kind])) for n in (9, 5))
    rows = pa.table([[1, 1, 1, 2], [nine, None, five, None]], schema=merger.schema)
    found = merger.groups([rows]).merged.sort_by("k")["c"].combine_chunks()
    assert decoded(found, K, KINDS[kind]).counts.tolist() == [14, 0]


def test_many_groups_merge_as_each_does_alone() -> None:
    chance = np.random.default_rng(3)
    sizes = np.array([1, 3000, 0, 2, 250, 700])
    values = chance.integers(-(2**62), 2**62, sizes.sum())
    group_of = np.repeat(np.arange(len(sizes)), sizes)
    found = encoded(merged(of_values(values), group_of, len(sizes), K), K)
    alone = [cell_of(part) for part in np.split(values, np.cumsum(sizes)[:-1])]
    assert found.to_pylist() == alone


def test_groups_of_any_size_are_sorted_each_by_itself() -> None:
    values = np.array([3, 1, 9, 2, 8, 0, 5, 5, -1])
    assert sorted_within(values, np.array([2, 0, 3, 1, 3])).tolist() == [1, 3, 2, 8, 9, 0, -1, 5, 5]


FULL = cell_of(np.arange(5000))
DOUBLES = cell_of(np.arange(9.0))
NAN = np.array([np.nan]).tobytes()


@pytest.mark.parametrize(
    ("cell", "wanted"),
    [
        (b"", "at least 8 bytes"),
        (FULL + b"\0", "a whole number of words"),
        (FULL[:2] + b"\x07" + FULL[3:], "a KLL sketch"),
        (cell_of(np.arange(9), 400), "a sketch of size 200"),
        (FULL[:3] + b"\x01" + FULL[4:], "an empty sketch"),
        (FULL[:3] + b"\x04" + FULL[4:], "a sketch of one value"),
        (FULL[:8], "a sketch of several values"),
        (FULL[:-8], "as many values as it says"),
        (FULL[:8] + b"\x01" + FULL[9:], "weights of all"),
        (FULL[:14] + b"\x7f" + FULL[15:], "a count and levels"),
        (FULL[:18] + b"\xff" + FULL[19:], "a count and levels"),
        (FULL[:18] + b"\x34" + FULL[19:24], "levels, the least and the greatest"),
        (FULL[:20] + b"\xff\xff\xff\xff" + FULL[24:], "levels one after the other"),
        (FULL[:-8] + b"\xff" * 7 + b"\x7f", "values between the ends"),
        (FULL[:-16] + FULL[-8:] + FULL[-16:-8], "levels in order"),
    ],
)
def test_a_cell_that_is_unsound_is_refused(cell: bytes, wanted: str) -> None:
    take = KLLS["bigint"][K].take
    assert take is not None
    with pytest.raises(ValueError, match=f"cell 1: wanted {wanted}"):
        take([pa.chunked_array([pa.array([FULL, cell])])], [pa.binary()])


@pytest.mark.parametrize("cell", [DOUBLES[:-8] + NAN, DOUBLES[:24] + NAN + DOUBLES[32:]])
def test_a_value_that_is_no_number_is_refused(cell: bytes) -> None:
    take = KLLS["double"][K].take
    assert take is not None
    with pytest.raises(ValueError, match="cell 0: wanted numbers"):
        take([pa.chunked_array([pa.array([cell])])], [pa.binary()])


def test_a_group_with_more_values_than_a_sketch_may_have_overflows_alone() -> None:
    values, levels = np.array([1, 2]), np.full(2, COUNT_MAX.bit_length() - 3)
    huge = Sketches(
        np.array([COUNT_MAX >> 1]), np.array([[1, 2]]), np.array([0, 0]), levels, values
    )
    cell = encoded(huge, K)[0].as_py()
    merger = ArrowMerger(Layout("kll_bigint_200"))
    rows = pa.table([[1, 1, 1, 2, 2], [cell, cell, cell, cell, cell]], schema=merger.schema)
    found = merger.groups([rows])
    assert found.merged["k"].to_pylist() == [2]
    assert found.overflowing["k"].to_pylist() == [1]
    assert counts_of(found.merged["c"].combine_chunks()).tolist() == [COUNT_MAX]
    assert found.apart.num_rows == 3


def test_what_is_merged_fits_into_the_room_that_there_is() -> None:
    values = np.random.default_rng(5).integers(0, 1000, 20_000)
    found = merged(of_values(values), np.arange(20_000) // 2_500, 8, K)
    kept = np.bincount(found.owners)
    heights = [found.levels[found.owners == one].max() + 1 for one in range(8)]
    assert (kept <= rooms(K)[heights]).all()
