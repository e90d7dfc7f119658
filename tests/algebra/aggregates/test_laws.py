"""The laws, through which every aggregate of the registry goes, over every type that it takes.

Its states merge associatively and commutatively, and no rows are neutral: whatever the states are.
And the division does not show: records of two hundred groups are dealt to four sites, the site SQL
of each partial runs at each site, the rows are merged as relays merge them, the finish runs over
what comes of it, and that is what Spark's own function gives over the records themselves, in its
own type. All aggregates over all types are one query each way.
"""

import math
import random
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.aggregates import AGGREGATES, ALL
from headwater.algebra.aggregates.aggregate import Aggregate, Split, UnfitArguments, spelled
from headwater.algebra.aggregates.merge_moments import COVARIANCE
from headwater.algebra.rows.arrow_rows import ArrowMerger, in_schema
from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.rows.types import arrow_type, decimal_digits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GROUPS = 200
RECORDS = 3000
SITES = 4
DECIMALS = ("1,0", "5,5", "10,2", "18,6", "32,0", "28,14", "32,14")
COLUMNS = {
    **{f"d{index}": f"decimal({digits})" for index, digits in enumerate(DECIMALS)},
    "yes": "boolean",
    "tiny": "tinyint",
    "small": "smallint",
    "whole": "int",
    "big": "bigint",
    "single": "float",
    "twice": "double",
    "steady": "double",
    "word": "string",
    "raw": "binary",
    "day_": "date",
    "ts": "timestamp",
}
PAIRS = [("tiny", "steady"), ("d0", "tiny"), ("ts", "word")]
"""Of arguments for aggregates that take two."""
CALLS_AT_ONCE = 100
"""Of one query: Spark takes more than in proportion for more."""


def value(type_name: str, chance: random.Random) -> Any:
    """Often an extreme, often nothing."""
    if chance.random() < 0.2:
        return None
    digits = decimal_digits(type_name)
    if digits is not None:
        largest = 10 ** digits[0] - 1
        unscaled = chance.choice([0, 1, -1, largest, -largest, chance.randint(-largest, largest)])
        return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -digits[1]))
    # Spark averages bigints in doubles, which are exact only while the sum has 53 bits.
    bits = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 40}.get(type_name)
    if bits is not None:
        top = 2 ** (bits - 1)
        return chance.choice([0, top - 1, -top, chance.randrange(-top, top)])
    match type_name:
        case "boolean":
            return chance.random() < 0.5
        case "float" | "double":
            # Sums of these are exact in any order; for others the order of adding shows.
            return chance.choice([0.0, -0.0, 1.5, -2.25, 2.0**40, -(2.0**40), math.inf, 2.0**-9])
        case "string":
            return chance.choice(["", "a", "Z", "é", "\ud7ff", "\ue000", "𝄞", "aa"])
        case "binary":
            return chance.choice([b"", b"\x00", b"\xff", b"a"])
        case "date":
            return chance.choice([date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)])
    return datetime(1969, 12, 31, 23, 59, 59, chance.randrange(1_000_000), tzinfo=UTC)


@pytest.fixture
def dealt(spark: "SparkSession") -> Iterator["SparkSession"]:
    chance = random.Random(11)
    schema = pa.schema([(name, arrow_type(type_name)) for name, type_name in COLUMNS.items()])
    columns = [[value(type_name, chance) for _ in range(RECORDS)] for type_name in COLUMNS.values()]
    for column in ("single", "twice"):
        values = columns[schema.get_field_index(column)]
        values[::7] = [math.nan] * len(values[::7])
    columns[schema.get_field_index("steady")] = [1e3 + chance.random() for _ in range(RECORDS)]
    table = pa.table(columns, schema=schema)
    groups = [chance.randrange(GROUPS) for _ in range(RECORDS)]
    table = table.append_column("k", pa.array(groups))
    table = table.append_column("site", pa.array([chance.randrange(SITES) for _ in range(RECORDS)]))
    spark.createDataFrame(table).createOrReplaceTempView("dealt")
    yield spark
    spark.catalog.dropTempView("dealt")


