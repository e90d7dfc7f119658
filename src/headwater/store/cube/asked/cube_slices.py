"""The panes of one stream as a question finds them: in one look at the manifest, then pinned.

Of each pane it is said what it is, and never more than is known: an empty pane and one that was let
go of look alike in segments, so what retention has taken is told from the manifest. The rows of a
closed pane are all that the cube has of it: its updates, what was kept back of them, and what came
late and is in no update yet. Those of an open one are what came so far.

What is in no update yet moves when one is made of it. Whoever finds it gone looks again, in the
turn of those who move it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import msgspec
import pyarrow as pa

from headwater.algebra.sets import ranges
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.words.site_state import FOREVER, Reason
from headwater.errors import RowsGone, SegmentDamaged, StoreError
from headwater.store.cube.asked.pins import Pin, Pins
from headwater.store.cube.cube_queries import CubeQueries
from headwater.store.manifest import Manifest
from headwater.store.pane_segments import PaneSegments, Stretch


class CubeSlice(msgspec.Struct, frozen=True):
    """Panes first … last of a stream, at one moment."""

    stream: str
    first: int
    last: int
    closed_through: int
    """Panes below this were closed then; ``FOREVER``: all."""
    stretches: dict[int, tuple[Stretch, ...]]
    """By pane, of those that are here and have rows."""
    lacking: tuple[tuple[int, int, Reason], ...]
    """Panes first … last that are not here as a whole, and why."""
    damaged: Ranges
    """Those that are here and can't be exact, open ones among them."""
    bytes: int
    """Of their rows, about, as they lie on the disk."""
    open: Ranges = ()
    """Those that are here as far as they have come, where these are wanted."""

    @property
    def rows(self) -> int:
        return sum(one.rows for of_pane in self.stretches.values() for one in of_pane)

    def why_lacking(self, first: int, last: int) -> Reason | None:
        """Why panes first … last are not here as a whole; None: they are."""
        found = (why for a, b, why in self.lacking if a <= last and first <= b)
        return next(found, None)

    def is_damaged(self, first: int, last: int) -> bool:
        return ranges.intersects(self.damaged, ((first, last),))

    def rows_of(self, first: int, last: int) -> int:
        return sum(one.rows for _, one in self.between(first, last))

    def most_rows_of(self, first: int, last: int) -> int:
        """Of the pane that has the most of them."""
        by_pane = dict[int, int]()
        for pane, one in self.between(first, last):
            by_pane[pane] = by_pane.get(pane, 0) + one.rows
        return max(by_pane.values(), default=0)

    def between(self, first: int, last: int) -> Iterator[tuple[int, Stretch]]:
        for pane in range(max(first, self.first), min(last, self.last) + 1):
            yield from ((pane, one) for one in self.stretches.get(pane, ()))


