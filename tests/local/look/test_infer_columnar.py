"""Sources of files with columns of their own, and of files that are one JSON array: what is
written for them, what Spark reads with it, and what each site's files give."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from columnar_files import write_avro, write_columnar
from query_kit import queries_in

from headwater.errors import ConfigurationError
from headwater.infer.sample import FILE_BYTES_MAX
from headwater.local.look.check_source import check_folders
from headwater.local.look.infer_check import hold_against_parser
from headwater.local.look.infer_files import infer_files
from headwater.sql.compile import parse_script

if TYPE_CHECKING:
    from headwater.spark.jvm.session import RunningSpark

KINDS = ("parquet", "orc", "avro")
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
NOON_US = int(NOON.timestamp()) * 1_000_000
MINUTE_US = 60_000_000


def table(count: int = 60, **more: Any) -> pa.Table:
    """One record a minute, the third of each three a warning."""
    return pa.table(
        {
            "at": pa.array(
                [NOON + timedelta(minutes=n) for n in range(count)], pa.timestamp("us", "UTC")
            ),
            "level": ["info" if n % 3 else "warn" for n in range(count)],
            "n": list(range(count)),
            "geo": [{"city": "Oslo", "spot": {"x": 0.5}} for _ in range(count)],
            "tags": [["a", "b"] for _ in range(count)],
            **more,
        }
    )


def columns_of(path: Path) -> dict[str, str]:
    guess = infer_files([path]).guess
    return {f"{one.name} {one.path}".strip(): one.type for one in guess.columns}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_brings_its_own_columns_with_what_lies_deeper(kind: str, tmp_path: Path) -> None:
    write_columnar(tmp_path / f"a.{kind}", kind, table())
    assert columns_of(tmp_path / f"a.{kind}") == {
        "at": "TIMESTAMP",
        "level": "STRING",
        "n": "BIGINT",
        "geo_city geo.city": "STRING",
        "geo_spot_x geo.spot.x": "DOUBLE",
        "tags": "ARRAY<STRING>",
    }
    inferred = infer_files([tmp_path / f"a.{kind}"])
    assert (inferred.refused, inferred.guess.doubts) == ("", ())
    text = f"{inferred.statement};\n{inferred.question};"
    (query,) = queries_in(text, at="r")
    assert [key.name for key in query.program.keys] == ["level"]
    assert query.window.range_us == 5 * MINUTE_US


@pytest.mark.parametrize("kind", KINDS)
def test_a_time_that_is_a_number_or_a_text_in_the_file_is_found(kind: str, tmp_path: Path) -> None:
    count = 5
    numbers = {"ts": [(NOON_US + n) // 1000 for n in range(count)], "n": [1] * count}
    texts = {"when": ["2026-05-01T12:00:00Z"] * count, "n": [1] * count}
    write_columnar(tmp_path / f"numbers.{kind}", kind, pa.table(numbers))
    write_columnar(tmp_path / f"texts.{kind}", kind, pa.table(texts))
    guess = infer_files([tmp_path / f"numbers.{kind}"]).guess
    assert (guess.time.columns, guess.time.pattern) == (("ts",), "epoch_ms")
    guess = infer_files([tmp_path / f"texts.{kind}"]).guess
    assert (guess.time.columns, guess.time.pattern) == (("when",), "")


def test_a_time_without_a_zone_is_said_to_be_taken_as_utc(tmp_path: Path) -> None:
    at = pa.array([NOON.replace(tzinfo=None)], pa.timestamp("us"))
    pa.parquet.write_table(pa.table({"at": at, "made": at}), tmp_path / "a.parquet")
    inferred = infer_files([tmp_path / "a.parquet"])
    assert [column.type for column in inferred.guess.columns] == ["TIMESTAMP", "TIMESTAMP_NTZ"]
    assert inferred.guess.doubts == (
        "`at` says no zone: it is taken as UTC; if it is another, add zone = '…'",
    )


def test_among_several_times_the_one_with_the_telling_name_is_taken_and_the_others_are_said(
    tmp_path: Path,
) -> None:
    at = pa.array([NOON], pa.timestamp("us", "UTC"))
    pa.parquet.write_table(pa.table({"left": at, "came": at}), tmp_path / "a.parquet")
    pa.parquet.write_table(pa.table({"left": at, "ts": at}), tmp_path / "b.parquet")
    guess = infer_files([tmp_path / "a.parquet"]).guess
    assert guess.time.columns == ("left",)
    assert guess.doubts == ("`left` places records in time; `came` could as well",)
    guess = infer_files([tmp_path / "b.parquet"]).guess
    assert (guess.time.columns, guess.doubts) == (("ts",), ())


def test_types_that_are_not_read_are_left_out_and_named(tmp_path: Path) -> None:
    odd = pa.array([None] * 60, pa.time64("us"))
    write_columnar(tmp_path / "a.parquet", "parquet", table(odd=odd))
    assert infer_files([tmp_path / "a.parquet"]).guess.doubts == (
        "left out, of types that are not read here: odd (time64[us])",
    )
    fields = [
        {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "either", "type": ["null", "string", "long"]},
    ]
    write_avro(tmp_path / "b.avro", fields, [])
    (doubt,) = infer_files([tmp_path / "b.avro"]).guess.doubts
    assert doubt == "left out, of types that are not read here: either (union of string, long)"


def test_files_that_differ_get_what_reads_them_all_and_it_is_said(tmp_path: Path) -> None:
    write_columnar(tmp_path / "a.parquet", "parquet", table())
    more = table(more=pa.array([1.5] * 60)).set_column(2, "n", pa.array([1] * 60, pa.int32()))
    write_columnar(tmp_path / "b.parquet", "parquet", more)
    (tmp_path / "c.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-20])
    inferred = infer_files([tmp_path])
    assert {one.name: one.type for one in inferred.guess.columns}["n"] == "BIGINT"
    cut, differs, lacks = inferred.guess.doubts
    assert "1 of 3 files can't be read as parquet; " in cut
    assert "c.parquet" in cut
    assert differs == "`n` is BIGINT in one file and INT in another"
    assert lacks == "`more` is not in 1 of 2 files: NULL there"


def test_a_file_that_is_not_whole_is_refused_by_name(tmp_path: Path) -> None:
    for kind in KINDS:
        write_columnar(tmp_path / f"a.{kind}", kind, table())
        data = (tmp_path / f"a.{kind}").read_bytes()
        (tmp_path / f"cut.{kind}").write_bytes(data[:50])
        with pytest.raises(ConfigurationError, match=rf"cut.{kind}: can't be read as {kind}"):
            infer_files([tmp_path / f"cut.{kind}"])


def test_packed_avro_is_looked_into_and_what_is_packed_strangely_is_said(tmp_path: Path) -> None:
    fields = [{"name": "ts", "type": "string"}, {"name": "n", "type": "long"}]
    rows = [{"ts": "2026-05-01T12:00:00Z", "n": n} for n in range(5)]
    write_avro(tmp_path / "a.avro", fields, rows, codec="deflate")
    assert infer_files([tmp_path / "a.avro"]).guess.time.columns == ("ts",)
    write_avro(tmp_path / "b.avro", fields, rows, codec="strange")
    with pytest.raises(ConfigurationError, match="are packed as strange"):
        infer_files([tmp_path / "b.avro"])


def elements(count: int) -> list[dict[str, Any]]:
    return [
        {"ts": (NOON + timedelta(minutes=n)).isoformat(), "geo": {"city": "Oslo"}, "n": n}
        for n in range(count)
    ]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_file_that_is_one_array_is_a_source_of_its_elements(
    indent: int | None, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_text(json.dumps(elements(30), indent=indent))
    inferred = infer_files([tmp_path / "a.json"])
    assert inferred.guess.options == (("array", "true"),)
    assert {one.name: one.type for one in inferred.guess.columns} == {
        "ts": "TIMESTAMP",
        "geo_city": "STRING",
        "n": "BIGINT",
    }
    assert inferred.guess.records == 30
    assert inferred.refused == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[\n1,\n2\n]", "most of what is in it are no objects; the first is '1'"),
        ('[{"ts": 1}]\n[{"ts": 2}]\n', "has a JSON array in each line"),
    ],
)
def test_arrays_of_which_no_source_can_be_made_are_refused_with_what_they_are(
    text: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ConfigurationError, match=said):
        infer_files([tmp_path / "a.json"])


@pytest.mark.spark
@pytest.mark.parametrize("kind", KINDS)
def test_spark_reads_what_was_inferred(
    kind: str, running_spark: RunningSpark, tmp_path: Path
) -> None:
    write_columnar(tmp_path / f"a.{kind}", kind, table())
    held = hold_against_parser(infer_files([tmp_path]), running_spark)
    assert (held.found.lines, held.found.malformed) == (60, 0)
    assert (held.found.first_us, held.found.last_us) == (NOON_US, NOON_US + 59 * MINUTE_US)
    assert held.records[1] == {
        "at": "2026-05-01 12:01:00",
        "level": "info",
        "n": "1",
        "geo_city": "Oslo",
        "geo_spot_x": "0.5",
        "tags": "[a, b]",
    }


@pytest.mark.spark
def test_times_in_nanoseconds_as_pandas_writes_them_are_read(
    running_spark: RunningSpark, tmp_path: Path
) -> None:
    at = pa.array([NOON_US * 1000 + n for n in range(3)], pa.timestamp("ns", "UTC"))
    pa.parquet.write_table(pa.table({"at": at, "n": [1, 2, 3]}), tmp_path / "a.parquet")
    inferred = infer_files([tmp_path])
    assert inferred.guess.time.pattern == "epoch_ns"
    held = hold_against_parser(inferred, running_spark)
    assert (held.found.lines, held.found.malformed, held.found.first_us) == (3, 0, NOON_US)


@pytest.mark.spark
def test_the_beginning_of_a_long_array_is_read_as_an_array(
    running_spark: RunningSpark, tmp_path: Path
) -> None:
    text = json.dumps(elements(FILE_BYTES_MAX // 40))
    assert len(text) > FILE_BYTES_MAX
    (tmp_path / "a.json").write_text(text)
    held = hold_against_parser(infer_files([tmp_path]), running_spark)
    assert held.found.lines > 1000
    assert (held.found.malformed, held.unread) == (0, {})
    assert held.records[0] == {"ts": "2026-05-01 12:00:00", "geo_city": "Oslo", "n": "0"}


STATEMENT = """CREATE SOURCE s (at TIMESTAMP, level STRING, n INT)
WITH (format = '{kind}', path = '*.{kind}', time = 'at')"""


@pytest.mark.spark
@pytest.mark.parametrize("kind", KINDS)
def test_a_site_is_told_what_its_columnar_files_give(
    kind: str, running_spark: RunningSpark, tmp_path: Path
) -> None:
    """At ``a`` two files with other types each, and one that is cut off; at ``b`` records out of
    order, one without a time, and one whose number does not fit."""
    for site in ("a", "b", "c"):
        (tmp_path / site).mkdir()
    write_columnar(tmp_path / "a" / f"1.{kind}", kind, table(10))
    other = table(10).set_column(2, "n", pa.array(["7"] * 9 + ["many"]))
    write_columnar(tmp_path / "a" / f"2.{kind}", kind, other)
    whole = (tmp_path / "a" / f"1.{kind}").read_bytes()
    (tmp_path / "a" / f"3.{kind}").write_bytes(whole[:-9])
    times = [NOON + timedelta(minutes=10), NOON, None, NOON + timedelta(minutes=20)]
    rows = pa.table(
        {
            "at": pa.array(times, pa.timestamp("us", "UTC")),
            "level": ["x"] * 4,
            "n": [1, 2, 3, 1 << 40],
        }
    )
    write_columnar(tmp_path / "b" / f"1.{kind}", kind, rows)
    (source,) = parse_script(STATEMENT.format(kind=kind)).sources
    folders = {site: tmp_path / site for site in ("a", "b", "c")}
    a, b, c = check_folders(source, folders, running_spark)
    assert (a.files, a.found.lines, a.found.malformed, a.found.behind) == (2, 20, 1, 0)
    assert [kind.text() for kind in a.found.why] == [
        "n: wanted int, came 'many' (1 line: '2026-05-01 12:09:00, warn, many')"
    ]
    ((name, reason),) = a.left_alone.items()
    assert name == f"3.{kind}"
    assert "has no end" in reason
    assert (b.found.lines, b.found.malformed) == (4, 2)
    assert {one.reason: one.lines for one in b.found.why} == {
        "at: wanted a time, it is empty": 1,
        "n: wanted int": 1,
    }
    assert (b.found.first_us, b.found.last_us) == (NOON_US, NOON_US + 10 * MINUTE_US)
    assert (b.found.behind, b.found.behind_us_max) == (1, 10 * MINUTE_US)
    assert (c.files, c.found.lines) == (0, 0)


@pytest.mark.spark
def test_a_site_is_told_what_its_arrays_give(running_spark: RunningSpark, tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "1.json").write_text(json.dumps(elements(5), indent=1))
    (folder / "2.json").write_text(json.dumps([*elements(3), 7, {"ts": "soon"}]))
    (folder / "3.json").write_text(json.dumps(elements(3))[:-5])
    (folder / "4.json").write_text('[{"ts": 1} {"ts": 2}]')
    text = """CREATE SOURCE s (ts TIMESTAMP, n INT)
    WITH (format = 'json', array = 'true', path = '*.json', time = 'ts')"""
    (source,) = parse_script(text).sources
    (found,) = check_folders(source, {"a": folder}, running_spark)
    assert (found.files, found.found.lines, found.found.malformed) == (2, 10, 2)
    assert {one.reason for one in found.found.why} == {
        "wanted a JSON object in one line",
        "ts: wanted timestamp",
    }
    assert list(found.left_alone) == ["3.json", "4.json"]
    assert "has no end" in found.left_alone["3.json"]
    assert "wanted one JSON array" in found.left_alone["4.json"]


@pytest.mark.spark
def test_records_over_several_lines_are_counted_once_each(
    running_spark: RunningSpark, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text(f'at,text\n{NOON.isoformat()},"one\ntwo"\n')
    text = """CREATE SOURCE s (at TIMESTAMP, text STRING)
    WITH (format = 'csv', header = 'true', multiline = 'true', path = '*.csv', time = 'at')"""
    (source,) = parse_script(text).sources
    (found,) = check_folders(source, {"a": tmp_path}, running_spark)
    assert (found.found.lines, found.found.malformed) == (1, 0)
