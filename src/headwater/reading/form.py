"""How the files of a source are written, as far as that matters before Spark sees a line."""

from __future__ import annotations

import msgspec

from headwater.plan.sources.source import Source
from headwater.reading.columnar import COLUMNAR
from headwater.reading.records import SEPARATOR, Quoting

FIELDS_FORMATS = ("w3c", "cloudfront")
"""A line in the log, ``#Fields: …``, names the columns of the lines that follow."""


class Form(msgspec.Struct, frozen=True):
    has_header: bool = False
    """The first line of a file names its columns."""
    has_fields_lines: bool = False
    """See ``FIELDS_FORMATS``."""
    encoding: str = "utf-8"
    """Of files that do not begin with a byte order mark."""
    quoting: Quoting | None = None
    """A quoted value may hold line breaks; None: a line is a record."""
    has_blank_lines: bool = False
    """Records are several lines, with an empty one between them."""
    record_start: str = ""
    """Records are lines from one that begins so to the next such one; empty: they are not."""
    is_array: bool = False
    """A file is one JSON array of records."""
    columnar: str = ""
    """Files that have columns of their own: one of ``COLUMNAR``; empty: they have lines."""

    @property
    def is_whole(self) -> bool:
        """A file is read when it is complete, and as a whole."""
        return self.is_array or bool(self.columnar)

    @property
    def has_heads(self) -> bool:
        """What the columns of a line are stands elsewhere in its file."""
        return self.has_header or self.has_fields_lines

    @property
    def separator(self) -> str:
        """What Spark finds between records; empty: ends of lines."""
        is_several = self.quoting is not None or self.has_blank_lines or self.record_start
        return SEPARATOR.decode() if is_several else ""


def form_of(source: Source) -> Form:
    options = dict(source.options)
    format_ = str(source.format)
    return Form(
        has_header=options.get("header") == "true",
        has_fields_lines=format_ in FIELDS_FORMATS,
        encoding=options.get("encoding", "utf-8"),
        quoting=_quoting(format_, options),
        has_blank_lines=format_ == "journald",
        record_start=options.get("record_start", ""),
        is_array=options.get("array") == "true",
        columnar=format_ if format_ in COLUMNAR else "",
    )


def _quoting(format_: str, options: dict[str, str]) -> Quoting | None:
    """As the parser has it (``spark/lines/delimited.py``): without a quote a line is a record."""
    quote = options.get("quote", '"' if format_ == "csv" else "")
    if options.get("multiline") != "true" or not quote:
        return None
    return Quoting(
        quote=quote.encode(),
        escape=options.get("escape", quote).encode(),
        delimiter=options.get("delimiter", "\t" if format_ == "tsv" else ",").encode(),
    )
