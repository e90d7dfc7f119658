"""Rows as files between Spark and Python: the same as through the driver, never all at once."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pane_finisher import PaneFinisher
from spark_kit import per_domain, stream

from headwater.agent.answers.merge_in_shares import merge_in_shares
from headwater.algebra.rows.fold_groups import GroupMaker
from headwater.algebra.rows.types import summary_schema
from headwater.errors import GroupFailed
from headwater.plan.query import Query
from headwater.spark.root import root_part
from headwater.spark.root.root_part import RootSpark
from headwater.spark.root.window_files import WindowFiles
from headwater.spark.root.window_rows import FILES_KEPT, KeptFiles, WindowRows
from headwater.spark.rows import row_files
from headwater.spark.rows.handover import HandoverPlace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def table(query: Query, *rows: tuple[Any, ...]) -> pa.Table:
    schema = summary_schema(query.program)
    arrays = [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def by_files(
    spark: SparkSession,
    place: Path,
    query: Query,
    panes: dict[int, list[pa.Table]],
    windows: dict[int, Iterable[int]],
) -> dict[int, WindowRows]:
    """Groups of a window are merged by shares, as an agent does it for a large answer."""
    folder, shares = place / "groups", place / "shares"
    folder.mkdir()
    shares.mkdir()
    maker = GroupMaker(query.program)
    with WindowFiles(query, folder) as files:
        for window, numbers in windows.items():
            parts = [table for pane in numbers for table in panes[pane]]
            for groups in merge_in_shares(maker, parts, shares):
                files.add(window, groups.merged)
    assert list(shares.iterdir()) == []
    return RootSpark(spark).finish_files(query, files, place / "rows")


def whole(rows: WindowRows) -> pa.Table:
    return pa.concat_tables(rows)


@pytest.mark.parametrize("one_task_rows", [0, root_part.ONE_TASK_FILE_ROWS])
def test_answers_by_files_are_those_by_the_driver(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_task_rows: int
) -> None:
    monkeypatch.setattr(root_part, "ONE_TASK_FILE_ROWS", one_task_rows)
    query = per_domain()
    parts = {
        pane: [
            table(query, *((f"d{n}", n, Decimal(n * pane)) for n in range(50))),
            table(query, *((f"d{n}", 1, Decimal(1)) for n in range(25, 75))),
        ]
        for pane in (3, 4, 9)
    }
    found = by_files(spark, tmp_path, query, parts, {pane: [pane] for pane in parts})
    windows = {pane: [(pane, one) for one in tables] for pane, tables in parts.items()}
    wanted = PaneFinisher(RootSpark(spark)).finish(query, windows).rows
    assert sorted(found) == sorted(wanted) == [3, 4, 9]
    for window, rows in found.items():
        assert rows.num_rows == 75
        assert whole(rows).schema.equals(wanted[window].schema)
        assert whole(rows).sort_by("domain").equals(wanted[window].sort_by("domain"))


def test_a_pane_in_a_file_counts_in_each_of_its_windows(
    spark: SparkSession, tmp_path: Path
) -> None:
    query = stream("SELECT count(*) AS n FROM hits GROUP BY window(ts, '30 seconds', '10 seconds')")
    panes = {pane: [table(query, (10**pane,))] for pane in range(3)}
    windows = {w: [p for p in query.window.panes_of(w) if p in panes] for w in range(-2, 3)}
    found = by_files(spark, tmp_path, query, panes, dict(windows))
    counts = {window: whole(rows)["n"].to_pylist() for window, rows in found.items()}
    assert counts == {-2: [1], -1: [11], 0: [111], 1: [110], 2: [100]}


def test_order_and_limit_hold_in_files_and_each_file_is_small(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_files, "FILE_ROWS_MAX", 7)
    query = stream(
        "SELECT domain, count(*) AS n FROM hits "
        "GROUP BY window(ts, '10 seconds'), domain ORDER BY n DESC LIMIT 40"
    )
    panes = {p: [table(query, *((f"d{n:02}", (n * 7) % 61) for n in range(60)))] for p in (1, 2)}
    found = by_files(spark, tmp_path, query, panes, {1: [1], 2: [2]})
    for rows in found.values():
        pieces = list(rows)
        assert max(piece.num_rows for piece in pieces) <= 7
        counts = whole(rows)["n"].to_pylist()
        assert len(counts) == 40
        assert counts == sorted(counts, reverse=True)


def test_a_value_that_fails_in_files_is_a_groups_error(spark: SparkSession, tmp_path: Path) -> None:
    query = stream(
        "SELECT domain, 1 / sum(bytes) AS x FROM hits GROUP BY window(ts, '10 seconds'), domain"
    )
    panes = {1: [table(query, ("a", Decimal(0)))]}
    with pytest.raises(GroupFailed, match="DIVIDE_BY_ZERO"):
        by_files(spark, tmp_path, query, panes, {1: [1]})


class Counting:
    """In place of files: how often each was read."""

    def __init__(self) -> None:
        self.reads: list[int] = []

    def table(self, number: int) -> pa.Table:
        self.reads.append(number)
        return pa.table({"x": [number]})


def test_windows_side_by_side_read_their_files_once() -> None:
    """Two tasks with five files each, in which the windows follow each other."""
    counting = Counting()
    kept = KeptFiles(counting)  # type: ignore[arg-type]
    for file in range(5):
        for _ in range(100):
            kept.table(file)
            kept.table(file + 5)
    assert sorted(counting.reads) == list(range(10))
    assert len(kept._tables) <= FILES_KEPT


def test_a_folder_is_gone_after_its_use_and_what_a_crash_left_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "handover" / "1").mkdir(parents=True)
    place = HandoverPlace(tmp_path / "handover")
    with place.folder() as one, place.folder() as other:
        assert one != other
        assert not list(one.iterdir())
        (one / "rows").write_bytes(b"x")
    assert not list((tmp_path / "handover").iterdir())
