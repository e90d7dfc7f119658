"""Growing files in other encodings, with records over several lines, and with other line ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from follow_kit import Follow

from headwater.reading.form import Form
from headwater.reading.records import Quoting
from headwater.store.follow.poll import FollowConfig

Make = Callable[..., Follow]
TEXT = "zeit,größe\n1,ä€\n2,ß\n"


def texts(one: Follow) -> list[str]:
    return [chunk.path.read_text("utf-8") for chunk in one.chunks()]


@pytest.mark.parametrize(
    ("encoding", "mark"), [("utf-16-le", b"\xff\xfe"), ("utf-16-be", b""), ("windows-1252", b"")]
)
def test_a_growing_file_in_another_encoding_is_spooled_as_utf8(
    follow: Make, encoding: str, mark: bytes
) -> None:
    one = follow(form=Form(encoding="utf-8" if mark else encoding, has_header=True))
    data = mark + TEXT.encode(encoding)
    for at in range(0, len(data), 7):
        one.write("a.log", data[at : at + 7])
        one.poll()
        if at == 14:
            one.restart()
    assert "".join(texts(one)) == TEXT
    assert {chunk.header for chunk in one.chunks()} == {"zeit,größe"}


def test_no_cut_falls_within_a_record_over_several_lines(follow: Make) -> None:
    text = 'a,"one\ntwo"\nb,c\nd,"three\n\nfour"\n'
    one = follow(form=Form(quoting=Quoting()))
    for at in range(0, len(text), 3):
        one.write("a.log", text[at : at + 3])
        one.poll()
    assert texts(one) == ['a,"one\ntwo"\n', "b,c\n", 'd,"three\n\nfour"\n']


def test_no_cut_falls_within_a_block_of_lines(follow: Make) -> None:
    one = follow(form=Form(has_blank_lines=True))
    one.write("a.log", "A=1\nB=2\n")
    one.poll()
    one.write("a.log", "\nA=3\n")
    one.poll()
    one.write("a.log", "B=4\n\n")
    one.poll()
    assert texts(one) == ["A=1\nB=2\n\n", "A=3\nB=4\n\n"]


def test_lines_of_old_macs_end_in_a_carriage_return(follow: Make) -> None:
    one = follow(config=FollowConfig(cut_bytes_max=64, line_bytes_max=16))
    one.write("a.log", b"one\rtwo\r" + b"three\r" * 20 + b"ha")
    one.poll()
    one.write("a.log", b"lf\rrest\r")
    poll = one.poll()
    text = b"".join(chunk.path.read_bytes() for chunk in one.chunks())
    assert text == b"one\rtwo\r" + b"three\r" * 20 + b"half\r"
    assert poll.skipped_lines == 0


def test_a_carriage_return_before_a_line_feed_that_is_still_to_come_ends_nothing(
    one: Follow,
) -> None:
    one.write("a.log", b"one\r")
    one.poll()
    assert texts(one) == []
    one.write("a.log", b"\ntwo\r\n")
    one.poll()
    assert b"".join(chunk.path.read_bytes() for chunk in one.chunks()) == b"one\r\ntwo\r\n"
