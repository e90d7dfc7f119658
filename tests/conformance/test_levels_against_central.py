"""Windows of levels, by Spark, against one Spark that has all records.

Each site runs the site part of the stream itself, in two batches. One is at full fidelity, one at
the level, and one at each level between them in turn; the root puts together what they have, and
its root part says what one Spark says of longer windows, a coarser key, or a sample of one.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pytest

from headwater.agent.answers.bag_groups import BagGroups
from headwater.agent.answers.sample_totals import totals_of
from headwater.agent.query_book import QueryBook
from headwater.algebra.rows.arrow_rows import ArrowMerger, Groups, in_schema
from headwater.algebra.rows.types import site_schema
from headwater.algebra.windows.coarsening import apart
from headwater.plan.query import Query
from headwater.reading.outcome import QueryResult
from headwater.root.said.sampled import Estimate
from headwater.spark.root.bad_groups import GroupFinisher
from headwater.spark.root.root_part import RootSpark
from headwater.sql.compile import compile_statements
from headwater.store.level_rows import LevelGrid, level_results

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SOURCE = """
CREATE SOURCE r (ts TIMESTAMP, url STRING, status INT, user STRING, bytes BIGINT)
WITH (format = 'csv', path = 'r.csv', time = 'ts');
"""
DOMAIN = 'coarsen(url, substring_index(url, "/", 1))'
BY_URL = "FROM r GROUP BY window(ts, '5 seconds'), url"
STREAMS = {
    "a coarser key": (
        DOMAIN,
        f"SELECT url, count(*) AS hits, sum(bytes) AS b, avg(bytes) AS m, max(length(url)) AS l, "
        f"upper(url) AS shown {BY_URL} HAVING url <> 'site-9' ORDER BY hits DESC, url",
    ),
    "a coarser key of growing states": (
        DOMAIN,
        f"SELECT url, count(DISTINCT user) AS users, count(*) AS hits, min(user) AS first {BY_URL}",
    ),
    "a coarser key that is computed, and one that is not made coarser": (
        'coarsen(place, concat(left(place, 6), ":", length(place) % 2))',
        "SELECT lower(concat(url, '?')) AS place, status, count(*) AS hits FROM r "
        "GROUP BY window(ts, '5 seconds'), lower(concat(url, '?')), status",
    ),
    "samples": ("sample(url, 1/8)", f"SELECT url, count(*) AS hits, sum(bytes) AS b {BY_URL}"),
    "samples of one key of two, of integers": (
        "sample(user_id, 1/4)",
        "SELECT CAST(substr(user, 2) AS INT) AS user_id, status, count(*) AS hits FROM r "
        "GROUP BY window(ts, '5 seconds'), CAST(substr(user, 2) AS INT), status",
    ),
    "all of them, one behind the other": (
        f"sample(user, 1/2), coarsen(time, 10 s), {DOMAIN}",
        "SELECT url, user, count(*) AS hits FROM r GROUP BY window(ts, '5 seconds'), url, user",
    ),
}
SITES, RECORDS = 3, 700
BEGIN = datetime(2026, 5, 1, 12, tzinfo=UTC)


class Record(NamedTuple):
    ts: datetime
    url: str | None
    status: int
    user: str
    bytes: int | None
    site: int


@pytest.fixture(scope="module")
def records() -> list[Record]:
    chance = random.Random(5)
    return [
        Record(
            BEGIN + timedelta(seconds=20 * chance.random()),
            None if chance.random() < 0.02 else f"site-{n % 12}/{int(chance.expovariate(0.2))}",
            chance.choice((200, 200, 304, 404, 500)),
            f"u{chance.randrange(40)}",
            None if chance.random() < 0.05 else int(chance.expovariate(1 / 800)),
            n % SITES,
        )
        for n in range(RECORDS)
    ]


def compiled(name: str) -> list[Query]:
    degrade, select = STREAMS[name]
    return compile_statements(
        f"{SOURCE} CREATE STREAM s WITH (degrade = '{degrade}') AS {select};",
        root="a",
        installer="a",
        next_counter=1,
        known_sites=("a", "b", "c"),
    )


def view_of(spark: SparkSession, records: Iterable[Record]) -> None:
    kinds = [pa.timestamp("us", "UTC"), pa.string(), pa.int32(), pa.string(), pa.int64()]
    fields = Record._fields[: len(kinds)]
    rows = [one._asdict() for one in records]
    columns = {
        field: pa.array([row[field] for row in rows], kind)
        for field, kind in zip(fields, kinds, strict=True)
    }
    spark.createDataFrame(pa.table(columns)).createOrReplaceTempView("records")


def batches(spark: SparkSession, full: Query, records: Sequence[Record]) -> list[pa.Table]:
    found = []
    for half in (records[::2], records[1::2]):
        view_of(spark, half)
        rows = spark.sql(full.program.site_sql).toArrow()
        found.append(in_schema(rows, site_schema(full.program)))
    return found


def sent(full: Query, at: Query, made: Sequence[pa.Table], grids: Sequence[LevelGrid]) -> Any:
    """The updates of a site, by pane, as its cube makes them."""
    tables = list(made)
    if at is not full:
        (grid,) = (one for one in grids if one.query == str(at.id))
        everything = ((-(1 << 60), 1 << 60),)
        tables = [
            found.table
            for one in made
            for found in level_results(QueryResult(str(full.id), one), grid, everything)
            if found.table is not None
        ]
    merger, panes = ArrowMerger(at.program), dict[int, pa.Table]()
    rows = pa.concat_tables(tables)
    for pane in set(rows["pane"].to_pylist()):
        own = rows.filter(pa.compute.equal(rows["pane"], pane)).drop(["pane"])
        panes[pane] = merger.merge(apart([in_schema(own, merger.schema)]))
    return panes


def windows_of(level: Query, series: Sequence[tuple[Query, Mapping[int, pa.Table]]]) -> Any:
    """Of panes of this level and of finer ones."""
    stands = level.stands_for
    assert stands is not None
    found: dict[int, list[pa.Table]] = {}
    for query, panes in series:
        for pane, rows in panes.items():
            window = level.window.pane_at(query.window.pane_start_us(pane))
            own = rows if query is level else stands.coarsening.rows(rows)
            found.setdefault(window, []).append(own)
    return {window: BagGroups(level).groups(rows) for window, rows in found.items()}


def as_said(rows: pa.Table) -> list[str]:
    return sorted(str(list(row.values())) for row in rows.to_pylist())


@pytest.mark.parametrize("name", STREAMS)
def test_windows_of_levels_are_what_one_spark_says(
    spark: SparkSession, records: list[Record], name: str
) -> None:
    full, *levels = compiled(name)
    book = QueryBook()
    for one in (full, *levels):
        book.add(one)
    grids = book.levels(str(full.id))
    assert len(grids) == len(levels) >= 1, "each is a level of it"
    made = [batches(spark, full, [r for r in records if r.site == s]) for s in range(SITES)]
    for n, level in enumerate(levels):
        view_of(spark, records)
        central = spark.sql(level.program.central_sql).toArrow()
        finer = (full, *levels[:n])
        for between in finer:
            at = (full, between, level)
            series = [
                (query, sent(full, query, own, grids)) for query, own in zip(at, made, strict=True)
            ]
            groups: Mapping[int, Groups] = windows_of(level, series)
            finished = GroupFinisher(RootSpark(spark)).finish(
                level, {w: one for w, one in groups.items() if one.merged.num_rows}
            )
            assert not finished.left_out
            rows = pa.concat_tables(finished.rows.values())
            shown = central.select(rows.column_names)
            assert as_said(rows) == as_said(shown), (name, level.id.name, between.id.name)
            assert central.num_rows > 3


def test_a_sample_of_half_as_many_is_a_sample_of_the_sample(
    spark: SparkSession, records: list[Record]
) -> None:
    full, *levels = compiled("samples")
    view_of(spark, records)
    keys = [
        {row["url"] for row in spark.sql(one.program.central_sql).toArrow().to_pylist()}
        for one in (full, *levels)
    ]
    assert all(coarser < finer for finer, coarser in itertools.pairwise(keys))
    other = compile_statements(
        f"{SOURCE} CREATE STREAM t WITH (degrade = 'sample(url, 1/2)') AS {STREAMS['samples'][1]};",
        root="a",
        installer="a",
        next_counter=9,
    )[1]
    drawn = {row["url"] for row in spark.sql(other.program.central_sql).toArrow().to_pylist()}
    assert drawn != keys[1], "another stream draws another sample"


def test_totals_are_estimated_with_the_error_that_they_have(
    spark: SparkSession, records: list[Record]
) -> None:
    """Over windows and levels, the true total is within three standard errors nearly always."""
    full, *levels = compiled("samples")
    made = batches(spark, full, records)
    book = QueryBook()
    for one in (full, *levels):
        book.add(one)
    truth = windows_total(full, made)
    near = count = 0
    for level in levels:
        groups = windows_of(level, [(level, sent(full, level, made, book.levels(str(full.id))))])
        for window, found in groups.items():
            totals = totals_of(level)
            assert totals is not None
            totals.add(found.merged)
            hits: Estimate = next(e for e in totals.estimates() if e.column == "hits")
            near += abs(hits.total - truth[window]) <= 3.0 * hits.error
            count += 1
    assert count == 12
    assert near >= 11, (near, count)


def windows_total(full: Query, made: Sequence[pa.Table]) -> dict[int, int]:
    found: dict[int, int] = {}
    for row in pa.concat_tables(made).to_pylist():
        window = full.window.windows_of(row["pane"])[0]
        found[window] = found.get(window, 0) + row["count_1"]
    return found
