"""A question's answer at one site: its panes, computed of the panes of a stream, within limits.

::

    manifest ─► closed panes ─► rows, merged by the stream's keys ─► Spark: conditions, keys
             └► what is lacking     └ Arrow, a pane of the question at a time    └► merged: Arrow

No Python looks at a row. What a pane of the question lacks of the stream's panes it lacks whole,
for a sum that is short would look like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.rows.arrow_rows import ArrowMerger, in_schema
from headwater.algebra.rows.columns import Column
from headwater.algebra.rows.types import PANE_COLUMN, summary_schema
from headwater.algebra.sets import ranges
from headwater.algebra.words.as_of import SiteAsOf
from headwater.algebra.words.site_state import FOREVER, Declined, Reason
from headwater.errors import HeadwaterError
from headwater.plan.program import Program
from headwater.plan.query import Query
from headwater.sql.questions.subsume import CubePart
from headwater.store.cube.asked.cube_slices import CubeSlice
from headwater.store.pane_segments import Stretch

MERGE_BYTES_MAX = 32 << 20
"""Rows of a stream that are merged at once, as Arrow holds them."""
JOB_BYTES_MAX = 4 << 20
"""Rows of one Spark job, as Arrow holds them: they go through the driver."""


class OverLimit(HeadwaterError):
    """A question takes more than it may have here."""


class FoundPanes(msgspec.Struct):
    """What the question has at this site."""

    rows: dict[int, pa.Table]
    """By pane of the question; those of panes that are here and empty are left out."""
    declined: list[Declined]
    damaged: list[tuple[int, int]]


class CubeAnswer:
    """Of one question, in one thread."""

    def __init__(
        self,
        question: Query,
        stream: Query,
        part: CubePart,
        found: CubeSlice,
        *,
        load: Callable[[Stretch], pa.Table | None],
        load_anew: Callable[[CubeSlice, int, int], list[pa.Table] | None],
        merger: ArrowMerger,
        compute: Callable[[str, pa.Table], pa.Table],
        check: Callable[[], None],
    ) -> None:
        """``merger`` is the stream's; ``compute`` runs SQL over rows; ``check``
        raises ``OverLimit`` where the time is over."""
        self._question, self._stream, self._part, self._slice = question, stream, part, found
        self._load, self._load_anew = load, load_anew
        self._merger = ArrowMerger(_with_pane_key(question.program))
        self._stream_merger = merger
        self._compute = compute
        self._check = check
        self._found = FoundPanes({}, [], [])

    def made(self) -> FoundPanes:
        waiting: list[tuple[int, pa.Table]] = []
        byte_count = 0
        for pane, rows in self._merged():
            waiting.append((pane, rows))
            byte_count += rows.nbytes
            if byte_count >= JOB_BYTES_MAX:
                self._take(waiting)
                waiting, byte_count = [], 0
        self._take(waiting)
        return self._found

    def _merged(self) -> Iterator[tuple[int, pa.Table]]:
        """Of each pane of the question that is here, the stream's rows, each group once."""
        for pane in panes_of(self._question):
            self._check()
            first, last = self._stream_panes(pane)
            why = self._slice.why_lacking(first, last)
            if why is not None:
                self._decline(pane, why)
                continue
            if self._slice.is_damaged(first, last):
                self._found.damaged.append((pane, pane))
            rows = self._rows(first, last)
            if rows is None:
                self._decline(pane, Reason.LOST)
            elif rows.num_rows:
                yield pane, rows

    def _stream_panes(self, pane: int) -> tuple[int, int]:
        first = self._part.first_of(pane, self._question, self._stream)
        return first, first + self._part.panes - 1

    def _decline(self, pane: int, why: Reason) -> None:
        self._found.declined.append(Declined(first=pane, last=pane, reason=why))

    def _rows(self, first: int, last: int) -> pa.Table | None:
        """None: some of them are lost."""
        rows = self._merged_of(map(self._load, self._stretches(first, last)))
        if rows is None:  # or they have moved
            again = self._load_anew(self._slice, first, last)
            return None if again is None else self._merged_of(again)
        return rows

    def _stretches(self, first: int, last: int) -> Iterator[Stretch]:
        return (stretch for _, stretch in self._slice.between(first, last))

    def _merged_of(self, found: Iterable[pa.Table | None]) -> pa.Table | None:
        tables, byte_count = list[pa.Table](), 0
        for rows in found:
            if rows is None:
                return None
            tables.append(rows)
            byte_count += rows.nbytes
            if byte_count >= MERGE_BYTES_MAX:
                tables, byte_count = [self._stream_merger.merge(tables)], 0
                self._check()
        return self._stream_merger.merge(tables) if tables else self._stream_merger.none()

    def _take(self, waiting: list[tuple[int, pa.Table]]) -> None:
        """Rows of the stream, by pane, as rows of the question."""
        if not waiting:
            return
        self._check()
        if self._part.columns is not None:
            rows = pa.concat_tables(_with_pane(pane, self._picked(own)) for pane, own in waiting)
        else:
            of_all = pa.concat_tables(_with_pane(pane, own) for pane, own in waiting)
            rows = self._compute(self._part.sql, of_all)
        if rows.num_rows:
            self._found.rows |= dict(_by_pane(self._once(rows)))

    def _picked(self, rows: pa.Table) -> pa.Table:
        schema = summary_schema(self._question.program)
        columns = [rows.column(name) for name in self._part.columns or ()]
        return pa.Table.from_arrays(columns, names=schema.names).cast(schema)

    def _once(self, rows: pa.Table) -> pa.Table:
        """Each group of the question once in each pane, all panes at once: fewer keys make fewer
        groups. (One table alone is handed back by a merger as it is.)"""
        if rows.num_rows < 2:
            return in_schema(rows, self._merger.schema)
        return self._merger.merge([rows.slice(0, 1), rows.slice(1)])


