"""Following logs: one case after the other. The model test plays them all against each other."""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from follow_kit import ClosedDisk, Follow, MountingDisk
from store_kit import SOURCE, Clock, FaultyDisk

from headwater.errors import ConfigurationError
from headwater.reading.outcome import Batch, SiteOutcome
from headwater.store.follow.listing import Glob, Listing
from headwater.store.follow.poll import FollowConfig, Start
from headwater.store.recognise import comparison, recognition

LONG_AGO_NS = 1_000_000_000 * 1_000_000_000
FAR_AHEAD_NS = 4_000_000_000 * 1_000_000_000
"""A file of this time never counts as settled."""


def test_lines_come_as_they_are_written(one: Follow) -> None:
    one.write("a.log", "1\n2\n")
    assert one.poll().cuts == 1
    one.write("a.log", "3\n")
    one.poll()
    assert one.text() == "1\n2\n3\n"
    assert one.poll().cuts == 0


def test_a_chunk_holds_whole_lines_of_one_file(one: Follow) -> None:
    one.write("a.log", "a1\na2\n")
    one.write("b.log", "b1\n")
    one.poll()
    chunks = one.user.cube.cuts.pending(SOURCE)
    assert {(Path(c.origin).name, c.path.read_text()) for c in chunks} == {
        ("a.log", "a1\na2\n"),
        ("b.log", "b1\n"),
    }


def test_an_unfinished_line_waits_for_its_end(one: Follow) -> None:
    one.write("a.log", "1\n2")
    assert (one.poll().is_clean, one.text()) == (True, "1\n")
    one.write("a.log", "3\n")
    one.poll()
    assert one.text() == "1\n23\n"


def test_from_the_end_the_rest_of_a_half_line_is_not_ours(follow: Callable[..., Follow]) -> None:
    one = follow(start=Start.END)
    one.write("a.log", "old\nhal")
    one.poll()
    one.write("a.log", "f\nnew\n")
    one.write("b.log", "b\n")
    poll = one.poll()
    assert one.text() == "new\nb\n"
    assert poll.skipped_lines == 0


def test_a_large_file_is_cut_into_several_chunks_at_line_ends(
    follow: Callable[..., Follow],
) -> None:
    config = FollowConfig(cut_bytes_max=100, line_bytes_max=50)
    one = follow(config=config)
    text = "".join(f"line {n}\n" for n in range(100))
    one.write("a.log", text)
    one.poll()
    chunks = one.user.cube.cuts.pending(SOURCE)
    assert one.text() == text
    assert all(chunk.bytes <= 100 for chunk in chunks)
    assert all(chunk.path.read_bytes().endswith(b"\n") for chunk in chunks)


def test_a_poll_is_bounded_and_the_next_one_goes_on(follow: Callable[..., Follow]) -> None:
    config = FollowConfig(cut_bytes_max=100, line_bytes_max=50, poll_bytes_max=150)
    one = follow(config=config)
    text = "".join(f"line {n}\n" for n in range(50))
    one.write("a.log", text)
    polls = [one.poll() for _ in range(6)]
    assert not polls[0].is_clean
    assert polls[-1].is_clean
    assert all(poll.bytes <= 150 for poll in polls)
    assert one.text() == text


def test_a_line_that_is_too_long_is_stepped_over_and_counted_once(
    follow: Callable[..., Follow],
) -> None:
    config = FollowConfig(cut_bytes_max=64, line_bytes_max=10)
    one = follow(config=config)
    one.write("a.log", "1\n" + "x" * 500)
    assert one.poll().skipped_lines == 1
    one.restart()
    one.write("a.log", "x" * 300 + "\n2\n")
    poll = one.poll()
    assert one.text() == "1\n2\n"
    assert poll.skipped_lines == 0


def test_skipped_lines_reach_the_edge_as_unparsed_exactly_once(
    follow: Callable[..., Follow],
) -> None:
    one = follow(config=FollowConfig(cut_bytes_max=64, line_bytes_max=10))
    one.write("a.log", "x" * 50 + "\n")
    first, second = one.poll().report, one.poll().report
    assert (first.unparsed, first.skipped_lines) == (1, 1)  # type: ignore[union-attr]
    assert (second.unparsed, second.skipped_lines) == (0, 0)  # type: ignore[union-attr]


def test_binary_garbage_passes_as_it_is(one: Follow) -> None:
    garbage = bytes(range(256)).replace(b"\n", b"") * 3 + b"\n\x00\x00\n\r\n"
    one.write("a.log", garbage)
    one.poll()
    assert one.text() == garbage.decode("latin1")


@pytest.mark.parametrize("new_name", ["a.log.1", "b.log"])
@pytest.mark.parametrize("restarts", [False, True])
def test_what_was_written_before_a_rename_is_read_under_the_new_name(
    one: Follow, new_name: str, restarts: bool
) -> None:
    one.write("a.log", "1\n")
    one.poll()
    one.write("a.log", "2\n").rename(one.logs / new_name)
    one.write("a.log", "3\n")
    if restarts:
        one.restart()
    one.poll()
    assert sorted(one.text().split()) == ["1", "2", "3"]


def test_a_removed_file_is_read_to_its_end(one: Follow) -> None:
    path = one.write("a.log", "1\n")
    one.poll()
    with path.open("ab") as writer:
        path.unlink()
        writer.write(b"2\n")
        writer.flush()
        one.poll()
        writer.write(b"3\n")
        writer.flush()
        one.poll()
    assert one.text() == "1\n2\n3\n"


