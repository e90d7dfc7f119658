"""Files that are alike: copies that come in pieces, and others that only look like one."""

from __future__ import annotations

import shutil
from collections.abc import Callable

from follow_kit import ClosedDisk, Follow

LINGER_S = 61.0
TEXT = "".join(f"{n} of a log\n" for n in range(300))


def test_a_copy_that_stood_still_in_its_first_line_is_a_copy_when_it_goes_on(
    follow: Callable[..., Follow],
) -> None:
    one = follow()
    text = "a long first line " * 5 + "\n" + TEXT
    one.write("a.log", text)
    one.poll()
    one.write("b.log", text[:20])
    one.poll()
    assert one.poll(after_s=LINGER_S).is_clean
    one.write("b.log", text[20:])
    poll = one.poll()
    assert (poll.copies, poll.twice_bytes, one.text()) == (1, 0, text)


def test_a_renamed_file_goes_on_before_its_copy_is_taken_for_what_it_once_was(
    follow: Callable[..., Follow],
) -> None:
    """It was cut back and written again, so that what it was before is remembered as gone."""
    one = follow()
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
