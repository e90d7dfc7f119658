"""A cut's bytes as a file: before it has a number, and after."""

from __future__ import annotations

from pathlib import Path

import msgspec


class Chunk(msgspec.Struct, frozen=True):
    """Whole lines of one file, as one file for Spark."""

    cut: int
    path: Path
    bytes: int
    origin: str
    """The file that the lines were read from."""
    poll_s: float
    is_doubtful: bool = False
    """Its lines may have been read before, in another file."""
    header: str = ""
    """The line in that file that names the columns of these lines; empty: there is none."""
    is_file: bool = False
    """It is a whole file, as it was found, and not lines that were cut from one."""


class NewCut(msgspec.Struct, frozen=True):
    """Bytes that are safe and shall be numbered."""

    origin: str
    first_byte: int
    end_byte: int
    chunk: str
    """A name in the spool, or an absolute path that is not ours to remove."""
    bytes: int
    spooled_bytes: int
    """What it takes of the spool's bound; 0 for a link or a path."""
    is_doubtful: bool = False
    header: str = ""
    """See ``Chunk``, as of ``is_doubtful``."""

    def row(self, poll_s: float) -> tuple[object, ...]:
        """What the manifest keeps of it, but for its number."""
        extent = (self.origin, self.first_byte, self.end_byte)
        spooled = (self.chunk, self.bytes, self.spooled_bytes, self.is_doubtful)
        return (*extent, poll_s, *spooled, self.header)
