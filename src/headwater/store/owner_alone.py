"""Files for their owner alone, and the one directory that others may be let into.

A site's state holds raw lines of logs that may be private, so nobody else on the machine may read
it. Two things see to that: the process's umask, for all that it and its JVM make, and the modes of
what is there already, which are mended when an agent starts and told. Answers are often meant for
others; ``Readers`` says for whom, and then the state's directory may be passed through by them,
and ``results`` alone be read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

from headwater.store.disk import Disk

UMASK = 0o077
OTHERS = 0o077
"""The bits of a mode that speak of anybody but the owner."""


class Readers(StrEnum):
    """Who may read the answers in ``results``."""

    OWNER = "owner"
    GROUP = "group"
    ALL = "all"

    @property
    def file_mode(self) -> int:
        return {Readers.OWNER: 0o600, Readers.GROUP: 0o640, Readers.ALL: 0o644}[self]

    @property
    def directory_mode(self) -> int:
        return {Readers.OWNER: 0o700, Readers.GROUP: 0o750, Readers.ALL: 0o755}[self]

    @property
    def way_mode(self) -> int:
        """Of the directory above: it may be passed through, and not be listed."""
        return {Readers.OWNER: 0o700, Readers.GROUP: 0o710, Readers.ALL: 0o711}[self]


class ReadableDisk(Disk):
    """For answers that others may read, whatever the process's umask is."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers

    def make_directory(self, path: Path) -> None:
        super().make_directory(path)
        path.chmod(self._readers.directory_mode)

    def write_new(self, path: Path, pieces: Iterable[bytes | memoryview]) -> None:
        super().write_new(path, pieces)
        path.chmod(self._readers.file_mode)


@contextmanager
def owner_alone() -> Iterator[None]:
    """What is made within it is its owner's alone; for the whole process, threads among it."""
    former = os.umask(UMASK)
    try:
        yield
    finally:
        os.umask(former)


def make_own(directory: Path, *, results: Path, readers: Readers = Readers.OWNER) -> list[Path]:
    """Makes both directories, and takes from others what they may not have of what is there.

    Returns those directly in ``directory``, or itself, that were open too far; what lies below them
    was mended with them. A file with several names is left alone: it is a log that the follower
    keeps alive, and its mode is its writer's business.
    """
    for path in (directory, results):
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    wide = [directory] if _mode(directory) & OTHERS & ~readers.way_mode else []
    directory.chmod(readers.way_mode)
    for path in sorted(directory.iterdir()):
        if path == results:
            wide += [path] if _open_results(path, readers) else []
        elif _is_wide(path):
            _tighten(path)
            wide.append(path)
    return wide


def _open_results(results: Path, readers: Readers) -> bool:
    """All of it gets the modes that were asked for; True: it was open further than that."""
    was_wide = bool(_mode(results) & OTHERS & ~readers.directory_mode)
    if _mode(results) == readers.directory_mode:
        return False
    for path in (results, *_below(results)):
        path.chmod(readers.directory_mode if path.is_dir() else readers.file_mode)
    return was_wide


def _tighten(path: Path) -> None:
    for one in (path, *_below(path)):
        if _is_wide(one):
            one.chmod(_mode(one) & ~OTHERS)


def _below(path: Path) -> Iterator[Path]:
    for folder, directories, files in os.walk(path):
        found = (Path(folder) / name for name in (*directories, *files))
        yield from (one for one in found if not one.is_symlink())


def _is_wide(path: Path) -> bool:
    """Whether others have a right to it that is ours to take."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    is_named_once = stat.S_ISREG(found.st_mode) and found.st_nlink == 1
    is_ours = found.st_uid == os.geteuid() and (stat.S_ISDIR(found.st_mode) or is_named_once)
    return is_ours and bool(found.st_mode & OTHERS)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
