"""Columns of texts or numbers as values of a kind: exactly those that Spark would make, or none.

Arrow converts some texts that Spark does not (``0x1F`` is a number, ``2026-05-01T12Z`` a time), and
does not convert some that Spark does. So there are two ways. ``checked`` converts a column as a
whole, and raises where any of its values is not surely the same to Spark. ``are_sure`` says of
which values that is so, for who then takes these alone (``converted``).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headwater.plan.sources.time_formats import CALENDAR_US

TEXT = "text"
"""A field as it stands, which Spark converts."""
ISO = "iso"
EPOCH_US = {"epoch_s": 1_000_000, "epoch_ms": 1_000, "epoch_us": 1}
"""Microseconds in one unit of a number that is a time."""
TIME, WALL_TIME = pa.timestamp("us", tz="UTC"), pa.timestamp("us")
TYPES: dict[str, pa.DataType] = {
    TEXT: pa.string(),
    "bigint": pa.int64(),
    "int": pa.int32(),
    "smallint": pa.int16(),
    "tinyint": pa.int8(),
    "double": pa.float64(),
    "float": pa.float32(),
    "boolean": pa.bool_(),
    ISO: TIME,
    **dict.fromkeys(EPOCH_US, TIME),
}
"""By the kind of a column: what it becomes."""
TRUE = ("true", "True", "TRUE", "t", "T", "yes", "Yes", "y", "Y", "1")
FALSE = ("false", "False", "FALSE", "f", "F", "no", "No", "n", "N", "0")
"""Of the texts that Spark takes for a boolean, the usual ones."""
SECONDS_BYTES = len("2026-05-01T12:00:00")

_DAY = (
    r"\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|"
    r"(?:0[13578]|1[02])-31)"
)
_TIME = rf"{_DAY}[T ](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{{1,6}})?"
_NUMBER = r"-?\d{1,15}(?:\.\d{1,15})?"
PATTERNS = {
    "bigint": r"-?\d{1,18}",
    "int": r"-?\d{1,9}",
    "smallint": r"-?\d{1,4}",
    "tinyint": r"-?\d{1,2}",
    "double": _NUMBER,
    "float": _NUMBER,
    "boolean": "|".join((*TRUE, *FALSE)),
    "epoch_s": r"\d{1,11}|-\d{1,10}",
    "epoch_ms": r"\d{1,14}|-\d{1,13}",
    "epoch_us": r"\d{1,17}|-\d{1,16}",
}
"""What surely converts, for lines that are looked at one by one. February 29 does not surely."""
HEX = (b"x", b"X")
"""Arrow reads numbers with these in them, Spark does not."""


class Doubtful(Exception):
    """A text of which Spark may make something else."""


def checked(column: pa.Array, kind: str, *, is_utc: bool) -> pa.Array:
    """Texts, or numbers and booleans that Arrow's reader has made of texts, as what their kind
    becomes. Raises ``Doubtful``, or ``ArrowInvalid``."""
    if kind == ISO:
        return _times(column, is_utc=is_utc)
    if kind in EPOCH_US:
        return _in_calendar(_since_1970(_integers(column, pa.int64()), kind))
    if pa.types.is_integer(TYPES[kind]):
        return _integers(column, TYPES[kind])
    if pa.types.is_floating(TYPES[kind]):
        column = column.cast(TYPES[kind])
        if not pc.all(pc.is_finite(column), min_count=0).as_py():
            raise Doubtful
    return column.cast(TYPES[kind])


def _integers(column: pa.Array, type_: pa.DataType) -> pa.Array:
    """Arrow reads hexadecimal numbers as well. To look for their sign among the texts of one column
    takes a tenth of the time that it takes in the block."""
    if pa.types.is_string(column.type):
        data = column.buffers()[2]
        if data is not None and any(symbol in memoryview(data).tobytes() for symbol in HEX):
            raise Doubtful
    return column.cast(type_)


def _since_1970(column: pa.Array, kind: str) -> pa.Array:
    if EPOCH_US[kind] > 1:
        column = pc.multiply_checked(column, pa.scalar(EPOCH_US[kind], pa.int64()))
    return column.view(TIME)


def _in_calendar(times: pa.Array) -> pa.Array:
    """Spark's conversion takes no others."""
    first_us, end_us = CALENDAR_US
    found = pc.min_max(times.view(pa.int64())).as_py()
    if found["min"] is not None and not first_us <= found["min"] <= found["max"] < end_us:
        raise Doubtful
    return times


def _times(texts: pa.Array, *, is_utc: bool) -> pa.Array:
    """Arrow takes more forms of ISO 8601 than Spark, all of them shorter than a time to the second;
    of those that are as long, each has its zone or none has."""
    if len(texts) == texts.null_count:
        return pa.nulls(len(texts), TIME)
    offsets, data = buffers_of(texts.drop_null() if texts.null_count else texts)
    if np.diff(offsets).min() < SECONDS_BYTES:
        raise Doubtful
    is_zoned = data[offsets[1:] - 1] == ord("Z")
    if not is_zoned.all() and (is_zoned.any() or not is_utc):
        raise Doubtful
    return texts.cast(TIME) if is_zoned[0] else texts.cast(WALL_TIME).view(TIME)


def are_sure(texts: pa.Array, kind: str, *, is_utc: bool) -> pa.Array:
    """By value: whether it is NULL, or a text that surely converts."""
    if kind == TEXT:
        return pa.array(np.ones(len(texts), bool))
    pattern = f"^(?:{pattern_of(kind, is_utc=is_utc)})$"
    return pc.fill_null(pc.match_substring_regex(texts, pattern), True)


def pattern_of(kind: str, *, is_utc: bool) -> str:
    """Of the texts that are sure, where not all are."""
    return PATTERNS.get(kind) or _TIME + ("Z?" if is_utc else "Z")


def converted(texts: pa.Array, kind: str) -> pa.Array:
    """Of texts that are sure, or of numbers or booleans."""
    if texts.type == TYPES[kind]:
        return texts
    if kind == ISO:
        return pc.utf8_rtrim(texts, "Z").cast(WALL_TIME).view(TIME)
    if kind in EPOCH_US:
        return _since_1970(texts.cast(pa.int64()), kind)
    if kind == "boolean":
        is_true = pc.is_in(texts, pa.array(TRUE))
        return pc.if_else(pc.is_null(texts), pa.scalar(None, pa.bool_()), is_true)
    return texts.cast(TYPES[kind])


def buffers_of(texts: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Where each begins, with the end of the last one; and the bytes."""
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset :][: len(texts) + 1]
    return offsets, np.frombuffer(texts.buffers()[2], np.uint8)
