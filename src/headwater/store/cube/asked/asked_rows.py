"""The answer of a question at a site becomes rows of the question itself, in one transaction.

From then on it is a query like any other: its panes are closed, numbered, sent and repeated from
what is written here. An answer that is written again, because a crash hid that it was, replaces the
former one; once the edge has made updates of it, it is asked for no more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from headwater.algebra.words.site_state import FOREVER
from headwater.errors import StoreError
from headwater.store.cube.cube_queries import CubeQueries
from headwater.store.image_packer import Image, ImagePacker, named
from headwater.store.manifest import Manifest
from headwater.store.pane_segments import PaneSegments


class AskedRows:
    def __init__(
        self,
        manifest: Manifest,
        queries: CubeQueries,
        rows: PaneSegments,
        *,
        clock: Callable[[], float],
    ) -> None:
        self._manifest = manifest
        self._queries = queries
        self._rows = rows
        self._clock = clock

    def is_made(self, question: str) -> bool:
        """Whether its panes were closed already, in this life or a former one."""
        if self._queries.number(question) is None:
            return False
        record = self._queries.record(question)
        end = FOREVER if record.end_pane is None else record.end_pane
        return record.closed_through >= end

    def keep(self, question: str, by_pane: Mapping[int, pa.Table]) -> dict[int, int]:
        """Rows by pane, durable on return; how many each has. Raises ``StoreError`` where the
        question is not known here, or no more, and whatever the disk raises."""
        packer = ImagePacker(self._rows.store)
        with self._rows.undone_if_failed(packer.names):
            filled = {pane: rows for pane, rows in by_pane.items() if rows.num_rows}
            pieces = {
                pane: (*packer.add(question, pane, rows), rows.num_rows)
                for pane, rows in sorted(filled.items())
            }
            packer.flush()
            with self._manifest.transaction():
                removed = self._name(question, pieces)
        self._rows.store.remove(removed)
        return {pane: rows.num_rows for pane, rows in filled.items()}

    def _name(self, question: str, pieces: Mapping[int, tuple[Image, int, int]]) -> list[str]:
        """The files of a former answer, to be removed."""
        number = self._queries.number(question)
        if number is None:
            raise StoreError(
                f"question {question}: wanted its record, got none: it was removed before it was "
                "answered"
            )
        loose = self._manifest.all("DELETE FROM parts WHERE query = ? RETURNING segment", (number,))
        files = dict[str, int]()
        now_s = self._clock()
        for pane, piece in pieces.items():
            stretch = named(self._rows, number, piece, files)
            self._manifest.run(
                "INSERT INTO panes (query, pane, written_s) VALUES (?, ?, ?) ON CONFLICT DO "
                "UPDATE SET written_s = excluded.written_s",
                (number, pane, now_s),
            )
            self._manifest.run(
                "INSERT INTO parts VALUES (?, ?, ?, ?, ?)",
                (number, pane, stretch.segment, stretch.first_row, stretch.rows),
            )
        return self._rows.free(segment for (segment,) in loose)
