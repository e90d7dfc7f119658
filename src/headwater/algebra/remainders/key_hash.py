"""Numbers for the groups of some rows: exact ones among rows at hand, and hashes that last.

``group_numbers`` numbers the groups of rows that are looked at together, as a merge would group
them. ``group_hashes`` gives each row 64 bits by its keys, the same ones in every batch and process:
whoever follows groups over time follows these. Two groups may have the same hash, so nothing that
must be right goes by hashes alone.

Whole columns at a time. Texts are hashed as polynomials of their bytes, modulo 2^64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headwater.algebra.rows.nested_keys import any_key, key_for_grouping

Hashes: TypeAlias = NDArray[np.uint64]
Numbers: TypeAlias = NDArray[np.int64]

_BASE = 0x100000001B3
_NULL = np.uint64(0x9E3779B97F4A7C15)
_SEED = np.uint64(0xCBF29CE484222325)


def group_numbers(rows: pa.Table, keys: Sequence[str]) -> Numbers:
    """A number for each row; equal ones where a merge makes one group of them.

    >>> group_numbers(pa.table({"k": ["a", "b", None, "a", None]}), ["k"]).tolist()
    [0, 1, 2, 0, 2]
    """
    if not keys or not rows.num_rows:
        return np.zeros(rows.num_rows, dtype=np.int64)
    columns = [any_key(rows.column(key)) for key in keys]
    names = [str(n) for n in range(len(columns))]
    table = pa.table([*columns, pa.array(np.arange(rows.num_rows))], names=[*names, "row"])
    listed = table.group_by(names, use_threads=False).aggregate([("row", "list")])
    lists = listed.column("row_list").combine_chunks()
    counts = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    found = np.empty(rows.num_rows, dtype=np.int64)
    found[pc.list_flatten(lists).to_numpy()] = np.repeat(np.arange(len(counts)), counts)
    return found


def group_hashes(rows: pa.Table, keys: Sequence[str]) -> Hashes:
    """Of keys that have bytes of their own: no structs, no arrays.

    >>> one, other, again = group_hashes(pa.table({"k": ["a", "b", "a"]}), ["k"]).tolist()
    >>> one == again, one == other
    (True, False)
    """
    found = np.full(rows.num_rows, _SEED, dtype=np.uint64)
    for key in keys:
        column = rows.column(key).combine_chunks()
        found = _mixed(found * np.uint64(_BASE) + _words(column))
    return found


def _words(column: pa.Array | pa.ChunkedArray) -> Hashes:
    array = _one(key_for_grouping(column))
    type_ = array.type
    if pa.types.is_floating(type_):
        doubles = pc.fill_null(pc.cast(array, pa.float64()), 0.0)
        words = doubles.to_numpy(zero_copy_only=False).view(np.uint64)
    elif pa.types.is_integer(type_) or pa.types.is_boolean(type_):
        words = _integers(pc.cast(array, pa.int64()))
    elif pa.types.is_date32(type_):
        words = _integers(pc.cast(pc.cast(array, pa.int32()), pa.int64()))
    elif pa.types.is_timestamp(type_):
        words = _integers(pc.cast(array, pa.int64()))
    else:
        words = _text_words(array)
    missing = array.is_null().to_numpy(zero_copy_only=False)
    return np.where(missing, _NULL, _mixed(words))


def _one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _integers(array: pa.Array) -> Hashes:
    found: Hashes = pc.fill_null(array, 0).to_numpy(zero_copy_only=False).view(np.uint64)
    return found


def _text_words(array: pa.Array) -> Hashes:
    """Of anything that has a text, by its bytes."""
    if not pa.types.is_binary(array.type):
        array = pc.cast(array, pa.string())
    array = pc.fill_null(pc.cast(array, pa.large_binary()), b"")
    _, offsets_buffer, data = array.buffers()
    offsets = np.frombuffer(offsets_buffer, dtype=np.int64)[array.offset :][: len(array) + 1]
    lengths = np.diff(offsets)
    size = int(offsets[-1] - offsets[0]) if len(array) else 0
    found = lengths.astype(np.uint64)
    if not size:
        return found
    content = np.frombuffer(data, dtype=np.uint8)[offsets[0] : offsets[-1]].astype(np.uint64)
    places = np.arange(size) - np.repeat(offsets[:-1] - offsets[0], lengths)
    content = (content + np.uint64(1)) * _powers(int(lengths.max()))[places]
    filled = np.flatnonzero(lengths)
    found[filled] += np.add.reduceat(content, (offsets[:-1] - offsets[0])[filled])
    return found


def _powers(count: int) -> Hashes:
    """Of the base, modulo 2^64."""
    return np.cumprod(np.full(count, _BASE, dtype=np.uint64), dtype=np.uint64)


def _mixed(words: Hashes) -> Hashes:
    """Each bit of a word in all bits of its hash (the finish of splitmix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
