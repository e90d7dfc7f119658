"""The data source ``headwater``: published answers as frames of anybody's Spark.

    from headwater.spark.results.results_source import register

    register(spark)
    spark.read.format("headwater").option("stream", "top_pages").load("/site/results")

``path`` is a site's results directory and has to be seen by the driver and the executors;
``stream`` names a stream in it. ``mode`` says what is read:

- ``newest`` (the default): the rows of the newest revision of each window. Only for batch reads,
  since a stream can't take back what it gave.
- ``snapshots``: the rows of every revision of every window, as published.
- ``changes``: what each revision takes back and adds. ``change`` is ``delete`` or ``insert``,
  ``publication`` is the number to order by, ``revises`` the revision that is changed (null: there
  was none), ``form`` whether its rows are a ``delta`` or a ``replacement`` of it. Rows are
  compared by the answer's own columns, as a bag; the columns about the window (revision, exact,
  covered and so on) say which revision made the change. Adding what is inserted and removing what
  is deleted yields ``newest`` at any point.
- ``headers``: the envelope of every revision, also of windows without rows.

Instead of ``stream``, ``ask`` has a SELECT about the past, with ``since``, or ``from`` and ``to``:
it is asked once, when the frame is planned, and its answer is read (``asked_stream``). The path is
the results of the agent that answers, which is the federation's home unless ``at`` says another.

As a stream the offset is the number of a publication; every publication is read once. There is no
limit to a batch, but for the number of its partitions: publications that were removed before the
stream began are then all in its first batch, and a gap in any later one is a loss. A loss ends the
stream unless ``failOnDataLoss`` is false.

Spark calls ``schema``, ``partitions`` and the offsets in a worker beside the driver and ``read`` in
any executor, as often as it likes; nothing is remembered in between. ``register`` sends the code
itself along, so that executors need pyarrow and nothing of Headwater.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from headwater.root.said import published_files
from headwater.spark.jvm.workers_python import objection_to
from headwater.spark.results import results_layout
from headwater.spark.results.asked_stream import asked_stream
from headwater.spark.results.results_layout import (
    ResultsUnreadable,
    StreamDirectory,
    change_fields,
    parts_of,
)

MODES = ("newest", "snapshots", "changes", "headers")
PARTITIONS_MAX = 256
ITEMS_MIN = 16
"""Publications or windows in a partition, before there are two: a task costs more than a file."""
BATCH_ROWS_MAX = 65_536
STREAMS_NAMED_MAX = 50
OFFSET = "publication"


def register(spark: SparkSession) -> None:
    """Make ``format("headwater")`` known to this session.

    Raises ``ResultsUnreadable`` where its workers could not run it.
    """
    _check_workers(spark)
    asked, own = sys.modules[asked_stream.__module__], sys.modules[__name__]
    modules = (published_files, results_layout, asked, own)
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        spark.dataSource.register(HeadwaterResults)
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


def _check_workers(spark: SparkSession) -> None:
    """A session of Spark Connect has its workers elsewhere, and tells nothing of them."""
    try:
        python = spark.sparkContext.pythonExec
    except PySparkException:
        return
    objection = objection_to(python)
    if objection is not None:
        raise ResultsUnreadable(objection)


class HeadwaterResults(DataSource):  # type: ignore[misc]
    """What ``load`` makes; see the top of the file for the options."""

    @classmethod
    def name(cls) -> str:
        return "headwater"

    _asked = ""
    """What the question is called that was asked for this frame; empty: none was yet."""

    def _request(self) -> Request:
        if "ask" in self.options and not self._asked:
            self._asked = asked_stream(self.options)
        return _request({**self.options, **({"stream": self._asked} if self._asked else {})})

    def schema(self) -> StructType:
        """Asked for only when the user gave none: then the stream has to be there."""
        request = self._request()
        return from_arrow_schema(_known_schema(request))

    def reader(self, schema: StructType) -> DataSourceReader:
        request = self._request()
        return ResultsReader(_reading(request, schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        if "ask" in self.options:
            raise ResultsUnreadable(
                "headwater: option 'ask' is for batch reads, and this is a stream: a question is "
                "asked once; name a 'stream' instead"
            )
        request = _request(self.options)
        if request.mode == "newest":
            raise ResultsUnreadable(
                "headwater: mode 'newest' is for batch reads, a stream can't take rows back; "
                "choose 'snapshots', 'changes' or 'headers'"
            )
        return ResultsStreamReader(_reading(request, schema))


class ResultsReader(DataSourceReader):  # type: ignore[misc]
    """A batch read: everything that is published when it is planned."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def partitions(self) -> list[InputPartition]:
        through = max(self._reading.directory().publications(), default=0)
        return self._reading.partitions(after=0, through=through)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._reading.batches(partition.value or ())


class ResultsStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """A stream of publications. (start, end] always yields the same rows."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._target: int | None = None

    def initialOffset(self) -> dict[str, int]:
        return {OFFSET: 0}

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = max(self._reading.directory().publications(), default=0)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """The newest publication; a number never appears below one that was seen."""
        newest = max(self._reading.directory().publications(), default=0)
        if newest < start[OFFSET] and self._reading.request.is_loss_fatal:
            raise ResultsUnreadable(
                f"{self._reading.request.directory}: read through publication {start[OFFSET]}, "
                f"but the newest there is {newest}; the directory was replaced, so start anew "
                f"without the checkpoint"
            )
        if self._target is not None:
            newest = min(newest, self._target)
        return {OFFSET: max(newest, start[OFFSET])}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return self._reading.partitions(after=start[OFFSET], through=end[OFFSET])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._reading.batches(partition.value or ())


@dataclass(frozen=True)
class Request:
    """The options, checked."""

    results: Path
    stream: str
    mode: str
    is_loss_fatal: bool

    @property
    def directory(self) -> Path:
        return self.results / self.stream


@dataclass(frozen=True)
class Reading:
    """How a request becomes partitions at the driver, and a partition rows at an executor."""

    request: Request
    schema: pa.Schema

    def directory(self) -> StreamDirectory:
        return StreamDirectory(self.request.directory)

    def partitions(self, *, after: int, through: int) -> list[InputPartition]:
        """Partitions of what was published in (after, through]."""
        directory = self.directory()
        self._check_no_loss(directory, after=after, through=through)
        is_loss_fatal = self.request.is_loss_fatal
        items: list[Any]
        if self.request.mode == "newest":
            items = directory.newest()
        elif self.request.mode == "changes":
            items = directory.changes(after=after, through=through, is_loss_fatal=is_loss_fatal)
        else:
            items = directory.publications(after=after, through=through)
        size = max(ITEMS_MIN, -(-len(items) // PARTITIONS_MAX))
        return [InputPartition(items[at : at + size]) for at in range(0, len(items), size)]

    def batches(self, items: Sequence[Any]) -> Iterator[pa.RecordBatch]:
        directory = self.directory()
        for item in items:
            for table in self._tables(directory, item):
                fitted = _fitted(table, self.schema, where=f"{directory.path}: {item}")
                yield from fitted.to_batches(max_chunksize=BATCH_ROWS_MAX)

    def _tables(self, directory: StreamDirectory, item: Any) -> Iterator[pa.Table]:
        if self.request.mode == "newest":
            yield from directory.answer_rows(item)
        elif self.request.mode == "changes":
            yield from directory.changed_rows(item)
        elif self.request.mode == "headers":
            yield directory.headers(item)
        elif (rows := directory.rows(item)) is not None:
            yield rows

    def _check_no_loss(self, directory: StreamDirectory, *, after: int, through: int) -> None:
        if not after or not self.request.is_loss_fatal:
            return
        lost = through - after - len(directory.publications(after=after, through=through))
        if lost:
            raise ResultsUnreadable(
                f"{directory.path}: {lost} of the publications {after + 1} to {through} were "
                f"removed before they were read; set failOnDataLoss to false to go on without them"
            )


def _request(options: Mapping[str, str]) -> Request:
    path, stream = options.get("path"), options.get("stream")
    if not path:
        raise ResultsUnreadable("headwater: option 'path' is missing: a site's results directory")
    results = Path(path.removeprefix("file://").removeprefix("file:")).absolute()
    if not stream or Path(stream).name != stream:
        raise ResultsUnreadable(
            f"headwater: option 'stream' has to name a stream, got {stream!r}; {_streams(results)}"
        )
    mode = options.get("mode", "newest").lower()
    if mode not in MODES:
        raise ResultsUnreadable(f"headwater: no mode {mode!r}; modes: {', '.join(MODES)}")
    fatal = options.get("failOnDataLoss", "true").lower()
    if fatal not in ("true", "false"):
        raise ResultsUnreadable(f"headwater: failOnDataLoss is true or false, got {fatal!r}")
    _check_not_in_parts(results, stream)
    return Request(results, stream, mode, is_loss_fatal=fatal == "true")


def _check_not_in_parts(results: Path, stream: str) -> None:
    """Also where the user gave the columns: it would read nothing, for ever."""
    parts = [] if (results / stream).is_dir() else parts_of(results, stream)
    if parts:
        raise ResultsUnreadable(
            f"headwater: stream {stream!r} is answered in parts, by several roots; in {results} "
            f"there is {', '.join(parts)}. Read each by its name, and the others from the results "
            f"of their roots"
        )


def _known_schema(request: Request) -> pa.Schema:
    schema = _found_schema(request)
    if schema is not None:
        return schema
    if not request.directory.is_dir():
        why = f"there is no stream {request.stream!r} in {request.results}"
    else:
        what = "a publication" if request.mode == "headers" else "a publication with rows"
        why = f"stream {request.stream!r} in {request.results} awaits {what}"
    raise ResultsUnreadable(
        f"headwater: {why}, so its columns are unknown; {_streams(request.results)}. To read it "
        f"before it is there, give the columns with .schema(...)"
    )


def _found_schema(request: Request) -> pa.Schema | None:
    """The columns as newly published, all nullable: earlier publications may lack some."""
    kind = "headers" if request.mode == "headers" else "rows"
    found = StreamDirectory(request.directory).schema(kind)
    if found is None:
        return None
    extra = change_fields(found) if request.mode == "changes" else ()
    return pa.schema([pa.field(field.name, field.type) for field in (*found, *extra)])


def _reading(request: Request, schema: StructType) -> Reading:
    """A user's schema may choose among the columns, but not name others."""
    found = _found_schema(request)
    unknown = [name for name in schema.names if found is not None and name not in found.names]
    if found is not None and unknown:
        raise ResultsUnreadable(
            f"headwater: stream {request.stream!r} has no columns {unknown} in mode "
            f"{request.mode!r}; it has {found.names}"
        )
    return Reading(request, to_arrow_schema(schema, timezone="UTC"))


def _fitted(table: pa.Table, schema: pa.Schema, *, where: str) -> pa.Table:
    """The wanted columns in the wanted types; null where this publication has no such column."""
    columns = []
    for field in schema:
        if field.name not in table.schema.names:
            columns.append(pa.nulls(table.num_rows, field.type))
            continue
        column = table[field.name]
        try:
            columns.append(column.cast(field.type))
        except pa.ArrowException as error:
            raise ResultsUnreadable(
                f"{where}: column {field.name!r} is {column.type}, wanted {field.type}: {error}"
            ) from error
    return pa.Table.from_arrays(columns, schema=schema).combine_chunks()


def _streams(results: Path) -> str:
    if not results.is_dir():
        return f"there is no directory {results}"
    names = sorted(entry.name for entry in results.iterdir() if entry.is_dir())
    named = ", ".join(names[:STREAMS_NAMED_MAX]) + (" ..." if names[STREAMS_NAMED_MAX:] else "")
    return f"streams there: {named}" if names else "no streams are there yet"
