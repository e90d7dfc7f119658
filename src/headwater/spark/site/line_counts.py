"""What there is to know of a batch's lines beside the answers: how many, how bad, how new."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import structlog
from pyspark.sql import SparkSession

from headwater.algebra.words.malformed import Malformed
from headwater.plan.query import Query
from headwater.reading.outcome import QueryResult, SiteOutcome
from headwater.spark.disk_trouble import raise_if_of_the_disk
from headwater.spark.lines.fields import quoted
from headwater.spark.lines.lines import SITE
from headwater.spark.lines.malformed import kinds_of
from headwater.spark.lines.parse import Parser
from headwater.spark.site.fence import Fence, refused_sql, tolerated_sql
from headwater.spark.spark_message import SPARK_ERRORS, message_of, reduced
from headwater.spark.workers.worker_trouble import raise_if_of_workers

log = structlog.get_logger()

NEVER_US = -(1 << 63)
MASK = "__mask"
"""Column: for which needs a line is malformed."""
SAMPLES_EVERY_S = 30.0
"""Finding out why lines are malformed reads them again, so it is not done for every batch."""


class ReadFailed(Exception):
    """The lines themselves can't be read; it is no query's fault."""


class LineCounts(msgspec.Struct, frozen=True):
    """One site's lines in a batch."""

    records: int = 0
    """Lines that are records for at least one of the queries."""
    unparsed: int = 0
    """Lines that are malformed for at least one of the queries."""
    low_time_us: int | None = None
    high_time_us: int | None = None
    """The highest of the records', or of those that the only query counts, within the fence."""
    top_time_us: int | None = None
    """The highest, those beyond the fence included."""
    fenced: int = 0
    """Records from the future."""
    refused: int = 0
    """Records from too far in the future."""
    lines: int = 0
    """All of them, but for those that are passed over: empty ones, headers."""
    malformed: tuple[int, ...] = ()
    """For each need of the parser: lines that are malformed for it."""

    @classmethod
    def of(
        cls, parts: Iterable[LineCounts], masks: Iterable[int | str], *, needs: int
    ) -> LineCounts:
        """From lines that are malformed for the same needs, and those needs (``bad_mask``)."""
        found = cls(malformed=(0,) * needs)
        for part, mask in zip(parts, masks, strict=True):
            bits = int(mask, 2) if isinstance(mask, str) else mask
            is_bad = [bool(bits >> number & 1) for number in range(needs)]
            found = cls(
                found.records + (0 if all(is_bad) else part.lines),
                found.unparsed + (part.lines if any(is_bad) else 0),
                _extreme(min, found.low_time_us, part.low_time_us),
                _extreme(max, found.high_time_us, part.high_time_us),
                _extreme(max, found.top_time_us, part.top_time_us),
                found.fenced + part.fenced,
                found.refused + part.refused,
                found.lines + part.lines,
                tuple(n + part.lines * bad for n, bad in zip(found.malformed, is_bad, strict=True)),
            )
        return found

    @property
    def lacks_first(self) -> bool:
        """Nobody has asked for the lowest time of these records."""
        return bool(self.records) and self.low_time_us is None

    def told_of(self, found: QueryResult, *, need: int) -> QueryResult:
        """With the lines that this query, which has this need, can't use."""
        return msgspec.structs.replace(found, malformed=self.malformed[need])

    def outcome(
        self, results: Iterable[QueryResult], samples: tuple[Malformed, ...]
    ) -> SiteOutcome:
        """Of the site's part of the batch, with these results."""
        return SiteOutcome(
            results=tuple(results),
            records=self.records,
            unparsed=self.unparsed,
            samples=samples,
            high_time_us=self.high_time_us,
            fenced=self.fenced,
            refused=self.refused,
            lines=self.lines,
            low_time_us=self.low_time_us,
        )

    def panes(self, query: Query, *, offset_us: int = 0) -> tuple[int, int] | None:
        """The first and last pane of the query that these records touch, ``offset_us`` later; None:
        there are none, or their numbers place them, which nobody has looked at."""
        is_placed_by_time = query.numbers is None
        if not is_placed_by_time or self.low_time_us is None or self.top_time_us is None:
            return None
        pane_at = query.window.pane_at
        return pane_at(self.low_time_us + offset_us), pane_at(self.top_time_us + offset_us)


