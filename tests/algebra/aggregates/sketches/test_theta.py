"""Sketches of sets of values: a cell goes by the set alone, and damaged ones are refused."""

import numpy as np
import pyarrow as pa
import pytest
from fuzz.sketches import THETAS as WRITTEN

from headwater.algebra.aggregates.sketches.merge_theta import THETAS, merged
from headwater.algebra.aggregates.sketches.theta import deviation
from headwater.algebra.aggregates.sketches.theta_cells import ALL, Hashes, decoded, encoded
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Column, Partial

NONE, ONE, THREE, MANY = map(bytes.fromhex, WRITTEN)
LG_K = 6


class Layout:
    keys = (Column("k", "bigint"),)
    partials = (Partial("c", "binary", f"theta_{LG_K}"),)


def of(hashes: np.ndarray) -> Hashes:
    """One sketch of these."""
    found = Hashes(np.array([ALL]), np.zeros(len(hashes), int), np.unique(hashes))
    return merged(found._replace(owners=np.zeros(len(found.hashes), int)), np.array([0]), 1, LG_K)


def cell_of(hashes: np.ndarray) -> bytes:
    cell: bytes = encoded(of(hashes))[0].as_py()
    return cell


def test_what_spark_writes_is_read_and_counted() -> None:
    found = decoded(pa.array([NONE, None, ONE, THREE]), 12)
    assert np.bincount(found.owners, minlength=4).tolist() == [0, 0, 1, 3]
    assert (found.thetas == ALL).all()
    assert found.hashes[0] in found.hashes[1:]  # The same value is the same hash.
    many = decoded(pa.array([MANY]), 4)
    assert len(many.hashes) / (many.thetas[0] / 2**63) == pytest.approx(100_000, rel=0.5)


@pytest.mark.parametrize("count", [0, 1, 2, 63, 64, 65, 1000])
def test_a_sketch_is_read_as_it_was_written(count: int) -> None:
    cell = cell_of(np.random.default_rng(count).integers(1, ALL, count))
    assert encoded(decoded(pa.array([cell]), LG_K))[0].as_py() == cell
    assert len(decoded(pa.array([cell]), LG_K).hashes) == min(count, 1 << LG_K)


@pytest.mark.parametrize("parts", [2, 5, 40])
def test_however_values_are_divided_the_cell_is_the_same(parts: int) -> None:
    chance = np.random.default_rng(parts)
    hashes = chance.integers(1, ALL, 1500)
    merger = ArrowMerger(Layout())
    drawn = [chance.choice(hashes, 200) for _ in range(parts)] + [hashes]
    rows = [pa.table([[1], [cell_of(one)]], schema=merger.schema) for one in drawn]
    one_way = merger.merge(rows)["c"][0].as_py()
    other = merger.merge([merger.merge(rows[1:]), rows[0]])["c"][0].as_py()
    assert one_way == other == cell_of(hashes)


def test_a_cell_with_more_hashes_than_wanted_is_cut_to_the_least() -> None:
    take = THETAS[4].take
    assert take is not None
    hashes = np.sort(np.random.default_rng(1).integers(1, ALL, 30))
    more = encoded(Hashes(np.array([ALL]), np.zeros(30, int), hashes))
    (taken,) = take([pa.chunked_array([more])], [pa.binary()])
    found = decoded(taken.combine_chunks(), 4)
    assert found.hashes.tolist() == hashes[:16].tolist()
    assert found.thetas.tolist() == [hashes[16]]


@pytest.mark.parametrize("count", [1_000, 30_000])
def test_estimates_are_within_three_deviations(count: int) -> None:
    found = of(np.random.default_rng(count).integers(1, ALL, count))
    estimate = len(found.hashes) / (found.thetas[0] / 2**63)
    assert abs(estimate - count) <= 3 * deviation(LG_K) * count


FULL = cell_of(np.random.default_rng(7).integers(1, ALL, 500))


@pytest.mark.parametrize(
    ("cell", "wanted"),
    [
        (b"", "at least 8 bytes"),
        (FULL[:2] + b"\x07" + FULL[3:], "an ordered theta sketch"),
        (FULL[:5] + b"\x0a" + FULL[6:], "an ordered theta sketch"),
        (FULL[:5] + b"\x1e" + FULL[6:], "an empty sketch"),
        (FULL[:6] + b"\x00" + FULL[7:], "hashes by Spark's seed"),
        (FULL[:-3], "whole numbers of 8 bytes"),
        (FULL[:-8], "as many hashes as it says"),
        (b"\x01" + FULL[1:], "a single hash, a count, or theta"),
        (FULL[:16] + bytes(8) + FULL[24:], "hashes below theta"),
        (FULL[:24] + FULL[32:40] + FULL[24:32] + FULL[40:], "hashes in order"),
        (FULL[:8] + b"\x3f" + FULL[9:-8], "of which none below theta is lacking"),
        (THREE[:3] + b"\x00" + THREE[4:], "bits of a difference"),
        (THREE[:3] + b"\x40" + THREE[4:], "bits of a difference"),
        (THREE[:8] + b"\xff" + THREE[9:], "as many hashes as it says"),
        (THREE[:9], "as many hashes as it says"),
    ],
)
def test_a_cell_that_is_unsound_is_refused(cell: bytes, wanted: str) -> None:
    take = THETAS[LG_K].take
    assert take is not None
    with pytest.raises(ValueError, match=f"wanted .*{wanted}"):
        take([pa.chunked_array([pa.array([FULL, cell])])], [pa.binary()])
