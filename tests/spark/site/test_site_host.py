"""A host with sites made of lists: every record once, whatever ends in between."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from py4j.clientserver import ClientServerConnection  # type: ignore[import-untyped]
from spark_kit import ListInbox, inverse, per_domain, until
from structlog.testing import capture_logs

from headwater.errors import StoreError
from headwater.plan.query import Query
from headwater.reading.outcome import Batch, SiteOutcome
from headwater.spark.site import source_stream
from headwater.spark.site.site_host import SiteHost

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PANE = 177763680
"""The pane of 2026-05-01T12:00:00Z in panes of ten seconds."""

MakeInbox = Callable[..., ListInbox]


def line(second: int, domain: str = "a", size: int = 1) -> str:
    return f"2026-05-01T12:00:{second:02d}Z,{domain},{size},1.5"


@pytest.fixture
def host(spark: SparkSession, tmp_path: Path) -> Iterator[SiteHost]:
    made = SiteHost(spark, tmp_path / "host", batch_bytes_max=1 << 20)
    yield made
    made.stop()
    assert not spark.streams.active


@pytest.fixture
def serve(host: SiteHost, tmp_path: Path) -> MakeInbox:
    def make(name: str, *queries: Query) -> ListInbox:
        inbox = ListInbox(tmp_path / name, queries[0].program.source)
        inbox.installed.update(str(query.id) for query in queries)
        for query in queries:
            host.install(query)
        host.serve(name, inbox)
        return inbox

    return make


def give(host: SiteHost, inbox: ListInbox, *lines: str) -> None:
    """New lines, read and committed when this returns."""
    inbox.put(*lines)
    host.notice("hits")
    inbox.wait_for_all()


def test_sites_share_a_stream_and_queries_come_and_go_while_it_runs(
    spark: SparkSession, host: SiteHost, serve: MakeInbox
) -> None:
    first, second = per_domain("first"), per_domain("second")
    x = serve("x", first)
    give(host, x, line(1), line(11), "broken")
    assert x.counts(first) == {(PANE, "a"): 1, (PANE + 1, "a"): 1}
    assert (x.lines, x.records, x.unparsed) == (3, 2, 1)
    assert [kind.sample for kind in x.samples] == ["broken"]
    assert x.high_time_us == (PANE + 1) * 10_000_000 + 1_000_000
    (stream,) = spark.streams.active

    x.installed.add(str(second.id))
    host.install(second)
    y = serve("y", first)
    y.put(line(1, "b"))
    give(host, x, line(2))
    y.wait_for_all()
    assert x.counts(first)[PANE, "a"] == 2
    assert x.counts(second) == {(PANE, "a"): 1}
    assert y.counts(first) == {(PANE, "b"): 1}
    assert y.counts(second) == {}

    x.installed.discard(str(first.id))
    host.remove(str(first.id))
    y.put(line(3, "b"))
    give(host, x, line(3))
    y.wait_for_all()
    assert y.counts(first) == {(PANE, "b"): 2}, "a site that still runs it keeps it"
    y.installed.discard(str(first.id))
    host.remove(str(first.id))
    assert str(first.id) not in host._queries
    assert x.counts(first)[PANE, "a"] == 2
    assert x.counts(second)[PANE, "a"] == 2

    host.withdraw("y")
    y.put(line(4, "b"))
    give(host, x, line(5))
    assert y.committed == 2
    assert [one.id for one in spark.streams.active] == [stream.id], "nothing was restarted"


def test_a_batch_is_bounded_by_the_rows_that_come_out_of_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Every line is a group of its own, and all chunks fit one batch by their bytes. The first
    batch is a chunk, from which the others are judged."""
    chunk_rows, rows_max = 20, 100
    host = SiteHost(spark, tmp_path / "host", batch_rows_max=rows_max)
    try:
        query = per_domain()
        inbox = ListInbox(tmp_path / "x", query.program.source)
        inbox.installed.add(str(query.id))
        host.install(query)
        host.serve("x", inbox)
        give(host, inbox, *(line(1, f"first{n}") for n in range(chunk_rows)))
        for chunk in range(23):
            inbox.put(*(line(1, f"d{chunk:03d}{n:02d}") for n in range(chunk_rows)))
        host.notice("hits")
        inbox.wait_for_all()
    finally:
        host.stop()
    counts = [result.table.num_rows for result in inbox.results]
    assert sum(counts) == 24 * chunk_rows, "each record counts once"
    assert max(counts[1:]) <= rows_max
    assert len(counts) <= 4 + 23 * chunk_rows // rows_max, "and they are no smaller than they must"


