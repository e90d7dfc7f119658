"""How a line of each format comes apart into fields, each of them text: as Spark SQL.

A ``Fields`` takes a line apart in one expression, which becomes a column of its own so that it runs
once, and says the rest of that column. Expressions are texts, because a batch is planned anew each
time: one statement is one call to the JVM, while the same built from columns takes hundreds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import msgspec

from headwater.plan.query import Source, SourceFormat
from headwater.plan.regex_groups import group_numbers

LINE = "value"
"""The column that Spark's text reader yields."""
PARSED = "__parsed"
FIELDS = "__fields"
CORRUPT = "__corrupt"
MARK = "\x01"
"""Stands between the groups of a pattern; a line that has one itself does not match."""


class Fields(Protocol):
    @property
    def is_empty_null(self) -> bool:
        """Whether an empty text stands for NULL in a column of strings."""

    def before(self) -> str | None:
        """What ``of_line`` refers to as the column ``PARSED``, if it needs one."""

    def of_line(self) -> str:
        """The line taken apart: what the column ``FIELDS`` is."""

    def text(self, name: str) -> str:
        """The text of one field; NULL where there is none."""

    def is_malformed(self) -> str:
        """Whether the line as such is malformed: true or false, never NULL."""


def literal(text: str) -> str:
    """A string as Spark's parser reads it back.

    >>> print(literal("it's \\\\d"))
    'it\\'s \\\\d'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quoted(name: str) -> str:
    return f"`{name}`"


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

    def before(self) -> str | None:
        """Spark's CSV parser for the lines that need it, in a column: it shall run once."""
        if not self.quote:
            return None
        schema = ", ".join(f"{column} STRING" for column in (*self._numbered(), CORRUPT))
        options = {
            "sep": self.delimiter,
            "quote": self.quote,
            "escape": self.escape or "\0",
            "mode": "PERMISSIVE",
            "columnNameOfCorruptRecord": CORRUPT,
        }
        parsed = f"from_csv({LINE}, {literal(schema)}, {_map(options)})"
        return f"if(contains({LINE}, {literal(self.quote)}), {parsed}, NULL)"

    def of_line(self) -> str:
        """NULL where Spark's parser found another number of fields."""
        split = f"split({LINE}, {literal(re.escape(self.delimiter))}, -1)"
        if not self.quote:
            return split
        fields = ", ".join(f"coalesce({PARSED}.{column}, '')" for column in self._numbered())
        whole = f"if({PARSED}.{CORRUPT} IS NULL, array({fields}), NULL)"
        return f"if({PARSED} IS NULL, {split}, {whole})"

    def _numbered(self) -> list[str]:
        return [f"f{number}" for number in range(len(self.names))]

    def text(self, name: str) -> str:
        text = f"get({FIELDS}, {self.names.index(name)})"
        return f"nullif({text}, {literal(self.null)})" if self.null else text

    def is_malformed(self) -> str:
        return f"coalesce(size({FIELDS}) <> {len(self.names)}, true)"


class JsonFields(msgspec.Struct, frozen=True):
    """One JSON object a line. Values are taken as text, so that all formats convert alike."""

    names: tuple[str, ...]
    is_empty_null: bool = False

    def before(self) -> None:
        return None

    def of_line(self) -> str:
        schema = ", ".join(f"{quoted(name)} STRING" for name in (*self.names, CORRUPT))
        options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
        return f"from_json({LINE}, {literal(schema)}, {_map(options)})"

    def text(self, name: str) -> str:
        return f"{FIELDS}.{quoted(name)}"

    def is_malformed(self) -> str:
        """NULL instead of an object is what a line with only a JSON null or blanks yields."""
        return f"({FIELDS} IS NULL OR {FIELDS}.{CORRUPT} IS NOT NULL)"


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

    def before(self) -> None:
        return None

    def of_line(self) -> str:
        marked = "".join(f"{MARK}${number}" for number in self.groups)
        whole = rf"\A(?:{self.pattern})\z"
        replaced = f"regexp_replace({LINE}, {literal(whole)}, {literal(marked)})"
        has_mark = f"contains({LINE}, {literal(MARK)})"
        return f"if({has_mark}, NULL, split({replaced}, {literal(MARK)}, -1))"

    def text(self, name: str) -> str:
        return f"get({FIELDS}, {1 + self.names.index(name)})"

    def is_malformed(self) -> str:
        """Text before the first mark is what an unmatched line leaves."""
        size = f"size({FIELDS}) <> {1 + len(self.names)}"
        return f"coalesce({size} OR get({FIELDS}, 0) <> '', true)"


def _map(options: dict[str, str]) -> str:
    pairs = (literal(text) for pair in options.items() for text in pair)
    return f"map({', '.join(pairs)})"
