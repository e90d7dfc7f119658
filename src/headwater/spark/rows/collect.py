"""Taking the rows of a batch: few of them through the driver, many as files.

How many come out is known only afterwards, so a batch is judged by those before it
(``batch_yield``). Should more come than Spark lets through its driver
(``spark.driver.maxResultSize``), it ends the job by itself, and the rows are written to files
after all: a wrong guess costs time, never the JVM.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from headwater.algebra.rows.types import PANE_COLUMN
from headwater.edge.batches.batch_yield import BatchYield
from headwater.spark.lines.lines import SITE
from headwater.spark.rows.dealing import FOLDERS_MAX, Rows, by_site, dealt
from headwater.spark.rows.handover import QUICK_BYTES_MAX
from headwater.spark.rows.row_files import RowFiles, arrow_schema, files_in, place, write_rows
from headwater.spark.spark_message import SPARK_ERRORS

GUESS_BYTES_MAX = 16 << 20
"""What a query that is new may be given, and its rows still go through the driver. Most give few,
and of those that give one for every line as many come as the driver holds beside a heap of 512 MB.
Files cost a job that keeps the lines, one that counts them and one that writes, which is half of
all work where the batch is the only one."""
TOO_LARGE = "spark.driver.maxResultSize"
"""What Spark's message names when it ends such a job."""


class Collector:
    """For the batches of one source, one at a time; its queries may come side by side."""

    def __init__(self, directory: Path, learned: BatchYield | None = None) -> None:
        """``directory`` is where files lie until the batch is committed; ``learned`` is told of all
        rows."""
        self._directory = directory
        self._learned = learned or BatchYield()
        self._numbers = itertools.count(1)

    def clear(self) -> None:
        """The batch is over, and with it all its files."""
        shutil.rmtree(self._directory, ignore_errors=True)

    def rows(self, frame: DataFrame, query_id: str, *, bytes_in: int) -> Rows:
        """Run it. Raises ``SPARK_ERRORS``."""
        if self.is_small(query_id, bytes_in=bytes_in):
            table = through_driver(frame)
            if table is not None:
                self.learn(query_id, table, bytes_in=bytes_in)
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
                self.learn(query_id, table, bytes_in=bytes_in)
                found, nothing = by_site(table), table.slice(0, 0)
                return {number: found.get(number, nothing) for number in numbers}
        if len(numbers) > FOLDERS_MAX:
            written = self._files(frame, query_id, bytes_in=bytes_in)[None]
            return dealt(written, numbers, self._directory / f"dealt-{next(self._numbers)}")
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
        """By site where there are several; else all under None, in the order of sites if they have
        any."""
        self._directory.mkdir(parents=True, exist_ok=True)
        folder = self._directory / str(next(self._numbers))
        is_by_site = None not in numbers
        schema = arrow_schema(frame)
        ordered = [SITE, PANE_COLUMN] if SITE in schema.names and not is_by_site else [PANE_COLUMN]
        write_rows(
            as_planned(frame),
            folder,
            in_order_of=[place(schema.get_field_index(name)) for name in ordered],
            partition_by=SITE if is_by_site else None,
        )
        if is_by_site:
            schema = schema.remove(schema.get_field_index(SITE))
        found = {
            n: files_in(folder / f"{SITE}={n}" if is_by_site else folder, schema) for n in numbers
        }
        rows_out = sum(files.num_rows for files in found.values())
        bytes_out = sum(files.bytes for files in found.values())
        self._learn(query_id, rows_out, bytes_out, bytes_in=bytes_in)
        return found

    def is_small(self, *query_ids: str, bytes_in: int, times: int = 1) -> bool:
        """Whether the rows of these queries together can go through the driver; ``times`` as many
        of those that are known, where the other way is several jobs."""
        expected = {one: self._learned.bytes_out(one, bytes_in=bytes_in) for one in query_ids}
        known = sum(count for one, count in expected.items() if self._learned.knows(one))
        return known <= times * QUICK_BYTES_MAX and sum(expected.values()) <= GUESS_BYTES_MAX

    def learn(self, query_id: str, table: pa.Table, *, bytes_in: int) -> None:
        """So much came through the driver."""
        self._learn(query_id, table.num_rows, table.nbytes, bytes_in=bytes_in)

    def _learn(self, query_id: str, rows_out: int, bytes_out: int, *, bytes_in: int) -> None:
        self._learned.gave(query_id, bytes_in=bytes_in, rows_out=rows_out, bytes_out=bytes_out)


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


def largest(rows: Rows, name: str) -> int | None:
    """Of a column of integers; None: there is none."""
    if isinstance(rows, pa.Table):
        return _int(pc.max(rows.column(name)))
    found = [_int(pc.max(rows.column(n, name))) for n in range(len(rows.paths))]
    return max((one for one in found if one is not None), default=None)


def _int(value: pa.Scalar) -> int | None:
    found: int | None = value.as_py()
    return found
