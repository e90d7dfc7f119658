"""Lines of text into typed records, in the JVM: the same for sites, the reference and tests.

What a line is: what Spark's text reader yields. Lines without a character, and lines that repeat
the header of their file, are no records and are passed over. Every other line is a record or is
malformed, and that is decided for each query by the columns that it uses, so that only those need
to be parsed and one query's columns don't decide what another one counts.

A line is *malformed* for a query when

- it has not as many fields as its header, or as are declared (csv, tsv), is no JSON object (json),
  or does not match the pattern from end to end (regex);
- the header of its file lacks a declared column, or has it twice;
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
projection that is not deterministic, so that is what ``IS_NEVER`` makes of it, at no cost.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from headwater.plan.query import Source
from headwater.spark.fields import FIELDS, HEAD, LINE, Fields, literal, quoted
from headwater.spark.formats import fields_of

TEXT = "__text_"
"""Followed by the number of a column, among those used: its field as it stands in the line."""
FAULT = "__fault"
"""Why the line as such is malformed; NULL: it is not."""
BAD = "__bad_"
"""Followed by the number of the need: whether the line is malformed for it."""
HAS = "__has_"
"""Followed by a column: whether the field is not empty."""
MALFORMED = "__malformed"
IS_NEVER = "spark_partition_id() < 0"
"""False, but the optimizer can't know."""
EPOCHS = {
    # name: digits after the point that are read, microseconds in one unit
    "epoch_s": (6, 1_000_000),
    "epoch_ms": (3, 1_000),
    "epoch_us": (0, 1),
}
EPOCH_DIGITS = 20
MASK_NEEDS_MAX = 62
"""Needs whose flags fit a bigint."""


