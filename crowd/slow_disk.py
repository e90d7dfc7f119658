"""A disk that takes its time: every sync and every commit of a manifest waits before it is done.

Reads do not: they come from the system's memory as a rule. What is slow on a tired or shared disk
is what has to be on it before something may be said.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from headwater.store.disk import Disk
from headwater.store.manifest import Manifest


class SlowDisk(Disk):
    """As quick as any until ``is_slow``."""

    def __init__(self, answer_s: float) -> None:
        self.is_slow = False
        self._answer_s = answer_s
        self.waits = 0
        """How often somebody waited for it."""

    def wait(self) -> None:
        if self.is_slow:
            self.waits += 1
            time.sleep(self._answer_s)

    def sync_file(self, path: Path) -> None:
        self.wait()
        super().sync_file(path)

    def sync_directory(self, path: Path) -> None:
        self.wait()
        super().sync_directory(path)


def slow_commits(disk: SlowDisk) -> None:
    """All manifests of this process, from now on: SQLite syncs in C, where no ``Disk`` is asked."""
    transaction = Manifest.transaction

    @contextlib.contextmanager
    def waits(manifest: Manifest) -> Iterator[None]:
        with transaction(manifest):
            yield
            disk.wait()

    setattr(Manifest, "transaction", waits)  # noqa: B010 - mypy knows it as a method
