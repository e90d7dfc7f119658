"""A worker's stretches of a file: each line is in one of them, whole."""

from __future__ import annotations

import io
from itertools import islice, pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.reading.strict.strict_columns import Layout, Strict
from headwater.spark.workers import line_workers
from headwater.spark.workers.line_workers import (
    LongLineError,
    Reading,
    Stretch,
    blocks_of,
    read_tasks,
)

TEXTS = st.lists(st.sampled_from([b"a", b"bc", b"", b"\n", b"\r\n", b"\r", b"long" * 9]))


def lines_of(data: bytes) -> list[bytes]:
    return [line for line in data.replace(b"\r", b"\n").split(b"\n") if line]


@given(TEXTS.map(b"".join), st.lists(st.integers(0, 120)), st.integers(1, 20))
def test_every_line_is_in_one_stretch(data: bytes, cuts: list[int], block_bytes: int) -> None:
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    found: list[bytes] = []
    for start, end in pairwise(places):
        for block in blocks_of(io.BytesIO(data), start, end, block_bytes=block_bytes):
            found += lines_of(block)
    assert found == lines_of(data)


def test_a_block_is_no_longer_than_it_must_be() -> None:
    data = b"0123456789\n" * 1_000
    blocks = list(blocks_of(io.BytesIO(data), 0, len(data), block_bytes=100))
    assert b"".join(blocks) == data
    assert max(map(len, blocks)) <= 110


def test_a_line_that_is_too_long_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_workers, "LINE_BYTES_MAX", 250)
    data = b"short\n" + b"x" * 240 + b"\n" + b"y" * 1_000 + b"\n"
    blocks = blocks_of(io.BytesIO(data), 0, len(data), block_bytes=100)
    assert b"".join(islice(blocks, 2)) == b"short\n" + b"x" * 240 + b"\n"
    with pytest.raises(LongLineError):
        next(blocks)


def test_a_mark_of_byte_order_at_the_beginning_of_a_file_is_passed_over() -> None:
    data = b"\xef\xbb\xbfa\nb\n"
    assert list(blocks_of(io.BytesIO(data), 0, len(data))) == [b"a\nb\n"]


@pytest.mark.parametrize("head", ["", "__head"])
def test_a_row_has_the_numbers_of_its_site_and_of_its_header(tmp_path: Path, head: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a,1\nb,2\n")
    layouts = (Layout(2, (0,)), Layout(2, (1,)))
    tasks = ((), (Stretch(str(path), 0, 8, site=3, head=1),))
    reading = Reading(Strict(",", ("text",)), layouts, tasks, "__site", head)
    (batch,) = read_tasks(reading, [pa.record_batch({"id": [1]})])
    assert batch.schema.names == ["value", "__made_0", "__site", *([head] if head else [])]
    assert batch.column("__made_0").to_pylist() == ["1", "2"]
    assert batch.column("__site").to_pylist() == [3, 3]
