"""Blocks of delimited lines as Arrow columns: exactly what Spark would make of them, or nothing.

Arrow parses a block of lines several times as fast as Spark's expressions do, a column at a time.
But it converts some texts that Spark does not (``0x1F`` is a number, ``2026-05-01T12Z`` a time),
and does not convert some that Spark does. So this takes only texts of which both make the same
value, and gives every line that holds another one back as it stands: Spark parses those, and what
is malformed, and why, is its word alone.

A block goes one of three ways. As a rule all its lines are taken at once (``_taken``). Where that
fails, for a line with another number of fields or a text that does not convert, the lines to blame
are found by whole columns, too, and only they are given back (``_sorted_out``). What is about the
block as such (bytes that are no UTF-8, comments, a header that is repeated) gives back all of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import lru_cache

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
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
READ_AS = {
    kind: type_ if pa.types.is_floating(type_) or pa.types.is_boolean(type_) else pa.string()
    for kind, type_ in TYPES.items()
}
"""What Arrow's reader makes of it before it is looked at."""
TRUE = ("true", "True", "TRUE", "t", "T", "yes", "Yes", "y", "Y", "1")
FALSE = ("false", "False", "FALSE", "f", "F", "no", "No", "n", "N", "0")
"""Of the texts that Spark takes for a boolean, the usual ones."""
LINE = "value"
LINE_FEED = b"\n"
MARK = b"\xef\xbb\xbf"
"""Arrow would pass over it at the beginning of any block, Spark only at that of a file."""
REPLACEMENT = "\ufffd".encode()
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


class Layout(msgspec.Struct, frozen=True):
    """Of the lines below one header, or without any."""

    count: int
    """Fields of a line."""
    places: tuple[int, ...]
    """For each kind, the place of its field."""
    header: bytes = b""
    """A line that equals it is no record; empty: there is no such line."""


class Strict(msgspec.Struct, frozen=True):
    """How the lines of a source are taken."""

    delimiter: str
    """One byte."""
    kinds: tuple[str, ...]
    """For each column that is wanted, one of ``TYPES``."""
    null: str = ""
    """A field that equals it is NULL, like an empty one."""
    comment: bytes = b""
    """Lines that begin with it are no records; empty: there are none such."""
    is_replaced: bool = False
    """The lines were in another encoding, and have U+FFFD for what was not of it."""
    is_utc: bool = True
    """A time that says no zone is in UTC."""
    quote: bytes = b""
    """The sign around values; empty: no line has one that means anything."""
    escape: bytes = b""
    """The sign before a quote within a value."""
    separator: bytes = LINE_FEED
    """Between records. If it is another sign than the line feed, values may hold line feeds."""

    @property
    def is_by_lines(self) -> bool:
        return self.separator == LINE_FEED

    @property
    def names(self) -> tuple[str, ...]:
        return (LINE, *(f"{COLUMN}{number}" for number in range(len(self.kinds))))

    @property
    def types(self) -> tuple[pa.DataType, ...]:
        return (pa.string(), *(TYPES[kind] for kind in self.kinds))


COLUMN = "__made_"
"""Followed by the number of the column."""


class _Doubtful(Exception):
    """A text of which Spark may make something else."""


def columns_of(block: bytes, strict: Strict, layout: Layout) -> list[pa.RecordBatch]:
    """Whole lines as batches of ``LINE`` and the columns. Where ``LINE`` is not null the columns
    are, and Spark has to parse it; empty lines are passed over."""
    if b"\r" in block and strict.is_by_lines:
        block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if layout.header and block.startswith(layout.header + strict.separator):
        block = block[len(layout.header) + 1 :]
    if not _is_plain(block, strict, layout):
        return _batches(strict, None, _lines(block, strict))
    with contextlib.suppress(pa.ArrowInvalid, _Doubtful):
        return _batches(strict, _taken(block, strict, layout), None)
    return _sorted_out(block, strict, layout)


def _is_plain(block: bytes, strict: Strict, layout: Layout) -> bool:
    """Nothing about the block as such needs Spark."""
    if block.startswith(MARK) or (strict.is_replaced and REPLACEMENT in block):
        return False
    if layout.header and layout.header in block:
        return False
    if strict.comment and strict.separator + strict.comment in strict.separator + block:
        return False
    if not strict.is_by_lines and b"\r" in block:
        return False
    return block.isascii() or _is_utf8(block)


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _taken(block: bytes, strict: Strict, layout: Layout) -> list[pa.Array]:
    """All lines at once. Raises where one is not as it should be."""
    if not _is_simply_quoted(block, strict):
        raise _Doubtful
    read = _read(block, strict, layout, [READ_AS[kind] for kind in strict.kinds])
    return [_checked(column, kind, strict) for column, kind in zip(read, strict.kinds, strict=True)]


