"""Answers whose rows are too many for memory: from the ledger to files, and from files to files.

The summaries of a window's panes are merged by shares of the keys (``merge_in_shares``), so what is
in memory at any time is a few summaries, whatever the number of groups. Spark gets each group once.

A job takes the windows whose groups fit into ``JOB_BYTES_MAX``, and at least one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa

from headwater.agent.answers.merge_in_shares import merge_in_shares
from headwater.agent.answers.sample_totals import totals_of
from headwater.agent.answers.window_groups import (
    WindowGroups,
    at_level_of,
    groups_maker,
    is_built_up,
)
from headwater.algebra.rows.arrow_rows import Groups
from headwater.algebra.rows.row_pieces import RowPieces
from headwater.errors import GroupFailed, PaneIsLarge
from headwater.node.effects import Answer
from headwater.plan.query import Query
from headwater.root.outputs import Pieces, WindowAnswer
from headwater.root.said.envelope import LeftOut
from headwater.root.said.sampled import Estimate
from headwater.spark.root.bad_groups import GroupFinisher, overflowing
from headwater.spark.root.root_part import RootSpark
from headwater.spark.root.window_files import WindowFiles
from headwater.spark.rows.row_files import SavedRows
from headwater.store.ledger.root_ledger import RootLedger

JOB_BYTES_MAX = 256 << 20
"""Groups of one job of Spark, as Arrow holds them; further windows are answered by the next one."""


class FinishedFiles(msgspec.Struct, frozen=True):
    """As ``bad_groups.Finished``, with the rows still in files."""

    rows: Mapping[int, RowPieces] = {}
    left_out: Mapping[int, LeftOut] = {}
    estimates: Mapping[int, tuple[Estimate, ...]] = {}
    """Of samples."""


class LargeAnswers:
    """Safe to use from several threads, for different queries."""

    def __init__(
        self, ledger: RootLedger, spark: RootSpark, groups: GroupFinisher, windows_of: WindowGroups
    ) -> None:
        self._ledger = ledger
        self._windows_of = windows_of
        self._spark = spark
        self._groups = groups

    def finish(self, query: Query, answer: Answer, folder: Path) -> FinishedFiles:
        """The rows of all windows that have any, in files below ``folder``."""
        rows: dict[int, RowPieces] = {}
        left_out: dict[int, LeftOut] = {}
        estimates: dict[int, tuple[Estimate, ...]] = {}
        waiting = [request for request in answer.requests if request.panes]
        number = 0
        while waiting:
            number += 1
            job = folder / str(number)
            job.mkdir()
            with WindowFiles(query, job) as files:
                taken = self._written(query, answer, waiting, files, folder, estimates)
            waiting = waiting[len(taken) :]
            try:
                rows |= self._spark.finish_files(query, files, folder / f"{number}-rows")
                left_out |= {window: out for window, out in taken.items() if out}
            except GroupFailed:
                for request in answer.requests:
                    if request.window in taken:
                        found, out = self._searched(query, answer, request, folder)
                        rows |= found
                        left_out |= out
            files.remove()
        return FinishedFiles(rows, left_out, estimates)

    def _written(
        self,
        query: Query,
        answer: Answer,
        waiting: Sequence[WindowAnswer],
        files: WindowFiles,
        folder: Path,
        estimates: dict[int, tuple[Estimate, ...]],
    ) -> dict[int, LeftOut]:
        """The windows whose groups are in the files now: those that fit, and at least one. With
        the groups that overflow, which are in no file."""
        taken: dict[int, LeftOut] = {}
        shares = folder / "shares"
        shares.mkdir(exist_ok=True)
        for request in waiting:
            if taken and files.bytes > JOB_BYTES_MAX:
                break
            taken[request.window], totals = LeftOut(), totals_of(query)
            for groups in self._merged(query, answer, request, shares):
                files.add(request.window, groups.merged)
                taken[request.window] += overflowing(groups)
                if totals is not None:
                    totals.add(groups.merged)
            if totals is not None:
                estimates[request.window] = totals.estimates()
        return taken

    def _merged(
        self, query: Query, answer: Answer, request: WindowAnswer, shares: Path
    ) -> Iterable[Groups]:
        """A window that slides may be large only beside the others of its answer."""
        if is_built_up(query):
            through = answer.kept_through
            stamps = self._windows_of.stamps(query, request.window, kept_through=through)
            with contextlib.suppress(PaneIsLarge):
                return [self._windows_of.of(query, request.window, stamps, kept_through=through)]
        maker = groups_maker(query, request.window)
        return merge_in_shares(maker, self._parts(query, answer, request), shares)

    def _parts(self, query: Query, answer: Answer, request: WindowAnswer) -> Iterator[pa.Table]:
        own = Pieces(str(query.id), request.panes, answer.kept_through)
        for one in request.pieces or (own,):
            for pane in one.panes:
                parts = self._ledger.rows.pane_parts(one.query, pane, kept_through=one.kept_through)
                yield from (at_level_of(query, one, part) for part in parts)

    def _searched(
        self, query: Query, answer: Answer, request: WindowAnswer, folder: Path
    ) -> tuple[dict[int, RowPieces], dict[int, LeftOut]]:
        """A window in which a group fails: found in memory, a window at a time."""
        maker = groups_maker(query, request.window)
        groups = maker.groups(list(self._parts(query, answer, request)))
        finished = self._groups.finish(query, {request.window: groups})
        rows = {
            window: SavedRows.of(table, folder / f"window{window}.parquet")
            for window, table in finished.rows.items()
        }
        return dict(rows), finished.left_out
