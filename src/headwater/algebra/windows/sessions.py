"""Sessions: the records of a key of which each comes at most a gap after the one before.

::

    pane      |    5    |    6    |    7    |    8    |
    records    · ·     ·  ·           ·          ·  ·
    fragments [first last][f]       [f]        [f  l]
    sessions  [5, 6       )gap      [7        ][8   )gap

A pane is no longer than the gap, so the records of a key in one pane are of one session: a
*fragment*, with its first and its last time beside the partials, which merge by least and greatest
as everything else does, at sites and relays alike. Only the root puts fragments together, over
panes. Fragments are one session where one begins at most the gap after the other's end; which
these are does not depend on the order in which they meet, so blocks of panes can be merged first.

A session is answered in the window in whose last slide its last time plus the gap lies. It is at
most ``longest_us`` long: a window looks back so far and two gaps further, which is enough to see
every session that may be in it from before its begin, or that it is too long. Such a one is left
out, and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.panes import MICROS, WindowSpec
from headwater.algebra.rows.arrow_rows import ArrowMerger, Groups, in_schema
from headwater.algebra.rows.columns import Column, Partial, RowLayout
from headwater.algebra.rows.nested_keys import key_codes

NUMBER = "__session"
"""A key beside those of the query while sessions are merged; no column of a user has its name."""

Numbers = npt.NDArray[np.int64]


class Sessions(msgspec.Struct, frozen=True):
    """That a query asks for sessions, and where their times are."""

    gap_us: int
    longest_us: int
    first: str
    """The partial columns with the first and the last time of a fragment."""
    last: str

    def window(self) -> WindowSpec:
        """Panes and slides of one gap; a window has all that its sessions can be made of.

        >>> Sessions(30, 100, "first", "last").window()
        WindowSpec(range_us=210, slide_us=30, start_us=0)
        """
        slides = 3 + -(-self.longest_us // self.gap_us)
        return WindowSpec(slides * self.gap_us, self.gap_us)


class _Layout(msgspec.Struct, frozen=True):
    keys: tuple[Column, ...]
    partials: tuple[Partial, ...]


class SessionMerger:
    """As ``ArrowMerger``, of the fragments of several panes: those of a session become one row."""

    def __init__(self, layout: RowLayout, sessions: Sessions) -> None:
        self._sessions = sessions
        keys = (*layout.keys, Column(NUMBER, "bigint"))
        self._numbered = ArrowMerger(_Layout(keys, tuple(layout.partials)))
        plain = ArrowMerger(layout)
        self.key_names, self.schema, self.none = plain.key_names, plain.schema, plain.none

    def merge(self, parts: Sequence[pa.Table]) -> pa.Table:
        """All fragments, as far as they are known to be of one session."""
        table = self._joined(parts)
        found = self._numbered.groups([self._numbered_rows(table, self._found(table).numbers)])
        rows = pa.concat_tables([found.merged, found.apart])
        return rows.drop_columns([NUMBER]).cast(self.schema)

    def ended(self, parts: Sequence[pa.Table], *, end_us: int) -> Groups:
        """The sessions that a window with this end answers."""
        table = self._joined(parts)
        found = self._found(table)
        ends_us = found.last_us + self._sessions.gap_us
        is_here = (ends_us >= end_us - self._sessions.gap_us) & (ends_us < end_us)
        is_long = found.last_us - found.first_us > self._sessions.longest_us
        kept = (is_here & ~is_long)[found.numbers]
        numbered = self._numbered_rows(table, found.numbers)
        groups = self._numbered.groups([numbered.filter(pa.array(kept))])
        too_long = np.unique(found.numbers, return_index=True)[1][is_here & is_long]
        keys = table.select(self.key_names)
        left_out = [groups.overflowing.select(self.key_names), keys.take(pa.array(too_long))]
        return Groups(
            groups.merged.drop_columns([NUMBER]).cast(self.schema),
            groups.apart.drop_columns([NUMBER]).cast(self.schema),
            pa.concat_tables(left_out),
            groups.overflowing_count + len(too_long),
            groups.columns,
            self._reason() if len(too_long) else "",
        )

    def size_bytes(self, rows: pa.Table) -> int:
        return int(rows.nbytes)

    def _reason(self) -> str:
        return f"a session is longer than session_max, {self._sessions.longest_us / MICROS:g} s"

    def _joined(self, parts: Sequence[pa.Table]) -> pa.Table:
        return pa.concat_tables([self.none(), *(in_schema(one, self.schema) for one in parts)])

    def _numbered_rows(self, table: pa.Table, numbers: Numbers) -> pa.Table:
        columns = [*table.select(self.key_names).columns, pa.chunked_array([pa.array(numbers)])]
        columns += table.columns[len(self.key_names) :]
        return pa.Table.from_arrays(columns, schema=self._numbered.schema)

    def _found(self, table: pa.Table) -> Found:
        times = (self._sessions.first, self._sessions.last)
        first_us, last_us = (_times_us(table.column(name)) for name in times)
        codes = key_codes([table.column(name) for name in self.key_names], table.num_rows)
        return find_sessions(codes, first_us, last_us, gap_us=self._sessions.gap_us)


class EndedSessions:
    """A ``SessionMerger`` whose groups are the sessions that one window answers."""

    def __init__(self, merger: SessionMerger, end_us: int) -> None:
        self.merger = merger
        self.key_names = merger.key_names
        self._end_us = end_us

    def groups(self, parts: Sequence[pa.Table]) -> Groups:
        return self.merger.ended(parts, end_us=self._end_us)


class Found(msgspec.Struct, frozen=True):
    numbers: Numbers
    """The session of each fragment."""
    first_us: Numbers
    """By session, as the next."""
    last_us: Numbers


def find_sessions(codes: Numbers, first_us: Numbers, last_us: Numbers, *, gap_us: int) -> Found:
    """Which fragments are of one session: same code, and each begins before all that is up to now
    has been over for more than a gap, as in Spark. Sessions are numbered by code and time.

    >>> at = np.array([0, 3, 7, 20])
    >>> find_sessions(np.zeros(4, int), at, at + 1, gap_us=5).numbers.tolist()
    [0, 0, 0, 1]
    """
    count = len(codes)
    if not count:
        return Found(codes, first_us, last_us)
    order = np.lexsort((first_us, codes))
    code, first, last = codes[order], first_us[order], last_us[order]
    # The latest end so far within a code: ranks instead of times, so that a code can stand before.
    ends, rank = np.unique(last, return_inverse=True)
    latest = ends[np.maximum.accumulate(code * count + rank) - code * count]
    is_new = np.ones(count, bool)
    is_new[1:] = (code[1:] != code[:-1]) | (first[1:] - latest[:-1] > gap_us)
    starts = np.flatnonzero(is_new)
    numbers = np.empty(count, np.int64)
    numbers[order] = np.cumsum(is_new) - 1
    return Found(numbers, first[starts], np.maximum.reduceat(last, starts))


def problem_with_times(rows: Any, sessions: Sessions, pane: int) -> str | None:
    """What is wrong with the fragments of a pane, for people; None: each has its times there, the
    first before the last. One that does not could take the records that others have of its key into
    a session that no window answers."""
    if not isinstance(rows, pa.Table) or not rows.num_rows:
        return None
    names = (sessions.first, sessions.last)
    types = {name: field.type for name, field in zip(rows.column_names, rows.schema, strict=True)}
    if not all(name in types and pa.types.is_timestamp(types[name]) for name in names):
        return "no times of sessions"
    first, last = (rows.column(name) for name in names)
    if first.null_count or last.null_count:
        return "a fragment of a session without a time"
    first_us, last_us = _times_us(first), _times_us(last)
    start_us, end_us = pane * sessions.gap_us, (pane + 1) * sessions.gap_us
    are_there = (start_us <= first_us) & (first_us <= last_us) & (last_us < end_us)
    return None if are_there.all() else "a fragment of a session with times beyond its pane"


def _times_us(column: pa.ChunkedArray) -> Numbers:
    """A fragment without a time, which no honest site has, is of the year 1970."""
    found: Numbers = pc.fill_null(column.cast(pa.int64()), 0).to_numpy()
    return found
