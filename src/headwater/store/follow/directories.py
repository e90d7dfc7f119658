"""The walk to the directories that a glob's folders name, in which every step may fail.

*Not listed is not empty*: a directory that can't be read (EIO, EACCES, no handle left) says nothing
about its files, so it is reported as ``unlisted`` and nobody concludes anything from it. So is the
directory in which the walk begins, if it is not there: that is where a source's files should be,
and perhaps will be once its file system is mounted. Deeper ones that are not there are no news.

Each part of the pattern stands for one folder, so ``*``, ``?`` and ``[…]`` never cross a ``/``;
``**`` is any number of folders, also none. Links to directories are followed as far as the source
may reach; below ``**`` each directory is entered once, so that a link to a folder above it ends the
walk instead of turning it.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import Path

from headwater.plan.sources.globs import ANY_DEPTH, has_magic, plain_parts
from headwater.store.disk import Disk

DIRECTORIES_MAX = 20_000
"""Of one source; further ones are not listed, and said to be."""


LEADS_OUT = (
    "leads out of what this source may read, by a link; put what it leads to below the directory "
    "of the path, or add its directory to sources.open"
)


class Reach:
    """The directories below which a source's files truly are, whatever links lead there."""

    def __init__(self, directories: Iterable[str | Path]) -> None:
        self._true = tuple(f"{os.path.realpath(one).rstrip('/')}/" for one in directories)

    def has(self, path: str) -> bool:
        """Whether this path, by whatever links, leads to one of them or below."""
        return f"{os.path.realpath(path)}/".startswith(self._true)


class Walk:
    """Made for one look at a source, then dropped: a directory is listed once in a walk."""

    def __init__(
        self, disk: Disk, directory: Path, parts: tuple[str, ...], *, reach: Reach | None = None
    ) -> None:
        """``reach``: where links may lead; None: anywhere."""
        self.outside: list[str] = []
        """Directories that were not entered, for a link in their path leads out of reach."""
        self._reach = reach
        self.listed: dict[str, int] = {}
        """Directories that were listed, with their devices."""
        self.unlisted: dict[str, str] = {}
        """Directories, and entries of directories, that could not be looked at, and why."""
        self._disk = disk
        self._entries: dict[str, list[os.DirEntry[str]]] = {}
        self._identity: dict[str, tuple[int, int]] = {}
        self.base, self._rest = base_of(directory, parts)

    def found(self) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
        """(directory, its entries) for all directories of the pattern that could be listed."""
        level = [self.base]
        for part in self._rest:
            if part == ANY_DEPTH:
                level = list(self._all_below(level))
            elif has_magic(part):
                level = [child for one in level for child in self._children(one, part)]
            else:
                level = [os.path.join(one, part) for one in level]
        for directory in level:
            entries = self._list(directory)
            if directory in self.listed:
                yield directory, entries

    def _children(self, directory: str, part: str) -> Iterator[str]:
        for entry in self._list(directory):
            if is_match(entry.name, part) and self._is_directory(entry):
                yield entry.path

    def _all_below(self, level: list[str]) -> Iterator[str]:
        """Each directory once, by whatever way it is reached first."""
        waiting = deque(level)
        entered: set[tuple[int, int]] = set()
        while waiting:
            directory = waiting.popleft()
            entries = self._list(directory)
            identity = self._identity.get(directory)
            if identity is None or identity in entered:
                continue
            entered.add(identity)
            yield directory
            waiting += [
                entry.path
                for entry in entries
                if is_match(entry.name, "*") and self._is_directory(entry)
            ]

    def _is_directory(self, entry: os.DirEntry[str]) -> bool:
        try:
            if not entry.is_symlink():
                return entry.is_dir(follow_symlinks=False)
            return stat.S_ISDIR(self._disk.stat(entry.path).st_mode)
        except OSError as error:
            if not leads_nowhere(error):
                self.unlisted[entry.path] = reason_of(error)
            return False

    def _list(self, directory: str) -> list[os.DirEntry[str]]:
        if directory not in self._entries:
            self._entries[directory] = self._listed_now(directory)
        return self._entries[directory]

    def _listed_now(self, directory: str) -> list[os.DirEntry[str]]:
        if len(self._entries) >= DIRECTORIES_MAX:
            self.unlisted[directory] = f"more than {DIRECTORIES_MAX} directories"
            return []
        if self._reach is not None and not self._reach.has(directory):
            self.outside.append(directory)
            return []
        try:
            before = self._disk.stat(directory)
            entries = self._disk.scan(Path(directory))
            after = self._disk.stat(directory)
        except OSError as error:
            if directory == self.base or not leads_nowhere(error):
                self.unlisted[directory] = reason_of(error)
            return []
        if before.st_dev != after.st_dev:
            self.unlisted[directory] = "a file system was mounted on it while it was listed"
            return []
        self.listed[directory] = after.st_dev
        self._identity[directory] = (after.st_dev, after.st_ino)
        return entries


def base_of(directory: Path, parts: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The directory in which a walk begins, and the parts that it then goes through."""
    plain = tuple(takewhile(lambda part: not has_magic(part), parts))
    return str(directory.joinpath(*plain)), tuple(plain_parts(parts[len(plain) :]))


def is_match(name: str, part: str) -> bool:
    """As in a shell: a hidden name is matched only by a pattern that says its dot."""
    hidden = name.startswith(".") and not part.startswith(".")
    return not hidden and fnmatch.fnmatchcase(name, part)


def leads_nowhere(error: OSError) -> bool:
    """It is surely not there, rather than out of our sight."""
    return isinstance(error, (FileNotFoundError, NotADirectoryError)) or error.errno == errno.ELOOP


def reason_of(error: OSError) -> str:
    return error.strerror or str(error)
