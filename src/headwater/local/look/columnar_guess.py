"""The columns of files that carry their own schema: Parquet and ORC by pyarrow, Avro by its header.

A type is named as the product reads it: what Spark makes of the file, not what pyarrow does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc
import pyarrow.parquet

from headwater.errors import ConfigurationError
from headwater.infer.guess import NoGuess, SourceGuess
from headwater.infer.json_columns import DEPTH_MAX, Place
from headwater.infer.sample import FILE_LINES_MAX
from headwater.infer.typed_columns import TypedColumn, TypedSample, infer_typed
from headwater.infer.write_source import quoted_name
from headwater.reading.avro_rows import AvroUnreadable, avro_start, kind_of
from headwater.sql.types.declared_types import declared_type

AVRO_BYTES_MAX = 4 << 20
"""Of one file that are looked at; a block is 64 KiB as a rule."""
ORC_STRIPE_BYTES_MAX = 256 << 20
"""Of an ORC file that is looked into: the first stripe is read whole, and may be all of it."""
TYPES = {
    "bool": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INT",
    "int64": "BIGINT",
    "uint8": "SMALLINT",
    "uint16": "INT",
    "uint32": "BIGINT",
    "uint64": "DECIMAL(20, 0)",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "STRING",
    "large_string": "STRING",
    "string_view": "STRING",
    "date32[day]": "DATE",
    "binary": "BINARY",
    "large_binary": "BINARY",
    "binary_view": "BINARY",
}
AVRO_TYPES = {
    "boolean": "BOOLEAN",
    "int": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "bytes": "BINARY",
    "string": "STRING",
    "enum": "STRING",
    "fixed": "BINARY",
    "date": "DATE",
    "uuid": "STRING",
    "timestamp-millis": "TIMESTAMP",
    "timestamp-micros": "TIMESTAMP",
    "local-timestamp-millis": "TIMESTAMP_NTZ",
    "local-timestamp-micros": "TIMESTAMP_NTZ",
}
WITHOUT_TEXT = ("BINARY", "ARRAY", "MAP", "STRUCT")
"""What types of values begin with that are not compared or shown here."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UNIT_US = {"timestamp-millis": 1000, "local-timestamp-millis": 1000}


def guess_columnar(paths: Sequence[Path], format_: str) -> SourceGuess | NoGuess:
    """Of files of one kind; one that can't be looked into is said, unless that is all of them."""
    samples, faults = [], []
    for path in paths:
        try:
            samples.append(_sample(path, format_))
        except (pa.ArrowException, OSError, AvroUnreadable, IndexError) as error:
            faults.append((path, str(error).partition("\n")[0]))
    if not samples:
        path, reason = faults[0]
        raise ConfigurationError(
            f"{path}: can't be read as {format_}: {reason}; name a file that is whole"
        )
    guess = infer_typed(format_, samples)
    if isinstance(guess, NoGuess) or not faults:
        return guess
    path, reason = faults[0]
    said = f"{len(faults)} of {len(paths)} files can't be read as {format_}; {path}: {reason}"
    return msgspec.structs.replace(guess, doubts=(said, *guess.doubts))


def _sample(path: Path, format_: str) -> TypedSample:
    if format_ == "avro":
        return _avro_sample(path)
    rows, fault = _parquet_rows(path) if format_ == "parquet" else _orc_rows(path)
    columns: dict[Place, TypedColumn] = {}
    left_out: dict[str, str] = {}
    for place, array in _leaves(rows):
        type_ = arrow_type(array.type)
        if type_ and declared_type(type_) is not None:
            columns[place] = _arrow_column(array, type_, is_parquet=format_ == "parquet")
        else:
            left_out[".".join(place)] = str(array.type)
    return TypedSample(columns, left_out, rows.num_rows, fault)


def _parquet_rows(path: Path) -> tuple[pa.Table, str]:
    with pa.parquet.ParquetFile(path) as file:
        found = next(file.iter_batches(batch_size=FILE_LINES_MAX), None)
        schema = file.schema_arrow
    return schema.empty_table() if found is None else pa.Table.from_batches([found]), ""


def _orc_rows(path: Path) -> tuple[pa.Table, str]:
    file = pa.orc.ORCFile(path)
    if not file.nstripes or not file.nrows:
        return file.schema.empty_table(), ""
    if path.stat().st_size // file.nstripes > ORC_STRIPE_BYTES_MAX:
        return file.schema.empty_table(), f"its stripes are over {ORC_STRIPE_BYTES_MAX >> 20} MiB"
    return pa.Table.from_batches([file.read_stripe(0)]).slice(0, FILE_LINES_MAX), ""


