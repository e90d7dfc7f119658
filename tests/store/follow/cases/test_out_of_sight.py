"""Following logs whose folders or file systems come, go, and can't be listed."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from follow_kit import ClosedDisk, Follow, MountingDisk, held_links
from store_kit import SOURCE, FaultyDisk

from headwater.store.follow.listing import Listing
from headwater.store.follow.poll import FollowConfig, Start


def test_a_directory_that_can_not_be_listed_is_not_empty(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk
) -> None:
    one = follow(disk=faulty_disk)
    one.give("a.log", "1\n2\n")
    one.restart()
    faulty_disk.fail["scan"] = errno.EIO
    polls = [one.poll(after_s=100.0) for _ in range(3)]
    assert not any(poll.is_clean for poll in polls)
    assert [poll.files for poll in polls] == [1, 1, 1]
    assert (str(one.logs), os.strerror(errno.EIO)) in polls[-1].refused
    faulty_disk.fail.clear()
    one.write("a.log", "3\n")
    assert one.poll().is_clean
    assert one.text() == "1\n2\n3\n"


def test_a_directory_that_vanishes_and_returns_is_not_read_again(one: Follow) -> None:
    one.give("a.log", "1\n")
    one.restart()
    aside = one.logs.rename(one.logs.with_name("aside"))
    poll = one.poll(after_s=100.0)
    assert not poll.is_clean
    assert (str(one.logs), os.strerror(errno.ENOENT)) in poll.refused
    aside.rename(one.logs)
    one.write("a.log", "2\n")
    assert one.poll().is_clean
    assert one.text() == "1\n2\n"


def test_a_source_whose_directory_is_not_there_has_not_begun(follow: Callable[..., Follow]) -> None:
    one = follow(pattern="app/*.log", start=Start.END)
    poll = one.poll()
    assert not poll.is_clean
    assert poll.refused == ((str(one.logs / "app"), os.strerror(errno.ENOENT)),)
    assert not one.user.cube.cuts.state(SOURCE).is_begun
    (one.logs / "app").mkdir()
    one.write("app/a.log", "old\n")
    assert one.poll().is_clean
    one.give("app/a.log", "new\n")
    assert one.text() == "new\n"


def test_an_unmounted_file_system_leaves_its_files_out_of_sight(
    follow: Callable[..., Follow], tmp_path: Path
) -> None:
    """The mount point is still there, empty, and on another device."""
    point = tmp_path / "logs"
    disk = MountingDisk(point)
    one = follow(disk=disk)
    one.give("a.log", "1\n")
    one.restart()
    aside = point.rename(tmp_path / "aside")
    point.mkdir()
    disk.device += 1
    poll = one.poll(after_s=90.0)
    assert (poll.is_clean, poll.files) == (False, 1)
    assert "mounted" in dict(poll.refused)[str(point / "a.log")]
    point.rmdir()
    aside.rename(point)
    disk.device -= 1
    one.write("a.log", "2\n")
    assert one.poll().is_clean
    assert one.text() == "1\n2\n"


def test_the_same_inode_of_another_file_system_is_another_file(
    follow: Callable[..., Follow], tmp_path: Path
) -> None:
    point = tmp_path / "logs" / "disk"
    disk = MountingDisk(point)
    one = follow(disk=disk, pattern="*/*.log")
    for name in ("disk", "web"):
        (one.logs / name).mkdir()
    one.write("disk/a.log", "1\n")
    assert one.poll().is_clean
    aside = point.rename(tmp_path / "aside")
    point.mkdir()
    disk.mount_point = aside
    os.link(aside / "a.log", one.logs / "web" / "old-1")
    poll = one.poll()
    assert not poll.is_clean
    assert str(point / "a.log") in dict(poll.refused)


def test_a_file_system_that_is_mounted_late_begins_at_its_end_and_under_a_new_number_goes_on(
    follow: Callable[..., Follow], tmp_path: Path
) -> None:
    point = tmp_path / "logs" / "disk"
    disk = MountingDisk(point)
    one = follow(disk=disk, pattern="*/*.log", start=Start.END)
    assert one.poll().is_clean
    point.mkdir()
    one.write("disk/a.log", "old\n" * 300)
    poll = one.poll()
    assert [path for path, _ in poll.told] == [str(point / "a.log")]
    assert one.text() == ""
    one.give("disk/a.log", "new\n")
    disk.device += 1
    one.restart()
    one.write("disk/a.log", "newer\n")
    one.write("disk/b.log", "also new\n")
    assert one.poll().is_clean
    assert sorted(one.text().splitlines()) == ["also new", "new", "newer"]


def test_a_file_that_can_not_be_opened_when_its_file_system_is_mounted_is_begun_where_it_ended_then(
    follow: Callable[..., Follow], tmp_path: Path
) -> None:
    point = tmp_path / "logs" / "disk"
    disk = MountingDisk(point)
    one = follow(disk=disk, pattern="*/*.log", start=Start.END)
    one.poll()
    point.mkdir()
    one.write("disk/a.log", "old\n" * 300)
    disk.fail["open"] = errno.EMFILE
    assert not one.poll().is_clean
    one.write("disk/a.log", "new\n")
    disk.fail.clear()
    assert one.poll().is_clean
    assert one.text() == "new\n"


def test_a_new_folder_on_the_same_file_system_is_new_though_the_source_began_at_its_end(
    follow: Callable[..., Follow],
) -> None:
    one = follow(pattern="*/*.log", start=Start.END)
    (one.logs / "monday").mkdir()
    one.give("monday/a.log", "old\n")
    (one.logs / "tuesday").mkdir()
    one.write("tuesday/a.log", "new\n")
    assert one.poll().is_clean
    assert one.text() == "new\n"


def test_a_folder_that_could_not_be_listed_at_the_begin_begins_at_its_end(
    follow: Callable[..., Follow],
) -> None:
    class Stubborn(FaultyDisk):
        def scan(self, directory: Path) -> list[os.DirEntry[str]]:
            if directory.name in self.fail:
                raise PermissionError(errno.EACCES, "Permission denied", str(directory))
            return super().scan(directory)

    disk = Stubborn()
    one = follow(pattern="*/*.log", start=Start.END, disk=disk)
    for name in ("a", "b"):
        (one.logs / name).mkdir()
        one.write(f"{name}/x.log", "old\n")
    disk.fail["b"] = errno.EACCES
    assert not one.poll().is_clean
    one.restart()
    disk.fail.clear()
    assert one.poll().is_clean
    one.give("b/x.log", "new\n")
    assert one.text() == "new\n"


def test_a_file_that_could_not_be_opened_at_the_begin_is_begun_where_it_ended_then(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk
) -> None:
    one = follow(start=Start.END, disk=faulty_disk)
    one.write("a.log", "old\n")
    faulty_disk.fail["open"] = errno.EMFILE
    assert not one.poll().is_clean
    one.write("a.log", "new\n")
    one.restart()
    faulty_disk.fail.clear()
    assert one.poll().is_clean
    assert one.text() == "new\n"


def test_a_folder_that_is_really_removed_does_not_keep_polls_from_being_clean(
    follow: Callable[..., Follow],
) -> None:
    one = follow(pattern="*/*.log")
    (one.logs / "monday").mkdir()
    one.give("monday/a.log", "1\n")
    one.restart()
    shutil.rmtree(one.logs / "monday")
    poll = one.poll()
    assert (poll.is_clean, poll.files) == (True, 0)


@pytest.mark.parametrize("lines", [2, 300])
def test_a_folder_that_is_moved_away_and_back_is_not_read_again(
    follow: Callable[..., Follow], tmp_path: Path, lines: int
) -> None:
    one = follow(pattern="*/*.log")
    (one.logs / "monday").mkdir()
    text = "".join(f"line {n}\n" for n in range(lines))
    one.give("monday/a.log", text)
    one.restart()
    away = (one.logs / "monday").rename(tmp_path / "away")
    assert one.poll().files == 0
    one.poll(after_s=100.0)
    one.restart()
    away.rename(one.logs / "monday")
    poll = one.poll(after_s=10_000.0)
    assert (poll.is_clean, poll.files) == (True, 1)
    assert one.text() == text


def test_departed_files_are_remembered_in_bounded_number_and_for_a_bounded_time(
    follow: Callable[..., Follow],
) -> None:
    one = follow(config=FollowConfig(departed_files_max=3, departed_keep_s=1000.0))
    paths = [one.write(f"{n}.log", f"{n}\n") for n in range(6)]
    one.poll()
    one.restart()
    for path in paths:
        path.unlink()
    one.poll()
    one.poll()
    state = one.user.cube.cuts.state(SOURCE)
    assert len(one.user.cube.cuts.files(state)) == 3
    one.poll(after_s=2000.0)
    assert one.user.cube.cuts.files(state) == []


def test_what_is_out_of_sight_for_too_long_is_given_up_and_said_to_be_lost(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk
) -> None:
    one = follow(disk=faulty_disk, config=FollowConfig(away_s=1000.0))
    one.give("a.log", "1\nhalf")
    one.restart()
    faulty_disk.fail["scan"] = errno.EIO
    assert one.poll().files == 1
    poll = one.poll(after_s=1001.0)
    assert (poll.is_clean, poll.files, poll.lost_bytes) == (False, 0, 4)


def test_a_file_that_was_in_sight_in_between_is_not_given_up(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk
) -> None:
    one = follow(disk=faulty_disk, config=FollowConfig(away_s=1000.0))
    one.give("a.log", "1\nhalf")
    one.restart()
    for _ in range(3):
        faulty_disk.fail["scan"] = errno.EIO
        assert one.poll(after_s=900.0).files == 1
        faulty_disk.fail.clear()
        poll = one.poll()
        assert (poll.is_clean, poll.files, poll.lost_bytes) == (True, 1, 0)


def test_a_file_that_begins_like_one_out_of_sight_is_said_to(follow: Callable[..., Follow]) -> None:
    disk = ClosedDisk()
    one = follow(disk=disk, pattern="*/*.log")
    for name in ("x", "y"):
        (one.logs / name).mkdir()
    one.give("x/a.log", "1\n2\n3\n")
    one.restart()
    disk.closed = {"x"}
    one.write("y/b.log", "1\n2\n4\n")
    assert one.poll().twice_bytes >= 4


def test_what_goes_on_beside_the_glob_is_said_to_begin_like_another(one: Follow) -> None:
    path = one.give("a.log", "1\n")
    one.give("b.log", "1\n2\n3\n")
    (one.logs / "aside").write_text("1\n2\n4\n")
    path.write_text("")
    assert one.poll().twice_bytes >= 2
    assert one.text() == "1\n1\n2\n3\n2\n4\n"


def test_a_link_that_leads_to_another_file_holds_nothing(follow: Callable[..., Follow]) -> None:
    """The file was renamed, and another put in its place, right before it was linked to."""

    class Swapping(FaultyDisk):
        def link(self, old: Path | str, new: Path) -> None:
            Path(old).rename(Path(old).with_name("b.log"))
            Path(old).write_text("other\n")
            super().link(old, new)

    one = follow(disk=Swapping(), cube={"spool_bytes_max": 2})
    one.give("a.log", "1\n2\n")
    assert not held_links(one)


def test_a_file_that_only_the_first_of_two_looks_has_seen_is_not_gone(
    one: Follow, monkeypatch: pytest.MonkeyPatch
) -> None:
    one.write("a.log", "1\nhalf")
    one.give("b.log", "2\n")
    one.restart()
    look, missed = one.follower._glob.look, ["b.log", "a.log"]

    def look_without_one() -> Listing:
        seen, name = look(), missed.pop(0)
        found = {key: f for key, f in seen.matching.items() if not f.path.endswith(name)}
        return Listing(found, {}, {}, seen.listed)

    monkeypatch.setattr(one.follower._glob, "look", look_without_one)
    poll = one.poll()
    assert (poll.files, poll.lost_bytes, missed) == (2, 0, [])


def test_a_file_that_is_gone_from_a_file_system_with_another_number_is_not_awaited(
    follow: Callable[..., Follow], tmp_path: Path
) -> None:
    disk = MountingDisk(tmp_path / "logs")
    one = follow(disk=disk)
    one.write("a.log", "a\n")
    gone = one.write("b.log", "b\n")
    one.poll()
    one.restart()
    gone.unlink()
    disk.device += 1
    assert not one.poll().is_clean
    assert one.poll().is_clean
    one.give("a.log", "more\n")
    assert one.text() == "a\nb\nmore\n"


def test_a_file_that_goes_on_from_one_out_of_sight_is_not_awaited_there(
    follow: Callable[..., Follow],
) -> None:
    disk = ClosedDisk()
    one = follow(disk=disk, pattern="*/*.log")
    for name in ("x", "y"):
        (one.logs / name).mkdir()
    path = one.give("x/a.log", "1\n")
    one.restart()
    disk.closed = {"x"}
    path.rename(one.logs / "y" / "a.log")
    one.write("y/a.log", "2\n")
    poll = one.poll()
    assert (one.text(), poll.files) == ("1\n2\n", 1)


def test_a_file_that_may_be_renamed_to_what_can_not_be_looked_at_is_not_gone(
    follow: Callable[..., Follow],
) -> None:
    class Blind(FaultyDisk):
        def stat(self, path: Path | str) -> os.stat_result:
            if Path(path).name in self.fail:
                raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
            return super().stat(path)

    disk = Blind()
    one = follow(disk=disk)
    path = one.give("a.log", "1\nhal")
    one.restart()
    path.rename(one.logs / "b.log")
    disk.fail["b.log"] = errno.EIO
    poll = one.poll()
    assert (poll.is_clean, poll.lost_bytes, poll.files) == (False, 0, 1)
    disk.fail.clear()
    one.write("b.log", "f\n")
    assert one.poll().is_clean
    assert one.text() == "1\nhalf\n"


def test_a_file_that_may_be_a_copy_of_one_out_of_sight_waits_until_that_is_seen(
    follow: Callable[..., Follow], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = follow(pattern="*/*.log")
    for name in ("here", "there"):
        (one.logs / name).mkdir()
    text = "".join(f"{n} of a log\n" for n in range(300))
    one.write("there/a.log", text)
    assert one.poll().is_clean
    scan = os.scandir

    def refuse(path: object) -> object:
        if str(path).endswith("there"):
            raise OSError(errno.EIO, "it can't be listed")
        return scan(path)  # type: ignore[call-overload]

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", refuse)
        one.write("here/b.log", text)
        assert not one.poll().is_clean
        assert one.text() == text
    for _ in range(3):
        one.poll()
    assert one.text() == text
