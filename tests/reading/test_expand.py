"""Compressed files as what they hold."""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import lzma
import random
from collections.abc import Callable

import pytest
import zstandard

from headwater.reading import expand
from headwater.reading.expand import Damaged, Expanded, Incomplete, ReadAt, head_of

PACKED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}
RNG = random.Random(20261117)
TEXT = b"".join(b"%d,line,%d\n" % (n, RNG.randrange(10**9)) for n in range(20_000))
SIZE_MAX = 1 << 30


def of(data: bytes) -> ReadAt:
    return lambda count, offset: data[offset : offset + count]


@pytest.mark.parametrize("suffix", PACKED)
def test_any_stretch_is_read_whatever_was_read_before(suffix: str) -> None:
    rng = random.Random(7)
    one = Expanded(of(PACKED[suffix](TEXT)), suffix=suffix)
    for _ in range(40):
        offset, count = rng.randrange(len(TEXT) + 9), rng.choice([1, 300, 70_000, 200_000])
        assert one.read_at(count, offset) == TEXT[offset : offset + count]


@pytest.mark.parametrize("suffix", PACKED)
def test_several_members_and_empty_ones_are_one_file(suffix: str) -> None:
    pack = PACKED[suffix]
    raw = pack(TEXT) + pack(b"") + pack(b"last\n")
    assert Expanded(of(raw), suffix=suffix).size(bytes_max=SIZE_MAX) == len(TEXT) + 5
    assert Expanded(of(pack(b"")), suffix=suffix).size(bytes_max=SIZE_MAX) == 0


@pytest.mark.parametrize("suffix", PACKED)
def test_a_file_that_is_cut_off_anywhere_is_incomplete(suffix: str) -> None:
    raw = PACKED[suffix](TEXT)
    for length in (5, 20, len(raw) // 2, len(raw) - 4, len(raw) - 1):
        with pytest.raises(Incomplete):
            Expanded(of(raw[:length]), suffix=suffix).size(bytes_max=SIZE_MAX)
    second = raw + raw[: len(raw) // 2]
    with pytest.raises(Incomplete):
        Expanded(of(second), suffix=suffix).size(bytes_max=SIZE_MAX)


@pytest.mark.parametrize("suffix", PACKED)
def test_what_is_not_what_its_name_says_is_damaged(suffix: str) -> None:
    raw = bytearray(PACKED[suffix](TEXT))
    raw[len(raw) // 2 : len(raw) // 2 + 4] = b"\x00\xff\x55\xaa"
    for data in (bytes(raw), TEXT):
        with pytest.raises(Damaged, match="can't be expanded"):
            Expanded(of(data), suffix=suffix).size(bytes_max=SIZE_MAX)


def test_zeros_after_the_end_are_no_content() -> None:
    for suffix in (".gz", ".xz"):
        raw = PACKED[suffix](b"one\n") + b"\0" * 512
        assert Expanded(of(raw), suffix=suffix).size(bytes_max=SIZE_MAX) == 4


def test_more_than_is_wanted_is_not_expanded() -> None:
    raw = gzip.compress(bytes(10 << 20))
    assert Expanded(of(raw), suffix=".gz").size(bytes_max=1 << 20) is None


def test_reading_on_and_looking_at_the_beginning_does_not_begin_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As followers do at every poll: the head, the tail of what was read, and what follows."""
    begun = []
    opened = expand._opened

    def counting(read_at: ReadAt, suffix: str) -> object:
        begun.append(suffix)
        return opened(read_at, suffix)

    monkeypatch.setattr(expand, "_opened", counting)
    one = Expanded(of(gzip.compress(TEXT)), suffix=".gz")
    for position in range(0, len(TEXT), 100_000):
        assert one.read_at(1024, 0) == TEXT[:1024]
        start = max(0, position - 256)
        assert one.read_at(position - start, start) == TEXT[start:position]
        assert one.read_at(100_000, position) == TEXT[position : position + 100_000]
    assert begun == [".gz"]


@pytest.mark.parametrize("suffix", PACKED)
def test_after_a_read_that_failed_the_next_one_is_right(suffix: str) -> None:
    raw, rng = PACKED[suffix](TEXT), random.Random(3)

    def read_at(count: int, offset: int) -> bytes:
        if rng.random() < 0.3:
            raise OSError(errno.EAGAIN, "not now")
        return raw[offset : offset + min(count, 20_000)]

    one, done = Expanded(read_at, suffix=suffix), 0
    for _ in range(200):
        with contextlib.suppress(BlockingIOError):
            assert one.read_at(50_000, 100_000) == TEXT[100_000:150_000]
            done += 1
    assert done


def test_the_first_bytes_are_those_of_what_a_file_holds() -> None:
    assert head_of(of(gzip.compress(TEXT)), "a.csv.gz", 10) == TEXT[:10]
    assert head_of(of(TEXT), "a.csv", 10) == TEXT[:10]


def test_a_file_that_holds_as_much_as_is_wanted_is_expanded() -> None:
    packed = of(gzip.compress(TEXT))
    assert Expanded(packed, suffix=".gz").size(bytes_max=len(TEXT)) == len(TEXT)
    assert Expanded(packed, suffix=".gz").size(bytes_max=len(TEXT) - 1) is None


def test_a_file_that_asks_for_too_much_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expand, "XZ_MEMORY_MAX", 1 << 16)
    with pytest.raises(Damaged, match="emory"):
        Expanded(of(lzma.compress(TEXT)), suffix=".xz").size(bytes_max=SIZE_MAX)
