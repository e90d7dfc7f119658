"""What the split gives, one Spark gives: the same rows in the same types, on extremes too.

Records are dealt to sites at random. Each site runs the site part, in two batches; Arrow merges the
partials of a pane in a random order; the root part runs over the panes of each window. The
reference runs once over all records.
"""

import math
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from query_kit import queries_in

from headwater.algebra.rows.arrow_rows import ArrowMerger, check_rows, in_schema
from headwater.algebra.rows.types import arrow_type, site_schema
from headwater.plan.query import Query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SOURCE = """
CREATE SOURCE r (ts TIMESTAMP, word STRING, yes BOOLEAN, tiny TINYINT, whole INT, big BIGINT,
                 single FLOAT, twice DOUBLE, money DECIMAL(10,2), huge DECIMAL(38,4),
                 wide DECIMAL(28,8), day_ DATE, later TIMESTAMP)
WITH (format = 'csv', path = 'r.csv', time = 'ts');
"""
SITES = 3
TOLERANCE = 1e-9

WORDS = [None, "", "a", "B", "z", "é", "Ω", "\ud7ff", "\ue000", "𝄞", "a\x00b"]
DOUBLES = [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -2.25, 1e300, -1e300, 5e-324]
BIGS = [None, 0, 1, -1, 2**62, -(2**62), 2**53 + 1]
INTS = [None, 0, 7, -7, 2**31 - 1, -(2**31)]
MONEY = [None, Decimal("0.00"), Decimal("99999999.99"), Decimal("-99999999.99"), Decimal("0.01")]
HUGE = [None, Decimal("1." + "3" * 4), Decimal("9" * 30 + ".5000"), Decimal("-" + "9" * 30)]
WIDE = [None, Decimal("9" * 20 + ".12345678"), Decimal("-0.00000001"), Decimal("3.33333333")]
DAYS = [None, date(1969, 12, 31), date(2026, 2, 28), date(1, 1, 1), date(9999, 12, 31)]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def made_records(seed: int, count: int) -> list[tuple[Any, ...]]:
    chance = random.Random(seed)
    return [
        (
            made_time(chance),
            chance.choice(WORDS),
            chance.choice([None, True, False]),
            chance.choice([None, 1, -128, 127]),
            chance.choice(INTS),
            chance.choice(BIGS),
            chance.choice(DOUBLES[:8]),
            chance.choice(DOUBLES),
            chance.choice(MONEY),
            chance.choice(HUGE),
            chance.choice(WIDE),
            chance.choice(DAYS),
            made_time(chance),
        )
        for _ in range(count)
    ]


def made_time(chance: random.Random) -> datetime | None:
    """Around 1970, on the edges of windows, a microsecond beside them, and never."""
    if chance.random() < 0.1:
        return None
    edge = EPOCH + timedelta(seconds=10 * chance.randrange(-4, 5))
    return edge + timedelta(microseconds=chance.choice([0, 1, -1, 4_999_999, 5_000_001]))


@pytest.fixture
def records(spark: "SparkSession", spark_house: "Any") -> "DataFrame":
    """All records of all sites, dealt by the column ``site`` and in two batches."""
    frame: DataFrame = spark_house.kept("split records", lambda: made_frame(spark))
    return frame


def made_frame(spark: "SparkSession") -> "DataFrame":
    query = compiled("SELECT count(*) FROM r GROUP BY window(ts, '10 seconds')")
    schema = pa.schema([(c.name, arrow_type(c.type)) for c in query.program.source.columns])
    rows = made_records(seed=7, count=600)
    columns = [[row[index] for row in rows] for index in range(len(schema))]
    chance = random.Random(8)
    table = pa.table(columns, schema=schema)
    table = table.append_column("site", pa.array([chance.randrange(SITES) for _ in rows]))
    table = table.append_column("batch", pa.array([chance.randrange(2) for _ in rows]))
    return spark.createDataFrame(table).cache()


def compiled(select: str) -> Query:
    (query,) = compiled_parts(select, roots="hub")
    return query


def compiled_parts(select: str, *, roots: str) -> list[Query]:
    return queries_in(
        f"{SOURCE} CREATE STREAM s WITH (roots = '{roots}') AS {select};",
        at="hub",
        begin="earliest",
    )


def split_answer(spark: "SparkSession", query: Query, records: "DataFrame") -> pa.Table:
    """Sites, network and root, one after the other."""
    merger = ArrowMerger(query.program)
    summaries: dict[int, list[pa.Table]] = {}
    for site in range(SITES):
        for batch in range(2):
            records.where(f"site = {site} AND batch = {batch}").createOrReplaceTempView("records")
            partials = spark.sql(query.program.site_sql).toArrow()
            partials = in_schema(partials, site_schema(query.program))
            for pane in set(partials["pane"].to_pylist()):
                rows = partials.filter(pa.compute.equal(partials["pane"], pane)).drop(["pane"])
                summaries.setdefault(pane, []).append(check_rows(rows, query.program))
    chance = random.Random(9)
    merged = {}
    for pane, parts in summaries.items():
        chance.shuffle(parts)
        merged[pane] = merger.merge([merger.merge(parts[:2]), merger.merge(parts[2:])])
    return root_answer(spark, query, merged)


