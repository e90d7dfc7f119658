"""Tables that are written in any format with any options, and read back: the same records.

One job of Spark reads many tables, each by a source of its own, so that many are tried.
"""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.spark.lines.fields import quoted
from headwater.spark.lines.lines import Linked, LinkedFile
from headwater.spark.lines.parse import BAD, Parser
from headwater.spark.workers import readings
from headwater.spark.workers.made_fields import Made
from headwater.spark.workers.worker_lines import frame_of
from headwater.sql.compile import parse_script

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TEXTS = st.text(
    st.one_of(
        st.sampled_from(" ,;|\"'\\:=#[]{}<>@$%.-_"),
        st.characters(blacklist_categories=("Cs", "Cc"), max_codepoint=0x2FFFF),
    ),
    min_size=1,
    max_size=8,
)
"""No control signs: a break ends a line, and what else they do is the corpus of awkward files."""
NUMBERS = st.none() | st.integers(-(1 << 63), (1 << 63) - 1)
FLOATS = st.none() | st.floats(allow_nan=False, allow_infinity=False)
TIMES = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))
ROWS = st.lists(st.tuples(TIMES, st.none() | TEXTS, NUMBERS, FLOATS), min_size=1, max_size=12)


class Table(NamedTuple):
    statement: str
    text: str
    rows: list[tuple[Any, ...]]
    malformed: int


@st.composite
def tables(draw: st.DrawFn) -> Table:
    form = draw(st.sampled_from(["csv", "tsv", "json"]))
    time, write = draw(st.sampled_from(WAYS_OF_TIME))
    rows = [(_cut(row[0], time), *row[1:]) for row in draw(ROWS)]
    options = {"timestamp_format": time} if time else {}
    if form == "json":
        lines = [_object(row, write) for row in rows]
        bad = ['{"ts":', "nothing", "[1]", '{"s": "no time"}']
    else:
        rows, lines, bad = _delimited(draw, form, rows, write, options)
    broken = draw(st.lists(st.sampled_from(bad), max_size=3))
    header = [lines.pop(0)] if options.get("header") else []
    mixed = draw(st.permutations([*lines, *broken]))
    ended = draw(st.sampled_from(["\n", "\r\n"]))
    return Table(_statement(form, options), ended.join([*header, *mixed, ""]), rows, len(broken))


