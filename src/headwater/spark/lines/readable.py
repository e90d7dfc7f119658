"""Whole files as Spark's text reader can read them: as they are, or written again as lines.

Lines that were cut from a growing file have been made readable when they were cut. A file that is
taken as it is may be compressed in a way that Spark does not know, begin with a byte order mark, or
have lines whose columns are named in its middle. Such a file is written again for the length of a
batch; all others cost one look at their first bytes.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from headwater.errors import SparkFailed
from headwater.plan.sources.compressed import BY_SPARK, expanded_suffix
from headwater.reading.arrays import ARRAY_BYTES_MAX, lines_of_array
from headwater.reading.chunk import Chunk
from headwater.reading.expand import Expanded, ReadAt, head_of
from headwater.reading.form import Form
from headwater.reading.headers import (
    HEADER_BYTES_MAX,
    fields_line_in,
    fields_symbol,
    header_of,
    line_at,
)
from headwater.reading.journal import Journal
from headwater.reading.record_starts import Joining
from headwater.reading.records import Separating
from headwater.reading.text import MARK_BYTES_MAX, Encoding, ToUtf8, encoding_of
from headwater.reading.whole import Damaged, Incomplete, look_whole

BLOCK_BYTES = 1 << 20


class Piece(msgspec.Struct, frozen=True):
    """Lines of a file that are below one header."""

    header: str = ""
    is_as_it_is: bool = True
    """All of the file, which Spark can read."""
    start: int = 0
    end: int | None = None
    """In what the file holds; None: to its end."""
    encoding: Encoding = Encoding()


class ChunkUnreadable(Exception):
    """A chunk that can't be made readable: damaged, or not what its source says."""

    def __init__(self, chunk: Chunk, reason: str) -> None:
        super().__init__(f"{chunk.path}: {reason}")
        self.chunk = chunk
        self.reason = reason


class Looked(msgspec.Struct, frozen=True):
    """Files as chunks, and those that are none."""

    files: tuple[Chunk, ...]
    unread: dict[Path, str]
    """By path: why it is not read, as a site says it."""


def whole_files(paths: Sequence[Path], form: Form) -> list[Chunk]:
    """Without those that are damaged or not whole, which sites name. Raises ``OSError`` for a file
    that can't be read."""
    return list(look_at(paths, form).files)


def look_at(paths: Sequence[Path], form: Form) -> Looked:
    """As ``whole_files``, with what is left out."""
    found, unread = [], {}
    for cut, path in enumerate(paths, start=1):
        header = ""
        if form.is_whole:
            try:
                with _raw(path) as read_at:
                    header = look_whole(read_at, path.stat().st_size, path.name, form)
            except (Incomplete, Damaged) as error:
                unread[path] = error.strerror or str(error)
                continue
        elif form.has_heads:
            with _raw(path) as read_at:
                header = header_of(head_of(read_at, path.name, HEADER_BYTES_MAX), form)
        found.append(Chunk(cut, path, path.stat().st_size, header, is_file=True))
    return Looked(tuple(found), unread)


def pieces_of(chunk: Chunk, form: Form) -> list[Piece]:
    """How a chunk becomes readable. What can't be looked at is left to Spark, which says why."""
    if form.columnar:
        return [Piece()]
    if not chunk.is_file:
        return [Piece(chunk.header, is_as_it_is=not form.separator)]
    path = Path(chunk.path)
    try:
        with _raw(path) as read_at:
            return _pieces(path, read_at, chunk.header, form)
    except OSError as error:
        if form == Form() and expanded_suffix(path.name) in ("", *BY_SPARK):
            return [Piece(chunk.header)]
        raise ChunkUnreadable(chunk, error.strerror or str(error)) from error


def _pieces(path: Path, read_at: ReadAt, header: str, form: Form) -> list[Piece]:
    suffix = expanded_suffix(path.name)
    encoding = encoding_of(head_of(read_at, path.name, MARK_BYTES_MAX), form)
    is_lines = encoding == Encoding() and not form.separator and not form.is_array
    is_as_it_is = is_lines and (not suffix or suffix in BY_SPARK)
    whole = Piece(header, is_as_it_is, encoding.mark_bytes, encoding=encoding)
    if not form.has_fields_lines:
        return [whole]
    found = _by_fields(_held(read_at, path.name), encoding)
    return found if len(found) > 1 else [whole]


