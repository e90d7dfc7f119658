"""What the header of a file says: at which place of its lines each declared column stands.

A header names the columns of its file, in any order and with others between them, so two files of
one source may be laid out differently, and so may two sites. Names are compared as Spark compares
those of columns, without regard to case, and without blanks around them. A header that lacks a
column, or has one twice, makes every line of its file malformed: whatever stood at that place would
be a guess.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import Protocol

import msgspec

from headwater.plan.sources.log_formats import FIELDS_DIRECTIVE

BYTE_ORDER_MARK = "\ufeff"
REPLACEMENT = "\ufffd"
"""What bytes have become that are not of a file's encoding."""


class Dialect(Protocol):
    """How the fields of a line are kept apart."""

    @property
    def delimiter(self) -> str: ...

    @property
    def quote(self) -> str: ...


class Layout(msgspec.Struct, frozen=True):
    """Of the lines below one header."""

    count: int
    """Fields of a line; no line has -1."""
    places: tuple[int, ...] = ()
    """For each declared column."""
    fault: str = ""
    """Why no line below this header can be read; empty: they can."""


def layout_of(header: str, columns: Sequence[str], dialect: Dialect) -> Layout:
    """For the declared columns, in their order."""
    if not header:
        return Layout(-1, fault="the header of this file is not known")
    found = [name.strip().lower() for name in header_names(header, dialect)]
    for name in columns:
        times = found.count(name.lower())
        if times != 1:
            has = "lacks column" if not times else "has more than one column"
            return Layout(-1, fault=f"the header of this file {has} `{name}`{_garbled(header)}")
    return Layout(len(found), tuple(found.index(name.lower()) for name in columns))


def _garbled(header: str) -> str:
    """Names of another encoding are other names."""
    if REPLACEMENT not in header:
        return ""
    return ", and has bytes that are not of the source's encoding; say which: encoding = '…'"


def header_names(header: str, dialect: Dialect) -> list[str]:
    """
    >>> from headwater.spark.lines.delimited import Delimited
    >>> header_names('ts,"a, b",c', Delimited(delimiter=",", quote='"', escape='"'))
    ['ts', 'a, b', 'c']
    >>> header_names("#Fields: date time cs-uri", Delimited(delimiter="\\t", quote="", escape=""))
    ['date', 'time', 'cs-uri']
    """
    text = header.removeprefix(BYTE_ORDER_MARK)
    if text.startswith(FIELDS_DIRECTIVE):
        return text.removeprefix(FIELDS_DIRECTIVE).split()
    if len(dialect.delimiter) != 1:
        return [name.strip(dialect.quote or None) for name in text.split(dialect.delimiter)]
    if not dialect.quote:
        return text.split(dialect.delimiter)
    rows = csv.reader(
        [text], delimiter=dialect.delimiter, quotechar=dialect.quote, skipinitialspace=True
    )
    return next(rows, [])
