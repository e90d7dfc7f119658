"""Making updates out of the waiting rows of panes.

A pane's rows come from several batches; its update is their merge, in a segment of its own. Where
there is nothing to merge the batch's segment serves as it is, and nothing is written again. What
is larger than ``summary_bytes_max`` becomes several updates.

A pane of more than ``MERGE_BYTES_MAX`` is merged in portions of that size, so that no number of
groups fills the memory: a key may then be in several of its updates. They are merged on the way, or
at the root.

The parts are read and merged before the transaction, since that takes time; the transaction then
consumes exactly the parts that were read, and rows that came in between wait for the next cut.

A part whose bytes are wrong is left out, and the pane's rest is declined (lost) with the cut. A
disk that refuses to read a part holds the cut up, for it may think better of it. A part that it
refuses ``UNREADABLE_TRIES_MAX`` times in a row with an I/O error is set aside and left out too, if
the disk takes that: one bad sector must not stop a site.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator

import msgspec
import pyarrow as pa

from headwater.algebra.site_state import Reason
from headwater.algebra.summary import Merger
from headwater.edge.outputs import Cut, CutDone
from headwater.errors import DiskTrouble, SegmentDamaged
from headwater.store.cube_queries import CubeQueries
from headwater.store.image_packer import Image, ImagePacker
from headwater.store.manifest import Manifest
from headwater.store.pane_segments import PaneSegments, Stretch

SUMMARY_BYTES_MAX = 4 << 20
UNREADABLE_TRIES_MAX = 5
MERGE_BYTES_MAX = 64 << 20
"""Rows of one pane that are merged at once, as Arrow holds them."""


Piece = tuple[Image, int, int]
"""An update in the making: the image that it is in, its first row there, and its rows."""


class PlannedPane(msgspec.Struct):
    """What will become of one pane."""

    pane: int
    parts: list[Stretch]
    """What is consumed."""
    pieces: list[Piece] = []
    """One for each update that has to be written."""
    stretches: list[Stretch] = []
    """One for each update that needs no writing; either this or ``pieces`` is empty."""
    row_bytes: int = 0
    is_damaged: bool = False


class PlannedCut(msgspec.Struct):
    cut: Cut
    panes: list[PlannedPane]


class UpdateCutter:
    def __init__(
        self,
        manifest: Manifest,
        queries: CubeQueries,
        rows: PaneSegments,
        *,
        merger_of: Callable[[str], Merger],
        summary_bytes_max: int = SUMMARY_BYTES_MAX,
    ) -> None:
        self._manifest = manifest
        self._queries = queries
        self._rows = rows
        self._merger_of = merger_of
        self._summary_bytes_max = summary_bytes_max
        self._unreadable: dict[int, int] = {}
        """By segment: how often in a row the disk refused to read it."""

    def plan(self, cut: Cut, packer: ImagePacker) -> PlannedCut:
        """Read and merge what waits, into images; nothing is changed."""
        number = self._queries.number(cut.query)
        planned = PlannedCut(cut, [])
        if number is None:
            return planned
        merger = self._merger_of(cut.query)
        for pane in cut.panes:
            rows = self._manifest.all(
                "SELECT segment, first_row, rows FROM parts WHERE query = ? AND pane = ? "
                "ORDER BY segment, first_row",
                (number, pane),
            )
            if rows:
                parts = [Stretch(*row) for row in rows]
                planned.panes.append(self._planned(cut.query, pane, parts, merger, packer))
        return planned

    def _planned(
        self, query: str, pane: int, parts: list[Stretch], merger: Merger, packer: ImagePacker
    ) -> PlannedPane:
        planned = PlannedPane(pane, parts)
        intact: list[Stretch] = []
        for tables in self._portions(parts, intact):
            merged = merger.merge(tables) if len(tables) != 1 else tables[0]
            pieces = _split(merged, merger, self._summary_bytes_max)
            planned.row_bytes = max(planned.row_bytes, *map(merger.size_bytes, pieces))
            if len(pieces) == len(parts) == len(intact) == 1:
                planned.stretches = intact
                break
            for piece in pieces:
                image, first_row = packer.add(query, pane, piece)
                planned.pieces.append((image, first_row, piece.num_rows))
        planned.is_damaged = len(intact) < len(parts)
        return planned

    def _portions(self, parts: list[Stretch], intact: list[Stretch]) -> Iterator[list[pa.Table]]:
        """The tables of all parts that can be read, up to ``MERGE_BYTES_MAX`` and one at a time;
        the parts themselves into ``intact``. There is at least one portion, if an empty one."""
        tables: list[pa.Table] = []
        for part in parts:
            table = self._read(part)
            if table is None:
                continue
            if tables and sum(one.nbytes for one in tables) + table.nbytes > MERGE_BYTES_MAX:
                yield tables
                tables = []
            tables.append(table)
            intact.append(part)
        yield tables

    def _read(self, part: Stretch) -> pa.Table | None:
        """None: its rows are lost. Raises ``DiskTrouble`` where that is too early to say."""
        try:
            table = self._rows.load(part)
        except SegmentDamaged:
            return None
        except DiskTrouble as error:
            if getattr(error.__cause__, "errno", None) != errno.EIO:
                raise
            tries = self._unreadable[part.segment] = self._unreadable.get(part.segment, 0) + 1
            if tries < UNREADABLE_TRIES_MAX:
                raise
            self._rows.give_up(part.segment)
            del self._unreadable[part.segment]
            return None
        self._unreadable.pop(part.segment, None)
        return table

    def write(self, planned: PlannedCut, *, now_s: float) -> list[CutDone]:
        """Inside a transaction, when the images are on the disk: number updates."""
        number = self._queries.write_record(planned.cut.query, planned.cut.record)
        files: dict[str, int] = {}
        done = {}
        for pane in planned.panes:
            stretches = [*pane.stretches, *(self._named(number, p, files) for p in pane.pieces)]
            if self._is_there(number, pane.pane):
                done[pane.pane] = self._number(number, planned.cut, pane, stretches, now_s=now_s)
        return [
            done.get(pane) or self._nothing(number, planned.cut.query, pane)
            for pane in planned.cut.panes
        ]

    def _named(self, query: int, piece: Piece, files: dict[str, int]) -> Stretch:
        image, first_row, rows = piece
        assert image.segment is not None, "what is numbered is on the disk"
        if image.segment.name not in files:
            files[image.segment.name] = self._rows.add(query, image.segment)
        return Stretch(files[image.segment.name], first_row, rows)

    def _is_there(self, number: int, pane: int) -> bool:
        """Retention may have taken the pane since the cut was planned."""
        row = self._manifest.first(
            "SELECT 1 FROM parts WHERE query = ? AND pane = ?", (number, pane)
        )
        return row is not None

    def _number(
        self, number: int, cut: Cut, pane: PlannedPane, stretches: list[Stretch], *, now_s: float
    ) -> CutDone:
        (before,) = self._manifest.one(
            "SELECT updates FROM panes WHERE query = ? AND pane = ?", (number, pane.pane)
        )
        self._manifest.run_many(
            "DELETE FROM parts WHERE query = ? AND pane = ? AND segment = ? AND first_row = ?",
            ((number, pane.pane, part.segment, part.first_row) for part in pane.parts),
        )
        self._manifest.run_many(
            "INSERT INTO updates VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                (number, pane.pane, before + n, s.segment, s.first_row, s.rows, cut.sent)
                for n, s in enumerate(stretches, start=1)
            ),
        )
        last = before + len(stretches)
        self._manifest.run(
            "UPDATE panes SET updates = ?, row_bytes = max(row_bytes, ?), is_acked = 0, "
            "written_s = ? WHERE query = ? AND pane = ?",
            (last, pane.row_bytes, now_s, number, pane.pane),
        )
        if pane.is_damaged:
            self._queries.end_pane(cut.query, pane.pane, Reason.LOST)
        is_whole = not pane.is_damaged
        return CutDone(cut.query, pane.pane, before + 1, last, pane.row_bytes, is_whole=is_whole)

    def _nothing(self, number: int, query: str, pane: int) -> CutDone:
        row = self._manifest.first(
            "SELECT updates FROM panes WHERE query = ? AND pane = ?", (number, pane)
        )
        count = int(row[0]) if row is not None else 0
        return CutDone(query, pane, count + 1, count)


def consumed(planned: Iterable[PlannedCut]) -> set[int]:
    """The segments that may be free once these cuts are written."""
    return {part.segment for cut in planned for pane in cut.panes for part in pane.parts}


def _split(rows: pa.Table, merger: Merger, bytes_max: int) -> list[pa.Table]:
    """In halves until each fits; a single row is let through whatever its size."""
    if rows.num_rows <= 1 or merger.size_bytes(rows) <= bytes_max:
        return [rows]
    half = rows.num_rows // 2
    return _split(rows.slice(0, half), merger, bytes_max) + _split(
        rows.slice(half), merger, bytes_max
    )
