"""Sites that keep something back, by Spark, against one Spark that has all records.

Each site runs the site part, over records in time and over a few that come late; what is in time is
looked at as a cube looks at it when it closes a pane. One site sends its rest, as a repair would.
The root part runs over what is left, and no value may be further from what one Spark says than the
answer states.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from query_kit import queries_in

from headwater.agent.query_book import QueryBook
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.meaning import Meaning
from headwater.algebra.remainders.remainder import Remainders, merge_remainders
from headwater.algebra.remainders.tolerance import Finally, ToleratedColumn
from headwater.algebra.remainders.withhold import withhold
from headwater.algebra.rows.arrow_rows import ArrowMerger, check_rows, in_schema
from headwater.algebra.rows.fold_groups import GroupMaker
from headwater.algebra.rows.types import site_schema
from headwater.plan.query import Query
from headwater.root.said.withheld import StatedErrors, stated_errors, uncertain_by
from headwater.spark.root.bad_groups import GroupFinisher
from headwater.spark.root.root_part import RootSpark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SOURCE = """
CREATE SOURCE r (ts TIMESTAMP, package STRING, user STRING, bytes BIGINT, ms DOUBLE)
WITH (format = 'csv', path = 'r.csv', time = 'ts');
"""
GROUPS = "FROM r GROUP BY window(ts, '20 seconds', '10 seconds'), package"
HITS = "count(*) AS hits"
QUERIES = {
    "counts, sums and maxima": (
        f"SELECT package, {HITS}, sum(abs(bytes)) AS b, max(abs(bytes)) AS top {GROUPS}",
        "hits: 3 % of total, b: 3 % of total, top: 900",
    ),
    "by a number": (f"SELECT package, {HITS}, sum(bytes) AS b {GROUPS}", "hits: 60, b: 60000"),
    "averages of what is in": (
        f"SELECT package, {HITS}, avg(ms) AS m {GROUPS}",
        "hits: 3 % of total, m: 100 %",
    ),
    "percentiles": (
        f"SELECT package, {HITS}, percentile_approx(ms, 0.5) AS p {GROUPS}",
        "hits: 20 % of total, p: 20 %",
    ),
    "distinct counts": (
        f"SELECT package, {HITS}, count(DISTINCT user) AS users {GROUPS}",
        "hits: 20 % of total, users: 60",
    ),
    "sketches": (
        f"SELECT package, approx_count_distinct(user) AS people, percentile_approx(ms, 0.5, 100) "
        f"AS p {GROUPS}",
        "people: 30, p: 100 %",
    ),
    "several growing states": (
        f"SELECT package, {HITS}, avg(ms) AS m, count(DISTINCT user) AS users, "
        f"percentile_approx(ms, 0.5) AS p {GROUPS}",
        "hits: 20 % of total, m: 20 %, users: 60, p: 20 %",
    ),
    "rows above a limit": (
        f"SELECT package, {HITS}, sum(bytes) AS b {GROUPS} HAVING hits > 9 AND b < 60000",
        "hits: 60, b: 60000",
    ),
}
SITES, REPAIRED = 3, 0
RECORDS = 900
BEGIN = datetime(2026, 5, 1, 12, tzinfo=UTC)


class Record(NamedTuple):
    ts: datetime
    package: str
    user: str
    bytes: int
    ms: float
    site: int
    is_late: bool

    @property
    def pane(self) -> int:
        return int(self.ts.timestamp()) // 10


def made_records() -> list[Record]:
    """Few packages have most of the records, and most of them hardly any."""
    chance = random.Random(11)
    return [
        Record(
            BEGIN + timedelta(seconds=40 * chance.random()),
            f"p{int(chance.expovariate(0.15))}",
            f"u{chance.randrange(60)}",
            int(chance.expovariate(1 / 800)) - (200 if chance.random() < 0.1 else 0),
            round(chance.lognormvariate(3, 1), 3),
            chance.randrange(SITES),
            chance.random() < 0.05,
        )
        for _ in range(RECORDS)
    ]


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return made_records()


def compiled(select: str, error: str) -> Query:
    (query,) = queries_in(
        f"{SOURCE} CREATE STREAM s WITH (error = '{error}', finally = 'exact') AS {select};",
        begin="earliest",
        known_sites=("a", "b", "c"),
    )
    return query


def frame(spark: SparkSession, records: Iterable[Record], name: str) -> None:
    schema = [("ts", pa.timestamp("us", "UTC")), ("package", pa.string()), ("user", pa.string())]
    schema += [("bytes", pa.int64()), ("ms", pa.float64())]
    rows = [dict(zip(Record._fields, one, strict=True)) for one in records]
    columns = {field: pa.array([row[field] for row in rows], kind) for field, kind in schema}
    spark.createDataFrame(pa.table(columns)).createOrReplaceTempView(name)


def site_rows(spark: SparkSession, query: Query, records: list[Record]) -> dict[int, pa.Table]:
    """What a site part makes of records, by pane."""
    frame(spark, records, "records")
    found = spark.sql(query.program.site_sql).toArrow()
    found = in_schema(found, site_schema(query.program))
    merger = ArrowMerger(query.program)
    return {
        pane: merger.merge(
            [check_rows(found.filter(pc.equal(found["pane"], pane)).drop(["pane"]), query.program)]
        )
        for pane in set(found["pane"].to_pylist())
    }


class Federated(NamedTuple):
    rows: Mapping[int, pa.Table]
    """By window."""
    stated: Mapping[int, StatedErrors]
    kept: int


def federated(spark: SparkSession, query: Query, records: list[Record]) -> Federated:
    book = QueryBook()
    book.add(query)
    panes: dict[int, list[pa.Table]] = defaultdict(list)
    told: dict[int, list[Remainders]] = defaultdict(list)
    kept = 0
    for site in range(SITES):
        own = [one for one in records if one.site == site]
        for pane, rows in site_rows(spark, query, [one for one in own if not one.is_late]).items():
            allowance = book.allowance(str(query.id), pane)
            assert allowance is not None
            found = withhold(rows, allowance)
            panes[pane].append(rows if found is None else found.sent)
            if found is None:
                continue
            kept += found.rest.num_rows
            if site == REPAIRED:
                panes[pane].append(found.rest)
            else:
                told[pane].append(found.remainders)
        late = site_rows(spark, query, [one for one in own if one.is_late])
        for pane, rows in late.items():
            panes[pane].append(rows)
    windows = {w for pane in panes for w in query.window.windows_of(pane)}
    maker = GroupMaker(query.program)
    groups = {
        w: maker.groups([one for p in query.window.panes_of(w) for one in panes.get(p, [])])
        for w in windows
    }
    assert query.tolerates is not None
    nothing: Remainders = ()
    stated = {
        w: stated_errors(
            [query.tolerates],
            reduce(
                merge_remainders,
                [one for p in query.window.panes_of(w) for one in told[p]],
                nothing,
            ),
        )
        for w in windows
    }
    finished = GroupFinisher(RootSpark(spark)).finish(query, groups)
    assert not finished.left_out
    return Federated(finished.rows, stated, kept)


def central(spark: SparkSession, query: Query, records: list[Record]) -> dict[int, dict[str, Any]]:
    frame(spark, records, "records")
    found: dict[int, dict[str, Any]] = defaultdict(dict)
    for row in spark.sql(query.program.central_sql).toArrow().to_pylist():
        start_us = round(row["window"]["start"].timestamp() * 1e6)
        (window,) = (
            w
            for w in query.window.windows_of(query.window.pane_at(start_us))
            if query.window.window_start_us(w) == start_us
        )
        found[window][row["package"]] = row
    return found


def is_near(one: ToleratedColumn, stated: StatedErrors, seen: Any, group: list[Record]) -> bool:
    """Of a value that is computed of records, or of different ones, by a sketch."""
    said = next((each for each in stated.columns if each.column == one.column), None)
    share = said.share if said is not None and said.share is not None else 0.0
    values = sorted(record.ms for record in group)
    if one.column == "m":
        off = abs(seen - sum(values) / len(values))
        return bool(off <= share * (values[-1] - values[0]) + 1e-9 * abs(seen))
    if one.column == "people":
        true = len({record.user for record in group})
        return bool(true - (0 if said is None else said.largest) - 1 <= seen <= true + 1)
    assert one.column == "p"
    low = sum(value < seen * 0.985 for value in values) / len(values)
    high = sum(value <= seen * 1.015 for value in values) / len(values)
    spare = share + 0.01 + 1 / len(values)
    if share == 1.0:
        return bool(values[0] * 0.985 <= seen <= values[-1] * 1.015)
    return bool(low <= 0.5 + spare and high >= 0.5 - spare)


def is_counted(one: ToleratedColumn) -> bool:
    return one.meaning is Meaning.ADDED or one.column == "users"


@pytest.mark.parametrize("name", QUERIES)
def test_no_value_is_further_from_one_spark_than_the_answer_states(
    spark: SparkSession, records: list[Record], name: str
) -> None:
    query = compiled(*QUERIES[name])
    found, truth = federated(spark, query, records), central(spark, query, records)
    assert found.kept > 20, "something is kept back"
    tolerance = query.tolerates
    assert tolerance is not None
    assert tolerance.finally_ is Finally.EXACT
    for window, rows in truth.items():
        stated = found.stated[window]
        assert all(one.is_kept for one in stated.columns)
        seen = {row["package"]: row for row in found.rows[window].to_pylist()}
        if isinstance(tolerance.conditions, tuple):
            check_chosen(stated, rows, seen)
            continue
        assert set(seen) <= set(rows)
        for package, row in rows.items():
            group = [
                one
                for one in records
                if one.package == package and one.pane in query.window.panes_of(window)
            ]
            for one in tolerance.columns:
                mine = seen[package][one.column] if package in seen else None
                if is_counted(one):
                    off = abs(row[one.column] - (mine or 0))
                    assert off <= stated.off_by(one.column), (window, package, one.column)
                elif mine is not None:
                    assert is_near(one, stated, mine, group), (window, package, one.column, mine)
                if one.form is ErrorForm.VALUE and one.size < 1.0:
                    assert package in seen


def check_chosen(
    stated: StatedErrors, truth: dict[str, dict[str, Any]], seen: dict[str, dict[str, Any]]
) -> None:
    """Rows that only one of the two has are as near to a limit as is said."""
    values = {
        name: np.array([row[name] for row in seen.values()], dtype=np.float64)
        for name in ("hits", "b")
    }
    near = uncertain_by(stated, values)
    assert len(set(seen) - set(truth)) <= sum(one.rows for one in near)
    if set(truth) - set(seen):
        assert any(one.lacking is not None for one in near)
    for package in set(truth) & set(seen):
        for name in ("hits", "b"):
            assert abs(truth[package][name] - seen[package][name]) <= stated.off_by(name)
