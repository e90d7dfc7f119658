"""The site part of one query over the records of a batch, and how it fails alone."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.algebra.types import site_schema
from headwater.plan.query import Query
from headwater.spark.inbox import QueryResult
from headwater.spark.lines import SITE
from headwater.spark.parse import Parser
from headwater.spark.query_group import QueryGroup, need_of
from headwater.spark.site_sql import runnable
from headwater.spark.spark_message import SPARK_ERRORS, message_of
from headwater.spark.tally import Tally

RECORDS = "records"


def analysed(session: SparkSession, records: DataFrame, sql: str) -> DataFrame:
    """The query over these records. Spark resolves the view here and now, so the next query may
    give the name to other records while this one runs."""
    records.createOrReplaceTempView(RECORDS)
    return session.sql(sql)


def fitted(query: Query, table: pa.Table) -> pa.Table | None:
    """The rows in the types that the query declares; None where there are none."""
    if not table.num_rows:
        return None
    schema = site_schema(query)
    return table.select(schema.names).cast(schema)


def failure(query: Query, error: Exception, tally: Tally) -> QueryResult:
    return QueryResult(
        str(query.id), failed=message_of(error), touched=tally.panes(query)
    )


class SharedRun:
    """Queries over typed lines that are kept for the batch. ``prepare`` is called by one thread;
    what it returns may run in another."""

    def __init__(
        self, session: SparkSession, parser: Parser, typed: DataFrame, found: Sequence[Tally]
    ) -> None:
        self._session = session
        self._parser = parser
        self._typed = typed
        self._found = found

    def prepare(self, query: Query, group: QueryGroup) -> DataFrame | Exception:
        """The query over all sites that run it, or why it can't even be planned."""
        numbers = group.sites_of(query)
        typed = self._typed
        if len(numbers) < len(self._found):
            typed = typed.where(F.col(SITE).isin(sorted(numbers)))
        try:
            records = self._parser.records(typed, self._need(query), keep=[SITE])
            return analysed(self._session, records, runnable(query, has_site=True))
        except SPARK_ERRORS as error:
            return error

    def results(
        self, query: Query, group: QueryGroup, prepared: DataFrame | Exception
    ) -> dict[int, QueryResult]:
        """One result for each site that runs the query, by the site's number."""
        numbers = sorted(group.sites_of(query))
        if isinstance(prepared, Exception):
            return {n: failure(query, prepared, self._found[n]) for n in numbers}
        try:
            table = prepared.toArrow()
        except SPARK_ERRORS as error:
            if len(numbers) == 1:
                return {numbers[0]: failure(query, error, self._found[numbers[0]])}
            return {number: self._alone(query, number, prepared) for number in numbers}
        return {
            number: QueryResult(str(query.id), fitted(query, _of_site(table, number)))
            for number in numbers
        }

    def _alone(self, query: Query, number: int, prepared: DataFrame) -> QueryResult:
        """One site's records broke the query for all; the others shall not suffer.

        The site is a key of the grouping, so Spark applies this filter before anything else.
        """
        try:
            table = prepared.where(F.col(SITE) == number).toArrow()
        except SPARK_ERRORS as error:
            return failure(query, error, self._found[number])
        return QueryResult(str(query.id), fitted(query, table))

    def _need(self, query: Query) -> int:
        return self._parser.needs.index(need_of(query))


def _of_site(table: pa.Table, number: int) -> pa.Table:
    return table.filter(pc.equal(table.column(SITE), number))
