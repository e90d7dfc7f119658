"""A named stream of records at sites, as a query reads it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.panes import MICROS
from headwater.algebra.rows.columns import Column
from headwater.plan.durations import duration_us
from headwater.plan.sources.column_names import Step, path_steps
from headwater.plan.sources.malformed_max import DEFAULT, MalformedMax, malformed_max

COLUMNS_MAX = 1000
OPTIONS_MAX = 64
"""Looked at by whoever decodes a query, before it makes anything of what it counts."""

Columns = Annotated[tuple[Column, ...], Meta(max_length=COLUMNS_MAX)]
Options = Annotated[tuple[tuple[str, str], ...], Meta(max_length=OPTIONS_MAX)]


class SourceFormat(StrEnum):
    CSV = "csv"
    TSV = "tsv"
    JSON = "json"
    REGEX = "regex"
    FIXED = "fixed"
    LOGFMT = "logfmt"
    APACHE = "apache"
    NGINX = "nginx"
    SYSLOG = "syslog"
    W3C = "w3c"
    CLOUDFRONT = "cloudfront"
    JOURNALD = "journald"
    PARQUET = "parquet"
    ORC = "orc"
    AVRO = "avro"
    OTHER = "other"
    """One that only a newer version knows: who can't read it declines the query."""

    @classmethod
    def _missing_(cls, _: object) -> SourceFormat:
        return cls.OTHER


FORMATS = tuple(one for one in SourceFormat if one is not SourceFormat.OTHER)
"""Those that can be read."""


class Source(msgspec.Struct, frozen=True):
    """A named stream of records at sites: a schema and how Spark reads it."""

    name: str
    columns: Columns
    format: SourceFormat
    path: str
    """A glob, relative to the site's data directory or under one of its open directories."""
    time_column: str
    options: Options = ()
    """What the format needs: delimiter, header, quote, pattern, timestamp_format, …"""
    text: str = ""
    """The statement, as the user wrote it."""
    time_sql: str | msgspec.UnsetType = msgspec.UNSET
    """Set: the time column is in no file. It is computed of others, by an expression that can't
    fail, or is another column converted, if that is all of the expression. Unset, and then not on
    the wire: it is read like every column."""

    paths: Options | msgspec.UnsetType = msgspec.UNSET
    """Set: the columns that are found elsewhere than under their own names, each with its path into
    the record. Unset, and then not on the wire: there are none such."""

    def path_of(self, column: str) -> tuple[Step, ...]:
        """Where in a record the value of a column is."""
        paths = {} if isinstance(self.paths, msgspec.UnsetType) else dict(self.paths)
        return path_steps(paths[column]) if column in paths else (column,)

    @property
    def fields(self) -> tuple[Column, ...]:
        """The columns that its files have."""
        if self.time_sql is msgspec.UNSET:
            return self.columns
        return tuple(column for column in self.columns if column.name != self.time_column)

    def is_read_as(self, other: Source) -> bool:
        """The same records, whatever the text looked like."""
        return msgspec.structs.replace(self, text="") == msgspec.structs.replace(other, text="")

    def future_tolerance_s(self, default_s: float) -> float:
        """How far ahead of the site's clock its records may be; the option, or the site's own."""
        option = dict(self.options).get("future_tolerance")
        tolerance_us = None if option is None else duration_us(option)
        return default_s if tolerance_us is None else tolerance_us / MICROS

    @property
    def malformed_max(self) -> MalformedMax:
        """How many of its lines at a site may be malformed before people are told."""
        option = dict(self.options).get("malformed_max")
        found = None if option is None else malformed_max(option)
        return DEFAULT if found is None else found
