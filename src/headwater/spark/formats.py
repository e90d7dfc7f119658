"""The way to take a line apart, for each format of a source."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.plan.query import Source, SourceFormat
from headwater.plan.regex_groups import group_numbers
from headwater.spark.delimited import DelimitedFields, delimited
from headwater.spark.fields import Fields
from headwater.spark.json_fields import JsonFields
from headwater.spark.pattern_fields import PatternFields


def quote_of(source: Source) -> str:
    """The sign around values; empty: there is none."""
    if source.format not in (SourceFormat.CSV, SourceFormat.TSV):
        return ""
    return delimited(source).quote


def fields_of(
    source: Source,
    used: Sequence[str],
    *,
    headers: tuple[str, ...] = (),
    is_quote_free: bool = False,
) -> Fields:
    """For the columns that are used, in the order of the source."""
    names = tuple(column.name for column in source.columns)
    options = dict(source.options)
    if source.format is SourceFormat.JSON:
        return JsonFields(tuple(used))
    if source.format is SourceFormat.REGEX:
        numbers = dict(zip(names, group_numbers(options["pattern"], names), strict=True))
        groups = tuple(numbers[name] for name in used)
        return PatternFields(tuple(used), options["pattern"], groups)
    return DelimitedFields(names, delimited(source), headers, is_quote_free)
