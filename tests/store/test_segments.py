"""Segments: what is written is read back, or it is known to be damaged."""

from __future__ import annotations

import datetime
import errno
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from store_kit import FaultyDisk

from headwater.errors import DiskFull, SegmentDamaged, StoreError
from headwater.store.segments import Segment, SegmentStore

TABLE = pa.table(
    {
        "page": pa.array(["/", "/ü", None]),
        "n": pa.array([1, -(2**63), 2**63 - 1], pa.int64()),
        "price": pa.array([Decimal("1.20"), None, Decimal("-0.01")], pa.decimal128(38, 2)),
        "ratio": pa.array([float("nan"), -0.0, 1e308]),
        "sketch": pa.array([b"\x00\xff", b"", None], pa.binary()),
        "at": pa.array([datetime.datetime(1969, 1, 1), None, None], pa.timestamp("us", tz="UTC")),
        "day": pa.array([datetime.date(2026, 1, 1), None, None]),
        "ok": pa.array([True, None, False]),
    },
    schema=pa.schema(
        [
            pa.field("page", pa.string()),
            pa.field("n", pa.int64(), nullable=False),
            pa.field("price", pa.decimal128(38, 2)),
            pa.field("ratio", pa.float64()),
            pa.field("sketch", pa.binary()),
            pa.field("at", pa.timestamp("us", tz="UTC")),
            pa.field("day", pa.date32()),
            pa.field("ok", pa.bool_()),
        ]
    ),
)


def cold(directory: Path, disk: FaultyDisk | None = None) -> SegmentStore:
    """A store that keeps nothing in memory."""
    return SegmentStore(directory / "segments", disk=disk or FaultyDisk(), cache_bytes_max=0)


def written(store: SegmentStore) -> Segment:
    (segment,) = store.write([("hits@home#1", TABLE)])
    return segment


def test_a_table_comes_back_with_its_schema_and_extremes(tmp_path: Path) -> None:
    store = cold(tmp_path)
    back = store.read(written(store))
    assert back.schema.equals(TABLE.schema)
    assert str(back.to_pydict()) == str(TABLE.to_pydict())


def test_anything_can_read_a_segment_by_its_name(tmp_path: Path) -> None:
    store = cold(tmp_path)
    segment = written(store)
    import pyarrow.parquet as pq

    assert segment.name.startswith("hits-home-1-")
    assert pq.read_table(store.directory / segment.name).num_rows == 3


@pytest.mark.parametrize("place", [0.0, 0.3, 0.6, 0.99])
def test_a_flipped_bit_is_detected_and_the_file_is_set_aside(tmp_path: Path, place: float) -> None:
    store = cold(tmp_path)
    segment = written(store)
    path = store.directory / segment.name
    image = bytearray(path.read_bytes())
    image[int(place * len(image))] ^= 0x10
    path.write_bytes(image)
    with pytest.raises(SegmentDamaged, match=segment.name):
        store.read(segment)
    assert not path.exists()
    assert (store.quarantine_directory / segment.name).read_bytes() == bytes(image)


def test_a_shortened_or_missing_segment_is_damaged(tmp_path: Path) -> None:
    store = cold(tmp_path)
    short, missing = written(store), written(store)
    path = store.directory / short.name
    path.write_bytes(path.read_bytes()[:-1])
    (store.directory / missing.name).unlink()
    for segment in (short, missing):
        with pytest.raises(SegmentDamaged):
            store.read(segment)


@pytest.mark.parametrize(
    "verb", ["write_new", "write_all", "sync_file", "rename", "sync_directory"]
)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_write_that_fails_anywhere_leaves_no_file(tmp_path: Path, verb: str, code: int) -> None:
    disk = FaultyDisk()
    store = cold(tmp_path, disk)
    disk.fail[verb] = code
    with pytest.raises(DiskFull if code == errno.ENOSPC else StoreError):
        store.write([("a", TABLE), ("b", TABLE)])
    assert list(store.directory.iterdir()) == []
    disk.fail.clear()
    assert store.read(written(store)).num_rows == 3


def test_the_sweep_removes_strays_and_keeps_what_is_known(tmp_path: Path) -> None:
    store = cold(tmp_path)
    known, stray = written(store), written(store)
    (store.directory / "half-1.unfinished").write_bytes(b"x")
    (store.directory / "notes.txt").write_bytes(b"not ours")
    assert store.sweep({known.name}) == 2
    assert {path.name for path in store.directory.iterdir()} == {known.name, "notes.txt"}
    assert stray.name != known.name


def test_many_segments_cost_one_sync_of_their_directory(tmp_path: Path) -> None:
    disk = FaultyDisk()
    store = cold(tmp_path, disk)
    disk.calls.clear()
    store.write([(str(n), TABLE) for n in range(20)])
    assert disk.calls["sync_directory"] == 1
    assert disk.calls["sync_file"] == 20
