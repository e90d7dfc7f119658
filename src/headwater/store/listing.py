"""Which files a source's glob names at this moment, and who lives next to them.

Neighbours (files in the same directories whose names do not match) are listed because rotation
often moves a log to a name that the glob does not cover, ``access.log`` to ``access.log.1``: the
inode is then found there, and what was not read of it is still read.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import stat
from pathlib import Path

import msgspec

from headwater.errors import ConfigurationError
from headwater.store.disk import Disk

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".snappy", ".deflate", ".zip")
"""A growing file is never compressed; a rotated one that was, has been read before."""
FILES_MAX = 100_000
"""Of one source; beyond it the rest is left alone and said to be."""


class Found(msgspec.Struct, frozen=True):
    """One regular file at the moment of the listing."""

    path: str
    """As text: making a ``Path`` of each of thousands would cost more than looking at them."""
    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int

    @property
    def key(self) -> tuple[int, int]:
        return (self.device, self.inode)


class Listing(msgspec.Struct, frozen=True):
    matching: dict[tuple[int, int], Found]
    neighbours: dict[int, str]
    """By inode alone: the device and the print are checked when one is opened."""
    refused: dict[str, str]
    """Path to reason: directories and files that could not be looked at, or are not followed."""


def joined(first: Listing, second: Listing) -> Listing:
    """Two looks at the same directories as one; where they differ the second is right."""
    return Listing(
        {**first.matching, **second.matching},
        {**first.neighbours, **second.neighbours},
        {**first.refused, **second.refused},
    )


class Glob:
    """A pattern under a directory. ``*``, ``?``, ``[…]`` and ``**`` as in a shell."""

    def __init__(self, directory: Path, pattern: str, *, disk: Disk, compressed: bool) -> None:
        self.directory = directory
        self.pattern = pattern
        self._disk = disk
        self._compressed = compressed
        relative = _relative(directory, pattern)
        self._parents, self._name = relative.parent, relative.name

    def look(self) -> Listing:
        listing = Listing({}, {}, {})
        for directory in self._directories():
            try:
                entries = self._disk.scan(directory)
            except FileNotFoundError:
                continue
            except OSError as error:
                listing.refused[str(directory)] = error.strerror or str(error)
                continue
            for entry in entries:
                self._take(entry, listing)
        return listing

    def _directories(self) -> list[Path]:
        parents = str(self._parents)
        if not glob.has_magic(parents):
            return [self.directory / self._parents]
        found = glob.glob(parents, root_dir=self.directory, recursive=True)
        paths = {self.directory / name for name in found}
        return sorted(path for path in paths if path.is_dir())

    def _take(self, entry: os.DirEntry[str], listing: Listing) -> None:
        if not _is_text(entry.path):
            if self._matches(entry.name):
                shown = os.fsencode(entry.path).decode("utf-8", "backslashreplace")
                listing.refused[shown] = "its name is not UTF-8"
            return
        if not self._matches(entry.name):
            plain = not entry.name.endswith(COMPRESSED)
            if plain and entry.is_file(follow_symlinks=False):
                listing.neighbours[entry.inode()] = entry.path
            return
        if entry.name.endswith(COMPRESSED) and not self._compressed:
            listing.refused[entry.path] = "compressed: a growing log is followed as plain text"
            return
        try:
            status = entry.stat()
        except FileNotFoundError:
            return
        except OSError as error:
            listing.refused[entry.path] = error.strerror or str(error)
            return
        if not stat.S_ISREG(status.st_mode):
            return
        if len(listing.matching) >= FILES_MAX:
            listing.refused[entry.path] = f"more than {FILES_MAX} files match"
            return
        found = found_at(entry.path, status)
        listing.matching.setdefault(found.key, found)

    def _matches(self, name: str) -> bool:
        hidden = name.startswith(".") and not self._name.startswith(".")
        return not hidden and fnmatch.fnmatchcase(name, self._name)


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def found_at(path: str, status: os.stat_result) -> Found:
    return Found(
        path,
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def _relative(directory: Path, pattern: str) -> Path:
    """The pattern below the directory; anything that leaves it is refused."""
    path = Path(pattern)
    if path.is_absolute():
        if not path.is_relative_to(directory):
            raise ConfigurationError(f"source path {pattern!r} is not under {directory}")
        path = path.relative_to(directory)
    if ".." in path.parts or not path.name:
        raise ConfigurationError(
            f"source path {pattern!r}: wanted a glob below {directory}, without '..'"
        )
    return path
