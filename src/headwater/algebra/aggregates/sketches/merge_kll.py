"""Merging KLL sketches, those of all groups at once.

Values of a level lie side by side, group after group. Where a group has more than there is room
for, the lowest of its levels that are full are sorted, of all groups in one go, and every second
value moves one up. Which of every two values stays goes by a hash of what there is, so the same
cells merge to the same bytes; Spark itself draws it. Unlike other states these are not the same
however they are divided: each is within the bound.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.algebra.aggregates.merge_lists import LISTED, Lists, as_they_are
from headwater.algebra.aggregates.merge_rule import Bits, Columns, MergeRule, Types
from headwater.algebra.aggregates.sketches.hll_cells import Places
from headwater.algebra.aggregates.sketches.kll_cells import (
    COUNT_MAX,
    KINDS,
    Sketches,
    Values,
    counts_of,
    decoded,
    encoded,
    heights_of,
    room_table,
    rooms,
)
from headwater.algebra.aggregates.sketches.sort_groups import sorted_within

SIZES = (200, 400, 800, 1600, 3200)
"""Sketches of unequal size are not merged, so there are few sizes."""
MIXING = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ over the golden ratio: the high bits of a product with it go by all bits of a number."""


def rank_error(k: int) -> float:
    """With a confidence of 99%, by the library's own measurements."""
    return float(2.296 / k**0.9723)


def cells_fault(types: Types) -> str | None:
    return None if pa.types.is_binary(types[0]) else "wanted a sketch (binary)"


def merge_cells(k: int, kind: np.dtype[Any], grouped: Columns, types: Types) -> Columns:
    lists = Lists(grouped)
    group_of = np.repeat(np.arange(len(lists.sizes)), lists.sizes)
    found = decoded(lists.cells(0), k, kind, is_sound=True)
    return [pa.chunked_array([encoded(merged(found, group_of, len(lists.sizes), k), k)])]


def are_countable(grouped: Columns, types: Types) -> Bits | None:
    """A group with more values than a sketch may have overflows."""
    lists = Lists(grouped)
    counts = counts_of(lists.cells(0))
    if counts.sum(dtype=np.float64) <= COUNT_MAX:
        return None
    fits: Bits = lists.total(counts) <= COUNT_MAX
    return None if fits.all() else fits


def take_cells(k: int, kind: np.dtype[Any], columns: Columns, types: Types) -> Columns:
    """Cells that are sound, as they are."""
    decoded(columns[0].combine_chunks(), k, kind)
    return columns


def merged(found: Sketches, group_of: Places, groups: int, k: int) -> Sketches:
    """A sketch for each group; ``group_of`` is of sketches, and rises."""
    is_there = found.counts > 0
    counts = np.zeros(groups, np.int64)
    np.add.at(counts, group_of, found.counts)
    ends = np.zeros((groups, 2), found.values.dtype)
    of_there, firsts = np.unique(group_of[is_there], return_index=True)
    if len(of_there):
        ends[of_there, 0] = np.minimum.reduceat(found.ends[is_there, 0], firsts)
        ends[of_there, 1] = np.maximum.reduceat(found.ends[is_there, 1], firsts)
    levels = _Levels(found, group_of[found.owners], counts)
    levels.compress(k)
    return Sketches(counts, ends, *levels.in_order())


