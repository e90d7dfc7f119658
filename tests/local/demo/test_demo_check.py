"""Each window is held to what it says: equal to one Spark, or off by no more than it states."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import msgspec
import pyarrow as pa
import pytest
from query_kit import queries_in
from store_kit import envelope_of, query_of

from headwater.local.demo import demo_check
from headwater.local.demo.asked_once import AskedOnce
from headwater.local.demo.demo import _roster, demo_sql
from headwater.local.demo.demo_check import DemoRecord, _first_difference
from headwater.local.demo.narrow_link import SITE, STREAMS
from headwater.local.demo.narrowed_line import COARSE
from headwater.local.demo.narrowed_line import SITE as NARROWED
from headwater.local.demo.narrowed_line import STREAM as PAGES
from headwater.root.said.withheld import NONE_STATED, StatedError, StatedErrors

STATED = StatedErrors((StatedError("misses", "5 % of total", 5.0, 0.05, 5.0, True),), 1)


def rows(**misses: int) -> pa.Table:
    return pa.table({"url": list(misses), "misses": pa.array(list(misses.values()), pa.int64())})


TRUTH = {1: rows(a=90, b=5), 2: rows(a=40)}


def test_a_window_may_lack_what_it_states_and_no_other_may() -> None:
    lacking = {1: rows(a=90), 2: rows(a=40)}
    assert _first_difference(lacking, TRUTH, {1: STATED, 2: NONE_STATED}) is None
    assert "1" in (_first_difference(lacking, TRUTH, {}) or "")
    found = _first_difference({1: rows(a=89), 2: rows(a=40)}, TRUTH, {1: STATED})
    assert found == "window 1: misses: all rows lack 6, where 5 is stated"
    assert "window 2" in (_first_difference({1: rows(a=90)}, TRUTH, {1: STATED}) or "")


def test_a_stream_is_held_against_the_logs_of_the_sites_that_it_asks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    roster = _roster()
    queries = queries_in(demo_sql(), at="london", known_sites=roster.sites)
    logs = {site.name: tmp_path / site.name for site in roster.sites}
    record = DemoRecord(tuple(queries), logs, roster, tmp_path / "results", 0, 0, 0, 1.0)
    read: dict[str, list[Path]] = {}

    def paths_below(directories: list[Path], _: str) -> list[Path]:
        read[query.stream] = list(directories)
        raise NotImplementedError  # no Spark here

    monkeypatch.setattr(demo_check, "paths_below", paths_below)
    for query in queries:
        begun = msgspec.structs.replace(query, begin_pane=0)
        with pytest.raises(NotImplementedError):
            demo_check._verdict(record, begun, None)  # type: ignore[arg-type]
    for stream, directories in read.items():
        asked = list(logs)
        if stream in STREAMS:
            asked = [SITE]
        elif stream in (PAGES, COARSE):
            asked = ["johannesburg", NARROWED]
        wanted = [logs[site] for site in asked]
        assert sorted(directories) == sorted(wanted), stream


@pytest.mark.parametrize(
    ("exact", "misses", "difference"),
    [
        (True, 3, ""),
        (False, 3, "the answer is not exact"),
        (True, 4, "row"),
        (True, None, "answer"),
    ],
)
def test_a_question_is_held_against_all_logs_and_must_be_exact(
    monkeypatch: pytest.MonkeyPatch, exact: bool, misses: int | None, difference: str
) -> None:
    monkeypatch.setattr(demo_check, "paths_below", lambda directories, path: [])
    monkeypatch.setattr(demo_check, "central_answers", lambda *_: {7: rows(a=3)})
    record, spark = SimpleNamespace(logs={}), SimpleNamespace(session=None)
    query = query_of()
    asked = AskedOnce(query, 1.0)
    if misses is not None:
        envelope = msgspec.structs.replace(envelope_of(query, 7), exact=exact)
        asked = AskedOnce(query, 1.0, envelope, rows(a=misses))
    found = demo_check._asked_verdict(record, asked, spark)  # type: ignore[arg-type]
    assert found.is_equal is (difference == "")
    assert difference in found.difference
