"""Several queries in one job: the rows that each gives by itself, at the price of one job."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark import SparkContext
from pyspark.errors import PySparkException
from spark_kit import ListInbox, compiled, inverse, per_domain, stream

from headwater.algebra.rows.equality import difference
from headwater.edge.batches.batch_yield import BatchYield
from headwater.errors import SparkFailed
from headwater.plan.query import Query
from headwater.reading.outcome import SiteOutcome
from headwater.spark.rows import collect
from headwater.spark.rows.collect import Collector
from headwater.spark.site.batch import BatchRunner
from headwater.spark.site.fence import Fence
from headwater.spark.site.inbox import SiteBatch
from headwater.spark.site.joint import joint_run, joint_sql
from headwater.spark.site.joint.joint_sql import joint_statements
from headwater.spark.site.joint.plain_part import part_of, plain_part
from headwater.spark.site.query_group import groups_of
from headwater.spark.site.site_jobs import SiteJobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = """
CREATE SOURCE sales (
  ts TIMESTAMP, shop STRING, item STRING, pieces INT, cents BIGINT, price DECIMAL(9, 2),
  weight DOUBLE, paid BOOLEAN, day DATE
) WITH (format = 'csv', path = '*.csv', time = 'ts');
"""
STREAMS = """
CREATE STREAM a AS SELECT shop, count(*) AS n, sum(cents) AS c FROM sales
  GROUP BY window(ts, '10 seconds'), shop;
CREATE STREAM b AS SELECT item, shop, avg(weight) AS w, sum(pieces) AS p, sum(price) AS s FROM sales
  WHERE pieces > 1 GROUP BY window(ts, '5 seconds'), item, shop;
CREATE STREAM c AS SELECT min(ts) AS t, max(price) AS p, max(weight) AS w, min(day) AS d,
  bool_and(paid) AS a, bool_or(paid) AS o FROM sales GROUP BY window(ts, '1 minute');
CREATE STREAM d AS SELECT upper(shop) AS s, sum(cents) FILTER (WHERE paid) AS c, count(item) AS i,
  count(*) FILTER (WHERE pieces > 1) AS m, count_if(paid) AS p, avg(cents) AS v
  FROM sales WHERE weight IS NULL OR weight > 0 GROUP BY window(ts, '20 seconds'), upper(shop);
CREATE STREAM e AS SELECT weight, pieces, count(*) AS n FROM sales
  GROUP BY window(ts, '10 seconds'), weight, pieces;
