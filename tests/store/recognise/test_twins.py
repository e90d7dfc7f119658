"""Files that are alike: copies that come in pieces, and others that only look like one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from follow_kit import ClosedDisk, Follow, MountingDisk
from store_kit import FaultyDisk

from headwater.store.follow.poll import FollowConfig, Start
from headwater.store.recognise.identity import HEAD_BYTES

LINGER_S = 61.0
FAR_AHEAD_NS = 4_000_000_000 * 1_000_000_000
TEXT = "".join(f"{n} of a log\n" for n in range(300))


def test_a_copy_that_stood_still_in_its_first_line_is_a_copy_when_it_goes_on(one: Follow) -> None:
    text = "a long first line " * 5 + "\n" + TEXT
    one.write("a.log", text)
    one.poll()
    one.write("b.log", text[:20])
    one.poll()
    assert one.poll(after_s=LINGER_S).is_clean
    one.write("b.log", text[20:])
    poll = one.poll()
    assert (poll.copies, poll.twice_bytes, one.text()) == (1, 0, text)


def test_a_renamed_file_goes_on_before_its_copy_is_taken_for_what_it_once_was(one: Follow) -> None:
    """It was cut back and written again, so that what it was before is remembered as gone."""
    path = one.write("a.log", TEXT)
    one.poll()
    path.write_text(TEXT[: TEXT.index("9 of")])
    one.poll()
    one.write("a.log", TEXT[TEXT.index("9 of") :] + "after\n")
    one.poll()
    before = one.text()
    one.restart()
    one.write("a.log", "more\n")
    path.rename(one.logs / "a.1.log")
    shutil.copyfile(one.logs / "a.1.log", path)
    poll = one.poll()
    assert (poll.copies, one.text()) == (1, before + "more\n")


def test_a_copy_that_is_being_made_of_a_file_out_of_sight_waits_for_it(
    follow: Callable[..., Follow],
) -> None:
    disk = ClosedDisk()
    one = follow(disk=disk, pattern="*/*.log")
    for name in ("here", "there"):
        (one.logs / name).mkdir()
    one.write("there/a.log", TEXT)
    one.poll()
    one.restart()
    disk.closed = {"there"}
    one.write("here/b.log", TEXT[: len(TEXT) // 2])
    assert not one.poll().is_clean
    disk.closed = set()
    poll = one.poll()
    assert (poll.copies, poll.is_clean, one.text()) == (1, True, TEXT)


def report(line: str) -> str:
    """Reports have all but one line in common."""
    begin, end = "a header\n" * 200, "an end\n" * 100
    return f"{begin}{line}\n{end}"


def test_a_report_that_looks_like_one_that_is_gone_is_read(one: Follow) -> None:
    path = one.write("monday.log", report("1 fault"))
    one.poll()
    path.unlink()
    one.poll(after_s=LINGER_S)
    one.poll(after_s=LINGER_S)
    one.write("tuesday.log", report("2 fault"))
    poll = one.poll()
    assert one.text().count("2 fault\n") == 1
    assert poll.twice_bytes >= len(one.doubted()) > len(report("")) - HEAD_BYTES - 100
    assert one.poll().bytes == 0


@pytest.mark.parametrize("has_same_inode", [False, True])
def test_a_report_is_not_known_again_by_its_inode_or_its_time_alone(
    one: Follow, has_same_inode: bool
) -> None:
    path = one.write("a.log", report("1 fault"))
    os.utime(path, ns=(FAR_AHEAD_NS, FAR_AHEAD_NS))
    one.poll()
    aside = path.rename(one.logs.with_name("aside"))
    one.poll(after_s=LINGER_S)
    one.poll(after_s=LINGER_S)
    if has_same_inode:
        aside.write_text(report("2 fault"))
        aside.rename(path)
    else:
        one.write("a.log", report("2 fault"))
        os.utime(path, ns=(FAR_AHEAD_NS, FAR_AHEAD_NS))
    one.poll()
    assert one.text().count("2 fault\n") == 1


@pytest.mark.parametrize("name", ["a.log", "b.log"])
def test_a_report_that_takes_the_place_of_one_like_it_is_read(one: Follow, name: str) -> None:
    """Nobody had the first one open when the second one came."""
    path = one.write("a.log", report("1 fault"))
    one.poll()
    one.restart()
    one.write("new", report("2 fault"))
    path.unlink()
    (one.logs / "new").rename(one.logs / name)
    poll = one.poll()
    assert one.text().count("2 fault\n") == 1
    assert poll.twice_bytes > 0


def test_a_report_that_looks_like_one_out_of_sight_is_read(follow: Callable[..., Follow]) -> None:
    disk = ClosedDisk()
    one = follow(disk=disk, pattern="*/*.log")
    for name in ("here", "there"):
        (one.logs / name).mkdir()
    one.write("there/a.log", report("1 fault"))
    one.poll()
    one.restart()
    disk.closed = {"there"}
    one.write("here/a.log", report("2 fault"))
    assert one.poll().twice_bytes > 0
    assert one.text().count("2 fault\n") == 1


def test_reports_that_come_back_are_known_each_by_what_was_read_of_it(one: Follow) -> None:
    """Each has another inode then, and of all but one only the lines that are its own were read."""
    one.poll()
    reports = {f"{n}.log": report(f"{n} fault") for n in range(4)}
    for name, text in reports.items():
        one.write(name, text)
    one.poll()
    for name in reports:
        one.write(name, "more\n")
    one.poll()
    before = one.text()
    for name in reports:
        (one.logs / name).unlink()
    one.poll(after_s=LINGER_S)
    one.poll(after_s=LINGER_S)
    for name, text in reports.items():
        one.write(f"back-{name}", text + "more\n")
    poll = one.poll()
    assert (one.text(), poll.twice_bytes, poll.is_clean) == (before, 0, True)


def test_what_may_have_come_back_waits_until_it_is_compared(follow: Callable[..., Follow]) -> None:
    """A poll reads one file in full, however long it is, and then no other."""
    one = follow(config=FollowConfig(compare_bytes_max=1))
    for name in ("a.log", "b.log"):
        one.write(name, TEXT.replace("log", name))
    one.poll()
    before = one.text()
    for name in ("a.log", "b.log"):
        (one.logs / name).unlink()
    one.poll(after_s=LINGER_S)
    one.poll(after_s=LINGER_S)
    for name in ("a.log", "b.log"):
        one.write(name, TEXT.replace("log", name) + f"more of {name}\n")
    assert [one.poll().is_clean for _ in range(3)] == [False, True, True]
    assert one.text() == before + "more of a.log\nmore of b.log\n"


def test_a_file_that_comes_back_as_it_was_is_not_read_to_know_it(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk
) -> None:
    one = follow(disk=faulty_disk)
    text = TEXT * 1_000
    path = one.write("a.log", text)
    one.poll()
    aside = path.rename(one.logs.with_name("aside"))
    for _ in range(3):
        one.poll(after_s=LINGER_S)
    aside.rename(path.with_name("b.log"))
    before = faulty_disk.bytes_read
    assert one.poll().is_clean
    assert one.text() == text
    assert faulty_disk.bytes_read - before < len(text) / 10


@pytest.mark.parametrize("restarts", [False, True])
def test_a_report_that_is_written_again_at_the_same_length_is_read(
    one: Follow, restarts: bool
) -> None:
    """Or another one has got the inode of the first."""
    path = one.write("a.log", report("1 fault"))
    one.poll()
    if restarts:
        one.restart()
    for n in range(2, 6):
        path.write_text(report(f"{n} fault"))
        os.utime(path, ns=(FAR_AHEAD_NS + n, FAR_AHEAD_NS + n))
        doubted = len(one.doubted())
        poll = one.poll()
        assert one.text().count(f"{n} fault\n") == 1
        assert poll.twice_bytes >= len(one.doubted()) - doubted == poll.bytes > 0
        assert poll.lost_bytes == 0
        assert one.poll().bytes == 0


def test_a_log_that_is_touched_is_not_read_again(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk
) -> None:
    one = follow(disk=faulty_disk)
    path = one.write("a.log", report("1 fault"))
    one.poll()
    os.utime(path, ns=(FAR_AHEAD_NS, FAR_AHEAD_NS))
    before = faulty_disk.bytes_read
    assert (one.poll().is_clean, one.text()) == (True, report("1 fault"))
    assert faulty_disk.bytes_read - before > len(report("1 fault"))
    before = faulty_disk.bytes_read
    one.poll()
    assert faulty_disk.bytes_read - before < len(report("1 fault"))


def test_of_logs_that_are_touched_a_poll_reads_so_many_and_no_large_one(
    follow: Callable[..., Follow],
) -> None:
    text = report("1 fault")
    one = follow(config=FollowConfig(compare_bytes_max=len(text)))
    paths = [one.write(f"{n}.log", text.replace("a", f"{n}")) for n in range(3)]
    large = one.write("large.log", report("1 fault") * 2)
    one.poll()
    for path in (*paths, large):
        os.utime(path, ns=(FAR_AHEAD_NS, FAR_AHEAD_NS))
    polls = [one.poll() for _ in range(3)]
    assert [poll.is_clean for poll in polls] == [False, False, True]
    assert [poll.refused_count for poll in polls] == [2, 1, 0]
    assert sum(poll.bytes for poll in polls) == 0


def test_what_may_have_come_back_under_another_number_is_not_begun_at_its_end(
    follow: Callable[..., Follow], tmp_path: Path
) -> None:
    """The poll that could have told had to compare another file first."""
    disk = MountingDisk(tmp_path / "logs" / "there")
    config = FollowConfig(compare_bytes_max=1)
    one = follow(disk=disk, pattern="*/*.log", start=Start.END, config=config)
    for name in ("here", "there"):
        (one.logs / name).mkdir()
    one.poll()
    path = one.write("here/a.log", TEXT)
    one.write("there/b.log", TEXT.replace("log", "b.log"))
    one.poll()
    before = one.text()
    path.unlink()
    one.poll(after_s=LINGER_S)
    one.poll(after_s=LINGER_S)
    one.restart()
    disk.device += 1
    one.write("here/a.log", TEXT + "more of a\n")
    one.write("there/b.log", "more of b\n")
    assert [one.poll().is_clean for _ in range(3)] == [False, True, True]
    assert one.text() == before + "more of a\nmore of b\n"


def test_a_log_that_grows_is_not_read_from_its_beginning(
    follow: Callable[..., Follow], faulty_disk: FaultyDisk
) -> None:
    one = follow(disk=faulty_disk)
    one.write("a.log", TEXT * 100)
    one.poll()
    before = faulty_disk.bytes_read
    path = one.write("a.log", "more\n")
    os.utime(path, ns=(FAR_AHEAD_NS, FAR_AHEAD_NS))
    assert one.poll().bytes == 5
    assert faulty_disk.bytes_read - before < 10_000
