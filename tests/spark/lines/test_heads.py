"""Files of one batch with different headers, and files that Spark can't read as they are."""

from __future__ import annotations

import errno
import gzip
import lzma
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from spark_kit import Chunk, stream

from headwater.errors import SparkFailed
from headwater.reading.form import Form, form_of
from headwater.reading.records import Quoting
from headwater.spark.central import central_answers
from headwater.spark.lines.lines import linked, read_lines
from headwater.spark.lines.readable import ChunkUnreadable, pieces_of, whole_files, write_piece
from headwater.spark.site.batch import BatchRunner
from headwater.spark.site.inbox import SiteBatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMED = """
CREATE SOURCE hits (ts TIMESTAMP, domain STRING, bytes BIGINT)
WITH (format = 'csv', path = '*', time = 'ts', header = 'true');
"""
FILES = {
    "a.csv": b"ts,domain,bytes\n2026-05-01T12:00:01Z,a,1\n2026-05-01T12:00:02Z,b,2\n",
    "b.csv": b"\xef\xbb\xbfbytes,other,ts,domain\r\n3,x,2026-05-01T12:00:03Z,a\r\n",
    "c.csv.gz": gzip.compress(b"domain,ts,bytes\n" + b"c,2026-05-01T12:00:04Z,4\n"),
    "d.csv.xz": lzma.compress(b"domain,bytes,ts\nd,5,2026-05-01T12:00:05Z\n"),
    "e.csv.gz": gzip.compress(b"\xef\xbb\xbfdomain,bytes,ts\ne,6,2026-05-01T12:00:06Z"),
}
WANTED = {"a": 4, "b": 2, "c": 4, "d": 5, "e": 6}


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    (tmp_path / "files").mkdir()
    for name, data in FILES.items():
        (tmp_path / "files" / name).write_bytes(data)
    return sorted((tmp_path / "files").iterdir())


@pytest.mark.spark
def test_columns_are_found_by_each_files_own_header(
    spark: SparkSession, tmp_path: Path, files: list[Path]
) -> None:
    query = stream(
        "SELECT domain, sum(bytes) AS b FROM hits GROUP BY window(ts, '1 minute'), domain",
        source=NAMED,
    )
    runner = BatchRunner(spark, tmp_path / "batch")
    chunks = tuple(whole_files(files, form_of(query.program.source)))
    (outcome,) = runner.run([SiteBatch("s", chunks, (query,))])
    assert (outcome.records, outcome.unparsed) == (6, 0)
    (found,) = outcome.results
    assert found.table is not None, found.failed
    sums = {row["domain"]: row["sum_1"] for row in found.table.to_pylist()}
    reference = central_answers(spark, query, files)
    (rows,) = reference.values()
    assert {row["domain"]: row["b"] for row in rows.to_pylist()} == sums == WANTED
    runner.close()


def test_lines_whose_columns_are_named_in_the_middle_go_below_their_own_header(
    tmp_path: Path,
) -> None:
    text = b"#Version: 1\r\n#Fields: a b\r\n1 2\r\n#Fields: a b\r\n3 4\r\n#Fields: b a\r\n5 6\r\n"
    (tmp_path / "a.log").write_bytes(text)
    (tmp_path / "b.log.gz").write_bytes(gzip.compress(text))
    (tmp_path / "c.log").write_bytes(b"#Fields: b a\n7 8\n")
    form = Form(has_fields_lines=True)
    chunks = whole_files(sorted(tmp_path.glob("*.log*")), form)
    with linked(tmp_path / "batch", [chunks], form=form) as found:
        assert found.headers == ("#Fields: a b", "#Fields: b a")
        read: dict[str, bytes] = {}
        for path in sorted(found.directory.rglob("*.txt")):
            head = path.parent.name
            read[head] = read.get(head, b"") + path.read_bytes()
    assert read["__head=0"] == 2 * text[: text.index(b"#Fields: b")]
    assert read["__head=1"] == 2 * b"#Fields: b a\r\n5 6\r\n" + b"#Fields: b a\n7 8\n"


@pytest.mark.parametrize("encoding", ["windows-1252", "utf-16le"])
def test_columns_that_change_in_the_middle_are_found_in_any_encoding(
    tmp_path: Path, encoding: str
) -> None:
    (tmp_path / "a.log").write_bytes("#Fields: a €\n1 2\n#Fields: € a\n3 4\n".encode(encoding))
    form = Form(has_fields_lines=True, encoding=encoding)
    chunks = whole_files([tmp_path / "a.log"], form)
    with linked(tmp_path / "batch", [chunks], form=form) as found:
        texts = [path.read_text() for path in sorted(found.directory.rglob("*.txt"))]
    assert found.headers == ("#Fields: a €", "#Fields: € a")
    assert texts == ["#Fields: a €\n1 2\n", "#Fields: € a\n3 4\n"]


