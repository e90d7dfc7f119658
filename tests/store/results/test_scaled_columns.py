"""Beside a count or a sum of a sample, its rows have what all records are estimated to have."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
from store_kit import envelope_of, query_of

from headwater.root.said.published_files import SHORT_FORM
from headwater.root.said.reached import Reached
from headwater.spark.results.results_layout import StreamDirectory
from headwater.store.results.publication import Published
from headwater.store.results.results import ResultsReader, ResultsWriter

ROWS = pa.table(
    {
        "page": ["/a", "/b"],
        "n": pa.array([3, None], pa.int64()),
        "spent": pa.array([Decimal("1.50"), Decimal("2.00")], pa.decimal128(10, 2)),
        "mean": [0.5, 1.0],
    }
)
OWN = ["page", "n", "n_scaled", "spent", "spent_scaled", "mean"]


def published(
    directory: Path, *scales: float, rows: pa.Table = ROWS, scaled: tuple[str, ...] = ("n", "spent")
) -> ResultsReader:
    writer = ResultsWriter(directory)
    for number, scale in enumerate(scales, start=1):
        reached = Reached(scale=scale, scaled=scaled)
        envelope = envelope_of(query_of(), 5, revision=number, fidelity=reached)
        writer.publish([Published(envelope, rows)])
    return ResultsReader(directory)


def test_a_count_and_a_sum_stand_scaled_beside_themselves(tmp_path: Path) -> None:
    reader = published(tmp_path, 2.5)
    (envelope,) = reader.envelopes(1)
    rows = reader.answer(1, envelope)
    assert rows is not None
    assert rows.schema.names == OWN
    assert rows.column("n").to_pylist() == [3, None]
    assert rows.column("n_scaled").to_pylist() == [7.5, None]
    assert rows.column("spent_scaled").to_pylist() == [3.75, 5.0]


def test_where_a_former_revision_has_other_columns_the_answer_is_replaced(tmp_path: Path) -> None:
    writer = ResultsWriter(tmp_path)
    for revision, scaled in ((1, ()), (2, ("n",))):
        reached = Reached(scale=2.0, scaled=scaled)
        envelope = envelope_of(query_of(), 5, revision=revision, fidelity=reached)
        writer.publish([Published(envelope, ROWS)])
    directory = StreamDirectory(tmp_path)
    (change,) = directory.changes(after=1, through=2, is_loss_fatal=True)
    gone, come = directory.changed_rows(change)
    assert {*gone.column("form").to_pylist(), *come.column("form").to_pylist()} == {"replacement"}
    assert (gone.num_rows, come.num_rows) == (2, 2)


def test_where_nothing_is_in_wholly_nothing_is_estimated_and_columns_stay(tmp_path: Path) -> None:
    reader = published(tmp_path, 0.0)
    rows = reader.answer(1, reader.envelopes(1)[0])
    assert rows is not None
    assert rows.schema.names == OWN
    assert rows.column("n_scaled").to_pylist() == [None, None]


def test_a_stream_that_is_no_sample_has_its_own_columns_alone(tmp_path: Path) -> None:
    reader = published(tmp_path, 2.0, scaled=())
    rows = reader.answer(1, reader.envelopes(1)[0])
    assert rows is not None
    assert rows.schema.names == ROWS.schema.names


def test_no_column_of_the_answer_is_hidden_by_a_scaled_one(tmp_path: Path) -> None:
    """Spark takes two names for one if they differ in case alone."""
    rows = pa.table({"n": [1], "N_scaled": [7], "_n_scaled": [8]})
    reader = published(tmp_path, 2.0, rows=rows, scaled=("n",))
    found = reader.answer(1, reader.envelopes(1)[0])
    assert found is not None
    assert found.to_pylist() == [{"n": 1, "__n_scaled": 2.0, "N_scaled": 7, "_n_scaled": 8}]


def test_readers_of_files_have_them_and_a_change_of_the_scale_is_one(tmp_path: Path) -> None:
    published(tmp_path, 4.0, 2.0)
    directory = StreamDirectory(tmp_path)
    schema = directory.schema("rows")
    assert schema is not None
    assert schema.names == [*SHORT_FORM, *OWN]
    changes = directory.changes(after=1, through=2, is_loss_fatal=True)
    tables = [table for change in changes for table in directory.changed_rows(change)]
    rows = [row for table in tables for row in table.to_pylist()]
    assert {row["form"] for row in rows} == {"delta"}
    assert sorted(row["n_scaled"] for row in rows if row["n"] == 3) == [6.0, 12.0]
