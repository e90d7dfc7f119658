"""Structs and arrays as keys, by whole columns: a number for each value, the same one where Spark
takes two values for equal.

Arrow groups by no nested column. So the leaves are numbered, which Arrow can; a struct is the
numbers of its fields side by side, an array those of its elements one after the other; both are
bytes then, and bytes are numbered again. 0.0 and -0.0 have one number at any depth, and so have all
NaNs. NULL is -1, which is neither an empty array nor a struct of NULLs.

>>> nested_key(pa.chunked_array([pa.array([[1, None], [], None, [1, None]])])).to_pylist()
[0, 1, -1, 0]
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers = npt.NDArray[np.int64]
_BYTES = np.dtype(np.int64).itemsize
_NULL = -1


def nested_key(column: pa.ChunkedArray) -> pa.Array:
    """The numbers of a column, which mean nothing outside of it."""
    return pa.array(_numbers(column.combine_chunks()))


def any_key(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """A key such that Arrow's equality is Spark's."""
    return nested_key(column) if pa.types.is_nested(column.type) else key_for_grouping(column)


def key_for_grouping(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A key that is not nested such that Arrow's equality, which is of bits, is Spark's."""
    if not pa.types.is_floating(column.type):
        return column
    # Arrow's own arithmetic keeps nulls: x + 0.0 turns -0.0 into 0.0.
    zero = pa.scalar(0.0, column.type)
    nan = pa.scalar(float("nan"), column.type)
    return pc.if_else(pc.is_nan(column), nan, pc.add(column, zero))


def _numbers(array: pa.Array) -> Numbers:
    if pa.types.is_struct(array.type):
        found = _of_fields([_numbers(field) for field in array.flatten()], len(array))
    elif pa.types.is_list(array.type):
        found = _of_elements(array)
    else:
        found = _encoded(key_for_grouping(array))
    missing = array.is_null().to_numpy(zero_copy_only=False)
    numbers: Numbers = np.where(missing, _NULL, found)
    return numbers


def _of_fields(fields: list[Numbers], count: int) -> Numbers:
    rows = np.ascontiguousarray(np.stack(fields, axis=1))
    type_ = pa.binary(_BYTES * len(fields))
    return _encoded(pa.FixedSizeBinaryArray.from_buffers(type_, count, [None, pa.py_buffer(rows)]))


def _of_elements(array: pa.Array) -> Numbers:
    offsets = array.offsets.to_numpy().astype(np.int64)
    values = array.values.slice(offsets[0], offsets[-1] - offsets[0])
    places = np.ascontiguousarray((offsets - offsets[0]) * _BYTES)
    elements = np.ascontiguousarray(_numbers(values))
    buffers = [None, pa.py_buffer(places), pa.py_buffer(elements)]
    return _encoded(pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(array), buffers))


def _encoded(array: pa.Array) -> Numbers:
    """In the order of their first coming; of nulls -1."""
    indices = pc.dictionary_encode(array).indices.cast(pa.int64())
    numbers: Numbers = pc.fill_null(indices, _NULL).to_numpy(zero_copy_only=False)
    return numbers


def key_codes(columns: Sequence[pa.ChunkedArray], count: int) -> Numbers:
    """A number for each row, equal where Spark would group two rows together."""
    codes: Numbers = np.zeros(count, np.int64)
    for column in columns:
        values = nested_key(column).to_numpy() + 1
        mixed = codes * (int(values.max(initial=0)) + 1) + values
        codes = np.unique(mixed, return_inverse=True)[1].astype(np.int64)
    return codes
