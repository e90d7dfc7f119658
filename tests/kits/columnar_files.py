"""Files with columns of their own, for tests: pyarrow writes no Avro, so that is written here."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet

MARK = b"headwater's mark"


def write_columnar(path: Path, kind: str, table: pa.Table) -> None:
    if kind == "parquet":
        pa.parquet.write_table(table, path)
    elif kind == "orc":
        pa.orc.write_table(table, path)
    else:
        fields = [{"name": one.name, "type": ["null", _schema(one.type)]} for one in table.schema]
        write_avro(path, fields, table.to_pylist())


def write_avro(
    path: Path,
    fields: Sequence[dict[str, Any]],
    rows: Sequence[dict[str, Any]],
    codec: str = "null",
) -> None:
    schema = {"type": "record", "name": "r", "fields": list(fields)}
    block = b"".join(_value(row, schema) for row in rows)
    if codec == "deflate":
        packer = zlib.compressobj(wbits=-15)
        block = packer.compress(block) + packer.flush()
    facts = {"avro.codec": codec.encode(), "avro.schema": json.dumps(schema).encode()}
    head = b"".join(_bytes(name.encode()) + _bytes(value) for name, value in facts.items())
    head = b"Obj\x01" + _long(len(facts)) + head + _long(0) + MARK
    path.write_bytes(head + _long(len(rows)) + _long(len(block)) + block + MARK)


def _schema(type_: pa.DataType) -> Any:
    if pa.types.is_timestamp(type_):
        return {"type": "long", "logicalType": "timestamp-micros"}
    if pa.types.is_list(type_):
        return {"type": "array", "items": _schema(type_.value_type)}
    if pa.types.is_struct(type_):
        fields = [{"name": one.name, "type": ["null", _schema(one.type)]} for one in type_]
        return {"type": "record", "name": f"r{abs(hash(str(type_)))}", "fields": fields}
    return {"int64": "long", "double": "double", "string": "string", "bool": "boolean"}[str(type_)]


def _value(value: Any, schema: Any) -> bytes:
    if isinstance(schema, list):
        if value is None:
            return _long(0)
        return _long(1) + _value(value, schema[1])
    kind = schema["type"] if isinstance(schema, dict) else schema
    match kind:
        case "record":
            return b"".join(_value(value.get(one["name"]), one["type"]) for one in schema["fields"])
        case "array":
            items = b"".join(_value(one, schema["items"]) for one in value)
            return (_long(len(value)) + items if value else b"") + _long(0)
        case "long":
            return _long(_micros(value) if isinstance(value, datetime) else value)
        case "boolean":
            return bytes([value])
        case "double":
            return struct.pack("<d", value)
    return _bytes(value.encode())


def _micros(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=at.tzinfo)) // timedelta(microseconds=1)


def _bytes(data: bytes) -> bytes:
    return _long(len(data)) + data


def _long(value: int) -> bytes:
    coded, out = (value << 1) ^ (value >> 63), b""
    while coded > 0x7F:
        out += bytes([coded & 0x7F | 0x80])
        coded >>= 7
    return out + bytes([coded])
