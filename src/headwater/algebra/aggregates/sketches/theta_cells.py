"""Cells of theta sketches, as Spark writes and reads them (Apache DataSketches, compact).

A sketch has the least of the hashes of its values, up to k of them, and *theta*, below which it has
all there are: the least hash that it lacks, or the greatest number while it lacks none (Bar-Yossef
and others, 2002: k minimum values). Where they are spread evenly, count over theta tells how many
there are. ::

    0      1  2  3     4      5      6     8
    longs  3  3  –     –      flags  seed  [count, 1.0, [theta]] hashes …         as it is kept
    longs  4  3  bits  width  flags  seed  [theta] count, differences of hashes   as Spark writes it

Spark keeps up to twice as many hashes before it drops those above the k least. Here a cell has k at
most, so it is a function of the set of values alone, however these were divided.

All of this is done to whole columns at once, and reads nothing beyond a cell's own bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.aggregates.sketches.hll_cells import Bytes, Places, bytes_of, cells_of

LG_K_MIN, LG_K_MAX = 4, 16
"""Of Spark's 4 to 26. A cell of 2¹⁶ hashes has half a megabyte."""
ALL = (1 << 63) - 1
"""Theta of a sketch that lacks nothing."""
HEADER = 8
FAMILY, SEED = 3, 0x93CC
PLAIN, PACKED = 3, 4
READ_ONLY, EMPTY, COMPACT, ORDERED, SINGLE = 2, 4, 8, 16, 32
NEEDED, FLAGS = COMPACT | ORDERED, READ_ONLY | EMPTY | COMPACT | ORDERED | SINGLE
BITS_MAX = 63
COUNT_BYTES_MAX = 4


class Hashes(NamedTuple):
    """Those of a column of cells, or of groups."""

    thetas: Places
    """Of each sketch."""
    owners: Places
    """Of each hash: which sketch it is of. They rise."""
    hashes: Places
    """In order within a sketch, each once, all above zero and below theta."""


def decoded(cells: pa.Array, lg_k: int) -> Hashes:
    """Nothing for a null. Raises ``ValueError`` for a cell that is no sketch, or a smaller one."""
    there = np.flatnonzero(pc.is_valid(cells).to_numpy(zero_copy_only=False))
    own = cells.take(pa.array(there)) if len(there) < len(cells) else cells
    sizes, data = bytes_of(own)
    _check(sizes >= HEADER, "at least 8 bytes")
    heads = data[(np.cumsum(sizes) - sizes)[:, None] + np.arange(HEADER)].astype(np.int64)
    flags, version = heads[:, 5], heads[:, 1]
    is_theta = (heads[:, 2] == FAMILY) & ((version == PLAIN) | (version == PACKED))
    _check(is_theta & (flags & ~FLAGS == 0) & (flags & NEEDED == NEEDED), "an ordered theta sketch")
    is_empty = flags & EMPTY > 0
    _check(~is_empty | (heads[:, 0] == 1) & (sizes == HEADER), "an empty sketch")
    _check(is_empty | (heads[:, 6] | heads[:, 7] << 8 == SEED), "hashes by Spark's seed")
    thetas, counts = np.full(len(own), ALL), np.zeros(len(own), np.int64)
    parts = []
    for one, read in ((PLAIN, _read_plain), (PACKED, _read_packed)):
        which = np.flatnonzero(~is_empty & (version == one))
        thetas[which], counts[which], hashes = read(own.take(pa.array(which)), heads[which])
        parts.append((which, hashes))
    owners, hashes = np.repeat(np.arange(len(own)), counts), np.zeros(counts.sum(), np.int64)
    for which, found in parts:
        is_own = np.zeros(len(own), bool)
        is_own[which] = True
        hashes[is_own[owners]] = found
    _check_hashes(Hashes(thetas, owners, hashes), counts, lg_k)
    all_thetas = np.full(len(cells), ALL)
    all_thetas[there] = thetas
    return Hashes(all_thetas, there[owners], hashes)


def _check(are_fine: npt.NDArray[np.bool_], wanted: str) -> None:
    if not are_fine.all():
        raise ValueError(f"a cell: wanted {wanted}")


Read = tuple[Places, Places, Places]
"""Of some cells: thetas, counts, and all hashes."""


