"""Following logs that can't be opened for a while, or never."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from follow_kit import ClosedDisk, Follow, held_links, with_an_inode_given_to_a_later_copy
from store_kit import FaultyDisk

from headwater.store.follow.listing import Glob, Listing
from headwater.store.follow.poll import FollowConfig, Start

LONG_AGO_NS = 1_000_000_000 * 1_000_000_000
FAR_AHEAD_NS = 4_000_000_000 * 1_000_000_000
"""A file of this time never counts as settled."""


@pytest.mark.parametrize("code", [errno.EACCES, errno.EMFILE, errno.EIO])
def test_a_new_file_that_can_not_be_opened_keeps_the_source_behind(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk, code: int
) -> None:
    one = follow(disk=faulty_disk)
    one.poll()
    one.write("a.log", "1\n")
    faulty_disk.fail["open"] = code
    for _ in range(2):
        poll = one.poll(after_s=100.0)
        assert not poll.is_clean
        assert dict(poll.refused)[str(one.logs / "a.log")] == os.strerror(code)
    faulty_disk.fail.clear()
    assert one.poll().is_clean


def test_a_file_that_was_read_to_its_end_and_then_closed_to_us_is_no_trouble(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk
) -> None:
    one = follow(disk=faulty_disk)
    path = one.write("a.log", "1\n")
    os.utime(path, ns=(0, LONG_AGO_NS))
    one.poll()
    one.restart()
    faulty_disk.fail["open"] = errno.EACCES
    assert one.poll().is_clean


@pytest.mark.parametrize(
    ("text", "changed_ns"), [("2\n3\n", FAR_AHEAD_NS), ("2\n", LONG_AGO_NS)], ids=["new", "cut"]
)
def test_a_file_that_is_closed_to_us_is_not_taken_for_read_by_its_inode_and_time_alone(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk, text: str, changed_ns: int
) -> None:
    one = follow(disk=faulty_disk)
    path = one.write("a.log", "1\n1\n")
    os.utime(path, ns=(0, changed_ns))
    one.poll()
    one.restart()
    path.write_text(text)
    os.utime(path, ns=(0, changed_ns))
    faulty_disk.fail["open"] = errno.EACCES
    assert not one.poll().is_clean
    faulty_disk.fail.clear()
    assert (one.poll().is_clean, one.text()) == (True, "1\n1\n" + text)


@pytest.mark.parametrize("is_seen_empty", [False, True])
def test_what_an_emptied_log_got_while_it_was_closed_to_us_is_read_after_its_rotation(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk, is_seen_empty: bool
) -> None:
    """By its length it could be what was read before; it is shorter, or was."""
    one = follow(disk=faulty_disk)
    path = one.give("a.log", "1\n2\n3\n")
    one.restart()
    faulty_disk.fail["open"] = errno.EIO
    os.truncate(path, 0)
    if is_seen_empty:
        one.poll()
    one.give("a.log", "4\n5\n6\n" if is_seen_empty else "4\n")
    path.rename(one.logs / "a.log.1")
    one.restart()
    faulty_disk.fail.clear()
    one.poll()
    assert one.text() == "1\n2\n3\n" + ("4\n5\n6\n" if is_seen_empty else "4\n")


def test_the_unread_bytes_of_a_symlinked_log_are_kept_alive(
    follow: Callable[..., Follow], tmp_path: Path
) -> None:
    one = follow(cube={"spool_bytes_max": 10})
    target = tmp_path / "real.log"
    target.write_text("12345678\nsecond\n")
    (one.logs / "a.log").symlink_to(target)
    one.follower._config = FollowConfig(cut_bytes_max=12, line_bytes_max=9)
    one.poll()
    target.unlink()
    one.user.options["spool_bytes_max"] = 1 << 20
    one.restart()
    one.poll()
    assert one.text() == "12345678\nsecond\n"


def test_a_link_that_leads_nowhere_hides_its_file_rather_than_removing_it(
    one: Follow, tmp_path: Path
) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "real.log").write_text("1\n")
    (one.logs / "a.log").symlink_to(tmp_path / "far" / "real.log")
    one.poll()
    one.restart()
    (tmp_path / "far").rename(tmp_path / "unmounted")
    poll = one.poll(after_s=100.0)
    assert (poll.is_clean, poll.files) == (False, 1)
    (tmp_path / "unmounted").rename(tmp_path / "far")
    assert one.poll().is_clean
    assert one.text() == "1\n"


def test_a_held_file_that_can_not_be_opened_now_is_not_lost(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk
) -> None:
    one = follow(cube={"spool_bytes_max": 10}, disk=faulty_disk)
    path = one.write("a.log", "12345678\nsecond\n")
    one.follower._config = FollowConfig(cut_bytes_max=12, line_bytes_max=9)
    one.poll()
    path.unlink()
    one.user.options["spool_bytes_max"] = 1 << 20
    one.restart()
    faulty_disk.fail["open"] = errno.EMFILE
    poll = one.poll()
    assert (poll.is_clean, poll.lost_bytes) == (False, 0)
    faulty_disk.fail.clear()
    assert one.poll().is_clean
    assert one.text() == "12345678\nsecond\n"


@pytest.mark.parametrize("reads", range(30))
def test_a_file_of_which_not_all_can_be_read_leaves_what_it_goes_on_from_remembered(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk, reads: int
) -> None:
    one = follow(disk=faulty_disk)
    path = one.give("a.log", "1\n2\n")
    one.restart()
    new = one.write(".new", "1\n2\n3\n")
    new.rename(path)
    faulty_disk.fail_after["read_at"] = reads
    one.poll()
    faulty_disk.fail_after.clear()
    one.restart()
    one.poll()
    assert one.text() == "1\n2\n3\n"


def test_an_inode_that_another_file_got_is_not_read_on_in_beside_the_glob(
    one: Follow, tmp_path: Path
) -> None:
    path = one.give("a.log", "1\n2\n")
    aside = tmp_path / "aside"
    os.link(path, aside)
    new = one.write(".new", "1\n2\n3\n")
    new.rename(path)
    one.poll()
    one.restart()
    # As if the former inode had been given to a copy of the later file, which is gone.
    with aside.open("a") as file:
        file.write("3\n4\n")
    aside.rename(one.logs / "old-1")
    path.unlink()
    one.poll()
    assert one.text() == "1\n2\n3\n4\n"


def begun_with_a_closed_file(follow: Callable[..., Follow], text: str) -> tuple[Follow, ClosedDisk]:
    """From its end, with ``a.log`` in place, which could not be opened."""
    disk = ClosedDisk()
    one = follow(disk=disk, start=Start.END)
    one.write("a.log", text)
    disk.closed = {"a.log"}
    one.poll()
    return one, disk


def test_another_file_in_the_inode_of_one_that_was_never_opened_is_read_from_its_beginning(
    follow: Callable[..., Follow],
) -> None:
    one, _ = begun_with_a_closed_file(follow, "old\n")
    # As if it had been removed, and its inode given to a new file.
    (one.logs / "a.log").write_text("new 1\nnew 2\n")
    (one.logs / "a.log").rename(one.logs / "b.log")
    poll = one.poll()
    assert one.text() == "new 1\nnew 2\n"
    assert "read from its beginning" in dict(poll.told)[str(one.logs / "b.log")]


def test_a_file_that_was_never_opened_is_another_once_it_has_been_shorter(
    follow: Callable[..., Follow],
) -> None:
    one, disk = begun_with_a_closed_file(follow, "old 1\nold 2\n")
    (one.logs / "a.log").write_text("new 1\n")
    one.poll()
    one.restart()
    one.write("a.log", "new 2\nnew 3\n")
    disk.closed = set()
    assert one.poll().is_clean
    assert one.text() == "new 1\nnew 2\nnew 3\n"


def test_a_file_that_was_never_opened_and_only_renamed_is_begun_where_it_ended(
    follow: Callable[..., Follow],
) -> None:
    one, disk = begun_with_a_closed_file(follow, "old\n")
    path = one.write("a.log", "new 1\n")
    os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    one.poll()
    one.restart()
    path.rename(one.logs / "b.log")
    disk.closed = {"b.log"}
    one.poll()
    one.write("b.log", "new 2\n")
    disk.closed = set()
    assert one.poll().is_clean
    assert one.text() == "new 1\nnew 2\n"


@pytest.mark.parametrize(("start", "lost"), [(Start.END, 4), (Start.BEGINNING, 8)])
def test_what_was_listed_and_could_never_be_opened_is_lost_when_it_is_gone(
    follow: Callable[..., Follow], start: Start, lost: int
) -> None:
    disk = ClosedDisk()
    one = follow(disk=disk, start=start)
    disk.closed, disk.fail["link"] = {"a.log"}, errno.EXDEV
    path = one.give("a.log", "old\n")
    one.write("a.log", "new\n")
    assert one.poll().lost_bytes == 0
    one.restart()
    path.unlink()
    poll = one.poll()
    assert (poll.lost_bytes, poll.is_clean) == (lost, True)


@pytest.mark.parametrize("is_restarted", [False, True])
@pytest.mark.parametrize(("start", "text"), [(Start.END, "new\n"), (Start.BEGINNING, "old\nnew\n")])
def test_what_was_listed_and_could_never_be_opened_is_read_from_its_link_when_it_is_gone(
    follow: Callable[..., Follow], start: Start, text: str, is_restarted: bool
) -> None:
    disk = ClosedDisk()
    one = follow(disk=disk, start=start)
    disk.closed = {"a.log"}
    path = one.give("a.log", "old\n")
    one.give("a.log", "new\n")
    if is_restarted:
        one.restart()
    path.unlink()
    poll = one.poll()
    assert (one.text(), poll.lost_bytes) == (text, 0)
    one.poll(after_s=61.0)
    assert not list((one.user.directory / "spool").glob("held-*")), "a link that nobody needs"


def test_what_could_never_be_opened_and_was_renamed_beside_the_glob_is_read_there(
    follow: Callable[..., Follow],
) -> None:
    disk = ClosedDisk()
    one = follow(disk=disk)
    one.poll()
    disk.closed, disk.fail["link"] = {"a.log", "a.log.1"}, errno.EXDEV
    path = one.write("a.log", "1\n2\n")
    os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    assert not one.poll().is_clean
    one.restart()
    path.rename(one.logs / "a.log.1")
    assert not one.poll().is_clean, "it is still there, and unread"
    one.write("a.log.1", "3\n")
    disk.closed = set()
    poll = one.poll()
    assert (one.text(), poll.lost_bytes) == ("1\n2\n3\n", 0)


def test_another_file_beside_the_glob_in_the_inode_of_one_never_opened_is_not_read(
    follow: Callable[..., Follow],
) -> None:
    disk = ClosedDisk()
    one = follow(disk=disk)
    one.poll()
    disk.closed, disk.fail["link"] = {"a.log"}, errno.EXDEV
    path = one.give("a.log", "1\n2\n")
    # As if it had been removed, and its inode given to a stranger.
    path.rename(one.logs / "stranger.txt")
    (one.logs / "stranger.txt").write_text("not ours\n")
    os.utime(one.logs / "stranger.txt", ns=(LONG_AGO_NS, LONG_AGO_NS))
    poll = one.poll()
    assert (one.text(), poll.lost_bytes) == ("", len("1\n2\n"))


def test_what_was_listed_of_a_closed_file_is_lost_when_it_is_emptied_and_filled_again(
    follow: Callable[..., Follow],
) -> None:
    disk = ClosedDisk()
    one = follow(disk=disk)
    path = one.give("a.log", "1\n")
    one.restart()
    disk.closed = {"a.log"}
    one.give("a.log", "22\n")
    path.write_text("another and longer line\n")
    disk.closed = set()
    poll = one.poll()
    assert (one.text(), poll.lost_bytes) == ("1\nanother and longer line\n", len("22\n"))


def test_what_was_listed_of_a_file_that_was_never_opened_is_lost_when_it_gets_shorter(
    follow: Callable[..., Follow],
) -> None:
    disk = ClosedDisk()
    one = follow(disk=disk)
    one.poll()
    disk.closed = {"a.log"}
    path = one.give("a.log", "1\n2\n")
    path.write_text("3\n")
    assert one.poll().lost_bytes == len("2\n")
    disk.closed = set()
    assert one.poll().lost_bytes == 0
    assert one.text() == "3\n"


def test_a_file_that_shrinks_between_being_listed_and_opened_has_lost_what_was_listed(
    one: Follow, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = one.give("a.log", "1\n")
    one.write("a.log", "22\n")
    real = Glob.look

    def look(self: Glob) -> Listing:
        listing = real(self)
        os.truncate(path, 0)
        return listing

    monkeypatch.setattr(Glob, "look", look)
    assert one.poll().lost_bytes == len("22\n")


@pytest.mark.parametrize("is_restarted", [False, True])
def test_what_was_listed_of_a_known_file_that_could_not_be_opened_is_lost_when_it_is_gone(
    follow: Callable[..., Follow], is_restarted: bool
) -> None:
    disk = ClosedDisk()
    one = follow(disk=disk)
    path = one.give("a.log", "1\nha")
    one.restart()
    disk.closed, disk.fail["link"] = {"a.log"}, errno.EXDEV
    one.give("a.log", "lf\n")
    one.give("a.log", "more\n")
    if is_restarted:
        one.restart()
    path.unlink()
    assert one.poll().lost_bytes == len("half\nmore\n")


def test_what_a_file_lost_before_it_was_opened_again_is_lost_once(
    follow: Callable[..., Follow],
) -> None:
    disk = ClosedDisk()
    one = follow(disk=disk)
    path = one.give("a.log", "1\n")
    one.restart()
    disk.closed, disk.fail["link"] = {"a.log"}, errno.EXDEV
    one.give("a.log", "2\n")
    os.truncate(path, len("1\n"))
    disk.closed = set()
    assert one.poll().lost_bytes == len("2\n")
    one.restart()
    path.unlink()
    assert one.poll().lost_bytes == 0
    assert one.text() == "1\n"


def test_a_file_that_stays_closed_costs_no_transaction_while_it_does_not_change(
    follow: Callable[..., Follow], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = begun_with_a_closed_file(follow, "old\n")
    one.poll()
    monkeypatch.setattr(one.user.cube.cuts, "register", None)
    assert not one.poll().is_clean


def test_a_handle_that_was_opened_in_a_poll_that_failed_proves_nothing(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk, tmp_path: Path
) -> None:
    one = follow(disk=faulty_disk)
    with_an_inode_given_to_a_later_copy(one, tmp_path / "aside")
    faulty_disk.fail["read_at"] = errno.EIO
    assert not one.poll().is_clean
    faulty_disk.fail.clear()
    assert one.poll().is_clean
    assert one.text() == "1\n2\n3\n4\n"


def test_a_link_that_was_made_in_a_poll_that_failed_proves_nothing(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk, tmp_path: Path
) -> None:
    one = follow(cube={"disk": faulty_disk}, disk=faulty_disk)
    with_an_inode_given_to_a_later_copy(one, tmp_path / "aside")
    faulty_disk.fail["sync_file"] = errno.EIO
    assert one.poll().stalled
    faulty_disk.fail.clear()
    one.restart()
    assert one.poll().is_clean
    assert one.text() == "1\n2\n3\n4\n"
    assert not held_links(one)


def test_a_file_that_can_not_be_looked_at_leaves_no_handle_behind(
    follow: Callable[..., Follow],
) -> None:
    class Leaky(ClosedDisk):
        def open(self, path: Path | str) -> int:
            return FaultyDisk.open(self, path)

    disk = Leaky()
    one = follow(disk=disk)
    one.write("a.log", "1\n")
    disk.closed = {"a.log"}
    before = len(os.listdir("/proc/self/fd"))
    assert not one.poll().is_clean
    assert len(os.listdir("/proc/self/fd")) == before
