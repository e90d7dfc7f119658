"""The way to take a line apart, for each format of a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from headwater.algebra.rows.columns import Column
from headwater.plan.sources.log_formats import (
    COLUMNAR,
    DELIMITED,
    LOG_FORMATS,
    all_options,
    log_format,
)
from headwater.plan.sources.regex_groups import group_numbers
from headwater.plan.sources.source import Source, SourceFormat
from headwater.plan.sources.time_formats import EPOCHS, ISO, formats_of
from headwater.spark.lines.column_fields import ColumnFields
from headwater.spark.lines.delimited import DelimitedFields, delimited
from headwater.spark.lines.fields import Fields
from headwater.spark.lines.fixed_fields import FixedFields
from headwater.spark.lines.json_fields import JsonFields
from headwater.spark.lines.named_fields import JournalFields, LogfmtFields
from headwater.spark.lines.pattern_fields import GOING_ON, LINE_WANTED, RECORD_WANTED, PatternFields
from headwater.sql.read.time_of import converted_time


def quote_of(source: Source) -> str:
    """The sign around values; empty: there is none."""
    return delimited(source).quote if source.format in DELIMITED else ""


def fields_of(
    source: Source,
    used: Sequence[str],
    *,
    headers: tuple[str, ...] = (),
    is_quote_free: bool = False,
    types: tuple[tuple[str, str], ...] = (),
) -> Fields:
    """For the columns that are used, in the order of the source. ``types`` are those of a file that
    has columns of its own."""
    names = tuple(column.name for column in source.fields)
    used = [name for name in names if name in used]
    options = all_options(source)
    null = options.get("null_value", "")
    if source.format in DELIMITED:
        return DelimitedFields(names, delimited(source), headers, is_quote_free)
    if source.format in COLUMNAR:
        return ColumnFields(tuple((name, source.path_of(name)) for name in used), types)
    match source.format:
        case SourceFormat.JSON:
            paths = tuple((name, source.path_of(name)) for name in used)
            return JsonFields(paths, _exact(source, used), options.get("round") == "true")
        case SourceFormat.REGEX:
            numbers = dict(zip(names, group_numbers(options["pattern"], names), strict=True))
            groups = tuple((numbers[name],) for name in used)
            return _over_lines(PatternFields(tuple(used), options["pattern"], groups), options)
        case SourceFormat.FIXED:
            widths = tuple(int(width) for width in options["widths"].split(","))
            return FixedFields(names, widths, null)
        case SourceFormat.LOGFMT:
            return LogfmtFields(null)
        case SourceFormat.JOURNALD:
            keys = log_format(source).keys
            return JournalFields(tuple((name, keys.get(name, name)) for name in used))
    return _named_pattern(source, used, null)


def _exact(source: Source, used: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Columns whose numbers may have more digits than a double keeps: decimals, and counts since
    1970 with a fraction."""
    formats = formats_of(all_options(source).get("timestamp_format", ISO))
    is_counted = not EPOCHS.keys().isdisjoint(formats)
    time = converted_time(source)
    return tuple(
        (column.name, column.type)
        for column in source.fields
        if column.name in used
        and ("decimal(" in column.type or (is_counted and _is_time(column, time)))
    )


def _is_time(column: Column, time: str | None) -> bool:
    return column.type == "timestamp" or column.name == time


def _named_pattern(source: Source, used: Sequence[str], null: str) -> PatternFields:
    named = LOG_FORMATS[source.format]
    places = {name: (at,) for at, (name, _) in enumerate(named.columns, start=1)} | dict(
        named.groups
    )
    groups = tuple(places[name] for name in used)
    fields = PatternFields(tuple(used), named.pattern, groups, null)
    return _over_lines(fields, all_options(source)) if source.format == "syslog" else fields


def _over_lines(fields: PatternFields, options: Mapping[str, str]) -> PatternFields:
    """Of a format whose records may go over several lines, where the source says how they begin."""
    if "record_start" not in options:
        return msgspec.structs.replace(fields, wanted=LINE_WANTED + GOING_ON)
    return msgspec.structs.replace(fields, wanted=RECORD_WANTED, is_over_lines=True)
