"""The small rules by which a follower tells files, folders and times apart."""

from __future__ import annotations

import pytest

from headwater.store import comparison
from headwater.store.comparison import holds_end
from headwater.store.copies import Suspects
from headwater.store.identity import Print
from headwater.store.listing import Found, Listing, joined
from headwater.store.places import Places


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
