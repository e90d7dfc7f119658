"""The groups of an answer, each once, made of the rows of summaries.

Without growing states these are the merged rows. With them a group has many rows, one for each
value of its hidden keys; they are merged by all keys first, and then folded to one row by the
user's keys alone. Fixed states beside them ride on the same rows, and fold by their own merge rule.

Where several growing states are in one query, the rows of each have its *grouping number*, and a
fold sees its own rows alone. Partial columns are null in rows that are none of theirs, which merge
rules pass over.

Where there are grouping sets, coarser groups are made before anything is folded
(``coarser_groups``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.aggregates import FOLDS
from headwater.algebra.aggregates.growing.fold_lists import WHY_LEFT_OUT
from headwater.algebra.aggregates.growing.fold_rule import FoldRule, OwnedRows, are_there
from headwater.algebra.aggregates.merge_rule import Bits
from headwater.algebra.rows.arrow_rows import ArrowMerger, Groups
from headwater.algebra.rows.coarser_groups import CoarserGroups, without
from headwater.algebra.rows.columns import (
    Column,
    Folded,
    Folding,
    GroupLayout,
    Partial,
    visible_keys,
)
from headwater.algebra.rows.nested_keys import key_codes
from headwater.algebra.rows.types import arrow_type, group_schema, summary_schema


class GroupMaker:
    """Of one query, where its answers are finished."""

    def __init__(self, layout: GroupLayout, folds: Mapping[str, FoldRule] = FOLDS) -> None:
        """Raises ``ValueError`` for columns that can't be folded so."""
        self.merger = ArrowMerger(layout)
        self.key_names = [key.name for key in visible_keys(layout)]
        """Keys of the user's: no group has rows that don't agree in them."""
        self._coarser = self._folder = None
        folding = layout.folding
        if isinstance(folding, Folding) and folding.sets:
            self._coarser = CoarserGroups(layout, folding)
            self.key_names = self._coarser.shared_keys()
            layout = self._coarser.layout
        if isinstance(folding, Folding) and folding.columns:
            self._folder = _Folder(layout, folding, folds)

    def groups(self, parts: Sequence[pa.Table]) -> Groups:
        """The groups of all parts, with those that overflow told from the others."""
        return self.folded(self.merger.groups(parts))

    def folded(self, found: Groups) -> Groups:
        """The groups of rows that have each combination of keys once, hidden ones too."""
        if self._coarser is not None:
            found = self._coarser.groups(found)
        return found if self._folder is None else self._folder.groups(found)


class _Added(msgspec.Struct, frozen=True):
    """What rows add to their groups, as a layout of its own."""

    keys: tuple[Column, ...]
    partials: tuple[Partial, ...]


