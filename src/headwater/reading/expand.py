"""Compressed files, read as what they hold: any stretch of it, in bounded memory.

A file may be several compressed ones after the other (``cat a.gz b.gz``, parallel compressors), and
zeros may follow the last. One that ends before its own end is still being written, or damaged:
``Incomplete``. What is read next is as a rule what follows; the beginning and the last stretch are
kept, since they are what files are compared by, and to go back costs reading from the beginning.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from typing import Protocol

import pyarrow as pa

from headwater.plan.sources.compressed import expanded_suffix

READ_BYTES = 256 << 10
EMPTY_BYTES_MAX = 1 << 10
"""Of a compressed file that holds nothing: its own name may be in it, and little else."""
KEPT_BYTES = 64 << 10
"""Of the beginning, and of what was read last."""
XZ_MEMORY_MAX = 256 << 20
"""What one xz file may take; ``xz -9`` wants 65 MiB."""

CUT_OFF = "compressed, and ends before its end: it is still being written, or was cut off"

ReadAt = Callable[[int, int], bytes]
"""(count, offset) to bytes; fewer than asked for at the end of the file."""


class Incomplete(OSError):
    """A compressed file that does not come to its own end."""


class Damaged(OSError):
    """Not what its name says, or broken in the middle."""


class _Stream(Protocol):
    def read(self, count: int, /) -> bytes: ...


class Expanded:
    """What a compressed file holds, by offsets in that."""

    def __init__(self, read_at: ReadAt, *, suffix: str, name: str = "") -> None:
        """``read_at`` reads the file as it is; ``suffix`` is one of ``plan.compressed.EXPANDED``.
        ``name`` is for people."""
        self._raw = read_at
        self._suffix = suffix
        self._name = name
        self._head = b""
        self._begin()

    def _begin(self) -> None:
        self._stream = _opened(self._raw, self._suffix)
        self._position = 0
        self._is_broken = False
        """Reading failed in the middle of something, so that nobody knows where it stands."""
        self._recent = b""
        """The last bytes before the position."""

    def read_at(self, count: int, offset: int) -> bytes:
        """Raises ``Incomplete`` and ``Damaged``, and what reading the file raises."""
        if offset + count <= len(self._head):
            return self._head[offset : offset + count]
        if self._is_broken or offset < self._position - len(self._recent):
            self._begin()
        back = self._position - offset
        if back < 0:
            self._skip_to(offset)
            back = self._position - offset
        found = self._recent[len(self._recent) - back :][:count] if back > 0 else b""
        pieces = [found]
        missing = count - len(found) if back >= 0 else 0
        while missing > 0 and (piece := self._next(min(missing, READ_BYTES))):
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)

    def size(self, *, bytes_max: int) -> int | None:
        """How much it holds, found by reading it to its end; None: more than ``bytes_max``."""
        while self._position <= bytes_max:
            if not self._next(READ_BYTES):
                return self._position
        return None

    def _skip_to(self, offset: int) -> None:
        while self._position < offset:
            if not self._next(min(READ_BYTES, offset - self._position)):
                return

    def _next(self, count: int) -> bytes:
        try:
            piece = self._stream.read(count)
        except (EOFError, zlib.error, lzma.LZMAError, OSError, pa.ArrowException) as error:
            self._is_broken = True
            if isinstance(error, OSError) and error.errno:
                raise
            raise self._fault(error) from error
        if self._position == len(self._head) < KEPT_BYTES:
            self._head += piece[: KEPT_BYTES - len(self._head)]
        self._position += len(piece)
        self._recent = (self._recent + piece)[-KEPT_BYTES:] if len(piece) < KEPT_BYTES else piece
        return piece

    def _fault(self, error: Exception) -> OSError:
        """pyarrow has no class for what is cut off, and bz2 none for what is damaged."""
        text = str(error)
        if isinstance(error, EOFError) or "runcated" in text:
            return Incomplete(0, self._told(CUT_OFF))
        return Damaged(0, self._told(f"can't be expanded as {self._suffix}: {text}"))

    def _told(self, what: str) -> str:
        return f"{self._name} {what}" if self._name else what


def head_of(read_at: ReadAt, name: str, count: int) -> bytes:
    """The first bytes of what a file holds, whether or not it is compressed."""
    suffix = expanded_suffix(name)
    return Expanded(read_at, suffix=suffix).read_at(count, 0) if suffix else read_at(count, 0)


def is_empty(read_at: ReadAt, name: str, size: int) -> bool:
    """Whether a file holds no byte. One that can't be expanded is not said to: whoever reads it
    finds out. Raises what reading it raises."""
    if not size or not expanded_suffix(name) or size > EMPTY_BYTES_MAX:
        return not size
    try:
        return not head_of(read_at, name, 1)
    except (Incomplete, Damaged):
        return False


def _opened(read_at: ReadAt, suffix: str) -> _Stream:
    raw = io.BufferedReader(_Raw(read_at), READ_BYTES)
    if suffix == ".gz":
        return gzip.GzipFile(fileobj=raw)
    if suffix == ".bz2":
        return bz2.BZ2File(raw)
    if suffix == ".xz":
        return _Members(raw)
    assert suffix == ".zst", suffix
    stream: _Stream = pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")
    return stream


class _Raw(io.RawIOBase):
    """The file as it is, from its beginning."""

    def __init__(self, read_at: ReadAt) -> None:
        self._read_at = read_at
        self._position = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._read_at(len(buffer), self._position)
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


class _Members:
    """xz, whose own file class takes as much memory as the file asks for."""

    def __init__(self, raw: io.BufferedReader[_Raw]) -> None:
        self._raw = raw
        self._inner: lzma.LZMADecompressor | None = None
        self._waiting = b""

    def read(self, count: int, /) -> bytes:
        while True:
            if self._inner is None:
                self._waiting = self._waiting.lstrip(b"\0") or self._read_on().lstrip(b"\0")
                if not self._waiting:
                    if not self._raw.peek(1):
                        return b""
                    continue
                self._inner = lzma.LZMADecompressor(memlimit=XZ_MEMORY_MAX)
            if self._inner.needs_input and not self._waiting:
                self._waiting = self._read_on()
                if not self._waiting:
                    raise EOFError
            data = self._inner.decompress(self._waiting, count)
            self._waiting = b""
            if self._inner.eof:
                self._waiting, self._inner = self._inner.unused_data, None
            if data:
                return data

    def _read_on(self) -> bytes:
        return self._raw.read(READ_BYTES)