def _read_plain(cells: pa.Array, heads: Places) -> Read:
    """A count and theta where there are longs for them; a single hash stands for itself."""
    sizes, data = bytes_of(cells)
    _check((sizes % 8 == 0) & (sizes >= 8 * heads[:, 0]), "whole numbers of 8 bytes")
    longs, words = heads[:, 0], data.view("<i8")
    sizes = sizes // 8
    starts = np.cumsum(sizes) - sizes
    is_single = (longs == 1) & (heads[:, 5] & SINGLE > 0) & (sizes == 2)
    _check(is_single | (longs == 2) | (longs == 3), "a single hash, a count, or theta")
    counts, thetas = np.ones(len(sizes), np.int64), np.full(len(sizes), ALL)
    counts[~is_single] = words[starts[~is_single] + 1] & 0xFFFFFFFF
    _check(sizes == longs + counts, "as many hashes as it says")
    thetas[longs == 3] = words[starts[longs == 3] + 2]
    is_hash = np.arange(len(words)) >= np.repeat(starts + longs, sizes)
    return thetas, counts, words[is_hash]


def _read_packed(cells: pa.Array, heads: Places) -> Read:
    """Differences of so many bits each, the highest first, one after the other."""
    sizes, data = bytes_of(cells)
    starts = np.cumsum(sizes) - sizes
    longs, bits, width = heads[:, 0], heads[:, 3], heads[:, 4]
    is_fine = ((longs == 1) | (longs == 2)) & (bits >= 1) & (bits <= BITS_MAX)
    is_fine &= (width >= 1) & (width <= COUNT_BYTES_MAX) & (sizes >= 8 * longs + width)
    _check(is_fine, "theta, a count, and bits of a difference")
    data = np.concatenate([data, np.zeros(2 * HEADER, np.uint8)])
    thetas = np.where(longs == 2, _words(data, "<i8")[starts + 8], ALL)
    begins = starts + 8 * longs
    counts = _words(data, "<i8")[begins] & (1 << 8 * width) - 1
    _check(sizes == 8 * longs + width + (counts * bits + 7) // 8, "as many hashes as it says")
    owners = np.repeat(np.arange(len(sizes)), counts)
    firsts = np.cumsum(counts) - counts
    at = (np.arange(len(owners)) - firsts[owners]) * bits[owners]
    places, over = (begins + width)[owners] + (at >> 3), (at & 7).astype(np.uint64)
    high = _words(data, ">u8")[places].astype(np.uint64) << over
    low = data[places + 8].astype(np.uint64) >> np.uint64(8) - over
    differences = (high | low) >> (64 - bits[owners]).astype(np.uint64)
    sums = np.cumsum(differences)  # Whatever passes 64 bits comes round again, and so do others.
    before = np.where(firsts > 0, sums[np.maximum(firsts, 1) - 1], np.uint64(0))
    return thetas, counts, (sums - before[owners]).view(np.int64)


def _words(data: Bytes, kind: str) -> npt.NDArray[np.int64]:
    """The eight bytes from each place on."""
    return np.ndarray((len(data) - 7,), kind, buffer=data, strides=(1,))


def _check_hashes(found: Hashes, counts: Places, lg_k: int) -> None:
    owners, hashes = found.owners, found.hashes
    _check((hashes > 0) & (hashes < found.thetas[owners]), "hashes below theta")
    _check((owners[1:] > owners[:-1]) | (hashes[1:] > hashes[:-1]), "hashes in order")
    is_fine = (counts >= 1 << lg_k) | (found.thetas == ALL)
    _check(is_fine, f"a sketch of 2^{lg_k} hashes, of which none below theta is lacking")


def encoded(found: Hashes) -> pa.Array:
    counts = np.bincount(found.owners, minlength=len(found.thetas))
    is_near = found.thetas < ALL
    longs = np.where(is_near, 3, np.where(counts > 1, 2, 1))
    sizes = longs + counts
    starts = np.cumsum(sizes) - sizes
    words = np.zeros(sizes.sum(), "<i8")
    flags = (
        READ_ONLY
        | COMPACT
        | ORDERED
        | np.where(is_near, 0, np.choose(np.minimum(counts, 2), (EMPTY, SINGLE, 0)))
    )
    seeds = np.where(counts > 0, SEED, 0)
    words[starts] = longs | PLAIN << 8 | FAMILY << 16 | flags << 40 | seeds << 48
    several = longs > 1
    words[starts[several] + 1] = counts[several] | int(np.float32(1).view(np.int32)) << 32
    words[starts[is_near] + 2] = found.thetas[is_near]
    words[np.arange(len(words)) >= np.repeat(starts + longs, sizes)] = found.hashes
    return cells_of(sizes * 8, words.view(np.uint8))