def count_lines(
    session: SparkSession, parser: Parser, typed: str, *, fences: Sequence[Fence]
) -> list[LineCounts]:
    """For each site by its number, from a view or subquery of ``Parser.typed_sql`` with the site.

    Raises ``ReadFailed``: this reads all lines and evaluates nothing that a query brought. Only
    where a record lies beyond the fence are they read a second time: the bounds move with the
    clock, and Spark would compile a text that has them anew for every batch.
    """
    found = _counted(session, parser, typed, [Fence()] * len(fences))
    tops = [NEVER_US if counts.top_time_us is None else counts.top_time_us for counts in found]
    if any(top > fence.tolerated_us for top, fence in zip(tops, fences, strict=True)):
        return _counted(session, parser, typed, fences)
    return found


def _counted(
    session: SparkSession, parser: Parser, typed: str, fences: Sequence[Fence]
) -> list[LineCounts]:
    time_us = f"if({parser.bad_for_all}, NULL, unix_micros({quoted(parser.source.time_column)}))"
    tolerated, refused = tolerated_sql(fences, site=SITE), refused_sql(fences, site=SITE)
    timed = f"SELECT {SITE}, {parser.bad_mask} AS {MASK}, {time_us} AS __us FROM {typed}"
    sql = (
        f"SELECT {SITE}, {MASK}, count(*) AS lines, "
        f"min(if(__us < {refused}, __us, NULL)) AS low_time_us, "
        f"max(if(__us <= {tolerated}, __us, NULL)) AS high_time_us, "
        f"max(if(__us < {refused}, __us, NULL)) AS top_time_us, "
        f"count_if(__us > {tolerated} AND __us < {refused}) AS fenced, "
        f"count_if(__us >= {refused}) AS refused FROM ({timed}) GROUP BY 1, 2"
    )
    try:
        rows = session.sql(sql).toArrow().to_pylist()
    except SPARK_ERRORS as error:
        raise_if_of_workers(error)
        raise_if_of_the_disk(error)
        raise ReadFailed(reduced(error)) from error
    return joined_counts(rows, site_count=len(fences), needs=len(parser.needs))


def joined_counts(
    rows: Iterable[dict[str, Any]], *, site_count: int, needs: int
) -> list[LineCounts]:
    """For each site by its number, from rows with ``SITE``, ``MASK`` and fields of
    ``LineCounts``."""
    parts: list[list[tuple[LineCounts, int | str]]] = [[] for _ in range(site_count)]
    for row in rows:
        number, mask = row.pop(SITE), row.pop(MASK)
        parts[number].append((LineCounts(**row), mask))
    return [
        LineCounts.of([part for part, _ in of], [mask for _, mask in of], needs=needs)
        for of in parts
    ]


def _extreme(choose: Callable[[int, int], int], one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return choose(one, other)


class SampleBudget:
    """Why lines are malformed is found out now and then: it reads the lines again."""

    def __init__(self) -> None:
        self._next_s = 0.0

    def take(
        self,
        session: SparkSession,
        parser: Parser,
        lines: str,
        found: Sequence[LineCounts],
        *,
        is_due: bool = False,
    ) -> list[tuple[Malformed, ...]]:
        """For each site, from the view ``lines``, some of which are malformed; none at all where it
        is not time to. A finite input is read once, so that it is always time (``is_due``)."""
        nothing: list[tuple[Malformed, ...]] = [() for _ in found]
        if not is_due and time.monotonic() < self._next_s:
            return nothing
        self._next_s = time.monotonic() + SAMPLES_EVERY_S
        try:
            return kinds_of(session, parser, lines, site_count=len(found))
        except SPARK_ERRORS as error:
            log.warning("why lines are malformed is not known", words=message_of(error))
            return nothing
