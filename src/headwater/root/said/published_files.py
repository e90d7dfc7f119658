"""How published answers lie in a stream's directory: what their writer and all readers go by.

Publications are numbered from 1. ``headers-<number>.parquet`` says which windows and revisions were
published, ``rows-<number>.parquet`` has their rows. A row begins with the short form of its
answer's header, so that one that is read alone still says what it stands for. An answer's own
column that has the name of one of ours keeps it; ours then begins with an underscore.

This file is sent to Spark's workers as it is, so it imports nothing of Headwater.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

SHORT_FORM = ("window_start", "window_end", "revision", "exact", "final", "expected", "covered")
"""The first columns of rows; headers have them all under these names."""
_HEADERS = re.compile(r"headers-(\d{12})\.parquet")


def file_name(kind: str, number: int) -> str:
    return f"{kind}-{number:012d}.parquet"


def published(names: Iterable[str]) -> list[int]:
    """The numbers, rising, of the files with these names."""
    matches = map(_HEADERS.fullmatch, names)
    return sorted(int(match[1]) for match in matches if match is not None)


def own_name(name: str, taken: Sequence[str]) -> str:
    """Our column's name beside the answer's own columns."""
    while name in taken:
        name = f"_{name}"
    return name
