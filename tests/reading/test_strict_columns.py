"""Blocks of lines as columns: what is sure is taken, everything else comes back as it stood."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headwater.reading.strict.strict_columns import Layout, Strict, columns_of
from headwater.reading.strict.strict_lines import LINE

STRICT = Strict(",", ("iso", "text", "bigint", "double"))
LAYOUT = Layout(5, (0, 1, 2, 3))
GOOD = b"2026-05-01T12:00:00Z,a,5,1.5,unused\n"


def both(
    block: bytes, strict: Strict = STRICT, layout: Layout = LAYOUT
) -> tuple[list[tuple[Any, ...]], list[bytes]]:
    """Rows that were taken, and lines that were given back."""
    taken, given_back = [], []
    for batch in columns_of(block, strict, layout):
        assert batch.schema.names == list(strict.names)
        assert tuple(batch.schema.types) == strict.types
        lines = batch.column(LINE).view(pa.binary()).to_pylist()
        if batch.column(LINE).null_count:
            assert set(lines) == {None}
            taken += [tuple(row.values())[1:] for row in batch.to_pylist()]
        else:
            assert all(column.null_count == len(column) for column in batch.columns[1:])
            given_back += lines
    return taken, given_back


def test_lines_that_are_as_they_should_be_are_taken_at_once() -> None:
    taken, given_back = both(GOOD * 3)
    assert [row[1:] for row in taken] == [("a", 5, 1.5)] * 3
    assert [row[0].isoformat() for row in taken] == ["2026-05-01T12:00:00+00:00"] * 3
    assert given_back == []


@pytest.mark.parametrize(
    "line",
    [
        b"broken",
        b"2026-05-01T12:00:00Z,a,5,1.5",
        b"2026-05-01T12:00:00Z,a,5,1.5,unused,more",
        b"2026-05-01T12:00:00Z,a,many,1.5,unused",
        b"2026-05-01T12:00:00Z,a,0x5,1.5,unused",
        b"2026-05-01T12:00:00Z,a,9223372036854775808,1.5,unused",
        b"2026-05-01T12:00:00Z,a,5,NaN,unused",
        b"2026-05-01T12:00:00Z,a,5,inf,unused",
        b"2026-05-01T12Z,a,5,1.5,unused",
        b"2026-05-01T12:00:00.1234567Z,a,5,1.5,unused",
        b"2026-05-01T12:00:00.Z,a,5,1.5,unused",
        b"2026-05-01T12:00:00+02,a,5,1.5,unused",
        b"2026-05-01T12:00:00Z,a,5,-,unused",
        b"2026-02-30T12:00:00Z,a,5,1.5,unused",
        b"2026-06-31T12:00:00Z,a,5,1.5,unused",
        b"20260501T120000Z,a,5,1.5,unused",
    ],
)
def test_one_line_of_another_kind_comes_back_and_the_others_are_taken(line: bytes) -> None:
    taken, given_back = both(GOOD + line + b"\n" + GOOD)
    assert len(taken) == 2
    assert given_back == [line]


def test_fields_that_are_empty_or_say_so_are_null() -> None:
    strict = Strict("\t", ("iso", "text", "int", "boolean"), null="-")
    taken, given_back = both(b"\t\t\t\n-\t-\t-\t-\n", strict, Layout(4, (0, 1, 2, 3)))
    assert taken == [(None,) * 4] * 2
    assert given_back == []


def test_empty_fields_are_null_also_where_another_line_comes_back() -> None:
    strict = Strict(",", ("text", "boolean", "int", "epoch_s"))
    taken, given_back = both(b"a,,,\nb,maybe,1,1\nc,true,2,\n", strict, Layout(4, (0, 1, 2, 3)))
    assert taken == [("a", None, None, None), ("c", True, 2, None)]
    assert given_back == [b"b,maybe,1,1"]


def test_columns_stand_where_the_layout_says() -> None:
    strict = Strict(",", ("int", "text"))
    taken, _ = both(b"a,1,b,2\n", strict, Layout(4, (3, 0)))
    assert taken == [(2, "a")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_end_as_sparks_text_reader_ends_them(end: bytes) -> None:
    strict, layout = Strict(",", ("text", "int")), Layout(2, (0, 1))
    assert both(b"a,1" + end + end + b"b,2", strict, layout) == ([("a", 1), ("b", 2)], [])
    assert both(b"a,1" + end + b"b" + end, strict, layout) == ([("a", 1)], [b"b"])


def test_a_block_without_a_line_gives_nothing() -> None:
    assert columns_of(b"", STRICT, LAYOUT) == []
    assert columns_of(b"\n\r\n\n", STRICT, LAYOUT) == []


def test_the_header_at_the_beginning_is_passed_over() -> None:
    layout = Layout(5, (0, 1, 2, 3), header=b"ts,name,n,x,y")
    taken, given_back = both(b"ts,name,n,x,y\r\n" + GOOD, layout=layout)
    assert (len(taken), given_back) == (1, [])


@pytest.mark.parametrize(
    ("extra", "strict", "layout"),
    [
        (b"h,e,a,d,r\n", STRICT, Layout(5, (0, 1, 2, 3), header=b"h,e,a,d,r")),
        (b"#1,2,3,4,5\n", Strict(",", STRICT.kinds, comment=b"#"), LAYOUT),
        (b"a,\xff,3,4,5\n", STRICT, LAYOUT),
        ("a,\ufffd,3,4,5\n".encode(), Strict(",", STRICT.kinds, is_replaced=True), LAYOUT),
    ],
    ids=["a header again", "a comment", "no UTF-8", "replaced"],
)
def test_what_concerns_the_whole_block_gives_all_of_it_back(
    extra: bytes, strict: Strict, layout: Layout
) -> None:
    taken, given_back = both(GOOD + extra, strict, layout)
    assert (taken, given_back) == ([], [GOOD[:-1], extra[:-1]])


def test_bytes_that_are_no_utf8_in_a_column_that_nobody_uses_count_too() -> None:
    line = GOOD.replace(b"unused", b"\xff")
    assert both(line) == ([], [line[:-1]])


def test_a_mark_of_byte_order_within_a_file_is_part_of_its_line() -> None:
    assert both(b"\xef\xbb\xbf" + GOOD) == ([], [b"\xef\xbb\xbf" + GOOD[:-1]])


def test_times_that_say_no_zone_are_taken_where_they_are_utc() -> None:
    block = b"2026-05-01 12:00:00.5,a,5,1.5,\n2026-05-01T12:00:00,a,5,1.5,\n"
    taken, given_back = both(block)
    assert [row[0].isoformat() for row in taken] == [
        "2026-05-01T12:00:00.500000+00:00",
        "2026-05-01T12:00:00+00:00",
    ]
    assert given_back == []
    elsewhere = Strict(",", STRICT.kinds, is_utc=False)
    assert both(block, elsewhere) == ([], block.splitlines())
    mixed = block + GOOD
    assert [len(part) for part in both(mixed)] == [3, 0]
    assert [len(part) for part in both(mixed, elsewhere)] == [1, 2]


@pytest.mark.parametrize(("kind", "unit"), [("epoch_s", 1), ("epoch_ms", 10**3)])
def test_numbers_since_1970_are_times(kind: str, unit: int) -> None:
    strict, layout = Strict(",", (kind, "text")), Layout(2, (0, 1))
    lines = [str(1_777_636_800 * unit), str(-unit), "", "1.5", str(2**62)]
    taken, given_back = both("".join(f"{one},x\n" for one in lines).encode(), strict, layout)
    assert [row[0] and row[0].isoformat() for row in taken] == [
        "2026-05-01T12:00:00+00:00",
        "1969-12-31T23:59:59+00:00",
        None,
    ]
    assert given_back == [b"1.5,x", str(2**62).encode() + b",x"]


CSV = Strict(",", ("text", "int"), quote=b'"', escape=b'"')
BROKEN = Strict(",", ("text", "int"), quote=b'"', escape=b'"', separator=b"\x1e")
TWO = Layout(2, (0, 1))


def test_quotes_around_whole_values_are_taken_off() -> None:
    taken, given_back = both(b'"a, b","1"\n"",2\nc,3\n', CSV, TWO)
    assert taken == [("a, b", 1), (None, 2), ("c", 3)]
    assert given_back == []


@pytest.mark.parametrize(
    "line", [b'"a""b",1', b'a"b,1', b'"a"b,1', b' "a",1', b'"a,1', b'"a" ,1', b'"a"']
)
def test_a_line_with_any_other_quote_comes_back_with_all_lines_that_have_some(line: bytes) -> None:
    taken, given_back = both(b'"x",1\ny,2\n' + line + b"\n", CSV, TWO)
    assert taken == [("y", 2)]
    assert given_back == [b'"x",1', line]


def test_a_line_feed_within_quotes_ends_the_line_unless_values_may_hold_it() -> None:
    assert both(b'"a\nb",1\nc,2\n', CSV, TWO) == ([("c", 2)], [b'"a', b'b",1'])
    assert both(b'"a\nb",1\x1ec,2\x1e', BROKEN, TWO) == ([("a\nb", 1), ("c", 2)], [])
    assert both(b"a\nb,1\x1ec,2", BROKEN, TWO) == ([("c", 2)], [b"a\nb,1"])
    assert both(b'"a\r\nb",1\x1ec,2\x1e', BROKEN, TWO) == ([], [b'"a\r\nb",1', b"c,2"])


def test_an_escape_among_quotes_is_left_to_spark() -> None:
    strict = Strict(",", ("text", "int"), quote=b'"', escape=b"\\")
    line = b'"a\\",1'
    assert both(line + b"\nb,2\n", strict, TWO) == ([("b", 2)], [line])


@pytest.mark.parametrize("number", [b"999999999999", b"-62135596801"])
def test_numbers_since_1970_beyond_the_calendar_are_given_back(number: bytes) -> None:
    """Of which Spark makes no time: the next format of the source may."""
    strict = Strict(",", ("epoch_s",))
    assert both(number + b"\n", strict, Layout(1, (0,))) == ([], [number])