def test_a_removed_file_is_read_to_its_end_however_long_that_takes(
    follow: Callable[..., Follow],
) -> None:
    one = follow(config=FollowConfig(cut_bytes_max=100, line_bytes_max=50, poll_bytes_max=100))
    text = "".join(f"line {n:02}\n" for n in range(50))
    path = one.write("a.log", text)
    one.poll()
    path.unlink()
    polls = [one.poll(after_s=61.0) for _ in range(6)]
    assert one.text() == text
    assert sum(poll.lost_bytes for poll in polls) == 0


def test_a_removed_file_is_let_go_after_a_while(one: Follow) -> None:
    path = one.write("a.log", "1\nhalf")
    one.poll()
    path.unlink()
    assert one.poll().files == 1
    poll = one.poll(after_s=61.0)
    assert (poll.files, poll.lost_bytes) == (0, 4)
    assert one.poll().files == 0


def test_of_two_new_files_that_are_alike_the_one_with_the_shorter_name_is_the_original(
    one: Follow,
) -> None:
    """Rotation appends to names."""
    one.poll()
    text = "".join(f"line {n}\n" for n in range(200))
    for name in ("long-name.log", "a.log", "longer-name.log"):
        one.write(name, text)
    poll = one.poll()
    assert one.text() == text
    copies = sorted(Path(path).name for path, why in poll.refused if "a.log: not read" in why)
    assert copies == ["long-name.log", "longer-name.log"]


def test_the_rest_of_a_line_that_is_stepped_over_is_stepped_over_in_the_copy(
    follow: Callable[..., Follow],
) -> None:
    one = follow(config=FollowConfig(cut_bytes_max=64, line_bytes_max=10))
    path = one.write("a.log", "1\n" + "x" * 100)
    one.poll()
    shutil.copy(path, one.logs / "a.log.1.log")
    one.write("a.log.1.log", "the rest\n2\n")
    path.write_bytes(b"")
    one.poll()
    one.poll()
    assert one.text() == "1\n2\n"


@pytest.mark.parametrize("copy", ["a.log.1", "b.log"])
@pytest.mark.parametrize("polls_between", [False, True])
@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("size", [1, 300])
def test_rotation_by_copying_reads_nothing_twice_and_loses_nothing(
    one: Follow, copy: str, polls_between: bool, restarts: bool, size: int
) -> None:
    pad = "x" * 10
    first = "".join(f"a{n} {pad}\n" for n in range(size))
    path = one.write("a.log", first)
    one.poll()
    one.write("a.log", "late\n")
    shutil.copyfile(path, one.logs / copy)
    if polls_between:
        one.poll()
    if restarts:
        one.restart()
    os.truncate(path, 0)
    one.write("a.log", "new\n")
    assert one.poll().lost_bytes == 0
    assert sorted(one.text().splitlines()) == sorted([*first.splitlines(), "late", "new"])


def test_a_second_log_that_begins_like_the_first_is_read_once_it_differs(one: Follow) -> None:
    one.write("a.log", "time,page\n1,/\n2,/\n")
    one.poll()
    one.write("b.log", "time,page\n")
    one.poll()
    one.write("b.log", "1,/other\n")
    one.poll()
    assert one.text() == "time,page\n1,/\n2,/\ntime,page\n1,/other\n"


def test_small_files_that_stay_alike_are_two_files_after_a_while(one: Follow) -> None:
    one.write("a.log", "same\n")
    one.poll()
    one.write("b.log", "same\n")
    one.poll()
    assert one.text() == "same\n"
    one.poll(after_s=61.0)
    assert one.text() == "same\nsame\n"


def test_files_that_were_there_from_the_start_are_all_read_however_alike(one: Follow) -> None:
    for name in ("a.log", "b.log"):
        one.write(name, "same line\n" * 300)
    one.poll()
    assert one.text() == "same line\n" * 600


def test_truncate_and_regrow_is_a_new_file_even_if_it_grew_beyond(one: Follow) -> None:
    path = one.write("a.log", "1\n2\n")
    one.poll()
    os.truncate(path, 0)
    one.write("a.log", "3\n4\n5\n6\n")
    one.poll()
    assert one.text() == "1\n2\n3\n4\n5\n6\n"


class MeddlingDisk(FaultyDisk):
    """Somebody else changes the file between our look at it and our reading on in it."""

    def __init__(self, position: int, meddle: Callable[[], None]) -> None:
        super().__init__()
        self.is_armed = False
        self._position = position
        self._meddle = meddle

    def read_at(self, handle: int, count: int, offset: int) -> bytes:
        if self.is_armed and offset == self._position:
            self.is_armed = False
            self._meddle()
        return super().read_at(handle, count, offset)


def test_a_log_that_is_emptied_and_filled_again_while_it_is_read_is_not_torn(
    follow: Callable[..., Follow], tmp_path: Path
) -> None:
    path = tmp_path / "logs" / "a.log"

    def fill_again() -> None:
        path.write_text("another 1\nanother 2\nanother 3\n")

    disk = MeddlingDisk(14, fill_again)
    one = follow(disk=disk)
    one.write("a.log", "line 1\nline 2\n")
    one.poll()
    one.write("a.log", "line 3\n")
    disk.is_armed = True
    poll = one.poll()
    assert not disk.is_armed, "the file was changed under the reader"
    assert not poll.is_clean
    one.poll()
    assert one.text() == "line 1\nline 2\nanother 1\nanother 2\nanother 3\n"


