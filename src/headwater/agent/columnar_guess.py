"""The columns of files that carry their own schema: Parquet and ORC, as pyarrow reads them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet

from headwater.infer.guess import ColumnGuess, NoGuess, SourceGuess, TimeGuess

TYPES = {
    "bool": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT",
    "uint8": "SMALLINT", "uint16": "INT", "uint32": "BIGINT", "float": "FLOAT", "double": "DOUBLE",
    "string": "STRING", "large_string": "STRING", "date32[day]": "DATE",
}  # fmt: skip


def guess_columnar(path: Path, format_: str) -> SourceGuess | NoGuess:
    if format_ == "avro":
        return NoGuess("Avro's schema is not read here; write the columns by hand")
    schema = _schema(path, format_)
    columns, left_out = [], []
    for field in schema:
        type_ = _type(field.type)
        if type_:
            columns.append(ColumnGuess(field.name, type_))
        else:
            left_out.append(f"{field.name} ({field.type})")
    times = [column.name for column in columns if column.type == "TIMESTAMP"]
    if not times:
        return NoGuess("no column is a timestamp")
    doubts = (
        [f"left out, of types that are not read here: {', '.join(left_out)}"] if left_out else []
    )
    if len(times) > 1:
        doubts.append(
            f"`{times[0]}` places records in time; `{'`, `'.join(times[1:])}` could as well"
        )
    return SourceGuess(format_, tuple(columns), TimeGuess((times[0],)), doubts=tuple(doubts))


def _schema(path: Path, format_: str) -> pa.Schema:
    if format_ == "parquet":
        return pa.parquet.read_schema(path)
    return pa.orc.ORCFile(path).schema


def _type(type_: pa.DataType) -> str:
    if pa.types.is_timestamp(type_):
        return "TIMESTAMP"
    if pa.types.is_decimal(type_):
        return f"DECIMAL({type_.precision}, {type_.scale})"
    return TYPES.get(str(type_), "")
