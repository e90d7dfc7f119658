"""Queries that share rows: which of them do, and that none of them is answered differently."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from spark_kit import ListInbox, compiled, inverse, stream

from headwater.algebra.rows.equality import difference
from headwater.plan.query import Query
from headwater.reading.outcome import SiteOutcome
from headwater.spark.lines.lines import SITE
from headwater.spark.rows import collect
from headwater.spark.site.batch import BatchRunner
from headwater.spark.site.inbox import SiteBatch
from headwater.spark.site.joint import strands
from headwater.spark.site.joint.joint_rows import Joint
from headwater.spark.site.joint.joint_sql import joint_statements
from headwater.spark.site.joint.strands import GROUP
from headwater.spark.site.query_group import groups_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = """
CREATE SOURCE sales (
  ts TIMESTAMP, shop STRING, item STRING, pieces INT, cents BIGINT, price DECIMAL(38, 2),
  weight DOUBLE, paid BOOLEAN
) WITH (format = 'csv', path = '*.csv', time = 'ts');
"""
STREAMS = """
CREATE STREAM a AS SELECT shop, item, count(*) AS n, sum(cents) AS c FROM sales
  GROUP BY window(ts, '10 seconds'), shop, item;
CREATE STREAM b AS SELECT item, sum(price) AS s, max(weight) AS w, avg(weight) AS v FROM sales
  WHERE pieces > 1 GROUP BY window(ts, '10 seconds'), item;
CREATE STREAM c AS SELECT count(*) AS n, min(ts) AS t, bool_and(paid) AS p, sum(cents) AS c
  FROM sales GROUP BY window(ts, '10 seconds');
CREATE STREAM d AS SELECT shop, count_if(paid) AS p, sum(pieces) AS q,
  sum(cents) FILTER (WHERE paid) AS c FROM sales WHERE paid OR weight > 0
  GROUP BY window(ts, '10 seconds'), shop;
CREATE STREAM e AS SELECT weight, count(*) AS n, min(weight) AS w FROM sales
  GROUP BY window(ts, '10 seconds'), weight;
CREATE STREAM f AS SELECT weight, shop, max(price) AS p FROM sales WHERE pieces > 1
  GROUP BY window(ts, '10 seconds'), weight, shop;
