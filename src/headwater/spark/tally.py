"""What there is to know of a batch's lines beside the answers: how many, how bad, how new."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import reduce
from operator import and_, or_
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.plan.query import Query
from headwater.spark.inbox import Chunk
from headwater.spark.lines import SITE, last_lines
from headwater.spark.parse import BAD, LINE, Parser
from headwater.spark.spark_message import SPARK_ERRORS, message_of

SAMPLES_MAX = 3
"""Malformed lines that are shown, for each site."""
SAMPLE_CHARACTERS = 200
SAMPLES_EVERY_S = 30.0
"""Finding samples reads lines again, so it is not done for every batch."""


class ReadFailed(Exception):
    """The lines themselves can't be read; it is no query's fault."""


class Tally(msgspec.Struct, frozen=True):
    """One site's lines in a batch."""

    records: int = 0
    unparsed: int = 0
    """Lines that are malformed for at least one of the queries."""
    low_time_us: int | None = None
    high_time_us: int | None = None

    def panes(self, query: Query) -> tuple[int, int] | None:
        """The first and last pane of the query that these records touch."""
        if self.low_time_us is None or self.high_time_us is None:
            return None
        return query.window.pane_at(self.low_time_us), query.window.pane_at(self.high_time_us)


def tallies(parser: Parser, typed: DataFrame, *, site_count: int) -> list[Tally]:
    """For each site by its number, from what ``Parser.typed`` yields with the site kept.

    Raises ``ReadFailed``: this reads all lines and evaluates nothing that a query brought.
    """
    is_bad = _flags(parser)
    is_good = ~reduce(and_, is_bad)
    time_us = F.when(is_good, F.unix_micros(F.col(f"`{parser.source.time_column}`")))
    counted = typed.groupBy(SITE).agg(
        F.count_if(is_good).alias("records"),
        F.count_if(reduce(or_, is_bad)).alias("unparsed"),
        F.min(time_us).alias("low_time_us"),
        F.max(time_us).alias("high_time_us"),
    )
    try:
        rows = counted.toArrow().to_pylist()
    except SPARK_ERRORS as error:
        raise ReadFailed(message_of(error)) from error
    found = {row.pop(SITE): Tally(**row) for row in rows}
    return [found.get(number, Tally()) for number in range(site_count)]


def newest_record_us(
    session: SparkSession, parser: Parser, chunks: Sequence[Chunk]
) -> int | None:
    """The highest time among the last records of each chunk: a bound from below, for no pass.

    It tells up to where a source that is behind has been read. Logs are nearly in order, so the
    ends of the chunks tell it; too low a value closes panes later, never too early. The optimizer
    evaluates the few lines itself, without a job.
    """
    lines = [line for chunk in chunks for line in last_lines(chunk)]
    if not lines:
        return None
    frame = session.createDataFrame(pa.table({LINE: lines}))
    records = parser.records(parser.typed(frame), 0)
    times = records.select(F.unix_micros(F.col(f"`{parser.source.time_column}`")).alias("us"))
    return max(times.toArrow()["us"].to_pylist(), default=None)


class SampleBudget:
    """A few malformed lines for people to look at, now and then."""

    def __init__(self) -> None:
        self._next_s = 0.0

    def take(
        self, parser: Parser, lines: DataFrame, found: Sequence[Tally]
    ) -> list[tuple[str, ...]]:
        """For each site; none at all where none are due."""
        samples: list[list[str]] = [[] for _ in found]
        if any(tally.unparsed for tally in found) and time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + SAMPLES_EVERY_S
            for row in self._malformed(parser, lines, limit=SAMPLES_MAX * len(found)):
                if len(samples[row[SITE]]) < SAMPLES_MAX:
                    samples[row[SITE]].append(row[LINE])
        return [tuple(of_site) for of_site in samples]

    def _malformed(self, parser: Parser, lines: DataFrame, *, limit: int) -> list[dict[str, Any]]:
        typed = parser.typed(lines, keep=[SITE, LINE]).where(reduce(or_, _flags(parser)))
        text = F.make_valid_utf8(F.left(F.col(LINE), F.lit(SAMPLE_CHARACTERS)))
        rows: list[dict[str, Any]] = (
            typed.select(SITE, text.alias(LINE)).limit(limit).toArrow().to_pylist()
        )
        return rows


def _flags(parser: Parser) -> list[Column]:
    return [F.col(f"{BAD}{number}") for number in range(len(parser.needs))]
