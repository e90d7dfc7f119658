"""What a federation in one process costs, counted for each site: more sites, no more for each.

Counts and not times: of statements, commits, polls, parses, summaries, threads and files, for 10
sites and for 40; and of what queries on one source share.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_spark import GROUPS, PANES, MadeRunner, made_spark

from headwater.agent.admission import _problem_with
from headwater.local.trial.compare_results import differences
from headwater.local.trial.results import StreamResult
from headwater.local.trial.try_query import try_query
from headwater.net.memory.memory_network import MemoryWorld
from headwater.net.memory.value_link import ValueLink
from headwater.net.values.codec import Codec
from headwater.overlay.messages import AckMessage, SummaryMessage
from headwater.store.disk import Disk
from headwater.store.input.finite import FiniteInput
from headwater.store.manifest import Manifest

SOURCE = """
CREATE SOURCE hits (ts TIMESTAMP, url STRING) WITH (format = 'csv', path = '*.csv', time = 'ts');
"""
STREAM = """
CREATE STREAM {name} AS
SELECT url, count(*) AS n FROM hits GROUP BY window(ts, '1 day'), url;
"""
SQL = SOURCE + STREAM.format(name="counts")


COMMITS_MAX, STATEMENTS_MAX = 8, 40
"""Of a site, with its share of what the root writes, beside what acknowledgements make it write."""
SITES_OF_QUERIES, QUERIES = 5, 5
ACK_COMMITS, ACK_STATEMENTS = 1, 4
"""For each acknowledgement: these come every two seconds, however long a busy machine takes."""


class Work:
    """Of one run of ``try`` over so many sites."""

    def __init__(self, site_count: int, results: list[StreamResult], counts: Counter[str]) -> None:
        self.site_count = site_count
        self.results = results
        self.counts = counts

    def per_site(self, what: str) -> float:
        return self.counts[what] / self.site_count


def run(
    site_count: int,
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    files: int = 1,
    sql: str = SQL,
) -> Work:
    for number in range(site_count):
        folder = directory / f"s{number}"
        folder.mkdir(parents=True)
        for file in range(files):
            (folder / f"{file}.csv").write_text("2001-01-01 00:00:00,a\n")
    counts: Counter[str] = Counter()
    with monkeypatch.context() as patch:
        _count(patch, counts, "polls", FiniteInput, "poll")
        _count(patch, counts, "batches", MadeRunner, "run")
        _count(patch, counts, "commits", Manifest, "transaction")
        for verb in ("run", "run_many", "all"):
            _count(patch, counts, "statements", Manifest, verb)
        _count(patch, counts, "segments", Disk, "write_new", _is_no_answer)
        _count(patch, counts, "summaries", ValueLink, "send", _is_summary)
        _count(patch, counts, "acks", ValueLink, "send", _is_ack)
        _count(patch, counts, "encoded", Codec, "encode")
        _count(patch, counts, "parses", "headwater.agent.admission", "check_query")
        _problem_with.cache_clear()
        spark = made_spark(patch)
        work = directory.with_name(f"{directory.name}-work")
        work.mkdir()
        most = Counter(threads=threading.active_count())
        before = Counter(most)

        def look(_: object) -> None:
            most["threads"] = max(most["threads"], threading.active_count())
            most["files"] = max(most["files"], _open_files(work))

        results = try_query(sql, directory, show=look, spark=spark, work=work)
    counts += most - before
    return Work(site_count, results, counts)


def _is_no_answer(_disk: Disk, path: Path, _pieces: object) -> bool:
    return "results" not in path.parts


def _is_summary(_link: ValueLink, message: object, _priority: int) -> bool:
    return isinstance(message, SummaryMessage)


def _is_ack(_link: ValueLink, message: object, _priority: int) -> bool:
    return isinstance(message, AckMessage)


def _count(
    patch: pytest.MonkeyPatch,
    counts: Counter[str],
    what: str,
    owner: Any,
    name: str,
    is_meant: Callable[..., bool] = lambda *_, **__: True,
) -> None:
    path = f"{owner}.{name}" if isinstance(owner, str) else None
    real = getattr(__import__(owner, fromlist=[name]), name) if path else getattr(owner, name)

    def counted(*args: Any, **kwargs: Any) -> Any:
        counts[what] += is_meant(*args, **kwargs)
        return real(*args, **kwargs)

    if path:
        patch.setattr(path, counted)
    else:
        patch.setattr(owner, name, counted)


def _open_files(below: Path) -> int:
    """Of this process, in the directory of the run: what others leave behind comes and goes."""
    found = 0
    for handle in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found += os.readlink(f"/proc/self/fd/{handle}").startswith(str(below))
    return found


@pytest.fixture(scope="module")
def works(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Work]:
    with pytest.MonkeyPatch.context() as patch:
        return {n: run(n, tmp_path_factory.mktemp(f"sites{n}"), patch) for n in (10, 40)}


def test_all_sites_are_in_every_answer(works: dict[int, Work]) -> None:
    for site_count, work in works.items():
        (result,) = work.results
        assert len(result.windows) == PANES
        for window in result.windows:
            assert window.envelope is not None
            assert window.envelope.covered == window.envelope.expected == site_count
            assert window.envelope.exact
            assert window.envelope.final
            assert window.rows.num_rows == GROUPS


def test_files_that_are_there_are_polled_once(works: dict[int, Work]) -> None:
    """And once more when the query is there, whose news the first poll's report was not."""
    for work in works.values():
        assert work.per_site("polls") <= 2


