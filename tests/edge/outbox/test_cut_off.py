"""After a cut what is late already is backlog, and what closes now goes before it."""

from __future__ import annotations

from pathlib import Path

from edge_site import LevelSite

from headwater.algebra.summary import Lane


def lanes_after(directory: Path, *, for_s: int) -> dict[int, Lane]:
    """Pane 102 was closed when there was no room, and 103 (empty) just before there is some, after
    so long."""
    site = LevelSite(directory)
    site.poll(1_021.0)
    site.room = 0
    site.read((102, "a", 1), now_s=1_033.0)
    for second in range(for_s):
        site.poll(1_033.5 + second)
    site.room = 1 << 20
    site.tick(1_033.9 + for_s)
    return {one.pane: one.lane for one in site.sends if one.pane >= 102}


def test_what_was_closed_before_the_end_of_a_cut_is_backlog(tmp_path: Path) -> None:
    assert lanes_after(tmp_path, for_s=10) == {102: Lane.BACKLOG, 103: Lane.LIVE}


def test_a_short_wait_for_room_is_no_cut(tmp_path: Path) -> None:
    site = LevelSite(tmp_path)
    site.poll(1_021.0)
    site.room = 0
    site.read((102, "a", 1), now_s=1_033.0)
    site.poll(1_036.0)
    site.room = 1 << 20
    site.tick(1_037.0)
    assert {one.lane for one in site.sends if one.pane == 102} == {Lane.LIVE}


def test_two_short_waits_are_no_long_one(tmp_path: Path) -> None:
    """In between nothing waited."""
    site = LevelSite(tmp_path)
    site.poll(1_021.0)
    site.room = 0
    site.read((102, "a", 1), now_s=1_033.0)
    site.poll(1_033.5)
    site.room = 1 << 20
    site.tick(1_034.0)
    site.tick(1_036.0)
    site.room = 0
    site.read((103, "a", 1), now_s=1_043.0)
    site.poll(1_043.5)
    site.room = 1 << 20
    site.tick(1_045.8)
    assert {one.lane for one in site.sends if one.pane == 103} == {Lane.LIVE}
