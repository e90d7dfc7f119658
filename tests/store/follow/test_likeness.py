"""The small rules by which a follower tells files, folders and times apart."""

from __future__ import annotations

import msgspec
import pytest

from headwater.store.disk import Disk
from headwater.store.follow.followed_file import Followed, begun_anew, extended, likeness
from headwater.store.follow.listing import Found, Listing, joined
from headwater.store.follow.places import Places
from headwater.store.follow.poll import FollowConfig
from headwater.store.follow.poll_round import Look
from headwater.store.follow.whereabouts import Whereabouts
from headwater.store.recognise import comparison
from headwater.store.recognise.comparison import Comparisons, holds_end
from headwater.store.recognise.copies import Suspects
from headwater.store.recognise.departed import Departed
from headwater.store.recognise.identity import Print, ReadAt


def test_what_one_of_two_looks_could_not_see_is_not_seen() -> None:
    first, second = Listing({}, {}, {}, partial={"/logs"}), Listing({}, {}, {})
    assert joined(first, second).partial == joined(second, first).partial == {"/logs"}


def test_a_line_that_lies_across_two_blocks_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "BLOCK_BYTES", 8)
    data = b"1234\nabcdef\n5678\n"

    def read_at(count: int, offset: int) -> bytes:
        return data[offset : offset + count]

    assert holds_end(Print(7, b"abcdef\n", b"abcdef\n"), read_at, len(data))
    assert not holds_end(Print(7, b"abcxef\n", b"abcxef\n"), read_at, len(data))


def test_a_file_that_grows_while_it_waits_waits_anew() -> None:
    suspects = Suspects(linger_s=60.0)
    assert not suspects.has_waited(1, size=10, now_s=0.0)
    assert not suspects.has_waited(1, size=20, now_s=59.0)
    assert not suspects.has_waited(1, size=20, now_s=61.0)
    assert suspects.has_waited(1, size=20, now_s=119.0)


def test_a_link_into_a_file_system_that_is_seen_for_the_first_time_leads_to_what_was_there() -> (
    None
):
    listing, places = Listing({}, {}, {}, {"/logs": 1}), Places((1,))
    for device, is_old in ((1, False), (2, True)):
        found = Found("/logs/a.log", device, 7, 10, 0, 0, is_link=True)
        assert places.is_old(found, listing) is is_old


def reader(data: bytes) -> ReadAt:
    return lambda count, offset: data[offset : offset + count]


def with_rungs(data: bytes, *offsets: int) -> Print:
    """Of a file that was read up to each of these in turn."""
    print_, position = Print(), 0
    for offset in offsets:
        print_, position = extended(print_, data[position:offset]), offset
    return print_


LINES = b"".join(b"line %06d\n" % n for n in range(1_000))


def test_the_highest_rung_is_below_the_first_change() -> None:
    print_ = with_rungs(LINES, 3_000, 6_000, 9_000)
    edited = LINES[:5_900] + b"x" + LINES[5_901:]
    assert print_.rung_in(reader(LINES), len(LINES)) == 9_000
    assert print_.rung_in(reader(edited), len(edited)) == 3_000


def test_a_rung_beyond_the_length_at_which_a_file_was_looked_at_does_not_count() -> None:
    """The file may have grown since."""
    print_ = with_rungs(LINES, 3_000, 6_000, 9_000)
    assert print_.rung_in(reader(LINES), 6_000) == 6_000
    assert print_.rung_in(reader(LINES), 5_999) == 3_000


def test_a_file_that_is_begun_anew_keeps_the_rungs_below() -> None:
    print_ = with_rungs(LINES, 3_000, 6_000, 9_000)
    file, cut = Followed(1, 1, 1, "a.log", print_), reader(LINES[:7_000])
    common = likeness(print_, cut, size=7_000)
    anew = begun_anew(file, cut, size=7_000, common=common)
    assert [offset for offset, _ in anew.print.rungs] == [3_000, 6_000]
    assert anew.position == 6_000


def test_what_was_compared_is_forgotten_with_either_file() -> None:
    changed = LINES[:5_000] + b"x" + LINES[5_001:]
    for cleared in (1, 2):
        comparisons = Comparisons(poll_bytes_max=1 << 20)
        assert comparisons.common((1, 2), reader(LINES), reader(LINES), through=9_000) == 9_000
        comparisons.clear(cleared)
        assert comparisons.common((1, 2), reader(changed), reader(LINES), through=9_000) == 5_000


def returned(old: Followed, new: Found, *, after_s: float) -> tuple[Followed | None, bool]:
    departed = Departed([old], FollowConfig())
    file = Followed(2, new.device, new.inode, new.path)
    look = Look(file, new, reader(LINES[: new.size]), is_quiet=True)
    return departed.returned(look, now_s=after_s, is_proven=lambda *_: True)


def test_a_short_file_that_was_gone_for_long_is_known_by_its_inode_and_time_together() -> None:
    print_ = with_rungs(LINES, 48)
    old = Followed(1, 1, 7, "a.log", print_, modified_ns=5, departed_s=0.0)
    for inode, modified_ns, is_sure in ((7, 5, True), (7, 6, False), (8, 5, False)):
        found = Found("b.log", 1, inode, 96, modified_ns, modified_ns)
        assert returned(old, found, after_s=3_600.0) == (old, is_sure)
        assert returned(old, found, after_s=30.0) == (old, True)


def test_a_place_is_unseen_until_it_has_been_listed() -> None:
    places = Places((1,), frozenset({"/logs/a", "/logs/b"}))
    still = Listing({}, {}, {}, {"/logs": 1, "/logs/b": 1}, {"/logs/a": "no"})
    assert places.after(still).unseen == {"/logs/a"}
    above = Listing({}, {}, {}, {}, {"/logs": "no"})
    assert places.after(above).unseen == {"/logs/a", "/logs/b"}


def test_what_can_not_be_listed_below_a_place_that_is_seen_for_the_first_time_is_unseen() -> None:
    listed = {"/logs": 1, "/logs/late": 2, "/logs/a": 1, "/logs/c": 1}
    unlisted = {"/logs/late/x": "no", "/logs/a/x": "no", "/logs/c/x": "no"}
    places = Places((1,), frozenset({"/logs/a"}))
    after = places.after(Listing({}, {}, {}, listed, unlisted))
    assert after.unseen == {"/logs/late/x", "/logs/a/x"}
    assert after.devices == (1, 2)


def test_a_file_whose_directory_was_listed_in_part_is_not_gone() -> None:
    file = Followed(1, 1, 7, "/logs/a.log", place=1)
    whole = Listing({}, {}, {}, {"/logs": 1})
    assert Whereabouts(whole, Disk()).why_unknown(file) == ""
    partial = msgspec.structs.replace(whole, partial={"/logs"})
    assert Whereabouts(partial, Disk()).why_unknown(file)