"""
FIELDS = (
    ("oslo", "bonn", "", "bärn"),
    ("tea", "nuts", ""),
    ("1", "2", "3", "", "many"),
    ("5", "9223372036854775807", "-9223372036854775808", "", "1.5"),
    ("1.25", "-0.01", "", "99999999999999999999.99", "dear"),
    ("0.5", "NaN", "-0.0", "0.0", "-1", "", "Infinity", "heavy"),
    ("true", "false", "", "perhaps"),
)


def drawn_lines(count: int, seed: int) -> list[str]:
    """Sales within half a minute; what can be written wrongly is so now and then."""
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        time = f"2026-05-01T12:00:{chance.randrange(30):02d}Z"
        made.append(",".join([time, *(chance.choice(of) for of in FIELDS)]))
    return [*made, "broken", "2026-05-01T12:00:99Z,oslo,tea,1,1,1,1,true", ""]


@pytest.fixture
def runner(spark: SparkSession, tmp_path: Path) -> Iterator[BatchRunner]:
    made = BatchRunner(spark, tmp_path / "batch")
    yield made
    made.close()
    made.clear()


def batch(folder: Path, name: str, lines: list[str], queries: list[Query]) -> SiteBatch:
    inbox = ListInbox(folder / name, queries[0].program.source)
    inbox.put(*lines)
    return SiteBatch(name, tuple(inbox.chunks), tuple(queries))


def rows_of(outcome: SiteOutcome, query: Query) -> pa.Table:
    (found,) = [one for one in outcome.results if one.query == str(query.id)]
    assert found.failed is None, found.failed
    table = found.table if found.pieces is None else pa.concat_tables(found.pieces)
    assert table is not None
    return table


def joints(*queries: Query) -> list[Joint]:
    (group,) = groups_of([queries])
    return joint_statements(group, queries, group.parser([]), "(typed)", site_count=1)


def strand_count(*queries: Query) -> int:
    (joint,) = joints(*queries)
    return len({place.group & (1 << strands.STRAND_BITS) - 1 for place in joint.places})


def by(keys: str, *, where: str = "", window: str = "10 seconds", what: str = "count(*)") -> Query:
    items = f"{keys}, {what} AS n" if keys else f"{what} AS n"
    groups = ", ".join([f"window(ts, '{window}')", *([keys] if keys else [])])
    condition = f"WHERE {where} " if where else ""
    name = f"s{abs(hash((keys, where, window, what)))}"
    return stream(f"SELECT {items} FROM hits {condition}GROUP BY {groups}", name=name)


@pytest.mark.spark
@pytest.mark.parametrize("names", [("x",), ("x", "y")])
@pytest.mark.parametrize("left_out", ["", "ac", "bdf"])
def test_queries_that_share_rows_are_answered_and_counted_as_alone(
    runner: BatchRunner,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    names: tuple[str, ...],
    left_out: str,
) -> None:
    """The first query runs at the first site alone. Without those that have no condition, some
    lines concern nobody; without those that have one, all are in one strand but for weights."""
    queries = [one for one in compiled(STREAMS, SOURCE) if one.id.name not in left_out]
    (joint,) = joints(*queries)
    assert not all(place.is_whole for place in joint.places)
    given = [
        batch(tmp_path, name, drawn_lines(400, seed), queries[seed:])
        for seed, name in enumerate(names)
    ]
    together = runner.run(given)
    monkeypatch.setattr(collect, "QUICK_BYTES_MAX", -1)
    for ours, theirs, one in zip(together, runner.run(given), given, strict=True):
        for query in one.queries:
            found = difference(rows_of(ours, query), rows_of(theirs, query))
            assert found is None, query.id.name
        assert ours.unparsed > 0
        assert (ours.lines, ours.records, ours.unparsed) == (
            theirs.lines,
            theirs.records,
            theirs.unparsed,
        )
        assert ours.high_time_us == theirs.high_time_us
        assert [one.malformed for one in ours.results] == [one.malformed for one in theirs.results]


@pytest.mark.spark
def test_a_sum_of_groups_that_leaves_its_type_fails_its_query_alone(
    runner: BatchRunner, tmp_path: Path
) -> None:
    """Each shop's has room, and all shops' together has none; Spark says so of that query."""
    queries = compiled(
        "CREATE STREAM a AS SELECT shop, sum(price) AS s FROM sales "
        "GROUP BY window(ts, '10 seconds'), shop;"
        "CREATE STREAM b AS SELECT sum(price) AS s FROM sales GROUP BY window(ts, '10 seconds');",
        SOURCE,
    )
    assert strand_count(*queries) == 1
    large = f"{'9' * 36}.00"
    lines = [f"2026-05-01T12:00:01Z,{shop},tea,1,1,{large},1,true" for shop in ("oslo", "bonn")]
    (found,) = runner.run([batch(tmp_path, "x", lines, queries)])
    assert rows_of(found, queries[0]).num_rows == 2
    assert found.results[1].failed is not None
    assert (found.records, found.unparsed) == (2, 0)


@pytest.mark.spark
def test_what_one_query_of_a_strand_leaves_out_is_not_in_its_sums(
    runner: BatchRunner, tmp_path: Path
) -> None:
    """The records of the other have sums without room in the type, and fail nobody."""
    queries = compiled(
        "CREATE STREAM a AS SELECT shop, sum(price) AS s FROM sales WHERE pieces = 1 "
        "GROUP BY window(ts, '10 seconds'), shop;"
        "CREATE STREAM b AS SELECT shop, count(price) AS n FROM sales "
        "GROUP BY window(ts, '10 seconds'), shop;",
        SOURCE,
    )
    assert strand_count(*queries) == 1
    prices = [("1", "1.25"), *[("2", f"{'9' * 36}.00")] * 3]
    lines = [f"2026-05-01T12:00:01Z,oslo,tea,{n},1,{price},1,true" for n, price in prices]
    (found,) = runner.run([batch(tmp_path, "x", lines, queries)])
    sums, counts = (rows_of(found, query).to_pylist() for query in queries)
    assert [str(row["sum_1"]) for row in sums] == ["1.25"]
    assert [row["count_1"] for row in counts] == [4]


@pytest.mark.spark
def test_a_query_that_breaks_its_strand_fails_alone(runner: BatchRunner, tmp_path: Path) -> None:
    good, broken = by("domain"), inverse()
    assert strand_count(good, broken) == 1
    lines = ["2026-05-01T12:00:01Z,a,0,1", "2026-05-01T12:00:02Z,b,5,1"]
    for _ in range(2):
        (found,) = runner.run([batch(tmp_path, "x", lines, [good, broken])])
        assert rows_of(found, good).num_rows == 2
        assert found.results[1].failed is not None


@pytest.mark.parametrize(
    ("others", "count"),
    [
        ([by("domain", what="max(ms)")], 1),
        ([by("")], 1),
        ([by("bytes")], 2),
        ([by("domain, bytes")], 1),
        ([by("bytes, domain"), by("domain, bytes"), by("bytes")], 1),
        ([by("upper(domain)")], 2),
        ([by("", window="20 seconds")], 2),
        ([by("domain", where="bytes > 1"), by("", where="ms > 1")], 1),
        ([by("", where=f"bytes > {n}") for n in range(3)], 2),
    ],
    ids=[
        "its keys",
        "fewer keys",
        "another key",
        "more keys",
        "keys in another order",
        "an expression",
        "other panes",
        "conditions",
        "many conditions",
    ],
)
def test_a_query_goes_with_one_whose_groups_its_own_are_made_of(
    others: list[Query], count: int
) -> None:
    """Beside a query by domain over panes of 10 s."""
    assert strand_count(by("domain"), *others) == count
    assert strand_count(*reversed(others), by("domain")) == count


def test_equal_values_of_a_strand_are_aggregated_once() -> None:
    same = [by("domain", what="sum(bytes)"), by("", what="sum(bytes)"), by("", what="avg(bytes)")]
    (joint,) = joints(*same)
    assert joint.sql.count("SUM(__value_") == 2, "the halves of a bigint"


def test_the_groups_of_a_query_with_fewer_keys_are_merged() -> None:
    """Though all lines concern the same queries, so that no group differs by whom it concerns."""
    (joint,) = joints(by("domain"), by(""))
    everybody = joint.places[0].group | joint.places[1].group
    pane, key, count = joint.places[0].columns
    assert joint.places[1].columns == (pane, count)
    table = pa.table(
        {
            pane: pa.array([7, 7, 8], pa.int64()),
            key: ["a", "b", "a"],
            count: pa.array([2, 3, 5], pa.int64()),
            GROUP: pa.array([everybody] * 3, pa.int64()),
            SITE: pa.array([0] * 3, pa.int32()),
        }
    )
    by_domain, of_all = (joint.rows_of(table, number) for number in range(2))
    assert by_domain is not None
    assert by_domain.column("count_1").to_pylist() == [2, 3, 5]
    assert of_all is not None
    panes = of_all.sort_by("pane").select(["pane", "count_1"]).to_pydict()
    assert panes == {"pane": [7, 8], "count_1": [5, 5]}


@pytest.mark.parametrize(
    ("column", "is_guarded"),
    [("price", True), ("pieces", False), ("weight", False)],
    ids=["its sum may leave its type", "a narrow type", "a type that overflows to infinity"],
)
def test_only_a_sum_that_can_fail_is_of_the_records_of_its_query_alone(
    column: str, is_guarded: bool
) -> None:
    """Of the others the sums have what the query leaves out, in groups that are not its own."""
    queries = compiled(
        f"CREATE STREAM a AS SELECT shop, sum({column}) AS s FROM sales WHERE paid "
        "GROUP BY window(ts, '10 seconds'), shop;"
        "CREATE STREAM b AS SELECT shop, count(*) AS n FROM sales "
        "GROUP BY window(ts, '10 seconds'), shop;",
        SOURCE,
    )
    (joint,) = joints(*queries)
    assert f"CAST({column} AS " in joint.sql
    assert (f"if(__is_0, CAST({column} AS " in joint.sql) is is_guarded


def test_one_strand_is_not_expanded() -> None:
    (joint,) = joints(by("domain"), by("", where="bytes > 1"))
    assert "UNPIVOT" not in joint.sql


def test_no_strand_leaves_the_keys_of_another_null() -> None:
    """Spark's faster map takes no group with a NULL among its keys."""
    (joint,) = joints(by("domain"), by("ms"), by("ms > 1"), by("date(ts)"), by("ts"))
    assert joint.sql.count(") AS `") == 5
    for kind in ("string", "double", "boolean", "date", "timestamp"):
        assert f" AS {kind}) AS __c" in joint.sql
        assert f"NULL AS {kind})" not in joint.sql


@pytest.mark.parametrize("count", [1, 60])
def test_the_tally_is_on_the_strand_that_has_all_records(count: int) -> None:
    """And in one statement, however many there are."""
    some = [by(f"domain, bytes % {n}", where="ms > 1") for n in range(2, count + 2)]
    found = joints(*some, by("ms"))
    (carrier,) = [one for one in found if one.carrier is not None]
    assert carrier is found[0]
    assert all(len(one.places) == len(one.queries) for one in found)
    assert sum(len(one.queries) for one in found) == count + 1
    if count == 1:
        places = dict(
            zip((len(q.program.keys) for q in carrier.queries), carrier.places, strict=True)
        )
        assert places[1].group & (1 << strands.STRAND_BITS) - 1 == carrier.carrier
