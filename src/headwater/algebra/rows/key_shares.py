"""Rows divided by their keys, so that all rows of a group are in one share.

Which share a group falls into means nothing and travels nowhere: it only has to be the same for
equal keys, in one process, and even. Of a long text its ends are looked at.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.rows.nested_keys import key_for_grouping

Hashes = npt.NDArray[np.uint64]
SLICE_ROWS = 65_536
"""At a time, so that what is made of texts stays small."""
END_BYTES = 48
"""Of a text, at its beginning and at its end."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_NULL = np.uint64(0x5851F42D4C957F2D)
_POWERS = np.cumprod(np.full(END_BYTES, _FACTOR, np.uint64), dtype=np.uint64)


def shares(
    rows: pa.Table, keys: Sequence[str], count: int, *, salt: int = 0
) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each share that has any, in their order. Another ``salt`` divides otherwise."""
    for first in range(0, rows.num_rows, SLICE_ROWS):
        part = rows.slice(first, SLICE_ROWS)
        numbers = _numbers(part.select(list(keys)), count, salt)
        order = np.argsort(numbers, kind="stable")
        ends = np.searchsorted(numbers[order], np.arange(count + 1))
        sorted_rows = part.take(pa.array(order))
        for share in range(count):
            start, end = int(ends[share]), int(ends[share + 1])
            if end > start:
                yield share, sorted_rows.slice(start, end - start)


def _numbers(keys: pa.Table, count: int, salt: int) -> npt.NDArray[np.int64]:
    mixed: Hashes = np.full(keys.num_rows, salt, np.uint64)
    for column in keys.columns:
        mixed = _mixed(mixed * _FACTOR ^ _hashes(column))
    found: npt.NDArray[np.int64] = (mixed % np.uint64(count)).astype(np.int64)
    return found


def _mixed(bits: Hashes) -> Hashes:
    """Every bit depends on every bit (the finish of splitmix64): a factor alone would leave the
    lowest bits of round numbers zero."""
    bits = (bits ^ bits >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ bits >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    mixed: Hashes = bits ^ bits >> np.uint64(31)
    return mixed


def _hashes(column: pa.ChunkedArray) -> Hashes:
    array = key_for_grouping(column).combine_chunks()
    missing = array.is_null().to_numpy(zero_copy_only=False)
    return np.where(missing, _NULL, _mixed(_of_values(array)))


def _of_values(array: pa.Array) -> Hashes:
    """Of nulls anything."""
    if pa.types.is_string(array.type) or pa.types.is_binary(array.type):
        return _of_texts(array.cast(pa.binary()))
    if pa.types.is_decimal128(array.type):
        halves = np.frombuffer(array.buffers()[1], np.uint64)
        halves = halves[2 * array.offset : 2 * (array.offset + len(array))].reshape(-1, 2)
        mixed: Hashes = halves[:, 0] * _FACTOR ^ halves[:, 1]
        return mixed
    if pa.types.is_nested(array.type):
        return np.zeros(len(array), np.uint64)
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    elif pa.types.is_temporal(array.type):
        array = array.view(f"int{array.type.bit_width}")
    zero = pa.scalar(0, pa.int64()).cast(array.type)
    numbers = pc.fill_null(array, zero).to_numpy(zero_copy_only=False)
    bits: Hashes = numbers.view(f"u{numbers.dtype.itemsize}").astype(np.uint64)
    return bits


def _of_texts(texts: pa.Array) -> Hashes:
    lengths: Hashes = pc.fill_null(pc.binary_length(texts), 0).to_numpy().astype(np.uint64)
    first = _of_bytes(pc.binary_slice(texts, 0, END_BYTES))
    last = _of_bytes(pc.binary_slice(texts, -END_BYTES))
    return (first * _FACTOR ^ last) * _FACTOR ^ lengths


def _of_bytes(texts: pa.Array) -> Hashes:
    """Each byte times a power that stands for its place, added up."""
    texts = pc.fill_null(texts, b"")
    _, offset_bytes, value_bytes = texts.buffers()
    offsets = np.frombuffer(offset_bytes, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    sizes = np.diff(offsets)
    values = np.frombuffer(value_bytes or b"", np.uint8)[offsets[0] : offsets[-1]]
    starts = (offsets[:-1] - offsets[0]).astype(np.int64)
    places = np.arange(len(values)) - np.repeat(starts, sizes)
    terms: Hashes = (values.astype(np.uint64) + np.uint64(1)) * _POWERS[places]
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
    found: Hashes = sums[starts + sizes] - sums[starts]
    return found