class Layout:
    """Rows by one key."""

    def __init__(self, partials: list[Partial]) -> None:
        self.keys = (Column("k", "bigint"),)
        self.partials = tuple(partials)


def splits(aggregate: Aggregate) -> Iterator[tuple[str, Split]]:
    """With the columns that are its arguments, one or two; a star where it takes one."""
    if aggregate.takes_star:
        yield "*", aggregate.split(())
    for arguments in [*((name,) for name in COLUMNS), *PAIRS]:
        try:
            yield ", ".join(arguments), aggregate.split(tuple(COLUMNS[n] for n in arguments))
        except UnfitArguments:
            continue


def states(aggregate: Aggregate) -> list[Partial]:
    """The columns of its states, of all arguments side by side."""
    types = [one.type for _, split in splits(aggregate) for one in split.partials]
    return [Partial(f"p{n}", name, aggregate.merge.name) for n, name in enumerate(types)]


@pytest.mark.parametrize("aggregate", ALL, ids=lambda one: one.name)
def test_states_merge_associatively_and_commutatively_and_no_rows_are_neutral(
    aggregate: Aggregate,
) -> None:
    layout = Layout(states(aggregate))
    merger = ArrowMerger(layout)
    assert len(merger.schema) > 1

    def rows(chance: random.Random) -> pa.Table:
        keys = chance.sample(range(4), k=chance.randrange(4))
        width = aggregate.merge.width
        made = [
            [cell for _ in layout.partials[::width] for cell in cells(aggregate, layout, chance)]
            if width > 1
            else [state(p.type, chance) for p in layout.partials]
            for _ in keys
        ]
        columns = zip(*made, strict=True) if made else [[] for _ in layout.partials]
        return pa.table([keys, *map(list, columns)], schema=merger.schema)

    @given(st.randoms(use_true_random=False))
    def check(chance: random.Random) -> None:
        a, b, c = rows(chance), rows(chance), rows(chance)
        left = merger.merge([merger.merge([a, b]), c])
        right = merger.merge([a, merger.merge([b, c])])
        assert are_alike(outcome(merger, left), outcome(merger, right))
        assert are_alike(outcome(merger, left), outcome(merger, merger.merge([c, a, b])))
        assert are_alike(outcome(merger, merger.merge([a, merger.none()])), outcome(merger, a))

    check()


def cells(aggregate: Aggregate, layout: "Layout", chance: random.Random) -> list[Any]:
    """A state of several columns, as records make one: a count, means, and centred moments."""
    count = chance.choice([0, 0, 1, 2, 1_000])
    if count == 0:
        return [0, *[None] * (aggregate.merge.width - 1)]
    if aggregate.merge is COVARIANCE:
        x, y = chance.randrange(-9, 9), chance.randrange(-9, 9)
        spread = chance.choice([0.0, 4.0])
        return [count, x, y, spread, spread, spread * chance.choice([-1, 0.5, 0])]
    variance = 0.0 if count == 1 else chance.choice([0.0, 0.25, 16.0])
    shape = (
        [chance.choice([-1.0, 0.0, 0.5]), chance.choice([0.0, 3.0])] if variance else [None, None]
    )
    return [count, chance.randrange(-9, 9), variance, *shape][: aggregate.merge.width]


Outcome = tuple[list[list[Any]], list[list[Any]]]


def are_alike(one: Outcome, other: Outcome) -> bool:
    """But for rounding."""
    rows = list(zip([*one[0], *one[1]], [*other[0], *other[1]], strict=True))
    return all(
        equal(left, right) or (isinstance(left, float) and abs(left - right) < 1e-6)
        for mine, theirs in rows
        for left, right in zip(mine, theirs, strict=True)
    )


def state(type_name: str, chance: random.Random) -> Any:
    """Seldom one that leaves its type as soon as another is added."""
    found = value(type_name, chance)
    if isinstance(found, Decimal) and chance.random() < 0.95:
        return Decimal(int(found.scaleb(-9))).scaleb(0)
    return found


