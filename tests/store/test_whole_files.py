"""Files that are read as a whole: when they are complete, once, and again when written again."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from store_kit import SOURCE, CubeUser

from headwater.reading.columnar import NOT_WHOLE
from headwater.reading.form import Form
from headwater.store.finite import FiniteInput
from headwater.store.poll import Start
from headwater.store.whole_files import WRITTEN_AGAIN, WholeFiles

Open = Callable[..., CubeUser]
FORMS = {
    "parquet": Form(columnar="parquet"),
    "orc": Form(columnar="orc"),
    "avro": Form(columnar="avro"),
    "json": Form(is_array=True),
}
SCHEMA = b'{"type":"record","name":"r","fields":[{"name":"value","type":"long"}]}'
AVRO = (
    b"Obj\x01\x04\x14avro.codec\x08null\x16avro.schema" + bytes([2 * len(SCHEMA) & 0x7F | 0x80, 1])
    + SCHEMA + b"\x00" + b"S" * 16 + b"\x02\x02\x02" + b"S" * 16
)  # fmt: skip


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
        user.cube.cuts, source=SOURCE, directory=folder, pattern="*", start=start, form=FORMS[kind]
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
    source = FiniteInput(
        user.cube.cuts, source=SOURCE, directory=folder, pattern="*", form=FORMS[kind]
    )
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
