"""One batch of chunks through several queries: equal to the reference, each query on its own."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pane_finisher import PaneFinisher
from pyspark.errors import PySparkException
from spark_kit import HITS, ListInbox, compiled, inverse, per_domain, rows, stream

from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.equality import difference
from headwater.errors import SparkFailed
from headwater.plan.query import Query
from headwater.plan.sources.time_formats import CALENDAR_US
from headwater.reading.form import form_of
from headwater.reading.outcome import SiteOutcome
from headwater.spark.central import central_answers, central_finished
from headwater.spark.lines import parse
from headwater.spark.lines.lines import SITE
from headwater.spark.lines.parse import Parser
from headwater.spark.lines.readable import whole_files
from headwater.spark.root.root_part import RootSpark
from headwater.spark.rows import collect
from headwater.spark.site.batch import BatchRunner
from headwater.spark.site.fence import Fence
from headwater.spark.site.inbox import SiteBatch
from headwater.spark.site.joint import joint_run
from headwater.spark.site.line_counts import count_lines
from headwater.spark.site.site_sql import with_high_time, with_site
from headwater.spark.unreadable import Unreadable
from headwater.store.input.site_files import paths_below

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LINES = [
    "2026-05-01T12:00:01Z,a.example,10,1.5",
    "2026-05-01T12:00:02Z,b.example,20,",
    "2026-05-01T12:00:12Z,a.example,9223372036854775807,NaN",
    "2026-05-01T12:00:13Z,a.example,9223372036854775807,-1",
    "2026-05-01T12:00:14Z,a.example,-9223372036854775808,0.25",
    "broken",
    "2026-05-01T12:00:15Z,,7,1",
    "2026-05-01T12:00:15Z,b.example,many,1",
    "1969-12-31T23:59:59Z,old.example,1,1",
]


@pytest.fixture(params=["by the driver", "by files"])
def runner(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Iterator[BatchRunner]:
    if request.param == "by files":
        monkeypatch.setattr(collect, "QUICK_BYTES_MAX", -1)
    made = BatchRunner(spark, tmp_path / "batch")
    yield made
    made.close()
    made.clear()
    assert not (tmp_path / "rows").exists()


def site(name: str, inbox: ListInbox, *queries: Query) -> SiteBatch:
    return SiteBatch(name, tuple(inbox.chunks), queries)


def result(outcome: SiteOutcome, query: Query) -> pa.Table | None:
    (found,) = [one for one in outcome.results if one.query == str(query.id)]
    assert found.failed is None, found.failed
    return found.table if found.pieces is None else pa.concat_tables(found.pieces)


def test_one_query_and_several_give_the_same_rows(runner: BatchRunner, tmp_path: Path) -> None:
    queries = compiled(
        "CREATE STREAM a AS SELECT domain, count(*) AS n, sum(bytes) AS b FROM hits "
        "GROUP BY window(ts, '10 seconds'), domain;"
        "CREATE STREAM b AS SELECT max(ms) AS m, count(*) AS n FROM hits WHERE ms > 0 "
        "GROUP BY window(ts, '5 seconds');"
    )
    inbox = ListInbox(tmp_path / "x", queries[0].program.source)
    inbox.put(*LINES[:4])
    inbox.put(*LINES[4:])
    (together,) = runner.run([site("x", inbox, *queries)])
    for query in queries:
        (alone,) = runner.run([site("x", inbox, query)])
        mine, shared = result(alone, query), result(together, query)
        assert mine is not None
        assert shared is not None
        assert difference(mine, shared) is None
        assert mine.schema == shared.schema
    assert (together.records, together.unparsed) == (8, 2)
    assert together.high_time_us == alone.high_time_us == 1777636815_000_000


def test_malformed_lines_are_counted_and_shown_for_each_site(
    runner: BatchRunner, tmp_path: Path
) -> None:
    query = per_domain()
    good, bad = (ListInbox(tmp_path / name, query.program.source) for name in "xy")
    good.put(LINES[0])
    bad.put("broken", "x" * 1000)
    outcomes = runner.run([site("x", good, query), site("y", bad, query)])
    assert [(one.records, one.unparsed) for one in outcomes] == [(1, 0), (0, 2)]
    assert outcomes[0].samples == ()
    (kind,) = outcomes[1].samples
    assert (kind.reason, kind.lines) == ("wanted 4 fields, got 1", 2)
    assert kind.sample == "broken"
    assert [one.high_time_us for one in outcomes] == [1777636801_000_000, None]


def test_a_malformed_line_at_one_site_alone_is_counted_too(
    runner: BatchRunner, tmp_path: Path
) -> None:
    query = per_domain()
    inbox = ListInbox(tmp_path / "x", query.program.source)
    inbox.put(*LINES)
    (outcome,) = runner.run([site("x", inbox, query)])
    assert (outcome.records, outcome.unparsed) == (7, 2)
    assert {(kind.reason, kind.came, kind.sample) for kind in outcome.samples} == {
        ("wanted 4 fields, got 1", None, LINES[5]),
        ("bytes: wanted bigint", "many", LINES[7]),
    }


@pytest.mark.parametrize("where", ["", "WHERE n < 3 "])
def test_rows_of_files_with_columns_are_counted_before_they_are_filtered(
    runner: BatchRunner, spark: SparkSession, tmp_path: Path, where: str
) -> None:
    """Four rows, of which one has no integer: it is malformed, and what WHERE rejects is not."""
    query = stream(
        f"SELECT count(*) AS c FROM rows {where}GROUP BY window(ts, '1 hour'), n",
        source="CREATE SOURCE rows (ts TIMESTAMP, n INT) "
        "WITH (format = 'parquet', path = '*.parquet', time = 'ts');",
    )
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"ts": ["2026-05-01T12:00:01"] * 4, "n": [1.0, 2.0, 2.5, 3.0]}), path)
    chunks = tuple(whole_files([path], form_of(query.program.source)))
    (outcome,) = runner.run([SiteBatch("x", chunks, (query,))])
    assert (outcome.lines, outcome.records, outcome.unparsed) == (4, 3, 1)
    (kind,) = outcome.samples
    assert (kind.reason, kind.came, kind.lines) == ("n: wanted int", "2.5", 1)
    central = central_finished(spark, query, [path])
    assert (central.lines, central.malformed) == (4, 1)


def test_a_time_beyond_the_calendar_is_malformed_also_where_a_file_has_it_as_a_time(
    runner: BatchRunner, spark: SparkSession, tmp_path: Path
) -> None:
    """Of the years 10000 and 0, which Spark reads and nobody can write down."""
    query = stream(
        "SELECT count(*) AS c FROM rows GROUP BY window(ts, '1 hour')",
        source="CREATE SOURCE rows (ts TIMESTAMP, n INT) "
        "WITH (format = 'parquet', path = '*.parquet', time = 'ts');",
    )
    first_us, end_us = CALENDAR_US
    times = pa.array([first_us - 1, first_us, 0, end_us - 1, end_us], pa.timestamp("us", "UTC"))
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"ts": times, "n": pa.array(range(5), pa.int32())}), path)
    chunks = tuple(whole_files([path], form_of(query.program.source)))
    (outcome,) = runner.run([SiteBatch("x", chunks, (query,))])
    assert (outcome.lines, outcome.records, outcome.unparsed) == (5, 3, 2)
    assert [(kind.reason, kind.lines) for kind in outcome.samples] == [("ts: wanted timestamp", 2)]
    central = central_finished(spark, query, [path])
    assert (central.lines, central.malformed) == (5, 2)


@pytest.mark.parametrize("is_joint", [True, False])
def test_a_line_is_malformed_for_those_queries_alone_that_can_not_use_it(
    runner: BatchRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_joint: bool
) -> None:
    """A field that a query does not read is none of its business; the source counts both."""
    if not is_joint:
        monkeypatch.setattr(joint_run, "NEEDS_MAX", 0)
    queries = compiled(
        "CREATE STREAM b AS SELECT sum(bytes) AS b FROM hits GROUP BY window(ts, '1 hour');"
        "CREATE STREAM m AS SELECT max(ms) AS m FROM hits GROUP BY window(ts, '1 hour');"
        "CREATE STREAM n AS SELECT count(*) AS n FROM hits GROUP BY window(ts, '1 hour');"
    )
    inbox, clean = (ListInbox(tmp_path / name, queries[0].program.source) for name in "xy")
    at = "2026-05-01T12:00:01Z,a"
    inbox.put(f"{at},1,1", f"{at},x,1", f"{at},x,x", f"{at},1,x", f"{at},2,x", "broken", "")
    clean.put(f"{at},1,1")
    found, other = runner.run([site("x", inbox, *queries), site("y", clean, *queries)])
    assert [one.malformed for one in found.results] == [3, 4, 1]
    assert (found.lines, found.records, found.unparsed) == (6, 5, 5)
    assert [one.malformed for one in other.results] == [0, 0, 0]
    for query, malformed in zip(queries, (3, 4, 1), strict=True):
        (alone,) = runner.run([site("x", inbox, query)])
        assert [one.malformed for one in alone.results] == [malformed]
        assert (alone.lines, alone.unparsed) == (6, malformed)


def test_more_needs_than_a_mask_has_bits_are_counted_each_for_itself(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = per_domain()
    needs = (frozenset({"bytes"}), frozenset({"ms"}), frozenset({"ts"}))
    (tmp_path / "lines.csv").write_text(f"{LINES[0]}\n2026-05-01T12:00:15Z,b,many,1\nbroken\n")
    lines = spark.read.text(str(tmp_path / "lines.csv"))
    lines.selectExpr("*", f"0 AS {SITE}").createOrReplaceTempView("lines")
    parser = Parser(query.program.source, needs)
    typed = f"({parser.typed_sql('lines', keep=[SITE])})"
    (by_bits,) = count_lines(spark, parser, typed, fences=[Fence()])
    monkeypatch.setattr(parse, "MASK_NEEDS_MAX", 2)
    (by_digits,) = count_lines(spark, parser, typed, fences=[Fence()])
    assert by_bits == by_digits
    assert (by_bits.lines, by_bits.records, by_bits.malformed) == (3, 2, (2, 1, 1))


def test_a_query_that_fails_still_says_how_many_lines_it_could_not_use(
    runner: BatchRunner, tmp_path: Path
) -> None:
    inbox = ListInbox(tmp_path / "x", per_domain().program.source)
    inbox.put("2026-05-01T12:00:01Z,a,0,1", "2026-05-01T12:00:01Z,a,x,1")
    (outcome,) = runner.run([site("x", inbox, inverse())])
    assert [(one.failed is None, one.malformed) for one in outcome.results] == [(False, 1)]


def test_sums_of_bigints_are_exact_beyond_a_bigint(runner: BatchRunner, tmp_path: Path) -> None:
    query = per_domain()
    assert "SHIFTRIGHT" in with_high_time(query)
    inbox = ListInbox(tmp_path / "x", query.program.source)
    inbox.put(*LINES)
    (outcome,) = runner.run([site("x", inbox, query)])
    table = rows(result(outcome, query))
    found = {(row["pane"], row["domain"]): int(row["sum_2"]) for row in table}
    assert found == {
        (177763680, "a.example"): 10,
        (177763680, "b.example"): 20,
        (177763681, "a.example"): 2**63 - 1 + 2**63 - 1 - 2**63,
        (177763681, None): 7,
        (-1, "old.example"): 1,
    }


def test_sums_that_are_no_bigints_stay_as_they_are_written() -> None:
    query = stream(
        "SELECT sum(ms) AS a, sum(CAST(ms AS DECIMAL(38, 0))) AS b, "
        "sum(bytes) FILTER (WHERE ms > 0) AS c FROM hits GROUP BY window(ts, '1 minute')"
    )
    text = with_site(query)
    assert "SUM(ms) AS" in text
    assert "SUM(CAST(ms AS DECIMAL(38, 0)))" in text
    assert text.count("FILTER(WHERE") == 2, text
    assert text.endswith("GROUP BY 1, __site")


def test_a_query_fails_alone_with_sparks_words_and_its_panes(
    runner: BatchRunner, tmp_path: Path
) -> None:
    fine, broken = per_domain(), inverse()
    inbox = ListInbox(tmp_path / "x", fine.program.source)
    inbox.put("2026-05-01T12:00:01Z,a,0,1", "2026-05-01T12:00:25Z,a,1,1")
    for queries in ([fine, broken], [broken]):
        (outcome,) = runner.run([site("x", inbox, *queries)])
        failed = outcome.results[-1]
        assert failed.failed is not None
        assert "DIVIDE_BY_ZERO" in failed.failed
        assert failed.touched == (177763680, 177763682)
        assert failed.table is None
        if fine in queries:
            assert len(rows(result(outcome, fine))) == 2


@pytest.mark.parametrize("others", [0, 1])
def test_a_full_disk_of_spark_declines_nothing_and_the_batch_comes_again(
    runner: BatchRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    def full(*_: object, **__: object) -> object:
        raise PySparkException("java.io.IOException: No space left on device")

    for verb in ("rows", "rows_by_site"):
        monkeypatch.setattr(collect.Collector, verb, full)
    monkeypatch.setattr(joint_run, "through_driver", full)
    inbox = ListInbox(tmp_path / "in", per_domain().program.source)
    inbox.put(*LINES)
    total = stream("SELECT sum(ms) AS s FROM hits GROUP BY window(ts, '10 seconds')", name="total")
    queries = (per_domain(), *[total] * others)
    with pytest.raises(SparkFailed, match="Spark's disk is full"):
        runner.run([SiteBatch("x", tuple(inbox.chunks), queries)])


def test_a_query_that_one_sites_records_break_works_for_the_others(
    runner: BatchRunner, tmp_path: Path
) -> None:
    query = inverse()
    boxes = [ListInbox(tmp_path / name, query.program.source) for name in "xyz"]
    boxes[0].put("2026-05-01T12:00:01Z,a,50,1")
    boxes[1].put("2026-05-01T12:00:01Z,a,0,1")
    boxes[2].put("2026-05-01T12:00:31Z,a,25,1")
    outcomes = runner.run([site(box.directory.name, box, query) for box in boxes])
    assert [one.results[0].failed is None for one in outcomes] == [True, False, True]
    assert outcomes[1].results[0].touched == (177763680, 177763680)
    values = [[int(r["sum_1"]) for r in rows(result(outcomes[n], query))] for n in (0, 2)]
    assert values == [[2], [4]]


def test_a_query_runs_only_for_the_sites_that_have_it(runner: BatchRunner, tmp_path: Path) -> None:
    first, second = per_domain("first"), per_domain("second")
    boxes = [ListInbox(tmp_path / name, first.program.source) for name in "xy"]
    boxes[0].put(LINES[0])
    boxes[1].put(LINES[1])
    outcomes = runner.run([site("x", boxes[0], first, second), site("y", boxes[1], second)])
    ids = [[one.query for one in outcome.results] for outcome in outcomes]
    assert ids == [[str(first.id), str(second.id)], [str(second.id)]]
    assert [len(rows(result(outcome, second))) for outcome in outcomes] == [1, 1]


def test_a_batch_without_queries_is_read_by_nobody(runner: BatchRunner, tmp_path: Path) -> None:
    inbox = ListInbox(tmp_path / "x", per_domain().program.source)
    inbox.put("whatever")
    assert runner.run([site("x", inbox)]) == [SiteOutcome()]


def test_a_chunk_that_cannot_be_read_is_found_among_many(
    runner: BatchRunner, tmp_path: Path
) -> None:
    query = per_domain()
    inbox = ListInbox(tmp_path / "x", query.program.source)
    for number in range(4):
        data = gzip.compress(f"{LINES[0]}\n".encode())
        inbox.put_bytes(data if number != 2 else b"no gzip at all", name=f"{number}.csv.gz")
    with pytest.raises(Unreadable) as caught:
        runner.run([site("x", inbox, query)])
    assert [(name, chunk.cut) for name, chunk, _ in caught.value.chunks] == [("x", 3)]
    del inbox.chunks[2]
    (outcome,) = runner.run([site("x", inbox, query)])
    assert outcome.records == 3


def test_a_file_that_is_cut_off_while_it_is_read_is_named(
    runner: BatchRunner, tmp_path: Path
) -> None:
    """Its lines up to the new end would be taken for all of it. One that has grown is well."""
    query = per_domain()
    paths = [tmp_path / f"{name}.csv" for name in ("cut", "grown")]
    for path in paths:
        path.write_text(f"{LINES[0]}\n{LINES[1]}\n")
    files = whole_files(paths, form_of(query.program.source))
    os.truncate(files[0].path, len(LINES[0]) + 1)
    with files[1].path.open("a") as file:
        file.write(f"{LINES[0]}\n")
    with pytest.raises(Unreadable) as caught:
        runner.run([SiteBatch("x", tuple(files), (query,))])
    ((name, chunk, words),) = caught.value.chunks
    assert (name, chunk) == ("x", files[0])
    assert words == f"it had {files[0].bytes} bytes, and {len(LINES[0]) + 1} when it had been read"


def test_signs_of_a_glob_in_a_path_are_plain_letters(runner: BatchRunner, tmp_path: Path) -> None:
    query = per_domain()
    inbox = ListInbox(tmp_path / "a[1]*{b,c}?", query.program.source)
    inbox.put(LINES[0], name="log [2026] *.txt")
    inbox.put(LINES[1], name="50%25.txt")
    (outcome,) = runner.run([site("x", inbox, query)])
    assert outcome.records == 2


def test_a_query_under_other_settings_is_parsed_apart(runner: BatchRunner, tmp_path: Path) -> None:
    (one,) = compiled(
        "CREATE STREAM a AS SELECT count(*) AS n FROM hits GROUP BY window(ts, '1 hour');"
    )
    (other,) = compiled(
        "CREATE STREAM b AS SELECT count(*) AS n FROM hits GROUP BY window(ts, '1 hour');",
        HITS.replace("time = 'ts'", "time = 'ts', null_value = '-'"),
    )
    inbox = ListInbox(tmp_path / "x", one.program.source)
    inbox.put("2026-05-01T12:00:00Z,-,1,-", "2026-05-01T12:00:00Z,-,-,-")
    (outcome,) = runner.run([site("x", inbox, one, other)])
    assert result(outcome, one) is not None
    assert len(rows(result(outcome, other))) == 1


def test_site_parts_merged_and_finished_equal_one_plain_spark(
    spark: SparkSession, runner: BatchRunner, tmp_path: Path
) -> None:
    queries = compiled(
        "CREATE STREAM a AS SELECT domain, count(*) AS n, sum(bytes) AS b, avg(ms) AS m FROM hits "
        "WHERE bytes < 9000000000000000000 GROUP BY window(ts, '20 seconds', '10 seconds'), domain "
        "ORDER BY n DESC LIMIT 2;"
        "CREATE STREAM b AS SELECT min(ms) AS lo, max(ms) AS hi FROM hits "
        "GROUP BY window(ts, '1 minute');"
    )
    folders = [tmp_path / "x", tmp_path / "y"]
    boxes = [ListInbox(folder, queries[0].program.source) for folder in folders]
    boxes[0].put(*LINES[:3], name="one.csv")
    boxes[0].put(*LINES[3:5], name="two.csv")
    boxes[1].put(*LINES[5:], name="three.csv")
    outcomes = runner.run([site(box.directory.name, box, *queries) for box in boxes])
    for query in queries:
        answers = PaneFinisher(RootSpark(spark)).finish(query, windows_of(query, outcomes)).rows
        reference = central_answers(spark, query, paths_below(folders, query.program.source.path))
        assert answers.keys() == reference.keys()
        for window, answer in answers.items():
            assert difference(answer, reference[window]) is None
            assert answer.schema.names == [column.name for column in query.program.output]


def windows_of(query: Query, outcomes: list[SiteOutcome]) -> dict[int, list[tuple[int, pa.Table]]]:
    """Every window with the merged rows of its panes, as a root would hold them."""
    tables = [table for one in outcomes if (table := result(one, query)) is not None]
    parts: dict[int, list[pa.Table]] = {}
    for table in tables:
        for pane in set(table["pane"].to_pylist()):
            chosen = table.filter(pa.compute.equal(table["pane"], pane)).drop_columns("pane")
            parts.setdefault(pane, []).append(chosen)
    merger = ArrowMerger(query.program)
    found: dict[int, list[tuple[int, pa.Table]]] = {}
    for pane, tables_of_pane in parts.items():
        for window in query.window.windows_of(pane):
            found.setdefault(window, []).append((pane, merger.merge(tables_of_pane)))
    return found
