"""csv, tsv and their kind: fields with a delimiter between them, by place or by a header's names.

A line without a quote is split; only one with a quote needs Spark's parser, which takes half as
long again. Where the files of a batch have headers that lay their lines out alike, a field is
found at one place, known when the batch is planned; where they differ, by the number of the header
that its line is below.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from headwater.plan.sources.log_formats import FIELDS_DIRECTIVE, all_options
from headwater.plan.sources.source import Source, SourceFormat
from headwater.spark.lines.fields import CORRUPT, FIELDS, HEAD, LINE, PARSED, literal, option_map
from headwater.spark.lines.headers import Layout, layout_of

TAB = "\t"
FIELDS_COUNTED_MAX = 1_000
"""Of a line with more it is only said that it has more."""


class Delimited(msgspec.Struct, frozen=True):
    """How the fields of a line are written."""

    delimiter: str
    quote: str
    """The sign around values; empty: there is none."""
    escape: str
    """Before a quote within a value: the quote itself unless said otherwise, as RFC 4180 has it."""
    null: str = ""
    or_tab: bool = False
    """A line with a tab in it has tabs between its fields instead."""

    @property
    def delimiters(self) -> tuple[str, ...]:
        return (self.delimiter, TAB) if self.or_tab else (self.delimiter,)


def delimited(source: Source) -> Delimited:
    options = all_options(source)
    is_csv = source.format is SourceFormat.CSV
    quote = options.get("quote", '"' if is_csv else "")
    return Delimited(
        delimiter=options.get("delimiter", "," if is_csv else "\t"),
        quote=quote,
        escape=options.get("escape", quote),
        null=options.get("null_value", ""),
        or_tab=source.format is SourceFormat.W3C and "delimiter" not in dict(source.options),
    )


class DelimitedFields(msgspec.Struct, frozen=True):
    names: tuple[str, ...]
    """All columns that are declared: each must be in a header, and without one each has its place
    in a line."""
    dialect: Delimited
    headers: tuple[str, ...] = ()
    """By the number in the column ``HEAD``; none: columns stand in the order of their names."""
    is_quote_free: bool = False
    is_empty_null: bool = True

    @property
    def layouts(self) -> tuple[Layout, ...]:
        if not self.headers:
            return (Layout(len(self.names), tuple(range(len(self.names)))),)
        return tuple(layout_of(header, self.names, self.dialect) for header in self.headers)

    @property
    def faults(self) -> dict[int, str]:
        """By the number of the header: why no line below it can be read."""
        return {number: one.fault for number, one in enumerate(self.layouts) if one.fault}

    def before(self) -> list[str]:
        """Spark's CSV parser for the lines that need it, in columns: it shall run once."""
        if not self._has_quotes:
            return []
        return [
            self._parsed(count, number)
            for count in self._counts
            for number, _ in enumerate(self.dialect.delimiters)
        ]

    def of_line(self) -> str:
        """NULL where Spark's parser found another number of fields."""
        pattern = literal(re.escape(self.dialect.delimiter))
        if self.dialect.or_tab:
            pattern = f"if({_has_tab()}, {literal(TAB)}, {pattern})"
        split = f"split({LINE}, {pattern}, -1)"
        if not self._has_quotes:
            return split
        found = split
        for count in self._counts:
            for number, _ in enumerate(self.dialect.delimiters):
                parsed = f"{PARSED}_{count}_{number}"
                fields = ", ".join(f"coalesce({parsed}.{name}, '')" for name in _numbered(count))
                whole = f"if({parsed}.{CORRUPT} IS NULL, array({fields}), NULL)"
                found = f"if({parsed} IS NULL, {found}, {whole})"
        return found

    def text(self, name: str) -> str:
        at = self.names.index(name)
        place = self._by_head([one.places[at] if one.places else None for one in self.layouts])
        text = f"get({FIELDS}, {place})"
        return f"nullif({text}, {literal(self.dialect.null)})" if self.dialect.null else text

    def is_malformed(self) -> str:
        count = self._by_head([one.count for one in self.layouts])
        return f"coalesce(size({FIELDS}) <> {count}, true)"

    def fault(self) -> str:
        """Of the header, or of the number of fields. A line with quotes has been taken apart by
        Spark, which does not count."""
        many = FIELDS_COUNTED_MAX
        count = f"if(size({FIELDS}) > {many}, 'more than {many}', string(size({FIELDS})))"
        got = f"coalesce({count}, {literal('another number, or a quote that does not end')})"
        return self._by_head(
            [
                literal(one.fault)
                if one.fault
                else f"concat({literal(f'wanted {one.count} fields, got ')}, {got})"
                for one in self.layouts
            ]
        )

    def needs_head(self) -> bool:
        return len(set(self.layouts)) > 1 or len(set(self.headers)) > 1

    def is_passed_over(self) -> str | None:
        """A line that repeats its own header: rotated files have it again and again."""
        texts = [one for one in self.headers if not one.startswith(FIELDS_DIRECTIVE)]
        if not any(texts):
            return None
        # Most lines are told from a header by their length, which is cheaper.
        sizes = sorted({len(one.encode("utf-8", "replace")) for one in texts if one})
        has_size = f"octet_length({LINE}) IN ({', '.join(map(str, sizes))})"
        header = self._by_head([literal(one) for one in self.headers])
        return f"({has_size} AND {LINE} = {header})"

    @property
    def _has_quotes(self) -> bool:
        return bool(self.dialect.quote) and not self.is_quote_free

    @property
    def _counts(self) -> list[int]:
        """Of fields, in the lines below any sound header."""
        return sorted({one.count for one in self.layouts if not one.fault})

    def _parsed(self, count: int, number: int) -> str:
        """Of the lines with so many fields, and with the delimiter of this number between them."""
        schema = ", ".join(f"{column} STRING" for column in (*_numbered(count), CORRUPT))
        options = {
            "sep": self.dialect.delimiters[number],
            "quote": self.dialect.quote,
            "escape": self.dialect.escape or "\0",
            "mode": "PERMISSIVE",
            "columnNameOfCorruptRecord": CORRUPT,
        }
        parsed = f"from_csv({LINE}, {literal(schema)}, {option_map(options)})"
        needs_it = f"contains({LINE}, {literal(self.dialect.quote)})"
        if self.dialect.or_tab:
            needs_it = f"{'' if number else 'NOT '}{_has_tab()} AND {needs_it}"
        heads = [at for at, one in enumerate(self.layouts) if one.count == count]
        if len(heads) < len(self.layouts):
            needs_it = f"{HEAD} IN ({', '.join(map(str, heads))}) AND {needs_it}"
        return f"if({needs_it}, {parsed}, NULL) AS {PARSED}_{count}_{number}"

    def _by_head(self, values: Sequence[int | str | None]) -> str:
        """One value, or the one for the header that the line is below; None is as good as any."""
        found = [one for one in dict.fromkeys(values) if one is not None]
        if len(found) <= 1:
            return str(found[0]) if found else "NULL"
        cases = []
        for value in found:
            heads = [str(number) for number, one in enumerate(values) if one == value]
            cases.append(f"WHEN {HEAD} IN ({', '.join(heads)}) THEN {value}")
        return f"CASE {' '.join(cases)} END"


def _has_tab() -> str:
    return f"contains({LINE}, {literal(TAB)})"


def _numbered(count: int) -> list[str]:
    return [f"f{number}" for number in range(count)]
