"""Growing files whose records are over when the next one begins, or when nothing more comes."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest
from follow_kit import Follow

from headwater.reading.form import Form
from headwater.store.follow.open_records import OpenRecords
from headwater.store.follow.poll import FollowConfig, Start
from headwater.store.recognise import recognition

Make = Callable[..., Follow]
STARTED = Form(record_start=r"\d")
SHORT_S = 0.25
"""Between polls, much shorter than a record is waited for."""


def texts(one: Follow) -> list[str]:
    return [chunk.path.read_text("utf-8") for chunk in one.chunks()]


def test_a_record_is_cut_when_the_next_one_begins(follow: Make) -> None:
    one = follow(form=STARTED)
    one.write("a.log", "1 a\n\tat x\n")
    assert not one.poll(after_s=SHORT_S).is_clean
    assert texts(one) == []
    one.write("a.log", "\tat y\n2 b\n")
    one.poll(after_s=SHORT_S)
    assert texts(one) == ["1 a\n\tat x\n\tat y\n"]


def test_no_cut_falls_within_a_record_however_it_is_written(follow: Make) -> None:
    text = "1 a\n\tat x\n2 b\n3 c\n\n\tat y\n4 d\n"
    one = follow(form=STARTED)
    for at in range(0, len(text), 3):
        one.write("a.log", text[at : at + 3])
        one.poll(after_s=SHORT_S)
    assert texts(one) == ["1 a\n\tat x\n", "2 b\n", "3 c\n\n\tat y\n"]


def test_the_last_record_is_over_when_nothing_has_come_for_a_while(follow: Make) -> None:
    one = follow(form=STARTED, config=FollowConfig(record_wait_s=1.0))
    one.write("a.log", "1 a\n\tat x\n")
    for _ in range(4):
        assert not one.poll(after_s=SHORT_S).is_clean
        assert texts(one) == []
    assert one.poll(after_s=SHORT_S).is_clean
    assert texts(one) == ["1 a\n\tat x\n"]
    assert one.poll(after_s=SHORT_S).cuts == 0


def test_a_file_that_does_not_change_is_looked_at_until_its_last_record_is_over(
    follow: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognition, "QUIET_NS", 0)
    one = follow(form=STARTED)
    one.write("a.log", "1 a\n2 b\n")
    for _ in range(6):
        one.poll(after_s=SHORT_S)
    assert texts(one) == ["1 a\n", "2 b\n"]


def test_a_record_that_grows_is_waited_for_anew(follow: Make) -> None:
    one = follow(form=STARTED, config=FollowConfig(record_wait_s=1.0))
    one.write("a.log", "1 a\n")
    for _ in range(5):
        one.write("a.log", "\tat x\n")
        one.poll(after_s=0.9)
    assert texts(one) == []
    one.poll(after_s=1.0)
    assert texts(one) == ["1 a\n" + "\tat x\n" * 5]


def test_half_a_last_line_stays_in_its_file(follow: Make) -> None:
    one = follow(form=STARTED)
    one.write("a.log", "1 a\n\tat")
    one.poll()
    one.poll(after_s=10.0)
    assert texts(one) == ["1 a\n"]


def test_a_complete_file_needs_nothing_behind_its_last_record(follow: Make) -> None:
    one = follow(form=STARTED, pattern="*")
    one.write("a.log.gz", gzip.compress(b"1 a\n\tat x\n2 b\n\tat y", mtime=0))
    assert one.poll(after_s=SHORT_S).is_clean
    assert "".join(texts(one)) == "1 a\n\tat x\n2 b\n\tat y"


def test_a_rotated_file_gives_its_last_record(follow: Make) -> None:
    one = follow(form=STARTED)
    path = one.write("a.log", "1 a\n\tat x\n")
    one.poll(after_s=SHORT_S)
    path.rename(path.with_name("a.log.1"))
    one.write("a.log", "2 b\n3 c\n")
    one.poll(after_s=SHORT_S)
    one.poll(after_s=1.0)
    assert sorted(texts(one)) == ["1 a\n\tat x\n", "2 b\n", "3 c\n"]


def test_a_restart_forgets_no_record_that_was_waited_for(follow: Make) -> None:
    one = follow(form=STARTED)
    one.write("a.log", "1 a\n\tat x\n")
    one.poll(after_s=SHORT_S)
    one.restart()
    one.poll(after_s=SHORT_S)
    one.poll(after_s=1.0)
    assert texts(one) == ["1 a\n\tat x\n"]


@pytest.mark.parametrize("before", ["0 old\n", "0 old\n\tat", "0 old\n\tat w\n"])
def test_what_goes_on_with_a_record_from_before_is_not_ours(follow: Make, before: str) -> None:
    one = follow(form=STARTED, start=Start.END)
    one.write("a.log", before)
    one.poll(after_s=SHORT_S)
    one.write("a.log", "\tat x\n")
    one.poll(after_s=SHORT_S)
    one.write("a.log", "\tat y\n1 a\n\tat z\n2 b\n")
    one.poll(after_s=SHORT_S)
    assert texts(one) == ["1 a\n\tat z\n"]
    assert one.poll(after_s=SHORT_S).skipped_lines == 0


def test_a_record_that_is_too_long_for_a_cut_is_cut_at_a_line(follow: Make) -> None:
    one = follow(form=STARTED, config=FollowConfig(cut_bytes_max=64, line_bytes_max=16))
    one.write("a.log", "1 a\n" + "\tat x\n" * 40 + "2 b\n3 c\n")
    poll = one.poll(after_s=SHORT_S)
    assert "".join(texts(one)) == "1 a\n" + "\tat x\n" * 40 + "2 b\n"
    assert all(text.endswith("\n") for text in texts(one))
    assert (poll.skipped_lines, poll.lost_bytes) == (0, 0)


def test_a_growing_file_in_another_encoding(follow: Make) -> None:
    text = "1 ä\n\tat €\n2 b\n3 c\n"
    one = follow(form=Form(encoding="utf-16-le", record_start=r"\d"))
    data = text.encode("utf-16-le")
    for at in range(0, len(data), 7):
        one.write("a.log", data[at : at + 7])
        one.poll(after_s=SHORT_S)
    assert texts(one) == ["1 ä\n\tat €\n", "2 b\n"]


def test_panes_close_by_the_poll_that_can_not_have_met_what_is_open(follow: Make) -> None:
    one = follow(form=STARTED, config=FollowConfig(record_wait_s=1.0))
    one.write("a.log", "")
    first = one.poll(after_s=SHORT_S)
    assert first.report is not None
    assert first.report.read_through_s == first.started_s
    one.write("a.log", "1 a\n")
    for _ in range(3):
        waiting = one.poll(after_s=SHORT_S)
        assert waiting.report is not None
        assert waiting.report.read_through_s == first.started_s


def test_without_an_earlier_poll_nobody_knows_up_to_when_all_is_read() -> None:
    records = OpenRecords()
    assert records.all_read_s({1: 0}, now_s=1.0) is None
    assert records.all_read_s({1: 0}, now_s=2.0) is None
    assert records.all_read_s({1: 10}, now_s=3.0) == 2.0
    assert records.all_read_s({1: 10, 2: 5}, now_s=4.0) == 2.0
    assert records.all_read_s({2: 5}, now_s=5.0) == 3.0
    assert records.all_read_s({}, now_s=6.0) == 6.0
