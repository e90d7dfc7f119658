"""How published answers lie in a stream's directory: what their writer and all readers go by.

Publications are numbered from 1. ``headers-<number>.parquet`` says which windows and revisions were
published, ``rows-<number>.parquet`` has their rows. A row begins with the short form of its
answer's header, so that one that is read alone still says what it stands for. An answer's own
column that has the name of one of ours keeps it; ours then begins with an underscore. Behind a
column of a sample that can be scaled, one of ours has it scaled.

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


def scaled_name(name: str, taken: Sequence[str]) -> str:
    """Of the column beside an answer's own one of this name, in which a sample's values are scaled
    to estimate those of all records. Spark takes names for the same whatever their case is.

    >>> scaled_name("n", ["page", "n"]), scaled_name("n", ["n", "N_Scaled"])
    ('n_scaled', '_n_scaled')
    """
    lower = {one.lower() for one in taken}
    found = f"{name}_scaled"
    while found.lower() in lower:
        found = f"_{found}"
    return found


def own_name(name: str, taken: Sequence[str]) -> str:
    """Our column's name beside the answer's own columns."""
    while name in taken:
        name = f"_{name}"
    return name