class CubeSlices:
    def __init__(
        self, manifest: Manifest, queries: CubeQueries, rows: PaneSegments, *, turn: threading.Lock
    ) -> None:
        """``turn``: of those who free segments."""
        self._manifest = manifest
        self._queries = queries
        self._rows = rows
        self._turn = turn
        self.pins = Pins()

    def slice(self, stream: str, first: int, last: int, *, opens: bool = False) -> CubeSlice:
        """As it is now, ``opens``: with open panes. Raises ``StoreError`` for a stream that has
        nothing here."""
        with self._manifest.lock:
            return self._slice(stream, first, last, opens=opens)

    def pinned(
        self,
        question: str,
        stream: str,
        first: int,
        last: int,
        *,
        until_s: float,
        opens: bool = False,
    ) -> CubeSlice:
        """The same, and from this moment on retention passes over it until then."""
        with self._manifest.lock:
            found = self._slice(stream, first, last, opens=opens)
            number = self._queries.number(stream)
            assert number is not None, "a stream of which there is a slice has a number"
            self.pins.put(question, Pin(number, first, last, found.bytes, until_s))
            return found

    def load(self, stretch: Stretch) -> pa.Table | None:
        """None: its bytes are wrong, or no more there. Raises ``StoreError`` where that is too
        early to say."""
        try:
            return self._rows.load(stretch)
        except (SegmentDamaged, RowsGone):
            return None

    def load_anew(self, found: CubeSlice, first: int, last: int) -> list[pa.Table] | None:
        """All rows of pinned panes first … last as they are now, since an update may have been made
        of what they had in none. None: some are damaged."""
        with self._turn:
            now = self.slice(found.stream, first, last, opens=bool(found.open))
            if now.why_lacking(first, last) is not None:
                return None
            tables = [self.load(stretch) for _, stretch in now.between(first, last)]
        whole = [one for one in tables if one is not None]
        return whole if len(whole) == len(tables) else None

    def _slice(self, stream: str, first: int, last: int, *, opens: bool) -> CubeSlice:
        number = self._queries.number(stream)
        if number is None:
            raise StoreError(f"stream {stream}: wanted its panes, the cube has nothing of it")
        record = self._queries.record(stream)
        (kept_from,) = self._manifest.one("SELECT kept_from FROM queries WHERE id = ?", (number,))
        there = self._manifest.all(
            "SELECT pane, is_dropped FROM panes WHERE query = ? AND pane BETWEEN ? AND ?",
            (number, first, last),
        )
        begin = FOREVER if record.first_pane is None else record.first_pane
        lacking = [
            (max(first, one.first), min(last, one.last), one.reason)
            for one in record.declined
            if one.first <= last and first <= one.last
        ]
        for one in record.set_aside:
            lacking += _cut(first, last, one.first, one.last, Reason.SHED)
        lacking += [(pane, pane, Reason.EXPIRED) for pane, is_dropped in there if is_dropped]
        lacking += _cut(first, last, -FOREVER, begin - 1, Reason.NOT_INSTALLED)
        lowest = max(begin, record.closed_through)
        end = FOREVER if record.end_pane is None else record.end_pane
        lacking += _cut(first, last, end, FOREVER, Reason.NOT_INSTALLED)
        open_ = tuple(_within(first, last, lowest, end - 1)) if opens else ()
        if not opens:
            lacking += _cut(first, last, record.closed_through, end - 1, Reason.NOT_CLOSED)
        known = ranges.normal((pane, pane) for pane, _ in there)
        gone = ranges.difference(
            ranges.normal(_within(first, last, -FOREVER, kept_from - 1)), known
        )
        lacking += [(a, b, Reason.EXPIRED) for a, b in gone]
        flawed = [one for a, b in record.flawed for one in _within(first, last, a, b)]
        damaged = [one for a, b in record.damaged for one in _within(first, last, a, b)]
        here_last = last if opens else min(last, record.closed_through - 1)
        stretches, byte_count = self._stretches(number, max(first, begin), here_last)
        return CubeSlice(
            stream,
            first,
            last,
            record.closed_through,
            stretches,
            tuple(lacking),
            ranges.normal([*flawed, *damaged, *open_]),
            byte_count,
            open_,
        )

    def _stretches(
        self, number: int, first: int, last: int
    ) -> tuple[dict[int, tuple[Stretch, ...]], int]:
        """Updates of all numbers, also of those that are never sent, and what waits. What left
        before a pane's close is in what waits until then."""
        found: dict[int, tuple[Stretch, ...]] = {}
        byte_count = 0.0
        for table, which in (("updates", " AND through IS NULL"), ("parts", "")):
            for pane, *stretch, segment_bytes, segment_rows in self._manifest.all(
                f"SELECT pane, segment, first_row, of.rows, segments.bytes, segments.rows "
                f"FROM {table} AS of JOIN segments ON segments.id = segment "
                f"WHERE of.query = ? AND pane BETWEEN ? AND ?{which} "
                "ORDER BY pane, segment, first_row",
                (number, first, last),
            ):
                one = Stretch(*stretch)
                found[pane] = (*found.get(pane, ()), one)
                byte_count += segment_bytes * one.rows / max(1, segment_rows)
        return found, round(byte_count)


def _within(first: int, last: int, low: int, high: int) -> list[tuple[int, int]]:
    """What of low … high lies in first … last."""
    a, b = max(first, low), min(last, high)
    return [(a, b)] if a <= b else []


def _cut(first: int, last: int, low: int, high: int, why: Reason) -> list[tuple[int, int, Reason]]:
    return [(a, b, why) for a, b in _within(first, last, low, high)]
