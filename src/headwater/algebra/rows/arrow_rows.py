"""Merging the rows of summaries with Arrow, in Spark's semantics.

Relays and roots merge rows that are already reduced, thousands of keys at a time, where no Spark
runs. How the columns of an aggregate become one row's is its own to say (``aggregates``, by the
name of the rule that a partial column has). Of the grouping itself three things are closed here:

* 0.0 and -0.0 are two keys for Arrow, NaNs with different bits are two keys. Sites send keys
  normalised; they are normalised again here, since a merge that depends on the sender's manners is
  no merge.
* Arrow groups by no structs and arrays: they are numbered (``nested_keys``).
* Overflow belongs to the group: its rows stay apart, as they came, and the other groups are merged.

So a merge never fails for what is in the rows, and never stops the groups beside one that
overflows. Rows that stay apart are still all of the group: a later part may bring the sum back into
its type, and then they become one row. Only who finishes a group asks whether it overflows in the
end (``groups``).

Where a query wants only the first rows of a pane (``first_rows``), what is merged is cut to them;
what is covered stays what it was.

Laws, up to the order of rows, and of a group that overflows to how many rows it has: merge is
associative and commutative (sums of doubles to rounding), ``none()`` is neutral, and a merge of
merges is the merge of all.
"""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.aggregates import RULES
from headwater.algebra.aggregates.merge_rule import Bits, Columns, MergeRule, Types
from headwater.algebra.rows.columns import RowLayout
from headwater.algebra.rows.first_rows import checked_first, first_rows
from headwater.algebra.rows.nested_keys import any_key
from headwater.algebra.rows.types import spark_type, summary_schema
from headwater.algebra.top.keyed import Keyed, keyed
from headwater.errors import WireError

ROW = "row"
"""Where a group comes first, while its rows are grouped."""


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
    reason: str = ""
    """Why else a group has no row; empty: only since a sum leaves its type."""


class ArrowMerger:
    """The ``Merger`` of one query. Rows are ``pyarrow.Table`` in the query's summary schema, each
    key once in a table, but for groups whose sums leave their type; ``merge`` keeps it so."""

    def __init__(self, layout: RowLayout, rules: Mapping[str, MergeRule] = RULES) -> None:
        self.schema: pa.Schema = summary_schema(layout)
        self.key_names = [key.name for key in layout.keys]
        self._keys = [str(index) for index in range(len(self.key_names))]
        self._nested = [
            n for n, key in enumerate(self.key_names) if pa.types.is_nested(self.schema.types[n])
        ]
        self._states = _states(layout, self.schema, rules)
        self._first = checked_first(layout)

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
            return self.fitting(self.none())
        table = pa.concat_tables(filled)
        prepared = self._prepared(table)
        grouped = self._with_nested_keys(self._aggregated(prepared), table)
        fitting = [(one, one.rule.fits(one.of(grouped), one.types)) for one in self._states]
        masks = [mask for _, mask in fitting if mask is not None]
        if not masks:
            return self.fitting(self._lowered(grouped))
        fits = np.logical_and.reduce(masks)
        apart = table.take(self._row_numbers(prepared, ~fits))
        merged = self._lowered(grouped.filter(pa.array(fits)))
        keys = grouped.select(self._keys).rename_columns(self.key_names)
        columns = tuple(n for state, mask in fitting if mask is not None for n in state.names)
        return Groups(merged, apart, keys.filter(pa.array(~fits)), int((~fits).sum()), columns)

    @property
    def can_take_back(self) -> bool:
        """Whether every column's rule can undo a merge, to the bit. What was cut to its first rows
        can't: those behind them do not come back."""
        if self._first is not None:
            return False
        nothing = self.none()
        return all(one.taken_back(nothing) is not None for one in self._states)

    def taken_back(self, rows: pa.Table) -> pa.Table:
        """Rows whose merging undoes that of these. Nothing tells how often a group was merged: who
        asks counts it. Raises ``pa.ArrowInvalid`` for a number that has no counterpart."""
        columns = rows.select(self.key_names).columns
        for state in self._states:
            taken_back = state.taken_back(rows)
            assert taken_back is not None, "who asks has asked whether it can"
            columns += taken_back
        return pa.Table.from_arrays(columns, schema=self.schema)

    def fitting(self, merged: pa.Table) -> Groups:
        """Of rows that have each group once, and none that overflows."""
        none = self.none()
        return Groups(merged, none, none.select(self.key_names), 0, ())

    def keyed(self, parts: Sequence[pa.Table], partial: str) -> Keyed:
        """The groups of several parts, told apart as a merge does."""
        return keyed(parts, self.key_names, partial)

    def size_bytes(self, rows: pa.Table) -> int:
        return int(rows.nbytes)

    def _prepared(self, table: pa.Table) -> pa.Table:
        """Columns that Arrow groups as Spark does. Names are positions, so that no name of a column
        can collide with one that Arrow makes."""
        columns = [any_key(table.column(name)) for name in self.key_names]
        for state in self._states:
            columns += state.rule.lift([table.column(name) for name in state.names])
        names = [str(index) for index in range(len(columns))]
        if self._nested:
            columns.append(pa.array(np.arange(table.num_rows)))
            names.append(ROW)
        return pa.table(columns, names=names)

    def _aggregated(self, prepared: pa.Table) -> pa.Table:
        """One row for each group, under the same names."""
        wanted = [(place, one.rule.function) for one in self._states for place in one.places]
        wanted += [(ROW, "min")] if self._nested else []
        rows, keys = prepared, self._keys
        if not keys:  # Arrow lists values only of groups that have a key
            rows, keys = prepared.append_column("all", pa.repeat(0, prepared.num_rows)), ["all"]
        grouped = rows.group_by(keys, use_threads=False).aggregate(wanted)
        columns = [grouped.column(key) for key in self._keys]
        columns += [grouped.column(f"{place}_{function}") for place, function in wanted]
        return pa.table(columns, names=prepared.column_names)

    def _with_nested_keys(self, grouped: pa.Table, table: pa.Table) -> pa.Table:
        """Keys that were numbered as the values that they stand for, of each group's first row."""
        for index in self._nested:
            values = table.column(index).take(grouped.column(ROW))
            grouped = grouped.set_column(index, str(index), values)
        return grouped

    def _row_numbers(self, prepared: pa.Table, wanted: Bits) -> pa.Array:
        """Where the rows of these groups are, in the order of the groups and then of the rows."""
        if not self._keys:
            return pa.array(range(prepared.num_rows), pa.int64())
        row = str(prepared.num_columns)
        numbered = prepared.append_column(row, pa.array(np.arange(prepared.num_rows)))
        listed = numbered.group_by(self._keys, use_threads=False).aggregate([(row, "list")])
        lists = listed.column(f"{row}_list").filter(pa.array(wanted)).combine_chunks()
        return pc.list_flatten(lists)

    def _lowered(self, grouped: pa.Table) -> pa.Table:
        """Merged columns in the types that the query declares; of rows of which only the first are
        asked for, those: a rank may be taken early over rows."""
        columns = grouped.select(self._keys).columns
        for state in self._states:
            columns += state.rule.lower(state.of(grouped), state.types)
        merged = pa.Table.from_arrays(columns, schema=self.schema)
        return merged if self._first is None else first_rows(merged, self._first)


