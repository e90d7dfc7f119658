"""Following logs, one case after the other: lines, chunks, the spool, and what is no log.

The model test plays all cases of this folder against each other.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from follow_kit import Follow, held_links
from store_kit import SOURCE, Clock, FaultyDisk

from headwater.errors import ConfigurationError
from headwater.reading.outcome import Batch, SiteOutcome
from headwater.store.follow.listing import Listing
from headwater.store.follow.poll import FollowConfig, Start
from headwater.store.recognise import recognition


def test_lines_come_as_they_are_written(one: Follow) -> None:
    one.write("a.log", "1\n2\n")
    assert one.poll().cuts == 1
    one.give("a.log", "3\n")
    assert one.text() == "1\n2\n3\n"
    assert one.poll().cuts == 0


def test_a_chunk_holds_whole_lines_of_one_file(one: Follow) -> None:
    one.write("a.log", "a1\na2\n")
    one.give("b.log", "b1\n")
    chunks = one.user.cube.cuts.pending(SOURCE)
    assert {(Path(c.origin).name, c.path.read_text()) for c in chunks} == {
        ("a.log", "a1\na2\n"),
        ("b.log", "b1\n"),
    }


def test_an_unfinished_line_waits_for_its_end(one: Follow) -> None:
    one.write("a.log", "1\n2")
    assert one.poll().is_clean
    assert one.text() == "1\n"
    one.give("a.log", "3\n")
    assert one.text() == "1\n23\n"


def test_from_the_end_the_rest_of_a_half_line_is_not_ours(follow: Callable[..., Follow]) -> None:
    one = follow(start=Start.END)
    one.give("a.log", "old\nhal")
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
    one.give("a.log", text)
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
    one.give("a.log", garbage)
    assert one.text() == garbage.decode("latin1")


@pytest.mark.parametrize("new_name", ["a.log.1", "b.log"])
@pytest.mark.parametrize("restarts", [False, True])
def test_what_was_written_before_a_rename_is_read_under_the_new_name(
    one: Follow, new_name: str, restarts: bool
) -> None:
    one.give("a.log", "1\n")
    one.write("a.log", "2\n").rename(one.logs / new_name)
    one.write("a.log", "3\n")
    if restarts:
        one.restart()
    one.poll()
    assert sorted(one.text().split()) == ["1", "2", "3"]


def test_a_removed_file_is_read_to_its_end(one: Follow) -> None:
    path = one.give("a.log", "1\n")
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
    path = one.give("a.log", text)
    path.unlink()
    polls = [one.poll(after_s=61.0) for _ in range(6)]
    assert one.text() == text
    assert sum(poll.lost_bytes for poll in polls) == 0


def test_a_removed_file_is_let_go_after_a_while(one: Follow) -> None:
    path = one.give("a.log", "1\nhalf")
    path.unlink()
    assert one.poll().files == 1
    poll = one.poll(after_s=61.0)
    assert (poll.files, poll.lost_bytes) == (0, 4)
    assert one.poll().files == 0


def test_truncate_and_regrow_is_a_new_file_even_if_it_grew_beyond(one: Follow) -> None:
    path = one.give("a.log", "1\n2\n")
    os.truncate(path, 0)
    one.give("a.log", "3\n4\n5\n6\n")
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
    one.give("a.log", "line 1\nline 2\n")
    one.write("a.log", "line 3\n")
    disk.is_armed = True
    poll = one.poll()
    assert not disk.is_armed, "the file was changed under the reader"
    assert not poll.is_clean
    one.poll()
    assert one.text() == "line 1\nline 2\nanother 1\nanother 2\nanother 3\n"


def test_as_many_bytes_in_the_same_inode_are_noticed(one: Follow) -> None:
    path = one.give("a.log", "1\n2\n")
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
    path = one.give("a.log", "1\n2\n")
    path.write_bytes(b"3\n4\n")
    one.poll()
    assert one.text() == "1\n2\n3\n4\n"


def test_a_file_cut_back_is_not_read_again(one: Follow) -> None:
    path = one.give("a.log", "line 1\nline 2\nline 3\n")
    os.truncate(path, 10)
    one.poll()
    one.give("a.log", "/4\n")
    assert one.text() == "line 1\nline 2\nline 3\nlin/4\n"


def test_a_file_replaced_by_its_edited_copy_goes_on_where_it_was(one: Follow) -> None:
    one.give("a.log", "1\n2\n")
    edited = one.write("edited", "1\n2\n3\n")
    edited.rename(one.logs / "a.log")
    one.restart()
    one.poll()
    assert one.text() == "1\n2\n3\n"


def test_bytes_that_were_seen_and_truncated_before_they_were_read_are_counted_as_lost(
    follow: Callable[..., Follow],
) -> None:
    one = follow(cube={"spool_bytes_max": 10})
    path = one.give("a.log", "12345678\n")
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
    one.give("a.log", "12345678\n")
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
    one.give("a.log", "1\n")
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
    one.give("a.log", "1\n")
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
    one.give("b.log", "2\n")
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
    one.give("web1/other.log", "no\n")
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


def test_lines_that_may_have_been_read_before_are_cut_by_themselves(one: Follow) -> None:
    """So that whoever counts them knows which panes they are in."""
    one.give("a.log", "time,page\n1,/\n2,/\n")
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


def test_lines_of_a_poll_that_could_not_be_registered_survive_removal_and_restart(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk
) -> None:
    one = follow(cube={"disk": faulty_disk}, disk=faulty_disk)
    path = one.give("a.log", "1\n")
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
    path = one.give("a.log", "1\n2\n")
    one.write("a.log", "3\n")
    assert one.poll().stalled
    path.unlink()
    one.user.options["spool_bytes_max"] = 1 << 20
    one.restart()
    one.poll()
    assert one.text() == "1\n2\n3\n"
