"""Which files a source's glob names at this moment, who lives next to them, and what is not known.

Neighbours (files in the same directories whose names do not match) are listed because rotation
often moves a log to a name that the glob does not cover, ``access.log`` to ``access.log.1``: the
inode is then found there, and what was not read of it is still read.

A file that is not in a listing is not thereby gone: its directory may not have been listed, or
another file system may be there now. ``whereabouts`` tells the two apart.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Protocol

import msgspec

from headwater.errors import ConfigurationError
from headwater.plan.sources.compressed import WHY_LEFT_ALONE, expanded_suffix, is_compressed
from headwater.store.disk import Disk
from headwater.store.follow.directories import (
    LEADS_OUT,
    Reach,
    Walk,
    base_of,
    is_match,
    leads_nowhere,
    reason_of,
)

FILES_MAX = 100_000
"""Of one source; beyond it the rest is left alone, said to be, and never taken for read."""
NOT_EXPANDED = WHY_LEFT_ALONE


class Found(msgspec.Struct, frozen=True):
    """One regular file at the moment of the listing."""

    path: str
    """As text: making a ``Path`` of each of thousands would cost more than looking at them."""
    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int
    is_link: bool = False
    """The path is a symbolic link, so the file may lie in another file system."""
    packed: str = ""
    """How it is compressed: one of ``plan.compressed.EXPANDED``; empty: it is not."""
    packed_size: int = 0
    """Its own size, where ``size`` is that of what it holds."""

    @property
    def key(self) -> tuple[int, int]:
        return (self.device, self.inode)


Archive = tuple[int, int, int]
"""Inode, size and time of a compressed file."""


class Listing(msgspec.Struct, frozen=True):
    matching: dict[tuple[int, int], Found]
    neighbours: dict[int, list[str]]
    """By inode alone, which each file system gives out on its own: device and print are checked
    when one is looked for."""
    refused: dict[str, str]
    """Path to reason: what could not be looked at, or is not followed."""
    listed: dict[str, int] = {}
    """Directories that were listed, with their devices."""
    unlisted: dict[str, str] = {}
    """Directories, or entries of directories, that could not be looked at, and why."""
    partial: set[str] = set()
    """Directories of which some entry could not be looked at, or was one too many."""
    dangling: set[str] = set()
    """Matching links that lead nowhere at the moment."""
    old_archives: set[Archive] = set()
    """Compressed files that were there before (``archives``)."""

    @property
    def is_whole(self) -> bool:
        """Every directory was listed and every matching entry looked at."""
        return not self.unlisted and not self.partial


def joined(first: Listing, second: Listing) -> Listing:
    """Two looks at the same directories as one; where they differ the second is right, but for
    what was out of sight in one of them."""
    unlisted = {**first.unlisted, **second.unlisted}
    listed = {**first.listed, **second.listed}
    return Listing(
        {**first.matching, **second.matching},
        {**first.neighbours, **second.neighbours},
        {**first.refused, **second.refused},
        {path: device for path, device in listed.items() if path not in unlisted},
        unlisted,
        first.partial | second.partial,
        first.dangling | second.dangling,
    )


class Closed(Protocol):
    def take_out(self, listing: Listing, *, disk: Disk) -> None:
        """Make of files that this source may not read such as are left alone, with the reason."""


class Glob:
    """A pattern under a directory. ``*``, ``?``, ``[…]`` and ``**`` as in a shell.

    The one meaning of a source's path: followers, finite inputs and the reference look by it.
    """

    def __init__(
        self,
        directory: Path,
        pattern: str,
        *,
        disk: Disk,
        closed: Closed | None = None,
        reach: Reach | None = None,
    ) -> None:
        """``reach``: where links may lead; None: anywhere."""
        self._reach = reach
        self.directory = directory
        self.pattern = pattern
        self.disk = disk
        self._closed = closed
        relative = _relative(directory, pattern)
        self._parts, self._name = relative.parent.parts, relative.name
        self.base = base_of(directory, self._parts)[0]
        """Where the source's files, or the folders that hold them, should be."""

    def look(self) -> Listing:
        walk = Walk(self.disk, self.directory, self._parts, reach=self._reach)
        listing = Listing({}, {}, {}, walk.listed, walk.unlisted)
        for directory, entries in walk.found():
            for entry in entries:
                self._take(directory, entry, listing)
        if self._closed is not None:
            self._closed.take_out(listing, disk=self.disk)
        for path in listing.listed:  # what is in them is looked at, whatever matches them
            listing.refused.pop(path, None)
        listing.refused.update((shown(path), LEADS_OUT) for path in walk.outside)
        for path, reason in listing.unlisted.items():
            listing.refused[shown(path)] = reason
        return listing

    def _take(self, directory: str, entry: os.DirEntry[str], listing: Listing) -> None:
        if not is_text(entry.path):
            if is_match(entry.name, self._name):
                listing.refused[shown(entry.path)] = "its name is not UTF-8"
            return
        if not is_match(entry.name, self._name):
            self._take_neighbour(entry, listing)
            return
        reason = self._why_left_alone(entry.name)
        if reason:
            listing.refused[entry.path] = reason
            return
        try:
            is_link = entry.is_symlink()
            status = self.disk.stat(entry.path)
        except OSError as error:
            self._take_unseen(directory, entry.path, error, listing)
            return
        if is_link and self._reach is not None and not self._reach.has(entry.path):
            listing.refused[entry.path] = LEADS_OUT
            return
        if not stat.S_ISREG(status.st_mode):
            listing.refused[entry.path] = _why_not_regular(status.st_mode)
            return
        if len(listing.matching) >= FILES_MAX:
            listing.refused[entry.path] = f"more than {FILES_MAX} files match"
            listing.partial.add(directory)
            return
        found = found_at(entry.path, status, is_link=is_link)
        listing.matching.setdefault(found.key, found)

    def _take_neighbour(self, entry: os.DirEntry[str], listing: Listing) -> None:
        try:
            is_plain = not is_compressed(entry.name) or bool(expanded_suffix(entry.name))
            if is_plain and entry.is_file(follow_symlinks=False):
                listing.neighbours.setdefault(entry.inode(), []).append(entry.path)
        except OSError:
            return

    def _why_left_alone(self, name: str) -> str:
        return NOT_EXPANDED if is_compressed(name) and not expanded_suffix(name) else ""

    def _take_unseen(self, directory: str, path: str, error: OSError, listing: Listing) -> None:
        if not leads_nowhere(error):
            listing.unlisted[path] = reason_of(error)
            listing.partial.add(directory)
        elif os.path.islink(path):
            listing.dangling.add(path)
            listing.refused[path] = "the link leads nowhere"


def _why_not_regular(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a directory, and the path names files; for those in it write ** or a further /*"
    return "not a regular file: pipes, sockets and devices are not read"


def listed_bytes(glob: Glob) -> int:
    """Of all files that match now, compressed ones as they lie."""
    found = glob.look().matching.values()
    return sum(one.packed_size or one.size for one in found)


def is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def shown(path: str) -> str:
    """As it can be printed: names on disk need not be text."""
    return path if is_text(path) else os.fsencode(path).decode("utf-8", "backslashreplace")


def found_at(path: str, status: os.stat_result, *, is_link: bool = False) -> Found:
    return Found(
        path,
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        is_link,
        expanded_suffix(path),
    )


def _relative(directory: Path, pattern: str) -> Path:
    """The pattern below the directory; anything that leaves it is refused."""
    path = Path(pattern)
    if path.is_absolute():
        if not path.is_relative_to(directory.absolute()):
            raise ConfigurationError(
                f"source path {pattern!r}: wanted one under {directory}, it is not"
            )
        path = path.relative_to(directory.absolute())
    if ".." in path.parts or not path.name:
        raise ConfigurationError(
            f"source path {pattern!r}: wanted a glob below {directory}, without '..'"
        )
    return path
