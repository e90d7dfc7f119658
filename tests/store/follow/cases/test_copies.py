"""Following logs that are copied, replaced by edited ones, or alike."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from follow_kit import ClosedDisk, Follow
from store_kit import FaultyDisk

from headwater.store.follow.poll import FollowConfig, Start
from headwater.store.recognise import comparison, recognition


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
    path = one.give("a.log", "1\n" + "x" * 100)
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
    path = one.give("a.log", first)
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
    one.give("a.log", "time,page\n1,/\n2,/\n")
    one.give("b.log", "time,page\n")
    one.give("b.log", "1,/other\n")
    assert one.text() == "time,page\n1,/\n2,/\ntime,page\n1,/other\n"


def test_small_files_that_stay_alike_are_two_files_after_a_while(one: Follow) -> None:
    one.give("a.log", "same\n")
    one.give("b.log", "same\n")
    assert one.text() == "same\n"
    one.poll(after_s=61.0)
    assert one.text() == "same\nsame\n"


def test_files_that_were_there_from_the_start_are_all_read_however_alike(one: Follow) -> None:
    for name in ("a.log", "b.log"):
        one.write(name, "same line\n" * 300)
    one.poll()
    assert one.text() == "same line\n" * 600


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("lines", [8, 400])
def test_a_file_that_is_replaced_again_and_again_is_read_once(
    one: Follow, restarts: bool, lines: int
) -> None:
    """As ``rsync`` does it: a new inode under the old name, with the same content and more."""
    text = "".join(f"line {n}\n" for n in range(lines))
    one.give("a.log", text)
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
    one.give("a.log", "".join(before))
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
    one.give("a.log", "last\n" * 200)
    os.truncate(path, path.stat().st_size - 900)
    one.write("a.log", "new\n")
    poll = one.poll()
    assert one.text().endswith("last\nnew\n")
    assert poll.twice_bytes > 0


def test_files_alike_in_head_tail_and_length_are_told_apart(one: Follow) -> None:
    head, tail = "head line\n" * 200, "tail line\n" * 100
    one.give("a.log", head + "one\n" + tail)
    one.write("b.log", head + "two\n" + tail)
    poll = one.poll()
    assert poll.is_clean
    assert one.text().endswith("two\n" + tail)
    assert "left out" in dict(poll.told)[str(one.logs / "b.log")]


def test_a_copy_is_named_as_one_at_every_poll_and_read_when_it_becomes_another(one: Follow) -> None:
    path = one.give("a.log", "line\n" * 300)
    shutil.copyfile(path, one.logs / "b.log")
    for _ in range(3):
        poll = one.poll(after_s=100.0)
        assert (poll.is_clean, poll.copies) == (True, 1)
        assert dict(poll.refused)[str(one.logs / "b.log")] == f"a copy of {path}: not read twice"
    one.write("b.log", "own\n")
    assert one.poll().copies == 0
    assert one.text() == "line\n" * 300 + "own\n"


def test_a_poll_is_not_clean_while_a_small_file_may_be_a_copy(one: Follow) -> None:
    one.give("a.log", "same\n")
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


def test_a_copy_whose_original_was_emptied_is_followed_in_its_place(
    follow: Callable[..., Follow], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognition, "QUIET_NS", 0)
    one = follow()
    path = one.give("a.log", "line\n" * 300)
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
    path = one.give("x/a.log", "line\n" * 220)
    one.write("x/a.log", "more\n" * 40)
    assert one.poll().stalled
    spool = one.user.cube.cuts.spool.directory
    (held,) = [path for path in spool.iterdir() if "held" in path.name]
    disk.closed = {"x", "a.log", held.name}
    shutil.copyfile(path, one.logs / "y" / "b.log")
    one.poll()
    assert not held.exists()


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
    path = one.give("a.log", "1")
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
    path = one.give("a.log", "1\nha")
    one.restart()
    path.rename(one.logs / "b.log")
    one.give("b.log", "lf\n2\n")
    assert one.text() == "2\n"


def test_what_was_compared_of_a_file_is_not_believed_once_it_is_another(one: Follow) -> None:
    begin = "line\n" * 220
    path = one.give("a.log", begin + "old\n")
    copy = one.logs / "b.log"
    shutil.copyfile(path, copy)
    assert one.poll().copies == 1
    copy.write_text(begin + "new\n")
    assert one.poll().is_clean
    assert one.text() == begin + "old\nnew\n"


def test_what_is_in_the_file_that_replaced_another_is_not_lost_with_it_after_a_restart(
    one: Follow,
) -> None:
    path = one.give("a.log", "1\nhal")
    one.write(".new", "1\nhalf\n2\n").rename(path)
    assert one.poll().lost_bytes == 0
    one.restart()
    poll = one.poll()
    assert (poll.lost_bytes, poll.is_clean) == (0, True)
    assert one.text() == "1\nhalf\n2\n"


def test_a_file_that_grows_after_it_was_replaced_has_bytes_of_its_own(
    one: Follow, tmp_path: Path
) -> None:
    path = one.give("a.log", "1\nhal")
    os.link(path, tmp_path / "still")
    one.write(".new", "1\nhalf\n2\n").rename(path)
    one.poll()
    with (tmp_path / "still").open("a") as file:
        file.write("tooth")
    assert one.poll().lost_bytes == 0
    one.restart()
    assert one.poll().lost_bytes == len("haltooth")


def test_nothing_goes_on_from_a_file_that_another_went_on_from(one: Follow) -> None:
    path = one.give("a.log", "1\n2\n")
    one.restart()
    one.write(".new", "1\n2\n3\n").rename(path)
    one.poll()
    one.write("b.log", "1\n2\n4\n")
    poll = one.poll()
    assert one.text() == "1\n2\n3\n1\n2\n4\n"
    assert poll.twice_bytes >= 4


def test_what_was_compared_of_a_copy_is_forgotten_when_it_is_emptied(one: Follow) -> None:
    head, tail = "head line\n" * 200, "tail line\n" * 100
    path = one.give("a.log", head + "middle 1\n" + tail)
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
    path = one.give("a.log", "line\n" * 300)
    copy = one.logs / "b.log"
    shutil.copyfile(path, copy)
    disk.closed = {"b.log"}
    one.poll()
    disk.closed = set()
    assert one.poll().copies == 1
    one.restart()
    copy.unlink()
    assert one.poll().lost_bytes == 0


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
    path = one.give("a.log", "line\n" * 300)
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
    one.give("b.log", text[: len(text) // 2 if partly else 0])
    (one.logs / "b.log").write_text(text)
    for _ in range(3):
        one.poll()
    assert one.text() == text