def panes_of(question: Query) -> range:
    first, end = question.begin_pane, question.ends_at
    assert first is not None, "a question has a begin"
    assert end is not None, "and an end"
    return range(first, end)


def slice_bounds(question: Query, stream: Query, part: CubePart) -> tuple[int, int]:
    """The stream's first and last pane that the question is about."""
    panes = panes_of(question)
    first = part.first_of(panes.start, question, stream)
    return first, first + len(panes) * part.panes - 1


def damaged_ranges(found: FoundPanes) -> ranges.Ranges:
    return ranges.normal(found.damaged)


def as_of(found: CubeSlice, stream: Query) -> SiteAsOf:
    """Its updates are those that the cube had just then."""
    window, closed = stream.window, found.closed_through
    through_us = None if closed >= FOREVER else window.pane_start_us(closed)
    open_from_us, open_rows = None, 0
    if found.open:
        first, last = found.open[0][0], found.open[-1][1]
        open_from_us, open_rows = window.pane_start_us(first), found.rows_of(first, last)
    return SiteAsOf(
        stream=found.stream,
        through_us=through_us,
        updates=sum(len(of_pane) for of_pane in found.stretches.values()),
        rows=found.rows,
        panes=len(found.stretches),
        open_from_us=open_from_us,
        open_rows=open_rows,
    )


def _with_pane_key(program: Program) -> Program:
    """Its rows of several panes at once. The first rows of a pane are not those of all."""
    keys = (Column(PANE_COLUMN, "bigint"), *program.keys)
    return msgspec.structs.replace(program, keys=keys, first=msgspec.UNSET)


def _by_pane(rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Of a table with at least one row, under the question's own columns: the pane is the first."""
    rows = rows.take(pc.sort_indices(rows.column(0)))
    panes, own = rows.column(0).to_numpy(), rows.remove_column(0)
    firsts = [0, *(np.flatnonzero(panes[1:] != panes[:-1]) + 1).tolist(), len(panes)]
    for first, end in pairwise(firsts):
        yield int(panes[first]), own.slice(first, end - first)


def _with_pane(pane: int, rows: pa.Table) -> pa.Table:
    return rows.add_column(
        0, pa.field(PANE_COLUMN, pa.int64()), pa.repeat(pa.scalar(pane, pa.int64()), rows.num_rows)
    )
