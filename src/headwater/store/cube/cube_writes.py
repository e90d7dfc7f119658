"""What an edge wants written, applied to the manifest in order, inside one transaction."""

from __future__ import annotations

from headwater.algebra.words.site_state import Reason
from headwater.edge.outputs import (
    Cut,
    CutDone,
    Expire,
    Forget,
    MarkAcked,
    MarkSent,
    MarkUnacked,
    Remember,
)
from headwater.store.cube.cube_queries import CubeQueries
from headwater.store.cube.update_cutter import PlannedCut, UpdateCutter
from headwater.store.manifest import Manifest

CubeWrite = Cut | Remember | MarkSent | MarkAcked | MarkUnacked | Expire | Forget


class CubeWriter:
    """``apply`` once for each write; ``segments`` and ``removed`` say what may be freed after."""

    def __init__(
        self, manifest: Manifest, queries: CubeQueries, cutter: UpdateCutter, *, now_s: float
    ) -> None:
        self.loosened: set[int] = set()
        """Segments that lost a stretch: nobody may need them any more."""
        self.removed: list[str] = []
        """Files of forgotten queries."""
        self.done: list[CutDone] = []
        self._manifest = manifest
        self._queries = queries
        self._cutter = cutter
        self._now_s = now_s

    def apply(self, write: CubeWrite, planned: PlannedCut | None) -> None:
        """``planned`` goes with a ``Cut``."""
        if planned is not None:
            self.done += self._cutter.write(planned, now_s=self._now_s)
        elif isinstance(write, Remember):
            self._queries.write_record(write.query, write.record)
        elif isinstance(write, Expire):
            self._expire(write)
        elif isinstance(write, Forget):
            self._forget(write.query)
        elif isinstance(write, MarkAcked):
            self._mark_acked(write)
        elif self._queries.number(write.query) is not None:
            self._mark(write)

    def _mark(self, write: CubeWrite) -> None:
        number = self._queries.number(write.query)
        if isinstance(write, MarkSent):
            self._manifest.run_many(
                "UPDATE updates SET is_sent = 1 "
                "WHERE query = ? AND pane = ? AND number BETWEEN ? AND ?",
                ((number, *update) for update in write.updates),
            )
        elif isinstance(write, MarkUnacked):
            self._manifest.run("UPDATE panes SET is_acked = 0 WHERE query = ?", (number,))

    def _mark_acked(self, write: MarkAcked) -> None:
        number = self._queries.write_record(write.query, write.record)
        self._manifest.run_many(
            "UPDATE panes SET is_acked = 1 "
            "WHERE query = ? AND is_acked = 0 AND pane BETWEEN ? AND ?",
            ((number, first, last) for first, last in write.panes),
        )
        done = (number, write.done_through)
        self._manifest.run(
            "UPDATE panes SET is_acked = 1 WHERE query = ? AND is_acked = 0 AND pane < ?", done
        )
        self._manifest.run(
            "DELETE FROM panes WHERE query = ? AND is_dropped = 1 AND pane < ?", done
        )
        self._queries.forget_over(write.query, below=write.done_through)

    def _expire(self, write: Expire) -> None:
        number = self._queries.write_record(write.query, write.record)
        for pane in write.panes:
            self.drop_rows(number, pane)
            self._manifest.run("DELETE FROM panes WHERE query = ? AND pane = ?", (number, pane))
            self._queries.end_pane(write.query, pane, Reason.EXPIRED)

    def drop_rows(self, number: int, pane: int) -> None:
        for table in ("parts", "updates"):
            rows = self._manifest.all(
                f"DELETE FROM {table} WHERE query = ? AND pane = ? RETURNING segment",
                (number, pane),
            )
            self.loosened.update(segment for (segment,) in rows)

    def _forget(self, query: str) -> None:
        rows = self._manifest.all(
            "SELECT segments.name FROM segments JOIN queries ON queries.id = segments.query "
            "WHERE queries.name = ? AND is_damaged = 0",
            (query,),
        )
        self.removed += [name for (name,) in rows]
        self._queries.forget(query)
