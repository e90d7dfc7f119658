"""Exports of a journal: records come apart at the same places, however the file is read."""

from __future__ import annotations

import pytest

from headwater.reading import journal
from headwater.reading.journal import Journal, record_end


def counted(name: str, value: bytes) -> bytes:
    """A value as the journal writes one that is not plain."""
    return name.encode() + b"\n" + len(value).to_bytes(8, "little") + value + b"\n"


def separated(text: bytes, size: int) -> list[bytes]:
    one = Journal()
    found = b"".join(one.next(text[at : at + size]) for at in range(0, len(text), size))
    found += one.next(b"", is_last=True)
    return found.removesuffix(b"\x1e").split(b"\x1e")


PLAIN = b"A=1\nB=2\n\nA=3\n\nA=4\n"
ODD = (
    b"A=1\n"
    + counted("MESSAGE", b"one\n\nA=9\n")
    + b"B=2\n\n"
    + counted("CORE", b"\xff\x00\n\n\n")
    + b"A=3\n\n"
    + counted("MESSAGE", b"x\x1ey")
    + counted("EMPTY", b"")
    + b"A=4\n\nA=5\n"
)


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_records_come_apart_at_empty_lines(size: int) -> None:
    assert separated(PLAIN, size) == [b"A=1\nB=2", b"A=3", b"A=4"]
    assert separated(PLAIN.replace(b"\n", b"\r\n"), size) == [b"A=1\nB=2", b"A=3", b"A=4"]


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_what_a_counted_value_holds_ends_no_record_and_no_field(size: int) -> None:
    first, second, third, last = separated(ODD, size)
    assert first == b"A=1\nMESSAGE=one\n\x1f\n\x1fA=9\n\x1f\nB=2"
    assert second == b"CORE=\x1f5 bytes that are not UTF-8\nA=3"
    assert third == (b"MESSAGE=\x1f3 bytes with control characters that no text has\nEMPTY=\nA=4")
    assert last == b"A=5"


def test_a_cut_falls_between_records_wherever_the_file_ends() -> None:
    ends = {record_end(ODD[:count]) for count in range(len(ODD) + 1)}
    starts = [ODD.index(b"CORE"), ODD.rindex(b"MESSAGE"), ODD.index(b"A=5")]
    assert ends == {0, *starts}


def test_a_value_that_is_too_long_is_told_and_what_follows_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(journal, "FIELD_BYTES_MAX", 10)
    text = b"A=1\n" + counted("CORE", b"\n\nA=7\n" * 9) + b"B=2\n\nA=3\n\n"
    for size in (1, 5, 1000):
        assert separated(text, size) == [
            b"A=1\nCORE=\x1f54 bytes, more than are taken (10)\nB=2",
            b"A=3",
        ]
    assert record_end(text) == len(text)


def test_a_name_that_no_value_follows_swallows_nothing() -> None:
    """Eight letters are no size, and where no line feed follows the bytes they were none."""
    text = b"JUNK\nA=1\nB=2\nC=3\n\nSHORT\n\x02\0\0\0\0\0\0\0abc\nA=4\n\nA=5\n\n"
    first, second, third = separated(text, 7)
    assert first == b"JUNK\nA=1\nB=2\nC=3"
    assert (second.startswith(b"SHORT\n"), second.endswith(b"\nA=4")) == (True, True)
    assert third == b"A=5"


def test_a_value_that_the_file_ends_in_is_told_to_be_cut_off() -> None:
    text = b"A=1\n\nA=2\n" + counted("MESSAGE", b"long")[:-3]
    assert separated(text, 5) == [b"A=1", b"A=2\nMESSAGE=\x1fa value that is cut off"]
