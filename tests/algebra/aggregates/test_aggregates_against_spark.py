"""The law of every aggregate: finishing merged partials is Spark's own function, in its own type.

Records of two hundred groups are dealt to four sites. The site SQL of each partial runs for each
site, partials are merged by their rule, the finish runs over them, and Spark's function runs over
the records themselves. All aggregates over all types are one query each way.
"""

import math
import random
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from headwater.algebra.aggregates import AGGREGATES
from headwater.algebra.aggregates.aggregate import Split, UnfitArguments
from headwater.algebra.rows.types import arrow_type, decimal_digits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GROUPS = 200
RECORDS = 3000
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
    "word": "string",
    "raw": "binary",
    "day_": "date",
    "ts": "timestamp",
}


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
    table = pa.table(columns, schema=schema)
    groups = [chance.randrange(GROUPS) for _ in range(RECORDS)]
    table = table.append_column("k", pa.array(groups))
    table = table.append_column("site", pa.array([chance.randrange(4) for _ in range(RECORDS)]))
    spark.createDataFrame(table).createOrReplaceTempView("dealt")
    yield spark
    spark.catalog.dropTempView("dealt")


def calls() -> Iterator[tuple[str, str, Split]]:
    """Every aggregate over every type that it takes, plain and filtered."""
    yield "COUNT(*)", "", AGGREGATES["count"].split(())
    for name, aggregate in AGGREGATES.items():
        for column, type_name in COLUMNS.items():
            try:
                split = aggregate.split((type_name,))
            except UnfitArguments:
                continue
            yield f"{name}({column})", "", split
            if column in ("d2", "whole", "yes", "word"):
                yield f"{name}({column})", " FILTER(WHERE small > 0)", split


@pytest.mark.spark
def test_finishing_merged_partials_is_what_spark_gives(dealt: "SparkSession") -> None:
    asked = list(calls())
    assert len(asked) > 100
    wanted_sql, site_sql, found_sql = [], [], []
    for number, (call, condition, split) in enumerate(asked):
        argument = call.partition("(")[2].removesuffix(")")
        wanted_sql.append(f"{call}{condition} AS c{number}")
        merged = []
        for index, partial in enumerate(split.partials):
            text = partial.site.format(x=argument, filter=condition)
            site_sql.append(f"{text} AS p{number}_{index}")
            merged.append(f"{partial.merge}(p{number}_{index})")
        found_sql.append(f"{split.finish.format(*merged)} AS c{number}")
    wanted = dealt.sql(f"SELECT k, {', '.join(wanted_sql)} FROM dealt GROUP BY k ORDER BY k")
    sites = f"SELECT k, site, {', '.join(site_sql)} FROM dealt GROUP BY k, site"
    found = dealt.sql(f"SELECT k, {', '.join(found_sql)} FROM ({sites}) GROUP BY k ORDER BY k")
    types = [field.dataType.simpleString() for field in wanted.schema.fields]
    assert types == ["bigint", *(split.type for _, _, split in asked)]
    assert types == [field.dataType.simpleString() for field in found.schema.fields]
    differences = compared(found.toArrow(), wanted.toArrow())
    assert [(asked[number][:2], *rest) for number, *rest in differences] == []


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
        return both_nan or left == right or math.isclose(left, right, rel_tol=1e-9)
    return type(left) is type(right) and left == right
