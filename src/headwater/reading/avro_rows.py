"""The first rows of an Avro file, in plain Python.

pyarrow reads no Avro, and to start Spark for a look at a file takes seconds. Values come as the
file writes them: what counts since 1970 is a number, a decimal is its bytes.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pyarrow as pa

from headwater.reading.columnar import SYNC_BYTES, avro_bytes, avro_facts, avro_long

BLOCK_BYTES_MAX = 64 << 20
"""Of one block when it is expanded; a larger one is not looked into."""
ITEMS_MAX = 100_000
"""Of one array or map: a number in a damaged file may be any."""


class AvroStart(msgspec.Struct, frozen=True):
    schema: dict[str, Any]
    """Of the records, with the names of types put in where they are referred to."""
    rows: tuple[dict[str, Any], ...]
    fault: str = ""
    """Why there are no more rows, where that is not the file's end."""


class AvroUnreadable(ValueError):
    """The header is not that of an Avro file of records."""


def avro_start(data: bytes, *, rows_max: int) -> AvroStart:
    """Of the first bytes of a file as many rows as are whole in them."""
    try:
        facts, at = avro_facts(data)
        schema = msgspec.json.decode(facts[b"avro.schema"])
    except (IndexError, KeyError, msgspec.DecodeError) as error:
        raise AvroUnreadable("wanted an Avro header with a schema of records") from error
    whole = _named(schema, {})
    if not isinstance(whole, dict) or whole.get("type") != "record":
        raise AvroUnreadable(f"wanted a schema of records, it is one of {kind_of(whole)}")
    codec = facts.get(b"avro.codec", b"null").decode(errors="replace")
    rows: list[dict[str, Any]] = []
    try:
        _read_blocks(data, at + SYNC_BYTES, whole, codec, rows, rows_max)
    except (IndexError, struct.error):
        pass  # the sample ends within a block
    except (ValueError, zlib.error, pa.ArrowException, RecursionError) as error:
        return AvroStart(whole, tuple(rows), str(error))
    return AvroStart(whole, tuple(rows))


def kind_of(schema: Any) -> str:
    """
    >>> kind_of({"type": "long", "logicalType": "timestamp-micros"}), kind_of(["null", "int"])
    ('timestamp-micros', 'union of null, int')
    """
    if isinstance(schema, list):
        return f"union of {', '.join(map(kind_of, schema))}"
    if isinstance(schema, dict):
        return str(schema.get("logicalType") or kind_of(schema.get("type", "nothing")))
    return str(schema)


def _named(schema: Any, known: dict[str, Any], *, depth: int = 0) -> Any:
    """With what a name stands for in its place; one that stands for itself stays a name."""
    if depth > 64:
        raise AvroUnreadable("the schema nests more than 64 deep")
    if isinstance(schema, list):
        return [_named(one, known, depth=depth + 1) for one in schema]
    if isinstance(schema, str):
        return known.get(schema, schema)
    if not isinstance(schema, dict):
        return schema
    found = dict(schema)
    kind = schema.get("type")
    if kind == "record":
        fields = schema.get("fields")
        found["fields"] = [
            {**one, "type": _named(one.get("type"), known, depth=depth + 1)}
            for one in (fields if isinstance(fields, list) else ())
            if isinstance(one, dict)
        ]
    elif kind in ("array", "map"):
        member = "items" if kind == "array" else "values"
        found[member] = _named(schema.get(member), known, depth=depth + 1)
    elif isinstance(kind, dict | list):
        return _named(kind, known, depth=depth + 1)
    if isinstance(name := schema.get("name"), str) and kind in ("record", "enum", "fixed"):
        space = schema.get("namespace")
        known |= {name: found} | ({f"{space}.{name}": found} if space else {})
    return found


