"""Merging the rows of summaries with Arrow, in Spark's semantics.

Relays and roots merge rows that are already reduced, thousands of keys at a time, where no Spark
runs. Arrow's own grouping is fast but differs from Spark in four places, each closed here:

* ``max`` skips NaN, while for Spark NaN is the largest number (and so matters for ``min`` too).
  Floating-point columns are merged as integers in the order of Spark.
* A sum of bigints or decimals that leaves its type wraps in silence. A bound on the result shows
  in most cases that it can't; otherwise the sum is taken twice as wide and checked, and an
  overflow is ``AnswerOverflow``.
* 0.0 and -0.0 are two keys, NaNs with different bits are two keys. Sites send keys normalised;
  they are normalised again here, since a merge that depends on the sender's manners is no merge.
* The sum of decimals changes its type; the declared one is kept.

Laws, up to the order of rows: merge is associative and commutative (sums of doubles to rounding),
``none()`` is neutral, and a merge of merges is the merge of all.
"""

from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.columns import MergeRule, RowLayout
from headwater.algebra.types import summary_schema
from headwater.errors import AnswerOverflow, WireError

BIGINT_MAX = (1 << 63) - 1
WIDE_DIGITS = 76
"""Decimals of Arrow that no sum of 38-digit decimals in memory can overflow."""

Bits = npt.NDArray[Any]
_EXACT = Context(prec=WIDE_DIGITS)


class ArrowMerger:
    """The ``Merger`` of one query. Rows are ``pyarrow.Table`` in the query's summary schema, each
    key once in a table; ``merge`` keeps it so."""

    def __init__(self, layout: RowLayout) -> None:
        self.schema: pa.Schema = summary_schema(layout)
        self._key_names = [key.name for key in layout.keys]
        self._rules = [(partial.name, partial.merge) for partial in layout.partials]
        for name, rule in self._rules:
            if rule is MergeRule.SUM and not _is_summable(self.schema.field(name).type):
                raise ValueError(
                    f"partial {name!r}: wanted bigint, double or decimal to sum, "
                    f"got {self.schema.field(name).type}"
                )

    def none(self) -> pa.Table:
        return self.schema.empty_table()

    def merge(self, parts: Sequence[pa.Table]) -> pa.Table:
        """The rows of all parts, each key once. A single part is handed back as it is.

        Raises ``AnswerOverflow`` where a sum leaves its type.
        """
        filled = [part for part in parts if part.num_rows > 0]
        if not filled:
            return self.none()
        if len(filled) == 1:
            return filled[0]
        table = pa.concat_tables([in_schema(part, self.schema) for part in filled])
        return self._grouped(table)

    def size_bytes(self, rows: pa.Table) -> int:
        return int(rows.nbytes)

    def _grouped(self, table: pa.Table) -> pa.Table:
        columns = [_key_for_grouping(table.column(name)) for name in self._key_names]
        columns += [_value_for_grouping(table.column(name), rule) for name, rule in self._rules]
        # Names are positions, so that no name of a column can collide with one that Arrow makes.
        prepared = pa.table(columns, names=[str(index) for index in range(len(columns))])
        keys = [str(index) for index in range(len(self._key_names))]
        rules = [(str(len(keys) + index), str(rule)) for index, (_, rule) in enumerate(self._rules)]
        grouped = prepared.group_by(keys, use_threads=False).aggregate(rules)
        merged = [grouped.column(key) for key in keys]
        merged += [
            _value_from_grouping(grouped.column(f"{column}_{rule}"), self.schema.field(name))
            for (column, rule), (name, _) in zip(rules, self._rules, strict=True)
        ]
        return pa.Table.from_arrays(merged, schema=self.schema)


def in_schema(rows: pa.Table, wanted: pa.Schema) -> pa.Table:
    """The same columns under exactly this schema, without copying.

    Spark marks columns that can't be null, and metadata comes and goes; both are dropped, since
    Arrow refuses to join tables that differ in them. Raises ``ValueError`` for other columns.
    """
    if rows.schema.names != wanted.names or rows.schema.types != wanted.types:
        raise ValueError(
            f"rows: wanted columns ({_columns_text(wanted)}), got ({_columns_text(rows.schema)})"
        )
    return pa.Table.from_arrays(rows.columns, schema=wanted)


