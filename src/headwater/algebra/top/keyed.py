"""Rows as the largest groups are found among them: whose each is, and what it is worth."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headwater.algebra.remainders.early_rows import Floats, doubles
from headwater.algebra.remainders.key_hash import Hashes, Numbers, group_hashes, group_numbers
from headwater.algebra.top.request import NAME_BYTES


class Keyed(msgspec.Struct, frozen=True, eq=False):
    """Of several parts, each the rows of one summary."""

    numbers: tuple[Numbers, ...]
    """By part and row: the number of its group, the same in all parts."""
    values: tuple[Floats, ...]
    """By part and row."""
    names: Hashes
    """By group. Two groups may have the same: whoever asks for one then gets both."""


def keyed(parts: Sequence[pa.Table], keys: Sequence[str], partial: str) -> Keyed:
    """Of summary rows; ``partial`` is the column that their groups are compared by.

    >>> one = pa.table({"k": ["a", "b"], "n": [1, 2]})
    >>> found = keyed([one, one.slice(1)], ["k"], "n")
    >>> [numbers.tolist() for numbers in found.numbers], len(found.names)
    ([[0, 1], [1]], 2)
    """
    alone = [pa.table([part.column(k) for k in keys], names=list(keys)) for part in parts]
    together = pa.concat_tables(alone)
    numbers, names = group_numbers(together, keys), group_names(together, keys)
    count = int(numbers.max()) + 1 if len(numbers) else 0
    by_group = np.zeros(count, dtype=np.uint64)
    by_group[numbers] = names
    return Keyed(
        tuple(_divided(numbers, parts)), tuple(doubles(part, partial) for part in parts), by_group
    )


def group_names(rows: pa.Table, keys: Sequence[str]) -> Hashes:
    """By which groups are asked for."""
    return group_hashes(rows, keys) & np.uint64((1 << 8 * NAME_BYTES) - 1)


def _divided(numbers: Numbers, parts: Sequence[pa.Table]) -> list[NDArray[np.int64]]:
    ends = np.cumsum([part.num_rows for part in parts])
    return np.split(numbers, ends[:-1])
