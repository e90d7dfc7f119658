"""Blocks of JSON lines as Arrow columns: exactly what Spark would make of them, or nothing.

What ``strict_columns`` is for delimited lines. Arrow's reader of JSON is given the type of each
value that is wanted, so that it takes a number for a number and a text for a text, and refuses
lines where a value is of another sort, is there twice, or is no JSON. The rest is about what it
accepts and Spark does not, or takes otherwise:

- It reads one object after another, wherever lines end. So each line must begin and end with a
  brace, which leaves no place for a line's end but between two objects; and there must be as many
  objects as lines.
- It takes ``Inf`` for a number, and sets no limit to the depth of a line or the length of a number
  in it, which Spark's reader does.
- Spark takes numbers out of JSON as text, and converts that: ``-0`` is the text ``0``, so that its
  double is another one; and a float is rounded twice.

Where a block fails, Arrow says which object is to blame, as a rule. That line is given back, and
the lines before and behind it are read anew; without such a word the lines are halved.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
from numpy.typing import NDArray

from headwater.plan.sources.time_formats import CALENDAR_US
from headwater.reading.strict.strict_kinds import (
    EPOCH_US,
    TEXT,
    TYPES,
    Doubtful,
    are_sure,
    buffers_of,
    checked,
    converted,
)
from headwater.reading.strict.strict_lines import (
    LINE_FEED,
    batches_of,
    bytes_of,
    is_text,
    lines_of,
    names_of,
    types_of,
    with_line_feeds,
)

Truths = NDArray[np.bool_]

LINE_BYTES_SURE = 1000
"""A line that is no longer can't be beyond any limit of Spark's reader."""
LEVELS_MAX = 1000
NAME_BYTES_MAX = 50_000
"""Two of these limits: of a line, and of a name in it, for which all of the line is taken here."""
DIGITS_STEP = 100
LONG_NUMBER = b"\x01" * 10
"""The third is a number of a thousand digits: it has ten in a row among every hundredth byte."""
IS_DIGIT = np.isin(np.arange(256), list(b"0123456789+-.eE"))
ATTEMPT_LINES = 16
"""An attempt to read costs as much as Spark takes for so many lines."""
NAMED_MAX, HALVINGS_MAX = 256, 64
"""Lines of a block that Arrow may blame by name, and attempts to read parts of the others, until
all that is left is given back."""
BARE_NAME = re.compile(rb"[:,\[\s][-+]?(?:Inf(?:inity)?|NaN)\b")
"""Numbers that are none, outside of quotes and perhaps within."""
BAD_ROW = re.compile(r"in row (\d+)$")


class StrictJson(msgspec.Struct, frozen=True):
    """How the lines of a source are taken."""

    keys: tuple[str, ...]
    """For each column that is wanted, the name of its value in the object; no name is there
    twice."""
    kinds: tuple[str, ...]
    """The same, one of ``TYPES``."""
    are_texts: tuple[bool, ...]
    """The same: whether its values are written in quotes. Of numbers without, a text has only whole
    ones: of others Spark makes a text by way of a double."""
    is_replaced: bool = False
    is_utc: bool = True
    separator: bytes = LINE_FEED
    """These as in ``Strict``."""

    @property
    def names(self) -> tuple[str, ...]:
        return names_of(self.kinds)

    @property
    def types(self) -> tuple[pa.DataType, ...]:
        return types_of(self.kinds)


def json_columns_of(block: bytes, strict: StrictJson) -> list[pa.RecordBatch]:
    """As ``columns_of``."""
    block = with_line_feeds(block)
    if not is_text(block, is_replaced=strict.is_replaced):
        return batches_of(strict.kinds, None, lines_of(block))
    with contextlib.suppress(pa.ArrowInvalid, Doubtful):
        return batches_of(strict.kinds, _taken(block, strict), None)
    return _sorted_out(lines_of(block), strict)


def _taken(block: bytes, strict: StrictJson) -> list[pa.Array]:
    """All lines at once. Raises where one is not as it should be."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord(LINE_FEED)) + 1
    offsets = np.concatenate([np.zeros(1, np.int64), ends])
    if offsets[-1] != len(block) or not _are_fit(block, offsets).all():
        raise Doubtful
    columns = _read(pa.py_buffer(block), strict, count=len(ends))
    return [_checked(*one, is_utc=strict.is_utc) for one in zip(columns, strict.kinds, strict=True)]


