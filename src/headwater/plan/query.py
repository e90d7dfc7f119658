"""What a query means, as frozen values that travel as data: no code, no pickles.

A statement is split once, by the agent that installs it. Sites and root run the two texts as they
are, after checking them; nobody plans again, so all of them run the same question.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.panes import MICROS, WindowSpec
from headwater.algebra.rows.columns import Column, MergeRule, Partial
from headwater.plan.durations import duration_us
from headwater.plan.part import Part
from headwater.plan.sources.column_names import Step, path_steps
from headwater.plan.sources.malformed_max import DEFAULT, MalformedMax, malformed_max

__all__ = [
    "Column",
    "MergeRule",
    "Part",
    "Partial",
    "Query",
    "QueryId",
    "Source",
    "SourceFormat",
    "TimeKind",
    "Timing",
]


COLUMNS_MAX = 1000
SITES_MAX = 100_000
OPTIONS_MAX = 64
"""Looked at by whoever decodes a query, before it makes anything of what it counts."""

LAST_N_MAX = 1_000_000
"""Records that a state may be made of: a site keeps them, or their partials, in its cube."""


Columns = Annotated[tuple[Column, ...], Meta(max_length=COLUMNS_MAX)]
Options = Annotated[tuple[tuple[str, str], ...], Meta(max_length=OPTIONS_MAX)]


class QueryId(msgspec.Struct, frozen=True, array_like=True, order=True):
    """(name, installing site, that site's durable command counter); never the name alone."""

    name: str
    installer: str
    counter: int

    def __str__(self) -> str:
        return f"{self.name}@{self.installer}#{self.counter}"

    @classmethod
    def parse(cls, text: str) -> QueryId:
        match = re.fullmatch(r"([A-Za-z_]\w*)@([\w.-]+)#(\d+)", text)
        if match is None:
            raise ValueError(f"query id: wanted name@site#counter, got {text[:80]!r}")
        return cls(match[1], match[2], int(match[3]))


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


class TimeKind(StrEnum):
    """What places a record in time."""

    EVENT = "event"
    """Its own timestamp."""
    AGE = "age"
    """Its age: its timestamp is taken for the site's clock, and the record is placed where that
    was on the root's clock. So clocks that are wrong do no harm (Mortar's syncless operation)."""


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


class Timing(msgspec.Struct, frozen=True):
    """When panes close, windows are answered, and answers end."""

    deadline_s: float = 10.0
    """A window is answered at the latest this long after its end, whoever is silent."""
    disorder_s: float = 2.0
    """How much later than its timestamp a record may appear in the log and still be on time."""
    lateness_s: float | None = None
    """After which a pane is sealed; None: the cube's retention."""
    revise_every_s: float = 1.0
    revise_for_s: float = 86_400.0


class Query(msgspec.Struct, frozen=True):
    """A continuous question, split into its site part and its root part."""

    id: QueryId
    text: str
    source: Source
    window: WindowSpec
    keys: Columns
    partials: Annotated[tuple[Partial, ...], Meta(max_length=COLUMNS_MAX)]
    site_sql: str
    """Over the view ``records`` (the source's columns): yields ``pane`` bigint, keys, partials."""
    root_sql: str
    """Over the view ``panes`` (``window`` struct<start,end>, keys, partials), which may hold many
    windows: yields ``window`` first, then the columns of ``output``, one answer for each window."""
    central_sql: str
    """Over the view ``records`` of all sites: the same rows by one Spark, for comparison; also
    ``window`` first."""
    columns_used: Annotated[tuple[str, ...], Meta(max_length=COLUMNS_MAX)]
    """The source's columns that the site part reads, the time column among them."""
    output: Columns
    """The answer's columns in order, without the leading ``window``."""
    root: str
    """The site that answers."""
    sites: Annotated[tuple[str, ...], Meta(max_length=SITES_MAX)] = ()
    """The node set; empty: every site of the roster that has data."""
    begin_pane: int | None = None
    """The first pane; None: from the earliest record on."""
    ends: bool = False
    """The input is finite: sites close and seal when it is exhausted (``headwater try``)."""
    time: TimeKind = TimeKind.EVENT
    unit_last: int = 0
    """The number of the last statement of the file that this one came with. A file is installed as
    one unit: a site that begins with a source reads nothing before it has all of them."""
    settings: Options = ()
    """Spark session settings that both parts run under."""
    timing: Timing = Timing()
    part: Part | None = None
    """Of a stream with several roots: which of its groups this query answers; None: all."""
    last_n: int | msgspec.UnsetType = msgspec.UNSET
    """Set: a *state query* (Mortar's tuple window). The summary of a pane is each site's state at
    its end, the aggregate over the last so many records of that site, and a site that was quiet
    still has its former state. Unset, and then not on the wire: the records of the pane."""

    def __post_init__(self) -> None:
        if isinstance(self.last_n, int):
            self._check_states(self.last_n)

    def _check_states(self, last_n: int) -> None:
        """A state holds for one pane at a time, from a begin on, and has no end."""
        where = f"query {self.id}: a state query"
        if not 0 < last_n <= LAST_N_MAX:
            raise ValueError(f"{where}: wanted last_n from 1 to {LAST_N_MAX}, got {last_n}")
        if self.window.panes_per_window != 1:
            raise ValueError(
                f"{where}: wanted a window of one pane (range = slide), since states of several "
                f"panes can't be added up, got range {self.window.range_us} us, slide "
                f"{self.window.slide_us} us"
            )
        if self.begin_pane is None or self.ends:
            raise ValueError(
                f"{where}: wanted a begin and an input that goes on, since a state holds until it "
                f"changes, got begin_pane {self.begin_pane}, ends {self.ends}"
            )

    @property
    def holds_states(self) -> bool:
        return self.last_n is not msgspec.UNSET

    @property
    def stream(self) -> str:
        """What people call it; the parts of one stream have this name in common."""
        return self.id.name if self.part is None else self.part.stream

    @property
    def unit(self) -> tuple[int, str]:
        """What was installed together, in the order in which names are taken: the later one wins,
        and all parts of a stream stand or fall with each other."""
        return max(self.unit_last, self.id.counter), self.id.installer
