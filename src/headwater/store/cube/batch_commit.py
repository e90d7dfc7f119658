"""Committing a batch: the rows of all its queries and the committed cut, or nothing.

Spark delivers a batch again when a crash hid its success, so a batch is recognised by (source,
epoch, batch id, query) and stored once. A new checkpoint counts its batches from 0 again, which is
what epochs are for: a commit of an older epoch is refused, since its cuts may have been given to
the new one.

What a site counts itself, for queries that go by that, moves in the same transaction: a
batch that comes again begins to count where it began before.

Where the batch holds lines that may have been read before, the panes that its rows are in are
damaged, in the records of their queries and in the same transaction.

Where a query failed on the batch, its records are passed over for good. That is written in the
same transaction, and stays until the query's record has declined the panes: a crash in between must
not leave panes that look as if they had been read wholly.

What decides is judged inside the transaction: whether the batch is known, whose epoch it is, which
queries there are and which panes take rows. What was looked at before only saves work. A query that
was removed meanwhile leaves its rows behind, as it should. A query that no record knows *yet* (its
record is on its way to the disk) does not: the whole batch is refused and comes again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import msgspec
import pyarrow as pa

from headwater.edge.record import UNDECIDED
from headwater.edge.report import BatchReport, PaneKeys, QueryBatch
from headwater.errors import QueryUnknown, StoreError
from headwater.reading.outcome import Batch, QueryResult, SiteOutcome
from headwater.store.cube.batch_rows import PaneRun, WrittenRows, by_pane, has_rows, tables_of
from headwater.store.cube.cube_queries import CubeQueries
from headwater.store.cube.early.batch_keys import keys_of
from headwater.store.cube.state_ring import StateRing
from headwater.store.input.cuts import CutLog
from headwater.store.input.source_state import SourceState
from headwater.store.level_rows import level_results
from headwater.store.manifest import Manifest
from headwater.store.pane_segments import PaneSegments
from headwater.store.segments import Segment

BATCHES_KEPT = 16
"""Spark repeats its newest batch only; a few more are kept for people to look at."""
MESSAGE_CHARS_MAX = 500
"""Of Spark's message on a failed batch, as much as a site tells."""
WHOLE_BATCH = ""
"""Stands for the batch itself where query ids stand."""


