"""Whether files that are read as a whole are complete."""

from __future__ import annotations

import gzip

import pytest

from headwater.reading import whole
from headwater.reading.expand import Damaged, Incomplete, ReadAt
from headwater.reading.form import Form
from headwater.reading.whole import END_BYTES, look_whole

ARRAY = Form(is_array=True)
DATA = b'[{"a": 1},\n{"a": 2}]'


def of(data: bytes) -> ReadAt:
    return lambda count, offset: data[offset : offset + count]


def look(data: bytes, name: str = "a.json") -> str:
    return look_whole(of(data), len(data), name, ARRAY)


def test_blanks_may_follow_an_array_and_nothing_else() -> None:
    assert look(DATA + b" \r\n" * 9) == ""
    for bad in (DATA[:-1], DATA + b"x", DATA + b" " * END_BYTES):
        with pytest.raises(Incomplete, match="has no end"):
            look(bad)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_the_end_of_an_array_is_found_in_the_encoding_that_its_mark_says(encoding: str) -> None:
    long = f'[{{"a": "{"ü" * END_BYTES}"}}]'.encode(encoding)
    assert look(long) == ""
    with pytest.raises(Incomplete):
        look(long[:-1])


def test_an_array_that_expands_to_more_than_there_may_be_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packed = gzip.compress(DATA)
    assert look(packed, "a.json.gz") == ""
    monkeypatch.setattr(whole, "EXPANDED_BYTES_MAX", len(DATA) - 1)
    with pytest.raises(Damaged, match="holds more than"):
        look(packed, "a.json.gz")
