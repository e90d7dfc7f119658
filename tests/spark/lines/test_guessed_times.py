"""Local times that come twice, or never, are counted; those that say their zone are not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.plan.sources.local_times import Guessed
from headwater.plan.sources.source import Source
from headwater.spark.lines.guessed_times import has_change
from headwater.spark.source_check import lines_of
from headwater.sql.compile import parse_script

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
BERLIN = "zone = 'Europe/Berlin'"


def source(options: str, columns: str = "ts TIMESTAMP", format_: str = "csv") -> Source:
    with_ = f"format = '{format_}', path = '*', time = 'ts', {options}"
    text = f"CREATE SOURCE s ({columns}) WITH ({with_})"
    (found,) = parse_script(text).sources
    return found


def guessed(spark: SparkSession, of: Source, path: Path) -> Guessed:
    with lines_of(spark, of, [[], [path]]) as lines:
        nothing, found = lines.guessed()
    assert not nothing
    return found


def counts(spark: SparkSession, of: Source, path: Path, *texts: str) -> tuple[int, int]:
    path.write_text("\n".join(texts))
    found = guessed(spark, of, path)
    return found.twice, found.never


def test_the_whole_hour_comes_twice_and_its_neighbours_do_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    at = tmp_path / "a.csv"
    day = "2024-10-27"
    twice = [f"{day} 02:00:00", f"{day}T02:59:59.999"]
    once = [
        f"{day} 01:59:59.999",
        f"{day} 03:00:00",
        day,
        "2024-10-28 02:30:00",
        "2024-06-01 02:30",
    ]
    said = [f"{day} 02:30:00Z", f"{day}T02:30:00+01:00", f"{day} 02:30:00 Europe/Berlin"]
    of = source(BERLIN)
    assert counts(spark, of, at, *twice) == (2, 0)
    assert counts(spark, of, at, *once, *said, "no time") == (0, 0)


def test_an_hour_that_does_not_come_is_counted_by_itself(
    spark: SparkSession, tmp_path: Path
) -> None:
    at, day = tmp_path / "a.csv", "2024-03-31"
    missing = [f"{day} 02:00:00", f"{day} 02:59:59"]
    shown = [f"{day} 01:59:59", f"{day} 03:00:00", f"{day}T02:30:00Z"]
    assert counts(spark, source(BERLIN), at, *missing, *shown) == (0, 2)


@pytest.mark.parametrize(
    ("zone", "twice", "once"),
    [
        ("America/New_York", "2024-11-03 01:30:00", "2024-11-03 02:00:00"),
        ("Australia/Lord_Howe", "2024-04-07 01:45:00", "2024-04-07 01:15:00"),
        ("Atlantic/Azores", "2024-10-27 00:30:00", "2024-10-27 01:30:00"),
        ("Europe/London", "2024-10-27 01:30:00", "2024-10-27 02:30:00"),
    ],
)
def test_clocks_go_back_by_what_their_zone_says(
    spark: SparkSession, tmp_path: Path, zone: str, twice: str, once: str
) -> None:
    of = source(f"zone = '{zone}'")
    assert counts(spark, of, tmp_path / "a.csv", twice) == (1, 0)
    assert counts(spark, of, tmp_path / "a.csv", once) == (0, 0)


def test_the_format_that_reads_a_time_decides_whether_it_says_its_zone(
    spark: SparkSession, tmp_path: Path
) -> None:
    formats = "timestamp_format = 'epoch_s | dd.MM.yyyy HH:mm XXX | dd.MM.yyyy HH:mm'"
    texts = ["1729989000", "27.10.2024 02:30 +02:00", "27.10.2024 02:30"]
    of = source(f"{formats}, {BERLIN}")
    assert counts(spark, of, tmp_path / "a.csv", *texts) == (1, 0)
    as_text = source(f"timestamp_format = 'dd.MM.yyyy HH:mm', {BERLIN}", "ts STRING")
    assert counts(spark, as_text, tmp_path / "a.csv", texts[-1]) == (1, 0)
    syslog = source(f"year = '2024', {BERLIN}", "ts TIMESTAMP, message STRING", "syslog")
    assert counts(spark, syslog, tmp_path / "a.csv", "Oct 27 02:30:00 host app: x") == (1, 0)


def test_moments_in_a_file_with_types_are_no_guess_and_local_times_are(
    spark: SparkSession, tmp_path: Path
) -> None:
    times = pa.array(["2024-10-27 02:30:00"]).cast(pa.timestamp("us"))
    pq.write_table(pa.table({"ts": times}), tmp_path / "local.parquet")
    pq.write_table(
        pa.table({"ts": times.cast(pa.timestamp("us", "UTC"))}), tmp_path / "utc.parquet"
    )
    of = source(BERLIN, format_="parquet")
    assert guessed(spark, of, tmp_path / "local.parquet") == Guessed("Europe/Berlin", 1, 0)
    assert not guessed(spark, of, tmp_path / "utc.parquet")


def test_whether_clocks_are_changed_within_a_time_is_known(spark: SparkSession) -> None:
    change_us = 1_729_990_800_000_000
    hour_us = 3_600_000_000
    assert has_change(spark, "Europe/Berlin", from_us=change_us - hour_us, to_us=change_us)
    assert not has_change(
        spark, "Europe/Berlin", from_us=change_us + 4 * hour_us, to_us=change_us + 9 * hour_us
    )
    assert not has_change(spark, "Asia/Tokyo", from_us=change_us - hour_us, to_us=change_us)
