"""Taking the rows of a batch: few of them through the driver, many as files.

How many come out is known only afterwards. So each query's ratio of rows out to bytes in is
remembered, and the next batch is judged by it; of a query that is new, as many bytes are expected
to come out as went in. Should more come than Spark lets through its driver
(``spark.driver.maxResultSize``), it ends the job by itself, and the rows are written to files
after all: a wrong guess costs time, never the JVM.
"""

from __future__ import annotations

import itertools
import shutil
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from headwater.algebra.types import PANE_COLUMN
from headwater.spark.handover import QUICK_BYTES_MAX
from headwater.spark.lines import SITE
from headwater.spark.row_files import RowFiles, arrow_schema, files_in, place, write_rows
from headwater.spark.spark_message import SPARK_ERRORS

TOO_LARGE = "spark.driver.maxResultSize"
"""What Spark's message names when it ends such a job."""
RATIOS_MAX = 1_000
"""Queries of which a ratio is remembered."""

Rows: TypeAlias = "pa.Table | RowFiles"


class Collector:
    """For the batches of one source, one at a time; its queries may come side by side."""

    def __init__(self, directory: Path) -> None:
        """``directory`` is where files lie until the batch is committed."""
        self._directory = directory
        self._numbers = itertools.count(1)
        self._ratios: OrderedDict[str, float] = OrderedDict()

    def clear(self) -> None:
        """The batch is over, and with it all its files."""
        shutil.rmtree(self._directory, ignore_errors=True)

    def rows(self, frame: DataFrame, query_id: str, *, bytes_in: int) -> Rows:
        """Run it. Raises ``SPARK_ERRORS``."""
        if self.is_small(query_id, bytes_in=bytes_in):
            table = through_driver(frame)
            if table is not None:
                self.learn(query_id, bytes_in=bytes_in, bytes_out=table.nbytes)
                return table
        files = self._files(frame, query_id, bytes_in=bytes_in)
        return files[None]

    def rows_by_site(
        self, frame: DataFrame, query_id: str, numbers: Sequence[int], *, bytes_in: int
    ) -> dict[int, Rows]:
        """The same of a frame whose last column is the number of the site."""
        if self.is_small(query_id, bytes_in=bytes_in):
            table = through_driver(frame)
            if table is not None:
                self.learn(query_id, bytes_in=bytes_in, bytes_out=table.nbytes)
                found, nothing = by_site(table), table.slice(0, 0)
                return {number: found.get(number, nothing) for number in numbers}
        files = self._files(frame, query_id, bytes_in=bytes_in, numbers=numbers)
        return {number: files[number] for number in numbers}

    def _files(
        self,
        frame: DataFrame,
        query_id: str,
        *,
        bytes_in: int,
        numbers: Sequence[int | None] = (None,),
    ) -> dict[int | None, RowFiles]:
        """By site where there are several; else under None."""
        self._directory.mkdir(parents=True, exist_ok=True)
        folder = self._directory / str(next(self._numbers))
        is_by_site = None not in numbers
        schema = arrow_schema(frame)
        write_rows(
            as_planned(frame),
            folder,
            in_order_of=place(schema.get_field_index(PANE_COLUMN)),
            partition_by=SITE if is_by_site else None,
        )
        if is_by_site:
            schema = schema.remove(schema.get_field_index(SITE))
        found = {
            n: files_in(folder / f"{SITE}={n}" if is_by_site else folder, schema) for n in numbers
        }
        bytes_out = sum(bytes_of(files) for files in found.values())
        self.learn(query_id, bytes_in=bytes_in, bytes_out=bytes_out)
        return found

    def is_small(self, query_id: str, *, bytes_in: int) -> bool:
        return bytes_in * self._ratios.get(query_id, 1.0) <= QUICK_BYTES_MAX

    def learn(self, query_id: str, *, bytes_in: int, bytes_out: int) -> None:
        self._ratios.pop(query_id, None)
        self._ratios[query_id] = bytes_out / max(1, bytes_in)
        while len(self._ratios) > RATIOS_MAX:
            self._ratios.popitem(last=False)


def through_driver(frame: DataFrame) -> pa.Table | None:
    """None: it is more than Spark lets pass."""
    try:
        return frame.toArrow()
    except SPARK_ERRORS as error:
        if TOO_LARGE not in str(error):
            raise
        return None


def whole_table(frame: DataFrame) -> pa.Table:
    """All rows in Python's memory, for whoever wants them there; never in the driver's."""
    table = through_driver(frame)
    if table is not None:
        return table
    with TemporaryDirectory(prefix="headwater-rows-") as directory:
        write_rows(frame, Path(directory) / "rows")
        return pa.concat_tables(files_in(Path(directory) / "rows", arrow_schema(frame)))


def as_planned(frame: DataFrame) -> DataFrame:
    """The frame's own physical plan as a frame to be written: writing would plan it anew, and what
    Spark counts would be found nowhere (``scan_counts``)."""
    session = frame.sparkSession
    rows = frame._jdf.queryExecution().toRdd()
    made = session._jsparkSession.internalCreateDataFrame(rows, frame._jdf.schema(), False)
    return DataFrame(made, session)


def bytes_of(files: RowFiles) -> int:
    """About what the rows would take in memory, by those of the first file."""
    if not files.paths:
        return 0
    return int(files.table(0).nbytes * files.num_rows // files.counts[0])


def largest(rows: Rows, name: str) -> int | None:
    """Of a column of integers; None: there is none."""
    if isinstance(rows, pa.Table):
        return _int(pc.max(rows.column(name)))
    found = [_int(pc.max(rows.column(n, name))) for n in range(len(rows.paths))]
    return max((one for one in found if one is not None), default=None)


def _int(value: pa.Scalar) -> int | None:
    found: int | None = value.as_py()
    return found


def by_site(table: pa.Table) -> dict[int, pa.Table]:
    """The rows of each site that has any, in one pass over all of them: a filter for each site
    would read all rows as often as there are sites."""
    ordered = table.take(pc.sort_indices(table.column(SITE)))
    counts = pc.value_counts(ordered.column(SITE))
    found, first = {}, 0
    for entry in counts.to_pylist():
        found[entry["values"]] = ordered.slice(first, entry["counts"])
        first += entry["counts"]
    return found