def _are_fit(block: bytes, offsets: NDArray[np.integer]) -> Truths:
    """By line, which has its end: whether it is in braces, and surely within all limits."""
    data, starts, ends = np.frombuffer(block, np.uint8), offsets[:-1], offsets[1:]
    are_fit: Truths = (data[starts] == ord("{")) & (data[ends - 2] == ord("}"))
    if b"Inf" in block or b"NaN" in block:
        at = np.array([found.end() for found in BARE_NAME.finditer(block)], np.int64)
        are_fit[np.searchsorted(ends, at)] = False
    if len(ends) and (ends - starts).max() > LINE_BYTES_SURE:
        are_fit &= _are_within_limits(data, offsets)
    return are_fit


def _are_within_limits(data: NDArray[np.uint8], offsets: NDArray[np.integer]) -> Truths:
    lengths = np.diff(offsets)
    if LONG_NUMBER in IS_DIGIT[data[::DIGITS_STEP]].tobytes():
        return lengths <= LINE_BYTES_SURE
    are_within = lengths <= NAME_BYTES_MAX
    if lengths.max() > 2 * LEVELS_MAX:  # a level begins and ends
        begins = (data == ord("{")) | (data == ord("["))
        are_within &= np.add.reduceat(begins, offsets[:-1], dtype=np.int32) < LEVELS_MAX
    return are_within


def _read(block: pa.Buffer, strict: StrictJson, *, count: int) -> list[pa.Array]:
    """The wanted values. Raises ``ArrowInvalid`` for what is no JSON, or of another sort; and where
    there are not as many objects as lines."""
    table = pa.json.read_json(
        pa.BufferReader(block),
        read_options=pa.json.ReadOptions(use_threads=False, block_size=block.size + 1),
        parse_options=_options(strict),
    )
    if table.num_rows != count:
        raise Doubtful
    return [column.combine_chunks() for column in table.select(strict.keys).columns]


@lru_cache(maxsize=64)
def _options(strict: StrictJson) -> pa.json.ParseOptions:
    kinds = zip(strict.keys, strict.kinds, strict.are_texts, strict=True)
    schema = pa.schema([(key, _read_as(kind, is_text=is_text)) for key, kind, is_text in kinds])
    return pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")


def _read_as(kind: str, *, is_text: bool) -> pa.DataType:
    if is_text:
        return pa.string()
    if kind == TEXT or kind in EPOCH_US:
        return pa.int64()
    return pa.float64() if pa.types.is_floating(TYPES[kind]) else TYPES[kind]


def _checked(column: pa.Array, kind: str, *, is_utc: bool) -> pa.Array:
    if pa.types.is_floating(column.type):
        if not _are_sure_numbers(column, kind).all():
            raise Doubtful
        return column.cast(TYPES[kind])
    return checked(column, kind, is_utc=is_utc)


def _are_sure_numbers(column: pa.Array, kind: str) -> Truths:
    """Of doubles, to which no number was null: whether Spark's is the same by way of its text, the
    shortest one that no other double has. For a float that text is rounded once more, as the
    double is if those next to it become the same float."""
    values = column.fill_null(0.0).to_numpy(zero_copy_only=False)
    found: Truths = np.isfinite(values) & ~((values == 0) & np.signbit(values))
    if kind == "float":
        with np.errstate(over="ignore"):
            floats = values.astype(np.float32)
            for side in (-np.inf, np.inf):
                found &= np.nextafter(values, side).astype(np.float32) == floats
        found &= np.isfinite(floats)
    return found


