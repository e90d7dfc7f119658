"""Sketches of distinct values: however values are divided, the cell is the same."""

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from headwater.algebra.aggregates.sketches.hll_cells import DENSE, coupons_max, decoded
from headwater.algebra.aggregates.sketches.merge_hll import HLLS, smaller_cells
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.rows.taken_rows import taker


class Layout:
    keys = (Column("k", "bigint"),)
    folding = msgspec.UNSET

    def __init__(self, lg_k: int) -> None:
        self.partials = (Partial("h", "binary", f"hll_{lg_k}"),)


def coupons(count: int, seed: int = 7) -> np.ndarray:
    """As many values would leave behind."""
    chance = np.random.default_rng(seed)
    ranks = np.minimum(chance.geometric(0.5, count), 62).astype(np.uint32)
    return np.unique(ranks << 26 | chance.integers(0, 1 << 26, count, dtype=np.uint32))


def as_spark_writes(found: np.ndarray, lg_k: int) -> bytes:
    """A list or set with room between the coupons, or registers that were never merged."""
    if len(found) <= coupons_max(lg_k):
        room = 1 << max(3 if len(found) <= 8 else 5, int(np.ceil(np.log2(len(found) * 2 + 1))))
        words = np.zeros(room, "<u4")
        words[np.sort(np.random.default_rng(1).choice(room, len(found), replace=False))] = found
        lg_room = room.bit_length() - 1
        if len(found) < 8:
            head = bytes((2, 1, 7, lg_k, lg_room, 0 if len(found) else 4, len(found), 8))
            return head + words.tobytes()
        head = bytes((3, 1, 7, lg_k, lg_room, 0, 0, 9))
        return head + len(found).to_bytes(4, "little") + words.tobytes()
    registers = np.zeros(1 << lg_k, np.uint8)
    np.maximum.at(registers, found & ((1 << lg_k) - 1), (found >> 26).astype(np.uint8))
    return bytes((10, 1, 7, lg_k, 0, 0, 0, 10)) + bytes(32) + registers.tobytes()


def merged(cells: list[bytes | None], lg_k: int) -> bytes:
    merger = ArrowMerger(Layout(lg_k))
    parts = [pa.table([[1], [cell]], schema=merger.schema) for cell in cells]
    found: bytes = merger.groups(parts).merged["h"][0].as_py()
    return found


@pytest.mark.parametrize("lg_k", [4, 9, 12])
@pytest.mark.parametrize("count", [0, 1, 7, 9, 30, 48, 49, 384, 385, 3000])
def test_the_division_does_not_show_in_a_cell(lg_k: int, count: int) -> None:
    values = coupons(count)
    chance = np.random.default_rng(count)
    whole = merged([as_spark_writes(values, lg_k)], lg_k)
    for parts in (2, 7):
        owner = chance.integers(0, parts, len(values))
        cells = [as_spark_writes(values[owner == part], lg_k) for part in range(parts)]
        assert merged([*cells, None], lg_k) == whole
        assert merged([merged(cells[:1], lg_k), merged(cells[::-1], lg_k)], lg_k) == whole
    assert (whole[7] & 3 == DENSE) == (len(values) > coupons_max(lg_k))


def test_a_cell_is_taken_in_without_the_room_that_spark_leaves() -> None:
    layout = Layout(12)
    take = taker(layout)
    assert take is not None
    written = as_spark_writes(coupons(100), 12)
    rows = pa.table([[1, 2], [written, None]], schema=ArrowMerger(layout).schema)
    taken = take(rows)["h"].to_pylist()
    assert (len(written), [len(cell) for cell in taken]) == (1036, [12 + 4 * 100, 8])


def test_sums_over_registers_are_ours_whatever_came() -> None:
    """Spark estimates from them, so somebody could write any estimate into a cell."""
    cell = as_spark_writes(coupons(3000), 9)
    forged = cell[:8] + b"\xff" * 32 + cell[40:]
    assert merged([forged], 9) == merged([cell], 9)
    ranks = decoded(pa.array([cell]), 9).registers[0].astype(float)
    sums = np.frombuffer(merged([cell], 9), "<f8", 2, 16)
    assert sums.sum() == pytest.approx(np.sum(2.0**-ranks), rel=1e-12)


