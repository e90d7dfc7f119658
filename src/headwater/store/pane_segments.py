"""Stretches of segments as the rows of panes: loading them, and freeing what nobody names.

In a segment the rows of a pane lie together, under a column ``pane`` that says which: so Spark,
or anything else, can read a segment by itself. A loaded stretch has the query's own columns only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa

from headwater.errors import RowsGone, SegmentDamaged
from headwater.store.disk import Disk
from headwater.store.held_segments import HeldSegments
from headwater.store.manifest import Manifest
from headwater.store.segments import Segment, SegmentStore

PANE = "pane"

AnySegments = SegmentStore | HeldSegments


class Stretch(msgspec.Struct, frozen=True, array_like=True):
    """Rows of one pane: a segment's number in the manifest, and where they lie in it."""

    segment: int
    first_row: int
    rows: int


class PaneSegments:
    def __init__(self, manifest: Manifest, store: AnySegments) -> None:
        self.store = store
        self._manifest = manifest
        self._newest: tuple[int, Segment] | None = None
        """The one that was looked up last: the panes of a batch lie in one, and are cut and sent
        one after the other. A number is never used again."""

    def add(self, query: int, segment: Segment) -> int:
        """Inside a transaction: name a segment that is on the disk. Returns its number."""
        cursor = self._manifest.run(
            "INSERT INTO segments (query, name, bytes, rows, checksum) VALUES (?, ?, ?, ?, ?)",
            (query, segment.name, segment.bytes, segment.rows, segment.checksum),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def load(self, stretch: Stretch) -> pa.Table:
        """The rows. Raises ``SegmentDamaged`` or ``RowsGone``, now and ever after; anything else
        is worth another try."""
        table = self.load_all(stretch.segment)
        return table.slice(stretch.first_row, stretch.rows).drop_columns([PANE])

    def load_all(self, number: int) -> pa.Table:
        """All rows of a segment, with their panes. Raises as ``load``."""
        segment = self._segment(number)
        try:
            return self.store.read(segment)
        except SegmentDamaged:
            self._mark_damaged(number)
            raise

    def _segment(self, number: int) -> Segment:
        newest = self._newest
        if newest is not None and newest[0] == number:
            return newest[1]
        found = self._manifest.first(
            "SELECT name, checksum, bytes, rows, is_damaged FROM segments WHERE id = ?", (number,)
        )
        if found is None:
            raise RowsGone(f"segment {number}: it was freed; retention has taken its rows")
        *segment, is_damaged = found
        if is_damaged:
            raise SegmentDamaged(f"segment {segment[0]}: it was damaged and stays in quarantine")
        self._newest = (number, Segment(*segment))
        return self._newest[1]

    def give_up(self, segment: int) -> None:
        """Nobody gets its bytes back: the file is set aside as if they were wrong."""
        (name,) = self._manifest.one("SELECT name FROM segments WHERE id = ?", (segment,))
        self.store.set_aside(name)
        self._mark_damaged(segment)

    def _mark_damaged(self, segment: int) -> None:
        self._newest = None
        with self._manifest.transaction():
            self._manifest.run("UPDATE segments SET is_damaged = 1 WHERE id = ?", (segment,))

    def free(self, segments: Iterable[int]) -> list[str]:
        """Inside a transaction: forget those that no pane needs. Returns files to remove after."""
        self._newest = None
        names = []
        for segment in sorted(set(segments)):
            rows = self._manifest.all(
                "DELETE FROM segments WHERE id = ? "
                "AND NOT EXISTS (SELECT 1 FROM parts WHERE segment = segments.id) "
                "AND NOT EXISTS (SELECT 1 FROM updates WHERE segment = segments.id) "
                "AND NOT EXISTS (SELECT 1 FROM ring WHERE segment = segments.id) "
                "RETURNING name, is_damaged",
                (segment,),
            )
            names += [name for name, is_damaged in rows if not is_damaged]
        return names

    @contextlib.contextmanager
    def undone_if_failed(self, names: Sequence[str]) -> Iterator[None]:
        """Files of what was not committed go, unless that isn't sure."""
        try:
            yield
        except BaseException:
            if not self._manifest.is_broken:
                self.store.remove(names)
            raise


def with_pane(rows: pa.Table, pane: int) -> pa.Table:
    """Rows of one pane in the shape of a segment."""
    column = pa.repeat(pa.scalar(pane, pa.int64()), rows.num_rows)
    return rows.add_column(0, pa.field(PANE, pa.int64(), nullable=False), column)


def opened_segments(directory: Path, disk: Disk, bytes_max: int) -> AnySegments:
    """Files, or rows in memory where nothing is kept."""
    if disk.is_kept:
        return SegmentStore(directory, disk=disk, cache_bytes_max=bytes_max)
    return HeldSegments(directory, disk=disk, bytes_max=bytes_max)