def _sorted_out(lines: pa.Array, strict: StrictJson) -> list[pa.RecordBatch]:
    """Lines that are surely the same to Spark, and the others."""
    if not len(lines):
        return []
    offsets, _ = buffers_of(lines)
    are_fit = _are_fit(lines.buffers()[2].to_pybytes(), offsets)
    fit, given_back = lines.filter(pa.array(are_fit)), [lines.filter(pa.array(~are_fit))]
    found = []
    for part, columns in _parts(fit, strict):
        if columns is None:
            given_back.append(part)
            continue
        is_sure = _all_sure(columns, strict)
        found.append([column.filter(is_sure) for column in columns])
        given_back.append(part.filter(pc.invert(is_sure)))
    rows = [pa.concat_arrays(of_column) for of_column in zip(*found, strict=True)]
    columns = [converted(*one) for one in zip(rows, strict.kinds, strict=bool(rows))]
    return batches_of(strict.kinds, columns or None, pa.concat_arrays(given_back))


def _parts(lines: pa.Array, strict: StrictJson) -> Iterator[tuple[pa.Array, list[pa.Array] | None]]:
    """All lines in parts, with their columns; without any they are given back."""
    are_named = _named(lines, strict)
    yield lines.filter(pa.array(are_named)), None
    lines = lines.filter(pa.array(~are_named))
    left = [(0, len(lines))] if len(lines) else []
    for _ in range(HALVINGS_MAX):
        if not left:
            return
        start, end = left.pop()
        part = lines.slice(start, end - start)
        try:
            yield part, _read(bytes_of(part), strict, count=len(part))
        except (pa.ArrowInvalid, Doubtful):
            middle = (start + end) // 2
            if len(part) <= ATTEMPT_LINES:
                yield part, None
            else:
                left += [(middle, end), (start, middle)]
    yield from ((lines.slice(start, end - start), None) for start, end in left)


def _named(lines: pa.Array, strict: StrictJson) -> Truths:
    """By line: whether Arrow names it as the one to blame, each time among those behind the last
    one. It stops there, so that all this costs little more than to read all lines once."""
    are_named = np.zeros(len(lines), bool)
    start = 0
    while start < len(lines) and are_named.sum() < NAMED_MAX:
        bad = _row_to_blame(lines.slice(start), strict)
        if bad is None or start + bad >= len(lines):
            break
        are_named[start + bad] = True
        start += bad + 1
    return are_named


def _row_to_blame(lines: pa.Array, strict: StrictJson) -> int | None:
    try:
        _read(bytes_of(lines), strict, count=len(lines))
    except pa.ArrowInvalid as error:
        told = BAD_ROW.search(str(error))
        return None if told is None else int(told[1])
    except Doubtful:
        return None
    return None


def _all_sure(columns: Sequence[pa.Array], strict: StrictJson) -> pa.Array:
    """By line."""
    kinds = zip(columns, strict.kinds, strict=True)
    return reduce(pc.and_, [_are_sure(*one, is_utc=strict.is_utc) for one in kinds])


def _are_sure(column: pa.Array, kind: str, *, is_utc: bool) -> pa.Array:
    if pa.types.is_floating(column.type):
        return pa.array(_are_sure_numbers(column, kind))
    if not pa.types.is_string(column.type) and kind in EPOCH_US:
        first_us, end_us = CALENDAR_US
        of_units = [pa.scalar(us // EPOCH_US[kind], pa.int64()) for us in (first_us, end_us)]
        is_in = pc.and_(pc.greater_equal(column, of_units[0]), pc.less(column, of_units[1]))
        return pc.fill_null(is_in, True)
    if not pa.types.is_string(column.type):
        return pa.array(np.ones(len(column), bool))
    return are_sure(column, kind, is_utc=is_utc)