def _by_fields(read_at: ReadAt, encoding: Encoding) -> list[Piece]:
    """The stretches of lines whose columns are named by one line. What stands before the first of
    them goes with it."""
    found: list[Piece] = []
    for at in _fields_lines(read_at, encoding):
        name = line_at(read_at(HEADER_BYTES_MAX, at), 0, encoding)
        if not found or found[-1].header != name:
            start = at if found else encoding.mark_bytes
            found.append(Piece(name, is_as_it_is=False, start=start, encoding=encoding))
    ends: list[int | None] = [*(one.start for one in found[1:]), None]
    return [msgspec.structs.replace(one, end=end) for one, end in zip(found, ends, strict=True)]


def _fields_lines(read_at: ReadAt, encoding: Encoding) -> list[int]:
    """Where the lines begin that name columns."""
    found = []
    offset, kept = encoding.mark_bytes, encoding.line_feed
    kept_bytes = len(encoding.line_feed + fields_symbol(encoding)) - 1
    while block := read_at(BLOCK_BYTES, offset):
        text = kept + block
        at = fields_line_in(text, 1, encoding)
        while at >= 0:
            found.append(offset - len(kept) + at)
            at = fields_line_in(text, at + 1, encoding)
        offset, kept = offset + len(block), text[-kept_bytes:]
    return found


def write_piece(chunk: Chunk, piece: Piece, form: Form, at: Path) -> None:
    """As what Spark's text reader takes. Raises ``ChunkUnreadable``, and ``SparkFailed`` where it
    can't be written: a disk of ours that is full is no fault of the chunk's."""
    blocks = _blocks(chunk, piece, form)
    try:
        with at.open("wb") as out:
            for block in blocks:
                out.write(block)
    except OSError as error:
        raise SparkFailed(
            f"a batch can't be written to {at.parent}: {error.strerror or error}; wanted "
            "as much room there as its input takes when it is expanded: free some"
        ) from error


def _blocks(chunk: Chunk, piece: Piece, form: Form) -> Iterator[bytes]:
    """Raises ``ChunkUnreadable`` for all that goes wrong."""
    path = Path(chunk.path)
    try:
        with _raw(path) as raw:
            texts = _texts(_held(raw, path.name), piece)
            yield from _records(texts, form, is_file=chunk.is_file)
    except (OSError, ValueError) as error:
        raise ChunkUnreadable(chunk, getattr(error, "strerror", None) or str(error)) from error


def _texts(read_at: ReadAt, piece: Piece) -> Iterator[bytes]:
    """In UTF-8, block after block."""
    decoder, offset = ToUtf8(piece.encoding), piece.start
    while piece.end is None or offset < piece.end:
        count = BLOCK_BYTES if piece.end is None else min(BLOCK_BYTES, piece.end - offset)
        block = read_at(count, offset)
        if not block:
            break
        yield decoder.next(block)
        offset += len(block)
    yield decoder.next(b"", is_last=True)


def _records(texts: Iterator[bytes], form: Form, *, is_file: bool) -> Iterator[bytes]:
    reading = _reading(form)
    if reading is not None:
        for text in texts:
            yield reading.next(text)
        yield reading.next(b"", is_last=True)
    elif form.is_array and is_file:
        yield lines_of_array(b"".join(_bounded(texts)))
    else:
        yield from texts


def _reading(form: Form) -> Separating | Joining | Journal | None:
    """Of records over several lines; None: each line is one."""
    if form.quoting is not None:
        return Separating(form.quoting)
    if form.record_start:
        return Joining(form.record_start)
    return Journal() if form.has_blank_lines else None


def _bounded(texts: Iterator[bytes]) -> Iterator[bytes]:
    total = 0
    for text in texts:
        total += len(text)
        if total > ARRAY_BYTES_MAX:
            raise ValueError(
                f"a JSON array of more than {ARRAY_BYTES_MAX >> 20} MiB; write one object a line"
            )
        yield text


def _held(read_at: ReadAt, name: str) -> ReadAt:
    suffix = expanded_suffix(name)
    return Expanded(read_at, suffix=suffix).read_at if suffix else read_at


@contextlib.contextmanager
def _raw(path: Path) -> Iterator[ReadAt]:
    with path.open("rb") as file:
        yield lambda count, offset: os.pread(file.fileno(), count, offset)
