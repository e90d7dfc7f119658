"""Compressed files of a followed source: complete ones are read, once, whoever compressed what."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from follow_kit import Follow
from store_kit import FaultyDisk

from headwater.reading.expand import CUT_OFF
from headwater.store.follow.poll import FollowConfig, Start
from headwater.store.input import expansions

PACKED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}
TEXT = "".join(f"line {number} of the first file\n" for number in range(400))
Make = Callable[..., Follow]


def pack(path: Path, text: str | None = None, *, suffix: str = ".gz") -> Path:
    """As gzip does: what it packs is gone afterwards, unless the text is given."""
    data = path.read_bytes() if text is None else text.encode()
    target = path.with_name(path.name + suffix)
    target.write_bytes(PACKED[suffix](data))
    if text is None:
        path.unlink()
    return target


@pytest.fixture
def one(follow: Make) -> Follow:
    return follow(pattern="*.log*")


def said_of(poll: object, name: str) -> str:
    refused: dict[str, str] = {Path(path).name: why for path, why in poll.refused}  # type: ignore[attr-defined]
    return refused.get(name, "")


@pytest.mark.parametrize("suffix", PACKED)
def test_a_complete_file_is_read_once(one: Follow, suffix: str) -> None:
    pack(one.logs / "a.log", TEXT, suffix=suffix)
    assert one.poll().is_clean
    one.poll()
    one.restart()
    one.poll()
    assert one.text() == TEXT


def test_one_that_appears_later_is_new(follow: Make) -> None:
    one = follow(pattern="*.log*", start=Start.END)
    pack(one.logs / "a.log", "before\n")
    one.poll()
    pack(one.logs / "b.log", "after\n")
    assert one.poll().is_clean
    assert one.text() == "after\n"


def test_one_that_was_there_before_is_never_read_nor_expanded(
    follow: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = follow(pattern="*.log*", start=Start.END)
    path = pack(one.logs / "a.log.1", TEXT)
    monkeypatch.setattr(expansions, "Expanded", lambda *_, **__: pytest.fail("it was expanded"))
    one.poll()
    path.rename(one.logs / "a.log.2.gz")
    one.poll()
    one.restart()
    one.poll()
    assert one.text() == ""


def test_what_has_the_inode_of_an_old_one_is_new(follow: Make) -> None:
    one = follow(pattern="*.log*", start=Start.END)
    path = pack(one.logs / "a.log.9", "before\n")
    one.poll()
    path.write_bytes(gzip.compress(b"another one, of another time\n"))
    one.poll()
    assert one.text() == "another one, of another time\n"


def test_a_log_that_is_rotated_into_an_archive_is_not_read_twice(one: Follow) -> None:
    path = one.write("a.log", TEXT)
    one.poll()
    path.rename(one.logs / "a.log.1")
    one.write("a.log", "next\n")
    one.poll()
    pack(one.logs / "a.log.1")
    one.poll()
    one.poll(after_s=100.0)
    assert one.poll().is_clean
    assert one.text() == TEXT + "next\n"


@pytest.mark.parametrize("pattern", ["*.log*", "*.log"])
def test_what_was_not_read_before_a_log_became_an_archive_is_read_there(
    follow: Make, pattern: str
) -> None:
    """While nobody looked: the agent was down."""
    one = follow(pattern=pattern)
    path = one.write("a.log", TEXT)
    one.poll()
    one.follower.close()
    with path.open("a") as file:
        file.write("and more\n")
    path.rename(one.logs / "a.log.1")
    pack(one.logs / "a.log.1")
    one.write("a.log", "the next file begins\n")
    one.restart()
    poll = one.poll()
    one.poll()
    assert sorted(one.text().splitlines()) == sorted(
        [*TEXT.splitlines(), "and more", "the next file begins"]
    )
    assert (poll.lost_bytes, poll.twice_bytes) == (0, 0)


def test_an_archive_beside_its_log_is_a_copy(one: Follow) -> None:
    one.write("a.log", TEXT)
    one.poll()
    pack(one.logs / "a.log", TEXT)
    poll = one.poll()
    assert said_of(poll, "a.log.gz") == f"a copy of {one.logs}/a.log: not read twice"
    assert one.text() == TEXT


def test_one_that_is_still_being_written_is_named_and_read_when_it_is_complete(one: Follow) -> None:
    data = gzip.compress(TEXT.encode())
    for length in (3, 20, len(data) // 2, len(data) - 1):
        (one.logs / "a.log.gz").write_bytes(data[:length])
        poll = one.poll()
        assert poll.is_clean, "a damaged file must not hold up all windows for ever"
        assert said_of(poll, "a.log.gz")
    assert said_of(poll, "a.log.gz") == CUT_OFF
    assert one.text() == ""
    (one.logs / "a.log.gz").write_bytes(data)
    assert one.poll().refused == ()
    assert one.text() == TEXT


def test_members_that_are_appended_are_read_on(one: Follow) -> None:
    path = pack(one.logs / "a.log", TEXT)
    one.poll()
    more = gzip.compress(b"more\n")
    with path.open("ab") as file:
        file.write(more[:9])
    one.poll()
    assert one.text() == TEXT
    with path.open("ab") as file:
        file.write(more[9:])
    one.poll()
    assert one.text() == TEXT + "more\n"


def test_one_that_could_not_be_looked_into_when_it_changed_is_looked_into_later(
    follow: Make, faulty_disk: FaultyDisk
) -> None:
    one = follow(pattern="*.log*", disk=faulty_disk)
    path = pack(one.logs / "a.log", TEXT)
    one.poll()
    one.restart()
    with path.open("ab") as file:
        file.write(gzip.compress(b"more\n"))
    faulty_disk.fail["read_at"] = errno.EIO
    assert not one.poll().is_clean
    faulty_disk.fail.clear()
    assert one.poll().is_clean
    assert one.text() == TEXT + "more\n"


def test_a_new_one_that_can_not_be_looked_into_makes_the_poll_unclean(
    follow: Make, faulty_disk: FaultyDisk
) -> None:
    one = follow(pattern="*.log*", disk=faulty_disk)
    pack(one.logs / "a.log", TEXT)
    faulty_disk.fail["read_at"] = errno.EIO
    poll = one.poll()
    assert not poll.is_clean
    assert said_of(poll, "a.log.gz")
    faulty_disk.fail.clear()
    assert one.poll().is_clean
    assert one.text() == TEXT


def test_one_that_was_written_anew_in_the_same_size_and_holds_more_is_read(one: Follow) -> None:
    path = one.logs / "a.log.gz"
    short, long = (gzip.compress(text.encode(), mtime=0) for text in (TEXT, TEXT + "more\n" * 9))
    path.write_bytes(short.ljust(len(long), b"\0"))
    one.poll()
    path.write_bytes(long)
    os.utime(path, ns=(1, 1))
    one.poll()
    assert one.text() == TEXT + "more\n" * 9


def test_of_several_expansions_the_one_that_was_asked_for_last_goes_on() -> None:
    found, packed = expansions.Expansions(), gzip.compress(TEXT.encode())

    def of(number: int) -> object:
        return found.of(
            (1, number), lambda count, at: packed[at : at + count], packed=".gz", stamp=(1, 1)
        )

    made = [of(number) for number in range(expansions.EXPANSIONS_MAX + 1)]
    assert of(expansions.EXPANSIONS_MAX) is made[-1]
    assert of(1) is made[1]
    assert of(0) is not made[0]


def test_a_damaged_file_is_named_and_looked_at_again_only_when_it_changes(
    one: Follow, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one.logs / "a.log.gz").write_bytes(b"no gzip at all")
    assert "can't be expanded as .gz" in said_of(one.poll(), "a.log.gz")
    monkeypatch.setattr(expansions, "Expanded", lambda *_, **__: pytest.fail("it was expanded"))
    assert "can't be expanded as .gz" in said_of(one.poll(), "a.log.gz")


def test_one_that_holds_too_much_is_named(one: Follow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expansions, "EXPANDED_BYTES_MAX", 100)
    pack(one.logs / "a.log", TEXT)
    assert "holds more than" in said_of(one.poll(), "a.log.gz")
    assert one.text() == ""


def test_after_a_restart_nothing_is_expanded_that_was_read(
    one: Follow, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = pack(one.logs / "a.log", TEXT)
    os.utime(path, (1, 1))
    one.poll()
    one.restart()
    monkeypatch.setattr(
        expansions.Expansions, "size", lambda *_, **__: pytest.fail("it was measured")
    )
    one.poll()
    assert one.text() == TEXT


def test_a_last_line_needs_no_end(one: Follow) -> None:
    pack(one.logs / "a.log", "first\nlast")
    one.poll()
    assert one.text() == "first\nlast"


def test_a_large_one_is_read_over_several_polls_and_held_meanwhile(follow: Make) -> None:
    config = FollowConfig(cut_bytes_max=1_000, line_bytes_max=100, poll_bytes_max=3_000)
    one = follow(pattern="*.log*", config=config)
    path = pack(one.logs / "a.log", TEXT)
    one.poll()
    path.unlink()
    one.restart()
    for _ in range(10):
        one.poll()
    assert one.text() == TEXT


def test_archives_that_are_gone_are_not_remembered(follow: Make) -> None:
    one = follow(pattern="*.log*", start=Start.END)
    path = pack(one.logs / "a.log.1", "before\n")
    one.poll()
    places = one.follower._watch.places
    assert places is not None
    assert len(places.archives) == 1
    path.unlink()
    one.poll()
    assert one.follower._watch.places.archives == frozenset()
