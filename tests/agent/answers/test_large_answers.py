"""Answers of many rows: in jobs by bytes, from the ledger's summaries one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from store_kit import MERGER, QUERY, envelope_of, query_of, rows_of

from headwater.agent.answers import large_answers, merge_in_shares
from headwater.agent.answers.large_answers import LargeAnswers
from headwater.agent.answers.window_groups import WindowGroups
from headwater.algebra.coverage import Coverage
from headwater.algebra.rows.arrow_rows import Groups
from headwater.errors import GroupFailed
from headwater.node.effects import Answer
from headwater.plan.query import Query
from headwater.root.outputs import Keep, KeptSummary, WindowAnswer
from headwater.root.said.envelope import LeftOut
from headwater.spark.root.bad_groups import Finished
from headwater.spark.root.window_files import START, WindowFiles
from headwater.spark.rows.row_files import SavedRows
from headwater.store.ledger.root_ledger import RootLedger

PANES = range(6)
SUMMARIES = 4


class FileJobs:
    """In place of Spark: what each job was given."""

    def __init__(self, *, bad: bool = False) -> None:
        self.bad = bad
        self.jobs: list[dict[int, int]] = []
        """Of each job: groups in its files by window."""

    def finish_files(self, query: Query, groups: WindowFiles, into: Path) -> dict[int, SavedRows]:
        starts_us = pq.read_table(groups._folder)[START].cast(pa.int64()).to_pylist()
        windows = Counter(query.window.first_window_from(start_us) for start_us in starts_us)
        self.jobs.append(dict(windows))
        if self.bad:
            raise GroupFailed("q", "[BAD]")
        into.mkdir()
        return {w: SavedRows.of(pa.table({"n": [w]}), into / f"{w}") for w in windows}


class Searching:
    """In place of ``GroupFinisher``: one group of each window fails; the rows held at once."""

    def __init__(self) -> None:
        self.asked: list[dict[int, int]] = []

    def finish(self, query: Query, windows: Mapping[int, Groups]) -> Finished:
        self.asked.append({w: groups.merged.num_rows for w, groups in windows.items()})
        rows = {window: pa.table({"n": [window]}) for window in windows}
        return Finished(rows, {window: LeftOut(count=1) for window in windows})


@pytest.fixture
def ledger(tmp_path: Path) -> RootLedger:
    made = RootLedger(tmp_path / "ledger", merger_of=lambda query: MERGER, cache_bytes_max=0)
    number = 0
    for pane in PANES:
        for site in range(SUMMARIES):
            number += 1
            rows = rows_of(*((f"/{n}", n) for n in range(10)))
            made.write(
                [Keep(QUERY, KeptSummary(number, pane, Coverage.of_whole(site, 7), rows, True))]
            )
    return made


def answer_of(query: Query) -> Answer:
    requests = [WindowAnswer(w, 1, (w,), envelope_of(query, w)) for w in PANES]
    return Answer(QUERY, tuple(requests), kept_through=1_000)


def test_a_job_takes_windows_by_their_bytes_and_all_are_answered(
    ledger: RootLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_pane = rows_of(*((f"/{n}", n) for n in range(10))).nbytes
    monkeypatch.setattr(large_answers, "JOB_BYTES_MAX", int(1.5 * one_pane))
    jobs, query = FileJobs(), query_of()
    large = LargeAnswers(ledger, jobs, Searching(), WindowGroups(ledger, differs=print))  # type: ignore[arg-type]
    finished = large.finish(query, answer_of(query), tmp_path)
    assert [sorted(job) for job in jobs.jobs] == [[0, 1], [2, 3], [4, 5]]
    assert sorted(finished.rows) == list(PANES)
    assert {count for job in jobs.jobs for count in job.values()} == {10}, "each group once"


def test_a_window_that_is_too_large_to_merge_at_once_is_merged_by_shares(
    ledger: RootLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_in_shares, "MERGE_BYTES_MAX", 1)
    jobs, query = FileJobs(), query_of()
    LargeAnswers(ledger, jobs, Searching(), WindowGroups(ledger, differs=print)).finish(
        query, answer_of(query), tmp_path
    )  # type: ignore[arg-type]
    (job,) = jobs.jobs
    assert job == dict.fromkeys(PANES, 10)


def test_where_a_group_fails_windows_are_searched_one_at_a_time(
    ledger: RootLedger, tmp_path: Path
) -> None:
    searching, query = Searching(), query_of()
    large = LargeAnswers(ledger, FileJobs(bad=True), searching, WindowGroups(ledger, differs=print))  # type: ignore[arg-type]
    finished = large.finish(query, answer_of(query), tmp_path)
    assert [list(asked) for asked in searching.asked] == [[w] for w in PANES]
    assert sorted(finished.rows) == sorted(finished.left_out) == list(PANES)
    assert [next(iter(finished.rows[w]))["n"].to_pylist() for w in PANES] == [[w] for w in PANES]


def test_a_group_that_overflows_is_left_out_of_a_large_answer_and_named(
    ledger: RootLedger, tmp_path: Path
) -> None:
    for number in (1_001, 1_002):
        rows = rows_of(("/big", 2**62), ("/fine", 1))
        coverage = Coverage.of_whole(number, 7)
        ledger.write([Keep(QUERY, KeptSummary(number, 0, coverage, rows, True))])
    jobs, query = FileJobs(), query_of()
    answer = msgspec.structs.replace(answer_of(query), kept_through=2_000)
    finished = LargeAnswers(ledger, jobs, Searching(), WindowGroups(ledger, differs=print)).finish(
        query, answer, tmp_path
    )  # type: ignore[arg-type]
    assert jobs.jobs[0][0] == 11, "the ten of before, and /fine"
    assert list(finished.left_out) == [0]
    assert finished.left_out[0].count == 1
    assert finished.left_out[0].named[0].keys == {"page": "/big"}
