"""Making updates of a state query: for each pane the state at its end, of all that is committed.

States are made of the ring (``state_ring``), read once for all panes of a write. A pane whose rows
are those of the pane before it shares its stretches: so nothing is written for a site that is
quiet, and every pane has updates of its own that can be repaired alone. When the panes are made,
what no later state can have goes from the ring, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pyarrow as pa

from headwater.algebra.summary import Merger
from headwater.algebra.windows.last_rows import Last, LastRows
from headwater.algebra.words.site_state import Reason
from headwater.edge.outputs import MakeUpdates, UpdatesMade
from headwater.errors import StoreError
from headwater.store.cube.cube_queries import CubeQueries
from headwater.store.cube.split_rows import split_rows
from headwater.store.cube.state_ring import (
    BLOCKS_MAX,
    SPARE_ROWS,
    Block,
    RingRows,
    StateRing,
    is_whole,
)
from headwater.store.image_packer import Image, ImagePacker, Piece, named
from headwater.store.manifest import Manifest
from headwater.store.pane_segments import PaneSegments, Stretch


class StateUpdates(msgspec.Struct):
    """The updates of one pane, or of several that have the same."""

    tables: list[pa.Table]
    row_bytes: int = 0
    pieces: list[Piece] = []
    """Those that this write writes; none where they are on the disk."""
    stretches: list[Stretch] = []


class PreparedState(msgspec.Struct):
    pane: int
    last: Last
    written: StateUpdates
    is_same: bool = False
    over: str = ""


class PreparedStates(msgspec.Struct):
    wanted: MakeUpdates
    of: LastRows
    states: list[PreparedState] = []
    dropped: list[Block] = []
    """Blocks that no later state needs."""
    damaged: tuple[Block, ...] = ()
    again: Image | None = None
    """Where what is still wanted of them is written anew."""
    through_row: int = 0
    """Of the newest block."""
    filled_below: int | None = None
    """Enough records were read after this number."""

    @property
    def loosened(self) -> list[int]:
        return [block.segment for block in (*self.dropped, *self.damaged)]


class StateMaker:
    def __init__(
        self,
        manifest: Manifest,
        queries: CubeQueries,
        rows: PaneSegments,
        ring: StateRing,
        *,
        summary_bytes_max: int,
    ) -> None:
        self._manifest = manifest
        self._queries = queries
        self._rows = rows
        self._ring = ring
        self._merger_of = queries.facts.merger_of
        self._limit_of = queries.facts.limit_of
        self._summary_bytes_max = summary_bytes_max

    def prepare(self, wanted: MakeUpdates, of: LastRows, packer: ImagePacker) -> PreparedStates:
        """Read the ring and merge each state, into images; nothing is changed."""
        prepared = PreparedStates(wanted, of)
        number = self._queries.number(wanted.query)
        if number is None:
            return prepared
        ring = self._ring.read(number)
        prepared.damaged = ring.damaged
        prepared.through_row = max((one.through_row for one in ring.blocks), default=0)
        before: PreparedState | None = None
        for pane in sorted(wanted.panes):
            before = self._state(prepared, ring, number, pane, before, packer)
            prepared.states.append(before)
        self._tidy(prepared, ring, packer)
        return prepared

    def _state(
        self,
        prepared: PreparedStates,
        ring: RingRows,
        number: int,
        pane: int,
        before: PreparedState | None,
        packer: ImagePacker,
    ) -> PreparedState:
        last = ring.last(pane, prepared.of.last_n)
        is_next = before is not None and before.pane == pane - 1
        if is_next and before is not None and np.array_equal(last.places, before.last.places):
            return PreparedState(pane, last, before.written, is_same=True, over=before.over)
        former = before.written if is_next and before is not None else self._former(number, pane)
        if not len(last.places):
            return PreparedState(pane, last, StateUpdates([]), is_same=not former.tables)
        merged = _merged(ring.reduced(last.places), self._merger_of(prepared.wanted.query))
        limit = self._limit_of(prepared.wanted.query)
        rows = 0 if limit is None else limit.count(merged)
        if limit is not None and rows > limit.rows_max:
            return PreparedState(pane, last, StateUpdates([]), over=limit.words(rows))
        merger = self._merger_of(prepared.wanted.query)
        sized = split_rows(merged, merger, self._summary_bytes_max)
        tables = [table for table, _ in sized]
        if _are_equal(tables, former.tables):
            return PreparedState(pane, last, former, is_same=True)
        written = StateUpdates(tables, max(size_bytes for _, size_bytes in sized))
        for table in tables:
            image, first_row = packer.add(prepared.wanted.query, pane, table)
            written.pieces.append((image, first_row, table.num_rows))
        return PreparedState(pane, last, written)

    def _former(self, number: int, pane: int) -> StateUpdates:
        """What the pane before it has; nothing where that is not to be had any more."""
        found = self._manifest.all(
            "SELECT segment, first_row, rows, row_bytes FROM updates JOIN panes USING (query, pane)"
            " WHERE query = ? AND pane = ? ORDER BY number",
            (number, pane - 1),
        )
        stretches = [Stretch(*row[:3]) for row in found]
        try:
            tables = [self._rows.load(stretch) for stretch in stretches]
        except StoreError:
            return StateUpdates([])
        row_bytes = max((row[3] for row in found), default=0)
        return StateUpdates(tables, row_bytes, stretches=stretches)

    def _tidy(self, prepared: PreparedStates, ring: RingRows, packer: ImagePacker) -> None:
        """Choose the blocks that go when these panes are made."""
        last_n, closed = prepared.of.last_n, prepared.wanted.record.closed_through
        places = ring.wanted(closed, last_n)
        prepared.filled_below = ring.last(closed - 1, last_n).oldest
        needed = set(np.unique(ring.block_of[places]).tolist())
        prepared.dropped = [one for one in ring.blocks if one.segment not in needed]
        held = int(np.isin(ring.block_of, list(needed)).sum())
        is_loose = held > 2 * len(places) + SPARE_ROWS or len(needed) > BLOCKS_MAX
        if is_loose and len(places):
            prepared.dropped = list(ring.blocks)
            prepared.again = packer.add_alone(prepared.wanted.query, ring.whole(places))

    def write(self, prepared: PreparedStates, *, now_s: float) -> list[UpdatesMade]:
        """Inside a transaction, when the images are on the disk."""
        wanted = prepared.wanted
        number = self._queries.write_record(wanted.query, wanted.record)
        for block in prepared.damaged:
            self._ring.miss(number, at_row=block.through_row)
        self._ring.drop(number, [*prepared.dropped, *prepared.damaged])
        if prepared.again is not None:
            assert prepared.again.segment is not None, "what is named is on the disk"
            self._ring.add(number, prepared.again.segment, through_row=prepared.through_row)
        gaps = self._ring.gaps(number)
        files: dict[str, int] = {}
        done = [self._write_state(number, prepared, one, gaps, files) for one in prepared.states]
        self._number(number, wanted, prepared.states, now_s=now_s)
        self._queries.damage(wanted.query, [one.pane for one in done if not one.is_whole])
        if prepared.filled_below is not None:
            self._ring.fill_gaps(number, below_row=prepared.filled_below)
        made = {one.pane: one for one in done}
        return [made.get(pane) or UpdatesMade(wanted.query, pane, 1, 0) for pane in wanted.panes]

    def _write_state(
        self,
        number: int,
        prepared: PreparedStates,
        state: PreparedState,
        gaps: Sequence[tuple[int, int]],
        files: dict[str, int],
    ) -> UpdatesMade:
        query, written = prepared.wanted.query, state.written
        if not written.stretches:
            written.stretches = [
                named(self._rows, number, piece, files) for piece in written.pieces
            ]
        first_pane = prepared.wanted.record.first_pane
        assert first_pane is not None, "who makes updates answers for some pane"
        if state.over:
            self._queries.end_pane(query, state.pane, Reason.LIMIT)
        return UpdatesMade(
            query,
            state.pane,
            1,
            len(written.stretches),
            written.row_bytes,
            is_same=state.is_same,
            is_whole=is_whole(
                state.last, gaps, pane=state.pane, of=prepared.of, first_pane=first_pane
            ),
            over=state.over,
        )

    def _number(
        self, number: int, wanted: MakeUpdates, states: Sequence[PreparedState], *, now_s: float
    ) -> None:
        filled = [one for one in states if one.written.stretches]
        self._manifest.run_many(
            "INSERT INTO panes (query, pane, updates, row_bytes, written_s) VALUES (?, ?, ?, ?, ?)",
            (
                (number, one.pane, len(one.written.stretches), one.written.row_bytes, now_s)
                for one in filled
            ),
        )
        self._manifest.run_many(
            "INSERT INTO updates VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL)",
            (
                (number, one.pane, update, s.segment, s.first_row, s.rows, wanted.sent)
                for one in filled
                for update, s in enumerate(one.written.stretches, start=1)
            ),
        )


def _merged(rows: pa.Table, merger: Merger) -> pa.Table:
    """Each group once. A table by itself would be handed back as it is."""
    return merger.merge([rows.slice(0, 1), rows.slice(1)])


def _are_equal(tables: Sequence[pa.Table], former: Sequence[pa.Table]) -> bool:
    pairs = zip(tables, former, strict=False)
    return len(tables) == len(former) and all(one.equals(other) for one, other in pairs)
