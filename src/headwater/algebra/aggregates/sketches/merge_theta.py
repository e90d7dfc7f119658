"""Merging theta sketches: the least hashes of all, those of all groups at once.

The k least hashes of a union are among the k least of its parts, so what is merged is the sketch of
all values, whoever was merged first.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa

from headwater.algebra.aggregates.merge_lists import LISTED, Lists, as_they_are
from headwater.algebra.aggregates.merge_rule import Columns, MergeRule, Types
from headwater.algebra.aggregates.sketches.hll_cells import Places
from headwater.algebra.aggregates.sketches.merge_hll import cells_fault
from headwater.algebra.aggregates.sketches.sort_groups import sorted_within
from headwater.algebra.aggregates.sketches.theta_cells import (
    ALL,
    LG_K_MAX,
    LG_K_MIN,
    Hashes,
    decoded,
    encoded,
)


def merge_cells(lg_k: int, grouped: Columns, types: Types) -> Columns:
    lists = Lists(grouped)
    group_of = np.repeat(np.arange(len(lists.sizes)), lists.sizes)
    found = merged(decoded(lists.cells(0), lg_k), group_of, len(lists.sizes), lg_k)
    return [pa.chunked_array([encoded(found)])]


def take_cells(lg_k: int, columns: Columns, types: Types) -> Columns:
    """Each in the one form that it is kept in."""
    cells = columns[0].combine_chunks()
    found = merged(decoded(cells, lg_k), np.arange(len(cells)), len(cells), lg_k)
    return [pa.chunked_array([encoded(found)])]


def merged(found: Hashes, group_of: Places, groups: int, lg_k: int) -> Hashes:
    """A sketch for each group; ``group_of`` is of sketches, and rises."""
    thetas = np.full(groups, ALL)
    np.minimum.at(thetas, group_of, found.thetas)
    owners = group_of[found.owners]
    hashes = sorted_within(found.hashes, np.bincount(owners, minlength=groups))
    is_new = np.ones(len(hashes), bool)
    is_new[1:] = (hashes[1:] != hashes[:-1]) | (owners[1:] != owners[:-1])
    is_kept = is_new & (hashes < thetas[owners])
    owners, hashes = owners[is_kept], hashes[is_kept]
    sizes = np.bincount(owners, minlength=groups)
    firsts, is_more = np.cumsum(sizes) - sizes, sizes > 1 << lg_k
    thetas[is_more] = hashes[firsts[is_more] + (1 << lg_k)]
    is_kept = hashes < thetas[owners]
    return Hashes(thetas, owners[is_kept], hashes[is_kept])


THETAS = {
    lg_k: MergeRule(
        f"theta_{lg_k}",
        LISTED,
        "",
        cells_fault,
        as_they_are,
        partial(merge_cells, lg_k),
        take=partial(take_cells, lg_k),
    )
    for lg_k in range(LG_K_MIN, LG_K_MAX + 1)
}
"""By the logarithm of how many hashes they have: sketches of unequal size are not merged."""
