"""Making updates out of the waiting rows of panes.

A pane's rows come from several batches; its update is their merge, in a segment of its own. Where
there is nothing to merge the batch's segment serves as it is, and nothing is written again. What
is larger than ``summary_bytes_max`` becomes several updates. So does a flush that would take a
narrow way for long (``MakeUpdates.piece_bytes``), those rows first that matter most.

A pane of more than ``MERGE_BYTES_MAX`` is merged in portions of that size, so that no number of
groups fills the memory: a key may then be in several of its updates. They are merged on the way, or
at the root.

Under a query that tolerates an error, what is made when a pane is first closed leaves out what does
not matter (``algebra.remainders.withhold``). These rows lie beside its updates, under a number that
is never sent, and what is said of them with the last one. Where they are owed, the pane's next
update takes them all, or what the root asks for of them. Of a pane that is merged in portions
nothing is withheld.

Of a pane of which something left before its close (``early_maker``), what is left is taken.

A pane that has more rows than the query's limit (``row_limit``) has no update: it is declined. What
was sent of it before stays. (Of a pane that is merged in portions, a row counts once for each.)

The parts are read and merged before the transaction, since that takes time; the transaction then
consumes exactly the parts that were read, and rows that came in between wait for the next time.

A part whose bytes are wrong is left out, and the pane's rest is declined (lost) with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter

import msgspec
import pyarrow as pa

from headwater.algebra.capacity.packed_size import packed_size
from headwater.algebra.remainders.early_rows import Taken
from headwater.algebra.remainders.remainder import Remainders
from headwater.algebra.remainders.withhold import Allowance
from headwater.algebra.summary import Merger
from headwater.algebra.windows.coarsening import apart
from headwater.algebra.words.site_state import Reason
from headwater.edge.outputs import MakeUpdates, UpdatesMade
from headwater.store.cube.cube_queries import CubeQueries
from headwater.store.cube.cube_schema import KEPT_BACK, OWED
from headwater.store.cube.early.early_maker import EarlyMaker
from headwater.store.cube.early.part_reader import PartReader
from headwater.store.cube.kept_back.divide import divided
from headwater.store.cube.kept_back.rehearsal import Rehearsal
from headwater.store.cube.row_limit import RowLimit
from headwater.store.cube.split_rows import in_pieces
from headwater.store.image_packer import ImagePacker, Piece, named
from headwater.store.manifest import Manifest, Row
from headwater.store.pane_segments import PaneSegments, Stretch

SUMMARY_BYTES_MAX = 4 << 20

LISTED = "(SELECT value FROM json_each(?))"
"""Panes, as a list in JSON: one statement whatever their number."""


class PreparedPane(msgspec.Struct):
    """What will become of one pane."""

    pane: int
    parts: list[Stretch]
    """What is consumed."""
    pieces: list[Piece] = []
    """One for each update that has to be written."""
    stretches: list[Stretch] = []
    """One for each update: at first those that need no writing, later those of ``pieces``."""
    row_bytes: int = 0
    is_damaged: bool = False
    over: str = ""
    """In words: it has more rows than the query may have."""
    rest: Piece | None = None
    """What is withheld."""
    rest_number: int = OWED
    remainders: Remainders = ()
    """What is said of it."""
    wire_bytes: int = 0
    beside_bytes: int = 0
    row_counts: tuple[int, ...] = ()

    def exceed(self, words: str) -> None:
        self.over = words
        self.pieces, self.stretches = [], []
        self.rest, self.remainders = None, ()


class Counts(msgspec.Struct, frozen=True):
    """Of a pane, before its updates are written."""

    updates: int
    has_parts: bool


NONE = Counts(0, has_parts=False)


class PreparedUpdates(msgspec.Struct):
    wanted: MakeUpdates
    panes: list[PreparedPane]

    @property
    def loosened(self) -> list[int]:
        return [part.segment for pane in self.panes for part in pane.parts]


class UpdateMaker:
    def __init__(
        self,
        manifest: Manifest,
        queries: CubeQueries,
        rows: PaneSegments,
        *,
        early: EarlyMaker,
        summary_bytes_max: int = SUMMARY_BYTES_MAX,
    ) -> None:
        self._early = early
        self._manifest = manifest
        self._queries = queries
        self._rows = rows
        self._merger_of = queries.facts.merger_of
        self._limit_of = queries.facts.limit_of
        self._allowance_of = queries.facts.allowance_of
        self._summary_bytes_max = summary_bytes_max
        self._reader = PartReader(rows)
        self.rehearsal = Rehearsal()

    def prepare(self, wanted: MakeUpdates, packer: ImagePacker) -> PreparedUpdates:
        """Read and merge what waits, into images; nothing is changed."""
        number = self._queries.number(wanted.query)
        prepared = PreparedUpdates(wanted, [])
        if number is None:
            return prepared
        merger = self._merger_of(wanted.query)
        limit, allowances = self._limit_of(wanted.query), self._allowances(wanted)
        rows = self._manifest.all(
            "SELECT pane, segment, first_row, rows FROM parts "
            f"WHERE query = ? AND pane IN {LISTED} ORDER BY pane, segment, first_row",
            (number, str(list(wanted.panes))),
        )
        asked = {one.asked.pane for one in wanted.answers} - {pane for pane, *_ in rows}
        if allowances:
            rows = sorted([*rows, *self._owed(number, wanted.panes)])
        taken = self._early.taken(wanted.query, wanted.panes, self._reader.read)
        closing = self._unmade(number, wanted.panes) if allowances else set[int]()
        closing |= taken.keys() | asked
        for pane, of_pane in groupby(rows, key=itemgetter(0)):
            parts = [Stretch(*row) for _, *row in of_pane]
            former = 0 if limit is None else self._rows_sent(number, pane)
            found = self._prepared(
                wanted.query,
                pane,
                parts,
                merger,
                packer,
                limit,
                former,
                allowances.get(pane) if pane in closing else None,
                taken.get(pane, ()),
                wanted,
            )
            prepared.panes.append(found)
        return prepared

    def _allowances(self, wanted: MakeUpdates) -> dict[int, Allowance]:
        """By pane, where something may be kept back of it."""
        found = ((pane, self._allowance_of(wanted.query, pane)) for pane in wanted.panes)
        return {pane: allowance for pane, allowance in found if allowance is not None}

    def _owed(self, number: int, panes: Sequence[int]) -> list[Row]:
        """What was withheld of them and is to follow."""
        return self._manifest.all(
            "SELECT pane, segment, first_row, rows FROM updates "
            f"WHERE query = ? AND pane IN {LISTED} AND number = {OWED}",
            (number, str(list(panes))),
        )

    def _unmade(self, number: int, panes: Sequence[int]) -> set[int]:
        """Those that have no update yet."""
        counts = self._counts(number, panes)
        return {pane for pane in panes if not counts.get(pane, NONE).updates}

    def _rows_sent(self, number: int, pane: int) -> int:
        """Of its updates so far."""
        ((rows,),) = self._manifest.all(
            "SELECT coalesce(sum(rows), 0) FROM updates "
            "WHERE query = ? AND pane = ? AND number > 0",
            (number, pane),
        )
        return int(rows)

    def _prepared(
        self,
        query: str,
        pane: int,
        parts: list[Stretch],
        merger: Merger,
        packer: ImagePacker,
        limit: RowLimit | None,
        rows: int,
        allowance: Allowance | None,
        taken: Sequence[Taken],
        wanted: MakeUpdates,
    ) -> PreparedPane:
        """``rows`` are in its updates so far, ``taken`` are those that left before the close."""
        prepared = PreparedPane(pane, parts)
        intact: list[Stretch] = []
        early = [one.rows for one in taken if one.rows is not None]
        left = self._early.left(query, taken) if taken else None
        is_known = len(early) == len(taken)
        is_level = bool(self._queries.taken(query))  # panes of a batch have become one
        for tables in self._reader.portions(parts, intact, left):
            tables = apart(tables) if is_level else tables
            merged = merger.merge(tables) if len(tables) != 1 else tables[0]
            is_whole = is_known and len(intact) == len(parts) and not prepared.pieces
            if allowance is not None and is_whole:
                merged = self._withheld(wanted, merged, allowance, prepared, packer, early)
            elif allowance is not None and allowance.is_rehearsed:
                self.rehearsal.add(query, pane, merged.num_rows, is_first=not prepared.pieces)
            if wanted.is_measured:
                prepared.wire_bytes += packed_size(merged)
                prepared.beside_bytes += packed_size(merged.slice(0, 1))
            rows += merged.num_rows if limit is None else limit.count(merged)
            if limit is not None and rows > limit.rows_max:
                prepared.exceed(limit.words(rows))
                continue
            measured = self._early.early_of(wanted.query) if wanted.piece_bytes else None
            sized = in_pieces(
                merged, merger, measured, wanted.piece_bytes, bytes_max=self._summary_bytes_max
            )
            prepared.row_bytes = max(prepared.row_bytes, *(size_bytes for _, size_bytes in sized))
            pieces = [piece for piece, _ in sized]
            is_alone = len(pieces) == len(parts) == len(intact) == 1 and not (taken or is_level)
            if is_alone and prepared.rest is None:
                prepared.stretches = intact
                break
            for piece in pieces:
                image, first_row = packer.add(query, pane, piece)
                prepared.pieces.append((image, first_row, piece.num_rows))
        prepared.is_damaged = len(intact) < len(parts) or not is_known
        return prepared

    def _withheld(
        self,
        wanted: MakeUpdates,
        rows: pa.Table,
        allowance: Allowance,
        prepared: PreparedPane,
        packer: ImagePacker,
        early: Sequence[pa.Table],
    ) -> pa.Table:
        """What of them is sent."""
        query, pane = wanted.query, prepared.pane
        both = divided(rows, wanted, pane, allowance, early)
        found, prepared.row_counts = both.found, both.row_counts
        if allowance.is_rehearsed:
            self.rehearsal.note(query, pane, rows, found)
            return rows
        if found is None:
            return rows
        image, first_row = packer.add(query, pane, found.rest)
        prepared.rest = (image, first_row, found.rest.num_rows)
        is_for_good = allowance.keeps_rest and allowance.tolerance.top is None
        prepared.rest_number = KEPT_BACK if is_for_good else OWED
        prepared.remainders = found.remainders
        return found.sent

    def write(self, prepared: PreparedUpdates, *, now_s: float) -> list[UpdatesMade]:
        """Inside a transaction, when the images are on the disk: number updates."""
        number = self._queries.write_record(prepared.wanted.query, prepared.wanted.record)
        counts = self._counts(number, prepared.wanted.panes)
        files: dict[str, int] = {}
        for pane in prepared.panes:
            pane.stretches += [named(self._rows, number, piece, files) for piece in pane.pieces]
        rests = {
            pane.pane: named(self._rows, number, pane.rest, files)
            for pane in prepared.panes
            if pane.rest is not None
        }
        there = [pane for pane in prepared.panes if counts.get(pane.pane, NONE).has_parts]
        self._number(number, prepared.wanted, there, counts, now_s=now_s)
        self._keep_rests(number, there, rests, counts)
        done = {pane.pane: _done(prepared.wanted.query, pane, counts[pane.pane]) for pane in there}
        return [
            done.get(pane) or _nothing(prepared.wanted.query, pane, counts.get(pane, NONE))
            for pane in prepared.wanted.panes
        ]

    def _counts(self, number: int, panes: Sequence[int]) -> dict[int, Counts]:
        """As they are now: retention may have taken a pane since that was prepared."""
        rows = self._manifest.all(
            "SELECT pane, updates, EXISTS (SELECT 1 FROM parts WHERE parts.query = panes.query "
            "AND parts.pane = panes.pane) OR EXISTS (SELECT 1 FROM updates WHERE updates.query = "
            f"panes.query AND updates.pane = panes.pane AND number = {OWED}) FROM panes "
            f"WHERE query = ? AND pane IN {LISTED}",
            (number, str(list(panes))),
        )
        return {pane: Counts(updates, bool(has_parts)) for pane, updates, has_parts in rows}

    def _number(
        self,
        number: int,
        wanted: MakeUpdates,
        panes: Sequence[PreparedPane],
        counts: Mapping[int, Counts],
        *,
        now_s: float,
    ) -> None:
        """Each statement once for all panes: a thousand sites close a few panes each."""
        self._manifest.run_many(
            "DELETE FROM parts WHERE query = ? AND pane = ? AND segment = ? AND first_row = ?",
            ((number, one.pane, p.segment, p.first_row) for one in panes for p in one.parts),
        )
        if self._allowances(wanted):
            self._manifest.run_many(
                f"DELETE FROM updates WHERE query = ? AND pane = ? AND number = {OWED}",
                ((number, one.pane) for one in panes),
            )
        if self._early.early_of(wanted.query) is not None:
            self._manifest.run_many(
                "UPDATE updates SET through = NULL WHERE query = ? AND pane = ?",
                ((number, one.pane) for one in panes),
            )
        self._manifest.run_many(
            "INSERT INTO updates VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL)",
            (
                (number, one.pane, update, s.segment, s.first_row, s.rows, wanted.sent)
                for one in panes
                for update, s in enumerate(one.stretches, start=counts[one.pane].updates + 1)
            ),
        )
        self._manifest.run_many(
            "UPDATE panes SET updates = updates + ?, row_bytes = max(row_bytes, ?), is_acked = 0, "
            "written_s = ? WHERE query = ? AND pane = ?",
            ((len(one.stretches), one.row_bytes, now_s, number, one.pane) for one in panes),
        )
        for one in panes:
            if one.over or one.is_damaged:
                reason = Reason.LIMIT if one.over else Reason.LOST
                self._queries.end_pane(wanted.query, one.pane, reason)

    def _keep_rests(
        self,
        number: int,
        panes: Sequence[PreparedPane],
        rests: Mapping[int, Stretch],
        counts: Mapping[int, Counts],
    ) -> None:
        """What was withheld, and what is said of it with the last update of the close."""
        kept = [(one, rests[one.pane]) for one in panes if one.pane in rests]
        self._manifest.run_many(
            "INSERT INTO updates VALUES (?, ?, ?, ?, ?, ?, 1, NULL, NULL)",
            (
                (number, one.pane, one.rest_number, s.segment, s.first_row, s.rows)
                for one, s in kept
            ),
        )
        self._manifest.run_many(
            "UPDATE updates SET withheld = ? WHERE query = ? AND pane = ? AND number = ?",
            (
                (
                    msgspec.msgpack.encode(one.remainders),
                    number,
                    one.pane,
                    counts[one.pane].updates + len(one.stretches),
                )
                for one, _ in kept
            ),
        )


def _done(query: str, pane: PreparedPane, counts: Counts) -> UpdatesMade:
    return UpdatesMade(
        query,
        pane.pane,
        counts.updates + 1,
        counts.updates + len(pane.stretches),
        pane.row_bytes,
        is_whole=not pane.is_damaged,
        over=pane.over,
        withheld=pane.remainders,
        wire_bytes=pane.wire_bytes,
        beside_bytes=pane.beside_bytes,
        row_counts=pane.row_counts,
    )


def _nothing(query: str, pane: int, counts: Counts) -> UpdatesMade:
    return UpdatesMade(query, pane, counts.updates + 1, counts.updates)
