"""Spark's place at a site and at the root: the same work on numbered lines, done badly on request.

The real ``SiteHost`` and ``SourceStream`` run; what is replaced is what they ask of Spark: the
stream that carries offers, the runner of a batch, and the root part. A stream of ours delays its
batches, repeats them, dies before or after one, is stopped while its last call is still at work, or
can't be started at all; a runner fails a query, or the batch as a whole.
"""

from __future__ import annotations

import contextlib
import datetime
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from py4j.protocol import Py4JNetworkError

from headwater.algebra.rows.types import summary_schema
from headwater.errors import SparkFailed
from headwater.plan.query import Query
from headwater.reading.outcome import QueryResult, SiteOutcome
from headwater.spark.site.inbox import SiteBatch
from headwater.spark.unreadable import Unreadable
from schedules.story import Story
from schedules.turns import Turn, Turns


class SparkTrouble(msgspec.Struct):
    """How badly Spark behaves now; shares of batches, streams and answers."""

    delay_s: float = 0.0
    repeats: float = 0.0
    dies_before: float = 0.0
    dies_after: float = 0.0
    """The batch was committed, and Spark does not know."""
    fails_query: float = 0.0
    fails_batch: float = 0.0
    no_start: float = 0.0
    start_s: float = 0.0
    """A stream takes so long to start, and the host's thread with it."""
    stop_raises: float = 0.0
    root_fails: float = 0.0
    root_delay_s: float = 0.0


class StandInSpark:
    """What a ``SparkSession`` is to the host: given to all that would run on it. One a life."""

    def __init__(self, turns: Turns, chance: random.Random, story: Story) -> None:
        self.turns = turns
        self.chance = chance
        self.story = story
        self.trouble = SparkTrouble()
        self.is_ended = False
        """The JVM is dead."""
        self.failed_batches: list[str] = []
        """Queries that failed on a batch, on request."""

    def lease(self) -> StandInLease:
        """Of whoever keeps the JVM: it is there for the whole life."""
        return StandInLease(self)

    def is_drawn(self, share: float, what: str) -> bool:
        if share and self.chance.random() < share:
            self.story.count(f"spark: {what}")
            self.story.tell(f"spark: {what}")
            return True
        return False

    def raise_if_ended(self) -> None:
        if self.is_ended:
            raise Py4JNetworkError("Answer from Java side is empty")


class StandInLease:
    """The right to use the one session."""

    is_over = False
    generation = 1

    def __init__(self, spark: StandInSpark) -> None:
        self.session = spark

    def at_work(self, _work: Any) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def end(self) -> None:
        """Nobody waits for it."""

    def why_over(self) -> str | None:
        return None

    def condemn(self, waited_s: float) -> None:
        """There is no JVM to end."""


class StandInOffers:
    """In place of ``OfferStream``, and of the frame, the writer and the query made from it."""

    def __init__(self, spark: StandInSpark) -> None:
        spark.raise_if_ended()
        if spark.is_drawn(spark.trouble.no_start, "a stream does not start"):
            raise SparkFailed("no stream today")
        self._spark = spark
        self._offered = 0
        self._turn: Turn | None = None
        self._is_active = False
        self._fault: Exception | None = None
        self._process: Callable[[Any, int], None] = lambda _frame, _number: None
        self._name = "stream"
        self.writeStream = self

    def offer(self) -> None:
        self._spark.raise_if_ended()
        self._offered += 1
        if self._turn is not None:
            self._spark.turns.wake(self._turn)

    def note_caller(self) -> None:
        """There is no connection."""

    def hang_up(self) -> None:
        self._spark.raise_if_ended()

    # The frame and its writer

    def frame(self) -> StandInOffers:
        return self

    def foreachBatch(self, process: Callable[[Any, int], None]) -> StandInOffers:
        self._process = process
        return self

    def option(self, _key: str, _value: str) -> StandInOffers:
        return self

    def queryName(self, name: str) -> StandInOffers:
        self._name = name
        return self

    def trigger(self, **_: Any) -> StandInOffers:
        return self

    def start(self) -> StandInOffers:
        if self._spark.trouble.start_s:
            self._spark.turns.sleep(self._spark.chance.random() * self._spark.trouble.start_s)
        self._is_active = True
        self._spark.story.tell(f"spark: {self._name} starts")
        self._turn = self._spark.turns.start(self._run, f"spark {self._name}")
        return self

    # The running query

    @property
    def isActive(self) -> bool:
        return self._is_active and not self._spark.is_ended

    def exception(self) -> Exception | None:
        return self._fault

    def awaitTermination(self, timeout: float | None = None) -> bool:
        return not self.isActive

    def stop(self) -> None:
        """As Spark does it: the last call of ``foreachBatch`` may still be at work afterwards."""
        self._spark.raise_if_ended()
        self._spark.story.tell(f"spark: {self._name} is stopped")
        self._is_active = False
        if self._turn is not None:
            self._spark.turns.wake(self._turn)
        if self._spark.is_drawn(self._spark.trouble.stop_raises, "stopping a stream fails"):
            raise SparkFailed("the stream did not stop in time")

    def _run(self) -> None:
        spark, done = self._spark, 0
        while self.isActive:
            if done == self._offered:
                spark.turns.wait(5.0)
                continue
            done = self._offered
            try:
                self._batch(done - 1)
            except Exception as error:
                self._fault = error
                self._is_active = False

    def _batch(self, number: int) -> None:
        spark, trouble = self._spark, self._spark.trouble
        if trouble.delay_s:
            spark.turns.sleep(spark.chance.random() * trouble.delay_s)
        if not self.isActive:
            return
        if spark.is_drawn(trouble.dies_before, "a stream dies before its batch"):
            raise SparkFailed("the stream is dead")
        self._process(None, number)
        if spark.is_drawn(trouble.repeats, "a batch comes again"):
            self._process(None, number)
        if spark.is_drawn(trouble.dies_after, "a stream dies after its batch"):
            raise SparkFailed("the stream is dead")


