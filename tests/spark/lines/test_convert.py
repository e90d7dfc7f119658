"""What a text becomes in its declared type, and that no text fails or is guessed at."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from headwater.plan.zones import ZONES
from headwater.spark.lines.convert import conversion, time_conversion
from headwater.spark.lines.fields import LINE, literal
from headwater.spark.lines.parse import Parser
from headwater.sql.compile import parse_script

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NOON = "2026-05-01 12:00:00"


def values(spark: SparkSession, texts: Sequence[str], type_: str, **options: str) -> list[Any]:
    """Times as texts, for Python has no year 294247."""
    spark.createDataFrame(pa.table({"t": pa.array(texts, pa.string())})).createOrReplaceTempView(
        "v"
    )
    value = conversion("t", type_, options)
    if type_.startswith(("timestamp", "date")):
        value = f"CAST({value} AS STRING)"
    return spark.sql(f"SELECT {value} AS x FROM v").toArrow()["x"].to_pylist()


def test_numbers_with_more_digits_than_their_type_do_not_fit(spark: SparkSession) -> None:
    cases = {
        "1.00": Decimal("1.00"),
        "1.5": Decimal("1.50"),
        "1.500": Decimal("1.50"),
        "1.005": None,
        "-1.001": None,
        "1.000000000000000000000000000000000000000001": None,
        "7": Decimal("7.00"),
        "1e2": Decimal("100.00"),
        "1005e-3": None,
        "1500E-3": Decimal("1.50"),
        "x": None,
        " 1.25 ": Decimal("1.25"),
        "1.250 ": Decimal("1.25"),
        "1.251 ": None,
        ".5": Decimal("0.50"),
        "1234567.00": None,
        "": None,
    }
    assert dict(zip(cases, values(spark, list(cases), "decimal(8,2)"), strict=True)) == cases
    assert values(spark, ["1.5", "15e-1", "15"], "decimal(38,0)") == [None, None, Decimal(15)]


def test_numbers_are_rounded_where_the_source_says_so(spark: SparkSession) -> None:
    found = values(spark, ["1.005", "1.004", "x"], "decimal(8,2)", round="true")
    assert found == [Decimal("1.01"), Decimal("1.00"), None]
    assert values(spark, ["1.5", "-2.4", "7", "3e9"], "int", round="true") == [2, -2, 7, None]
    assert values(spark, ["1.5", "1.0", "7"], "int") == [None, None, 7]


@pytest.mark.parametrize(
    ("text", "options", "found"),
    [
        ("2026-05-01T14:00:00+02:00", {}, NOON),
        ("2026-05-01T12:00:00", {}, NOON),
        ("12:00:00", {}, None),
        ("T12:00", {}, None),
        ("          12:00:00", {}, None),
        ("2026-05-01T14:00:00", {"zone": "Europe/Berlin"}, NOON),
        ("2026-05-01T12:00:00Z", {"zone": "Europe/Berlin"}, NOON),
        ("2026-05-01T12:00:00 UTC", {"zone": "+02:00"}, NOON),
        ("2026-05-01 08:00:00-04:00", {"zone": "Europe/Berlin"}, NOON),
        ("2026-05-01", {"zone": "Europe/Berlin"}, "2026-04-30 22:00:00"),
        ("2026-05-01", {"zone": "-03:00"}, "2026-05-01 03:00:00"),
        ("12:00:00", {"zone": "Europe/Berlin"}, None),
        (
            "01.05.2026 14:00",
            {"timestamp_format": "dd.MM.yyyy HH:mm", "zone": "Europe/Berlin"},
            NOON,
        ),
        ("1.5.2026 12:00", {"timestamp_format": "d.M.y HH:mm"}, NOON),
        (
            "01/May/2026:08:00:00 -0400",
            {"timestamp_format": "dd/MMM/yyyy:HH:mm:ss Z", "zone": "Europe/Berlin"},
            NOON,
        ),
        ("1777636800", {"timestamp_format": "epoch_s", "zone": "Europe/Berlin"}, NOON),
        ("1777636800000", {"timestamp_format": "epoch_ms"}, NOON),
        ("1777636800000000", {"timestamp_format": "epoch_us"}, NOON),
        ("1777636800000000000", {"timestamp_format": "epoch_ns"}, NOON),
        ("1777636800123456789", {"timestamp_format": "epoch_ns"}, f"{NOON}.123456"),
        ("-1", {"timestamp_format": "epoch_ns"}, "1969-12-31 23:59:59.999999"),
        ("1777636800.123456789", {"timestamp_format": "epoch_s"}, f"{NOON}.123456"),
        ("1777636800000.5", {"timestamp_format": "epoch_ms"}, f"{NOON}.0005"),
        ("1777636800000", {"timestamp_format": "epoch_s"}, None),
        ("1777636800000", {"timestamp_format": "epoch_s | epoch_ms"}, NOON),
        ("1777636800", {"timestamp_format": "epoch_s | epoch_ms"}, NOON),
        ("253402300799", {"timestamp_format": "epoch_s"}, "9999-12-31 23:59:59"),
        ("253402300800", {"timestamp_format": "epoch_s"}, None),
        ("-62135596800", {"timestamp_format": "epoch_s"}, "0001-01-01 00:00:00"),
        ("-62135596801", {"timestamp_format": "epoch_s"}, None),
        (NOON, {"timestamp_format": "epoch_ms | iso"}, NOON),
        ("1777636800000", {"timestamp_format": "yyyy-MM-dd | epoch_ms"}, NOON),
        ("never", {"timestamp_format": "yyyy-MM-dd | epoch_ms | iso"}, None),
    ],
)
def test_a_time_is_read_by_its_format_and_zone(
    spark: SparkSession, text: str, options: dict[str, str], found: str | None
) -> None:
    assert values(spark, [text], "timestamp", **options) == [found]


def test_a_day_that_is_the_time_of_its_record_is_read_by_its_own_format(
    spark: SparkSession,
) -> None:
    options = {"date_format": "dd.MM.yyyy", "timestamp_format": "epoch_s", "zone": "Europe/Berlin"}
    time = time_conversion("'01.05.2026'", "date", options)
    (row,) = spark.sql(f"SELECT CAST({time} AS STRING) AS x").toArrow().to_pylist()
    assert row == {"x": "2026-04-30 22:00:00"}


def test_the_hour_that_comes_twice_is_the_first_and_the_one_that_is_not_is_moved(
    spark: SparkSession,
) -> None:
    """As Java has it. Clocks go back on 2026-10-25 at 3:00 and forward on 2026-03-29 at 2:00."""
    texts = ["2026-10-25T02:30:00", "2026-03-29T02:30:00"]
    found = ["2026-10-25 00:30:00", "2026-03-29 01:30:00"]
    assert values(spark, texts, "timestamp", zone="Europe/Berlin") == found
    pattern = {"timestamp_format": "yyyy-MM-dd'T'HH:mm:ss"}
    assert values(spark, texts, "timestamp", zone="Europe/Berlin", **pattern) == found


FAR = ["+999999-01-01", "-999999-01-01", "999999-01-01", "+294247-01-10", "294248-01-01"]


@pytest.mark.parametrize("pattern", ["yyyy-MM-dd", "y-MM-dd", "yyyyMMdd", "iso", "epoch_s"])
@pytest.mark.parametrize("type_", ["timestamp", "date", "timestamp_ntz"])
def test_a_year_too_far_off_does_not_fail_a_batch(
    spark: SparkSession, pattern: str, type_: str
) -> None:
    texts = [*FAR, *(text.replace("-01-", "01") for text in FAR), "9" * 30, "-" + "9" * 30]
    if pattern == "epoch_s" and type_ == "date":
        pytest.skip("a date is no number")
    for zone in ("UTC", "Asia/Kolkata"):
        found = values(
            spark, texts, type_, timestamp_format=pattern, date_format=pattern, zone=zone
        )
        assert len(found) == len(texts)


def test_a_time_without_zone_takes_no_text_that_has_one(spark: SparkSession) -> None:
    texts = [NOON, "2026-05-01T12:00:00Z", "2026-05-01T12:00:00+02:00", "12:00:00", "2026-05-01"]
    found = [NOON, None, None, None, "2026-05-01 00:00:00"]
    assert values(spark, texts, "timestamp_ntz", zone="Europe/Berlin") == found


def test_every_zone_of_the_list_is_one_of_javas(spark: SparkSession) -> None:
    zones = ", ".join(f"to_utc_timestamp(TIMESTAMP'2026-05-01', {literal(z)})" for z in ZONES)
    assert spark.sql(f"SELECT size(array({zones})) AS n").collect()[0]["n"] == len(ZONES)


@pytest.mark.parametrize(
    ("columns", "time", "cases"),
    [
        (
            "d STRING, t STRING",
            "time = \"to_timestamp(d || ' ' || t)\"",
            {"2026-05-01,12:00:00": NOON, ",12:00:00": None, "x,y": None, "2026-05-01,": None},
        ),
        (
            "d STRING, t STRING",
            "time = \"to_timestamp(d || t, 'yyyy-MM-ddHH:mm')\"",
            {"2026-05-01,12:00": NOON, "+999999-01-01,12:00": None, "2026-05-01,25:00": None},
        ),
        (
            "d DATE, h INT",
            "time = 'timestamp_seconds(unix_date(d) * 86400 + h * 3600)'",
            {
                "2026-05-01,12": NOON,
                "2026-05-01,2147483647": None,
                "x,1": None,
                "2026-05-01,": None,
            },
        ),
        (
            "ms BIGINT, n INT",
            "time = 'timestamp_millis(ms)'",
            {"1777636800000,1": NOON, "9223372036854775807,1": None, "1777636800000,x": NOON},
        ),
        (
            "d DATE, n INT",
            "time = 'd'",
            {"2026-05-01,1": "2026-05-01 00:00:00", "5000000-01-01,1": None, ",1": None},
        ),
        (
            "d DATE, n INT",
            "time = 'cast(d as timestamp)'",
            {"2026-05-01,1": "2026-05-01 00:00:00", "5000000-01-01,1": None, ",1": None},
        ),
        (
            "s STRING, n INT",
            "time = \"to_utc_timestamp(to_timestamp(s, 'yyyy-MM-dd HH'), 'Europe/Berlin')\"",
            {"2026-05-01 14,1": NOON, "294247-01-10 00,1": None},
        ),
        (
            "ms BIGINT, n INT",
            "time = 'ms', timestamp_format = 'epoch_ms'",
            {"1777636800000,1": NOON, "soon,1": None, ",1": None},
        ),
    ],
)
def test_a_time_computed_of_columns_is_there_or_the_line_is_malformed(
    spark: SparkSession, columns: str, time: str, cases: dict[str, str | None]
) -> None:
    text = f"CREATE SOURCE s ({columns}) WITH (format = 'csv', path = '*', {time})"
    (source,) = parse_script(text).sources
    lines = pa.table({LINE: pa.array(list(cases), pa.string())})
    spark.createDataFrame(lines).createOrReplaceTempView("lines")
    parser = Parser(source, (frozenset([source.time_column]),))
    sql = f"SELECT string(event_time) AS t, __bad_0 FROM ({parser.typed_sql('lines')})"
    rows = spark.sql(sql).toArrow().to_pylist()
    assert [row["t"] for row in rows] == list(cases.values())
    assert [row["__bad_0"] for row in rows] == [found is None for found in cases.values()]
