"""Inferring from real files: which are looked at, in which encoding, and what Spark makes of it."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import zstandard
from query_kit import queries_in

from headwater.errors import ConfigurationError
from headwater.infer.sample import FILE_BYTES_MAX
from headwater.local.look import sampling
from headwater.local.look.infer_check import hold_against_parser
from headwater.local.look.infer_files import infer_files
from headwater.local.look.sampling import find_files, some_of

if TYPE_CHECKING:
    from headwater.spark.jvm.session import RunningSpark

T = "2026-05-01T12:00:00Z"
TABLE = f"ts,city,n\n{T},Oslo,1\n{T},Zürich,2\n"


def test_a_folder_of_folders_is_one_of_sites_and_a_folder_of_files_is_one_site(
    tmp_path: Path,
) -> None:
    for path in ("a/logs/1.csv", "b/logs/2.csv", "b/.hidden"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(TABLE)
    found = {(one.site, one.below) for one in find_files([tmp_path])}
    assert found == {("a", "logs/1.csv"), ("b", "logs/2.csv")}
    assert [one.below for one in find_files([tmp_path / "a" / "logs"])] == ["1.csv"]
    assert [one.below for one in find_files([tmp_path / "*" / "logs" / "*.csv"])] == [
        "1.csv",
        "2.csv",
    ]
    assert "path = 'logs/*.csv'" in infer_files([tmp_path]).statement


def test_some_of_many_files_are_looked_at_from_every_site(tmp_path: Path) -> None:
    for site in ("a", "b"):
        (tmp_path / site).mkdir()
        for number in range(9):
            (tmp_path / site / f"{number}.csv").write_text(TABLE)
    chosen = some_of(find_files([tmp_path]), files_max=4)
    assert [(one.site, one.below) for one in chosen] == [
        ("a", "0.csv"),
        ("b", "0.csv"),
        ("a", "1.csv"),
        ("b", "1.csv"),
    ]


WRAPPED = {
    "a.csv": TABLE.encode(),
    "a.csv.gz": gzip.compress(TABLE.encode()[:20]) + gzip.compress(TABLE.encode()[20:]),
    "a.csv.bz2": bz2.compress(TABLE.encode()),
    "a.csv.zst": zstandard.compress(TABLE.encode()),
    "a.csv.xz": lzma.compress(TABLE.encode()),
    "bom.csv": b"\xef\xbb\xbf" + TABLE.encode(),
    "crlf.csv": TABLE.replace("\n", "\r\n").encode(),
    "cr.csv": TABLE.replace("\n", "\r").encode(),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_the_same_table_is_found_in_every_wrapping(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(WRAPPED[name])
    guess = infer_files([tmp_path / name]).guess
    assert {column.name: column.type for column in guess.columns} == {
        "ts": "TIMESTAMP",
        "city": "STRING",
        "n": "BIGINT",
    }
    assert (guess.options, guess.doubts) == ((("header", "true"),), ())


@pytest.mark.parametrize(
    ("encoding", "option"),
    [("latin-1", "windows-1252"), ("utf-16-le", "utf-16-le"), ("utf-16", "utf-16-le")],
)
def test_other_encodings_are_found(encoding: str, option: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(TABLE.encode(encoding))
    guess = infer_files([tmp_path / "a.csv"]).guess
    assert dict(guess.options)["encoding"] == option
    assert [column.name for column in guess.columns] == ["ts", "city", "n"]


def test_no_name_in_utf8_is_read_as_other_letters_because_a_file_beside_it_is_not(
    tmp_path: Path,
) -> None:
    for name, encoding in (("a.csv", "utf-8"), ("b.csv", "latin-1"), ("c.csv", "latin-1")):
        (tmp_path / name).write_bytes(TABLE.encode(encoding))
    guess = infer_files([tmp_path]).guess
    assert "encoding" not in dict(guess.options)
    (doubt,) = [one for one in guess.doubts if "encoding" in one]
    assert "2 windows-1252, 1 utf-8" in doubt
    assert "read as utf-8" in doubt


def test_files_without_any_letter_beyond_ascii_go_with_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(TABLE.encode("latin-1"))
    plain = TABLE.encode("ascii", "ignore")
    (tmp_path / "b.csv").write_bytes(plain)
    (tmp_path / "c.csv").write_bytes(plain)
    assert dict(infer_files([tmp_path]).guess.options)["encoding"] == "windows-1252"


def test_a_letter_that_is_cut_at_the_end_of_the_sample_makes_no_other_encoding() -> None:
    data = ("x" * (FILE_BYTES_MAX - 1) + "ü").encode()[:FILE_BYTES_MAX]
    assert sampling.find_encoding(data) == "utf-8"


def test_a_letter_at_the_end_of_a_whole_file_tells_its_encoding() -> None:
    for end in ("", "\n"):
        data = f"ts,city\n1,Orl\xe9{end}".encode("latin-1")
        assert sampling.find_encoding(data) == "windows-1252"
    assert sampling.find_encoding("ts,city\n1,Orl\xe9\n".encode()) == "utf-8"


def test_a_long_file_is_read_to_its_bound_and_ends_with_a_whole_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts,n\n" + f"{T},1234567890\n" * 50_000)
    sample = sampling.read_sample(find_files([tmp_path / "a.csv"])[0])
    assert sample.lines[-1] == f"{T},1234567890"


def test_empty_files_are_passed_over_and_counted(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"{number:02d}.csv").touch()
    (tmp_path / "99.csv").write_text(TABLE)
    found = infer_files([tmp_path])
    assert (found.looked_at, found.empty) == (1, 50)
    assert found.comments[0] == "-- Inferred from 1 of 51 files, of which 50 are empty."


def test_files_of_several_kinds_are_not_mixed_and_those_left_alone_are_named(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.csv").write_text(TABLE)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(TABLE.encode()))
    (tmp_path / "README.md").write_text("# read me\n")
    inferred = infer_files([tmp_path])
    assert "path = '*.csv*'" in inferred.statement
    assert "2 of 3 files end in .csv" in inferred.guess.doubts[0]
    assert "1 .md" in inferred.guess.doubts[0]


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"\0\1\2\3" * 100, "is no text"), (b"", "no whole line"), (b"hello\n", "no format fits")],
)
def test_what_no_source_can_be_written_for_is_refused_with_why(
    data: bytes, said: str, tmp_path: Path
) -> None:
    (tmp_path / "a.bin").write_bytes(data)
    with pytest.raises(ConfigurationError, match=said):
        infer_files([tmp_path / "a.bin"])
    with pytest.raises(ConfigurationError, match="no such file or folder"):
        infer_files([tmp_path / "none"])


def test_what_is_written_compiles_with_its_question(tmp_path: Path) -> None:
    rows = "".join(f"{T},{'Oslo' if n % 3 else 'Bern'},{n}\n" for n in range(60))
    (tmp_path / "a.csv").write_text("ts,city,n\n" + rows)
    inferred = infer_files([tmp_path])
    text = f"{inferred.statement};\n{inferred.question};"
    (query,) = queries_in(text, at="r")
    assert [key.name for key in query.program.keys] == ["city"]


@pytest.mark.spark
def test_spark_reads_the_sample_with_the_inferred_source(
    running_spark: RunningSpark, tmp_path: Path
) -> None:
    """The first records are those of the parser, and its malformed lines are counted."""
    (tmp_path / "a.csv").write_text(TABLE + f"{T},Bern,3\n{T},Bern,4,5\n{T},Rome,5\n")
    held = hold_against_parser(infer_files([tmp_path]), running_spark)
    assert (held.found.lines, held.found.malformed) == (5, 1)
    assert held.records == tuple(
        {"ts": "2026-05-01 12:00:00", "city": city, "n": n}
        for city, n in (("Oslo", "1"), ("Zürich", "2"), ("Bern", "3"))
    )