def outcome(merger: ArrowMerger, rows: pa.Table) -> Outcome:
    """The groups, and the keys of those that overflow, which stay apart in as many rows as came."""
    found = merger.groups([rows])
    return bag(found.merged), bag(found.overflowing)


def bag(table: pa.Table) -> list[list[Any]]:
    """By key, which comes first."""
    return sorted((list(row.values()) for row in table.to_pylist()), key=lambda row: row[0])


def calls() -> Iterator[tuple[Aggregate, str, str, Split]]:
    """Every aggregate over every type that it takes, plain and filtered; by a synonym over one."""
    for name, aggregate in AGGREGATES.items():
        for column, split in splits(aggregate):
            if name != aggregate.name and column not in ("whole", "yes"):
                continue
            yield aggregate, f"{name}({column})", "", split
            if column in ("d2", "whole", "yes", "word"):
                yield aggregate, f"{name}({column})", " FILTER(WHERE small > 0)", split


@pytest.mark.spark
def test_finishing_merged_partials_is_what_spark_gives(dealt: "SparkSession") -> None:
    asked = list(calls())
    assert len(asked) > 100
    for first in range(0, len(asked), CALLS_AT_ONCE):
        assert _differences(dealt, asked[first : first + CALLS_AT_ONCE]) == []


def _differences(
    dealt: "SparkSession", asked: list[tuple[Aggregate, str, str, Split]]
) -> list[tuple[Any, ...]]:
    wanted_sql, site_sql, found_sql = [], [], []
    partials: list[Partial] = []
    for number, (aggregate, call, condition, split) in enumerate(asked):
        arguments = call.partition("(")[2].removesuffix(")").split(", ")
        wanted_sql.append(f"{call}{condition} AS c{number}")
        merged = []
        for partial in split.partials:
            partials.append(Partial(f"p{len(partials)}", partial.type, aggregate.merge.name))
            text = spelled(partial.site, arguments, condition)
            site_sql.append(f"{text} AS {partials[-1].name}")
            merged.append(partials[-1].name)
        found_sql.append(f"{split.finish.format(*merged)} AS c{number}")
    wanted = dealt.sql(f"SELECT k, {', '.join(wanted_sql)} FROM dealt GROUP BY k ORDER BY k")
    merger = ArrowMerger(Layout(partials))
    sites = [
        dealt.sql(f"SELECT k, {', '.join(site_sql)} FROM dealt WHERE site = {site} GROUP BY k")
        for site in range(SITES)
    ]
    merged_rows = merger.merge([in_schema(rows.toArrow(), merger.schema) for rows in sites])
    assert merged_rows.num_rows == GROUPS
    dealt.createDataFrame(merged_rows).createOrReplaceTempView("merged")
    found = dealt.sql(f"SELECT k, {', '.join(found_sql)} FROM merged ORDER BY k")
    types = [field.dataType.simpleString() for field in wanted.schema.fields]
    assert types == ["bigint", *(split.type for *_, split in asked)]
    assert types == [field.dataType.simpleString() for field in found.schema.fields]
    differences = compared(found.toArrow(), wanted.toArrow())
    dealt.catalog.dropTempView("merged")
    return [(asked[number][1:3], *rest) for number, *rest in differences]


def compared(found: pa.Table, wanted: pa.Table) -> list[tuple[Any, ...]]:
    assert found["k"].to_pylist() == wanted["k"].to_pylist()
    assert wanted.num_rows == GROUPS
    return [
        (index - 1, left, right)
        for index in range(1, found.num_columns)
        for left, right in zip(
            found.column(index).to_pylist(), wanted.column(index).to_pylist(), strict=True
        )
        if not equal(left, right)
    ][:5]


def equal(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        both_nan = math.isnan(left) and math.isnan(right)
        return both_nan or left == right or math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)
    return type(left) is type(right) and left == right
