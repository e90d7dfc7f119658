"""Segments on a disk that nobody opens again: tables in memory, and in files what is too much.

``headwater try`` writes some rows for each of a thousand sites, reads them once and is done. As
Parquet with a checksum, under one name and then another, they cost more than all else that is done
to commit them. Here a table stays as it is, up to ``bytes_max`` of them at a site; beyond that the
oldest go to files. These are this process's own, so nobody else vouches for their bytes.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from headwater.errors import SegmentDamaged
from headwater.store.disk import Disk, explained
from headwater.store.segments import Segment, table_image

SUFFIX = ".arrow"


class HeldSegments:
    """The same verbs as a ``SegmentStore``. Safe to use from several threads."""

    def __init__(self, directory: Path, *, disk: Disk, bytes_max: int) -> None:
        self.directory = directory
        """Made when the first file is."""
        self._disk = disk
        self._bytes_max = bytes_max
        self._bytes = 0
        self._held: dict[str, pa.Table] = {}
        """Oldest first."""
        self._turn = threading.Lock()

    def write(self, labelled: Iterable[tuple[str, pa.Table]]) -> list[Segment]:
        """One segment for each (label, table), or none where the disk has no room for those that
        must leave the memory."""
        segments: list[Segment] = []
        try:
            for _, table in labelled:
                segments.append(self._hold(table))
                self._let_go()
        except BaseException:
            self.remove(segment.name for segment in segments)
            raise
        return segments

    def _hold(self, table: pa.Table) -> Segment:
        name = f"{secrets.token_hex(8)}{SUFFIX}"
        with self._turn:
            self._held[name] = table
            self._bytes += table.nbytes
        return Segment(name, b"", table.nbytes, table.num_rows)

    def _let_go(self) -> None:
        """A table leaves the memory when it is in its file."""
        with self._turn, explained(f"writing segments in {self.directory}"):
            while self._bytes > self._bytes_max:
                name = next(iter(self._held))
                self._disk.make_directory(self.directory)
                self._disk.write_new(self.directory / name, [table_image(self._held[name])])
                self._drop(name)

    def _drop(self, name: str) -> bool:
        table = self._held.pop(name, None)
        self._bytes -= 0 if table is None else table.nbytes
        return table is not None

    def read(self, segment: Segment) -> pa.Table:
        """Raises ``SegmentDamaged`` where it is neither here nor there, ``DiskTrouble`` where it
        can't be read now."""
        table = self._held.get(segment.name)
        if table is not None:
            return table
        path = self.directory / segment.name
        with explained(f"reading {path}"):
            try:
                image = self._disk.read_file(path)
            except FileNotFoundError as error:
                raise SegmentDamaged(f"{path}: wanted {segment.rows} rows, found none") from error
        return pa.ipc.open_stream(image).read_all()

    def set_aside(self, name: str) -> None:
        """Nobody will look at it: the directory is thrown away."""
        self.remove([name])

    def remove(self, names: Iterable[str]) -> None:
        """Free what the manifest no longer names."""
        for name in names:
            with self._turn:
                if self._drop(name):
                    continue
            with contextlib.suppress(OSError):
                self._disk.remove(self.directory / name)
