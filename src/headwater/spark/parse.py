"""Lines of text into typed records, in the JVM: the same for sites, the reference and tests.

What a line is: what Spark's text reader yields. Lines without a character, and with ``header`` the
lines that repeat the column names, are no records and are passed over. Every other line is a
record or is malformed, and that is decided for each query by the columns that it uses, so that
only those need to be parsed and one query's columns don't decide what another one counts.

A line is *malformed* for a query when

- it has not the declared number of fields (csv, tsv), is no JSON object (json), or does not match
  the pattern from end to end (regex);
- a field that the query uses is not empty and can't be converted to its declared type;
- its time column is empty or can't be converted.

A field is converted as Spark's ``try_cast`` does, without regard to the rest of the line. An empty
field is NULL for every type, strings too, as in Spark's own CSV reader, and so is one that equals
``null_value``; in JSON a string may be empty, and null or absent is NULL. Bytes that are not UTF-8
become U+FFFD.

Times: with no ``timestamp_format`` what ``try_cast(… AS TIMESTAMP)`` takes, ISO 8601 above all;
``epoch_s``, ``epoch_ms`` and ``epoch_us`` are numbers since 1970 (seconds and milliseconds may have
a fraction); everything else is a pattern of Spark.

How it is fast. ``split`` with casts takes two thirds of the time of ``from_csv``, which is only
used for lines with a quote in them, and is left out where a batch has none. Each expression shall
run once for a line, but Spark's optimizer copies what a filter needs into the filter, below the
projection that computes it: a line would be split three times. It leaves a filter above a
projection that is not deterministic, so that is what ``is_never`` makes of it, at no cost.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.plan.query import Source
from headwater.spark.fields import Fields, fields_of

LINE = "value"
"""The column that Spark's text reader yields."""
BAD = "__bad_"
"""Followed by the number of the need: whether the line is malformed for it."""
HAS = "__has_"
"""Followed by a column: whether the field is not empty."""
MALFORMED = "__malformed"
EPOCHS = {
    # name: digits after the point that are read, microseconds in one unit
    "epoch_s": (6, 1_000_000),
    "epoch_ms": (3, 1_000),
    "epoch_us": (0, 1),
}
EPOCH_DIGITS = 20


class Parser(msgspec.Struct, frozen=True):
    """How the lines of one source become records for queries with these needs."""

    source: Source
    needs: tuple[frozenset[str], ...]
    """For each query, or set of queries alike, the columns that it uses."""
    is_quote_free: bool = False
    """No line has a quote in it, so none needs more than a split."""

    @property
    def columns(self) -> list[str]:
        """All that are used, in the order of the source."""
        used = frozenset().union(*self.needs) | {self.source.time_column}
        return [column.name for column in self.source.columns if column.name in used]

    def typed(self, lines: DataFrame, *, keep: Sequence[str] = ()) -> DataFrame:
        """``keep``, the used columns in their types, and for each need whether the line is bad."""
        fields = fields_of(self.source, self.columns, is_quote_free=self.is_quote_free)
        kept = [F.col(name) for name in keep]
        split = candidates(lines, self.source).select(*kept, fields.of_line(F.col(LINE)))
        typed = split.select(*kept, *self._converted(fields))
        names = [*keep, *self.columns]
        flags = [self._is_bad(need).alias(f"{BAD}{n}") for n, need in enumerate(self.needs)]
        return typed.select(*(_named(name) for name in names), *flags)

    def records(
        self, typed: DataFrame, need: int, *, keep: Sequence[str] = (), is_counted: bool = False
    ) -> DataFrame:
        """The records for one need, out of what ``typed`` yields.

        ``is_counted`` keeps the filter for malformed lines apart from those of a query that uses
        the time column, so that Spark's counters tell how many lines passed it (``scan_counts``).
        """
        time = self.source.time_column
        names = [name for name in self.columns if name in self.needs[need] or name == time]
        columns = {name: _named(name) for name in (*keep, *names)}
        if is_counted:
            columns[time] = F.when(~is_never(), columns[time]).alias(time)
        return typed.where(~F.col(f"{BAD}{need}")).select(*columns.values())

    def _converted(self, fields: Fields) -> list[Column]:
        types = {column.name: column.type for column in self.source.columns}
        converted = []
        for name in self.columns:
            text = fields.text(name)
            if types[name] == "string":
                typed = F.nullif(text, F.lit("")) if fields.is_empty_null else text
            else:
                typed = _conversion(text, types[name], dict(self.source.options))
                converted.append(F.coalesce(text != F.lit(""), F.lit(False)).alias(HAS + name))
            converted.append(typed.alias(name))
        return [*converted, fields.is_malformed().alias(MALFORMED)]

    def _is_bad(self, need: frozenset[str]) -> Column:
        """True or false, never NULL. A string is never wrong; a time is never absent."""
        time = self.source.time_column
        bad = F.col(MALFORMED) | _named(time).isNull()
        for column in self.source.columns:
            if column.name in need and column.name != time and column.type != "string":
                bad = bad | (_named(column.name).isNull() & _named(HAS + column.name))
        return bad | is_never()


def is_never() -> Column:
    """False, but the optimizer can't know."""
    return F.spark_partition_id() < 0


def candidates(lines: DataFrame, source: Source) -> DataFrame:
    """The lines that are records or malformed: neither empty nor a header."""
    line = F.col(LINE)
    is_candidate = F.length(line) > 0
    options = dict(source.options)
    if options.get("header") == "true":
        delimiter = options.get("delimiter", "\t" if source.format == "tsv" else ",")
        header = delimiter.join(column.name for column in source.columns)
        plain = F.replace(line, F.lit(options.get("quote") or '"'), F.lit(""))
        # Most lines are told from a header by their length, which is cheaper.
        has_length = F.length(line).between(len(header), len(header) + 2 * len(source.columns))
        is_candidate = is_candidate & ~(has_length & (F.lower(plain) == F.lit(header.lower())))
    return lines.where(is_candidate)


def _conversion(text: Column, type_: str, options: dict[str, str]) -> Column:
    if type_ == "timestamp" and "timestamp_format" in options:
        return _timestamp(text, options["timestamp_format"])
    if type_ == "date" and "date_format" in options:
        return F.try_to_date(text, options["date_format"])
    return text.try_cast(type_)


def _timestamp(text: Column, format_: str) -> Column:
    if format_ not in EPOCHS:
        return F.try_to_timestamp(text, F.lit(format_))
    digits, unit_us = EPOCHS[format_]
    number = text.try_cast(f"decimal({EPOCH_DIGITS},{digits})")
    return F.timestamp_micros((number * F.lit(unit_us)).try_cast("bigint"))


def _named(name: str) -> Column:
    return F.col(f"`{name}`")
