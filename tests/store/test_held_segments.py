"""Segments that nobody opens again: in memory, and in files when they are too many."""

from __future__ import annotations

import errno
from pathlib import Path

import pyarrow as pa
import pytest
from store_kit import FaultyDisk

from headwater.errors import DiskFull, DiskTrouble, SegmentDamaged
from headwater.store.held_segments import HeldSegments

TABLES = [pa.table({"pane": pa.array([n] * 100), "n": pa.array(range(100))}) for n in range(5)]
ROOM_BYTES = 2 * TABLES[0].nbytes


def store_of(directory: Path, disk: FaultyDisk | None = None) -> HeldSegments:
    """With room for two of the tables."""
    return HeldSegments(directory / "segments", disk=disk or FaultyDisk(), bytes_max=ROOM_BYTES)


def labelled(tables: list[pa.Table]) -> list[tuple[str, pa.Table]]:
    return [("hits", table) for table in tables]


def test_what_fits_needs_no_file(tmp_path: Path) -> None:
    store = store_of(tmp_path)
    segments = store.write(labelled(TABLES[:2]))
    assert [store.read(one) for one in segments] == TABLES[:2]
    assert not store.directory.exists()


def test_what_is_too_much_goes_to_files_the_oldest_first(tmp_path: Path) -> None:
    store = store_of(tmp_path)
    segments = store.write(labelled(TABLES))
    files = {path.name for path in store.directory.iterdir()}
    assert files == {one.name for one in segments[:3]}
    assert [store.read(one) for one in segments] == TABLES
    assert [one.rows for one in segments] == [100] * 5


def test_a_slice_takes_its_own_rows_to_its_file(tmp_path: Path) -> None:
    store = HeldSegments(tmp_path / "segments", disk=FaultyDisk(), bytes_max=0)
    (segment,) = store.write(labelled([TABLES[0].slice(90, 5)]))
    assert store.read(segment) == TABLES[0].slice(90, 5)
    assert (store.directory / segment.name).exists()


def test_without_room_on_the_disk_nothing_is_written_and_nothing_is_lost(tmp_path: Path) -> None:
    disk = FaultyDisk()
    store = store_of(tmp_path, disk)
    before = store.write(labelled(TABLES[:2]))
    disk.fail["write_new"] = errno.ENOSPC
    with pytest.raises(DiskFull):
        store.write(labelled(TABLES[2:4]))
    assert [store.read(one) for one in before] == TABLES[:2]
    disk.fail.clear()
    after = store.write(labelled(TABLES[2:4]))
    assert [store.read(one) for one in [*before, *after]] == TABLES[:4]


def test_what_is_removed_is_gone_from_memory_and_disk(tmp_path: Path) -> None:
    store = store_of(tmp_path)
    segments = store.write(labelled(TABLES))
    store.remove(one.name for one in segments)
    assert not list(store.directory.iterdir())
    for one in segments:
        with pytest.raises(SegmentDamaged, match="found none"):
            store.read(one)
    kept = store.write(labelled(TABLES[:2]))
    assert [store.read(one) for one in kept] == TABLES[:2]
    assert not list(store.directory.iterdir()), "their room is free again"


def test_a_disk_that_does_not_answer_is_asked_again(tmp_path: Path) -> None:
    disk = FaultyDisk()
    store = store_of(tmp_path, disk)
    segments = store.write(labelled(TABLES))
    disk.fail["read_file"] = errno.EIO
    with pytest.raises(DiskTrouble):
        store.read(segments[0])
    disk.fail.clear()
    assert store.read(segments[0]) == TABLES[0]