WAYS_OF_TIME = (
    ("", lambda at: at.isoformat()),
    ("epoch_s", lambda at: str((at - EPOCH) // timedelta(seconds=1))),
    ("epoch_ms", lambda at: str((at - EPOCH) // timedelta(milliseconds=1))),
    ("epoch_us", lambda at: str((at - EPOCH) // timedelta(microseconds=1))),
    ("dd/MMM/yyyy:HH:mm:ss Z", lambda at: at.strftime("%d/%b/%Y:%H:%M:%S +0000")),
    ("yyyyMMddHHmmss", lambda at: at.strftime("%Y%m%d%H%M%S")),
)


def _cut(at: datetime, form: str) -> datetime:
    """To what the form can say."""
    if form in ("", "epoch_us"):
        return at
    step = timedelta(milliseconds=1) if form == "epoch_ms" else timedelta(seconds=1)
    return EPOCH + (at - EPOCH) // step * step


def _object(row: tuple[Any, ...], write: Any) -> str:
    at, text, number, float_ = row
    members = {"ts": write(at), "s": text, "n": number, "x": float_, "more": [1]}
    return json.dumps({name: value for name, value in members.items() if value is not None})


def _delimited(
    draw: st.DrawFn, form: str, rows: list[tuple[Any, ...]], write: Any, options: dict[str, str]
) -> tuple[list[tuple[Any, ...]], list[str], list[str]]:
    sign = "\t" if form == "tsv" else draw(st.sampled_from(",;|"))
    if form == "csv":
        options["delimiter"] = sign
    null = draw(st.sampled_from(["", "NULL"]))
    if null:
        options["null_value"] = null
        rows = [row for row in rows if row[1] != null] or [(EPOCH, None, 1, 1.0)]
    if form == "tsv":
        rows = [
            (at, None if text is None else text.replace("\t", " "), *rest)
            for at, text, *rest in rows
        ]
    lines = [_line([write(at), *rest], sign, null, is_quoted=form == "csv") for at, *rest in rows]
    bad = [
        "nothing",
        sign * 3,
        *(
            sign.join(values)
            for values in (
                ("soon", "a", "1", "1"),
                ("", "a", "1", "1"),
                (write(EPOCH), "a", "1", "1", "1"),
                (write(EPOCH), "a", "x", "1"),
            )
        ),
    ]
    if draw(st.booleans()):
        options["header"] = "true"
        lines.insert(0, sign.join(["ts", "s", "n", "x"]))
    return rows, lines, bad


def _line(values: list[Any], sign: str, null: str, *, is_quoted: bool) -> str:
    texts = [null if value is None else _plain(value) for value in values]
    if not is_quoted:
        return sign.join(texts)
    out = io.StringIO()
    csv.writer(out, delimiter=sign, lineterminator="").writerow(texts)
    return out.getvalue()


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _statement(form: str, options: dict[str, str]) -> str:
    more = "".join(f", {name} = '{value}'" for name, value in options.items())
    return (
        "CREATE SOURCE t (ts TIMESTAMP, s STRING, n BIGINT, x DOUBLE) "
        f"WITH (format = '{form}', path = '*', time = 'ts'{more})"
    )


@settings(
    max_examples=5,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(tables(), min_size=8, max_size=12))
@pytest.mark.parametrize("is_by_workers", [False, True], ids=["by the JVM", "by workers"])
@pytest.mark.timeout(240)
def test_what_was_written_is_read_and_each_malformed_line_is_counted_once(
    spark: SparkSession, is_by_workers: bool, made: list[Table]
) -> None:
    found = _read(spark, made, is_by_workers=is_by_workers)
    for table, (rows, malformed) in zip(made, found, strict=True):
        assert sorted(rows, key=repr) == sorted(table.rows, key=repr), table
        assert malformed == table.malformed, table


def _read(
    spark: SparkSession, made: list[Table], *, is_by_workers: bool
) -> list[tuple[list[tuple[Any, ...]], int]]:
    with TemporaryDirectory() as directory:
        parts = []
        for number, table in enumerate(made):
            path = Path(directory) / f"{number}.txt"
            path.write_bytes(table.text.encode())
            spark.read.text(str(path)).createOrReplaceTempView(f"written_{number}")
            (source,) = parse_script(table.statement).sources
            names = [column.name for column in source.columns]
            parser = Parser(source, (frozenset(names),))
            if is_by_workers:
                parser = _by_workers(spark, parser, path, f"written_{number}")
            typed = parser.typed_sql(f"written_{number}")
            columns = ", ".join(quoted(name) for name in names)
            parts.append(f"SELECT {number} AS at, {columns}, {BAD}0 AS bad FROM ({typed})")
        found = spark.sql(" UNION ALL ".join(parts)).toArrow().to_pylist()
    return _by_table(found, len(made))


def _by_workers(spark: SparkSession, parser: Parser, path: Path, view: str) -> Parser:
    """All that workers could ever be given."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(readings, "GIVEN_BACK_MAX", 1.0)
        reading = readings.reading_of(
            parser, Linked(path.parent, files=(LinkedFile(path, 0),)), tasks=2
        )
    assert reading is not None
    frame_of(spark, reading).createOrReplaceTempView(view)
    return msgspec.structs.replace(parser, made=Made(view, readings.kinds_of(parser)))


def _by_table(found: list[dict[str, Any]], count: int) -> list[tuple[list[tuple[Any, ...]], int]]:
    read: list[tuple[list[tuple[Any, ...]], int]] = []
    for number in range(count):
        mine = [row for row in found if row["at"] == number]
        good = [
            tuple(row[name] for name in ("ts", "s", "n", "x")) for row in mine if not row["bad"]
        ]
        read.append((good, sum(row["bad"] for row in mine)))
    return read
