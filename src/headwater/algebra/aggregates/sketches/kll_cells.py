"""Cells of KLL sketches, as Spark writes and reads them (Apache DataSketches).

A sketch keeps some of the values it has seen, in levels: one on level h stands for 2ʰ of them.
Where there are too many, a level is sorted and every second value moves one up (Karnin, Lang and
Liberty, 2016). ::

    0     1  2   3      4  6  8    16     18      20           then
    ints  1  15  flags  k  8  n    k_min  levels  one int32 a level: where it begins
                                                  the least, the greatest, the values kept

Levels are laid out from the end of all the room there may be, so that where the first begins says
how many values there are. Reading looks at nothing beyond a cell's own bytes, and at each of its
claims: that the levels rise, that their weights add up to n, that values are in order and within
the least and the greatest, and that each is a number. All of this is done to whole columns at once;
every part of a cell is a whole number of four bytes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.aggregates.sketches.hll_cells import Places, bytes_of, cells_of, check_cells

Values = npt.NDArray[Any]
KINDS: dict[str, np.dtype[Any]] = {
    "bigint": np.dtype("<i8"),
    "double": np.dtype("<f8"),
    "float": np.dtype("<f4"),
}
"""What values are, by the name that Spark has for it."""

EMPTY, SORTED, SINGLE = 1, 2, 4
LEAST_ROOM = 8
"""Of a level."""
COUNT_MAX = 1 << 50
"""Values of one sketch: a group that has more overflows."""
LEVELS_MAX = 52
"""One on the topmost stands for more values than there may be."""
WORD = 4
"""Bytes."""
HEADER, LEVELS_AT = 2, 5
"""Words before a single value, and before where levels begin."""


class Sketches(NamedTuple):
    """Those of a column of cells, or of groups."""

    counts: Places
    """Of each: how many values it has seen."""
    ends: Values
    """Of each: the least and the greatest, in two columns. Of none they mean nothing."""
    owners: Places
    """Of each value that is kept: which sketch it is of. They rise, and levels do so within one."""
    levels: Places
    values: Values
    """In order within a level, but for the first."""


def of_values(values: Values) -> Sketches:
    """One sketch for each value."""
    none = np.zeros(len(values), np.int64)
    return Sketches(
        none + 1, np.stack([values, values], axis=1), np.arange(len(values)), none, values
    )


def room(k: int, level: int, levels: int) -> int:
    """Values that a level may keep: the topmost k, and each below two thirds of that above."""
    depth = levels - level - 1
    return max(LEAST_ROOM, ((2 * k << depth) // int(3**depth) + 1) >> 1)


@lru_cache(maxsize=16)
def room_table(k: int) -> Places:
    """The same for all heights, a row each, and all levels. Beyond a height there is none."""
    found = np.zeros((LEVELS_MAX + 1, LEVELS_MAX), np.int64)
    for height in range(1, LEVELS_MAX + 1):
        found[height, :height] = [room(k, level, height) for level in range(height)]
    return found


def rooms(k: int) -> Places:
    """By height: values that all levels may keep."""
    found: Places = room_table(k).sum(axis=1)
    return found


def decoded(cells: pa.Array, k: int, kind: np.dtype[Any], *, is_sound: bool = False) -> Sketches:
    """Nothing for a null. Raises ``ValueError`` for a cell that is no sketch of this size and kind.
    Of cells that are known to be sound, what they say of their values is not looked at again."""
    there = np.flatnonzero(pc.is_valid(cells).to_numpy(zero_copy_only=False))
    own = cells.take(pa.array(there)) if len(there) < len(cells) else cells
    sizes, data = bytes_of(own)
    check_cells(sizes >= HEADER * WORD, "at least 8 bytes")
    check_cells(sizes % WORD == 0, "a whole number of words")
    words, sizes = data.view("<u4"), sizes // WORD
    starts = np.cumsum(sizes) - sizes
    several = _check_heads(words[starts], words[starts + 1], sizes, k, kind.itemsize // WORD)
    found = _levels(words, starts, sizes, several, k, kind)
    if not is_sound:
        _check_values(found)
    counts, ends = np.zeros(len(cells), np.int64), np.zeros((len(cells), 2), kind)
    counts[there], ends[there] = found.counts, found.ends
    return found._replace(counts=counts, ends=ends, owners=there[found.owners])


def _check_heads(first: Values, second: Values, sizes: Places, k: int, width: int) -> Places:
    """Which of them have several values."""
    is_kll = (first >> 16 & 0xFF == 15) & (second >> 16 & 0xFF == LEAST_ROOM)
    check_cells(is_kll, "a KLL sketch")
    check_cells(second & 0xFFFF == k, f"a sketch of size {k}")
    ints, version, flags = first & 0xFF, first >> 8 & 0xFF, first >> 24
    is_empty, is_single = flags & EMPTY != 0, flags & (EMPTY | SINGLE) == SINGLE
    is_fine = (ints == 2) & (version == 1) & (sizes == HEADER)
    check_cells(is_fine | ~is_empty, "an empty sketch")
    is_fine = (ints == 2) & (version == 2) & (sizes == HEADER + width)
    check_cells(is_fine | ~is_single, "a sketch of one value")
    is_several = ~(is_empty | is_single)
    is_fine = (ints == 5) & (version == 1) & (sizes >= LEVELS_AT)
    check_cells(is_fine | ~is_several, "a sketch of several values")
    return np.flatnonzero(is_several)


def _levels(
    words: Values, starts: Places, sizes: Places, several: Places, k: int, kind: np.dtype[Any]
) -> Sketches:
    """What cells have whose heads are sound."""
    width, many = kind.itemsize // WORD, len(sizes)
    counts, heights = np.where(sizes > HEADER, 1, 0), np.where(sizes > HEADER, 1, 0)
    at = starts[several]
    counts[several] = words[at + 2].astype(np.int64) | words[at + 3].astype(np.int64) << 32
    heights[several] = words[at + 4] >> 16 & 0xFF
    is_fine = (counts[several] >= 2) & (counts[several] <= COUNT_MAX)
    is_fine &= (heights[several] >= 1) & (heights[several] <= LEVELS_MAX)
    _check_of(several, many, is_fine, "a count and levels")
    heads = LEVELS_AT + heights[several]
    is_fine = sizes[several] >= heads + 2 * width
    _check_of(several, many, is_fine, "levels, the least and the greatest")
    level_sizes = _level_sizes(words, at, heights[several], k)
    is_fine = level_sizes.min(axis=1, initial=0) >= 0
    is_fine &= level_sizes.sum(axis=1) <= rooms(k)[heights[several]]
    _check_of(several, many, is_fine, "levels one after the other")
    kept = level_sizes.sum(axis=1)
    is_fine = (kept > 0) & (sizes[several] == heads + width * (2 + kept))
    _check_of(several, many, is_fine, "as many values as it says")
    weights = (level_sizes * np.exp2(np.arange(level_sizes.shape[1]))).sum(axis=1)
    _check_of(several, many, weights == counts[several], "weights of all")
    of_levels = np.zeros((many, level_sizes.shape[1]), np.int64)
    of_levels[:, 0] = counts == 1
    of_levels[several] = level_sizes
    values = _values_of(words, starts, sizes, of_levels.sum(axis=1), kind)
    owners = np.repeat(np.arange(many), of_levels.sum(axis=1))
    levels = np.repeat(np.tile(np.arange(of_levels.shape[1]), many), of_levels.reshape(-1))
    ends = np.zeros((many, 2), kind)
    ends[counts == 1] = values[counts[owners] == 1][:, None]
    ends[several] = _words_at(words, (at + heads)[:, None] + np.arange(2 * width)).view(kind)
    return Sketches(counts, ends, owners, levels, values)


def _check_of(several: Places, many: int, are_fine: npt.NDArray[np.bool_], wanted: str) -> None:
    all_of = np.ones(many, bool)
    all_of[several] = are_fine
    check_cells(all_of, wanted)


def _level_sizes(words: Values, at: Places, heights: Places, k: int) -> Places:
    """Of each sketch, by level; where its levels don't rise, one of them is below zero."""
    begins = np.repeat(rooms(k)[heights][:, None], heights.max(initial=1) + 1, axis=1)
    owners = np.repeat(np.arange(len(at)), heights)
    levels = np.arange(len(owners)) - np.repeat(np.cumsum(heights) - heights, heights)
    begins[owners, levels] = words[at[owners] + LEVELS_AT + levels].astype(np.int32)
    return np.diff(begins, axis=1)