def root_answer(spark: "SparkSession", query: Query, merged: dict[int, pa.Table]) -> pa.Table:
    window = query.window
    panes: dict[int, list[pa.Table]] = {}
    for pane, rows in merged.items():
        for number in window.windows_of(pane):
            panes.setdefault(number, []).append(rows)
    parts = []
    for number, tables in panes.items():
        groups = ArrowMerger(query.program).groups(tables).merged
        edges = {"start": window.window_start_us(number), "end": window.window_end_us(number)}
        column = pa.array([edges] * groups.num_rows, arrow_type(WINDOW))
        parts.append(groups.add_column(0, "window", column))
    spark.createDataFrame(pa.concat_tables(parts)).createOrReplaceTempView("panes")
    return spark.sql(query.program.root_sql).toArrow()


WINDOW = "struct<start:timestamp,end:timestamp>"

QUERIES = {
    "counts": "SELECT word, count(*), count(big) AS n, count(big, word) AS both, "
    "count_if(whole > 0) AS positive FROM r GROUP BY window(ts, '10 seconds'), word",
    "exact sums": "SELECT tiny, sum(whole) AS a, sum(tiny) AS b, sum(big) AS c, sum(money) AS d "
    "FROM r WHERE abs(coalesce(big, 0)) < 4611686018427387904 "
    "GROUP BY window(ts, '10 seconds'), tiny",
    "float keys": "SELECT twice, single, count(*) AS n, sum(single) AS s FROM r "
    "GROUP BY window(ts, '10 seconds'), twice, single",
    "extremes": "SELECT max(twice) AS a, min(twice) AS b, max(single) AS c, min(word) AS d, "
    "max(word) AS e, min(yes) AS f, max(money) AS g, min(huge) AS h, max(day_) AS i, "
    "min(later) AS j, max(big) AS k, max(tiny) AS l FROM r "
    "GROUP BY window(ts, '20 seconds', '5 seconds')",
    "averages": "SELECT yes, avg(whole) AS a, avg(money) AS b, avg(wide) AS c, avg(tiny) AS d, "
    "mean(single) FILTER (WHERE single > -10) AS e FROM r GROUP BY window(ts, '10 seconds'), yes",
    "truth": "SELECT word, bool_and(yes) AS a, any(yes) AS b, every(whole > 0) AS c FROM r "
    "GROUP BY word, window(ts, '10 seconds')",
    "keys of every type": "SELECT word, yes, tiny, whole, big, money, day_, later, count(*) AS n "
    "FROM r GROUP BY window(ts, '1 minute'), 1, 2, 3, 4, 5, 6, 7, 8",
    "computed": "SELECT upper(word) AS u, whole % 3 AS rest, CASE WHEN yes THEN 1.5 ELSE whole END "
    "AS c, sum(money * 2) + count(*) AS x, max(length(word)) FROM r WHERE NOT yes IS NULL "
    "GROUP BY window(ts, '15 seconds', '5 seconds', '2 seconds'), u, whole % 3, 3 HAVING x > 0",
    "ranked": "SELECT window.start AS begins, word, count(*) AS n FROM r "
    "GROUP BY window(ts, '10 seconds'), word ORDER BY n DESC, word NULLS LAST LIMIT 3",
    "ranked by what is not shown": "SELECT word, sum(money) AS m FROM r "
    "GROUP BY window(ts, '10 seconds'), word HAVING count(*) > 1 ORDER BY count(*) LIMIT 4",
    "ordered": "SELECT window, word, max(big) AS m FROM r "
    "GROUP BY window(ts, '10 seconds'), word ORDER BY 3 DESC, 2",
    "keys alone": "SELECT DATE(later) AS d FROM r GROUP BY window(ts, '10 seconds'), d",
    "window alone": "SELECT window.end FROM r GROUP BY window(ts, '10 seconds')",
    "aliases of aliases": "SELECT count(*) AS n, n * 2 AS m, window(ts, '10 seconds') AS w FROM r "
    "GROUP BY w HAVING m > 2 AND n > 1",
}


@pytest.mark.spark
@pytest.mark.parametrize("name", QUERIES)
def test_the_split_answers_as_one_spark_does(
    spark: "SparkSession", records: "DataFrame", name: str
) -> None:
    query = compiled(QUERIES[name])
    found = split_answer(spark, query, records)
    records.createOrReplaceTempView("records")
    wanted = spark.sql(query.program.central_sql).toArrow()
    declared = [("window", WINDOW), *((c.name, c.type) for c in query.program.output)]
    types = [(name, arrow_type(type_name)) for name, type_name in declared]
    assert [(field.name, field.type) for field in found.schema] == types
    assert [(field.name, field.type) for field in wanted.schema] == types
    assert wanted.num_rows > 0
    assert sorted_rows(found) == sorted_rows(wanted)


DIVISIBLE = ("counts", "exact sums", "float keys", "truth", "keys of every type", "computed")
"""Those with groups enough for three parts."""


