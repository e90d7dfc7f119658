"""Rows of many sites: each gets its own, and Spark makes no file for each of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.algebra.rows.types import PANE_COLUMN
from headwater.spark.lines.lines import SITE
from headwater.spark.rows import collect, dealing
from headwater.spark.rows.collect import Collector
from headwater.spark.rows.row_files import RowFiles, place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema([("name", pa.string()), (PANE_COLUMN, pa.int64()), (SITE, pa.int32())])


def written(directory: Path, *files: list[tuple[str, int, int]]) -> RowFiles:
    """As Spark writes them, columns by their places."""
    paths = []
    for number, rows in enumerate(files):
        arrays = [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), SCHEMA, strict=True)]
        paths.append(directory / f"part-{number}")
        pq.write_table(pa.table(arrays, names=[place(at) for at in range(3)]), paths[-1])
    return RowFiles(tuple(paths), tuple(len(rows) for rows in files), SCHEMA, (0, 1, 2))


def rows_of(rows: pa.Table | RowFiles) -> list[tuple[str, int]]:
    tables = [rows] if isinstance(rows, pa.Table) else list(rows)
    found = [table.select(["name", PANE_COLUMN]).to_pylist() for table in tables]
    return [(row["name"], row[PANE_COLUMN]) for part in found for row in part]


@pytest.mark.parametrize("held_bytes_max", [0, 1 << 20])
def test_each_site_gets_its_rows_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held_bytes_max: int
) -> None:
    monkeypatch.setattr(dealing, "HELD_BYTES_MAX", held_bytes_max)
    files = written(
        tmp_path, [("a", 1, 0), ("b", 2, 0), ("c", 1, 2)], [("d", 1, 2), ("e", 3, 2), ("f", 1, 7)]
    )
    found = dealing.dealt(files, [0, 1, 2, 7], tmp_path / "dealt")
    assert {number: rows_of(rows) for number, rows in found.items()} == {
        0: [("a", 1), ("b", 2)],
        1: [],
        2: [("c", 1), ("d", 1), ("e", 3)],
        7: [("f", 1)],
    }
    assert all(isinstance(rows, pa.Table) == (held_bytes_max > 0) for rows in found.values())


@pytest.mark.spark
@pytest.mark.parametrize("sites", [dealing.FOLDERS_MAX, 10 * dealing.FOLDERS_MAX])
def test_many_sites_get_what_few_get_without_a_file_for_each(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sites: int
) -> None:
    """Hadoop starts a program for each file and folder that it makes."""
    monkeypatch.setattr(collect, "QUICK_BYTES_MAX", -1)
    frame = spark.range(1_000).selectExpr(
        "concat('n', id) AS name",
        f"id % 5 AS {PANE_COLUMN}",
        f"CAST(id % {sites} AS INT) AS {SITE}",
    )
    collector = Collector(tmp_path / "rows")
    found = collector.rows_by_site(frame, "q", range(sites), bytes_in=1 << 20)
    for number in range(sites):
        wanted = [(f"n{n}", n % 5) for n in range(number, 1_000, sites)]
        assert Counter(rows_of(found[number])) == Counter(wanted)
    files = list((tmp_path / "rows").rglob("part-*"))
    cores = spark.sparkContext.defaultParallelism
    assert len(files) <= cores * dealing.FOLDERS_MAX
