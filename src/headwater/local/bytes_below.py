"""Whether all that lies below a directory is little, whatever a query will name of it.

Known before the query is read, and from the names and sizes alone: ``try`` starts Spark while it
compiles, and how Java compiles is said when it starts.
"""

from __future__ import annotations

import os
from pathlib import Path

from headwater.plan.sources.compressed import is_compressed

LITTLE_BYTES_MAX = 64 << 20
EXPANDS = 8
"""A compressed file counts as so many times its size, as logs are."""
ENTRIES_MAX = 10_000
"""More of them are not looked at: then it is not known."""


def is_surely_little(directory: Path) -> bool:
    """False also where it isn't a directory with a folder in it, or can't be looked at."""
    total = count = folder_count = 0
    try:
        for folder, folders, files in os.walk(directory, onerror=_raise):
            folder_count += len(folders)
            count += len(folders) + len(files)
            total += sum(counted_bytes(name, Path(folder, name).stat().st_size) for name in files)
            if total > LITTLE_BYTES_MAX or count > ENTRIES_MAX:
                return False
    except OSError:
        return False
    return folder_count > 0


def counted_bytes(name: str, size: int) -> int:
    """A file's size, expanded as far as can be told without reading it."""
    return size * (EXPANDS if is_compressed(name) else 1)


def _raise(error: OSError) -> None:
    raise error