class _State(msgspec.Struct, frozen=True):
    """Columns of a summary that one rule merges together."""

    rule: MergeRule
    names: Sequence[str]
    types: Types
    places: Sequence[str]
    """Their names while they are grouped."""

    def of(self, grouped: pa.Table) -> Columns:
        return [grouped.column(place) for place in self.places]

    def taken_back(self, rows: pa.Table) -> Columns | None:
        return self.rule.remove([rows.column(name) for name in self.names], self.types)


def _states(layout: RowLayout, schema: pa.Schema, rules: Mapping[str, MergeRule]) -> list[_State]:
    """Raises ``ValueError`` for columns that make no state."""
    states: list[_State] = []
    merges = [partial.merge for partial in layout.partials]
    at, keys = 0, len(layout.keys)
    while at < len(merges):
        rule, name = rules.get(merges[at]), layout.partials[at].name
        if rule is None or merges[at : at + rule.width] != [rule.name] * rule.width:
            known = ", ".join(f"{one.name} of {one.width}" for one in rules.values())
            raise ValueError(
                f"partial {name!r}: wanted columns side by side that one rule merges ({known}), "
                f"got {merges[at][:60]!r}"
            )
        places = range(keys + at, keys + at + rule.width)
        types = [schema.types[place] for place in places]
        wanted = rule.fault(types)
        if wanted is not None:
            raise ValueError(f"partial {name!r}: {wanted}, got {', '.join(map(str, types))}")
        states.append(
            _State(rule, [schema.names[n] for n in places], types, list(map(str, places)))
        )
        at += rule.width
    return states


def in_schema(rows: pa.Table, wanted: pa.Schema) -> pa.Table:
    """The same columns under exactly this schema, without copying.

    Spark marks columns that can't be null, and metadata comes and goes; both are dropped, since
    Arrow refuses to join tables that differ in them. Raises ``ValueError`` for other columns.
    """
    if any(map(pa.types.is_nested, wanted.types)):
        rows = _unmarked(rows, wanted)
    if rows.schema.names != wanted.names or rows.schema.types != wanted.types:
        raise ValueError(
            f"rows: wanted columns ({_columns_text(wanted)}), got ({_columns_text(rows.schema)})"
        )
    return pa.Table.from_arrays(rows.columns, schema=wanted)


def _unmarked(rows: pa.Table, wanted: pa.Schema) -> pa.Table:
    """With nested columns in which anything may be null."""
    for index, (name, type_) in enumerate(zip(wanted.names, wanted.types, strict=True)):
        column = rows.column(index) if index < rows.num_columns else None
        is_other = column is not None and pa.types.is_nested(type_) and column.type != type_
        if column is not None and is_other and spark_type(column.type) == spark_type(type_):
            rows = rows.set_column(index, name, column.cast(type_))
    return rows


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
