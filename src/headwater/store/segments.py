"""Immutable Parquet files with a checksum that is kept elsewhere.

A segment is written beside its final name, synced, renamed, and its directory synced; many at a
time, so that the directory is synced once. It counts from the moment the manifest names it. The
checksum lives in the manifest: a file can't vouch for itself, and a disk that returns old or
foreign bytes returns them with their own, valid, footer.

A damaged segment is moved to ``quarantine`` and never deleted: someone may want to look, and a
wrong checksum has been the checksum's fault before.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import secrets
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from headwater.errors import DiskTrouble, SegmentDamaged
from headwater.store.disk import Disk, explained, identity_of, make_durably
from headwater.store.table_cache import TableCache

CHECKSUM_BYTES = 16
CACHE_BYTES_MAX = 64 << 20
"""Tables of recent segments stay in memory: a pane is usually cut soon after it was written."""
SUFFIX = ".parquet"
UNFINISHED = ".unfinished"


class Segment(msgspec.Struct, frozen=True):
    """What the manifest remembers of one file."""

    name: str
    checksum: bytes
    bytes: int
    rows: int


class SegmentStore:
    """A directory of segments. Safe to use from several threads."""

    def __init__(
        self, directory: Path, *, disk: Disk, cache_bytes_max: int = CACHE_BYTES_MAX
    ) -> None:
        self.directory = directory
        self.quarantine_directory = directory.parent / "quarantine"
        self._disk = disk
        self._cache = TableCache(cache_bytes_max)
        with explained(f"making {directory}"):
            make_durably(disk, directory)
            make_durably(disk, self.quarantine_directory)
            self._identity = identity_of(disk, directory)

    def write(self, labelled: Iterable[tuple[str, pa.Table]]) -> list[Segment]:
        """Write one segment for each (label, table); all are durable on return, or none stays.

        They are taken one after the other: of many tables one is in memory, and what the cache has.
        """
        segments: list[Segment] = []
        with explained(f"writing segments in {self.directory}"):
            try:
                for label, table in labelled:
                    image = parquet_image(table)
                    name = f"{_plain(label)}-{secrets.token_hex(8)}{SUFFIX}"
                    self._disk.write_new(self._unfinished(name), [image])
                    self._cache.put(name, table)
                    segments.append(Segment(name, checksum_of(image), len(image), table.num_rows))
                self._finish(segments)
            except BaseException:
                self._undo(segments)
                raise
        return segments

    def _finish(self, segments: list[Segment]) -> None:
        self._disk.sync_files([self._unfinished(segment.name) for segment in segments])
        for segment in segments:
            self._disk.rename(self._unfinished(segment.name), self.directory / segment.name)
        if segments:
            self._disk.sync_directory(self.directory)

    def _undo(self, segments: list[Segment]) -> None:
        for segment in segments:
            self._cache.drop(segment.name)
            for path in (self._unfinished(segment.name), self.directory / segment.name):
                with contextlib.suppress(OSError):
                    self._disk.remove(path)

    def _unfinished(self, name: str) -> Path:
        return (self.directory / name).with_suffix(UNFINISHED)

    def read(self, segment: Segment) -> pa.Table:
        """The table, checked against the manifest's checksum unless it is still in memory.

        Raises ``SegmentDamaged`` where the bytes are there and wrong, or gone from a directory
        that is there; ``DiskTrouble`` where they can't be read now.
        """
        table = self._cache.get(segment.name)
        if table is not None:
            return table
        path = self.directory / segment.name
        with explained(f"reading {path}"):
            try:
                image = self._disk.read_file(path)
            except FileNotFoundError as error:
                self._refuse_if_elsewhere()
                raise SegmentDamaged(f"{path}: wanted {segment.bytes} bytes, found none") from error
        if len(image) != segment.bytes or checksum_of(image) != segment.checksum:
            raise self._quarantined(segment, len(image))
        table = pq.read_table(pa.BufferReader(image))
        self._cache.put(segment.name, table)
        return table

    def _refuse_if_elsewhere(self) -> None:
        """A file that is not there may be on a disk that is not mounted just now."""
        if identity_of(self._disk, self.directory) != self._identity:
            raise DiskTrouble(
                f"{self.directory}: this is not the directory that was opened; is its disk mounted?"
            )

    def _quarantined(self, segment: Segment, found_bytes: int) -> SegmentDamaged:
        self.set_aside(segment.name)
        return SegmentDamaged(
            f"{self.directory / segment.name}: wanted {segment.bytes} bytes with checksum "
            f"{segment.checksum.hex()}, got {found_bytes} other bytes; "
            f"moved to {self.quarantine_directory}"
        )

    def set_aside(self, name: str) -> None:
        with explained(f"quarantining {name}"):
            self._disk.rename(self.directory / name, self.quarantine_directory / name)
            # Or a power cut brings it back, to be swept as nobody's.
            self._disk.sync_directory(self.quarantine_directory)
            self._disk.sync_directory(self.directory)

    def remove(self, names: Iterable[str]) -> None:
        """Free what the manifest no longer names. What can't be removed now is swept later."""
        for name in names:
            self._cache.drop(name)
            with contextlib.suppress(OSError):
                self._disk.remove(self.directory / name)

    def sweep(self, known: set[str]) -> int:
        """At the start: remove what a crash left between writing and committing."""
        removed = 0
        with explained(f"sweeping {self.directory}"):
            for entry in self._disk.scan(self.directory):
                ours = entry.name.endswith((SUFFIX, UNFINISHED))
                if ours and entry.name not in known:
                    self._disk.remove(self.directory / entry.name)
                    removed += 1
        return removed


def parquet_image(table: pa.Table) -> memoryview:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", write_statistics=False)
    return memoryview(sink.getvalue())


def table_image(table: pa.Table) -> memoryview:
    """A table as one compressed Arrow stream."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return memoryview(sink.getvalue())


def checksum_of(image: bytes | memoryview) -> bytes:
    return hashlib.blake2b(image, digest_size=CHECKSUM_BYTES).digest()


def _plain(label: str) -> str:
    """The part of a query id that reads well in a file name."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", label)[:40].strip("-") or "segment"