FINE = as_spark_writes(coupons(20), 12)
DENSE_CELL = as_spark_writes(coupons(900), 12)


@pytest.mark.parametrize(
    ("cell", "wanted"),
    [
        (b"", "at least 8 bytes"),
        (FINE[:7], "at least 8 bytes"),
        (FINE[:-3], "a list, a set or registers"),
        (FINE[: -4 * 20], "as many coupons as it says"),
        (FINE[:1] + b"\x02" + FINE[2:], "eight bits a register"),
        (FINE[:3] + b"\x0b" + FINE[4:], "2\\^12 registers"),
        (FINE[:5] + b"\xff" + FINE[6:], "eight bits a register"),
        (FINE[:7] + b"\x0b" + FINE[8:], "a list, a set or registers"),
        (FINE[:8] + b"\x13" + FINE[9:], "as many coupons as it says"),
        (FINE + b"\x01\x00\x00\x00", "as many coupons as it says"),
        (DENSE_CELL[:-1], "a list, a set or registers"),
        (DENSE_CELL[:-1] + b"\x40", "ranks up to 63"),
        (b"\x02\x01\x07\x0c\x03\x00\x01\x08" + b"\x01\x00\x00\x00", "coupons with a rank"),
    ],
)
def test_a_cell_that_is_unsound_is_refused(cell: bytes, wanted: str) -> None:
    take = HLLS[12].take
    assert take is not None
    with pytest.raises(ValueError, match=wanted):
        take([pa.chunked_array([pa.array([FINE, cell])])], [pa.binary()])


def test_sketches_of_unequal_size_are_not_merged() -> None:
    take = HLLS[11].take
    assert take is not None
    with pytest.raises(ValueError, match=r"2\^11 registers"):
        take([pa.chunked_array([pa.array([FINE])])], [pa.binary()])


@pytest.mark.parametrize(("lg_k", "small"), [(12, 10), (12, 4), (9, 8), (5, 4)])
@pytest.mark.parametrize("count", [0, 1, 7, 9, 48, 49, 385, 3000])
def test_a_smaller_sketch_is_as_one_that_was_small_from_the_start(
    lg_k: int, small: int, count: int
) -> None:
    values = coupons(count)
    made = merged([as_spark_writes(values, small)], small)
    cells = pa.array([merged([as_spark_writes(values, lg_k)], lg_k), made, None], pa.binary())
    first, second, _ = smaller_cells(cells, small).to_pylist()
    assert first == second == made


def test_sketches_of_several_sizes_keep_their_places_when_they_are_made_smaller() -> None:
    sizes = (9, 12, 9, 12, 11)
    found = [coupons(900 + n, seed=n) for n in range(len(sizes))]
    mixed = [merged([as_spark_writes(one, k)], k) for one, k in zip(found, sizes, strict=True)]
    wanted = [merged([as_spark_writes(one, 8)], 8) for one in found]
    assert smaller_cells(pa.array(mixed, pa.binary()), 8).to_pylist() == wanted


@pytest.mark.parametrize("small", [10, 4])
def test_smaller_ones_merge_to_what_the_merged_one_is_when_it_is_made_smaller(small: int) -> None:
    parts = [merged([as_spark_writes(coupons(n, seed=n), 12)], 12) for n in (3, 200, 900, 4000)]
    small_parts = smaller_cells(pa.array(parts, pa.binary()), small).to_pylist()
    (after,) = smaller_cells(pa.array([merged(parts, 12)], pa.binary()), small).to_pylist()
    assert merged(small_parts, small) == after
    by_steps = smaller_cells(smaller_cells(pa.array(parts, pa.binary()), 11), small)
    assert by_steps.to_pylist() == small_parts


def test_a_sketch_is_never_made_larger_and_what_is_none_is_refused() -> None:
    cell = merged([as_spark_writes(coupons(900), 9)], 9)
    with pytest.raises(ValueError, match="a sketch of 2\\^10 registers or more"):
        smaller_cells(pa.array([cell], pa.binary()), 10)
    for bad in (b"", cell[:20], bytes((10, 1, 7, 200, 0, 0, 0, 10)) + cell[8:]):
        with pytest.raises(ValueError, match="wanted"):
            smaller_cells(pa.array([bad], pa.binary()), 8)
