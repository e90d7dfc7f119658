"""A numbered cut of a site's input, as a file that Spark, or whoever stands in for it, reads."""

from __future__ import annotations

from os import PathLike

import msgspec


class Chunk(msgspec.Struct, frozen=True):
    """Whole lines of one file, as one file for Spark."""

    cut: int
    path: PathLike[str]
    bytes: int
    header: str = ""
    """The line that names the columns of its lines in the file that they were cut from; empty:
    there is none."""
    is_file: bool = False
    """It is a whole file, as it was found, and not lines that were cut from one."""
    origin: str = ""
    """The file that the lines were read from."""
    poll_s: float = 0.0
    is_doubtful: bool = False
    """Its lines may have been read before, in another file."""
