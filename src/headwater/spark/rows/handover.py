"""The place where Spark and Python hand rows to each other as files.

Rows that pass through the driver take several times their size of its heap: Arrow's bytes, rows
made of them, the plan that holds them. So only a few megabytes go that way. What is more is written
by one side and read by the other, in one directory that is named here and nowhere else: on a
cluster it must be where executors see it.

Nothing in it outlives its use. What a crash left is removed by whoever opens the place anew.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

QUICK_BYTES_MAX = 4 << 20
"""Rows up to here, as Arrow holds them, go through the driver. An answer of 1,000 rows takes 0.25 s
of CPU that way and 0.68 s by files, one of 50,000 (3.3 MiB) 0.57 and 0.80, one of 100,000 (6.6 MiB)
1.01 and 0.76; 400,000 rows (26 MiB) end a JVM with a heap of 512 MB."""


class HandoverPlace:
    """A directory of folders that come and go. Safe to use from several threads."""

    def __init__(self, directory: Path) -> None:
        """Its content is removed: nobody else may use it."""
        self._directory = directory
        self._numbers = itertools.count(1)
        shutil.rmtree(directory, ignore_errors=True)

    @contextlib.contextmanager
    def folder(self) -> Iterator[Path]:
        """An empty folder, gone afterwards with all that is in it."""
        path = self._directory / str(next(self._numbers))
        path.mkdir(parents=True)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