def test_as_many_bytes_in_the_same_inode_are_noticed(one: Follow) -> None:
    path = one.write("a.log", "1\n2\n")
    one.poll()
    path.write_bytes(b"3\n4\n")
    one.poll()
    assert one.text() == "1\n2\n3\n4\n"


class CoarseDisk(FaultyDisk):
    """All changes of a test fall into one grain of its file times."""

    now_ns = time.time_ns()

    def stat(self, path: Path | str) -> os.stat_result:
        return self._coarse(super().stat(path))

    def stat_open(self, handle: int) -> os.stat_result:
        return self._coarse(super().stat_open(handle))

    def _coarse(self, real: os.stat_result) -> os.stat_result:
        return os.stat_result(
            [*real[:10]], {"st_mtime_ns": self.now_ns, "st_ctime_ns": self.now_ns}
        )


def test_a_change_that_no_time_of_the_file_shows_is_noticed(
    follow: Callable[..., Follow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is trusted to be unchanged only once its last change is older than the grain."""
    monkeypatch.setattr(recognition, "QUIET_NS", 3_600 * 10**9)
    one = follow(disk=CoarseDisk())
    path = one.write("a.log", "1\n2\n")
    one.poll()
    path.write_bytes(b"3\n4\n")
    one.poll()
    assert one.text() == "1\n2\n3\n4\n"


def test_a_file_cut_back_is_not_read_again(one: Follow) -> None:
    path = one.write("a.log", "line 1\nline 2\nline 3\n")
    one.poll()
    os.truncate(path, 10)
    one.poll()
    one.write("a.log", "/4\n")
    one.poll()
    assert one.text() == "line 1\nline 2\nline 3\nlin/4\n"


def test_a_file_replaced_by_its_edited_copy_goes_on_where_it_was(one: Follow) -> None:
    one.write("a.log", "1\n2\n")
    one.poll()
    edited = one.write("edited", "1\n2\n3\n")
    edited.rename(one.logs / "a.log")
    one.restart()
    one.poll()
    assert one.text() == "1\n2\n3\n"


def test_bytes_that_were_seen_and_truncated_before_they_were_read_are_counted_as_lost(
    follow: Callable[..., Follow],
) -> None:
    one = follow(cube={"spool_bytes_max": 10})
    path = one.write("a.log", "12345678\n")
    one.poll()
    one.write("a.log", "second\n")
    full = one.poll()
    assert "full" in full.stalled
    assert not full.is_clean
    os.truncate(path, 0)
    poll = one.poll()
    assert poll.lost_bytes == 7
    one.user.cube.cuts.begin_epoch(SOURCE)
    report = one.user.cube.commit_batch(Batch(SOURCE, 1, 0, 1), SiteOutcome())
    assert report.lost_bytes == 7


def test_a_full_spool_stops_cutting_and_goes_on_after_a_commit(
    follow: Callable[..., Follow],
) -> None:
    one = follow(cube={"spool_bytes_max": 10})
    one.write("a.log", "12345678\n")
    one.poll()
    one.write("a.log", "second\n")
    assert one.poll().stalled
    cuts = one.user.cube.cuts
    cuts.begin_epoch(SOURCE)
    one.user.cube.commit_batch(Batch(SOURCE, 1, 0, 1), SiteOutcome())
    cuts.begin_epoch(SOURCE)
    assert not one.poll().stalled
    assert one.text() == "second\n"


def test_lines_left_unread_survive_removal_and_restart(follow: Callable[..., Follow]) -> None:
    """The spool was full at the poll; the log was removed and the agent killed before the next."""
    one = follow(cube={"spool_bytes_max": 10})
    path = one.write("a.log", "12345678\nsecond\n")
    one.follower._config = FollowConfig(cut_bytes_max=12, line_bytes_max=9)
    one.poll()
    path.unlink()
    one.user.options["spool_bytes_max"] = 1 << 20
    one.restart()
    one.poll()
    assert one.text() == "12345678\nsecond\n"
    assert not [p for p in one.user.cube.cuts.spool.directory.iterdir() if "held" in p.name]


@pytest.mark.parametrize("verb", ["write_new", "sync_file", "sync_directory"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_an_error_of_the_spools_disk_is_visible_and_registers_nothing(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk, verb: str, code: int
) -> None:
    one = follow(cube={"disk": faulty_disk}, disk=faulty_disk)
    one.write("a.log", "1\n")
    one.poll()
    one.write("a.log", "2\n")
    faulty_disk.fail[verb] = code
    poll = one.poll()
    assert os.strerror(code) in poll.stalled
    assert (poll.is_clean, poll.cuts, one.text()) == (False, 0, "1\n")
    faulty_disk.fail.clear()
    assert one.poll().is_clean
    assert one.text() == "1\n2\n"


def test_a_file_that_may_not_be_read_is_visible_and_stops_nobody(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk
) -> None:
    one = follow(disk=faulty_disk)
    one.poll()
    one.write("a.log", "1\n")
    faulty_disk.fail["open"] = errno.EACCES
    poll = one.poll()
    assert [reason for _, reason in poll.refused] == [os.strerror(errno.EACCES)]
    assert not poll.is_clean
    faulty_disk.fail.clear()
    one.poll()
    assert one.text() == "1\n"


def test_a_known_file_with_news_that_can_not_be_read_keeps_the_source_behind(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk
) -> None:
    one = follow(disk=faulty_disk)
    one.write("a.log", "1\n")
    one.poll()
    one.write("a.log", "2\n")
    faulty_disk.fail["read_at"] = errno.EIO
    poll = one.poll()
    assert not poll.is_clean
    assert poll.refused
    faulty_disk.fail.clear()
    one.poll()
    assert one.text() == "1\n2\n"


def test_links_to_one_file_are_one_file(one: Follow) -> None:
    path = one.write("a.log", "1\n")
    os.link(path, one.logs / "b.log")
    (one.logs / "c.log").symlink_to("a.log")
    one.poll()
    assert one.text() == "1\n"


def test_irregular_files_and_those_that_nobody_expands_are_not_followed(
    follow: Callable[..., Follow],
) -> None:
    one = follow(pattern="*.log*")
    (one.logs / "a.log.2.zip").write_bytes(b"PK")
    (one.logs / "d.log").mkdir()
    os.mkfifo(one.logs / "pipe.log")
    one.write("a.log", "1\n")
    poll = one.poll()
    assert one.text() == "1\n"
    assert [Path(path).name for path, _ in poll.refused] == ["a.log.2.zip", "d.log", "pipe.log"]


def test_a_name_that_is_not_text_is_visible_and_stops_nobody(one: Follow) -> None:
    (one.logs / os.fsdecode(b"\xff\xfe.log")).write_bytes(b"no\n")
    one.write("a.log", "1\n")
    poll = one.poll()
    assert one.text() == "1\n"
    ((path, reason),) = poll.refused
    assert "\\xff" in path
    assert "UTF-8" in reason


def test_a_file_that_a_listing_missed_because_it_was_being_renamed_is_not_read_again(
    one: Follow, monkeypatch: pytest.MonkeyPatch
) -> None:
    one.write("a.log", "1\n")
    one.write("b.log", "2\n")
    one.poll()
    one.restart()
    looks = []
    look = one.follower._glob.look

    def first_time_without_a() -> Listing:
        looks.append(look())
        if len(looks) > 1:
            return looks[-1]
        found = {key: f for key, f in looks[0].matching.items() if not f.path.endswith("a.log")}
        return Listing(found, {}, {})

    monkeypatch.setattr(one.follower._glob, "look", first_time_without_a)
    one.poll()
    one.poll()
    assert len(looks) == 3
    assert sorted(one.text().split()) == ["1", "2"]


def test_a_glob_reaches_into_directories_that_appear_later(follow: Callable[..., Follow]) -> None:
    one = follow(pattern="*/app-*.log")
    one.poll()
    (one.logs / "web1").mkdir()
    one.write("web1/app-1.log", "1\n")
    one.write("web1/other.log", "no\n")
    one.poll()
    assert one.text() == "1\n"


@pytest.mark.parametrize("pattern", ["../*.log", "a/../../x", "/etc/passwd", ""])
def test_a_path_that_leaves_the_directory_is_refused(
    follow: Callable[..., Follow], pattern: str
) -> None:
    with pytest.raises(ConfigurationError):
        follow(pattern=pattern)


def test_polling_thousands_of_quiet_files_opens_none_of_them(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognition, "QUIET_NS", 0)
    one = follow(disk=faulty_disk, start=Start.END)
    for n in range(3000):
        (one.logs / f"{n}.log").write_bytes(b"old\n")
    one.poll()
    one.poll()
    one.write("7.log", "new\n")
    before = faulty_disk.calls["open"]
    poll = one.poll()
    assert (poll.files, poll.cuts) == (3000, 1)
    assert faulty_disk.calls["open"] - before <= 1
    assert one.text() == "new\n"


def test_more_files_than_handles_are_no_problem(
    follow: Callable[..., Follow], clock: Clock
) -> None:
    one = follow(config=FollowConfig(held_files_max=4))
    for round_ in range(3):
        for n in range(20):
            one.write(f"{n}.log", f"{n} {round_}\n")
        one.poll()
    assert len(one.follower._watch.open_files) <= 4
    assert len(set(one.text().splitlines())) == 60


def test_a_directory_that_can_not_be_listed_is_not_empty(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk
) -> None:
    one = follow(disk=faulty_disk)
    one.write("a.log", "1\n2\n")
    one.poll()
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
    one.write("a.log", "1\n")
    one.poll()
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
    one.write("app/a.log", "new\n")
    one.poll()
    assert one.text() == "new\n"


def test_an_unmounted_file_system_leaves_its_files_out_of_sight(
    follow: Callable[..., Follow], tmp_path: Path
) -> None:
    """The mount point is still there, empty, and on another device."""
    point = tmp_path / "logs"
    disk = MountingDisk(point)
    one = follow(disk=disk)
    one.write("a.log", "1\n")
    one.poll()
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
    one.write("disk/a.log", "new\n")
    one.poll()
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
    one.write("monday/a.log", "old\n")
    one.poll()
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
    one.write("b/x.log", "new\n")
    one.poll()
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
    one.write("monday/a.log", "1\n")
    one.poll()
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
    one.write("monday/a.log", text)
    one.poll()
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
    one.write("a.log", "1\nhalf")
    one.poll()
    one.restart()
    faulty_disk.fail["scan"] = errno.EIO
    assert one.poll().files == 1
    poll = one.poll(after_s=1001.0)
    assert (poll.is_clean, poll.files, poll.lost_bytes) == (False, 0, 4)


def test_a_file_that_was_in_sight_in_between_is_not_given_up(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk
) -> None:
    one = follow(disk=faulty_disk, config=FollowConfig(away_s=1000.0))
    one.write("a.log", "1\nhalf")
    one.poll()
    one.restart()
    for _ in range(3):
        faulty_disk.fail["scan"] = errno.EIO
        assert one.poll(after_s=900.0).files == 1
        faulty_disk.fail.clear()
        poll = one.poll()
        assert (poll.is_clean, poll.files, poll.lost_bytes) == (True, 1, 0)


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("lines", [8, 400])
def test_a_file_that_is_replaced_again_and_again_is_read_once(
    one: Follow, restarts: bool, lines: int
) -> None:
    """As ``rsync`` does it: a new inode under the old name, with the same content and more."""
    text = "".join(f"line {n}\n" for n in range(lines))
    one.write("a.log", text)
    one.poll()
    for n in range(30):
        text += f"more {n}\n"
        one.write("a.new", text).rename(one.logs / "a.log")
        if restarts:
            one.restart()
        assert one.poll(after_s=30.0).is_clean
    assert one.text() == text


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("lines", [8, 400])
def test_an_edited_file_goes_on_at_the_edit_and_says_what_may_come_twice(
    follow: Callable[..., Follow], restarts: bool, lines: int
) -> None:
    """As ``sed -i`` does it: a line in the middle is another one, in a new inode."""
    one = follow(config=FollowConfig(cut_bytes_max=800, line_bytes_max=100))
    before = [f"line {n}\n" for n in range(lines)]
    one.write("a.log", "".join(before))
    one.poll()
    after = [*before]
    after[lines - 3] = "edited\n"
    one.write("a.new", "".join(after)).rename(one.logs / "a.log")
    if restarts:
        one.restart()
    poll = one.poll()
    assert poll.is_clean
    assert "replaced" in dict(poll.told)[str(one.logs / "a.log")]
    text = one.text()
    assert text.endswith("edited\n" + "".join(after[lines - 2 :]))
    again = len(text) - len("".join(before)) - len("edited\n")
    assert len("".join(after[lines - 2 :])) <= again <= poll.twice_bytes <= 800
    one.poll(after_s=100.0)
    assert one.text() == text


def test_a_file_cut_back_beyond_its_head_and_written_on_loses_nothing(one: Follow) -> None:
    path = one.write("a.log", "".join(f"line {n}\n" for n in range(300)))
    one.poll()
    one.write("a.log", "last\n" * 200)
    one.poll()
    os.truncate(path, path.stat().st_size - 900)
    one.write("a.log", "new\n")
    poll = one.poll()
    assert one.text().endswith("last\nnew\n")
    assert poll.twice_bytes > 0


def test_files_alike_in_head_tail_and_length_are_told_apart(one: Follow) -> None:
    head, tail = "head line\n" * 200, "tail line\n" * 100
    one.write("a.log", head + "one\n" + tail)
    one.poll()
    one.write("b.log", head + "two\n" + tail)
    poll = one.poll()
    assert poll.is_clean
    assert one.text().endswith("two\n" + tail)
    assert "left out" in dict(poll.told)[str(one.logs / "b.log")]


def test_a_copy_is_named_as_one_at_every_poll_and_read_when_it_becomes_another(one: Follow) -> None:
    path = one.write("a.log", "line\n" * 300)
    one.poll()
    shutil.copyfile(path, one.logs / "b.log")
    for _ in range(3):
        poll = one.poll(after_s=100.0)
        assert (poll.is_clean, poll.copies) == (True, 1)
        assert dict(poll.refused)[str(one.logs / "b.log")] == f"a copy of {path}: not read twice"
    one.write("b.log", "own\n")
    assert one.poll().copies == 0
    assert one.text() == "line\n" * 300 + "own\n"


def test_a_poll_is_not_clean_while_a_small_file_may_be_a_copy(one: Follow) -> None:
    one.write("a.log", "same\n")
    one.poll()
    one.write("b.log", "same\n")
    poll = one.poll()
    assert not poll.is_clean
    assert "copy" in dict(poll.refused)[str(one.logs / "b.log")]
    poll = one.poll(after_s=61.0)
    assert (poll.is_clean, poll.twice_bytes) == (True, 5)


def test_comparing_is_bounded_for_each_poll_and_goes_on_where_it_was(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "BLOCK_BYTES", 1000)
    one = follow(disk=faulty_disk, config=FollowConfig(compare_bytes_max=2000))
    path = one.write("a.log", "".join(f"line {n}\n" for n in range(1000)))
    one.poll()
    shutil.copyfile(path, one.logs / "b.log")
    one.write("b.log", "own\n")
    polls = [one.poll() for _ in range(5)]
    assert [poll.is_clean for poll in polls] == [False, False, False, False, True]
    assert one.text().endswith("line 999\nown\n")


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
    path = one.write("a.log", "1\n2\n3\n")
    one.poll()
    one.restart()
    faulty_disk.fail["open"] = errno.EIO
    os.truncate(path, 0)
    if is_seen_empty:
        one.poll()
    one.write("a.log", "4\n5\n6\n" if is_seen_empty else "4\n")
    one.poll()
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


def test_a_copy_whose_original_was_emptied_is_followed_in_its_place(
    follow: Callable[..., Follow], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognition, "QUIET_NS", 0)
    one = follow()
    path = one.write("a.log", "line\n" * 300)
    one.poll()
    shutil.copyfile(path, one.logs / "b.log")
    assert [one.poll().copies for _ in range(3)] == [1, 1, 1]
    os.truncate(path, 0)
    poll = one.poll()
    assert (poll.copies, poll.refused, poll.is_clean) == (0, (), True)
    assert one.text() == "line\n" * 300


def test_a_held_file_that_goes_on_elsewhere_is_let_go(follow: Callable[..., Follow]) -> None:
    disk = ClosedDisk()
    one = follow(disk=disk, pattern="*/*.log", cube={"spool_bytes_max": 1_200})
    for name in ("x", "y"):
        (one.logs / name).mkdir()
    path = one.write("x/a.log", "line\n" * 220)
    one.poll()
    one.write("x/a.log", "more\n" * 40)
    assert one.poll().stalled
    spool = one.user.cube.cuts.spool.directory
    (held,) = [path for path in spool.iterdir() if "held" in path.name]
    disk.closed = {"x", "a.log", held.name}
    shutil.copyfile(path, one.logs / "y" / "b.log")
    one.poll()
    assert not held.exists()


@pytest.mark.parametrize("reads", range(30))
def test_a_file_of_which_not_all_can_be_read_leaves_what_it_goes_on_from_remembered(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk, reads: int
) -> None:
    one = follow(disk=faulty_disk)
    path = one.write("a.log", "1\n2\n")
    one.poll()
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
    path = one.write("a.log", "1\n2\n")
    one.poll()
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


def test_a_file_that_could_not_be_opened_at_the_begin_is_not_read_after_its_copy(
    follow: Callable[..., Follow],
) -> None:
    disk = ClosedDisk()
    one = follow(disk=disk, start=Start.END)
    path = one.write("a.log", "1\n")
    disk.closed = {"a.log"}
    one.poll()
    one.write("a.log", "2\n")
    shutil.copyfile(path, one.logs / "b.log")
    one.poll()
    disk.closed = set()
    poll = one.poll()
    assert (one.text(), poll.is_clean) == ("1\n2\n", False)


def test_a_file_of_which_nothing_was_read_is_compared_anew_when_it_has_grown(
    follow: Callable[..., Follow],
) -> None:
    disk = ClosedDisk()
    one = follow(disk=disk)
    path = one.write("a.log", "1")
    one.poll()
    one.write("a.log", "\n2\n")
    shutil.copyfile(path, one.logs / "b.log")
    disk.closed = {"a.log"}
    one.poll()
    disk.closed = set()
    poll = one.poll()
    assert (one.text(), poll.is_clean) == ("1\n2\n", False)


def test_a_line_that_is_stepped_over_still_is_when_its_file_was_renamed(
    follow: Callable[..., Follow],
) -> None:
    one = follow(start=Start.END)
    path = one.write("a.log", "1\nha")
    one.poll()
    one.restart()
    path.rename(one.logs / "b.log")
    one.write("b.log", "lf\n2\n")
    one.poll()
    assert one.text() == "2\n"


def test_what_was_compared_of_a_file_is_not_believed_once_it_is_another(one: Follow) -> None:
    begin = "line\n" * 220
    path = one.write("a.log", begin + "old\n")
    one.poll()
    copy = one.logs / "b.log"
    shutil.copyfile(path, copy)
    assert one.poll().copies == 1
    copy.write_text(begin + "new\n")
    assert one.poll().is_clean
    assert one.text() == begin + "old\nnew\n"


def test_a_file_that_begins_like_one_out_of_sight_is_said_to(follow: Callable[..., Follow]) -> None:
    disk = ClosedDisk()
    one = follow(disk=disk, pattern="*/*.log")
    for name in ("x", "y"):
        (one.logs / name).mkdir()
    one.write("x/a.log", "1\n2\n3\n")
    one.poll()
    one.restart()
    disk.closed = {"x"}
    one.write("y/b.log", "1\n2\n4\n")
    assert one.poll().twice_bytes >= 4


def test_what_goes_on_beside_the_glob_is_said_to_begin_like_another(one: Follow) -> None:
    path = one.write("a.log", "1\n")
    one.poll()
    one.write("b.log", "1\n2\n3\n")
    one.poll()
    (one.logs / "aside").write_text("1\n2\n4\n")
    path.write_text("")
    assert one.poll().twice_bytes >= 2
    assert one.text() == "1\n1\n2\n3\n2\n4\n"


def test_what_is_in_the_file_that_replaced_another_is_not_lost_with_it_after_a_restart(
    one: Follow,
) -> None:
    path = one.write("a.log", "1\nhal")
    one.poll()
    one.write(".new", "1\nhalf\n2\n").rename(path)
    assert one.poll().lost_bytes == 0
    one.restart()
    poll = one.poll()
    assert (poll.lost_bytes, poll.is_clean) == (0, True)
    assert one.text() == "1\nhalf\n2\n"


def test_a_file_that_grows_after_it_was_replaced_has_bytes_of_its_own(
    one: Follow, tmp_path: Path
) -> None:
    path = one.write("a.log", "1\nhal")
    one.poll()
    os.link(path, tmp_path / "still")
    one.write(".new", "1\nhalf\n2\n").rename(path)
    one.poll()
    with (tmp_path / "still").open("a") as file:
        file.write("tooth")
    assert one.poll().lost_bytes == 0
    one.restart()
    assert one.poll().lost_bytes == len("haltooth")


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
    path = one.write("a.log", "old\n")
    one.poll()
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
    path = one.write("a.log", "old\n")
    one.poll()
    one.write("a.log", "new\n")
    one.poll()
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
    path = one.write("a.log", "1\n2\n")
    one.poll()
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
    path = one.write("a.log", "1\n")
    one.poll()
    one.restart()
    disk.closed = {"a.log"}
    one.write("a.log", "22\n")
    one.poll()
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
    path = one.write("a.log", "1\n2\n")
    one.poll()
    path.write_text("3\n")
    assert one.poll().lost_bytes == len("2\n")
    disk.closed = set()
    assert one.poll().lost_bytes == 0
    assert one.text() == "3\n"


def test_a_file_that_shrinks_between_being_listed_and_opened_has_lost_what_was_listed(
    one: Follow, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = one.write("a.log", "1\n")
    one.poll()
    one.write("a.log", "22\n")
    real = Glob.look

    def look(self: Glob) -> Listing:
        listing = real(self)
        os.truncate(path, 0)
        return listing

    monkeypatch.setattr(Glob, "look", look)
    assert one.poll().lost_bytes == len("22\n")


def test_lines_that_may_have_been_read_before_are_cut_by_themselves(one: Follow) -> None:
    """So that whoever counts them knows which panes they are in."""
    one.write("a.log", "time,page\n1,/\n2,/\n")
    one.poll()
    one.write("b.log", "time,page\n1,/other\n")
    poll = one.poll(after_s=61.0)
    assert poll.twice_bytes == len("time,page\n")
    assert one.doubted() == "time,page\n"
    assert [chunk.is_doubtful for chunk in one.chunks()] == [False, True, False]
    assert len(one.user.cube.cuts.pending(SOURCE)) == 1, "not in one batch with the others"


def test_what_is_doubtful_stays_so_until_it_is_read(follow: Callable[..., Follow]) -> None:
    config = FollowConfig(cut_bytes_max=20, line_bytes_max=10, poll_bytes_max=12)
    one = follow(config=config)
    one.write("a.log", "head\n11\n22\n3\n")
    for _ in range(3):
        one.poll()
    one.write("b.log", "head\n11\n22\n4\n")
    for _ in range(3):
        one.poll(after_s=61.0)
        one.restart()
    assert one.text().endswith("4\n")
    assert one.doubted() == "head\n11\n22\n"


@pytest.mark.parametrize("is_restarted", [False, True])
def test_what_was_listed_of_a_known_file_that_could_not_be_opened_is_lost_when_it_is_gone(
    follow: Callable[..., Follow], is_restarted: bool
) -> None:
    disk = ClosedDisk()
    one = follow(disk=disk)
    path = one.write("a.log", "1\nha")
    one.poll()
    one.restart()
    disk.closed, disk.fail["link"] = {"a.log"}, errno.EXDEV
    one.write("a.log", "lf\n")
    one.poll()
    one.write("a.log", "more\n")
    one.poll()
    if is_restarted:
        one.restart()
    path.unlink()
    assert one.poll().lost_bytes == len("half\nmore\n")


def test_what_a_file_lost_before_it_was_opened_again_is_lost_once(
    follow: Callable[..., Follow],
) -> None:
    disk = ClosedDisk()
    one = follow(disk=disk)
    path = one.write("a.log", "1\n")
    one.poll()
    one.restart()
    disk.closed, disk.fail["link"] = {"a.log"}, errno.EXDEV
    one.write("a.log", "2\n")
    one.poll()
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


def held_links(one: Follow) -> list[Path]:
    return [path for path in one.user.cube.cuts.spool.directory.iterdir() if "held" in path.name]


def test_lines_of_a_poll_that_could_not_be_registered_survive_removal_and_restart(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk
) -> None:
    one = follow(cube={"disk": faulty_disk}, disk=faulty_disk)
    path = one.write("a.log", "1\n")
    one.poll()
    one.write("a.log", "2\n")
    faulty_disk.fail["sync_file"] = errno.EIO
    assert one.poll().stalled
    faulty_disk.fail.clear()
    path.unlink()
    one.restart()
    assert one.poll().is_clean
    assert one.text() == "1\n2\n"
    assert not held_links(one)


def test_lines_that_a_full_spool_left_in_a_file_that_was_read_before_survive_a_restart(
    follow: Callable[..., Follow],
) -> None:
    """Nothing else of the file is new than that it is held."""
    one = follow(cube={"spool_bytes_max": 4})
    path = one.write("a.log", "1\n2\n")
    one.poll()
    one.write("a.log", "3\n")
    assert one.poll().stalled
    path.unlink()
    one.user.options["spool_bytes_max"] = 1 << 20
    one.restart()
    one.poll()
    assert one.text() == "1\n2\n3\n"


def test_a_link_that_leads_to_another_file_holds_nothing(follow: Callable[..., Follow]) -> None:
    """The file was renamed, and another put in its place, right before it was linked to."""

    class Swapping(FaultyDisk):
        def link(self, old: Path | str, new: Path) -> None:
            Path(old).rename(Path(old).with_name("b.log"))
            Path(old).write_text("other\n")
            super().link(old, new)

    one = follow(disk=Swapping(), cube={"spool_bytes_max": 2})
    one.write("a.log", "1\n2\n")
    one.poll()
    assert not held_links(one)


def test_a_file_that_only_the_first_of_two_looks_has_seen_is_not_gone(
    one: Follow, monkeypatch: pytest.MonkeyPatch
) -> None:
    one.write("a.log", "1\nhalf")
    one.write("b.log", "2\n")
    one.poll()
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
    one.write("a.log", "more\n")
    one.poll()
    assert one.text() == "a\nb\nmore\n"


def test_nothing_goes_on_from_a_file_that_another_went_on_from(one: Follow) -> None:
    path = one.write("a.log", "1\n2\n")
    one.poll()
    one.restart()
    one.write(".new", "1\n2\n3\n").rename(path)
    one.poll()
    one.write("b.log", "1\n2\n4\n")
    poll = one.poll()
    assert one.text() == "1\n2\n3\n1\n2\n4\n"
    assert poll.twice_bytes >= 4


def test_a_file_that_goes_on_from_one_out_of_sight_is_not_awaited_there(
    follow: Callable[..., Follow],
) -> None:
    disk = ClosedDisk()
    one = follow(disk=disk, pattern="*/*.log")
    for name in ("x", "y"):
        (one.logs / name).mkdir()
    path = one.write("x/a.log", "1\n")
    one.poll()
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
    path = one.write("a.log", "1\nhal")
    one.poll()
    one.restart()
    path.rename(one.logs / "b.log")
    disk.fail["b.log"] = errno.EIO
    poll = one.poll()
    assert (poll.is_clean, poll.lost_bytes, poll.files) == (False, 0, 1)
    disk.fail.clear()
    one.write("b.log", "f\n")
    assert one.poll().is_clean
    assert one.text() == "1\nhalf\n"


def test_what_was_compared_of_a_copy_is_forgotten_when_it_is_emptied(one: Follow) -> None:
    head, tail = "head line\n" * 200, "tail line\n" * 100
    path = one.write("a.log", head + "middle 1\n" + tail)
    one.poll()
    copy = one.logs / "b.log"
    shutil.copyfile(path, copy)
    assert one.poll().copies == 1
    copy.write_text("")
    one.poll()
    copy.write_text(head + "middle 2\n" + tail)
    poll = one.poll()
    assert (poll.copies, poll.is_clean) == (0, True)
    assert "middle 2\n" in one.text()


def test_a_copy_that_could_not_be_opened_at_first_is_not_lost_when_it_is_gone(
    follow: Callable[..., Follow],
) -> None:
    disk = ClosedDisk()
    one = follow(disk=disk)
    path = one.write("a.log", "line\n" * 300)
    one.poll()
    copy = one.logs / "b.log"
    shutil.copyfile(path, copy)
    disk.closed = {"b.log"}
    one.poll()
    disk.closed = set()
    assert one.poll().copies == 1
    one.restart()
    copy.unlink()
    assert one.poll().lost_bytes == 0


def with_an_inode_given_to_a_later_copy(one: Follow, aside: Path) -> None:
    """As if the inode of the first ``a.log`` had been given to a copy of the second, which has read
    further and is gone."""
    path = one.write("a.log", "1\n2\n")
    one.poll()
    os.link(path, aside)
    one.write(".new", "1\n2\n3\n").rename(path)
    one.poll()
    one.restart()
    with aside.open("a") as file:
        file.write("3\n4\n")
    aside.rename(one.logs / "b.log")
    path.unlink()


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


def test_what_a_copy_has_of_an_original_that_could_not_be_looked_at_is_not_its_own(
    follow: Callable[..., Follow],
) -> None:
    class ClosedOnce(ClosedDisk):
        def _refuse(self, path: str) -> None:
            refused, self.closed = self.closed, self.closed - {os.path.basename(path)}
            if refused != self.closed:
                raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    disk = ClosedOnce()
    one = follow(disk=disk)
    path = one.write("a.log", "line\n" * 300)
    one.poll()
    one.restart()
    one.write("a.log", "more\n")
    shutil.copyfile(path, one.logs / "b.log")
    disk.closed = {"a.log"}
    assert not one.poll().is_clean
    assert not disk.closed
    poll = one.poll()
    assert (poll.is_clean, poll.copies) == (True, 1)
    assert one.text() == "line\n" * 300 + "more\n"


@pytest.mark.parametrize("partly", [False, True])
def test_a_copy_that_is_empty_or_half_there_at_first_is_a_copy_when_it_is_filled(
    one: Follow, partly: bool
) -> None:
    text = "".join(f"{n} of a log\n" for n in range(300))
    one.write("a.log", text)
    assert one.poll().is_clean
    one.write("b.log", text[: len(text) // 2 if partly else 0])
    one.poll()
    (one.logs / "b.log").write_text(text)
    for _ in range(3):
        one.poll()
    assert one.text() == text


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
