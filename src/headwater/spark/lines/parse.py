"""Lines of text into typed records, in the JVM: the same for sites, the reference and tests.

What a line is: what Spark's text reader yields. Lines without a character, and lines that repeat
the header of their file, are no records and are passed over. Every other line is a record or is
malformed, and that is decided for each query by the columns that it uses, so that only those need
to be parsed and one query's columns don't decide what another one counts.

A line is *malformed* for a query when

- it has not as many fields as its header, or as are declared (csv, tsv), is no JSON object (json),
  or does not match the pattern from end to end (regex);
- the header of its file lacks a declared column, or has it twice;
- it has bytes that are not of the source's encoding, unless they are to be replaced by U+FFFD;
- a field that the query uses is not empty and can't be converted to its declared type;
- its time column is empty, can't be converted, or lies before the year 1 or after 9999.

A field is converted as Spark's ``try_cast`` does, without regard to the rest of the line. An empty
field is NULL for every type, strings too, as in Spark's own CSV reader, and so is one that equals
``null_value``; in JSON a string may be empty, and null or absent is NULL.

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
from msgspec import UNSET

from headwater.plan.sources.log_formats import COLUMNAR, HEADED, all_options
from headwater.plan.sources.source import Source, SourceFormat
from headwater.plan.sources.time_formats import CALENDAR_US
from headwater.spark.lines.column_fields import ColumnFields
from headwater.spark.lines.convert import conversion, taken_over, time_conversion, with_year
from headwater.spark.lines.fields import FIELDS, HEAD, LINE, Fields, literal, quoted
from headwater.spark.lines.formats import fields_of
from headwater.spark.lines.headers import REPLACEMENT
from headwater.spark.lines.json_fields import JsonFields
from headwater.spark.lines.named_fields import JournalFields
from headwater.spark.workers.made_fields import Made, MadeFields
from headwater.sql.read.time_of import converted_time, time_inputs

TEXT = "__text_"
"""Followed by the number of a column, among those used: its field as it stands in the line."""
TOLD_LINE = "__told_line"
"""The line itself, for who asks why it is malformed: ``LINE`` is also a name that columns have."""
FAULT = "__fault"
"""Why the line as such is malformed; NULL: it is not."""
BAD = "__bad_"
"""Followed by the number of the need: whether the line is malformed for it."""
HAS = "__has_"
"""Followed by a column: whether the field is not empty."""
MALFORMED = "__malformed"
UTF8 = "utf-8"
IS_NEVER = "spark_partition_id() < 0"
"""False, but the optimizer can't know."""
STRINGS_TOLD = (*COLUMNAR, SourceFormat.JOURNALD)
"""Formats in which what stands for a string may be none."""
IS_ALWAYS = f"NOT ({IS_NEVER})"
"""True, and the optimizer can't know either: a filter that stays in the plan and passes all."""
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
    types: tuple[tuple[str, str], ...] = ()
    """Of files that have columns of their own: those, with their types. The view then has them
    instead of lines."""
    is_ascii: bool = False
    """No byte of the lines is beyond ASCII, so that all of them are UTF-8."""
    made: Made | None = None
    """Columns that were made of most lines already. The view then has those as well, and lines only
    where it has not."""

    @property
    def columns(self) -> list[str]:
        """All that are used, those that the time is computed of among them, in the order of the
        source."""
        used = frozenset().union(*self.needs, time_inputs(self.source))
        used |= {self.source.time_column}
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
        is bad, from the view ``lines``. For who asks why a line is bad: also ``TOLD_LINE``,
        ``FAULT`` and each column's ``TEXT``, from a view that has all lines."""
        is_by_rows = self.source.format in COLUMNAR
        fields = self._fields(None if is_explained else self.made)
        told = self._told(fields) if is_explained else {}
        if is_explained:
            parts = ", ".join(told[name] for name in told if name != FAULT)
            told[TOLD_LINE] = f"concat_ws(', ', {parts})" if is_by_rows else LINE
        texts = [f"{text} AS {name}" for name, text in told.items()]
        if isinstance(fields, ColumnFields):
            values = [*keep, *self._taken(fields), f"false AS {MALFORMED}", *texts]
            # Every row is a candidate, and a filter says so to who counts them (``scan_counts``).
            typed = _select(values, f"{lines} WHERE {IS_ALWAYS}")
        else:
            typed = self._from_lines(fields, lines, keep, texts)
        if self._is_time_computed:
            time = f"{self.source.time_sql} AS {quoted(self.source.time_column)}"
            typed = _select(["*", time], f"({typed})")
        flags = [f"{self._is_bad(need)} AS {BAD}{n}" for n, need in enumerate(self.needs)]
        return _select([*keep, *map(quoted, self.columns), *flags, *told], f"({typed})")

    def _fields(self, made: Made | None) -> Fields:
        fields = fields_of(
            self.source,
            self.columns,
            headers=self._headers,
            is_quote_free=self.is_quote_free,
            types=self.types,
        )
        return fields if made is None else MadeFields(fields, made.kinds)

    def _text(self, fields: Fields, name: str) -> str:
        """Of a column; of a time that is computed, what it is computed of."""
        is_computed = self.source.time_sql is not UNSET and name == self.source.time_column
        inputs = time_inputs(self.source) if is_computed else (name,)
        names = [column.name for column in self.source.fields if column.name in inputs]
        came = fields.came if isinstance(fields, JournalFields) else fields.text
        texts = [f"CAST({came(one)} AS STRING)" for one in names]
        return texts[0] if len(texts) == 1 else f"concat_ws(', ', {', '.join(texts)})"

    def _told(self, fields: Fields) -> dict[str, str]:
        """By name: what is told of a line to who asks why it is bad."""
        texts = {f"{TEXT}{n}": self._text(fields, name) for n, name in enumerate(self.columns)}
        fault = fields.fault()
        if self._is_text is not None and self.source.format not in COLUMNAR:
            encoding = all_options(self.source).get("encoding", UTF8)
            other = f"it has bytes that are not {encoding}; say its encoding, or replace = 'true'"
            fault = f"if({self._is_text}, {fault}, {literal(other)})"
        return {FAULT: f"if(coalesce({fields.is_malformed()}, true), {fault}, NULL)", **texts}

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

    @property
    def _headers(self) -> tuple[str, ...]:
        """One that nobody knows, where files of this format always have one."""
        return self.headers or (("",) if self.source.format in HEADED else ())

    def _from_lines(
        self, fields: Fields, lines: str, keep: Sequence[str], texts: Sequence[str]
    ) -> str:
        lines_told = [LINE] if texts else []
        heads = [HEAD] if fields.needs_head() else []
        passed = list(dict.fromkeys([*keep, *lines_told, *heads]))
        is_candidate = self._is_candidate(fields)
        if isinstance(fields, MadeFields):
            passed = list(dict.fromkeys([*passed, *fields.columns()]))
            is_candidate = f"{LINE} IS NULL OR ({is_candidate})"
        candidates = f"{lines} WHERE {is_candidate}"
        before = fields.before()
        if before:
            columns = dict.fromkeys([LINE, *passed])
            candidates = f"({_select([*columns, *before], candidates)})"
        taken_apart = fields.of_line()
        if self._is_text is not None:
            taken_apart = f"if({self._is_text}, {taken_apart}, NULL)"
        split = _select([*passed, f"{taken_apart} AS {FIELDS}"], candidates)
        is_malformed = f"coalesce({fields.is_malformed()}, true) AS {MALFORMED}"
        return _select([*keep, *self._converted(fields), is_malformed, *texts], f"({split})")

    @property
    def _is_text(self) -> str | None:
        """Whether all bytes of a line are of its encoding; None: nobody asks. Of another encoding
        than UTF-8 a line comes as UTF-8, with U+FFFD for what was not of it."""
        options = all_options(self.source)
        if options.get("replace") == "true":
            return None
        if options.get("encoding", UTF8) == UTF8:
            return None if self.is_ascii else f"is_valid_utf8({LINE})"
        return f"NOT contains({LINE}, {literal(REPLACEMENT)})"

    @property
    def _is_time_computed(self) -> bool:
        """By an expression over columns in their types."""
        return self.source.time_sql is not UNSET and converted_time(self.source) is None

    def _is_candidate(self, fields: Fields) -> str:
        """Whether a line is a record or malformed: neither empty nor a header."""
        terms = [f"octet_length({LINE}) > 0"]  # counting characters takes a fifth of the query
        comment = all_options(self.source).get("comment")
        if comment:
            terms.append(f"NOT startswith({LINE}, {literal(comment)})")
        passed_over = fields.is_passed_over()
        if not self.headers and dict(self.source.options).get("header") == "true":
            passed_over = _repeats_names(self.source)
        if passed_over is not None:
            terms.append(f"NOT {passed_over}")
        return " AND ".join(terms)

    def _converted(self, fields: Fields) -> list[str]:
        converted = []
        options = all_options(self.source)
        for column in self.source.fields:
            if column.name not in self.columns:
                continue
            text = fields.text(column.name)
            if column.type == "timestamp" and "year" in options:
                text = with_year(text, options["year"])
            if isinstance(fields, JournalFields) and column.type == "string":
                value = fields.string(column.name)
                converted.append(f"{text} <> '' AS {quoted(HAS + column.name)}")
            elif column.type == "string":
                value = f"nullif({text}, '')" if fields.is_empty_null else text
            else:
                value = conversion(text, column.type, options)
                if isinstance(fields, JsonFields | MadeFields):
                    value = fields.vouched(column.name, value)
                converted.append(f"coalesce({text} <> '', false) AS {quoted(HAS + column.name)}")
            if isinstance(fields, MadeFields):
                value = fields.value(column.name, value)
            converted.append(f"{value} AS {quoted(column.name)}")
        other = converted_time(self.source)
        if other is not None:
            type_ = next(one.type for one in self.source.fields if one.name == other)
            time = time_conversion(fields.text(other), type_, options)
            converted.append(f"{time} AS {quoted(self.source.time_column)}")
        return converted

    def _taken(self, fields: ColumnFields) -> list[str]:
        """As ``_converted``, of columns that have types already."""
        options = all_options(self.source)
        taken = []
        for column in self.source.fields:
            if column.name in self.columns:
                value, found = fields.text(column.name), fields.type_of(column.name)
                taken.append(f"{value} IS NOT NULL AS {quoted(HAS + column.name)}")
                as_wanted = taken_over(value, found, column.type, options)
                taken.append(f"{as_wanted} AS {quoted(column.name)}")
        other = converted_time(self.source)
        if other is not None:
            time = taken_over(fields.text(other), fields.type_of(other), "timestamp", options)
            taken.append(f"{time} AS {quoted(self.source.time_column)}")
        return taken

    @property
    def is_no_time(self) -> str:
        """Whether a record has no time that is within the calendar: beyond it nobody can write it
        down. True or false, never NULL."""
        time = quoted(self.source.time_column)
        first_us, end_us = CALENDAR_US
        is_far = f"unix_micros({time}) < {first_us}L OR unix_micros({time}) >= {end_us}L"
        return f"({time} IS NULL OR {is_far})"

    def _is_bad(self, need: frozenset[str]) -> str:
        """True or false, never NULL. A string of a line is never wrong; a time is never absent."""
        time = self.source.time_column
        reasons = [MALFORMED, self.is_no_time]
        for column in self.source.columns:
            is_told = column.type != "string" or self.source.format in STRINGS_TOLD
            if column.name in need and column.name != time and is_told:
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


def _select(columns: Sequence[str], origin: str) -> str:
    return f"SELECT {', '.join(columns)} FROM {origin}"
