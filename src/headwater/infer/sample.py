"""What is looked at: the first lines of some files."""

from __future__ import annotations

import msgspec

FILES_MAX = 40
"""Files that are looked into; the others are taken to be like them."""
FILE_BYTES_MAX = 256 << 10
"""Of one file, after it is expanded."""
FILE_LINES_MAX = 400
"""Of one file: what the bytes hold may be far more lines than a decision needs."""


class Sample(msgspec.Struct, frozen=True):
    """The beginning of one file."""

    path: str
    """Below the folder of its site."""
    lines: tuple[str, ...]
    """Whole lines, without their ends and without empty ones."""
    encoding: str = "utf-8"
    year: int = 0
    """In which the file was last written; 0: nobody knows."""
    is_binary: bool = False
    """Not text in any encoding that is known here."""


def all_lines(samples: tuple[Sample, ...]) -> list[str]:
    return [line for sample in samples for line in sample.lines]
