"""A first look settles from where files are read, and leaves what is in them to the next poll."""

from __future__ import annotations

import os
from collections.abc import Callable

from follow_kit import Follow

from headwater.store.follow.poll import Poll, Start


def begin(one: Follow) -> Poll:
    one.user.clock.now_s += 1.0
    return one.follower.begin(now_s=one.user.clock())


def test_a_first_look_reads_nothing_and_the_next_poll_all(one: Follow) -> None:
    one.write("a.log", "1\n2\n")
    look = begin(one)
    assert (look.cuts, look.is_clean, one.text()) == (0, False, "")
    assert one.user.cube.cuts.state(one.follower.source).is_begun
    one.write("a.log", "3\n")
    assert one.poll().is_clean
    assert one.text() == "1\n2\n3\n"


def test_a_first_look_at_files_of_which_nothing_is_wanted_is_all(
    follow: Callable[..., Follow],
) -> None:
    one = follow(start=Start.END)
    one.write("a.log", "before\n")
    assert begin(one).is_clean
    one.write("a.log", "after\n")
    one.poll()
    assert one.text() == "after\n"


def test_what_was_there_at_a_first_look_is_read_though_it_goes_away(one: Follow) -> None:
    """Nobody has read it, so a link of ours must keep it."""
    path = one.write("a.log", "1\n2\n")
    begin(one)
    one.follower.close()
    path.unlink()
    one.poll()
    assert one.text() == "1\n2\n"
    one.poll(after_s=100.0)
    held = [name for name in os.listdir(one.user.cube.cuts.spool.directory) if "held" in name]
    assert held == [], "nobody needs it any more"


def test_a_process_that_ends_after_a_first_look_is_followed_by_one_that_reads(one: Follow) -> None:
    one.write("a.log", "1\n")
    begin(one)
    one.restart()
    one.write("b.log", "2\n")
    one.poll()
    assert sorted(one.text().split()) == ["1", "2"]


def test_of_a_source_that_has_begun_nothing_is_left(one: Follow) -> None:
    one.write("a.log", "1\n")
    one.poll()
    one.write("a.log", "2\n")
    assert begin(one).cuts == 1
    assert one.text() == "1\n2\n"