@pytest.mark.spark
@pytest.mark.parametrize("name", DIVISIBLE)
def test_the_parts_of_several_roots_are_together_what_one_spark_answers(
    spark: "SparkSession", records: "DataFrame", name: str
) -> None:
    """Every group is in one part, whole: null, NaN, -0.0 and all words among the keys."""
    parts = compiled_parts(QUERIES[name], roots="oslo, paris, rome")
    found = [split_answer(spark, part, records) for part in parts]
    records.createOrReplaceTempView("records")
    for part, rows in zip(parts, found, strict=True):
        assert rows.num_rows > 0, "three parts of so many groups each have some"
        assert sorted_rows(rows) == sorted_rows(spark.sql(part.program.central_sql).toArrow())
    wanted = spark.sql(compiled(QUERIES[name]).program.central_sql).toArrow()
    assert sorted_rows(pa.concat_tables(found)) == sorted_rows(wanted)


@pytest.mark.spark
def test_what_is_one_group_for_spark_is_in_one_part(spark: "SparkSession") -> None:
    """The signs of zero, the bits of NaN: by the values that Spark hashes, before it groups."""
    several = spark.sql(
        "SELECT count(DISTINCT xxhash64(d, f, m)) AS hashes FROM VALUES "
        "(0.0D, -0.0F, 1.0BD), (-0.0D, 0.0F, 1.0BD), (-0.0D, -0.0F, 1.0BD) AS t(d, f, m)"
    )
    assert several.first()["hashes"] == 1
    nans = spark.sql(
        "SELECT count(DISTINCT xxhash64(d)) AS hashes FROM VALUES "
        "(CAST('NaN' AS DOUBLE)), (-CAST('NaN' AS DOUBLE)), "
        "(CAST('Infinity' AS DOUBLE) - CAST('Infinity' AS DOUBLE)) AS t(d)"
    )
    assert nans.first()["hashes"] == 1


@pytest.mark.spark
def test_records_of_other_parts_are_dropped_before_anything_is_grouped(
    spark: "SparkSession", records: "DataFrame"
) -> None:
    records.createOrReplaceTempView("records")
    part = compiled_parts(QUERIES["computed"], roots="oslo, paris")[1]
    plan = spark.sql(part.program.site_sql)._jdf.queryExecution().optimizedPlan().toString()
    steps = [line.strip(" +-:") for line in plan.splitlines()]
    grouped = next(n for n, step in enumerate(steps) if step.startswith("Aggregate"))
    dropped = next(n for n, step in enumerate(steps) if "pmod(xxhash64(" in step)
    assert steps[dropped].startswith("Filter"), plan
    assert grouped < dropped, plan
    assert steps[dropped].index("isnotnull(yes") < steps[dropped].index("pmod("), plan


def sorted_rows(table: pa.Table) -> list[list[Any]]:
    rows = [[comparable(value) for value in row.values()] for row in table.to_pylist()]
    return sorted(rows, key=repr)


def comparable(value: Any) -> Any:
    """NaN equals NaN, -0.0 equals 0.0, and doubles are equal to nine digits."""
    if not isinstance(value, float):
        return value
    if math.isnan(value):
        return "nan"
    return value + 0.0 if math.isinf(value) or value == 0 else float(f"{value:.9e}")


@pytest.mark.spark
def test_records_without_a_time_are_in_no_window(
    spark: "SparkSession", records: "DataFrame"
) -> None:
    query = compiled("SELECT count(*) AS n FROM r GROUP BY window(ts, '10 seconds')")
    found = split_answer(spark, query, records)
    assert sum(found["n"].to_pylist()) == records.where("ts IS NOT NULL").count() < records.count()


@pytest.mark.spark
def test_a_sum_that_fits_at_the_end_may_overflow_on_the_way(spark: "SparkSession") -> None:
    """Sites send more than a bigint holds; only the finished sum must fit."""
    query = compiled("SELECT sum(big) AS s FROM r GROUP BY window(ts, '10 seconds')")
    big = pa.array([2**62, 2**62, 2**62, -(2**62), -(2**62), -(2**62), 5])
    frame = only_big(spark, query, big)
    frame = frame.selectExpr("*", "CAST(big < 0 AS INT) AS site", "0 AS batch")
    assert split_answer(spark, query, frame)["s"].to_pylist() == [5]


@pytest.mark.spark
def test_a_sum_that_does_not_fit_is_an_error_of_the_answer(spark: "SparkSession") -> None:
    query = compiled("SELECT sum(big) AS s FROM r GROUP BY window(ts, '10 seconds')")
    frame = only_big(spark, query, pa.array([2**62, 2**62, 2**62]))
    frame = frame.selectExpr("*", "0 AS site", "0 AS batch")
    with pytest.raises(Exception, match="OVERFLOW"):
        split_answer(spark, query, frame)


def only_big(spark: "SparkSession", query: Query, big: pa.Array) -> "DataFrame":
    declared = query.program.source.columns
    columns = {one.name: pa.nulls(len(big), arrow_type(one.type)) for one in declared}
    columns |= {"ts": pa.array([EPOCH] * len(big), arrow_type("timestamp")), "big": big}
    return spark.createDataFrame(pa.table(columns))