def _is_simply_quoted(block: bytes, strict: Strict) -> bool:
    """Quotes stand around whole values, in turn, and nowhere else; no record ends within them.
    Then there is one way to read them. Spark and Arrow differ in all others."""
    has_quotes = bool(strict.quote) and strict.quote in block
    if not has_quotes:
        return strict.is_by_lines or LINE_FEED not in block
    if strict.escape not in (strict.quote, b"") and strict.escape in block:
        return False
    data = np.frombuffer(strict.separator + block + strict.separator, np.uint8)
    quotes = np.flatnonzero(data == ord(strict.quote))
    if len(quotes) % 2:
        return False
    beside = np.concatenate([data[quotes[::2] - 1], data[quotes[1::2] + 1]])
    if not np.isin(beside, (ord(strict.delimiter), ord(strict.separator))).all():
        return False
    is_within = np.searchsorted(quotes, np.flatnonzero(data == ord(strict.separator))) % 2 == 1
    if strict.is_by_lines:
        return not is_within.any()
    breaks = np.searchsorted(quotes, np.flatnonzero(data == ord(LINE_FEED))) % 2 == 1
    return not is_within.any() and bool(breaks.all())


def _checked(column: pa.Array, kind: str, strict: Strict) -> pa.Array:
    if kind == ISO:
        return _times(column, is_utc=strict.is_utc)
    if kind in EPOCH_US:
        return _in_calendar(_since_1970(_integers(column, pa.int64()), kind))
    if pa.types.is_integer(TYPES[kind]):
        return _integers(column, TYPES[kind])
    if pa.types.is_floating(column.type) and not pc.all(pc.is_finite(column), min_count=0).as_py():
        raise _Doubtful
    return column


def _integers(texts: pa.Array, type_: pa.DataType) -> pa.Array:
    """Arrow reads hexadecimal numbers as well. To look for their sign among the texts of one column
    takes a tenth of the time that it takes in the block."""
    data = texts.buffers()[2]
    if data is not None and any(sign in memoryview(data).tobytes() for sign in HEX):
        raise _Doubtful
    return texts.cast(type_)


def _since_1970(column: pa.Array, kind: str) -> pa.Array:
    if EPOCH_US[kind] > 1:
        column = pc.multiply_checked(column, pa.scalar(EPOCH_US[kind], pa.int64()))
    return column.view(TIME)


def _in_calendar(times: pa.Array) -> pa.Array:
    """Spark's conversion takes no others."""
    first_us, end_us = CALENDAR_US
    found = pc.min_max(times.view(pa.int64())).as_py()
    if found["min"] is not None and not first_us <= found["min"] <= found["max"] < end_us:
        raise _Doubtful
    return times


def _times(texts: pa.Array, *, is_utc: bool) -> pa.Array:
    """Arrow takes more forms of ISO 8601 than Spark, all of them shorter than a time to the second;
    of those that are as long, each has its zone or none has."""
    if len(texts) == texts.null_count:
        return pa.nulls(len(texts), TIME)
    offsets, data = _buffers(texts.drop_null() if texts.null_count else texts)
    if np.diff(offsets).min() < SECONDS_BYTES:
        raise _Doubtful
    is_zoned = data[offsets[1:] - 1] == ord("Z")
    if not is_zoned.all() and (is_zoned.any() or not is_utc):
        raise _Doubtful
    return texts.cast(TIME) if is_zoned[0] else texts.cast(WALL_TIME).view(TIME)


def _sorted_out(block: bytes, strict: Strict, layout: Layout) -> list[pa.RecordBatch]:
    """Lines that surely convert, and the others."""
    lines = _lines(block, strict)
    if not len(lines):
        return []
    is_fit = _counts(lines, strict.delimiter.encode()) == layout.count - 1
    if strict.quote:
        is_fit &= _counts(lines, strict.quote) == 0
    if not strict.is_by_lines:
        is_fit &= _counts(lines, LINE_FEED) == 0
    fit, rest = lines.filter(pa.array(is_fit)), lines.filter(pa.array(~is_fit))
    if not len(fit):
        return _batches(strict, None, lines)
    try:
        texts = _read(
            _bytes_of(fit).to_pybytes(), strict, layout, [pa.string()] * len(strict.kinds)
        )
        is_sure = _all_sure(texts, strict)
        columns = [
            _converted(column.filter(is_sure), kind)
            for column, kind in zip(texts, strict.kinds, strict=True)
        ]
    except pa.ArrowInvalid:
        return _batches(strict, None, lines)
    return _batches(strict, columns, pa.concat_arrays([rest, fit.filter(pc.invert(is_sure))]))