"""
LINES = [
    "2026-05-01T12:00:01Z,oslo,tea,1,100,1.25,0.5,true,2026-05-01",
    "2026-05-01T12:00:02Z,oslo,,3,9223372036854775807,2.50,,false,2026-05-02",
    "2026-05-01T12:00:03Z,,tea,2,9223372036854775807,,NaN,,",
    "2026-05-01T12:00:04Z,bonn,nuts,,-9223372036854775808,9999999.99,-0.0,true,2020-01-01",
    "2026-05-01T12:00:14Z,bonn,nuts,7,,0.01,0.0,true,2020-01-01",
    "2026-05-01T12:00:15Z,bonn,nuts,7,5,0.01,-1,,2020-01-01",
    "2026-05-01T12:00:16Z,bonn,nuts,many,5,0.01,-1,,2020-01-01",
    "2026-05-01T12:00:17Z,bonn,nuts,7,5,0.01,heavy,,2020-01-01",
    "broken",
    "1969-12-31T23:59:58Z,old,tea,1,1,1,1,false,1969-12-31",
]


@pytest.fixture
def runner(spark: SparkSession, tmp_path: Path) -> Iterator[BatchRunner]:
    made = BatchRunner(spark, tmp_path / "batch")
    yield made
    made.close()
    made.clear()


def batches(folder: Path, queries: list[Query], *names: str) -> list[SiteBatch]:
    """A site for each name; the first query runs at the first site alone."""
    found = []
    for number, name in enumerate(names):
        inbox = ListInbox(folder / name, queries[0].program.source)
        inbox.put(*LINES[number::2])
        inbox.put(*LINES[: number + 3])
        chosen = queries if number == 0 else queries[1:]
        found.append(SiteBatch(name, tuple(inbox.chunks), tuple(chosen)))
    return found


def job_count(spark: SparkSession, work: Callable[[], object]) -> int:
    """Jobs that Spark ran for it."""
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    before = scheduler.numTotalJobs()
    work()
    return int(scheduler.numTotalJobs() - before)


def rows_of(outcome: SiteOutcome, query: Query) -> pa.Table | None:
    (found,) = [one for one in outcome.results if one.query == str(query.id)]
    assert found.failed is None, found.failed
    return found.table if found.pieces is None else pa.concat_tables(found.pieces)


@pytest.mark.spark
@pytest.mark.parametrize("names", [("x",), ("x", "y")])
def test_together_each_query_gives_the_rows_that_it_gives_alone(
    spark: SparkSession,
    runner: BatchRunner,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    names: tuple[str, ...],
) -> None:
    queries = compiled(STREAMS, SOURCE)
    given = batches(tmp_path, queries, *names)
    together: list[SiteOutcome] = []
    first = job_count(spark, lambda: together.extend(runner.run(given)))
    assert first == 2, "one for all queries, one for samples of malformed lines"
    assert job_count(spark, lambda: runner.run(given)) == 1
    monkeypatch.setattr(collect, "QUICK_BYTES_MAX", -1)
    alone = runner.run(given)
    for ours, theirs in zip(together, alone, strict=True):
        assert [one.query for one in ours.results] == [one.query for one in theirs.results]
        for one in theirs.results:
            (query,) = [query for query in queries if str(query.id) == one.query]
            mine, wanted = rows_of(ours, query), rows_of(theirs, query)
            assert mine is not None
            assert wanted is not None
            assert mine.schema == wanted.schema
            assert difference(mine, wanted) is None, query.id.name
        told = [
            (o.records, o.unparsed, o.high_time_us, o.fenced, o.refused) for o in (ours, theirs)
        ]
        assert told[0] == told[1]
        assert [one.malformed for one in ours.results] == [one.malformed for one in theirs.results]


@pytest.mark.parametrize(
    ("bytes_in", "gave", "is_small"),
    [
        (collect.QUICK_BYTES_MAX, {}, True),
        (collect.GUESS_BYTES_MAX // 2, {}, True),
        (collect.GUESS_BYTES_MAX // 2 + 1, {}, False),
        (2 * collect.GUESS_BYTES_MAX, {"a": 10, "b": 10}, True),
        (collect.GUESS_BYTES_MAX // 2, {"a": collect.QUICK_BYTES_MAX}, True),
        (collect.GUESS_BYTES_MAX // 2, {"a": collect.QUICK_BYTES_MAX + 1}, False),
    ],
)
def test_of_new_queries_less_is_known_and_more_is_dared(
    tmp_path: Path, bytes_in: int, gave: dict[str, int], is_small: bool
) -> None:
    """Two queries; those that gave something before are believed to give as much again."""
    learned = BatchYield()
    for query_id, bytes_out in gave.items():
        learned.gave(query_id, bytes_in=bytes_in, rows_out=1, bytes_out=bytes_out)
    assert Collector(tmp_path, learned).is_small("a", "b", bytes_in=bytes_in) is is_small


@pytest.mark.parametrize(("bytes_out", "is_small"), [(4, True), (5, False)])
def test_where_the_other_way_is_several_jobs_more_is_small(
    tmp_path: Path, bytes_out: int, is_small: bool
) -> None:
    learned = BatchYield()
    given = collect.QUICK_BYTES_MAX
    learned.gave("a", bytes_in=given, rows_out=1, bytes_out=bytes_out * given)
    collector = Collector(tmp_path, learned)
    assert collector.is_small("a", bytes_in=given, times=joint_run.QUICK_TIMES) is is_small
    assert not collector.is_small("a", bytes_in=given)


@pytest.mark.spark
def test_the_first_batch_of_a_query_is_one_job_though_its_rows_are_not_known(
    spark: SparkSession, runner: BatchRunner, tmp_path: Path
) -> None:
    """At two sites, with more lines than would be taken from a query that gives one for each."""
    query = per_domain()
    given = []
    line = "2026-05-01T12:00:01Z,a,10,1"
    count = collect.QUICK_BYTES_MAX // len(line)
    for name in ("x", "y"):
        inbox = ListInbox(tmp_path / name, query.program.source)
        inbox.put(*([line] * count))
        given.append(SiteBatch(name, tuple(inbox.chunks), (query,)))
    found: list[SiteOutcome] = []
    assert job_count(spark, lambda: found.extend(runner.run(given))) == 1
    assert [one.records for one in found] == [count, count]


@pytest.mark.spark
@pytest.mark.parametrize("name", ["a", "b", "c", "d", "e"])
def test_a_query_without_others_at_several_sites_gives_what_it_gives_in_files(
    spark: SparkSession,
    runner: BatchRunner,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    """Its groups count the lines as well: those that WHERE keeps out, and malformed ones."""
    (query,) = [one for one in compiled(STREAMS, SOURCE) if one.id.name == name]
    given = [
        SiteBatch(batch.site, batch.chunks, (query,))
        for batch in batches(tmp_path, [query, query], "x", "y", "z")
    ]
    (group,) = groups_of([batch.queries for batch in given])
    (joint,) = joint_statements(group, [query], group.parser([]), "(typed)", site_count=3)
    assert "UNPIVOT" not in joint.sql
    together = runner.run(given)
    assert any(one.unparsed for one in together)
    monkeypatch.setattr(collect, "QUICK_BYTES_MAX", -1)
    for ours, theirs in zip(together, runner.run(given), strict=True):
        mine, wanted = rows_of(ours, query), rows_of(theirs, query)
        assert mine is not None
        assert wanted is not None
        assert difference(mine, wanted) is None
        assert (ours.records, ours.unparsed) == (theirs.records, theirs.unparsed)
        assert ours.high_time_us == theirs.high_time_us


@pytest.mark.spark
def test_what_one_query_leaves_out_is_neither_summed_nor_a_key(
    spark: SparkSession, runner: BatchRunner, tmp_path: Path
) -> None:
    """Their sum has no room in its type, and their keys would be a group each."""
    source = "CREATE SOURCE big (ts TIMESTAMP, k STRING, n DECIMAL(38, 0), m INT) "
    source += "WITH (format = 'csv', path = '*.csv', time = 'ts');"
    text = "CREATE STREAM s AS SELECT k, sum(n) AS n FROM big WHERE m = 1 "
    (query,) = compiled(text + "GROUP BY window(ts, '10 seconds'), k;", source)
    given = []
    for name in ("x", "y"):
        inbox = ListInbox(tmp_path / name, query.program.source)
        large = "9" * 38
        inbox.put("2026-05-01T12:00:01Z,a,5,1")
        inbox.put(*(f"2026-05-01T12:00:0{n}Z,k{n},{large},0" for n in range(1, 9)))
        given.append(SiteBatch(name, tuple(inbox.chunks), (query,)))
    found: list[SiteOutcome] = []
    assert job_count(spark, lambda: found.extend(runner.run(given))) == 1
    for outcome in found:
        table = rows_of(outcome, query)
        assert table is not None
        assert table.num_rows == 1
        assert (outcome.records, outcome.unparsed) == (9, 0)


@pytest.mark.spark
def test_many_queries_take_few_jobs(
    spark: SparkSession, runner: BatchRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joint_sql, "STRANDS_MAX", 3)
    select = "SELECT bytes > {0} AS k, count(*) AS n, sum(bytes) AS b FROM hits"
    by = " GROUP BY window(ts, '10 seconds'), bytes > {0}"
    queries = [stream((select + by).format(100 + n), name=f"q{n}") for n in range(7)]
    inbox = ListInbox(tmp_path / "x", queries[0].program.source)
    inbox.put("2026-05-01T12:00:01Z,a,10,1", "2026-05-01T12:00:02Z,a,20,1")
    given = [SiteBatch("x", tuple(inbox.chunks), tuple(queries))]
    found: list[SiteOutcome] = []
    assert job_count(spark, lambda: found.extend(runner.run(given))) == 3
    for query in queries:
        table = rows_of(found[0], query)
        assert table is not None
        assert [(row["count_1"], int(row["sum_2"])) for row in table.to_pylist()] == [(2, 30)]
    assert (found[0].records, found[0].unparsed) == (2, 0)


@pytest.mark.spark
def test_a_query_that_breaks_the_job_of_all_runs_by_itself_until_it_works(
    spark: SparkSession, runner: BatchRunner, tmp_path: Path
) -> None:
    good, broken = [per_domain("one"), per_domain("two")], inverse()

    def batch(name: str, count: int) -> list[SiteBatch]:
        inbox = ListInbox(tmp_path / name, broken.program.source)
        inbox.put(f"2026-05-01T12:00:01Z,a,{count},1", f"2026-05-01T12:00:25Z,a,{count},1")
        return [SiteBatch("x", tuple(inbox.chunks), (good[0], broken, good[1]))]

    def jobs(given: list[SiteBatch], *, fails: bool) -> int:
        outcomes: list[SiteOutcome] = []
        count = job_count(spark, lambda: outcomes.extend(runner.run(given)))
        first, middle, last = outcomes[0].results
        assert (middle.failed is not None) is fails
        assert middle.touched == ((177763680, 177763682) if fails else None)
        assert (first.failed, last.failed) == (None, None)
        return count

    bad, well = batch("bad", 0), batch("well", 1)
    assert jobs(well, fails=False) == 1
    assert jobs(bad, fails=True) == 5, "all of them, the tally, and three queries"
    assert jobs(bad, fails=True) == 2, "two queries, and the third"
    assert jobs(well, fails=False) == 2
    assert jobs(well, fails=False) == 1


@pytest.mark.spark
def test_a_guard_of_a_query_holds_in_the_job_of_all(
    spark: SparkSession, runner: BatchRunner, tmp_path: Path
) -> None:
    """What WHERE, FILTER and a malformed field keep out is not computed for any other query."""
    queries = [
        stream(
            "SELECT 100 DIV bytes AS k, sum(100 DIV bytes) AS x, "
            "max(ms / bytes) FILTER (WHERE ms > 0) AS y "
            "FROM hits WHERE bytes <> 0 GROUP BY window(ts, '10 seconds'), 100 DIV bytes",
            name="guarded",
        ),
        per_domain(),
    ]
    inbox = ListInbox(tmp_path / "x", queries[0].program.source)
    inbox.put("2026-05-01T12:00:01Z,a,0,1", "2026-05-01T12:00:02Z,a,50,1")
    given = [SiteBatch("x", tuple(inbox.chunks), tuple(queries))]
    found: list[SiteOutcome] = []
    assert job_count(spark, lambda: found.extend(runner.run(given))) == 1
    tables = [rows_of(found[0], query) for query in queries]
    assert [None if table is None else table.num_rows for table in tables] == [1, 1]


@pytest.mark.spark
def test_records_from_the_future_are_counted_and_refused_as_alone(
    spark: SparkSession, runner: BatchRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And are not looked for in vain at every batch."""
    monkeypatch.setattr(joint_run, "PAUSE_BATCHES", 2)
    queries = [per_domain("one"), per_domain("two")]
    inbox = ListInbox(tmp_path / "x", queries[0].program.source)
    inbox.put(*(f"2026-05-01T12:00:0{second}Z,a,1,1" for second in (1, 3, 5)))
    start_us = 1777636800_000_000
    fence = Fence(tolerated_us=start_us + 2_000_000, refused_us=start_us + 4_000_000)
    given = [SiteBatch("x", tuple(inbox.chunks), tuple(queries), fence)]
    found: list[SiteOutcome] = []
    jobs = [job_count(spark, lambda: found.extend(runner.run(given))) for _ in range(4)]
    assert jobs == [5, 4, 4, 5], "two tallies and two queries, and now and then all together"
    outcome = found[0]
    assert (outcome.records, outcome.fenced, outcome.refused) == (3, 1, 1)
    for query in queries:
        table = rows_of(outcome, query)
        assert table is not None
        assert table["count_1"].to_pylist() == [2]


