"""Files that are read as a whole: when they are complete, once, and again when written again."""

from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from store_kit import SOURCE, CubeUser, FaultyDisk

from headwater.reading.columnar import NOT_WHOLE
from headwater.reading.form import Form
from headwater.store.follow.poll import Start
from headwater.store.input.finite import FiniteInput
from headwater.store.input.whole_files import WRITTEN_AGAIN, WholeFiles

Open = Callable[..., CubeUser]
FORMS = {
    "parquet": Form(columnar="parquet"),
    "orc": Form(columnar="orc"),
    "avro": Form(columnar="avro"),
    "json": Form(is_array=True),
}
SCHEMA = b'{"type":"record","name":"r","fields":[{"name":"value","type":"long"}]}'
AVRO = (
    b"Obj\x01\x04\x14avro.codec\x08null\x16avro.schema"
    + bytes([2 * len(SCHEMA) & 0x7F | 0x80, 1])
    + SCHEMA
    + b"\x00"
    + b"S" * 16
    + b"\x02\x02\x02"
    + b"S" * 16
)


def write(path: Path, kind: str, table: dict[str, Any] | None = None) -> bytes:
    rows = pa.table(table or {"a": [1, 2]})
    if kind == "parquet":
        pq.write_table(rows, path)
    elif kind == "orc":
        orc.write_table(rows, path)
    else:
        path.write_bytes(AVRO if kind == "avro" else b'[{"a": 1},\n {"a": 2}]\n')
    return path.read_bytes()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    return tmp_path / "files"


def follower(user: CubeUser, folder: Path, kind: str, start: Start = Start.BEGINNING) -> WholeFiles:
    return WholeFiles(
        user.cube.cuts, user.glob(folder, "*"), source=SOURCE, start=start, form=FORMS[kind]
    )


