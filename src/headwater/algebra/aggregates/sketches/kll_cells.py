"""Cells of KLL sketches, as Spark writes and reads them (Apache DataSketches, of bigints).

A sketch keeps some of the values it has seen, in levels: one on level h stands for 2ʰ of them.
Where there are too many, a level is sorted and every second value moves one up (Karnin, Lang and
Liberty, 2016). ::

    0     1  2   3      4  6  8    16     18      20           then
    ints  1  15  flags  k  8  n    k_min  levels  one int32 a level: where it begins
                                                  the least, the greatest, the values kept

Levels are laid out from the end of all the room there may be, so that where the first begins says
how many values there are. Reading looks at nothing beyond a cell's own bytes, and at each of its
claims: that the levels rise, that their weights add up to n, that values are in order and within
the least and the greatest. Merging is ours as well. Which of every two values stays goes by the
count, so the same cells merge to the same bytes; Spark itself draws it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.int64]
KIND = np.dtype("<i8")

EMPTY, SORTED, SINGLE = 1, 2, 4
LEAST_ROOM = 8
"""Of a level."""
LEVELS_MAX = 40
_HEAD = struct.Struct("<BBBBHBB")
_COUNTS = struct.Struct("<qHBB")


class Kll(msgspec.Struct, frozen=True):
    """One sketch. Of none ``least`` and ``greatest`` mean nothing."""

    count: int
    levels: tuple[Values, ...] = ()
    """The values kept; those of the first level in any order, the others sorted."""
    least: int = 0
    greatest: int = 0


NOTHING = Kll(0)


def room(k: int, level: int, levels: int) -> int:
    """Values that a level may keep: the topmost k, and each below two thirds of that above."""
    depth = levels - level - 1
    return max(LEAST_ROOM, ((2 * k << depth) // int(3**depth) + 1) >> 1)


def rooms(k: int, levels: int) -> int:
    return sum(room(k, level, levels) for level in range(levels))


def read(cell: bytes, k: int) -> Kll:
    """Raises ``ValueError`` for bytes that are no sketch of this size."""
    _check(len(cell) >= _HEAD.size, "at least 8 bytes")
    ints, version, family, flags, own_k, least_room, _ = _HEAD.unpack_from(cell)
    _check(family == 15 and least_room == LEAST_ROOM, "a KLL sketch")
    _check(own_k == k, f"a sketch of size {k}")
    if flags & EMPTY:
        _check((ints, version, len(cell)) == (2, 1, 8), "an empty sketch")
        return NOTHING
    if flags & SINGLE:
        _check((ints, version, len(cell)) == (2, 2, 16), "a sketch of one value")
        values = np.frombuffer(cell, KIND, 1, 8)
        return Kll(1, (values,), values[0].item(), values[0].item())
    _check((ints, version) == (5, 1) and len(cell) >= 20, "a sketch of several values")
    return _read_levels(cell, k)


def _read_levels(cell: bytes, k: int) -> Kll:
    count, _, levels, _ = _COUNTS.unpack_from(cell, 8)
    _check(count >= 2 and 1 <= levels <= LEVELS_MAX, "a count and levels")
    begin = 20 + 4 * levels
    _check(len(cell) >= begin + 16, "levels, the least and the greatest")
    starts = np.frombuffer(cell, "<i4", levels, 20).astype(np.int64)
    sizes = np.diff(np.append(starts, rooms(k, levels)))
    _check(starts[0] >= 0 and bool((sizes >= 0).all()), "levels one after the other")
    _check(len(cell) == begin + 16 + 8 * int(sizes.sum()), "as many values as it says")
    _check(sum(int(size) << level for level, size in enumerate(sizes)) == count, "weights of all")
    values = np.frombuffer(cell, KIND, offset=begin)
    least, greatest, kept = values[0], values[1], values[2:]
    _check(bool(least <= kept.min() and kept.max() <= greatest), "values between the ends")
    found = tuple(np.split(kept, np.cumsum(sizes)[:-1]))
    for level in found[1:]:
        _check(bool((np.diff(level) >= 0).all()) if len(level) else True, "levels in order")
    return Kll(count, found, least.item(), greatest.item())


def _check(is_fine: bool, wanted: str) -> None:
    if not is_fine:
        raise ValueError(f"wanted {wanted}")


def write(sketch: Kll, k: int) -> bytes:
    if sketch.count < 2:
        head = _HEAD.pack(2, 1 + sketch.count, 15, (EMPTY, SINGLE)[sketch.count], k, LEAST_ROOM, 0)
        return head + (sketch.levels[0].astype(KIND).tobytes() if sketch.count else b"")
    sizes = [len(level) for level in sketch.levels]
    starts = rooms(k, len(sizes)) - sum(sizes) + np.cumsum([0, *sizes[:-1]])
    ends = np.array([sketch.least, sketch.greatest], KIND)
    return b"".join(
        [
            _HEAD.pack(5, 1, 15, SORTED, k, LEAST_ROOM, 0),
            _COUNTS.pack(sketch.count, k, len(sizes), 0),
            starts.astype("<i4").tobytes(),
            ends.tobytes(),
            np.sort(sketch.levels[0]).astype(KIND).tobytes(),
            *(level.astype(KIND).tobytes() for level in sketch.levels[1:]),
        ]
    )


def merged(sketches: Sequence[Kll], k: int) -> Kll:
    """One of all values."""
    there = [one for one in sketches if one.count]
    if not there:
        return NOTHING
    count = sum(one.count for one in there)
    height = max(len(one.levels) for one in there)
    levels = [
        np.concatenate([one.levels[h] for one in there if h < len(one.levels)])
        for h in range(height)
    ]
    _compress(levels, k, count)
    least, greatest = min(one.least for one in there), max(one.greatest for one in there)
    return Kll(count, tuple(np.sort(level) for level in levels), least, greatest)


def _compress(levels: list[Values], k: int, count: int) -> None:
    """Until there is room: of the lowest level that is full, every second value moves one up."""
    while sum(map(len, levels)) > rooms(k, len(levels)):
        height = len(levels)
        full = next(h for h in range(height) if len(levels[h]) >= room(k, h, height))
        if full == height - 1:
            levels.append(levels[full][:0])
        values = np.sort(levels[full])
        odd = len(values) % 2
        levels[full], pairs = values[:odd], values[odd:]
        levels[full + 1] = np.concatenate([levels[full + 1], pairs[(count >> full) & 1 :: 2]])