def test_what_a_cluster_does_fails_the_batch_and_no_query(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lost:
        def sql(self, _: str) -> None:
            raise PySparkException("Job aborted: ExecutorLostFailure (executor 1 exited)")

    class Context:
        master = "spark://somewhere:7077"

        def __getattr__(self, _: str) -> Callable[..., None]:
            return lambda *_: None

    context = Context()
    monkeypatch.setattr(SparkContext, "_active_spark_context", context)
    session = Lost()
    session.sparkContext = context  # type: ignore[attr-defined]
    joint = joint_sql.Joint("SELECT 1", (per_domain(),), ())
    with pytest.raises(SparkFailed, match="which comes again"):
        joint_run._table(session, joint, SiteJobs(session))  # type: ignore[arg-type]


def test_queries_share_the_columns_of_a_statement() -> None:
    """As many sums as the query with most of them has, not as all have together."""
    queries = compiled(STREAMS, SOURCE)
    (group,) = groups_of([queries])
    (joint,) = joint_statements(group, queries, group.parser([]), "(typed)", site_count=1)
    assert joint.sql.count("SUM(__value_") == 4 + 1 + 1 + 1, joint.sql  # of d, and three of b
    assert joint.sql.count(") AS `") == len(queries), "none for the tally"


@pytest.mark.parametrize(
    ("select", "is_fit"),
    [
        ("count(*) AS n, avg(ms) AS m", True),
        ("max(ms) FILTER (WHERE bytes > 1) AS m", True),
        ("min(domain) AS d", False),
    ],
)
def test_an_extreme_of_strings_would_have_all_queries_sorted(select: str, is_fit: bool) -> None:
    query = stream(f"SELECT {select} FROM hits GROUP BY window(ts, '1 minute')")
    assert (part_of(query) is not None) is is_fit


def test_a_text_of_another_form_is_no_part_of_a_joint_statement() -> None:
    query = per_domain()
    for text in (
        query.program.site_sql.replace("COUNT(*)", "COUNT(DISTINCT bytes)"),
        query.program.site_sql.replace("COUNT(*)", "COUNT(*) + 1"),
        query.program.site_sql.replace(" WHERE NOT ts IS NULL", ""),
        "SELECT",
    ):
        assert text != query.program.site_sql
        assert plain_part(text, query.program.source, query.program.keys) is None, text