def _read_blocks(
    data: bytes,
    at: int,
    schema: dict[str, Any],
    codec: str,
    rows: list[dict[str, Any]],
    rows_max: int,
) -> None:
    while at < len(data) and len(rows) < rows_max:
        count, at = avro_long(data, at)
        packed, at = avro_bytes(data, at)
        block, inner = _expanded(packed, codec), 0
        for _ in range(min(count, rows_max - len(rows))):
            row, inner = _value(block, inner, schema)
            rows.append(row)
        at += SYNC_BYTES


def _expanded(packed: bytes, codec: str) -> bytes:
    match codec:
        case "null":
            return packed
        case "deflate":
            return zlib.decompressobj(-15).decompress(packed, BLOCK_BYTES_MAX)
        case "snappy":
            size = _varint(packed)
            if size > BLOCK_BYTES_MAX:
                raise ValueError(f"a block of {size:,} bytes; looked at are {BLOCK_BYTES_MAX:,}")
            found: bytes = pa.decompress(packed[:-4], size, codec="snappy", asbytes=True)
            return found
        case "zstandard":
            stream = pa.CompressedInputStream(pa.BufferReader(packed), "zstd")
            return bytes(stream.read(BLOCK_BYTES_MAX))
    raise ValueError(
        f"its blocks are packed as {codec[:40]}; values are looked at in null, "
        "deflate, snappy and zstandard"
    )


def _varint(data: bytes) -> int:
    """How snappy says the size of what it packed."""
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            break
    return value


def _value(data: bytes, at: int, schema: Any) -> tuple[Any, int]:
    if isinstance(schema, list):
        number, at = avro_long(data, at)
        return _value(data, at, schema[number])
    kind = schema.get("type") if isinstance(schema, dict) else schema
    if kind == "record":
        row = {}
        for field in schema["fields"]:
            row[field["name"]], at = _value(data, at, field["type"])
        return row, at
    if kind in ("array", "map"):
        return _items(data, at, schema, is_map=kind == "map")
    if kind == "fixed":
        return _bytes_at(data, at, int(schema["size"]))
    if kind == "enum":
        number, at = avro_long(data, at)
        return schema["symbols"][number], at
    if kind not in _READ:
        raise ValueError(f"a type that is not known here: {str(kind)[:40]}")
    return _READ[kind](data, at)


def _items(data: bytes, at: int, schema: Mapping[str, Any], *, is_map: bool) -> tuple[Any, int]:
    found: list[Any] = []
    while True:
        count, at = avro_long(data, at)
        if not count:
            return (dict(found) if is_map else found), at
        if count < 0:
            count, at = -count, avro_long(data, at)[1]
        if len(found) + count > ITEMS_MAX:
            raise ValueError(f"{len(found) + count:,} items in one value; at most {ITEMS_MAX:,}")
        for _ in range(count):
            if is_map:
                key, at = _text(data, at)
                value, at = _value(data, at, schema["values"])
                found.append((key, value))
            else:
                value, at = _value(data, at, schema["items"])
                found.append(value)


def _bytes_at(data: bytes, at: int, count: int) -> tuple[bytes, int]:
    if at + count > len(data):
        raise IndexError
    return data[at : at + count], at + count


def _text(data: bytes, at: int) -> tuple[str, int]:
    found, at = avro_bytes(data, at)
    return found.decode(errors="replace"), at


def _truth(data: bytes, at: int) -> tuple[bool, int]:
    return data[at] == 1, at + 1


def _number(form: str) -> Callable[[bytes, int], tuple[Any, int]]:
    size = struct.calcsize(form)
    return lambda data, at: (struct.unpack_from(form, data, at)[0], at + size)


_READ: dict[str, Callable[[bytes, int], tuple[Any, int]]] = {
    "null": lambda data, at: (None, at),
    "boolean": _truth,
    "int": avro_long,
    "long": avro_long,
    "float": _number("<f"),
    "double": _number("<d"),
    "bytes": avro_bytes,
    "string": _text,
}