def _leaves(table: pa.Table) -> Iterator[tuple[Place, pa.Array]]:
    """Members of objects by their places; what lies deeper than ``DEPTH_MAX`` as it is."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        yield from _below((name,), column.combine_chunks())


def _below(place: Place, array: pa.Array) -> Iterator[tuple[Place, pa.Array]]:
    if not pa.types.is_struct(array.type) or len(place) >= DEPTH_MAX or not array.type.num_fields:
        yield place, array
        return
    for number, field in enumerate(array.type):
        yield from _below((*place, field.name), pc.struct_field(array, number))


def arrow_type(type_: pa.DataType) -> str:
    """As CREATE SOURCE names it; empty: it is not read."""
    if pa.types.is_timestamp(type_):
        return "TIMESTAMP" if type_.tz is not None else "TIMESTAMP_NTZ"
    if pa.types.is_dictionary(type_):
        return arrow_type(type_.value_type)
    if pa.types.is_decimal(type_):
        return f"DECIMAL({type_.precision}, {type_.scale})" if type_.scale >= 0 else ""
    if pa.types.is_fixed_size_binary(type_):
        return "BINARY"
    if (
        pa.types.is_list(type_)
        or pa.types.is_large_list(type_)
        or pa.types.is_fixed_size_list(type_)
    ):
        return _within("ARRAY<{}>", arrow_type(type_.value_type))
    if pa.types.is_map(type_):
        is_by_text = arrow_type(type_.key_type) == "STRING"
        return _within("MAP<STRING, {}>", arrow_type(type_.item_type)) if is_by_text else ""
    if pa.types.is_struct(type_):
        return _struct([(field.name, arrow_type(field.type)) for field in type_])
    return TYPES.get(str(type_), "")


def _within(form: str, inner: str) -> str:
    return form.format(inner) if inner else ""


def _struct(fields: Sequence[tuple[str, str]]) -> str:
    if not fields or not all(type_ for _, type_ in fields):
        return ""
    return f"STRUCT<{', '.join(f'{quoted_name(name)}: {type_}' for name, type_ in fields)}>"


def _arrow_column(array: pa.Array, type_: str, *, is_parquet: bool) -> TypedColumn:
    if type_.startswith(WITHOUT_TEXT):
        return TypedColumn(type_)
    if not pa.types.is_timestamp(array.type):
        return TypedColumn(type_, _texts(array.drop_null().to_pylist()))
    counts = array.drop_null().cast(pa.int64()).to_pylist()
    unit = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 0}[array.type.unit]
    times = [count * unit if unit else count // 1000 for count in counts]
    if is_parquet and array.type.unit == "ns":  # Spark has no such type: it reads the number
        return TypedColumn(type_, _texts(counts), "epoch_ns", _span(times))
    return _times(type_ if is_parquet else "TIMESTAMP", times)  # Spark knows one kind in ORC


def _times(type_: str, times: Sequence[int]) -> TypedColumn:
    texts = tuple((EPOCH + timedelta(microseconds=us)).isoformat() for us in times)
    return TypedColumn(type_, texts, "", _span(times))


def _span(times: Sequence[int]) -> tuple[int, int] | None:
    return (min(times), max(times)) if times else None


def _texts(values: Sequence[Any]) -> tuple[str, ...]:
    return tuple(
        str(value).lower() if isinstance(value, bool) else str(value)
        for value in values
        if value is not None
    )


def _avro_sample(path: Path) -> TypedSample:
    with path.open("rb") as file:
        start = avro_start(file.read(AVRO_BYTES_MAX), rows_max=FILE_LINES_MAX)
    columns: dict[Place, TypedColumn] = {}
    left_out: dict[str, str] = {}
    for place, schema in _avro_leaves((), start.schema):
        type_ = avro_type(schema)
        if type_ and declared_type(type_) is not None:
            values = [_at(row, place) for row in start.rows]
            columns[place] = _avro_column(schema, type_, [one for one in values if one is not None])
        else:
            left_out[".".join(place)] = kind_of(schema)
    return TypedSample(columns, left_out, len(start.rows), start.fault)


def _avro_leaves(place: Place, schema: Any) -> Iterator[tuple[Place, Any]]:
    found = _not_null(schema)
    is_record = isinstance(found, dict) and found.get("type") == "record"
    if not is_record or len(place) >= DEPTH_MAX:
        yield place, found
        return
    for field in found["fields"]:
        yield from _avro_leaves((*place, field["name"]), field["type"])


def _not_null(schema: Any) -> Any:
    """Of a union with null what else there is; two widths of number are the wider one."""
    if not isinstance(schema, list):
        return schema
    rest = [one for one in schema if one != "null"]
    if len(rest) == 1:
        return rest[0]
    for pair in (["int", "long"], ["float", "double"]):
        if sorted(rest, key=str) in (pair, sorted(pair)):
            return pair[1]
    return rest


def avro_type(schema: Any) -> str:
    """As CREATE SOURCE names it; empty: it is not read."""
    found = _not_null(schema)
    kind = found.get("type") if isinstance(found, dict) else found
    logical = found.get("logicalType") if isinstance(found, dict) else None
    if logical == "decimal" and isinstance(found.get("precision"), int):
        return f"DECIMAL({found['precision']}, {found.get('scale', 0)})"
    match kind:
        case "array":
            return _within("ARRAY<{}>", avro_type(found.get("items")))
        case "map":
            return _within("MAP<STRING, {}>", avro_type(found.get("values")))
        case "record":
            return _struct([(one["name"], avro_type(one["type"])) for one in found["fields"]])
    if isinstance(logical, str) and logical.startswith("time-"):
        return ""
    return AVRO_TYPES.get(str(logical), "") or AVRO_TYPES.get(str(kind), "")


def _avro_column(schema: Any, type_: str, values: Sequence[Any]) -> TypedColumn:
    logical = str(schema.get("logicalType")) if isinstance(schema, dict) else ""
    if "timestamp-m" in logical and type_.startswith("TIMESTAMP"):
        return _times(type_, [value * UNIT_US.get(logical, 1) for value in values])
    if logical == "timestamp-nanos":
        times = [value // 1000 for value in values]
        return TypedColumn("TIMESTAMP", _texts(values), "epoch_ns", _span(times))
    if type_.startswith(WITHOUT_TEXT) or logical in ("decimal", "date"):
        return TypedColumn(type_)
    return TypedColumn(type_, _texts(values))


def _at(row: Any, place: Place) -> Any:
    for name in place:
        row = row.get(name) if isinstance(row, dict) else None
    return row
