"""Updates that leave before the close of their pane: what is unsent of some keys, as a segment.

An early update takes from its pane's parts without touching them. Its row of ``updates`` says up to
which part it was taken (``through``: parts have rising numbers, as batches came); what is left of a
key is what later parts have of it (``left_of``), and the closing update takes all that is left.
The marks go with the parts. So a crash at any point leaves either the update or nothing of it, and
the same rest.

Whatever stands in the way (a damaged part, a pane that is too large to be merged at once, a group
whose sum overflows), nothing is made, and the close deals with it. So it never fails and never
delays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np
import pyarrow as pa

from headwater.algebra.remainders.early_rows import EarlyRows, Taken, left_of
from headwater.algebra.remainders.key_hash import group_numbers
from headwater.algebra.summary import Merger
from headwater.edge.outputs import MakeEarly, UpdatesMade
from headwater.errors import StoreError
from headwater.store.cube.cube_queries import CubeQueries
from headwater.store.image_packer import Image, ImagePacker
from headwater.store.manifest import Manifest
from headwater.store.pane_segments import PaneSegments, Stretch, with_pane

EARLY_BYTES_MAX = 64 << 20
"""Rows of a pane, as Arrow holds them, of which some may leave early."""
Loads = Callable[[Stretch], pa.Table | None]
"""The rows; None: they are lost."""


class PreparedEarly(msgspec.Struct):
    wanted: MakeEarly
    image: Image | None = None
    """None: nothing is made."""
    rows: int = 0
    row_bytes: int = 0
    through: int = 0


class EarlyMaker:
    def __init__(
        self,
        manifest: Manifest,
        queries: CubeQueries,
        rows: PaneSegments,
        *,
        summary_bytes_max: int,
    ) -> None:
        self.early_of = queries.facts.early_of
        self._manifest = manifest
        self._queries = queries
        self._rows = rows
        self._merger_of = queries.facts.merger_of
        self._summary_bytes_max = summary_bytes_max

    def taken(self, query: str, panes: Sequence[int], load: Loads) -> Mapping[int, list[Taken]]:
        """By pane, what left early of what it still has."""
        found: dict[int, list[Taken]] = {}
        if self.early_of(query) is None:
            return found
        rows = self._manifest.all(
            "SELECT pane, through, segment, first_row, rows FROM updates WHERE query = ? AND pane "
            "IN (SELECT value FROM json_each(?)) AND through IS NOT NULL ORDER BY pane, number",
            (self._queries.number(query), str(list(panes))),
        )
        for pane, through, *stretch in rows:
            found.setdefault(pane, []).append(Taken(through, load(Stretch(*stretch))))
        return found

    def left(self, query: str, taken: Sequence[Taken]) -> Callable[[pa.Table, int], pa.Table]:
        """What is left of the rows of a segment."""
        early = self.early_of(query)
        if early is None or not taken:
            return lambda rows, segment: rows
        return lambda rows, segment: left_of(rows, early.keys, taken, batch=segment)

    def prepare(self, wanted: MakeEarly, packer: ImagePacker) -> PreparedEarly:
        """Read and merge what leaves, into a segment of its own; nothing is changed."""
        prepared = PreparedEarly(wanted)
        early = self.early_of(wanted.query)
        if early is None or self._queries.number(wanted.query) is None:
            return prepared
        try:
            chosen = self._chosen(wanted, early, prepared)
        except StoreError:
            return prepared
        if chosen is not None and chosen.num_rows:
            prepared.image = packer.add_alone(wanted.query, with_pane(chosen, wanted.pane))
            prepared.rows = chosen.num_rows
            prepared.row_bytes = self._merger_of(wanted.query).size_bytes(chosen)
        return prepared

    def _chosen(
        self, wanted: MakeEarly, early: EarlyRows, prepared: PreparedEarly
    ) -> pa.Table | None:
        parts = [
            Stretch(*row)
            for row in self._manifest.all(
                "SELECT segment, first_row, rows FROM parts WHERE query = ? AND pane = ? "
                "ORDER BY segment, first_row",
                (self._queries.number(wanted.query), wanted.pane),
            )
        ]
        taken = self.taken(wanted.query, [wanted.pane], self._rows.load).get(wanted.pane, [])
        leaving: list[pa.Table] = []
        is_all, size_bytes = True, 0
        for part in parts:
            rows = left_of(self._rows.load(part), early.keys, taken, batch=part.segment)
            size_bytes += rows.nbytes
            if size_bytes > EARLY_BYTES_MAX:
                return None
            is_chosen = np.isin(early.hashes(rows), wanted.keys)
            is_all = is_all and bool(is_chosen.all())
            leaving.append(rows.filter(pa.array(is_chosen)))
        if not leaving:
            return None
        prepared.through = parts[-1].segment
        return self._fitting(self._merger_of(wanted.query), early, leaving, leaves_one=is_all)

    def _fitting(
        self, merger: Merger, early: EarlyRows, parts: list[pa.Table], *, leaves_one: bool
    ) -> pa.Table | None:
        """As many groups as an update may have; one fewer if else the pane would have none left."""
        rows: pa.Table = merger.merge(parts)
        if len(np.unique(group_numbers(rows, early.keys))) < rows.num_rows:
            return None  # a group whose sum overflows has several rows, which must stay together
        count, size_bytes = rows.num_rows - leaves_one, merger.size_bytes(rows)
        if size_bytes > self._summary_bytes_max:
            count = min(count, int(rows.num_rows * self._summary_bytes_max / size_bytes))
        return rows.slice(0, max(0, count))

    def write(
        self, prepared: PreparedEarly, *, now_s: float
    ) -> tuple[list[UpdatesMade], list[int]]:
        """Inside a transaction, when the image is on the disk: number the update. Also the segments
        that came to nothing, since retention has taken the pane."""
        wanted, loose = prepared.wanted, list[int]()
        number = self._queries.number(wanted.query)
        known = self._manifest.first(
            "SELECT updates FROM panes WHERE query = ? AND pane = ? AND EXISTS (SELECT 1 FROM "
            "parts WHERE parts.query = panes.query AND parts.pane = panes.pane)",
            (number, wanted.pane),
        )
        count = 0 if known is None else int(known[0])
        if prepared.image is None or number is None:
            return [_made(wanted, count + 1, count)], loose
        assert prepared.image.segment is not None, "what is numbered is on the disk"
        segment = self._rows.add(number, prepared.image.segment)
        if known is None:
            return [_made(wanted, 1, 0)], [segment]
        self._manifest.run(
            "INSERT INTO updates VALUES (?, ?, ?, ?, 0, ?, 1, NULL, ?)",
            (number, wanted.pane, count + 1, segment, prepared.rows, prepared.through),
        )
        self._manifest.run(
            "UPDATE panes SET updates = updates + 1, row_bytes = max(row_bytes, ?), is_acked = 0, "
            "written_s = ? WHERE query = ? AND pane = ?",
            (prepared.row_bytes, now_s, number, wanted.pane),
        )
        return [_made(wanted, count + 1, count + 1, prepared.row_bytes)], loose


def _made(wanted: MakeEarly, first: int, last: int, row_bytes: int = 0) -> UpdatesMade:
    return UpdatesMade(wanted.query, wanted.pane, first, last, row_bytes, is_early=True)
