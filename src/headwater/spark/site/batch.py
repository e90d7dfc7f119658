"""One batch: the chunks of some sites through the site parts of all their queries.

Lines are parsed once. Several queries, or several sites, share one job (``joint_run``). Where they
can't, the typed columns that any of them uses are kept for the length of the batch, and every query
runs over them, two at a time; with one query at one site nothing is kept, because keeping costs
about as much as the query itself.

Each query fails alone: Spark's message becomes its result, with the panes that the batch touches.
If the lines themselves can't be read, a chunk is to blame, and ``Unreadable`` says which. Of what a
cluster does neither is to blame (``cluster_trouble``): the batch fails, and comes again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import structlog
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from headwater.algebra.words.malformed import Malformed
from headwater.edge.batches.batch_yield import BatchYield
from headwater.errors import SparkFailed
from headwater.plan.query import Query
from headwater.reading.chunk import Chunk
from headwater.reading.form import Form, form_of
from headwater.reading.outcome import QueryResult, SiteOutcome
from headwater.spark.cluster.cluster import is_cluster
from headwater.spark.cluster.cluster_trouble import raise_if_of_the_cluster
from headwater.spark.disk_trouble import raise_if_of_the_disk
from headwater.spark.jvm.session import apply_settings
from headwater.spark.lines.lines import SITE, Linked, linked, with_types
from headwater.spark.lines.parse import Parser
from headwater.spark.lines.readable import ChunkUnreadable
from headwater.spark.rows.collect import Collector, largest
from headwater.spark.rows.dealing import Rows
from headwater.spark.site.fence import Fence, refused_sql
from headwater.spark.site.inbox import SiteBatch
from headwater.spark.site.joint.joint_run import JointRun, Results
from headwater.spark.site.line_counts import LineCounts, ReadFailed, SampleBudget, count_lines
from headwater.spark.site.own_count import THROUGH, OwnCount
from headwater.spark.site.query_group import QueryGroup, Settings, groups_of, need_of
from headwater.spark.site.scan_counts import ScanCounter
from headwater.spark.site.shift import Shift
from headwater.spark.site.site_jobs import JOB_S_MAX, JobCancelled, SiteJobs
from headwater.spark.site.site_part import SharedRun, failure, over_records, result
from headwater.spark.site.site_sql import HIGH, with_high_time
from headwater.spark.site.standing_lines import LINES, Analyser, StandingLines
from headwater.spark.site.standing_objects import StandingObjects
from headwater.spark.spark_message import SPARK_ERRORS, message_of
from headwater.spark.unreadable import Unreadable, at_its_site, cut_off, unreadable_of
from headwater.spark.workers.worker_lines import LineWorkers
from headwater.spark.workers.worker_trouble import WorkersFailed, raise_if_of_workers

log = structlog.get_logger()

TYPED = "__typed"
"""A view of the batch's sessions."""
ALONE_MAX = 2
"""Queries that read the lines for themselves; for more of them it pays to keep the lines."""
JOBS_AT_ONCE = 2
"""While one job runs the next one is planned, which takes the driver as long as a small batch."""


