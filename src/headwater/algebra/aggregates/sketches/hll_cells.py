"""Cells of HyperLogLog sketches, as Spark writes and reads them (Apache DataSketches, HLL_8).

A sketch of few values is a list of *coupons*, the values' hashes cut to 32 bits: 26 bits of address
and 6 bits of a rank that has k with chance 2⁻ᵏ. One of many values is dense: of all addresses that
share their lowest ``lg_k`` bits, the greatest rank, one byte each. ::

    0          2        3      4        5      6      7     8            12
    ints  1    7 (HLL)  lg_k   lg_room  flags  count  form  coupons …                 a list
    3     1    7        lg_k   lg_room  flags  –      form  count        coupons …    a set
    10    1    7        lg_k   –        flags  –      form  sums (32 bytes), registers

Spark leaves room between coupons; here they are written without, in order. The sums are over the
registers, for Spark to estimate from, and are computed here whatever came. So a cell is a function
of the set of values alone, however these were divided: coupons while there are at most
``coupons_max``, from then on registers, which is also where Spark changes over. Registers are
marked as merged, for Spark has another estimate for those that never were, and a site that comes
back must not change an answer.

All of this is done to whole columns at once, and reads nothing beyond a cell's own bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

LG_K_MIN, LG_K_MAX = 4, 16
"""Of Spark's 4 to 21. A cell of 2²¹ registers has two megabytes."""
HEADER, SET_HEADER, DENSE_HEADER = 8, 12, 40
"""Bytes before coupons and registers."""
LIST_MAX = 8
LIST, SET, DENSE = 0, 1, 2
HLL_8 = 2 << 2
EMPTY, COMPACT, MERGED = 4, 8, 16
FLAGS = EMPTY | COMPACT | MERGED | 32
ADDRESS_BITS = 26
RANK_MAX = 63
HALVES = np.exp2(-np.arange(RANK_MAX + 1, dtype=np.float64))
LOW = 32
"""Ranks below are summed up by themselves, so that no digit is lost."""
_BOTH = np.arange(1 << 16)
_LOW_HALVES = np.where(np.arange(RANK_MAX + 1) < LOW, HALVES, 0.0)
LOW_PAIRS = _LOW_HALVES[_BOTH & RANK_MAX] + _LOW_HALVES[_BOTH >> 8 & RANK_MAX]
"""For two registers at once, by their bytes: half as many to look up as for one."""

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Coupons = npt.NDArray[np.uint32]


class Decoded(NamedTuple):
    """The cells of a column."""

    dense: Places
    """Which of them are dense."""
    registers: Bytes
    """Of those, a row each."""
    owners: Places
    """For each coupon: which cell it is of."""
    coupons: Coupons


def coupons_max(lg_k: int) -> int:
    """Beyond so many different ones, Spark has registers.

    >>> coupons_max(12), coupons_max(4)
    (384, 7)
    """
    return 3 << (lg_k - 5) if lg_k >= LIST_MAX else LIST_MAX - 1


def decoded(cells: pa.Array, lg_k: int) -> Decoded:
    """Nothing for a null. Raises ``ValueError`` for a cell that is none of this size."""
    there = np.flatnonzero(pc.is_valid(cells).to_numpy(zero_copy_only=False))
    own = cells.take(pa.array(there)) if len(there) < len(cells) else cells
    sizes, data = bytes_of(own)
    check_cells(sizes >= HEADER, "at least 8 bytes")
    starts = np.cumsum(sizes) - sizes
    headers = data[starts[:, None] + np.arange(HEADER)]
    forms, counts = headers[:, 7] & 3, headers[:, 6].astype(np.int64)
    is_ours = (headers[:, 1] == 1) & (headers[:, 2] == 7) & (headers[:, 7] - forms == HLL_8)
    check_cells(is_ours & (headers[:, 5] | FLAGS == FLAGS), "a sketch of eight bits a register")
    check_cells(headers[:, 3] == lg_k, f"a sketch of 2^{lg_k} registers")
    heads = np.where(forms == SET, SET_HEADER, HEADER)
    is_few = (forms < DENSE) & (sizes >= heads) & (sizes % 4 == 0)
    is_dense = (forms == DENSE) & (sizes == DENSE_HEADER + (1 << lg_k))
    wanted = np.choose(forms, (2, 3, 10, 0))
    check_cells((is_few | is_dense) & (headers[:, 0] == wanted), "a list, a set or registers")
    few, dense = np.flatnonzero(is_few), np.flatnonzero(is_dense)
    in_few, coupons = _coupons(own, few, heads[few], counts[few])
    return Decoded(there[dense], _registers(own, dense, lg_k), there[few[in_few]], coupons)


def sizes_of(cells: pa.Array) -> Places:
    """For each the logarithm of its registers, as it says; of a null the largest there is. Raises
    ``ValueError`` for what is no cell."""
    there = np.flatnonzero(pc.is_valid(cells).to_numpy(zero_copy_only=False))
    sizes, data = bytes_of(cells.take(pa.array(there)))
    check_cells(sizes >= HEADER, "at least 8 bytes")
    found = np.full(len(cells), LG_K_MAX)
    found[there] = data[np.cumsum(sizes) - sizes + 3]
    check_cells(found <= LG_K_MAX, f"a sketch of at most 2^{LG_K_MAX} registers")
    return found


