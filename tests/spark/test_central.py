"""Which files the one Spark over all files reads: those that a site would."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from headwater.frontend.compile import compile_statements
from headwater.plan.query import Query
from headwater.spark.central import files_of, left_alone

READ = ("a.csv", "b.csv.gz", "c.csv.bz2", "d.csv.zst", "e.csv.deflate")
LEFT_ALONE = ("f.csv.zip", "g.csv.xz", "h.csv.lz4", "i.csv.snappy", "j.csv.Z", "k.csv.7z")


def query_of(path: str) -> Query:
    (query,) = compile_statements(
        "CREATE SOURCE s (ts TIMESTAMP) WITH (format = 'csv', path = 'x', time = 'ts');"
        "CREATE STREAM n AS SELECT count(*) AS n FROM s GROUP BY window(ts, '1 minute');",
        root="r", installer="r", next_counter=1,
    )  # fmt: skip
    return msgspec.structs.replace(query, source=msgspec.structs.replace(query.source, path=path))


@pytest.mark.parametrize("is_absolute", [False, True])
def test_compressed_files_that_nobody_can_expand_are_left_alone_and_named(
    tmp_path: Path, is_absolute: bool
) -> None:
    """As text they are garbage, and some make Spark reserve memory until its JVM ends."""
    for name in READ + LEFT_ALONE:
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "l.csv").mkdir()
    query = query_of(f"{tmp_path}/*.csv*" if is_absolute else "*.csv*")
    folder = Path("nowhere") if is_absolute else tmp_path
    assert [path.name for path in files_of(query, folder)] == list(READ)
    assert [path.name for path in left_alone(query, folder)] == list(LEFT_ALONE)


def test_what_lies_deeper_is_found_by_its_pattern(tmp_path: Path) -> None:
    (tmp_path / "logs" / "may").mkdir(parents=True)
    for name in ("logs/may/a.csv", "logs/may/a.csv.zip", "logs/b.csv"):
        (tmp_path / name).write_bytes(b"x")
    assert files_of(query_of("logs/*/*.csv*"), tmp_path) == [tmp_path / "logs/may/a.csv"]
