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

from headwater.plan.compressed import BY_SPARK, expanded_suffix
from headwater.reading.expand import Expanded, ReadAt, head_of
from headwater.reading.form import Form
from headwater.reading.headers import (
    FIELDS_LINE,
    HEADER_BYTES_MAX,
    UTF8_MARK,
    fields_line_in,
    header_of,
    line_at,
)

BLOCK_BYTES = 1 << 20


class Piece(msgspec.Struct, frozen=True):
    """Lines of a file that are below one header."""

    header: str = ""
    is_as_it_is: bool = True
    """All of the file, which Spark can read."""
    start: int = 0
    end: int | None = None
    """In what the file holds; None: to its end."""


class WholeFile(msgspec.Struct, frozen=True):
    """A file as a chunk, for whoever reads without a cube."""

    cut: int
    path: Path
    bytes: int
    header: str = ""
    is_file: bool = True


def whole_files(paths: Sequence[Path], form: Form) -> list[WholeFile]:
    """Raises ``OSError`` for a file that can't be read."""
    found = []
    for cut, path in enumerate(paths, start=1):
        header = ""
        if form.has_heads:
            with _raw(path) as read_at:
                header = header_of(head_of(read_at, path.name, HEADER_BYTES_MAX), form)
        found.append(WholeFile(cut, path, path.stat().st_size, header))
    return found


def pieces_of(path: Path, header: str, form: Form, is_file: bool) -> list[Piece]:
    """How a chunk becomes readable. What can't be looked at is left to Spark, which says why."""
    if not is_file:
        return [Piece(header)]
    try:
        with _raw(path) as read_at:
            return _pieces(path, read_at, header, form)
    except OSError:
        return [Piece(header)]


def _pieces(path: Path, read_at: ReadAt, header: str, form: Form) -> list[Piece]:
    suffix = expanded_suffix(path.name)
    start = len(UTF8_MARK) if head_of(read_at, path.name, len(UTF8_MARK)) == UTF8_MARK else 0
    is_as_it_is = start == 0 and (not suffix or suffix in BY_SPARK)
    if not form.has_fields_lines:
        return [Piece(header, is_as_it_is, start)]
    found = _by_fields(_held(read_at, path.name), start)
    return found if len(found) > 1 else [Piece(header, is_as_it_is, start)]


def _by_fields(read_at: ReadAt, start: int) -> list[Piece]:
    """The stretches of lines whose columns are named by one line. What stands before the first of
    them goes with it."""
    found: list[Piece] = []
    for at in _fields_lines(read_at, start):
        name = line_at(read_at(HEADER_BYTES_MAX, at), 0)
        if not found or found[-1].header != name:
            found.append(Piece(name, is_as_it_is=False, start=at if found else start))
    ends: list[int | None] = [*(one.start for one in found[1:]), None]
    return [msgspec.structs.replace(one, end=end) for one, end in zip(found, ends, strict=True)]


def _fields_lines(read_at: ReadAt, start: int) -> list[int]:
    """Where the lines begin that name columns."""
    found = []
    offset, kept = start, b"\n"
    while block := read_at(BLOCK_BYTES, offset):
        text = kept + block
        at = fields_line_in(text, 1)
        while at >= 0:
            found.append(offset - len(kept) + at)
            at = fields_line_in(text, at + 1)
        offset, kept = offset + len(block), text[-len(FIELDS_LINE) :]
    return found


def write_piece(path: Path, piece: Piece, at: Path) -> None:
    """Raises ``OSError``."""
    with _raw(path) as raw, at.open("wb") as out:
        read_at, offset = _held(raw, path.name), piece.start
        while piece.end is None or offset < piece.end:
            count = BLOCK_BYTES if piece.end is None else min(BLOCK_BYTES, piece.end - offset)
            block = read_at(count, offset)
            if not block:
                break
            out.write(block)
            offset += len(block)


def _held(read_at: ReadAt, name: str) -> ReadAt:
    suffix = expanded_suffix(name)
    return Expanded(read_at, suffix=suffix).read_at if suffix else read_at


@contextlib.contextmanager
def _raw(path: Path) -> Iterator[ReadAt]:
    with path.open("rb") as file:
        yield lambda count, offset: os.pread(file.fileno(), count, offset)
