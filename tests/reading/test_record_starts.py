"""Records that begin with a line of a certain form: where they are, whatever the blocks."""

from __future__ import annotations

import random
import re

import pytest

from headwater.reading import record_starts as module
from headwater.reading.record_starts import Joining, record_starts, starts_in_file
from headwater.reading.records import SEPARATOR
from headwater.reading.text import Encoding

START = r"\d"


def parts(text: bytes, *, block_bytes: int = 1 << 20) -> list[bytes]:
    one = Joining(START)
    blocks = [text[at : at + block_bytes] for at in range(0, len(text), block_bytes)]
    data = b"".join([*(one.next(block) for block in blocks), one.next(b"", is_last=True)])
    return data.removesuffix(SEPARATOR).split(SEPARATOR) if data else []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (b"", []),
        (b"1 a\n2 b\n", [b"1 a", b"2 b"]),
        (b"1 a\n2 b", [b"1 a", b"2 b"]),
        (b"1 a\n\tat x\n\tat y\n2 b\n", [b"1 a\n\tat x\n\tat y", b"2 b"]),
        (b"1 a\r\n\tat x\r\n2 b\r\n", [b"1 a\n\tat x", b"2 b"]),
        (b"1 a\n\nx\n\n\n2 b\n\n", [b"1 a\n\nx", b"2 b"]),
        (b"banner\nmore\n1 a\n", [b"banner\nmore", b"1 a"]),
        (b"\n\n1 a\n", [b"", b"1 a"]),
        (b"x 1\n", [b"x 1"]),
        (b"1 \xff\n\xfe 2\n2 b\n", [b"1 \xff\n\xfe 2", b"2 b"]),
    ],
)
def test_lines_that_begin_otherwise_go_on_with_the_record_before(
    text: bytes, wanted: list[bytes]
) -> None:
    assert parts(text) == wanted


def reference(text: str) -> list[str]:
    """Line by line."""
    records: list[list[str]] = []
    for line in text.replace("\r\n", "\n").removesuffix("\n").split("\n"):
        if not records or re.match(START, line):
            records.append([])
        records[-1].append(line)
    return ["\n".join(lines).rstrip("\n") for lines in records]


@pytest.mark.parametrize("seed", range(20))
def test_blocks_of_any_length_give_the_same_records(seed: int) -> None:
    draw = random.Random(seed)
    pieces = ("1", "22 x", "\n", "\r\n", "\tat y", "", "ä€", "Caused by: 1")
    text = "".join(draw.choice(pieces) + draw.choice(("\n", "\r\n", "")) for _ in range(200))
    text = text.replace("\r\n", "\n") if seed % 2 else text
    wanted = [one.encode() for one in reference(text)]
    for block_bytes in (1, 2, 3, 7, 64, 10_000):
        assert parts(text.encode(), block_bytes=block_bytes) == wanted


def test_a_record_that_never_ends_is_cut_at_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RECORD_BYTES_MAX", 10)
    text = b"1 a\nbbbb\ncccc\ndddd\n" + b"e" * 30 + b"\n2 f\n"
    wanted = [b"1 a\nbbbb", b"cccc\ndddd", b"e" * 30, b"2 f"]
    for block_bytes in (1, 5, 100):
        assert parts(text, block_bytes=block_bytes) == wanted
    assert record_starts(text, START).tolist() == [0, 9, 19, 50]


@pytest.mark.parametrize("name", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-be", "iso8859-1"])
def test_records_begin_at_the_same_lines_in_every_encoding(name: str) -> None:
    lines = [
        "1 ä\n",
        "\tat x\n",
        "22 \u010a\u0a0a\n" if name.startswith("utf") else "22\n",
        "3 b\n",
    ]
    block = "".join([*lines, "4 unfinish"]).encode(name)
    found = starts_in_file(block, START, Encoding(name))
    ends = [len("".join(lines[:n]).encode(name)) for n in (0, 2, 3)]
    assert found.tolist() == ends


def test_what_begins_a_record_may_be_no_ascii() -> None:
    block = "ä 1\n\tat x\nä 2\n".encode("latin1")
    assert starts_in_file(block, "ä", Encoding("iso8859-1")).tolist() == [0, 10]


def test_the_rest_of_a_record_begins_none() -> None:
    block = b"\tat x\n\tat y\n1 a\n"
    assert starts_in_file(block, START, Encoding(), is_rest=True).tolist() == [12]
    assert starts_in_file(b"\tat x\n", START, Encoding(), is_rest=True).tolist() == []
    assert starts_in_file(b"1 a\n", START, Encoding(), is_rest=True).tolist() == [0]
    assert starts_in_file(b"", START, Encoding()).tolist() == []