def bytes_of(cells: pa.Array) -> tuple[Places, Bytes]:
    """Of cells that are there: their sizes, and all their bytes one after the other."""
    _, offsets, data = cells.buffers()
    ends = np.frombuffer(offsets, np.int32)[cells.offset : cells.offset + len(cells) + 1]
    found = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    if not len(cells):
        return np.zeros(0, np.int64), found[:0]
    return np.diff(ends).astype(np.int64), found[ends[0] : ends[-1]]


def check_cells(are_fine: npt.NDArray[np.bool_], wanted: str) -> None:
    if not are_fine.all():
        raise ValueError(f"cell {int(np.argmin(are_fine))}: wanted {wanted}")


def _coupons(cells: pa.Array, few: Places, heads: Places, listed: Places) -> tuple[Places, Coupons]:
    """Which of the few each coupon is of, and the coupons. A list has ``listed`` of them."""
    sizes, data = bytes_of(cells.take(pa.array(few)))
    words = data.view("<u4")
    owners = np.repeat(np.arange(len(few)), sizes // 4)
    starts = np.cumsum(sizes // 4) - sizes // 4
    at = np.arange(len(words)) - starts[owners]
    counts = listed.copy()
    are_sets = np.flatnonzero(heads == SET_HEADER)
    counts[are_sets] = words[starts[are_sets] + 2]
    are_coupons = (at >= heads[owners] // 4) & (words != 0)
    owners, coupons = owners[are_coupons], words[are_coupons]
    check_cells(np.bincount(owners, minlength=len(few)) == counts, "as many coupons as it says")
    check_cells(coupons >> ADDRESS_BITS != 0, "coupons with a rank")
    return owners, coupons


def _registers(cells: pa.Array, dense: Places, lg_k: int) -> Bytes:
    own = cells if len(dense) == len(cells) else cells.take(pa.array(dense))
    _, data = bytes_of(own)
    registers = data.reshape(len(dense), DENSE_HEADER + (1 << lg_k))[:, DENSE_HEADER:]
    if registers.max(initial=0) > RANK_MAX:
        raise ValueError(f"a cell: wanted ranks up to {RANK_MAX}, got {registers.max()}")
    return registers


def encoded(count: int, found: Decoded, lg_k: int) -> pa.Array:
    """The cells of a column of so many: each dense one has its row, and the coupons are those of
    the others, each once, in the order of cells and then of coupons."""
    few = _few_cells(count, found, lg_k)
    if not len(found.dense):
        return few
    dense = _dense_cells(found.registers, lg_k)
    if len(found.dense) == count:
        return dense
    order = np.arange(count)
    order[found.dense] = count + np.arange(len(found.dense))
    return pa.concat_arrays([few, dense]).take(pa.array(order))


def _few_cells(count: int, found: Decoded, lg_k: int) -> pa.Array:
    """Of those that are dense, empty ones."""
    counts = np.bincount(found.owners, minlength=count)
    are_sets = counts > LIST_MAX
    heads = np.where(are_sets, 3, 2)
    sizes = heads + counts
    starts = np.cumsum(sizes) - sizes
    words = np.zeros(sizes.sum(), "<u4")
    words[starts] = heads | 1 << 8 | 7 << 16 | lg_k << 24
    room = np.maximum(5, np.ceil(np.log2(np.maximum(counts, 1) * 4 / 3)).astype(np.int64))
    flags = np.where(counts, COMPACT, COMPACT | EMPTY)
    lists = 3 | flags << 8 | counts << 16 | (HLL_8 | LIST) << 24
    words[starts + 1] = np.where(are_sets, room | flags << 8 | (HLL_8 | SET) << 24, lists)
    words[starts[are_sets] + 2] = counts[are_sets]
    is_coupon = np.ones(len(words), bool)
    is_coupon[starts] = is_coupon[starts + 1] = is_coupon[starts[are_sets] + 2] = False
    words[is_coupon] = found.coupons
    return cells_of(sizes * 4, words.view(np.uint8))


def _dense_cells(registers: Bytes, lg_k: int) -> pa.Array:
    rows = len(registers)
    cells = np.zeros((rows, DENSE_HEADER + (1 << lg_k)), np.uint8)
    cells[:, :8] = 10, 1, 7, lg_k, 0, COMPACT | MERGED, 0, HLL_8 | DENSE
    has_high = registers.max(axis=1, initial=0) >= LOW
    sums = np.zeros((rows, 2))
    pairs = np.ascontiguousarray(registers).view(np.uint16)
    sums[:, 0] = LOW_PAIRS[pairs].sum(axis=1)
    sums[has_high, 1] = (HALVES - _LOW_HALVES)[registers[has_high]].sum(axis=1)
    cells[:, 16:32] = sums.astype("<f8").view(np.uint8)
    zeros = (registers == 0).sum(axis=1, dtype=np.int32)
    cells[:, 32:36] = zeros.astype("<i4")[:, None].view(np.uint8)
    cells[:, DENSE_HEADER:] = registers
    return cells_of(np.full(rows, cells.shape[1]), cells.reshape(-1))


def cells_of(sizes: Places, data: Bytes) -> pa.Array:
    """A column of cells of these sizes, whose bytes are one after the other."""
    ends = np.zeros(len(sizes) + 1, np.int32)
    ends[1:] = np.cumsum(sizes)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(pa.binary(), len(sizes), buffers)