def test_a_site_commits_as_often_among_many(works: dict[int, Work]) -> None:
    assert works[40].per_site("commits") <= 1.3 * works[10].per_site("commits")


def test_a_site_commits_what_it_does_and_nothing_to_begin(works: dict[int, Work]) -> None:
    """Its source, its files, its query, an epoch, a batch, a cut and what was sent; nothing to open
    its stores, and nothing of its commands."""
    acks = works[40].per_site("acks")
    assert works[40].per_site("commits") <= COMMITS_MAX + ACK_COMMITS * acks


def test_statements_of_a_site_are_few(works: dict[int, Work]) -> None:
    acks = works[40].per_site("acks")
    assert works[40].per_site("statements") <= STATEMENTS_MAX + ACK_STATEMENTS * acks


def test_more_panes_are_few_more_statements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, works: dict[int, Work]
) -> None:
    """A pane is one statement when it is sent, and some at the root, to which relays bring one, or
    two where they were late: that is one more for ten sites, and never one for each pane."""
    monkeypatch.setattr(MadeRunner, "panes", 2 * PANES)
    runs = (_more_statements(works[10], tmp_path / str(n), monkeypatch) for n in range(8))
    assert any(more <= 4 * PANES for more in runs)


def _more_statements(fewer: Work, directory: Path, monkeypatch: pytest.MonkeyPatch) -> float:
    """Of a site, than where there were fewer panes, beside what acknowledgements make it write. A
    busy machine only adds to it (relays are late, and what they bring is more), so one quiet run
    of several says what the panes cost."""
    work = run(10, directory, monkeypatch)
    (result,) = work.results
    assert len(result.windows) == 2 * PANES
    more_acks = max(0.0, work.per_site("acks") - fewer.per_site("acks"))
    more = work.per_site("statements") - fewer.per_site("statements")
    return more - ACK_STATEMENTS * more_acks


def test_rows_that_fit_in_memory_are_written_to_no_file(works: dict[int, Work]) -> None:
    """What is written are the answers."""
    for work in works.values():
        assert work.counts["segments"] == 0


def test_a_pane_of_a_site_is_sent_once_and_once_more_by_a_relay(works: dict[int, Work]) -> None:
    for work in works.values():
        assert PANES <= work.per_site("summaries") <= 2 * PANES


def test_nothing_that_sites_of_a_process_say_becomes_bytes(works: dict[int, Work]) -> None:
    for work in works.values():
        assert work.counts["encoded"] == 0


def test_values_and_bytes_give_the_same_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, works: dict[int, Work]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(
            "headwater.local.trial.try_query.MemoryWorld", lambda hands_over_values: MemoryWorld()
        )
        by_bytes = run(10, tmp_path, monkeypatch)
    assert by_bytes.counts["encoded"] > 0
    assert differences(by_bytes.results, works[10].results) == {"counts": None}
    covered = [[w.envelope.covered for w in r.windows if w.envelope] for r in by_bytes.results]
    assert covered == [[10] * PANES]


def test_a_text_is_parsed_once_for_all_sites_of_a_process(works: dict[int, Work]) -> None:
    for work in works.values():
        assert work.counts["parses"] == 1


def test_sites_share_their_threads(works: dict[int, Work]) -> None:
    assert works[40].counts["threads"] <= works[10].counts["threads"] + 2 <= 10


def test_a_site_holds_no_file_open(works: dict[int, Work]) -> None:
    """Its manifests and segments are in memory, and its directory is this run's own."""
    for work in works.values():
        assert work.counts["files"] <= 5


def test_more_files_are_one_commit_more_for_no_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, works: dict[int, Work]
) -> None:
    work = run(10, tmp_path, monkeypatch, files=50)
    assert work.per_site("polls") <= 2
    assert work.per_site("commits") <= 1.3 * works[10].per_site("commits")


def test_queries_on_a_source_cost_no_more_than_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They share its polls, its batches and the commits of these."""

    def of(queries: int) -> Counter[str]:
        sql = SOURCE + "".join(STREAM.format(name=f"counts{n}") for n in range(queries))
        work = run(SITES_OF_QUERIES, tmp_path / str(queries), monkeypatch, sql=sql)
        assert [len(result.windows) for result in work.results] == [PANES] * queries
        work.counts["commits"] -= ACK_COMMITS * work.counts["acks"]
        work.counts["statements"] -= ACK_STATEMENTS * work.counts["acks"]
        return work.counts

    few, many = of(QUERIES), of(4 * QUERIES)
    assert many["polls"] <= 2 * SITES_OF_QUERIES
    assert many["batches"] <= few["batches"] + 1
    assert many["summaries"] <= 2 * PANES * SITES_OF_QUERIES * 4 * QUERIES
    for what in ("parses", "statements"):
        assert many[what] <= 4 * few[what], (what, few, many)
    assert many["commits"] <= 2 * few["commits"], (few, many)
