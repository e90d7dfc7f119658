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
from functools import lru_cache, reduce

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from headwater.reading.strict.strict_kinds import (
    FALSE,
    TRUE,
    TYPES,
    Doubtful,
    are_sure,
    checked,
    converted,
)
from headwater.reading.strict.strict_lines import (
    LINE_FEED,
    MARK,
    batches_of,
    bytes_of,
    counts,
    is_text,
    lines_of,
    names_of,
    types_of,
    with_line_feeds,
)

READ_AS = {
    kind: type_ if pa.types.is_floating(type_) or pa.types.is_boolean(type_) else pa.string()
    for kind, type_ in TYPES.items()
}
"""What Arrow's reader makes of it before it is looked at."""


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
        return names_of(self.kinds)

    @property
    def types(self) -> tuple[pa.DataType, ...]:
        return types_of(self.kinds)


def columns_of(block: bytes, strict: Strict, layout: Layout) -> list[pa.RecordBatch]:
    """Whole lines as batches of ``LINE`` and the columns. Where ``LINE`` is not null the columns
    are, and Spark has to parse it; empty lines are passed over."""
    if strict.is_by_lines:
        block = with_line_feeds(block)
    if layout.header and block.startswith(layout.header + strict.separator):
        block = block[len(layout.header) + 1 :]
    if not _is_plain(block, strict, layout):
        return batches_of(strict.kinds, None, lines_of(block, strict.separator))
    with contextlib.suppress(pa.ArrowInvalid, Doubtful):
        return batches_of(strict.kinds, _taken(block, strict, layout), None)
    return _sorted_out(block, strict, layout)


def _is_plain(block: bytes, strict: Strict, layout: Layout) -> bool:
    """Nothing about the block as such needs Spark."""
    if block.startswith(MARK):
        return False
    if layout.header and layout.header in block:
        return False
    if strict.comment and strict.separator + strict.comment in strict.separator + block:
        return False
    if not strict.is_by_lines and b"\r" in block:
        return False
    return is_text(block, is_replaced=strict.is_replaced)


def _taken(block: bytes, strict: Strict, layout: Layout) -> list[pa.Array]:
    """All lines at once. Raises where one is not as it should be."""
    if not _is_simply_quoted(block, strict):
        raise Doubtful
    read = _read(block, strict, layout, [READ_AS[kind] for kind in strict.kinds])
    return [
        checked(column, kind, is_utc=strict.is_utc)
        for column, kind in zip(read, strict.kinds, strict=True)
    ]


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


def _sorted_out(block: bytes, strict: Strict, layout: Layout) -> list[pa.RecordBatch]:
    """Lines that surely convert, and the others."""
    lines = lines_of(block, strict.separator)
    if not len(lines):
        return []
    is_fit = counts(lines, strict.delimiter.encode()) == layout.count - 1
    if strict.quote:
        is_fit &= counts(lines, strict.quote) == 0
    if not strict.is_by_lines:
        is_fit &= counts(lines, LINE_FEED) == 0
    fit, rest = lines.filter(pa.array(is_fit)), lines.filter(pa.array(~is_fit))
    if not len(fit):
        return batches_of(strict.kinds, None, lines)
    try:
        texts = _read(bytes_of(fit).to_pybytes(), strict, layout, [pa.string()] * len(strict.kinds))
        is_sure = _all_sure(texts, strict)
        columns = [
            converted(column.filter(is_sure), kind)
            for column, kind in zip(texts, strict.kinds, strict=True)
        ]
    except pa.ArrowInvalid:
        return batches_of(strict.kinds, None, lines)
    return batches_of(
        strict.kinds, columns, pa.concat_arrays([rest, fit.filter(pc.invert(is_sure))])
    )


def _all_sure(texts: Sequence[pa.Array], strict: Strict) -> pa.Array:
    """By line: whether each field is NULL or surely converts."""
    by_column = [
        are_sure(column, kind, is_utc=strict.is_utc)
        for column, kind in zip(texts, strict.kinds, strict=True)
    ]
    return reduce(pc.and_, by_column)


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
