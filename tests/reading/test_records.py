"""Records over several lines: where they end, whatever the blocks."""

from __future__ import annotations

import csv
import io
import random

import pytest

from headwater.reading import records
from headwater.reading.records import SEPARATOR, Quoting, Separating, record_ends, whole_records

RFC = Quoting()
BACKSLASH = Quoting(escape=b"\\")


def parts(text: bytes, quoting: Quoting = RFC) -> list[bytes]:
    one = Separating(quoting)
    data = one.next(text) + one.next(b"", is_last=True)
    return data.removesuffix(SEPARATOR).split(SEPARATOR)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\r\nb\r\n", [b"a", b"b"]),
        (b'a,"b\nc",d\ne\n', [b'a,"b\nc",d', b"e"]),
        (b'a,"b\r\nc"\r\nd', [b'a,"b\r\nc"', b"d"]),
        (b'"a""\nb"\nc\n', [b'"a""\nb"', b"c"]),
        (b'"","\n"\nc\n', [b'"","\n"', b"c"]),
        (b'5" pipe,x\nb,"y\nz"\n', [b'5" pipe,x', b'b,"y\nz"']),
        (b'5" by 4",x\nb\n', [b'5" by 4",x', b"b"]),
        (b'x,"never closed\nb\nc\n', [b'x,"never closed', b"b", b"c"]),
        (b"\n\na\n", [b"", b"", b"a"]),
        (b'a\nb,"c\nd"', [b"a", b'b,"c\nd"']),
        (b'a\nb,"c\nd', [b"a", b'b,"c', b"d"]),
    ],
)
def test_a_quoted_line_break_belongs_to_the_record(text: bytes, wanted: list[bytes]) -> None:
    assert parts(text) == wanted


def test_an_escaped_quote_closes_nothing() -> None:
    text = b'a,"b\\"\nc"\nd,"e\\\\"\nf\n'
    assert parts(text, BACKSLASH) == [b'a,"b\\"\nc"', b'd,"e\\\\"', b"f"]
    even = b'a,"b\\\\","c\nd"\ne\n'
    assert parts(even, BACKSLASH) == [even[:-3], b"e"], "an escape that is escaped is none"


def test_without_an_escape_a_quote_within_a_value_is_doubled() -> None:
    assert parts(b'"a""\nb"\nc\n', Quoting(escape=b"")) == [b'"a""\nb"', b"c"]


def test_a_quote_at_the_beginning_opens_a_value_also_where_others_stand_within_values() -> None:
    assert parts(b'"a\nb",5" pipe\nc') == [b'"a\nb",5" pipe', b"c"]


@pytest.mark.parametrize("seed", range(20))
def test_what_a_csv_writer_wrote_comes_apart_into_its_rows_however_it_is_cut(seed: int) -> None:
    rng = random.Random(seed)
    values = ["a", "", 'q"q', "l\nl", "r\r\nr", ",", '"', "\n", 'x"\n",y', "ü"]
    rows = [[rng.choice(values) for _ in range(3)] for _ in range(60)]
    out = io.StringIO()
    csv.writer(out, lineterminator=rng.choice(["\n", "\r\n"])).writerows(rows)
    text = out.getvalue().encode()
    one, found, at = Separating(RFC), b"", 0
    while at < len(text):
        count = rng.randint(1, 40)
        found += one.next(text[at : at + count])
        at += count
    found += one.next(b"", is_last=True)
    lines = found.removesuffix(SEPARATOR).decode().split(SEPARATOR.decode())
    read = [next(csv.reader(io.StringIO(line, newline=""))) for line in lines]
    assert read == rows


def test_a_quote_that_never_closes_costs_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "RECORD_BYTES_MAX", 100)
    text = b'a,"open\n' + b"b,c\n" * 60
    ends = whole_records(text, RFC, is_last=False)
    assert [text[:8], text[8:12]] == [text[: ends[0]], text[ends[0] : ends[1]]]
    assert len(ends) == 61


def test_a_block_without_quotes_ends_where_its_lines_do() -> None:
    assert record_ends(b"a\nb\nc", RFC).tolist() == [2, 4]
