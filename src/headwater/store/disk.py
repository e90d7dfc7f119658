"""The file system as the store uses it: few verbs, each of which can be made to fail.

Nothing above this file calls ``os`` for bytes. A test hands in a disk that runs out of room at
the third write or returns EIO from ``fsync``, and everything that is promised about commits must
hold all the same.

A rename is durable only once its directory is synced, and a file's bytes only once the file is;
the verbs are kept apart so that a caller syncs a directory once for many files.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from headwater.errors import DiskFull, DiskTrouble

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
SYNC_THREADS = 8
"""Many files are synced side by side: a journalling file system joins their commits into few."""
SYNC_ALONE_MAX = 3
"""Up to this many files threads cost more than they save."""


class Disk:
    """The real one. Errors come out as ``OSError``; see ``explained``."""

    is_kept = True
    """Whether somebody opens again what is written; where not, nothing is synced, and manifests are
    in memory."""

    def make_directory(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)

    def write_new(self, path: Path, pieces: Iterable[bytes | memoryview]) -> None:
        """Write a file that must not exist yet, unsynced; a failed one is not left behind."""
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            for piece in pieces:
                self.write_all(handle, piece)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise
        finally:
            os.close(handle)

    def write_all(self, handle: int, data: bytes | memoryview) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]

    def sync_file(self, path: Path) -> None:
        _sync(path, os.O_RDONLY)

    def sync_directory(self, path: Path) -> None:
        _sync(path, os.O_RDONLY | os.O_DIRECTORY)

    def sync_files(self, paths: list[Path]) -> None:
        """Return when the bytes of all of them are on the disk."""
        if len(paths) <= SYNC_ALONE_MAX:
            for path in paths:
                self.sync_file(path)
            return
        with ThreadPoolExecutor(SYNC_THREADS) as pool:
            for _ in pool.map(self.sync_file, paths):
                pass

    def rename(self, old: Path, new: Path) -> None:
        os.rename(old, new)

    def link(self, old: Path | str, new: Path) -> None:
        """A further name for the file itself: of a symbolic link, for the file that it leads to
        (``os.link`` alone would make a second link to that path, which keeps nothing alive)."""
        os.link(os.path.realpath(old), new)

    def remove(self, path: Path) -> None:
        """A file that is gone already is as good as removed."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def read_file(self, path: Path) -> bytes:
        return path.read_bytes()

    def scan(self, directory: Path) -> list[os.DirEntry[str]]:
        with os.scandir(directory) as entries:
            return list(entries)

    def stat(self, path: Path | str) -> os.stat_result:
        return os.stat(path)

    def stat_link(self, path: Path | str) -> os.stat_result:
        """Of the link itself, if the path is a symbolic one."""
        return os.lstat(path)

    def open(self, path: Path | str) -> int:
        """For reading; a FIFO that was slipped in does not block us."""
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)

    def stat_open(self, handle: int) -> os.stat_result:
        return os.fstat(handle)

    def read_at(self, handle: int, count: int, offset: int) -> bytes:
        return os.pread(handle, count, offset)

    def close(self, handle: int) -> None:
        os.close(handle)


class ScratchDisk(Disk):
    """For a directory that is thrown away with the process: the same verbs, and no sync.

    A federation in one process has three manifests a site. Synced, a thousand sites wait for the
    disk and nothing else; as files, they are some nine thousand open handles (``Tables``).
    """

    is_kept = False

    def sync_file(self, path: Path) -> None:
        """Nobody will look for it after a power cut."""

    def sync_directory(self, path: Path) -> None:
        """The same."""

    def sync_files(self, paths: list[Path]) -> None:
        """The same."""


def make_durably(disk: Disk, path: Path) -> None:
    """Make a directory with all above it, so that a power cut does not take it away again."""
    made = path
    new: list[Path] = []
    while not made.exists():
        new.append(made)
        made = made.parent
    disk.make_directory(path)
    for directory in reversed(new):
        disk.sync_directory(directory.parent)


def identity_of(disk: Disk, directory: Path) -> tuple[int, int]:
    """Of a directory that is there. Another one at the same place, such as the empty one under a
    disk that is not mounted, has another."""
    status = disk.stat(directory)
    return status.st_dev, status.st_ino


def _sync(path: Path, flags: int) -> None:
    handle = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn an ``OSError`` into the ``StoreError`` on which a caller acts: try it again."""
    try:
        yield
    except OSError as error:
        kind = DiskFull if error.errno in NO_ROOM else DiskTrouble
        place = f" {error.filename}" if error.filename else ""
        raise kind(f"{what}:{place} {error.strerror or error}") from error