def _values_of(
    words: Values, starts: Places, sizes: Places, kept: Places, kind: np.dtype[Any]
) -> Values:
    """The last words of each cell."""
    begins = starts + sizes - kept * (kind.itemsize // WORD)
    marks = np.zeros(len(words) + 1, np.int8)
    is_some = kept > 0
    marks[begins[is_some]] += 1
    marks[(starts + sizes)[is_some]] -= 1
    found: Values = words[np.cumsum(marks[:-1], dtype=np.int8).astype(bool)].view(kind)
    return found


def _words_at(words: Values, places: Places) -> Values:
    return np.ascontiguousarray(words[places])


def _check_values(found: Sketches) -> None:
    owners, levels, values = found.owners, found.levels, found.values
    many = len(found.counts)
    if values.dtype.kind == "f":
        is_number = np.ones(many, bool)
        is_number[owners[np.isnan(values)]] = False
        check_cells(is_number & ~np.isnan(found.ends).any(axis=1), "numbers")
    is_within = (found.ends[owners, 0] <= values) & (values <= found.ends[owners, 1])
    _check_owned(owners, many, is_within, "values between the ends")
    is_next = (owners[1:] == owners[:-1]) & (levels[1:] == levels[:-1]) & (levels[1:] > 0)
    in_order = ~is_next | (values[1:] >= values[:-1])
    _check_owned(owners[1:], many, in_order, "levels in order")


def _check_owned(owners: Places, many: int, are_fine: npt.NDArray[np.bool_], wanted: str) -> None:
    if not are_fine.all():
        all_of = np.ones(many, bool)
        all_of[owners[~are_fine]] = False
        check_cells(all_of, wanted)


def counts_of(cells: pa.Array) -> Values:
    """How many values each cell has seen, of cells that are sound."""
    sizes, data = bytes_of(pc.fill_null(cells, b""))
    words, sizes = data.view("<u4"), sizes // WORD
    starts = np.cumsum(sizes) - sizes
    counts = (sizes > HEADER).astype(np.float64)
    at = starts[several := np.flatnonzero(sizes > LEVELS_AT)]
    counts[several] = words[at + 2] + words[at + 3] * 2.0**32
    return counts


def encoded(found: Sketches, k: int) -> pa.Array:
    """Cells of sketches whose values are in order, and no more than there is room for."""
    many, width = len(found.counts), found.values.dtype.itemsize // WORD
    high = int(found.levels.max(initial=0)) + 1
    by_level = np.bincount(found.owners * high + found.levels, minlength=many * high)
    level_sizes = by_level.reshape(many, high)
    heights = heights_of(level_sizes)
    kept, several = level_sizes.sum(axis=1), np.flatnonzero(found.counts > 1)
    heads = np.where(found.counts > 1, LEVELS_AT + heights + 2 * width, HEADER)
    sizes = heads + width * kept
    starts = np.cumsum(sizes) - sizes
    words = np.zeros(sizes.sum(), "<u4")
    forms = np.array(
        [2 | 1 << 8 | EMPTY << 24, 2 | 2 << 8 | SINGLE << 24, 5 | 1 << 8 | SORTED << 24]
    )
    words[starts] = forms[np.minimum(found.counts, 2)] | 15 << 16
    words[starts + 1] = k | LEAST_ROOM << 16
    at, heights = starts[several], heights[several]
    words[at + 2] = found.counts[several] & 0xFFFFFFFF
    words[at + 3] = found.counts[several] >> 32
    words[at + 4] = k | heights << 16
    owners = np.repeat(np.arange(len(several)), heights)
    levels = np.arange(len(owners)) - np.repeat(np.cumsum(heights) - heights, heights)
    before = np.cumsum(level_sizes[several], axis=1) - level_sizes[several]
    begins = (rooms(k)[heights] - kept[several])[:, None] + before
    words[at[owners] + LEVELS_AT + levels] = begins[owners, levels]
    end_places = (at + LEVELS_AT + heights)[:, None] + np.arange(2 * width)
    words[end_places] = np.ascontiguousarray(found.ends[several]).view("<u4")
    is_value = np.arange(len(words)) >= np.repeat(starts + heads, sizes)
    words[is_value] = found.values.view("<u4")
    return cells_of(sizes * WORD, words.view(np.uint8))


def heights_of(level_sizes: Places) -> Places:
    """Of sketches with so many values on each level: up to which of them there is one."""
    found: Places = np.where(level_sizes > 0, np.arange(1, level_sizes.shape[1] + 1), 0).max(axis=1)
    return found
