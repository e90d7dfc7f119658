"""Blocks of JSON lines as columns: what is sure is taken, all else comes back as it stood."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from headwater.reading.strict import strict_json
from headwater.reading.strict.strict_json import StrictJson, json_columns_of
from headwater.reading.strict.strict_lines import LINE

STRICT = StrictJson(
    ("ts", "name", "n", "x", "ok"),
    ("iso", "text", "bigint", "double", "boolean"),
    (True, True, False, False, False),
)
GOOD = b'{"ts":"2026-05-01T12:00:00Z","name":"a","n":5,"x":1.5,"ok":true,"more":{"n":[1]}}\n'


def both(block: bytes, strict: StrictJson = STRICT) -> tuple[list[tuple[Any, ...]], list[bytes]]:
    """Rows that were taken, and lines that were given back."""
    taken, given_back = [], []
    for batch in json_columns_of(block, strict):
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
    assert [row[1:] for row in taken] == [("a", 5, 1.5, True)] * 3
    assert [row[0].isoformat() for row in taken] == ["2026-05-01T12:00:00+00:00"] * 3
    assert given_back == []


def with_value(name: str, text: str) -> bytes:
    """A good line but for the text of one value."""
    found = {key: json.dumps(value) for key, value in json.loads(GOOD).items()} | {name: text}
    return ("{" + ", ".join(f'"{key}": {value}' for key, value in found.items()) + "}").encode()


OTHERS = [
    b"broken",
    b"null",
    b"[]",
    b"7",
    b'"x"',
    b" " + GOOD[:-1],
    GOOD[:-1] + b" ",
    b"\xef\xbb\xbf" + GOOD[:-1],
    GOOD[:-2],
    GOOD[:-1] + b"}",
    GOOD[:-1] + GOOD[:-1],
    b"{}null{}",
    GOOD[:-1] + b"\x00{}",
    GOOD.replace(b"a", b"a\x00")[:-1],
    GOOD.replace(b"a", b"a\t")[:-1],
    GOOD.replace(b'"', b"'")[:-1],
    GOOD.replace(b'"n":5', b'"n":5,"n":6')[:-1],
    *(with_value("n", text) for text in ('"5"', "5.0", "1e2", "9223372036854775808", "{}", "true")),
    *(with_value("x", text) for text in ("NaN", "Infinity", "-0", "-0.0", "1e400", '"1"', "[]")),
    *(with_value("name", text) for text in ("5", "1.5", "true", "{}", "[]", r'"\ud800"')),
    *(with_value("ok", text) for text in ('"true"', "1", "{}")),
    *(with_value("ts", text) for text in ('"2026-05-01T12Z"', "5", '""', '"2026-02-30T12:00:00Z"')),
    *(with_value("more", text) for text in ("Inf", "-Inf", "-NaN", "[1, Inf]", "1.", "01", "[1,]")),
    *(with_value("more", text) for text in ("[" * 999 + "]" * 999, "1" * 1001, f"{'1' * 1001}.5")),
    with_value("k" * 50_001, "1"),
]


@pytest.mark.parametrize("line", OTHERS, ids=[str(one[-40:]) for one in OTHERS])
def test_one_line_of_another_kind_comes_back_and_the_others_are_taken(line: bytes) -> None:
    taken, given_back = both(GOOD * 20 + line + b"\n" + GOOD * 20)
    assert line in given_back
    assert len(taken) + len(given_back) == 41
    assert len(taken) >= 41 - strict_json.ATTEMPT_LINES
    alone, came_back = both(line + b"\n")
    assert (alone, came_back) == ([], [line])


def test_long_lines_that_keep_within_the_limits_are_taken() -> None:
    lines = [
        with_value("more", "[" * 990 + "]" * 990),
        with_value("more", '"' + "x" * 40_000 + '"'),
        with_value("more", f"[{'1' * 700}, {'x' * 200!r}, {'1' * 700}]".replace("'", '"')),
        with_value("more", json.dumps(["[{"] * 400)),
        *[GOOD[:-1]] * 3,
    ]
    for block in [*lines, b"\n".join(lines)]:
        taken, given_back = both(block + b"\n")
        assert (len(taken), given_back) == (block.count(b"\n") + 1, [])


def test_words_that_look_like_no_number_within_texts_are_taken() -> None:
    line = with_value("name", '"Info, Info: NaNo"') + b"\n"
    assert [len(part) for part in both(line * 2)] == [2, 0]


def test_an_object_over_two_lines_is_none() -> None:
    lines = [b'{"ts":"2026-05-01T12:00:00Z",', b'"n":1}']
    taken, given_back = both(GOOD + b"\n".join(lines) + b"\n" + GOOD)
    assert (len(taken), given_back) == (2, lines)
    one, rest = b'{"n":{}', b'{"n":1}}'
    assert set(both(one + b"\n" + rest + b"\n" + GOOD)[1]) >= {one, rest}


def test_two_objects_in_one_line_and_one_in_two_don_t_make_up_for_each_other() -> None:
    lines = [b'{"n":1}{"n":2}', b'{"n":3', b'}{"n":4}', b"{}"]
    taken, given_back = both(b"\n".join(lines) + b"\n")
    assert len(taken) <= 1
    assert set(given_back) >= set(lines[:3])


def test_null_and_what_is_absent_is_null() -> None:
    block = b'{}\n{"n":null,"name":null,"x":null,"ts":null,"ok":null}\n'
    assert both(block) == ([(None,) * 5] * 2, [])
    taken, given_back = both(block + b"broken\n")
    assert (taken, given_back) == ([(None,) * 5] * 2, [b"broken"])


def test_escapes_in_names_and_texts_are_read() -> None:
    line = rb'{"\u006eame":"a\/\"\\\n\u00e4\ud83d\ude00\u0000","n":1}' + b"\n"
    assert both(line) == ([(None, 'a/"\\\nä😀\x00', 1, None, None)], [])


def test_an_empty_text_is_a_text() -> None:
    assert both(b'{"name":""}\n') == ([(None, "", None, None, None)], [])


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_end_as_sparks_text_reader_ends_them(end: bytes) -> None:
    strict = StrictJson(("n",), ("int",), (False,))
    assert both(b'{"n":1}' + end + end + b'{"n":2}', strict) == ([(1,), (2,)], [])


def test_a_block_without_a_line_gives_nothing() -> None:
    assert json_columns_of(b"", STRICT) == []
    assert json_columns_of(b"\n\r\n\n", STRICT) == []


@pytest.mark.parametrize(
    ("kind", "token", "value"),
    [
        ("int", '"5"', 5),
        ("int", '"0x5"', None),
        ("int", '" 5"', None),
        ("int", '""', None),
        ("int", "5", None),
        ("double", '"1.5"', 1.5),
        ("double", '"NaN"', None),
        ("float", '"1.5"', 1.5),
        ("text", '"1"', "1"),
    ],
)
def test_numbers_in_quotes_are_taken_where_that_is_said(
    kind: str, token: str, value: object
) -> None:
    strict = StrictJson(("v", "n"), (kind, "int"), (True, False))
    line = f'{{"v":{token},"n":1}}'.encode()
    for more in (b"", b"broken\n"):
        taken, given_back = both(line + b"\n" + more, strict)
        expected = ([], [line]) if value is None else ([(value, 1)], [])
        assert (taken, sorted(given_back)) == (
            expected[0],
            sorted([*expected[1], *more.splitlines()]),
        )


def test_a_whole_number_without_quotes_is_a_text_where_that_is_said() -> None:
    strict = StrictJson(("v",), ("text",), (False,))
    block = b'{"v":5}\n{"v":-0}\n{"v":null}\n'
    assert both(block, strict) == ([("5",), ("0",), (None,)], [])
    taken, given_back = both(block + b'{"v":"x"}\n{"v":5}\n', strict)
    assert (taken, given_back) == ([("5",), ("0",), (None,), ("5",)], [b'{"v":"x"}'])
    assert both(b'{"v":1.10}\n', strict) == ([], [b'{"v":1.10}'])


def test_a_float_that_is_rounded_twice_is_given_back() -> None:
    """The double next to it, or its shortest text, may lie on the other side of the middle between
    two floats."""
    strict = StrictJson(("v",), ("float",), (False,))
    middle = b'{"v":1.000000059604644775390625}'
    assert both(b'{"v":1.1}\n' + middle + b"\n", strict) == (
        [(pa.scalar(1.1, pa.float32()).as_py(),)],
        [middle],
    )
    assert both(b'{"v":1e39}\n', strict) == ([], [b'{"v":1e39}'])


@pytest.mark.parametrize(("kind", "unit"), [("epoch_s", 1), ("epoch_ms", 10**3)])
@pytest.mark.parametrize("quote", ["", '"'])
def test_numbers_since_1970_are_times(kind: str, unit: int, quote: str) -> None:
    strict = StrictJson(("t",), (kind,), (bool(quote),))
    lines = [f'{{"t":{quote}{one}{quote}}}' for one in (1_777_636_800 * unit, -unit)]
    far = [f'{{"t":{quote}{one}{quote}}}' for one in (2**62, 253_402_300_800 * unit)]
    block = "".join(f"{line}\n" for line in lines)
    times = ["2026-05-01T12:00:00+00:00", "1969-12-31T23:59:59+00:00"]
    for more in ([], far):
        taken, given_back = both((block + "".join(f"{one}\n" for one in more)).encode(), strict)
        assert [row[0].isoformat() for row in taken] == times
        assert given_back == [one.encode() for one in more]


@pytest.mark.parametrize("extra", [b'{"name":"\xff"}', b'{"more":"\xff"}', b'{"x\xff":1}'])
def test_a_block_with_bytes_that_are_no_text_comes_back(extra: bytes) -> None:
    assert both(GOOD + extra + b"\n") == ([], [GOOD[:-1], extra])


def test_a_block_with_signs_for_what_was_no_text_comes_back_where_that_counts() -> None:
    line = '{"name":"\ufffd"}'.encode()
    assert both(line + b"\n") == ([(None, "\ufffd", None, None, None)], [])
    replaced = msgspec.structs.replace(STRICT, is_replaced=True)
    assert both(line + b"\n", replaced) == ([], [line])


def test_times_that_say_no_zone_are_taken_where_they_are_utc() -> None:
    line = with_value("ts", '"2026-05-01 12:00:00.5"')
    assert [len(part) for part in both(line + b"\n" + GOOD)] == [2, 0]
    elsewhere = msgspec.structs.replace(STRICT, is_utc=False)
    taken, given_back = both(line + b"\n" + GOOD, elsewhere)
    assert (len(taken), given_back) == (1, [line])


def test_a_block_with_very_many_other_lines_still_ends() -> None:
    named, unnamed = b'{"n":"x"}\n', b'{"n":1.5}\n'
    for bad in (named, unnamed):
        taken, given_back = both((GOOD + bad) * 2_000)
        assert len(taken) + len(given_back) == 4_000
        assert given_back.count(bad[:-1]) == 2_000