class BatchRunner:
    """Runs the batches of one source, one at a time, on one Spark."""

    def __init__(
        self,
        session: SparkSession,
        directory: Path,
        learned: BatchYield | None = None,
        *,
        job_s_max: float = JOB_S_MAX,
    ) -> None:
        """``learned`` is told what each query gave; no query's job takes longer than
        ``job_s_max``."""
        self._session = session
        self.jobs = SiteJobs(session, job_s_max=job_s_max)
        self._directory = directory
        self._standing: dict[Settings, StandingLines] = {}
        """Each in a session of its own."""
        self._pool = ThreadPoolExecutor(JOBS_AT_ONCE, thread_name_prefix="batch")
        self._samples = SampleBudget()
        self._scans = ScanCounter()
        self._collector = Collector(directory.parent / "rows", learned)
        self._joint = JointRun(self._collector, self._pool)
        self._workers = LineWorkers()
        self._objects = StandingObjects()

    def close(self, *, wait: bool = True) -> None:
        self._pool.shutdown(wait=wait, cancel_futures=True)

    def clear(self) -> None:
        """The last batch is committed, or is not to be: its files go."""
        self._collector.clear()

    def run(self, batches: Sequence[SiteBatch]) -> list[SiteOutcome]:
        """What came of it, for each site in order; rows may be in files until ``clear``.

        Raises ``Unreadable`` for chunks that must be left out, ``SparkFailed`` when it was neither
        a query nor a chunk.
        """
        self.jobs.begin()
        chunks = [(batch.site, chunk) for batch in batches for chunk in batch.chunks]
        groups = groups_of(batch.queries for batch in batches)
        # Sessions of settings that no installed query has any more.
        wanted = {group.settings for group in groups}
        self._standing = {key: one for key, one in self._standing.items() if key in wanted}
        self._joint.keep(str(query.id) for group in groups for query in group.queries)
        outcomes: list[list[SiteOutcome]] = []
        # As a rule all are of one form; a source that is replaced may have two for a while.
        for form in dict.fromkeys(form_of(group.source) for group in groups):
            own = [group for group in groups if form_of(group.source) == form]
            try:
                with self._linked([batch.chunks for batch in batches], form) as found:
                    outcomes += [self._run_group(found, batches, group) for group in own]
            except ReadFailed as error:
                link = partial(self._linked, form=form)
                if bad := unreadable_of(self._session, link, chunks):
                    raise Unreadable(bad) from error
                raise SparkFailed(
                    f"a batch failed though all its lines can be read: {error}"
                ) from error
            except ChunkUnreadable as error:
                raise Unreadable([at_its_site(error, chunks)]) from error
        if shorter := cut_off(chunks):
            raise Unreadable(shorter)
        if not outcomes:
            return [SiteOutcome() for _ in batches]
        return [SiteOutcome.joined(of_site) for of_site in zip(*outcomes, strict=True)]

    def _linked(
        self, chunks: Sequence[Sequence[Chunk]], form: Form
    ) -> AbstractContextManager[Linked]:
        is_shared = is_cluster(self._session.sparkContext.master)
        return linked(self._directory, chunks, form=form, is_shared=is_shared)

    def _run_group(
        self, found: Linked, batches: Sequence[SiteBatch], group: QueryGroup
    ) -> list[SiteOutcome]:
        if group.settings not in self._standing:
            own = apply_settings(self._session, dict(group.settings))
            self._standing[group.settings] = StandingLines(own)
        standing = self._standing[group.settings]
        session = standing.session
        chunks = [chunk for batch in batches for chunk in batch.chunks]
        byte_count = sum(chunk.bytes for chunk in chunks)
        try:
            lines = standing.read(found, byte_count=byte_count, is_ordered=bool(group.order))
        except SPARK_ERRORS as error:  # of files that have columns of their own
            raise_if_of_the_cluster(error)
            raise_if_of_the_disk(error)
            raise ReadFailed(message_of(error)) from error
        parser = with_types(group.parser(chunks, found.headers), found, lines)
        if group.order:  # neither workers nor Spark's reader of objects say which line is the next
            return self._run_over(session, standing, parser, group, batches, byte_count=byte_count)
        by_workers = self._workers.parser(session, parser, found, byte_count=byte_count)
        if by_workers is not None:
            try:
                with self.jobs.by_workers():
                    return self._run_over(
                        session, self._workers, by_workers, group, batches, byte_count=byte_count
                    )
            except WorkersFailed as error:
                self._workers.failed(str(error))
        by_reader = self._objects.parser(session, parser, found, byte_count=byte_count)
        if by_reader is not None:
            return self._run_over(
                session, self._objects, by_reader, group, batches, byte_count=byte_count
            )
        return self._run_over(session, standing, parser, group, batches, byte_count=byte_count)

    def _run_over(
        self,
        session: SparkSession,
        analyser: Analyser,
        parser: Parser,
        group: QueryGroup,
        batches: Sequence[SiteBatch],
        *,
        byte_count: int,
    ) -> list[SiteOutcome]:
        """Over the lines as this parser has them. ``analyser`` is for statements that come again
        with the next batch. Raises ``WorkersFailed``, and nothing is used."""
        given = (session, analyser, parser)
        try:
            if len(group.queries) == 1 and len(batches) == 1:
                (query,), (batch,) = group.queries, batches
                return [self._run_direct(*given, query, batch, bytes_in=byte_count)]
            return self._run_shared(*given, group, batches, bytes_in=byte_count)
        except JobCancelled as error:  # the lines alone took too long
            return [_none_in_time(number, group, error) for number, _ in enumerate(batches)]

    def _run_direct(
        self,
        session: SparkSession,
        analyser: Analyser,
        parser: Parser,
        query: Query,
        batch: SiteBatch,
        *,
        bytes_in: int,
    ) -> SiteOutcome:
        """One query at one site. Where a record lies beyond the fence, the lines are read again to
        count, and the query runs again without what is refused: that is rare, and costs nothing
        otherwise."""
        fence, offset_us = batch.fence, batch.offsets_us.get(str(query.id), 0)
        shift = Shift(query, [offset_us])
        own = OwnCount(query.reading_count, [batch.starts.get(str(query.id), 0)])
        view = _view(parser)
        typed = f"({parser.typed_sql(view, keep=[SITE])})"
        ordered = f"({parser.typed_sql(view, keep=own.columns)})"
        records = parser.records_sql(ordered, 0, keep=own.columns, is_counted=True)
        text = over_records(shift.over(own.over(records)), with_high_time(query))
        line_counts: LineCounts | None = None
        through: int | None = None
        try:
            # A text that comes once is not worth keeping its plan.
            frame = analyser.sql(text) if query.reading_count is None else session.sql(text)
            rows = self._rows(frame, query, bytes_in=bytes_in)
            high_us = shift.back(largest(rows, HIGH))
            if high_us is not None and high_us > fence.tolerated_us:
                (line_counts,) = self._count_lines(session, parser, typed, [fence])
                if high_us >= fence.refused_us:
                    before = refused_sql([fence], site=SITE)
                    records = parser.records_sql(ordered, 0, keep=own.columns, before_us=before)
                    kept = shift.over(own.over(records))
                    again = session.sql(over_records(kept, with_high_time(query)))
                    rows = self._rows(again, query, bytes_in=bytes_in)
            if query.reading_count is not None:
                through = largest(rows, THROUGH)
                if through is None:
                    with self.jobs.limit(str(query.id)):
                        through = own.through(session, records)
        except SPARK_ERRORS as error:
            raise_if_of_workers(error)
            raise_if_of_the_disk(error)
            (line_counts,) = self._count_lines(session, parser, typed, [fence])
            found = failure(query, error, line_counts, offset_us=offset_us)
        else:
            found = result(query, rows, through=through)
            counts = None
            if line_counts is None and not batch.wants_first:
                plan = text if query.reading_count is None else text.replace(own.starts_sql, "")
                counts = self._scans.counts(frame, plan)
            if counts is not None:
                unparsed = counts.candidates - counts.records
                line_counts = LineCounts(
                    counts.records,
                    unparsed,
                    high_time_us=high_us,
                    top_time_us=high_us,
                    lines=counts.candidates,
                    malformed=(unparsed,),
                )
            elif line_counts is None:
                (line_counts,) = self._count_lines(session, parser, typed, [fence])
        (samples,) = self._why(session, parser, [query], [line_counts])
        return line_counts.outcome([line_counts.told_of(found, need=0)], samples)

    def _why(
        self,
        session: SparkSession,
        parser: Parser,
        queries: Sequence[Query],
        found: Sequence[LineCounts],
    ) -> list[tuple[Malformed, ...]]:
        """For each site: why lines are malformed. It may take as long as a query."""
        if not any(line_counts.unparsed for line_counts in found):
            return [() for _ in found]
        is_due = any(query.ends for query in queries)
        with self.jobs.limit(""):
            return self._samples.take(session, parser, LINES, found, is_due=is_due)

    def _rows(self, frame: DataFrame, query: Query, *, bytes_in: int) -> Rows:
        with self.jobs.limit(str(query.id)):
            return self._collector.rows(frame, str(query.id), bytes_in=bytes_in)

    def _count_lines(
        self, session: SparkSession, parser: Parser, typed: str, fences: Sequence[Fence]
    ) -> list[LineCounts]:
        """The lines alone, by the source's own pattern, have as much time as a query."""
        with self.jobs.limit(""):
            return count_lines(session, parser, typed, fences=fences)

    def _run_shared(
        self,
        session: SparkSession,
        analyser: Analyser,
        parser: Parser,
        group: QueryGroup,
        batches: Sequence[SiteBatch],
        *,
        bytes_in: int,
    ) -> list[SiteOutcome]:
        """Several queries or sites: together as far as can be, the others by themselves."""
        offsets_us = [batch.offsets_us for batch in batches]
        fences = [batch.fence for batch in batches]
        together, alone = self._joint.divided(group)
        keep = [SITE, *group.order]
        lines = f"({parser.typed_sql(_view(parser), keep=keep)})"
        starts = [batch.starts for batch in batches]
        found = None
        if len(alone) <= ALONE_MAX and not any(us for one in offsets_us for us in one.values()):
            found = self._joint.results(
                analyser, parser, group, together, lines, fences, jobs=self.jobs, bytes_in=bytes_in
            )
        if found is not None:
            counted, by_query = found
            shared = SharedRun(
                session,
                parser,
                lines,
                counted,
                self._collector,
                bytes_in=bytes_in,
                starts=starts,
                jobs=self.jobs,
            )
            by_query |= self._apart(shared, group, alone)
        else:
            counted, by_query = self._run_kept(
                session, parser, group, fences, offsets_us, starts=starts, bytes_in=bytes_in
            )
        if any(batch.wants_first for batch in batches) and any(one.lacks_first for one in counted):
            counted = self._count_lines(session, parser, lines, fences)
        samples = self._why(session, parser, group.queries, counted)
        results = [
            (parser.needs.index(need_of(query)), by_query[str(query.id)]) for query in group.queries
        ]
        return [
            line_counts.outcome(
                [line_counts.told_of(r[n], need=need) for need, r in results if n in r], samples[n]
            )
            for n, line_counts in enumerate(counted)
        ]

    def _run_kept(
        self,
        session: SparkSession,
        parser: Parser,
        group: QueryGroup,
        fences: Sequence[Fence],
        offsets_us: Sequence[Mapping[str, int]],
        *,
        starts: Sequence[Mapping[str, int]],
        bytes_in: int,
    ) -> tuple[list[LineCounts], Results]:
        """All queries by themselves, over lines that are kept. The counts of lines come first:
        they fill what is kept, and if they fail it is the lines that can't be read."""
        typed = session.sql(parser.typed_sql(_view(parser), keep=[SITE, *group.order]))
        typed.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            typed.createOrReplaceTempView(TYPED)
            counted = self._count_lines(session, parser, TYPED, fences)
            has_refused = any(one.refused for one in counted)
            before_us = refused_sql(fences, site=SITE) if has_refused else None
            shared = SharedRun(
                session,
                parser,
                TYPED,
                counted,
                self._collector,
                bytes_in=bytes_in,
                before_us=before_us,
                offsets_us=offsets_us,
                starts=starts,
                jobs=self.jobs,
            )
            return counted, self._apart(shared, group, group.queries)
        finally:
            typed.unpersist()

    def _apart(self, shared: SharedRun, group: QueryGroup, queries: Sequence[Query]) -> Results:
        found = list(self._pool.map(lambda query: shared.results(query, group), queries))
        self._joint.note(found)
        return {str(query.id): of_query for query, of_query in zip(queries, found, strict=True)}


def _view(parser: Parser) -> str:
    return LINES if parser.made is None else parser.made.view


def _none_in_time(number: int, group: QueryGroup, error: JobCancelled) -> SiteOutcome:
    """No query of the group has a result at this site, and nobody knows which panes are concerned:
    to read the same lines again would take as long again."""
    log.warning("lines of a batch are not read in time", source=group.source.name, words=str(error))
    queries = [query for query in group.queries if number in group.sites_of(query)]
    words = message_of(error)
    return SiteOutcome(tuple(QueryResult(str(query.id), failed=words) for query in queries))