def test_a_stream_that_was_stopped_goes_on_at_the_committed_cut(
    spark: SparkSession, host: SiteHost, serve: MakeInbox
) -> None:
    query = per_domain()
    inbox = serve("x", query)
    give(host, inbox, line(1))
    (stream,) = spark.streams.active
    stream.stop()
    give(host, inbox, line(2), line(3))
    assert inbox.counts(query) == {(PANE, "a"): 3}
    assert inbox.epoch == 2
    assert {epoch for epoch, _ in inbox.batches} == {1, 2}


def test_a_stream_that_has_ended_leaves_no_connection_and_no_thread_behind(
    spark: SparkSession, host: SiteHost, serve: MakeInbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """py4j opens one for each thread of the JVM that calls us, and closes none by itself."""
    callers = set()
    call = ClientServerConnection._call_proxy

    def note_and_call(connection: Any, *rest: Any) -> Any:
        callers.add(connection)  # one that only tells of garbage is the collector's, and stays
        return call(connection, *rest)

    monkeypatch.setattr(ClientServerConnection, "_call_proxy", note_and_call)

    def open_connections() -> int:
        return sum(one.socket is not None for one in list(callers))

    inbox = serve("x", per_domain())
    give(host, inbox, line(1))
    assert open_connections() == 1
    for second in range(2, 6):
        for stream in spark.streams.active:
            stream.stop()
        give(host, inbox, line(second))
    until(lambda: open_connections() == 1)
    assert len(callers) == 5
    host.withdraw("x")
    until(lambda: open_connections() == 0)


def become_a_file(directory: Path) -> None:
    """Spark may still be writing to it: it notes a batch as done after the batch is."""
    while not directory.is_file():
        shutil.rmtree(directory, ignore_errors=True)
        with suppress(IsADirectoryError):
            directory.write_text("no directory any more")


def test_a_deleted_checkpoint_costs_an_epoch_and_no_record(
    host: SiteHost, serve: MakeInbox, tmp_path: Path
) -> None:
    query = per_domain()
    inbox = serve("x", query)
    give(host, inbox, line(1))
    (checkpoint,) = (tmp_path / "host").glob("streams/hits/checkpoints/*")
    become_a_file(checkpoint)
    give(host, inbox, line(2))
    give(host, inbox, line(3))
    assert inbox.counts(query) == {(PANE, "a"): 3}
    assert inbox.epoch == 2


def test_a_batch_that_comes_twice_counts_once(host: SiteHost, serve: MakeInbox) -> None:
    """A crash right after the commit: Spark does not know that the batch succeeded."""
    query = per_domain()
    inbox = serve("x", query)
    commit = inbox.commit

    def commit_and_die(batch: Batch, outcome: SiteOutcome) -> None:
        commit(batch, outcome)
        inbox.commit = commit  # type: ignore[method-assign]
        raise RuntimeError("killed after the commit")

    inbox.commit = commit_and_die  # type: ignore[method-assign]
    give(host, inbox, line(1))
    give(host, inbox, line(2))
    assert inbox.counts(query) == {(PANE, "a"): 2}
    assert inbox.epoch == 2


def test_a_crash_before_the_commit_repeats_the_batch(host: SiteHost, serve: MakeInbox) -> None:
    query = per_domain()
    inbox = serve("x", query)
    commit = inbox.commit

    def die(batch: Batch, outcome: SiteOutcome) -> None:
        inbox.commit = commit  # type: ignore[method-assign]
        raise RuntimeError("killed before the commit")

    inbox.commit = die  # type: ignore[method-assign]
    give(host, inbox, line(1))
    assert inbox.counts(query) == {(PANE, "a"): 1}


def test_a_full_disk_is_waited_for(host: SiteHost, serve: MakeInbox) -> None:
    query = per_domain()
    inbox = serve("x", query)
    inbox.full_disks = 1
    give(host, inbox, line(1))
    assert inbox.counts(query) == {(PANE, "a"): 1}
    assert inbox.epoch == 1, "the batch was kept, not repeated"


def test_a_disk_that_stays_full_is_told_when_it_is_so_and_when_it_is_over(
    host: SiteHost, serve: MakeInbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_stream, "COMMIT_RETRY_S", 0.001)
    inbox = serve("x", per_domain())
    inbox.full_disks = 20
    with capture_logs() as lines:
        give(host, inbox, line(1))
        give(host, inbox, line(2))
    assert [one["why"] for one in lines if one["event"] == "commit waits"] == [
        "no room",
        "no longer",
    ]


def test_a_failing_query_stops_neither_the_source_nor_the_others(
    host: SiteHost, serve: MakeInbox
) -> None:
    fine, broken = per_domain(), inverse()
    inbox = serve("x", fine, broken)
    give(host, inbox, line(1, size=0))
    give(host, inbox, line(2, size=50))
    assert inbox.counts(fine) == {(PANE, "a"): 2}
    (failed,) = inbox.failures(broken)
    assert "DIVIDE_BY_ZERO" in failed.failed
    assert failed.touched == (PANE, PANE)
    assert inbox.counts(broken, "sum_1") == {(PANE, None): 2}


def test_an_unreadable_chunk_is_set_aside_and_the_rest_is_read(
    host: SiteHost, serve: MakeInbox
) -> None:
    query = per_domain()
    inbox = serve("x", query)
    inbox.put_bytes(gzip.compress(f"{line(1)}\n".encode()), name="1.gz")
    inbox.put_bytes(b"this is no gzip", name="2.gz")
    inbox.put_bytes(gzip.compress(f"{line(3)}\n".encode()), name="3.gz")
    host.notice("hits")
    inbox.wait_for_all()
    assert inbox.quarantined == [2]
    assert inbox.counts(query) == {(PANE, "a"): 2}


def test_a_big_backlog_is_read_in_bounded_batches(host: SiteHost, serve: MakeInbox) -> None:
    query = per_domain()
    inbox = serve("x", query)
    lines = [line(second % 60) for second in range(9_000)]
    for _ in range(6):
        inbox.put(*lines)
    host.notice("hits")
    inbox.wait_for_all()
    assert sum(inbox.counts(query).values()) == 6 * len(lines)
    assert len(inbox.batches) >= 2


def test_a_site_with_a_broken_store_does_not_stop_its_neighbour(
    host: SiteHost, serve: MakeInbox
) -> None:
    query = per_domain()
    broken, fine = serve("broken", query), serve("fine", query)

    def refuse(batch: Batch, outcome: SiteOutcome) -> None:
        raise StoreError("the manifest is damaged")

    broken.commit = refuse  # type: ignore[method-assign]
    broken.put(line(1))
    give(host, fine, line(2))
    give(host, fine, line(3))
    assert fine.counts(query) == {(PANE, "a"): 2}
    assert broken.committed == 0


def test_a_stream_ends_when_nobody_reads_its_source(
    spark: SparkSession, host: SiteHost, serve: MakeInbox
) -> None:
    inbox = serve("x", per_domain())
    give(host, inbox, line(1))
    host.withdraw("x")
    until(lambda: not spark.streams.active)
