"""Merging the rows of summaries with Arrow, in Spark's semantics.

Relays and roots merge rows that are already reduced, thousands of keys at a time, where no Spark
runs. Arrow's own grouping is fast but differs from Spark in four places, each closed here:

* ``max`` skips NaN, while for Spark NaN is the largest number (and so matters for ``min`` too).
  Floating-point columns are merged as integers in the order of Spark.
* A sum of bigints or decimals that leaves its type wraps in silence. A bound on the result shows
  in most cases that it can't; otherwise the sum is taken twice as wide and checked. Overflow
  belongs to the group: its rows stay apart, as they came, and the other groups are merged.
* 0.0 and -0.0 are two keys, NaNs with different bits are two keys. Sites send keys normalised;
  they are normalised again here, since a merge that depends on the sender's manners is no merge.
* The sum of decimals changes its type; the declared one is kept.

So a merge never fails for what is in the rows, and never stops the groups beside one that
overflows. Rows that stay apart are still all of the group: a later part may bring the sum back into
its type, and then they become one row. Only who finishes a group asks whether it overflows in the
end (``groups``).

Laws, up to the order of rows, and of a group that overflows to how many rows it has: merge is
associative and commutative (sums of doubles to rounding), ``none()`` is neutral, and a merge of
merges is the merge of all.
"""

from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.rows.columns import MergeRule, RowLayout
from headwater.algebra.rows.types import summary_schema
from headwater.errors import WireError

BIGINT_MAX = (1 << 63) - 1
WIDE_DIGITS = 76
"""Decimals of Arrow that no sum of 38-digit decimals in memory can overflow."""

Bits = npt.NDArray[Any]
_EXACT = Context(prec=WIDE_DIGITS)


class Groups(msgspec.Struct, frozen=True):
    """Each group of some rows once."""

    merged: pa.Table
    """Those whose sums fit, one row each, in the summary's schema."""
    apart: pa.Table
    """All rows of the others, as they came."""
    overflowing: pa.Table
    """The keys of the others, one row each where there are keys."""
    overflowing_count: int
    columns: tuple[str, ...]
    """Partial columns of which a sum leaves its type."""


class ArrowMerger:
    """The ``Merger`` of one query. Rows are ``pyarrow.Table`` in the query's summary schema, each
    key once in a table, but for groups whose sums leave their type; ``merge`` keeps it so."""

    def __init__(self, layout: RowLayout) -> None:
        self.schema: pa.Schema = summary_schema(layout)
        self._key_names = [key.name for key in layout.keys]
        self._keys = [str(index) for index in range(len(self._key_names))]
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
        """The rows of all parts, each key once; those of a group that overflows stay apart.

        A single part is handed back as it is.
        """
        filled = [part for part in parts if part.num_rows > 0]
        if not filled:
            return self.none()
        if len(filled) == 1:
            return filled[0]
        found = self.groups(filled)
        if not found.apart.num_rows:
            return found.merged
        return pa.concat_tables([found.merged, found.apart])

    def groups(self, parts: Sequence[pa.Table]) -> Groups:
        """The groups of all parts, with those that overflow told from the others."""
        filled = [in_schema(part, self.schema) for part in parts if part.num_rows > 0]
        if not filled:
            return self._all_fit(self.none())
        table = pa.concat_tables(filled)
        prepared = self._prepared(table)
        grouped = self._aggregated(prepared)
        sums = {name: grouped[name] for name in grouped.column_names if name not in self._keys}
        fitting = {name: _fits(sums[name], self.schema.field(int(name))) for name in sums}
        columns = tuple(
            self.schema.names[int(name)] for name, fits in fitting.items() if fits is not None
        )
        if not columns:
            return self._all_fit(self._finished(grouped))
        fits = np.logical_and.reduce([mask for mask in fitting.values() if mask is not None])
        apart = table.take(self._row_numbers(prepared, ~fits))
        merged = self._finished(grouped.filter(pa.array(fits)))
        keys = grouped.select(self._keys).rename_columns(self._key_names)
        return Groups(merged, apart, keys.filter(pa.array(~fits)), int((~fits).sum()), columns)

    def _all_fit(self, merged: pa.Table) -> Groups:
        none = self.none()
        return Groups(merged, none, none.select(self._key_names), 0, ())

    def size_bytes(self, rows: pa.Table) -> int:
        return int(rows.nbytes)

    def _prepared(self, table: pa.Table) -> pa.Table:
        """Columns that Arrow groups as Spark does. Names are positions, so that no name of a column
        can collide with one that Arrow makes."""
        columns = [_key_for_grouping(table.column(name)) for name in self._key_names]
        columns += [_value_for_grouping(table.column(name), rule) for name, rule in self._rules]
        return pa.table(columns, names=[str(index) for index in range(len(columns))])

    def _aggregated(self, prepared: pa.Table) -> pa.Table:
        """One row for each group, under the same names."""
        rules = [
            (str(len(self._keys) + index), str(rule)) for index, (_, rule) in enumerate(self._rules)
        ]
        grouped = prepared.group_by(self._keys, use_threads=False).aggregate(rules)
        columns = [grouped.column(key) for key in self._keys]
        columns += [grouped.column(f"{column}_{rule}") for column, rule in rules]
        return pa.table(columns, names=prepared.column_names)

    def _row_numbers(self, prepared: pa.Table, wanted: Bits) -> pa.Array:
        """Where the rows of these groups are, in the order of the groups and then of the rows."""
        if not self._keys:
            return pa.array(range(prepared.num_rows), pa.int64())
        row = str(prepared.num_columns)
        numbered = prepared.append_column(row, pa.array(np.arange(prepared.num_rows)))
        listed = numbered.group_by(self._keys, use_threads=False).aggregate([(row, "list")])
        lists = listed.column(f"{row}_list").filter(pa.array(wanted)).combine_chunks()
        return pc.list_flatten(lists)

    def _finished(self, grouped: pa.Table) -> pa.Table:
        """Merged columns in the types that the query declares."""
        columns = [
            _value_from_grouping(grouped.column(name), field)
            for name, field in zip(grouped.column_names, self.schema, strict=True)
        ]
        return pa.Table.from_arrays(columns, schema=self.schema)


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
        raise WireError(
            f"rows: wanted buffers of Arrow, these are not valid Arrow: {str(error)[:200]}"
        ) from error
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
    return column.cast(field.type)


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


def _fits(column: pa.ChunkedArray, field: pa.Field) -> Bits | None:
    """Which sums are within the type that the query declares; None: all of them."""
    if not pa.types.is_decimal256(column.type):
        return None
    most = _unscaled_max(field.type)
    least = -most - 1 if pa.types.is_int64(field.type) else -most
    low, high = (
        pa.scalar(Decimal(bound).scaleb(-column.type.scale, _EXACT), column.type)
        for bound in (least, most)
    )
    within = pc.and_(pc.greater_equal(column, low), pc.less_equal(column, high))
    fits: Bits = pc.fill_null(within, True).to_numpy()
    return None if fits.all() else fits


def _widened(column: pa.ChunkedArray) -> pa.ChunkedArray:
    scale = column.type.scale if pa.types.is_decimal(column.type) else 0
    if pa.types.is_int64(column.type):
        column = column.cast(pa.decimal128(19, 0))
    return column.cast(pa.decimal256(WIDE_DIGITS, scale))


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
