"""Formats of logs that have a name: which columns they bring, and how their lines come apart.

One entry is one format. A source of it may leave its columns out, and has all of them then; or it
names some of them, in any order and in types of its own. What an entry says of times, of NULL and
of the time column holds unless the source says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from headwater.plan.sources.source import Source, SourceFormat

NOTHING: Mapping[str, str] = MappingProxyType({})
DATE_AND_TIME = "to_timestamp(date || ' ' || time)"
FIELDS_DIRECTIVE = "#Fields:"
"""Before the names of the columns in a log of the W3C's extended format."""


class LogFormat(msgspec.Struct, frozen=True):
    columns: tuple[tuple[str, str], ...] = ()
    """Name and type of each; of a pattern, one for each group, in order."""
    pattern: str = ""
    """Java's, for lines that are taken apart by one."""
    groups: Mapping[str, tuple[int, ...]] = MappingProxyType({})
    """Of a column that has not the group of its own place: those of which one has its text."""
    time: str = ""
    """What ``time`` is, unless said."""
    options: Mapping[str, str] = NOTHING
    """What holds unless said."""
    keys: Mapping[str, str] = NOTHING
    """How a record calls a column that has another name here."""
    holds: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Columns that have the text of others in theirs."""
    is_open: bool = False
    """A source may have other columns, by the names that are in its records."""


_QUOTED = r'([^"\\]*+(?:\\.[^"\\]*+)*+)'
"""Up to the next quote that is not escaped, without a step back."""
_REQUEST = r'((?:([A-Z]++) ([^\s"]++)(?: ([^"\s]++))?+(?="))?+[^"\\]*+(?:\\.[^"\\]*+)*+)'
_COMBINED = (
    r"(?:(\S+:\d++) )?(\S++) (\S++) ([^\[]+?) \[([^\]]++)\] "
    + f'"{_REQUEST}"'
    + r" (\d{3}|-) (\d++|-)"
    + f'(?: "{_QUOTED}" "{_QUOTED}")?+'
)
_ACCESS = (
    ("vhost", "string"),
    ("client", "string"),
    ("ident", "string"),
    ("user", "string"),
    ("ts", "timestamp"),
    ("request", "string"),
    ("method", "string"),
    ("path", "string"),
    ("protocol", "string"),
    ("status", "int"),
    ("bytes", "bigint"),
    ("referer", "string"),
    ("agent", "string"),
)
_REQUESTED = {"request": ("method", "path", "protocol")}
_ACCESS_OPTIONS = {"timestamp_format": "dd/MMM/yyyy:HH:mm:ss Z", "null_value": "-"}

_SYSLOG = (
    r"(?:<(\d{1,3})>)?+(?:1 )?+"
    r"(\d{4}-\d\d-\d\dT\S++|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|-) (\S++) "
    r"(?:([^\s:\[]++)(?:\[([^\]\s]*+)\])?+: |"
    r"(\S++) (\S++) (\S++) "
    r"(-|(?:\[[^\]\"]*+(?:\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\"[^\]\"]*+)*+\])++) ?+)"
    r"(?:\x{FEFF})?+(.*+)"
)

_CLOUDFRONT = """
    date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer)
    cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header
    cs-protocol cs-bytes time-taken x-forwarded-for ssl-protocol ssl-cipher
    x-edge-response-result-type cs-protocol-version fle-status fle-encrypted-fields
"""
_CLOUDFRONT_TYPES = {
    "sc-bytes": "bigint",
    "sc-status": "int",
    "cs-bytes": "bigint",
    "time-taken": "double",
}
_JOURNAL = {
    "ts": "__REALTIME_TIMESTAMP",
    "message": "MESSAGE",
    "priority": "PRIORITY",
    "unit": "_SYSTEMD_UNIT",
    "identifier": "SYSLOG_IDENTIFIER",
    "pid": "_PID",
    "uid": "_UID",
    "host": "_HOSTNAME",
    "command": "_COMM",
    "transport": "_TRANSPORT",
    "boot_id": "_BOOT_ID",
    "cursor": "__CURSOR",
}
_JOURNAL_TYPES = {"ts": "timestamp", "priority": "int", "pid": "int", "uid": "bigint"}

LOG_FORMATS: Mapping[SourceFormat, LogFormat] = {
    SourceFormat.APACHE: LogFormat(
        _ACCESS, _COMBINED + r".*+", time="ts", options=_ACCESS_OPTIONS, holds=_REQUESTED
    ),
    SourceFormat.NGINX: LogFormat(
        (*_ACCESS, ("forwarded", "string")),
        _COMBINED + f'(?: "{_QUOTED}")?+' + r".*+",
        time="ts",
        options=_ACCESS_OPTIONS,
        holds=_REQUESTED,
    ),
    SourceFormat.SYSLOG: LogFormat(
        (
            ("priority", "int"),
            ("ts", "timestamp"),
            ("host", "string"),
            ("app", "string"),
            ("pid", "string"),
            ("message_id", "string"),
            ("data", "string"),
            ("message", "string"),
        ),
        _SYSLOG,
        {"app": (4, 6), "pid": (5, 7), "message_id": (8,), "data": (9,), "message": (10,)},
        time="ts",
        options={"timestamp_format": "iso | yyyy MMM d HH:mm:ss", "null_value": "-"},
    ),
    SourceFormat.W3C: LogFormat(
        time=DATE_AND_TIME,
        options={"delimiter": " ", "quote": '"', "null_value": "-", "comment": "#"},
        is_open=True,
    ),
    SourceFormat.CLOUDFRONT: LogFormat(
        tuple((name, _CLOUDFRONT_TYPES.get(name, "string")) for name in _CLOUDFRONT.split()),
        time=DATE_AND_TIME,
        options={"delimiter": "\t", "quote": "", "null_value": "-", "comment": "#"},
        is_open=True,
    ),
    SourceFormat.JOURNALD: LogFormat(
        tuple((name, _JOURNAL_TYPES.get(name, "string")) for name in _JOURNAL),
        time="ts",
        options={"timestamp_format": "epoch_us"},
        keys=_JOURNAL,
        is_open=True,
    ),
    SourceFormat.LOGFMT: LogFormat(is_open=True),
}
"""By the name that ``format`` takes."""
HEADED = (SourceFormat.W3C, SourceFormat.CLOUDFRONT)
"""Files of these name their columns by themselves, always."""
COLUMNAR = (SourceFormat.PARQUET, SourceFormat.ORC, SourceFormat.AVRO)
"""Files with columns of their own, in types of their own, and no lines."""
DELIMITED = (SourceFormat.CSV, SourceFormat.TSV, *HEADED)


def log_format(source: Source) -> LogFormat:
    return LOG_FORMATS.get(source.format, LogFormat())


def is_by_name(source: Source) -> bool:
    """Whether columns are found by their names, so that some may be left out."""
    if source.format in (SourceFormat.CSV, SourceFormat.TSV):
        return dict(source.options).get("header") == "true"
    return source.format not in (SourceFormat.REGEX, SourceFormat.FIXED)


def all_options(source: Source) -> dict[str, str]:
    """What is said, and what the format has where nothing is."""
    return {**log_format(source).options, **dict(source.options)}


def holds(source: Source, outer: str, inner: str) -> bool:
    """Whether the value of one column is within that of another, or is the same."""
    named = log_format(source)
    if inner in named.holds.get(outer, ()):
        return True
    steps, deeper = (
        (named.keys[name],) if name in named.keys else source.path_of(name)
        for name in (outer, inner)
    )
    return deeper[: len(steps)] == steps
