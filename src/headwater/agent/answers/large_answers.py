"""Answers whose rows are too many for memory: from the ledger to files, and from files to files.

The summaries of a pane are merged here only where that takes little memory; of a larger pane Spark
gets them as they were accepted, one by one, and merges them itself. So what is in memory at any
time is a few summaries, whatever the number of groups.

A job takes the windows whose rows fit into ``JOB_BYTES_MAX`` on the disk, and at least one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa

from headwater.algebra.rows.row_pieces import RowPieces
from headwater.errors import GroupFailed, PaneIsLarge
from headwater.node.effects import Answer
from headwater.plan.query import Query
from headwater.root.outputs import WindowAnswer
from headwater.root.said.envelope import LeftOut
from headwater.spark.root.bad_groups import GroupFinisher
from headwater.spark.root.pane_files import PaneFiles
from headwater.spark.root.root_part import RootSpark
from headwater.spark.rows.row_files import SavedRows
from headwater.store.ledger.root_ledger import RootLedger

MERGE_BYTES_MAX = 32 << 20
"""Summaries of one pane that are merged here, as Arrow holds them: merging takes about three times
that. Of more, each goes to Spark as it came."""
JOB_BYTES_MAX = 256 << 20
"""Rows of one job of Spark, as Arrow holds them; further windows are answered by the next one."""


class FinishedFiles(msgspec.Struct, frozen=True):
    """As ``bad_groups.Finished``, with the rows still in files."""

    rows: Mapping[int, RowPieces] = {}
    left_out: Mapping[int, LeftOut] = {}


class LargeAnswers:
    """Safe to use from several threads, for different queries."""

    def __init__(self, ledger: RootLedger, spark: RootSpark, groups: GroupFinisher) -> None:
        self._ledger = ledger
        self._spark = spark
        self._groups = groups

    def finish(self, query: Query, answer: Answer, folder: Path) -> FinishedFiles:
        """The rows of all windows that have any, in files below ``folder``."""
        rows: dict[int, RowPieces] = {}
        left_out: dict[int, LeftOut] = {}
        waiting = [request for request in answer.requests if request.panes]
        number = 0
        while waiting:
            number += 1
            job = folder / str(number)
            job.mkdir()
            with PaneFiles(query, job) as panes:
                taken = self._written(query, answer, waiting, panes)
            waiting = waiting[len(taken) :]
            windows = {request.window: request.panes for request in taken}
            try:
                rows |= self._spark.finish_files(query, panes, windows, folder / f"{number}-rows")
            except GroupFailed:
                for request in taken:
                    found, out = self._searched(query, answer, request, folder)
                    rows |= found
                    left_out |= out
            panes.remove()
        return FinishedFiles(rows, left_out)

    def _written(
        self, query: Query, answer: Answer, waiting: Sequence[WindowAnswer], panes: PaneFiles
    ) -> list[WindowAnswer]:
        """The windows whose panes are in the files now: those that fit, and at least one."""
        taken: list[WindowAnswer] = []
        for request in waiting:
            if taken and panes.bytes > JOB_BYTES_MAX:
                break
            for pane in request.panes:
                if pane not in panes.panes:
                    panes.add(pane, self._parts(query, pane, answer.kept_through))
            taken.append(request)
        return taken

    def _parts(self, query: Query, pane: int, kept_through: int) -> Iterator[pa.Table]:
        """Merged where they are few."""
        try:
            merged = self._ledger.pane_rows(
                str(query.id), pane, kept_through=kept_through, bytes_max=MERGE_BYTES_MAX
            )
        except PaneIsLarge:
            yield from self._ledger.pane_parts(str(query.id), pane, kept_through=kept_through)
        else:
            if merged is not None:
                yield merged

    def _searched(
        self, query: Query, answer: Answer, request: WindowAnswer, folder: Path
    ) -> tuple[dict[int, RowPieces], dict[int, LeftOut]]:
        """A window in which a group fails: found in memory, a window at a time."""
        tables = [
            (pane, table)
            for pane in request.panes
            for table in self._ledger.pane_parts(
                str(query.id), pane, kept_through=answer.kept_through
            )
        ]
        finished = self._groups.finish(query, {request.window: tables})
        rows = {
            window: SavedRows.of(table, folder / f"window{window}.parquet")
            for window, table in finished.rows.items()
        }
        return dict(rows), finished.left_out