class Parser(msgspec.Struct, frozen=True):
    """How the lines of one source become records for queries with these needs."""

    source: Source
    needs: tuple[frozenset[str], ...]
    """For each query, or set of queries alike, the columns that it uses."""
    is_quote_free: bool = False
    """No line has a quote in it, so none needs more than a split."""
    headers: tuple[str, ...] = ()
    """The headers of the batch's files, each once; a line has the number of its own in ``HEAD``."""

    @property
    def columns(self) -> list[str]:
        """All that are used, in the order of the source."""
        used = frozenset().union(*self.needs) | {self.source.time_column}
        return [column.name for column in self.source.columns if column.name in used]

    @property
    def bad_mask(self) -> str:
        """Over what ``typed_sql`` yields: for which needs the line is malformed, as one value whose
        groups are few. A bigint with a bit for each need; for very many needs, their digits."""
        flags = [f"{BAD}{number}" for number in range(len(self.needs))]
        if len(flags) > MASK_NEEDS_MAX:
            digits = (f"if({flag}, '1', '0')" for flag in reversed(flags))
            return f"concat({', '.join(digits)})"
        return " | ".join(f"if({flag}, {1 << n}L, 0L)" for n, flag in enumerate(flags))

    @property
    def bad_for_all(self) -> str:
        """Whether no need has a record in the line."""
        return f"({' AND '.join(f'{BAD}{number}' for number in range(len(self.needs)))})"

    def typed_sql(self, lines: str, *, keep: Sequence[str] = (), is_explained: bool = False) -> str:
        """SELECT ``keep``, the used columns in their types, and for each need whether the line
        is bad, from the view ``lines``. For who asks why a line is bad: also ``LINE``, ``FAULT``
        and each column's ``TEXT``."""
        keep = [*keep, LINE] if is_explained else keep
        fields = fields_of(
            self.source, self.columns, headers=self.headers, is_quote_free=self.is_quote_free
        )
        passed = list(dict.fromkeys([*keep, HEAD] if fields.needs_head() else keep))
        candidates = f"{lines} WHERE {self._is_candidate(fields)}"
        before = fields.before()
        if before:
            columns = dict.fromkeys([LINE, *passed])
            candidates = f"({_select([*columns, *before], candidates)})"
        split = _select([*passed, f"{fields.of_line()} AS {FIELDS}"], candidates)
        is_malformed = f"{fields.is_malformed()} AS {MALFORMED}"
        told = self._told(fields) if is_explained else {}
        texts = [f"{text} AS {name}" for name, text in told.items()]
        typed = _select([*keep, *self._converted(fields), is_malformed, *texts], f"({split})")
        flags = [f"{self._is_bad(need)} AS {BAD}{n}" for n, need in enumerate(self.needs)]
        return _select([*keep, *map(quoted, self.columns), *flags, *told], f"({typed})")

    def _told(self, fields: Fields) -> dict[str, str]:
        """By name: what is told of a line to who asks why it is bad."""
        texts = {f"{TEXT}{n}": fields.text(name) for n, name in enumerate(self.columns)}
        return {FAULT: f"if({fields.is_malformed()}, {fields.fault()}, NULL)", **texts}

    def records_sql(
        self,
        typed: str,
        need: int,
        *,
        keep: Sequence[str] = (),
        is_counted: bool = False,
        before_us: str | None = None,
    ) -> str:
        """SELECT the records for one need, from a view or subquery of what ``typed_sql`` yields.

        ``before_us`` leaves out those that the fence refuses: an SQL expression.
        ``is_counted`` keeps the filter for malformed lines apart from those of a query that uses
        the time column, so that Spark's counters tell how many lines passed it (``scan_counts``).
        """
        time = self.source.time_column
        names = [name for name in self.columns if name in self.needs[need] or name == time]
        columns = {name: quoted(name) for name in names}
        if is_counted:
            columns[time] = f"if({IS_NEVER}, NULL, {quoted(time)}) AS {quoted(time)}"
        condition = f"NOT {BAD}{need}"
        if before_us is not None:
            condition += f" AND unix_micros({quoted(time)}) < {before_us}"
        return _select([*keep, *columns.values()], f"{typed} WHERE {condition}")

    def _is_candidate(self, fields: Fields) -> str:
        """Whether a line is a record or malformed: neither empty nor a header."""
        terms = [f"octet_length({LINE}) > 0"]  # counting characters takes a fifth of the query
        passed_over = fields.is_passed_over()
        if not self.headers and dict(self.source.options).get("header") == "true":
            passed_over = _repeats_names(self.source)
        if passed_over is not None:
            terms.append(f"NOT {passed_over}")
        return " AND ".join(terms)

    def _converted(self, fields: Fields) -> list[str]:
        converted = []
        for column in self.source.columns:
            if column.name not in self.columns:
                continue
            text = fields.text(column.name)
            if column.type == "string":
                value = f"nullif({text}, '')" if fields.is_empty_null else text
            else:
                value = _conversion(text, column.type, dict(self.source.options))
                converted.append(f"coalesce({text} <> '', false) AS {quoted(HAS + column.name)}")
            converted.append(f"{value} AS {quoted(column.name)}")
        return converted

    def _is_bad(self, need: frozenset[str]) -> str:
        """True or false, never NULL. A string is never wrong; a time is never absent."""
        time = self.source.time_column
        reasons = [MALFORMED, f"{quoted(time)} IS NULL"]
        for column in self.source.columns:
            if column.name in need and column.name != time and column.type != "string":
                has_field = quoted(HAS + column.name)
                reasons.append(f"({quoted(column.name)} IS NULL AND {has_field})")
        return f"({' OR '.join([*reasons, IS_NEVER])})"


def _repeats_names(source: Source) -> str:
    """Whether a line has the names of all columns in order, where no headers are known."""
    options = dict(source.options)
    delimiter = options.get("delimiter", "\t" if source.format == "tsv" else ",")
    header = delimiter.join(column.name for column in source.columns)
    plain = f"lower(replace({LINE}, {literal(options.get('quote') or chr(34))}, ''))"
    longest = len(header) + 2 * len(source.columns)
    length = "octet_length" if header.isascii() else "length"
    has_length = f"{length}({LINE}) BETWEEN {len(header)} AND {longest}"
    return f"({has_length} AND {plain} = {literal(header.lower())})"


def _conversion(text: str, type_: str, options: dict[str, str]) -> str:
    if type_ == "timestamp" and "timestamp_format" in options:
        return _timestamp(text, options["timestamp_format"])
    if type_ == "date" and "date_format" in options:
        return f"try_to_date({text}, {literal(options['date_format'])})"
    return f"try_cast({text} AS {type_})"


def _timestamp(text: str, format_: str) -> str:
    if format_ not in EPOCHS:
        return f"try_to_timestamp({text}, {literal(format_)})"
    digits, unit_us = EPOCHS[format_]
    number = f"try_cast({text} AS DECIMAL({EPOCH_DIGITS}, {digits}))"
    return f"timestamp_micros(try_cast({number} * {unit_us} AS BIGINT))"


def _select(columns: Sequence[str], origin: str) -> str:
    return f"SELECT {', '.join(columns)} FROM {origin}"
