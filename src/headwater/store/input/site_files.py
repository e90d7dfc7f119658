"""The files that a source names below a site's folder, as a finite input finds them.

For those who read them without a cube: the reference, and whoever asks how much there is to read.
One walk for all means that nobody's answer is about other files than somebody else's.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from headwater.plan.sources.compressed import expanded_suffix
from headwater.reading.expand import EMPTY_BYTES_MAX, is_empty
from headwater.store.disk import Disk
from headwater.store.follow.directories import Reach
from headwater.store.follow.listing import Found, Glob, Listing


def look_below(folder: Path, pattern: str) -> Listing:
    """What a site's finite input would find now. Raises ``ConfigurationError`` where the pattern
    does not lie below the folder."""
    return Glob(folder, pattern, disk=Disk(), reach=Reach([folder])).look()


def found_below(folders: Iterable[Path], pattern: str) -> list[Found]:
    """Those that are read, by their names, folder after folder."""
    return [
        found
        for folder in folders
        for found in sorted(look_below(folder, pattern).matching.values(), key=lambda one: one.path)
    ]


def empty_count(files: Iterable[Found]) -> int:
    """How many of them have nothing in them; one that can't be looked at is not counted."""
    return sum(map(_is_empty, files))


def _is_empty(file: Found) -> bool:
    if not file.size or file.size > EMPTY_BYTES_MAX or not expanded_suffix(file.path):
        return not file.size
    disk = Disk()
    try:
        handle = disk.open(file.path)
    except OSError:
        return False
    try:
        return is_empty(partial(disk.read_at, handle), file.path, file.size)
    except OSError:
        return False
    finally:
        disk.close(handle)


def paths_below(folders: Iterable[Path], pattern: str) -> list[Path]:
    return [Path(found.path) for found in found_below(folders, pattern)]