class _Folder:
    def __init__(
        self, layout: GroupLayout, folding: Folding, folds: Mapping[str, FoldRule]
    ) -> None:
        keys = tuple(visible_keys(layout))
        self._keys = [key.name for key in keys]
        hidden = [key.name for key in layout.keys[len(keys) :]]
        self._number = hidden[-1] if folding.is_numbered else None
        self._usable = {*hidden, *(partial.name for partial in layout.partials)} - {self._number}
        self._schema = summary_schema(layout)
        self._folds = [(one, self._rule(one, folds)) for one in folding.columns]
        self._adding = [(one, rule) for one, rule in self._folds if rule.add is not None]
        self._reducing = [(one, rule) for one, rule in self._folds if rule.reduce is not None]
        added = tuple(
            Partial(one.name, one.type, rule.merge.name)
            for one, rule in self._adding
            if rule.merge is not None
        )
        self._merger = ArrowMerger(_Added(keys, (*layout.partials, *added)))
        self._made = group_schema(layout)

    def _rule(self, column: Folded, folds: Mapping[str, FoldRule]) -> FoldRule:
        rule = folds.get(column.fold)
        if rule is None or not column.over or not self._usable.issuperset(column.over):
            raise ValueError(
                f"fold {column.name!r}: wanted one of {', '.join(folds)} over some of "
                f"{sorted(self._usable)}, got {column.fold[:60]!r} over {column.over}"
            )
        types = [self._schema.field(name).type for name in column.over]
        wanted = rule.fault(types, arrow_type(column.type), column.values)
        if wanted is not None:
            raise ValueError(
                f"fold {column.name!r}: {wanted}, got {', '.join(map(str, types))} to {column.type}"
            )
        return rule

    def groups(self, found: Groups) -> Groups:
        """``found`` has each row once, but for those that overflow: their groups do so as well."""
        rows, out = found.merged, found.overflowing.select(self._keys)
        if found.overflowing_count:
            rows = without(rows, out, self._keys)
        folded = self._reduced(rows, self._merger.groups([self._added(rows)]))
        if not found.overflowing_count:
            return folded
        keys = pa.concat_tables([out, folded.overflowing]).group_by(self._keys).aggregate([])
        return msgspec.structs.replace(
            folded,
            overflowing=keys,
            overflowing_count=keys.num_rows if self._keys else 1,
            columns=(*found.columns, *folded.columns),
        )

    def _added(self, rows: pa.Table) -> pa.Table:
        """Beside keys and partials what each row adds, which is nothing where it is another's."""
        names = self._merger.schema.names
        columns = [rows.column(name) for name in names[: len(names) - len(self._adding)]]
        for column, rule in self._adding:
            assert rule.add is not None
            columns.append(rule.add(self._own(column, rows), arrow_type(column.type)))
        return pa.Table.from_arrays(columns, schema=self._merger.schema)

    def _own(self, column: Folded, rows: pa.Table) -> list[pa.ChunkedArray]:
        """What a fold takes of each row; null where it is another's."""
        taken = [rows.column(name) for name in column.over]
        if self._number is None:
            return taken
        own = pc.equal(rows.column(self._number), column.number)
        return [pc.if_else(own, one, pa.scalar(None, one.type)) for one in taken]

    def _reduced(self, rows: pa.Table, folded: Groups) -> Groups:
        """With what is reduced of all rows at once."""
        if not self._reducing:
            return folded
        owners, count = self._owners(rows, folded.merged), folded.merged.num_rows
        columns = {name: folded.merged.column(name) for name in folded.merged.column_names}
        fits, left_out = np.ones(count, bool), []
        for column, rule in self._reducing:
            assert rule.reduce is not None
            taken = self._own(column, rows)
            is_own = (owners >= 0) & are_there(taken[: rule.nulls_from]).to_numpy()
            kept = [one.filter(pa.array(is_own)).combine_chunks() for one in taken]
            owned = OwnedRows(owners[is_own], kept, count, column.values)
            columns[column.name], within = rule.reduce(owned, arrow_type(column.type))
            if within is not None:
                fits &= within
                left_out.append(column.name)
        table = pa.Table.from_arrays([columns[n] for n in self._made.names], schema=self._made)
        if not left_out:
            return msgspec.structs.replace(folded, merged=table)
        out = table.select(self._keys).filter(pa.array(~fits))
        return msgspec.structs.replace(
            folded,
            merged=table.filter(pa.array(fits)),
            overflowing=pa.concat_tables([folded.overflowing, out]),
            overflowing_count=folded.overflowing_count + int((~fits).sum()),
            columns=(*folded.columns, *left_out),
            reason=WHY_LEFT_OUT,
        )

    def _owners(self, rows: pa.Table, groups: pa.Table) -> Bits:
        """The place of each row's group; -1: the group is not among these."""
        if not self._keys:
            return np.full(rows.num_rows, groups.num_rows - 1, np.int64)
        both = pa.concat_tables([rows.select(self._keys), groups.select(self._keys)])
        codes = key_codes([both.column(name) for name in self._keys], both.num_rows)
        places = np.full(int(codes.max(initial=-1)) + 1, -1, np.int64)
        places[codes[rows.num_rows :]] = np.arange(groups.num_rows)
        return places[codes[: rows.num_rows]]