def test_where_there_are_no_headers_there_is_no_column_for_them(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1\n")
    with linked(tmp_path / "batch", [[Chunk(3, tmp_path / "a.csv", 2)]]) as found:
        assert found.headers == ()
        (put,) = found.directory.rglob("*.txt")
        assert put.relative_to(found.directory) == Path("__site=0/00000000000000000003-000000.txt")
        assert put.is_symlink()


def test_a_file_that_can_not_be_expanded_is_left_to_spark_to_say_so(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(b"no gzip")
    chunk = Chunk(1, tmp_path / "a.csv.gz", 7, is_file=True)
    with linked(tmp_path / "batch", [[chunk]]) as found:
        (put,) = found.directory.rglob("*.gz")
        assert put.is_symlink()


RECORDS = ['a,"one\ntwo"', "ü,c", 'd,"x ""y"" \r\nz"']
TEXTS = {
    "a.csv": "\n".join(RECORDS).encode(),
    "b.csv.gz": gzip.compress(("\r\n".join(RECORDS) + "\r\n").encode()),
    "c.csv": b"\xff\xfe" + "\n".join(RECORDS).encode("utf-16-le"),
    "d.csv.xz": lzma.compress(b"\xef\xbb\xbf" + "\n".join(RECORDS).encode()),
}


@pytest.mark.spark
@pytest.mark.parametrize("name", TEXTS)
def test_spark_reads_records_over_several_lines_in_any_encoding(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(TEXTS[name])
    form = Form(quoting=Quoting())
    with linked(tmp_path / "batch", [whole_files([tmp_path / name], form)], form=form) as found:
        rows = read_lines(spark, found, byte_count=0).collect()
    assert sorted(row["value"] for row in rows) == sorted(RECORDS)


@pytest.mark.spark
def test_spark_reads_the_values_of_an_array_as_lines(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"a": 1,\n"b": "x\\ny"},\n {"a": 2}]')
    form = Form(is_array=True)
    with linked(
        tmp_path / "batch", [whole_files(list(tmp_path.glob("*.json")), form)], form=form
    ) as found:
        rows = read_lines(spark, found, byte_count=0).collect()
    assert [row["value"] for row in rows] == ['{"a": 1, "b": "x\\ny"}', '{"a": 2}']


def test_a_chunk_that_can_not_be_made_readable_is_set_aside_by_its_site(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"no": "array"]')
    (tmp_path / "b.csv.xz").write_bytes(b"no xz")
    for name, form in (("a.json", Form(is_array=True)), ("b.csv.xz", Form())):
        (chunk,) = whole_files([tmp_path / name], form)
        with (
            pytest.raises(ChunkUnreadable) as error,
            linked(tmp_path / "batch", [[chunk]], form=form),
        ):
            pass
        assert error.value.chunk is chunk


class NoRoom(Path):
    """A place on a disk that is full."""

    _flavour = type(Path())._flavour  # type: ignore[attr-defined]

    def open(self, *_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_disk_of_ours_that_is_full_is_no_fault_of_the_chunks(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("ä\n".encode("latin1"))
    form = Form(encoding="latin1")
    (chunk,) = whole_files([tmp_path / "a.csv"], form)
    (piece,) = pieces_of(chunk, form)
    with pytest.raises(SparkFailed, match="No space left on device; wanted as much room"):
        write_piece(chunk, piece, form, NoRoom(tmp_path / "at"))


SCHEMA = b'{"type":"record","name":"r","fields":[{"name":"value","type":"long"}]}'
AVRO = (
    b"Obj\x01\x04\x14avro.codec\x08null\x16avro.schema"
    + bytes([2 * len(SCHEMA) & 0x7F | 0x80, 1])
    + SCHEMA
    + b"\x00"
    + b"S" * 16
    + b"\x02\x02\x02"
    + b"S" * 16
)
"""One block with the number 1."""


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
def test_spark_reads_files_that_have_columns_of_their_own(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / f"a [1].{kind}"
    rows = pa.table({"value": [1]})
    if kind == "parquet":
        pq.write_table(rows, path)
    elif kind == "orc":
        orc.write_table(rows, path)
    else:
        path.write_bytes(AVRO)
    form = Form(columnar=kind)
    with linked(tmp_path / "batch", [[], whole_files([path], form)], form=form) as found:
        (row,) = read_lines(spark, found, byte_count=0).collect()
    assert (row["value"], row["__site"]) == (1, 1)