class StandInRunner:
    """In place of ``BatchRunner``: reads the chunks in Python."""

    def __init__(
        self, spark: StandInSpark, directory: Path, learned: object, *, job_s_max: float
    ) -> None:
        self._spark = spark
        self.jobs = self
        """Its jobs take no time, so there is none to end."""

    def cancel(self, query_id: str) -> None:
        """The query is removed."""

    def clear(self) -> None:
        """There are no files to remove."""

    def close(self, **_: Any) -> None:
        """There is nothing to end."""

    def run(self, batches: Sequence[SiteBatch]) -> list[SiteOutcome]:
        self._spark.raise_if_ended()
        outcomes = [self._of_site(batch) for batch in batches]
        self._spark.turns.pause()
        self._spark.raise_if_ended()
        if self._spark.is_drawn(self._spark.trouble.fails_batch, "a batch fails"):
            raise SparkFailed("the batch failed, and no query is to blame")
        return outcomes

    def _of_site(self, batch: SiteBatch) -> SiteOutcome:
        records, unparsed = [], 0
        for chunk in batch.chunks:
            found, other = self._read(batch, chunk)
            records += found
            unparsed += other
        results = tuple(self._result(query, records) for query in batch.queries)
        high_us = max((time_us for time_us, _ in records), default=None)
        return SiteOutcome(results, len(records), unparsed, (), high_us)

    def _read(self, batch: SiteBatch, chunk: Any) -> tuple[list[tuple[int, int]], int]:
        try:
            data = Path(chunk.path).read_bytes()
        except OSError as error:
            raise Unreadable([(batch.site, chunk, str(error))]) from error
        records, unparsed = [], 0
        for text in data.splitlines():
            record = parsed(text)
            if record is None:
                unparsed += 1
            else:
                records.append(record)
        return records, unparsed

    def _result(self, query: Query, records: Iterable[tuple[int, int]]) -> QueryResult:
        counts: dict[tuple[int, int], int] = {}
        for time_us, number in records:
            key = (query.window.pane_at(time_us), number)
            counts[key] = counts.get(key, 0) + 1
        if counts and self._spark.is_drawn(self._spark.trouble.fails_query, f"{query.id} fails"):
            self._spark.failed_batches.append(str(query.id))
            panes = [pane for pane, _ in counts]
            return QueryResult(
                str(query.id), failed="divided by 0", touched=(min(panes), max(panes))
            )
        if not counts:
            return QueryResult(str(query.id))
        rows = sorted(counts.items())
        schema = summary_schema(query.program)
        arrays = [[number for (_, number), _ in rows], [count for _, count in rows]]
        table = pa.Table.from_arrays(
            [pa.array(a, f.type) for a, f in zip(arrays, schema, strict=True)], schema=schema
        )
        panes_column = pa.array([pane for (pane, _), _ in rows], pa.int64())
        return QueryResult(str(query.id), table.add_column(0, "pane", panes_column))


def parsed(text: bytes) -> tuple[int, int] | None:
    """(time in microseconds, number) of a line; None: it is no record."""
    try:
        stamp, _, number = text.decode().split(",")
        when = datetime.datetime.fromisoformat(stamp).replace(tzinfo=datetime.UTC)
        return _micros(when), int(number)
    except ValueError:
        return None


EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def _micros(when: datetime.datetime) -> int:
    return (when - EPOCH) // datetime.timedelta(microseconds=1)


class StandInRoot:
    """In place of ``RootSpark``: numbers and how often each was counted."""

    def __init__(self, spark: StandInSpark) -> None:
        self._spark = spark

    def finish(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, pa.Table]:
        spark = self._spark
        if spark.trouble.root_delay_s:
            spark.turns.sleep(spark.chance.random() * spark.trouble.root_delay_s)
        spark.raise_if_ended()
        if spark.is_drawn(spark.trouble.root_fails, "an answer fails"):
            raise SparkFailed(f"query {query.id}: root part: lost an executor")
        return {window: _counted(groups) for window, groups in windows.items()}

    def prepare(self, query: Query) -> None:
        """Nothing is compiled here."""

    def judge(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, Any]:
        """No group of numbers fails by itself."""
        raise SparkFailed(f"query {query.id}: there is nothing to judge")


def _counted(groups: pa.Table) -> pa.Table:
    rows = sorted(zip(*(column.to_pylist() for column in groups.columns), strict=True))
    return pa.table(
        {
            "id": pa.array([number for number, _ in rows], pa.int64()),
            "n": pa.array([count for _, count in rows], pa.int64()),
        }
    )
