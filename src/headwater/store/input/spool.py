"""Where cut bytes wait for Spark: one plain file for each chunk.

Spark's own text reader reads them in the JVM. A chunk has its final name from the start: it
counts only once the manifest names it, so a crash leaves at most a stray file, which is swept at
the next start. Names carry a random part and are never used twice.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from headwater.store.disk import Disk, explained

SPOOL_BYTES_MAX = 2 << 30


class Spool:
    """The spool of all sources of a cube; its bytes are bounded together."""

    def __init__(self, directory: Path, *, disk: Disk, bytes_max: int = SPOOL_BYTES_MAX) -> None:
        self.directory = directory
        self.bytes_max = bytes_max
        self.bytes_used = 0
        self._counting = threading.Lock()
        self._disk = disk
        with explained(f"making {directory}"):
            disk.make_directory(directory)

    def write(self, stem: str, pieces: Sequence[bytes | memoryview]) -> str:
        """Write a chunk, not yet synced, and return its name. Raises ``OSError``."""
        name = f"{stem}-{secrets.token_hex(4)}.txt"
        self._disk.write_new(self.directory / name, pieces)
        self._count(sum(len(piece) for piece in pieces))
        return name

    def link(self, stem: str, path: Path, *, suffix: str | None = None) -> str:
        """A complete file under a name of ours: no copy, and it stays when its owner removes it."""
        name = f"{stem}-{secrets.token_hex(4)}{path.suffix if suffix is None else suffix}"
        self._disk.link(path, self.directory / name)
        return name

    def linked(self, byte_count: int) -> None:
        """Chunks of so many bytes have a second name, which counts as much: each is let go of by
        itself."""
        self._count(byte_count)

    def sync(self, names: Iterable[str]) -> None:
        """Make chunks and links durable, with one sync of the directory. Raises ``OSError``."""
        self._disk.sync_files([self.directory / name for name in names])
        self._disk.sync_directory(self.directory)

    def remove(self, names: Iterable[str], *, bytes_freed: int) -> None:
        """What can't be removed now is swept at the next start."""
        self._count(-bytes_freed)
        for name in names:
            with contextlib.suppress(OSError):
                self._disk.remove(self.directory / name)

    def _count(self, change: int) -> None:
        """Polls and commits count at the same time."""
        with self._counting:
            self.bytes_used = max(0, self.bytes_used + change)

    def quarantine(self, name: str) -> None:
        """Set a chunk aside for people to look at."""
        aside = self.directory.parent / "quarantine"
        with explained(f"quarantining {name}"):
            self._disk.make_directory(aside)
            self._disk.rename(self.directory / name, aside / name)
            # Or a power cut brings it back, to be swept as nobody's.
            self._disk.sync_directory(aside)
            self._disk.sync_directory(self.directory)

    def sweep(self, known: set[str]) -> int:
        """At the start: remove what a crash left between writing and committing."""
        removed = 0
        with explained(f"sweeping {self.directory}"):
            for entry in self._disk.scan(self.directory):
                if entry.name not in known:
                    self._disk.remove(self.directory / entry.name)
                    removed += 1
        return removed


def held_name(source: int, file: int | None = None) -> str:
    """The name of the hard link that keeps a file's unread bytes alive, or what all begin with."""
    return f"held-{source}-{'' if file is None else file}"
