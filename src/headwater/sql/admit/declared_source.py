"""A source as the operator of a site declares it, and whether a query's CREATE SOURCE agrees.

What a column is, its statement decides: in a csv file the third column is whatever stands third in
the statement, and a pattern may cut a line anywhere. So a level that a site puts on a column holds
only if the query reads the file as the site says that it is written: the same format, the same
options, the same columns in the same places, the same time. Where a column is found by its own name
(in JSON, below a header, in formats with a name) a query may leave columns out and order them as it
likes.

A source's name is the query's own, and so are ``future_tolerance`` and ``malformed_max``, which cut
no line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from msgspec import UnsetType

from headwater.algebra.rows.columns import Column
from headwater.errors import QueryRefused
from headwater.plan.query import Query
from headwater.plan.sources.column_names import path_text
from headwater.plan.sources.log_formats import DELIMITED, all_options, is_by_name
from headwater.plan.sources.source import Source, SourceFormat
from headwater.sql.admit.column_levels import Level, check_levels

FORM_CHARACTERS_MAX = 1000
"""Of a declared statement, in a refusal."""
NAMED_MAX = 5
OWN_OPTIONS = ("future_tolerance", "malformed_max")
"""Options that change nothing about which bytes a column is."""
_ANYWHERE = {
    "zone": "UTC",
    "round": "false",
    "timestamp_format": "iso",
    "date_format": "iso",
    "encoding": "utf-8",
    "replace": "false",
    "array": "false",
    "null_value": "",
}
_DELIMITED = {"header": "false", "multiline": "false"}


class DeclaredSource(msgspec.Struct, frozen=True):
    source: Source
    levels: tuple[tuple[str, Level], ...]
    """For each column, by its name."""

    def __post_init__(self) -> None:
        assert [name for name, _ in self.levels] == [one.name for one in self.source.columns]

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def form(self) -> str:
        """The statement, in one line: what a query has to write."""
        text = " ".join(self.source.text.split())
        return text if len(text) <= FORM_CHARACTERS_MAX else f"{text[:FORM_CHARACTERS_MAX]} …"


def check_declared(query: Query, declared: DeclaredSource) -> None:
    """Raises ``QueryRefused`` where the query reads the site's files in another way than they are
    declared, or reads a column that its level does not let it read so."""
    difference = next(_differences(query.program.source, declared.source), None)
    if difference is not None:
        raise disagreement(query.program.source, declared, difference)
    check_levels(query, dict(declared.levels), of=declared.name)


def disagreement(source: Source, declared: DeclaredSource, difference: str) -> QueryRefused:
    return QueryRefused(
        f"source {source.name}: its path leads to files that this site declares as source "
        f"{declared.name}, and {difference}; write it as it is declared: {declared.form}"
    )


def _differences(source: Source, declared: Source) -> Iterator[str]:
    """What is not as it is declared, in words; the first one is told."""
    if source.format is not declared.format:
        yield f"its format is {source.format}, not {declared.format}"
        return
    yield from _other_options(effective_options(source), effective_options(declared))
    if is_by_name(declared):
        yield from _other_json_columns(source, declared)
    else:
        yield from _other_places(source.fields, declared.fields)
    if (source.time_column, source.time_sql) != (declared.time_column, declared.time_sql):
        yield f"its time is {_time(source)}, not {_time(declared)}"


def _time(source: Source) -> str:
    return source.time_column if isinstance(source.time_sql, UnsetType) else source.time_sql


def _other_options(found: Mapping[str, str], wanted: Mapping[str, str]) -> Iterator[str]:
    for name in sorted({*found, *wanted}):
        if found.get(name) != wanted.get(name):
            was, shall = (_shown(options.get(name)) for options in (found, wanted))
            yield f"its option {name} is {was}, not {shall}"


def _other_json_columns(source: Source, declared: Source) -> Iterator[str]:
    types = {column.name: column.type for column in declared.fields}
    for column in source.fields:
        if column.name not in types:
            yield f"it has no column {column.name[:60]} (columns: {_names(declared.fields)})"
        elif column.type != types[column.name]:
            yield f"column {column.name} is {column.type}, not {types[column.name]}"
        elif source.path_of(column.name) != declared.path_of(column.name):
            found, wanted = (path_text(one.path_of(column.name)) for one in (source, declared))
            yield f"column {column.name} is at {found[:60]}, not at {wanted}"


def _other_places(found: tuple[Column, ...], wanted: tuple[Column, ...]) -> Iterator[str]:
    """By position, so every column has to be there, under its own name."""
    if len(found) != len(wanted):
        yield f"it has {len(found)} columns, not {len(wanted)} ({_names(wanted)})"
        return
    for place, (one, other) in enumerate(zip(found, wanted, strict=True), start=1):
        if one.name != other.name:
            yield f"its column {place} is called {one.name[:60]}, not {other.name}"
        elif one.type != other.type:
            yield f"column {one.name} is {one.type}, not {other.type}"


def effective_options(source: Source) -> dict[str, str]:
    """With what holds where nothing is said, so that saying it makes no difference."""
    said = {**_ANYWHERE, **all_options(source)}
    for name in OWN_OPTIONS:
        said.pop(name, None)
    if source.format not in DELIMITED:
        return said
    is_csv = source.format is SourceFormat.CSV
    defaults = {**_DELIMITED, "delimiter": "," if is_csv else "\t", "quote": '"' if is_csv else ""}
    quote = said.get("quote", defaults["quote"])
    return {**defaults, "escape": quote, **said}


def _shown(text: str | None) -> str:
    return "not set" if text is None else repr(text[:100])


def _names(columns: tuple[Column, ...]) -> str:
    names = ", ".join(column.name for column in columns[:NAMED_MAX])
    return names if len(columns) <= NAMED_MAX else f"{names}, …"