@pytest.mark.parametrize("kind", FORMS)
def test_a_file_is_taken_when_it_is_complete_and_once(
    open_cube: Open, folder: Path, kind: str
) -> None:
    user = open_cube()
    source = follower(user, folder, kind)
    data = write(folder / "whole", kind)
    for length in (2, len(data) // 2, len(data) - 2):
        (folder / "whole").write_bytes(data[:length])
        poll = source.poll(now_s=1.0)
        assert (poll.cuts, poll.is_clean) == (0, True)
        assert poll.refused, f"{length} of {len(data)} bytes"
    assert NOT_WHOLE in poll.refused[0][1]
    (folder / "whole").write_bytes(data)
    assert source.poll(now_s=2.0).cuts == 1
    assert source.poll(now_s=3.0).cuts == 0
    user.reopen()
    (folder / "whole").rename(folder / "moved")
    assert follower(user, folder, kind).poll(now_s=4.0).cuts == 0
    (chunk,) = user.cube.cuts.pending(SOURCE)
    assert chunk.is_file
    assert chunk.path.read_bytes() == data
    assert not chunk.is_doubtful


def test_what_was_there_before_is_not_read(open_cube: Open, folder: Path) -> None:
    source = follower(open_cube(), folder, "parquet", Start.END)
    write(folder / "old", "parquet")
    assert source.poll(now_s=1.0).cuts == 0
    write(folder / "new", "parquet")
    assert source.poll(now_s=2.0).cuts == 1


def test_one_that_was_written_again_is_read_again_and_marked(open_cube: Open, folder: Path) -> None:
    user = open_cube()
    source = follower(user, folder, "parquet")
    write(folder / "a", "parquet")
    source.poll(now_s=1.0)
    write(folder / "a", "parquet", {"a": [1, 2, 3]})
    poll = source.poll(now_s=2.0)
    assert [what for _, what in poll.told] == [WRITTEN_AGAIN]
    assert poll.twice_bytes > 0
    (first,) = user.cube.cuts.pending(SOURCE)
    (second,) = user.cube.cuts.pending(SOURCE, after_cut=1)
    assert [first.is_doubtful, second.is_doubtful] == [False, True]


def test_one_that_was_written_again_in_the_same_size_is_read_again(
    open_cube: Open, folder: Path
) -> None:
    source = follower(open_cube(), folder, "json")
    (folder / "a").write_bytes(b'[{"a": 1}]')
    assert source.poll(now_s=1.0).cuts == 1
    (folder / "a").write_bytes(b'[{"a": 2}]')
    os.utime(folder / "a", ns=(1, 1))
    assert source.poll(now_s=2.0).cuts == 1


def test_an_empty_file_is_no_trouble_and_read_when_something_is_in_it(
    open_cube: Open, folder: Path
) -> None:
    source = follower(open_cube(), folder, "parquet")
    (folder / "a").touch()
    poll = source.poll(now_s=1.0)
    assert (poll.cuts, poll.refused, poll.is_clean) == (0, (), True)
    write(folder / "a", "parquet")
    assert source.poll(now_s=2.0).cuts == 1


def test_files_are_taken_in_the_order_in_which_they_were_written(
    open_cube: Open, folder: Path
) -> None:
    user = open_cube()
    for name, at_s in (("a", 3), ("b", 1), ("c", 2)):
        write(folder / name, "parquet")
        os.utime(folder / name, (at_s, at_s))
    follower(user, folder, "parquet").poll(now_s=4.0)
    found = user.cube.cuts.pending(SOURCE)
    assert [Path(one.origin).name for one in found] == ["b", "c", "a"]


@pytest.mark.parametrize("verb", ["open", "read_at"])
def test_what_can_not_be_looked_at_now_makes_the_poll_unclean_and_is_taken_later(
    open_cube: Open, folder: Path, faulty_disk: FaultyDisk, verb: str
) -> None:
    source = follower(open_cube(disk=faulty_disk), folder, "json")
    write(folder / "a", "json")
    faulty_disk.fail[verb] = errno.EIO
    poll = source.poll(now_s=1.0)
    assert (poll.cuts, poll.is_clean, len(poll.refused)) == (0, False, 1)
    faulty_disk.fail.clear()
    poll = source.poll(now_s=2.0)
    assert (poll.cuts, poll.is_clean) == (1, True)


def test_what_is_out_of_sight_for_a_while_is_not_read_twice(
    open_cube: Open, folder: Path, faulty_disk: FaultyDisk
) -> None:
    source = follower(open_cube(disk=faulty_disk), folder, "json")
    write(folder / "a", "json")
    assert source.poll(now_s=1.0).cuts == 1
    faulty_disk.fail["scan"] = errno.EIO
    assert not source.poll(now_s=2.0).is_clean
    faulty_disk.fail.clear()
    poll = source.poll(now_s=3.0)
    assert (poll.cuts, poll.is_clean) == (0, True)


def test_a_full_disk_registers_nothing_leaves_nothing_and_the_next_poll_does(
    open_cube: Open, folder: Path, faulty_disk: FaultyDisk
) -> None:
    user = open_cube(disk=faulty_disk)
    source = follower(user, folder, "json")
    write(folder / "a", "json")
    faulty_disk.fail["sync_directory"] = errno.ENOSPC
    poll = source.poll(now_s=1.0)
    assert poll.stalled
    assert (poll.cuts, poll.bytes, poll.is_clean) == (0, 0, False)
    assert not any("file" in path.name for path in user.cube.cuts.spool.directory.iterdir())
    faulty_disk.fail.clear()
    assert source.poll(now_s=2.0).cuts == 1


def test_files_of_different_columns_come_in_batches_of_their_own(
    open_cube: Open, folder: Path
) -> None:
    user = open_cube()
    for name, table in (("a", {"a": [1]}), ("b", {"a": [2]}), ("c", {"a": ["x"]})):
        write(folder / name, "parquet", table)
        follower(user, folder, "parquet").poll(now_s=1.0)
    found = user.cube.cuts.pending(SOURCE)
    assert [Path(one.origin).name for one in found] == ["a", "b"]
    later = user.cube.cuts.pending(SOURCE, after_cut=found[-1].cut)
    assert [Path(one.origin).name for one in later] == ["c"]


@pytest.mark.parametrize("kind", FORMS)
def test_a_finite_input_counts_what_is_not_whole_as_lost(
    open_cube: Open, folder: Path, kind: str
) -> None:
    user = open_cube()
    data = write(folder / "good", kind)
    (folder / "half").write_bytes(data[:-2])
    source = FiniteInput(user.cube.cuts, user.glob(folder, "*"), source=SOURCE, form=FORMS[kind])
    poll = source.poll(now_s=1.0)
    assert poll.cuts == 1
    assert [Path(path).name for path, _ in poll.refused] == ["half"]


def test_a_compressed_array_is_whole_when_what_it_holds_is(open_cube: Open, folder: Path) -> None:
    user = open_cube()
    source = follower(user, folder, "json")
    (folder / "a.json.gz").write_bytes(gzip.compress(b'[{"a": 1}'))
    assert source.poll(now_s=1.0).cuts == 0
    (folder / "a.json.gz").write_bytes(gzip.compress(b'[{"a": 1}]'))
    assert source.poll(now_s=2.0).cuts == 1


def test_an_avro_file_that_holds_no_records_is_named(open_cube: Open, folder: Path) -> None:
    """Spark can't read one, and would try again for ever."""
    length, number = bytes([2 * len(SCHEMA) & 0x7F | 0x80, 1]), b'"long"'
    bare = AVRO.replace(length + SCHEMA, bytes([2 * len(number)]) + number)
    assert bare != AVRO
    (folder / "a.avro").write_bytes(bare)
    poll = follower(open_cube(), folder, "avro").poll(now_s=1.0)
    assert poll.cuts == 0
    assert "wanted a schema of records" in poll.refused[0][1]
