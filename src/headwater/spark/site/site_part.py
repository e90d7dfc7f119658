"""The site parts of several queries over typed lines that are kept for the batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import structlog
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.algebra.rows.row_pieces import RowPieces
from headwater.algebra.rows.taken_rows import TakenPieces, taker
from headwater.algebra.rows.types import site_schema
from headwater.algebra.windows.sequence_grid import ROW
from headwater.plan.query import Query
from headwater.reading.outcome import QueryResult
from headwater.spark.cluster.cluster_trouble import raise_if_of_the_cluster
from headwater.spark.disk_trouble import raise_if_of_the_disk
from headwater.spark.lines.lines import SITE
from headwater.spark.lines.parse import Parser
from headwater.spark.rows.collect import Collector, largest
from headwater.spark.rows.dealing import Rows
from headwater.spark.site.line_counts import LineCounts
from headwater.spark.site.own_count import THROUGH, OwnCount
from headwater.spark.site.query_group import QueryGroup, need_of
from headwater.spark.site.shift import Shift
from headwater.spark.site.site_jobs import JobCancelled, SiteJobs
from headwater.spark.site.site_sql import with_site
from headwater.spark.spark_message import SPARK_ERRORS, message_of, reduced
from headwater.spark.workers.worker_trouble import raise_if_of_workers
from headwater.sql.write.write_site_sql import RECORDS

log = structlog.get_logger()


def over_records(records_sql: str, sql: str) -> str:
    """A part of a query with the view that it reads."""
    return f"WITH {RECORDS} AS ({records_sql}) {sql}"


def result(query: Query, rows: Rows, *, through: int | None = None) -> QueryResult:
    """The rows in the types that the query declares; ``through``: see ``counted_through``."""
    schema, name = _schema(query), str(query.id)
    if not rows.num_rows:
        return QueryResult(name, counted_through=through)
    take = taker(query.program)
    if isinstance(rows, pa.Table):
        table = rows.select(schema.names).cast(schema)
        taken = table if take is None else take(table)
        return QueryResult(name, taken, counted_through=through)
    pieces: RowPieces = rows.fitted(schema)
    if take is not None:
        pieces = TakenPieces(pieces, take)
    return QueryResult(name, pieces=pieces, counted_through=through)


def _schema(query: Query) -> pa.Schema:
    """Of a state query with the number of each record, which says which are the last."""
    schema = site_schema(query.program)
    return schema.append(pa.field(ROW, pa.int64())) if query.holds_states else schema


def failure(
    query: Query, error: Exception, counts: LineCounts, *, offset_us: int = 0
) -> QueryResult:
    """Raises ``SparkFailed`` where it is none of the query's."""
    raise_if_of_the_cluster(error)
    raise_if_of_workers(error)
    raise_if_of_the_disk(error)
    touched = counts.panes(query, offset_us=offset_us)
    log.warning("query failed on a batch", query=str(query.id), words=message_of(error))
    told = message_of(error) if isinstance(error, JobCancelled) else reduced(error)  # our own words
    return QueryResult(str(query.id), failed=told, touched=touched)


class SharedRun:
    """Queries over the view ``typed``. Safe to use from several threads."""

    def __init__(
        self,
        session: SparkSession,
        parser: Parser,
        typed: str,
        found: Sequence[LineCounts],
        collector: Collector,
        *,
        bytes_in: int,
        before_us: str | None = None,
        offsets_us: Sequence[Mapping[str, int]] = (),
        starts: Sequence[Mapping[str, int]],
        jobs: SiteJobs,
    ) -> None:
        """``before_us`` leaves out what the fence refuses; ``offsets_us`` and ``starts`` (of what a
        site counts itself) are by site and query."""
        self._session = session
        self._jobs = jobs
        self._parser = parser
        self._typed = typed
        self._found = found
        self._collector = collector
        self._bytes_in = bytes_in
        self._before_us = before_us
        self._offsets_us = offsets_us or [{}] * len(found)
        self._starts = starts

    def results(self, query: Query, group: QueryGroup) -> dict[int, QueryResult]:
        """One result for each site that runs the query, by the site's number."""
        numbers = sorted(group.sites_of(query))
        count = self._count(query)
        try:
            frame = self._session.sql(self._sql(query, numbers))
        except SPARK_ERRORS as error:
            return {number: self._failure(query, error, number) for number in numbers}
        try:
            with self._jobs.limit(str(query.id)):
                rows = self._collector.rows_by_site(
                    frame, str(query.id), numbers, bytes_in=self._bytes_in
                )
                throughs = self._throughs(query, count, rows)
        except SPARK_ERRORS as error:
            raise_if_of_workers(error)
            if len(numbers) == 1 or isinstance(error, JobCancelled):
                return {number: self._failure(query, error, number) for number in numbers}
            return {number: self._alone(query, number, frame) for number in numbers}
        return {n: result(query, of_site, through=throughs[n]) for n, of_site in rows.items()}

    def _count(self, query: Query) -> OwnCount:
        return OwnCount(query.reading_count, [one.get(str(query.id), 0) for one in self._starts])

    def _throughs(
        self, query: Query, count: OwnCount, rows: Mapping[int, Rows]
    ) -> dict[int, int | None]:
        """Where the count is after the batch, at each site. Raises ``SPARK_ERRORS``."""
        if query.reading_count is None:
            return dict.fromkeys(rows)
        found = {number: largest(of_site, THROUGH) for number, of_site in rows.items()}
        silent = [number for number, through in found.items() if through is None]
        if silent:
            records = self._records(query, silent)
            table = self._session.sql(count.through_sql(records)).toArrow()
            told = {row[SITE]: row[THROUGH] for row in table.to_pylist()}
            start = {n: self._starts[n].get(str(query.id), 0) for n in silent}
            found |= {number: told.get(number, start[number]) for number in silent}
        return found

    def _records(self, query: Query, numbers: Sequence[int]) -> str:
        need, count = self._parser.needs.index(need_of(query)), self._count(query)
        keep = list(dict.fromkeys([SITE, *count.columns]))
        records = self._parser.records_sql(self._typed, need, keep=keep, before_us=self._before_us)
        if len(numbers) < len(self._found):
            records += f" AND {SITE} IN ({', '.join(map(str, numbers))})"
        return records

    def _sql(self, query: Query, numbers: Sequence[int]) -> str:
        records = self._count(query).over(self._records(query, numbers))
        shift = Shift(query, [offsets.get(str(query.id), 0) for offsets in self._offsets_us])
        return over_records(shift.over(records), with_site(query))

    def _failure(self, query: Query, error: Exception, number: int) -> QueryResult:
        offset_us = self._offsets_us[number].get(str(query.id), 0)
        return failure(query, error, self._found[number], offset_us=offset_us)

    def _alone(self, query: Query, number: int, frame: DataFrame) -> QueryResult:
        """One site's records broke the query for all; the others shall not suffer.

        The site is a key of the grouping, so Spark applies this filter before anything else.
        """
        own = frame.where(F.col(SITE) == number)
        try:
            with self._jobs.limit(str(query.id)):
                rows = self._collector.rows(own, str(query.id), bytes_in=self._bytes_in)
                through = self._throughs(query, self._count(query), {number: rows})[number]
        except SPARK_ERRORS as error:
            return self._failure(query, error, number)
        return result(query, rows, through=through)
