"""Grouping sets: groups by some of the keys, made of those by all of them.

::

    site    a | b | count          root   a    | b    | set | count
            1 | x | 2                     1    | x    | 0   | 2
            1 | y | 3                     1    | y    | 0   | 3
                                          1    | null | 1   | 5
                                          null | null | 3   | 5

Sites and relays know nothing of it: they send the groups by all keys, so GROUPING SETS, ROLLUP and
CUBE cost them and the wide area what the finest grouping costs. Whatever merges two rows of a group
merges the rows of a coarser one; so the root makes these of what it has merged, growing states
included, before they are folded.

The *grouping number* is a key of the coarser groups: a null of the data and a null that stands for
a key that is left out stay two groups.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec
import numpy as np
import pyarrow as pa

from headwater.algebra.rows.arrow_rows import ArrowMerger, Groups
from headwater.algebra.rows.columns import (
    SETS_MAX,
    Column,
    Folding,
    GroupLayout,
    Partial,
    set_keys,
    visible_keys,
)
from headwater.algebra.rows.nested_keys import key_codes


def set_number(has: Collection[int], keys: int) -> int:
    """As Spark counts it: a bit for each key, the last one's the lowest, set where it is not in.

    >>> [set_number(has, 3) for has in ([0, 1, 2], [0, 2], [])]
    [0, 2, 7]
    """
    return sum(1 << keys - 1 - place for place in range(keys) if place not in has)


class _Coarse(msgspec.Struct, frozen=True):
    """Rows of coarser groups: the user's keys, the number, and hidden keys."""

    keys: tuple[Column, ...]
    partials: tuple[Partial, ...]
    folding: Folding


class CoarserGroups:
    """Of one query with grouping sets."""

    def __init__(self, layout: GroupLayout, folding: Folding) -> None:
        """Raises ``ValueError`` for sets that there can't be."""
        keys = tuple(visible_keys(layout))
        sets = folding.sets
        is_sound = all(list(one) == sorted(set(one)) for one in sets)
        if (
            not is_sound
            or not 1 <= len(sets) <= SETS_MAX
            or len(set(sets)) < len(sets)
            or {place for one in sets for place in one} != set(range(len(keys)))
        ):
            raise ValueError(
                f"grouping sets: wanted 1 to {SETS_MAX} unlike ones that have all of {len(keys)} "
                f"keys among them, got {str(sets)[:200]}"
            )
        hidden = tuple(layout.keys[len(keys) :])
        made = msgspec.structs.replace(folding, sets=())  # they are made, and have their key
        columns = (*keys, *set_keys(layout), *hidden)
        self.layout = _Coarse(columns, tuple(layout.partials), made)
        self._names = [key.name for key in keys]
        self._sets = sets
        self._merger = ArrowMerger(self.layout)

    def shared_keys(self) -> list[str]:
        """The keys that are in every set."""
        return [
            name
            for place, name in enumerate(self._names)
            if all(place in one for one in self._sets)
        ]

    def groups(self, found: Groups) -> Groups:
        """``found`` are the groups by all keys. Where one of them overflows, so do those that it is
        part of: nobody knows their values. One set after the other, as no two have a group in
        common: what is merged at a time is never larger than what was found."""
        coarse = _joined(
            [self._merger.groups([self._of_set(found.merged, one)]) for one in self._sets]
        )
        if not found.overflowing_count:
            return coarse
        names = self._merger.key_names
        out = pa.concat_tables(
            [self._of_set(found.overflowing, one).select(names) for one in self._sets]
        )
        out = pa.concat_tables([out, coarse.overflowing]).group_by(names).aggregate([])
        return msgspec.structs.replace(
            coarse,
            merged=without(coarse.merged, out, names),
            overflowing=out,
            overflowing_count=out.num_rows,
            columns=(*found.columns, *coarse.columns),
        )

    def _of_set(self, rows: pa.Table, kept: Sequence[int]) -> pa.Table:
        """The rows with null for keys that are left out, and beside keys the number of the set."""
        columns = [
            rows.column(name)
            if place in kept
            else pa.nulls(rows.num_rows, rows.schema.field(name).type)
            for place, name in enumerate(self._names)
        ]
        number = set_number(kept, len(self._names))
        columns.append(pa.repeat(pa.scalar(number, pa.int64()), rows.num_rows))
        columns += rows.columns[len(self._names) :]
        fields = [self._merger.schema.field(at) for at in range(len(columns))]
        return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _joined(parts: Sequence[Groups]) -> Groups:
    """Of groups none of which is in two parts."""
    return Groups(
        pa.concat_tables([one.merged for one in parts]),
        pa.concat_tables([one.apart for one in parts]),
        pa.concat_tables([one.overflowing for one in parts]),
        sum(one.overflowing_count for one in parts),
        tuple(dict.fromkeys(name for one in parts for name in one.columns)),
    )


def without(rows: pa.Table, out: pa.Table, names: Sequence[str]) -> pa.Table:
    """The rows of all other groups. By numbers: a key may be a day that Python has no date for."""
    if not names:
        return rows.slice(0, 0)
    both = pa.concat_tables([rows.select(list(names)), out.select(list(names))])
    codes = key_codes(both.columns, both.num_rows)
    return rows.filter(pa.array(~np.isin(codes[: rows.num_rows], codes[rows.num_rows :])))
