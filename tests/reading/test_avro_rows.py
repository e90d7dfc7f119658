"""The first rows of Avro files, as other programs write them."""

from __future__ import annotations

import json
from typing import Any

from headwater.reading.avro_rows import avro_start
from headwater.reading.columnar import avro_facts

MARK = b"M" * 16


def long(number: int) -> bytes:
    """Seven bits in a byte, the sign in the lowest."""
    left, out = (number << 1) ^ (number >> 63), b""
    while left > 0x7F:
        out, left = out + bytes([left & 0x7F | 0x80]), left >> 7
    return out + bytes([left])


def counted(data: bytes) -> bytes:
    return long(len(data)) + data


def file(fields: list[dict[str, Any]], *blocks: list[bytes], is_sized: bool = False) -> bytes:
    """``is_sized``: the header says how many bytes its entries have, as it may."""
    schema = json.dumps({"type": "record", "name": "r", "fields": fields}).encode()
    entries = counted(b"avro.codec") + counted(b"null") + counted(b"avro.schema") + counted(schema)
    count = long(-2) + long(len(entries)) if is_sized else long(2)
    head = b"Obj\x01" + count + entries + long(0) + MARK
    return head + b"".join(long(len(rows)) + counted(b"".join(rows)) + MARK for rows in blocks)


NUMBER = [{"name": "n", "type": "long"}]


def test_rows_of_all_blocks_are_read_up_to_as_many_as_are_wanted() -> None:
    data = file(NUMBER, [long(1), long(-2)], [long(300)], [long(4)])
    assert [row["n"] for row in avro_start(data, rows_max=9).rows] == [1, -2, 300, 4]
    assert [row["n"] for row in avro_start(data, rows_max=3).rows] == [1, -2, 300]


def test_a_block_that_the_sample_cuts_off_is_no_fault() -> None:
    data = file(NUMBER, [long(1)], [long(2)])
    found = avro_start(data[:-18], rows_max=9)
    assert ([row["n"] for row in found.rows], found.fault) == ([1], "")


def test_a_header_may_say_how_long_its_entries_are() -> None:
    data = file(NUMBER, [long(7)], is_sized=True)
    assert avro_start(data, rows_max=9).rows == ({"n": 7},)
    assert avro_facts(data)[0][b"avro.codec"] == b"null"


def test_an_enum_is_its_symbol() -> None:
    level = {"type": "enum", "name": "level", "symbols": ["INFO", "ERROR"]}
    data = file([{"name": "level", "type": level}], [long(1), long(0)])
    assert [row["level"] for row in avro_start(data, rows_max=9).rows] == ["ERROR", "INFO"]


def test_arrays_and_maps_come_in_parts_with_and_without_their_size() -> None:
    fields = [
        {"name": "a", "type": {"type": "array", "items": "long"}},
        {"name": "m", "type": {"type": "map", "values": "string"}},
    ]
    items = long(1) + long(5) + long(-2) + long(2) + long(6) + long(7) + long(0)
    pair = counted(b"k") + counted(b"v")
    pairs = long(-1) + long(len(pair)) + pair + long(0)
    assert avro_start(file(fields, [items + pairs]), rows_max=9).rows == (
        {"a": [5, 6, 7], "m": {"k": "v"}},
    )
