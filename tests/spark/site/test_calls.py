"""Calls into the JVM are counted: each is a message there and back, also where there is no input.

Only calls count, not what py4j tells of objects that are gone, which comes when it comes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from py4j.clientserver import ClientServerConnection  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from spark_kit import ListInbox, per_domain

from headwater.spark.jvm.process_end import ends_within
from headwater.spark.jvm.session import RunningSpark
from headwater.spark.jvm.vitals import read_vitals
from headwater.spark.site import source_stream
from headwater.spark.site.batch import BatchRunner
from headwater.spark.site.inbox import SiteBatch
from headwater.spark.site.scan_counts import TEXTS_MAX, ScanCounter, ScanCounts, scan_counts
from headwater.spark.site.source_stream import SourceStream

T = "2026-11-16T10:00:00Z"
CALL, LOOK_UP = "c", "r"


class Calls:
    """By the first letter of the command."""

    def __init__(self) -> None:
        self.kinds: list[str] = []

    def take(self, kind: str) -> int:
        count, self.kinds = self.kinds.count(kind), []
        return count


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    found, send = Calls(), ClientServerConnection.send_command

    def counted(connection: Any, command: str, *more: Any, **named: Any) -> Any:
        found.kinds.append(command[:1])
        return send(connection, command, *more, **named)

    monkeypatch.setattr(ClientServerConnection, "send_command", counted)
    return found


# A batch


def test_a_batch_like_the_one_before_takes_fewer_calls(
    spark: SparkSession, tmp_path: Path, calls: Calls
) -> None:
    query = per_domain()
    inbox = ListInbox(tmp_path / "a", query.program.source)
    runner = BatchRunner(spark, tmp_path / "batch")
    taken = []
    for number in range(3):
        inbox.put(f"{T},a,{number},1")
        calls.take(CALL)
        batch = SiteBatch("a", (cast(Any, inbox.chunks[-1]),), (query,))
        (outcome,) = runner.run([batch])
        taken.append(calls.take(CALL))
        assert (outcome.records, outcome.unparsed) == (1, 0)
    runner.close()
    print(taken)
    assert taken[1] == taken[2] <= min(45, taken[0] - 30)


def frame_of(spark: SparkSession, filters: int, rows: int = 10) -> Any:
    """A chain with so many filters, each of which drops a row. Spark joins none of them: what is
    below each is drawn by lot."""
    text = f"SELECT id, rand() AS r FROM range({rows}) WHERE id >= 1"
    for number in range(2, filters + 1):
        text = f"SELECT id, rand() AS r FROM ({text}) WHERE id + r >= {number}"
    frame = spark.sql(text)
    frame.toArrow()
    return frame


def test_where_filters_stand_is_found_once(spark: SparkSession, calls: Calls) -> None:
    counter = ScanCounter()
    frames = [frame_of(spark, 2) for _ in range(2)]
    calls.take(CALL)
    assert counter.counts(frames[0], "text") == ScanCounts(candidates=9, records=8)
    first = calls.take(CALL)
    assert counter.counts(frames[1], "text") == ScanCounts(candidates=9, records=8)
    assert calls.take(CALL) <= min(15, first - 1)


@pytest.mark.parametrize(("before", "now"), [(2, 3), (3, 2), (2, 1)])
def test_another_plan_for_the_same_text_is_looked_through_anew(
    spark: SparkSession, before: int, now: int
) -> None:
    counter = ScanCounter()
    counter.counts(frame_of(spark, before), "text")
    frame = frame_of(spark, now, rows=20)
    assert counter.counts(frame, "text") == scan_counts(frame)
    assert (scan_counts(frame) is None) == (now < 2)


def test_no_more_texts_are_remembered_than_the_limit(spark: SparkSession) -> None:
    counter, frame = ScanCounter(), frame_of(spark, 2)
    for number in range(TEXTS_MAX + 5):
        counter.counts(frame, str(number))
    assert len(counter._known) <= TEXTS_MAX


# Looks between batches


def test_the_vitals_are_asked_of_objects_that_are_known(
    running_spark: RunningSpark, calls: Calls
) -> None:
    first = read_vitals(running_spark)
    calls.take(CALL)
    second = read_vitals(running_spark)
    assert LOOK_UP not in calls.kinds
    assert calls.take(CALL) <= 30
    assert second.heap_limit == first.heap_limit
    assert second.thread_count > 0


class MadeQuery:
    """Counts how often it is asked whether it runs."""

    def __init__(self) -> None:
        self.asked = 0

    @property
    def isActive(self) -> bool:
        self.asked += 1
        return True


def test_a_stream_is_asked_whether_it_runs_once_in_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = SimpleNamespace(s=100.0)
    monkeypatch.setattr(source_stream, "time", SimpleNamespace(monotonic=lambda: now.s))
    monkeypatch.setattr(source_stream, "BatchRunner", lambda *_, **__: None)
    stream = SourceStream(
        "hits",
        cast(Any, None),
        tmp_path,
        sites=dict,
        queries=lambda _: (),
        commit_lock=cast(Any, None),
        batch_bytes_max=1,
        batch_rows_max=1,
    )
    query = MadeQuery()
    stream._stream = cast(Any, query)
    for _ in range(5):
        stream.step()
    assert query.asked == 1
    now.s += source_stream.ACTIVE_EVERY_S
    stream.step()
    assert query.asked == 2
    stream.trouble = "its last batch failed"
    stream.step()
    assert query.asked == 3


# The end of a process


class Watched(subprocess.Popen[bytes]):
    polls = 0

    def poll(self) -> int | None:
        self.polls += 1
        return super().poll()


@pytest.fixture
def process() -> Iterator[Watched]:
    with Watched([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as made:
        yield made
        made.kill()


def test_the_end_of_a_process_is_waited_for_and_not_asked_for(process: Watched) -> None:
    assert not ends_within(process, 0.2)
    assert process.polls <= 2
    os.kill(process.pid, signal.SIGKILL)
    began_s = time.monotonic()
    assert ends_within(process, 60.0)
    assert time.monotonic() - began_s < 60.0
    assert ends_within(process, 60.0)


def test_where_the_kernel_does_not_tell_the_process_is_asked(
    process: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_pid: int) -> int:
        raise OSError("no such call")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    assert not ends_within(process, 0.05)
    process.kill()
    assert ends_within(process, 60.0)