class _Levels:
    """The values of all groups while they are merged: of each level, those of one group after the
    other."""

    def __init__(self, found: Sketches, owners: Places, counts: Places) -> None:
        self.counts = counts
        self.groups = len(counts)
        high = int(counts.max(initial=0)).bit_length() + 1  # A value stands for no more than all.
        by_level = np.argsort(found.levels.astype(np.int8), kind="stable")
        ends = np.cumsum(np.bincount(found.levels, minlength=high))
        self.values = np.split(found.values[by_level], ends[:-1])
        flat = np.bincount(owners * high + found.levels, minlength=self.groups * high)
        self.sizes: Places = flat.reshape(self.groups, high)

    def compress(self, k: int) -> None:
        """Until there is room in every group. A value that moves up takes another one's place, so
        that each turn leaves fewer."""
        room_of, all_rooms = room_table(k), rooms(k)
        while (is_over := self._totals() > all_rooms[heights_of(self.sizes)]).any():
            for level in range(int(heights_of(self.sizes)[is_over].max())):
                heights = heights_of(self.sizes)
                is_full = self.sizes[:, level] >= room_of[heights, level]
                moving = is_full & (heights > level) & (self._totals() > all_rooms[heights])
                if moving.any():
                    self._move_up(level, moving)

    def _totals(self) -> Places:
        found: Places = self.sizes.sum(axis=1)
        return found

    def _move_up(self, level: int, moving: Bits) -> None:
        """Of these groups, every second value of a level; a least one without a second stays."""
        sizes = self.sizes[:, level]
        is_moving = np.repeat(moving, sizes)
        values, own = sorted_within(self.values[level][is_moving], sizes[moving]), sizes[moving]
        firsts = np.cumsum(own) - own
        odd = own % 2
        places = np.arange(len(values)) - np.repeat(firsts, own)
        stays = places < np.repeat(odd, own)
        bits = _hashed(values[firsts], self.counts[moving], level)
        goes = ~stays & (places % 2 == np.repeat((odd + bits) % 2, own))
        rest = np.where(moving, 0, sizes)
        staying, going = np.zeros(self.groups, np.int64), np.zeros(self.groups, np.int64)
        staying[moving], going[moving] = odd, own // 2
        self.values[level] = _joined(self.values[level][~is_moving], rest, values[stays], staying)
        above = self.sizes[:, level + 1]
        self.values[level + 1] = _joined(self.values[level + 1], above, values[goes], going)
        self.sizes[:, level] = rest + staying
        self.sizes[:, level + 1] += going

    def in_order(self) -> tuple[Places, Places, Values]:
        """Owners, levels and values: group after group, level after level."""
        flat = self.sizes.reshape(-1)
        starts = (np.cumsum(flat) - flat).reshape(self.sizes.shape)
        values = np.empty(int(flat.sum()), self.values[0].dtype)
        for level in range(self.sizes.shape[1]):
            sizes = self.sizes[:, level]
            if sizes.any():
                begins = starts[:, level] - (np.cumsum(sizes) - sizes)
                places = np.arange(len(self.values[level])) + np.repeat(begins, sizes)
                values[places] = sorted_within(self.values[level], sizes)
        owners = np.repeat(np.arange(self.groups), self._totals())
        levels = np.repeat(np.tile(np.arange(self.sizes.shape[1]), self.groups), flat)
        return owners, levels, values


def _joined(one: Values, one_sizes: Places, other: Values, other_sizes: Places) -> Values:
    """Both, group after group."""
    sizes = one_sizes + other_sizes
    starts = np.cumsum(sizes) - sizes
    found = np.empty(len(one) + len(other), one.dtype)
    for values, own, begins in ((one, one_sizes, starts), (other, other_sizes, starts + one_sizes)):
        places = np.arange(len(values)) + np.repeat(begins - (np.cumsum(own) - own), own)
        found[places] = values
    return found


def _hashed(least: Values, counts: Places, level: int) -> Places:
    """For each group 0 or 1."""
    bits = least.astype(np.float64).view(np.uint64) ^ counts.astype(np.uint64) * MIXING
    found: Places = ((bits + np.uint64(level)) * MIXING >> np.uint64(63)).astype(np.int64)
    return found


def _rule(name: str, kind: np.dtype[Any], k: int) -> MergeRule:
    return MergeRule(
        f"kll_{name}_{k}",
        LISTED,
        "",
        cells_fault,
        as_they_are,
        partial(merge_cells, k, kind),
        fits=are_countable,
        take=partial(take_cells, k, kind),
        is_drawn=True,
    )


KLLS = {name: {k: _rule(name, kind, k) for k in SIZES} for name, kind in KINDS.items()}
"""By the type of their values, and by size."""
