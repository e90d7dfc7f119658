"""The chunks of a batch as one frame of lines, with the site and the header in columns.

Spark derives columns from directory names (``__site=3/__head=0/…``) at no cost for each line, and
treats ``*`` and ``[`` in a path as wildcards. So a batch gets a directory of links with plain
names; it is gone when the batch is done. A site stands there by its number in the batch, and so
does the header that lines are below, where the source's files have any. Files of a site have names
in the order of its cuts (``record_order``). What Spark can't read as
it is, is written there as lines (``readable``).

Executors of a cluster see the shared directory and nothing else, so there the chunks themselves are
put into it: as further names of the same files where both are on one file system, else as copies.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from pyspark.sql import DataFrame, SparkSession

from headwater.plan.sources.compressed import expanded_suffix
from headwater.reading.chunk import Chunk
from headwater.reading.form import Form
from headwater.spark.lines.fields import HEAD
from headwater.spark.lines.parse import Parser
from headwater.spark.lines.readable import Piece, pieces_of, write_piece
from headwater.spark.lines.record_order import with_order

SITE = "__site"
ONE_TASK_BYTES = 8 << 20
"""Up to here a batch is one task: a third of a second at most, once Java has compiled."""
LARGE_BYTES = ONE_TASK_BYTES + 1
"""For whoever has not summed how much there is: enough for more than one task."""
LOOK_BYTES = 1 << 20
LINES_SUFFIX = ".txt"
READERS = {"parquet": "parquet", "orc": "orc", "avro": "org.apache.spark.sql.avro.AvroFileFormat"}
"""Spark's own. Avro's short name asks for a jar that PySpark does not have; its class is there."""


class LinkedFile(msgspec.Struct, frozen=True):
    """A chunk, or a piece of one, as Spark reads it."""

    path: Path
    site: int
    head: int = 0
    is_plain: bool = True
    """Its bytes are lines; else it is compressed, or has columns of its own."""


class Linked(msgspec.Struct, frozen=True):
    """The chunks of a batch where Spark finds them."""

    directory: Path
    headers: tuple[str, ...] = ()
    """By the number in the column ``HEAD``; none: there is no such column."""
    separator: str = ""
    """Between records; empty: they are lines."""
    columnar: str = ""
    """See ``Form``."""
    files: tuple[LinkedFile, ...] = ()


@contextlib.contextmanager
def linked(
    directory: Path,
    chunks: Sequence[Sequence[Chunk]],
    *,
    form: Form | None = None,
    is_shared: bool = False,
) -> Iterator[Linked]:
    """A directory with links to the chunks of each site, below ``directory``.

    One that is shared has another name each time: machines remember what was under a name.
    """
    place = directory / secrets.token_hex(8) if is_shared else directory
    shutil.rmtree(place, ignore_errors=True)
    try:
        batch = _Batch(place, form or Form(), is_shared=is_shared)
        for number, of_site in enumerate(chunks):
            batch.put_site(number, of_site)
        form_ = batch.form
        yield Linked(
            place, tuple(batch.headers), form_.separator, form_.columnar, tuple(batch.files)
        )
    finally:
        shutil.rmtree(place, ignore_errors=True)


class _Batch:
    """The directory while it is made."""

    def __init__(self, place: Path, form: Form, *, is_shared: bool) -> None:
        self.headers: dict[str, int] = {}
        self.files: list[LinkedFile] = []
        self._place = place
        self.form = form
        self._is_shared = is_shared

    def put_site(self, number: int, chunks: Sequence[Chunk]) -> None:
        site = self._place / f"{SITE}={number}"
        site.mkdir(parents=True)
        for chunk in chunks:
            for part, piece in enumerate(pieces_of(chunk, self.form)):
                folder = self._folder(site, piece.header)
                at = self._put(chunk, piece, folder, f"{chunk.cut:020}-{part:06}")
                head = self.headers.get(piece.header, 0)
                self.files.append(LinkedFile(at, number, head, at.suffix == LINES_SUFFIX))

    def _folder(self, site: Path, header: str) -> Path:
        if not self.form.has_heads:
            return site
        folder = site / f"{HEAD}={self.headers.setdefault(header, len(self.headers))}"
        folder.mkdir(exist_ok=True)
        return folder

    def _put(self, chunk: Chunk, piece: Piece, folder: Path, name: str) -> Path:
        at = folder / f"{name}{LINES_SUFFIX}"
        if not piece.is_as_it_is:
            write_piece(chunk, piece, self.form, at)
            return at
        path = Path(chunk.path).absolute()
        suffix = f".{self.form.columnar}" if self.form.columnar else expanded_suffix(path.name)
        at = folder / f"{name}{suffix or LINES_SUFFIX}"
        if self._is_shared:
            _put_there(path, at)
        else:
            at.symlink_to(path)
        return at


def _put_there(path: Path, at: Path) -> None:
    try:
        os.link(path, at)
    except OSError:  # another file system, or one without such links
        shutil.copyfile(path, at)


def read_lines(
    session: SparkSession, found: Linked, *, byte_count: int, is_ordered: bool = False
) -> DataFrame:
    """Columns ``value``, ``__site``, and ``__head`` where there are headers; of columnar files
    their own columns and ``__site``. ``is_ordered``: also those of ``record_order``.

    Few lines are read by one task, and then grouped and ordered by the same task: without a
    shuffle a job takes half as long.
    """
    if found.columnar:
        lines = session.read.format(READERS[found.columnar]).load(str(found.directory))
    else:
        lines = session.read.text(str(found.directory), lineSep=found.separator or None)
    if is_ordered:
        lines = with_order(lines, has_lines=not found.columnar)
    return lines.coalesce(1) if byte_count <= ONE_TASK_BYTES else lines


def with_types(parser: Parser, found: Linked, lines: DataFrame) -> Parser:
    """A parser for files that have columns of their own knows those."""
    if not found.columnar:
        return parser
    types = tuple((one.name, one.dataType.simpleString()) for one in lines.schema.fields)
    return msgspec.structs.replace(parser, types=types)


def has_text(chunks: Iterable[Chunk], text: str) -> bool:
    """Whether a chunk contains this text, or may contain it because it is compressed.

    A look through memory at gigabytes a second, and a hit ends it.
    """
    wanted = text.encode()
    return any(_has_bytes(Path(chunk.path), wanted) for chunk in chunks)


def is_ascii(chunks: Iterable[Chunk]) -> bool:
    """Whether no chunk has a byte beyond ASCII, or may have one because it is compressed."""
    return all(_is_ascii(Path(chunk.path)) for chunk in chunks)


def _is_ascii(path: Path) -> bool:
    if expanded_suffix(path.name):
        return False
    with path.open("rb") as file:
        return all(block.isascii() for block in iter(lambda: file.read(LOOK_BYTES), b""))


def _has_bytes(path: Path, wanted: bytes) -> bool:
    if expanded_suffix(path.name):
        return True
    with path.open("rb") as file:
        if not file.seek(0, 2):
            return False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return data.find(wanted) >= 0