def check_rows(rows: pa.Table, layout: RowLayout) -> pa.Table:
    """Rows from the wire in the summary's schema, once they are known to be safe to compute with.

    Raises ``WireError`` for other columns or for buffers that don't hold what they claim.
    """
    try:
        checked = in_schema(rows, summary_schema(layout))
        checked.validate(full=True)
    except pa.ArrowInvalid as error:
        raise WireError(f"rows: the buffers are not valid Arrow: {str(error)[:200]}") from error
    except ValueError as error:
        raise WireError(str(error)) from error
    return checked


def _columns_text(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)[:500]


def _is_summable(arrow: pa.DataType) -> bool:
    return bool(
        pa.types.is_int64(arrow) or pa.types.is_float64(arrow) or pa.types.is_decimal128(arrow)
    )


def _key_for_grouping(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A key such that Arrow's equality, which is of bits, is Spark's."""
    if not pa.types.is_floating(column.type):
        return column
    # Arrow's own arithmetic keeps nulls: x + 0.0 turns -0.0 into 0.0.
    zero = pa.scalar(0.0, column.type)
    nan = pa.scalar(float("nan"), column.type)
    return pc.if_else(pc.is_nan(column), nan, pc.add(column, zero))


def _value_for_grouping(column: pa.ChunkedArray, rule: MergeRule) -> pa.ChunkedArray:
    if rule is MergeRule.SUM:
        return column if _sum_surely_fits(column) else _widened(column)
    return _in_order(column) if pa.types.is_floating(column.type) else column


def _value_from_grouping(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    """The merged column in the type that the query declares."""
    if column.type == field.type:
        return column
    if pa.types.is_floating(field.type):
        return _out_of_order(column, field.type)
    return _narrowed(column, field)


def _sum_surely_fits(column: pa.ChunkedArray) -> bool:
    """True when the largest value times the number of values is within the type."""
    if pa.types.is_floating(column.type):
        return True
    extremes = pc.min_max(column).as_py()
    if extremes["min"] is None:
        return True
    largest = max(abs(_unscaled(extremes[side], column.type)) for side in ("min", "max"))
    return largest * len(column) <= _unscaled_max(column.type)


def _unscaled(value: int | Decimal, arrow: pa.DataType) -> int:
    return int(value.scaleb(arrow.scale, _EXACT)) if isinstance(value, Decimal) else value


def _unscaled_max(arrow: pa.DataType) -> int:
    return int(10**arrow.precision - 1) if pa.types.is_decimal(arrow) else BIGINT_MAX


def _widened(column: pa.ChunkedArray) -> pa.ChunkedArray:
    scale = column.type.scale if pa.types.is_decimal(column.type) else 0
    if pa.types.is_int64(column.type):
        column = column.cast(pa.decimal128(19, 0))
    return column.cast(pa.decimal256(WIDE_DIGITS, scale))


def _narrowed(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        raise AnswerOverflow(
            f"merge of {field.name!r}: a sum does not fit {field.type}: {str(error)[:200]}"
        ) from error


def _in_order(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Floating-point numbers as integers in Spark's order, NaN above infinity; nulls stay."""
    array = column.combine_chunks()
    missing = array.is_null().to_numpy(zero_copy_only=False)
    values = pc.fill_null(array, pa.scalar(0.0, array.type)).to_numpy(zero_copy_only=False)
    values = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)
    bits: Bits = values.view(np.int64 if values.dtype == np.float64 else np.int32)
    return pa.chunked_array([pa.array(_flip_negatives(bits), mask=missing)])


def _out_of_order(column: pa.ChunkedArray, arrow: pa.DataType) -> pa.ChunkedArray:
    array = column.combine_chunks()
    missing = array.is_null().to_numpy(zero_copy_only=False)
    bits: Bits = pc.fill_null(array, pa.scalar(0, array.type)).to_numpy(zero_copy_only=False)
    values = _flip_negatives(bits).view(arrow.to_pandas_dtype())
    return pa.chunked_array([pa.array(values, mask=missing, type=arrow)])


def _flip_negatives(bits: Bits) -> Bits:
    """IEEE bits of negative numbers grow downwards; this turns them round, and is its own inverse.

    >>> _flip_negatives(np.array([-0.0, -1.0]).view(np.int64)).tolist()
    [-1, -4607182418800017409]
    """
    sign_bits = bits.dtype.itemsize * 8 - 1
    flipped: Bits = bits ^ ((bits >> sign_bits) & np.iinfo(bits.dtype).max)
    return flipped