class BatchCommitter:
    def __init__(
        self,
        manifest: Manifest,
        cuts: CutLog,
        queries: CubeQueries,
        rows: PaneSegments,
        ring: StateRing,
        *,
        clock: Callable[[], float],
    ) -> None:
        self._early_of = queries.facts.early_of
        self._levels_of = queries.facts.levels_of
        self._manifest = manifest
        self._cuts = cuts
        self._queries = queries
        self._rows = rows
        self._ring = ring
        self._clock = clock

    def commit(
        self,
        batch: Batch,
        outcome: SiteOutcome,
        *,
        told: Callable[[BatchReport], None] = lambda report: None,
    ) -> BatchReport:
        """Store what Spark made of all cuts up to the batch's for every query, and move the
        committed cut, in one transaction. A batch that comes again adds nothing. ``told`` is called
        in the hold of the lock in which it became durable: a poll that finds all committed after
        that can't be heard before it.

        Raises ``DiskFull`` or ``DiskTrouble`` with nothing changed; ``QueryUnknown`` while a query
        has no record yet; ``EpochOver``, ``SourceForgotten`` or ``StoreError`` for a batch of an
        older epoch, of a source that is not here any more, or of cuts that are committed already.
        """
        results, reports, now_s = self._with_levels(outcome), list[BatchReport](), self._clock()
        state = self._cuts.state(batch.source)
        known = self._judge(state, batch, results)
        written = self._written([result for result in results if result.query not in known])
        unnamed = {one.segment.name for one in written if one.segment is not None}

        def tell() -> None:
            reports.append(_report(state.report(), queries, outcome, is_repeated=bool(known)))
            told(reports[0])

        with self._rows.undone_if_failed(list(unnamed)), self._manifest.transaction():
            self._cuts.refuse_forgotten(state)
            known = self._judge(state, batch, results)
            new = [result for result in results if result.query not in known]
            self._remember(state, batch, new)
            if state.past is not None:
                self._cuts.note_first(state, state.past, outcome.low_time_us)
            twice_bytes = self._cuts.doubtful_bytes(state, through=batch.through_cut)
            queries = tuple(
                self._store(result, written, unnamed, now_s=now_s)
                for result in new
                if self._queries.number(result.query) is not None
            )
            if twice_bytes:
                queries = tuple(self._doubted(one, twice_bytes) for one in queries)
            if not known:
                self._cuts.commit_cut(state, max(batch.through_cut, state.committed_cut))
            self._manifest.after_commit(tell)
        self._rows.store.remove(unnamed)
        return reports[0]

    def _with_levels(self, outcome: SiteOutcome) -> list[QueryResult]:
        """And those of the levels that have taken panes which the batch has rows of."""
        found = list(outcome.results)
        for result in outcome.results:
            for grid in self._levels_of(result.query):
                found += level_results(result, grid, self._queries.taken(grid.query))
        return found

    def _judge(self, state: SourceState, batch: Batch, results: Sequence[QueryResult]) -> set[str]:
        """The queries whose part of this batch is stored already. Raises if it is not to be."""
        stored = self._manifest.all(
            "SELECT query FROM batches WHERE source = ? AND epoch = ? AND batch = ?",
            (state.id, batch.epoch, batch.number),
        )
        known = {query for (query,) in stored}
        new = [result for result in results if result.query not in known]
        state.refuse_other_epoch(batch.epoch, f"batch {batch.number}")
        where = f"source {batch.source}, epoch {batch.epoch}, batch {batch.number}"
        cut = batch.through_cut
        if cut > state.last_cut:
            raise StoreError(f"{where}: wanted a cut up to {state.last_cut}, got {cut}")
        is_news = not known and any(has_rows(result) for result in new)
        if is_news and cut <= state.committed_cut:
            raise StoreError(
                f"{where}: cut {cut} is committed already (up to {state.committed_cut}); "
                "begin a new epoch there"
            )
        self._refuse_unknown(batch, new)
        return known

    def _refuse_unknown(self, batch: Batch, results: Sequence[QueryResult]) -> None:
        for result in results:
            name = result.query
            if self._queries.number(name) is None and not self._queries.is_forgotten(name):
                raise QueryUnknown(
                    f"source {batch.source}, batch {batch.number}: results of {name}, of which "
                    "nothing is recorded here yet; the batch is tried again"
                )
            if self._queries.past_of(name) == UNDECIDED:
                raise QueryUnknown(
                    f"source {batch.source}, batch {batch.number}: results of {name}, of which it "
                    "is not recorded yet whether it reads the past; the batch is tried again"
                )

    def _written(self, results: Sequence[QueryResult]) -> list[WrittenRows]:
        """The rows that there are on the disk, in the order of panes, without those of panes that
        take none; they never will again, so the transaction can only find more of them."""
        found: list[WrittenRows] = []

        def labelled() -> Iterator[tuple[str, pa.Table]]:
            for result in results:
                for table in tables_of(result):
                    rows = by_pane(table, self._queries.takes(result.query))
                    found.append(WrittenRows(result.query, rows.runs, rows.refused))
                    early = self._early_of(result.query)
                    found[-1].keys = () if early is None else keys_of(rows, early)
                    if rows.runs:
                        yield result.query, rows.table

        segments = iter(self._rows.store.write(labelled()))
        for one in found:
            one.segment = next(segments) if one.runs else None
        return found

    def _remember(self, state: SourceState, batch: Batch, results: Sequence[QueryResult]) -> None:
        names = [WHOLE_BATCH, *(result.query for result in results)]
        self._manifest.run_many(
            "INSERT OR IGNORE INTO batches VALUES (?, ?, ?, ?)",
            ((state.id, batch.epoch, batch.number, name) for name in names),
        )
        if batch.number >= BATCHES_KEPT:  # those of other epochs went when this one began
            self._manifest.run(
                "DELETE FROM batches WHERE source = ? AND batch <= ?",
                (state.id, batch.number - BATCHES_KEPT),
            )

    def _store(
        self,
        result: QueryResult,
        written: Sequence[WrittenRows],
        unnamed: set[str],
        *,
        now_s: float,
    ) -> QueryBatch:
        """Name the stretches of one query, and take its files out of ``unnamed`` when they are
        named; what was sealed in between is counted as too late."""
        if result.failed is not None:
            return self._store_failure(result, result.failed)
        query = self._queries.number(result.query)
        assert query is not None, "only known queries are stored"
        first, end = self._queries.first_pane(result.query), self._queries.end_of(result.query)
        takes = self._queries.takes(result.query)
        stored: Counter[int] = Counter()
        early = too_late = 0
        keys: list[PaneKeys] = []
        for rows in (one for one in written if one.query == result.query):
            early += rows.refused_rows(below=first)
            too_late += rows.refused_rows(at_least=first, below=end)
            runs = [run for run in rows.runs if takes(run.pane)]
            keys += [one for one in rows.keys if takes(one.pane)]
            too_late += sum(run.rows for run in rows.runs) - sum(run.rows for run in runs)
            if runs and rows.segment is not None:
                unnamed.discard(rows.segment.name)
                if self._queries.last_rows_of(result.query) is None:
                    self._name(query, rows.segment, runs, now_s=now_s)
                else:
                    self._ring.add(query, rows.segment, through_row=result.counted_through or 0)
            for run in runs:
                stored[run.pane] += run.rows
        if result.counted_through is not None:
            self._queries.count(result.query, result.counted_through)
        return QueryBatch(
            result.query,
            panes=tuple(sorted(stored.items())),
            too_late=too_late,
            before_begin=early,
            malformed=result.malformed,
            counted_through=result.counted_through,
            given=result.given,
            keys=tuple(keys),
        )

    def _doubted(self, batch: QueryBatch, twice_bytes: int) -> QueryBatch:
        """Headers and comments have no rows: then nothing is in doubt."""
        if not batch.panes:
            return batch
        self._queries.miss(batch.query)
        self._queries.damage(batch.query, [pane for pane, _ in batch.panes])
        return msgspec.structs.replace(batch, twice_bytes=twice_bytes)

    def _name(self, query: int, segment: Segment, runs: Sequence[PaneRun], *, now_s: float) -> None:
        number = self._rows.add(query, segment)
        self._manifest.run_many(
            "INSERT INTO panes (query, pane, written_s) VALUES (?, ?, ?) ON CONFLICT DO "
            "UPDATE SET written_s = excluded.written_s, is_dropped = 0",
            ((query, run.pane, now_s) for run in runs),
        )
        self._manifest.run_many(
            "INSERT INTO parts VALUES (?, ?, ?, ?, ?)",
            ((query, run.pane, number, run.first_row, run.rows) for run in runs),
        )

    def _store_failure(self, result: QueryResult, message: str) -> QueryBatch:
        """The cut moves on without these records: that must be as durable as the cut is."""
        message, touched = message[:MESSAGE_CHARS_MAX], result.touched
        number = self._queries.add_failure(result.query, message, touched)
        return QueryBatch(
            result.query,
            failed=message,
            touched=touched,
            failure=number,
            malformed=result.malformed,
        )


def _report(
    state: BatchReport, queries: tuple[QueryBatch, ...], of: SiteOutcome, *, is_repeated: bool
) -> BatchReport:
    """What was counted for a batch counts once."""
    counted = SiteOutcome() if is_repeated else of
    return msgspec.structs.replace(
        state,
        queries=queries,
        high_time_us=of.high_time_us,
        unparsed=state.unparsed + counted.unparsed,
        fenced=counted.fenced,
        refused=counted.refused,
    )