def _all_sure(texts: Sequence[pa.Array], strict: Strict) -> pa.Array:
    """By line: whether each field is NULL or surely converts."""
    found = pa.array(np.ones(len(texts[0]), bool))
    for column, kind in zip(texts, strict.kinds, strict=True):
        if kind != TEXT:
            zone = "Z?" if strict.is_utc else "Z"
            pattern = PATTERNS.get(kind) or _TIME + zone
            is_sure = pc.match_substring_regex(column, f"^(?:{pattern})$")
            found = pc.and_(found, pc.fill_null(is_sure, True))
    return found


def _converted(texts: pa.Array, kind: str) -> pa.Array:
    if kind == ISO:
        return pc.utf8_rtrim(texts, "Z").cast(WALL_TIME).view(TIME)
    if kind in EPOCH_US:
        return _since_1970(texts.cast(pa.int64()), kind)
    if kind == "boolean":
        is_true = pc.is_in(texts, pa.array(TRUE))
        return pc.if_else(pc.is_null(texts), pa.scalar(None, pa.bool_()), is_true)
    return texts.cast(TYPES[kind])


def _read(
    block: bytes, strict: Strict, layout: Layout, types: Sequence[pa.DataType]
) -> list[pa.Array]:
    """The wanted fields. Raises ``ArrowInvalid`` for a line with another number of fields, or a
    text that is not of its type."""
    parse, convert = _options(strict, layout, tuple(types))
    if not strict.is_by_lines:
        block = block.replace(strict.separator, LINE_FEED)
    read = pa.csv.ReadOptions(
        use_threads=False, block_size=len(block) + 1, column_names=_numbered(layout.count)
    )
    table = pa.csv.read_csv(
        pa.BufferReader(block), read_options=read, parse_options=parse, convert_options=convert
    )
    return [_whole(column) for column in table.columns]


@lru_cache(maxsize=64)
def _options(
    strict: Strict, layout: Layout, types: tuple[pa.DataType, ...]
) -> tuple[pa.csv.ParseOptions, pa.csv.ConvertOptions]:
    names = [str(place) for place in layout.places]
    parse = pa.csv.ParseOptions(
        delimiter=strict.delimiter,
        quote_char=strict.quote.decode() or False,
        double_quote=False,
        escape_char=False,
        newlines_in_values=not strict.is_by_lines,
    )
    convert = pa.csv.ConvertOptions(
        check_utf8=False,  # it was looked at
        column_types=dict(zip(names, types, strict=True)),
        include_columns=names,
        null_values=["", strict.null] if strict.null else [""],
        strings_can_be_null=True,
        true_values=TRUE,
        false_values=FALSE,
    )
    return parse, convert


@lru_cache(maxsize=64)
def _numbered(count: int) -> list[str]:
    return [str(place) for place in range(count)]


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _lines(block: bytes, strict: Strict) -> pa.Array:
    """Those that are not empty, each with its end."""
    if block and not block.endswith(strict.separator):
        block += strict.separator
    is_end = np.frombuffer(block, np.uint8) == ord(strict.separator)
    ends = np.flatnonzero(is_end).astype(np.int32) + 1
    offsets = np.concatenate([np.zeros(1, np.int32), ends])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(block)]
    lines = pa.Array.from_buffers(pa.binary(), len(ends), buffers)
    is_empty = np.diff(offsets) == 1
    return lines.filter(pa.array(~is_empty)) if is_empty.any() else lines


def _counts(lines: pa.Array, sign: bytes) -> NDArray[np.int32]:
    """How often each has it."""
    offsets, data = _buffers(lines)
    is_sign = data[: offsets[-1]] == ord(sign)
    return np.add.reduceat(is_sign, offsets[:-1], dtype=np.int32)


def _bytes_of(lines: pa.Array) -> pa.Buffer:
    """All of them in a row: a filter has just put them so."""
    offsets, _ = _buffers(lines)
    return lines.buffers()[2].slice(int(offsets[0]), int(offsets[-1] - offsets[0]))


def _buffers(texts: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Where each begins, with the end of the last one; and the bytes."""
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset :][: len(texts) + 1]
    return offsets, np.frombuffer(texts.buffers()[2], np.uint8)


def _batches(
    strict: Strict, columns: Sequence[pa.Array] | None, lines: pa.Array | None
) -> list[pa.RecordBatch]:
    found = []
    names, types = list(strict.names), strict.types
    if columns is not None and len(columns[0]):
        absent = pa.nulls(len(columns[0]), pa.string())
        found.append(pa.RecordBatch.from_arrays([absent, *columns], names))
    if lines is not None and len(lines):
        texts = pc.binary_slice(lines, 0, -1).view(pa.string())
        nulls = [pa.nulls(len(lines), type_) for type_ in types[1:]]
        found.append(pa.RecordBatch.from_arrays([texts, *nulls], names))
    return found
