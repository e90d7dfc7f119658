"""How a line of each format comes apart into fields, each of them text.

A ``Fields`` takes a line apart in one expression, which becomes a column of its own so that it runs
once, and says the rest of that column.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import msgspec
from pyspark.sql import Column
from pyspark.sql import functions as F

from headwater.plan.query import Source, SourceFormat
from headwater.plan.regex_groups import group_numbers

FIELDS = "__fields"
CORRUPT = "__corrupt"
MARK = "\x01"
"""Stands between the groups of a pattern; a line that has one itself does not match."""


class Fields(Protocol):
    @property
    def is_empty_null(self) -> bool:
        """Whether an empty text stands for NULL in a column of strings."""

    def of_line(self, line: Column) -> Column:
        """The line taken apart: the column ``FIELDS``."""

    def text(self, name: str) -> Column:
        """The text of one field; NULL where there is none."""

    def is_malformed(self) -> Column:
        """Whether the line as such is malformed: true or false, never NULL."""


def quote_of(source: Source) -> str:
    """The sign around values; empty: there is none."""
    if source.format not in (SourceFormat.CSV, SourceFormat.TSV):
        return ""
    default = '"' if source.format is SourceFormat.CSV else ""
    return dict(source.options).get("quote", default)


def fields_of(source: Source, used: Sequence[str], *, is_quote_free: bool = False) -> Fields:
    """For the columns that are used, in the order of the source."""
    names = tuple(column.name for column in source.columns)
    options = dict(source.options)
    if source.format is SourceFormat.JSON:
        return JsonFields(tuple(used))
    if source.format is SourceFormat.REGEX:
        numbers = dict(zip(names, group_numbers(options["pattern"], names), strict=True))
        groups = tuple(numbers[name] for name in used)
        return PatternFields(tuple(used), options["pattern"], groups)
    is_csv = source.format is SourceFormat.CSV
    return DelimitedFields(
        names,
        delimiter=options.get("delimiter", "," if is_csv else "\t"),
        quote="" if is_quote_free else quote_of(source),
        escape=options.get("escape", quote_of(source)),
        null=options.get("null_value", ""),
    )


class DelimitedFields(msgspec.Struct, frozen=True):
    """csv and tsv. A line without a quote is split; only one with a quote needs Spark's parser.

    ``escape`` is the quote itself unless said otherwise, as RFC 4180 has it.
    """

    names: tuple[str, ...]
    delimiter: str
    quote: str
    escape: str
    null: str
    is_empty_null: bool = True

    def of_line(self, line: Column) -> Column:
        fields = F.split(line, re.escape(self.delimiter), -1)
        if self.quote:
            has_quote = F.contains(line, F.lit(self.quote))
            fields = F.when(has_quote, self._quoted(line)).otherwise(fields)
        return fields.alias(FIELDS)

    def _quoted(self, line: Column) -> Column:
        """The same by Spark's CSV parser; NULL where the number of fields is another."""
        columns = [f"f{n}" for n in range(len(self.names))]
        schema = ", ".join(f"{column} STRING" for column in (*columns, CORRUPT))
        parsed = F.from_csv(
            line,
            schema,
            {
                "sep": self.delimiter,
                "quote": self.quote,
                "escape": self.escape or "\0",
                "mode": "PERMISSIVE",
                "columnNameOfCorruptRecord": CORRUPT,
            },
        )
        fields = F.array(*(F.coalesce(parsed[column], F.lit("")) for column in columns))
        return F.when(parsed[CORRUPT].isNull(), fields)

    def text(self, name: str) -> Column:
        text = F.get(F.col(FIELDS), F.lit(self.names.index(name)))
        return F.nullif(text, F.lit(self.null)) if self.null else text

    def is_malformed(self) -> Column:
        return F.coalesce(F.size(F.col(FIELDS)) != F.lit(len(self.names)), F.lit(True))


class JsonFields(msgspec.Struct, frozen=True):
    """One JSON object a line. Values are taken as text, so that all formats convert alike."""

    names: tuple[str, ...]
    is_empty_null: bool = False

    def of_line(self, line: Column) -> Column:
        schema = ", ".join(f"`{name}` STRING" for name in (*self.names, CORRUPT))
        options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
        return F.from_json(line, schema, options).alias(FIELDS)

    def text(self, name: str) -> Column:
        return F.col(FIELDS)[name]

    def is_malformed(self) -> Column:
        """NULL instead of an object is what a line with only a JSON null or blanks yields."""
        return F.col(FIELDS).isNull() | F.col(FIELDS)[CORRUPT].isNotNull()


class PatternFields(msgspec.Struct, frozen=True):
    """Groups of a regular expression that matches the line from end to end.

    Spark has no function that yields all groups of a match, and ``regexp_extract`` would match
    once for each column. Instead the line is replaced by its groups with marks between them, and
    split at the marks: one match for each line.
    """

    names: tuple[str, ...]
    pattern: str
    groups: tuple[int, ...]
    is_empty_null: bool = True

    def of_line(self, line: Column) -> Column:
        marked = "".join(f"{MARK}${number}" for number in self.groups)
        replaced = F.regexp_replace(line, F.lit(rf"\A(?:{self.pattern})\z"), F.lit(marked))
        fields = F.split(replaced, MARK, -1)
        return F.when(~F.contains(line, F.lit(MARK)), fields).alias(FIELDS)

    def text(self, name: str) -> Column:
        return F.get(F.col(FIELDS), F.lit(1 + self.names.index(name)))

    def is_malformed(self) -> Column:
        """Text before the first mark is what an unmatched line leaves."""
        size = F.size(F.col(FIELDS)) != F.lit(1 + len(self.names))
        return F.coalesce(size | (F.get(F.col(FIELDS), F.lit(0)) != F.lit("")), F.lit(True))
