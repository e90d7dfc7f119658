"""CREATE SOURCE: a schema, where its records lie, and how Spark reads them."""

import re
from collections.abc import Collection, Mapping

import msgspec
from msgspec import UNSET, UnsetType
from sqlglot import exp

from headwater.algebra.rows.columns import Column
from headwater.plan.durations import EXAMPLES, duration_us
from headwater.plan.sources.column_names import path_steps, path_text
from headwater.plan.sources.encodings import ENCODING_NAMES, ENCODINGS
from headwater.plan.sources.globs import glob_fault
from headwater.plan.sources.log_formats import COLUMNAR, LOG_FORMATS, LogFormat
from headwater.plan.sources.malformed_max import EXAMPLES as MOST
from headwater.plan.sources.malformed_max import malformed_max
from headwater.plan.sources.record_start import record_start_fault
from headwater.plan.sources.regex_groups import group_numbers
from headwater.plan.sources.source import FORMATS, Source, SourceFormat
from headwater.plan.sources.time_formats import EPOCHS, ISO, formats_fault, formats_of, formats_text
from headwater.plan.zones import zone_fault
from headwater.sql.read.objection import Objection
from headwater.sql.read.options import Options
from headwater.sql.read.refusal import choices, refusal
from headwater.sql.read.sql_text import name_sql, parse_expression
from headwater.sql.read.statements import ColumnStatement, SourceStatement
from headwater.sql.read.time_expressions import compile_time
from headwater.sql.types.type_rules import is_number

_ANYWHERE = {
    "format": f"one of {', '.join(FORMATS)}",
    "path": "a glob at the site",
    "time": "the column, or an expression over columns, that places a record in time",
    "timestamp_format": "how times are written: iso, epoch_ms, Spark's pattern, or several 'a | b'",
    "date_format": "Spark's datetime pattern for date columns",
    "zone": "of times that say none, such as 'Europe/Oslo'; UTC unless said",
    "round": "true: numbers with more digits than their type are rounded, not malformed",
    "future_tolerance": "how far ahead of the site's clock records may be, such as '2 minutes'",
    "malformed_max": "how many lines may be malformed before it is a failure, such as '1%'",
}
_LINES = {
    **_ANYWHERE,
    "encoding": f"of the files: {', '.join(ENCODINGS)}; utf-8 unless said",
    "replace": "true: bytes that are not of the encoding become U+FFFD, and no line is malformed",
    "comment": "what lines that are no records begin with",
}
_NULL = {"null_value": "the text that stands for NULL"}
_SEVERAL_LINES = {
    "record_start": "what the first line of a record begins with, where others may follow it"
}
_YEAR = {"year": "of times that say none, as 'May  1 12:00:00' does not"}
_DELIMITED = {
    **_LINES,
    **_NULL,
    "delimiter": "between values; a comma, or a tab in tsv",
    "header": "true: the first line of a file names its columns",
    "quote": "the sign around values that contain the delimiter",
    "escape": "the sign before a quote within a quoted value",
    "multiline": "true: a quoted value may have line breaks in it",
}
_HEADED = {name: why for name, why in _DELIMITED.items() if name not in ("header", "multiline")}
FORMAT_OPTIONS: dict[SourceFormat, dict[str, str]] = {
    SourceFormat.CSV: _DELIMITED,
    SourceFormat.TSV: _DELIMITED,
    SourceFormat.JSON: {**_LINES, "array": "true: a file is one JSON array of records"},
    SourceFormat.REGEX: {
        **_LINES,
        **_SEVERAL_LINES,
        "pattern": "a Java regular expression, one group a column",
    },
    SourceFormat.FIXED: {**_LINES, **_NULL, "widths": "of the columns in characters, as '10,5,8'"},
    SourceFormat.LOGFMT: {**_LINES, **_NULL},
    SourceFormat.APACHE: {**_LINES, **_NULL},
    SourceFormat.NGINX: {**_LINES, **_NULL},
    SourceFormat.SYSLOG: {**_LINES, **_NULL, **_YEAR, **_SEVERAL_LINES},
    **dict.fromkeys((SourceFormat.W3C, SourceFormat.CLOUDFRONT), _HEADED),
    **dict.fromkeys((SourceFormat.JOURNALD, *COLUMNAR), _ANYWHERE),
}
_ALL = {name: why for options in FORMAT_OPTIONS.values() for name, why in options.items()}
PATH_FORMATS = (SourceFormat.JSON, *COLUMNAR)
"""In which a value may lie deeper than the record itself."""
SWITCHES = ("array", "header", "multiline", "replace", "round")
"""Options that are true or false."""
RESERVED_COLUMNS = ("window",)
RESERVED_PREFIX = "__"
"""Columns that are ours beside the user's, in SQL that Spark runs."""
PATTERN_LENGTH_MAX = 4000
DELIMITER_LENGTH_MAX = 8
COMMENT_LENGTH_MAX = 20
TIME_NAME = "event_time"
"""Of the column that a time is computed into; with underscores behind where a column has it."""


def compile_source(statement: SourceStatement, text: str) -> Source:
    """The source as a value. Raises ``QueryRefused``, pointing into ``text``."""
    options = Options(text, statement.options, known=_ALL, offset=statement.offset)
    format_name = options.required("format", "'csv'")
    format_ = SourceFormat(options.one_of("format", [str(f) for f in FORMATS], format_name))
    for name in options.names():
        if name not in FORMAT_OPTIONS[format_]:
            known = choices("options", FORMAT_OPTIONS[format_])
            raise options.refused(name, f"format {format_} has no option `{name}`{known}")
    statement = _with_columns(statement, format_, text)
    found = _format_options(statement, format_, options)
    time, time_sql = _time(statement, format_, options, dict(found), text)
    columns = tuple(Column(column.name, column.type) for column in statement.columns)
    if time_sql is not UNSET:
        columns += (Column(time, "timestamp"),)
    return Source(
        name=statement.name,
        columns=columns,
        format=format_,
        path=_path(options),
        time_column=time,
        options=found,
        text=statement.text,
        time_sql=time_sql,
        paths=_paths(statement, format_, text),
    )


def _with_columns(statement: SourceStatement, format_: SourceFormat, text: str) -> SourceStatement:
    """With the columns that the format brings, where none are named."""
    named = LOG_FORMATS.get(format_, LogFormat())
    known = [name for name, _ in named.columns]
    if not statement.columns:
        if not known:
            raise refusal(
                text,
                statement.offset,
                f"format {format_} brings no columns; name them: CREATE SOURCE {statement.name} "
                "(ts TIMESTAMP, domain STRING) WITH (…)",
            )
        columns = tuple(ColumnStatement(*one, statement.offset) for one in named.columns)
        return msgspec.structs.replace(statement, columns=columns)
    for column in statement.columns:
        if column.name.lower() in RESERVED_COLUMNS:
            raise refusal(
                text, column.offset, f"`{column.name}` names the window of an answer; rename it"
            )
        if column.name.startswith(RESERVED_PREFIX):
            raise refusal(text, column.offset, "names that begin with __ are taken; rename it")
        if known and not named.is_open and column.name not in known:
            raise refusal(
                text,
                column.offset,
                f"format {format_} has no column `{column.name}`"
                f"{choices('columns', known, near=column.name)}",
            )
    return statement


def _paths(
    statement: SourceStatement, format_: SourceFormat, text: str
) -> tuple[tuple[str, str], ...] | UnsetType:
    found = []
    for column in statement.columns:
        if column.path is None:
            continue
        if format_ not in PATH_FORMATS:
            raise refusal(
                text, column.path_offset, f"a PATH leads into JSON, and format is {format_}"
            )
        try:
            found.append((column.name, path_text(path_steps(column.path))))
        except ValueError as error:
            raise refusal(text, column.path_offset, str(error)) from error
    return tuple(found) if found else UNSET


def path_fault(source: Source) -> str | None:
    """Of the paths of a source from the wire."""
    if isinstance(source.paths, UnsetType):
        return None
    names = [field.name for field in source.fields]
    columns = [name for name, _ in source.paths]
    if source.format not in PATH_FORMATS or not columns or len(set(columns)) != len(columns):
        return "paths are of JSON, one for a column"
    for name, path in source.paths:
        try:
            is_canonical = path_text(path_steps(path)) == path
        except ValueError as error:
            return str(error)
        if name not in names or not is_canonical:
            return f"the path of {name[:60]!r} is not one"
    return None


def time_option_fault(name: str, text: str, options: Mapping[str, str]) -> str | None:
    """Of ``timestamp_format``, ``date_format`` and ``zone``: Spark looks at them when it reads a
    line, and a source with a bad one could never be read."""
    if name == "zone":
        return zone_fault(text)
    if name not in ("timestamp_format", "date_format"):
        return None
    if name == "date_format" and not EPOCHS.keys().isdisjoint(formats_of(text)):
        return "a date is no number; declare the column TIMESTAMP, or BIGINT"
    zone = options.get("zone", "UTC") if name == "timestamp_format" else "UTC"
    return formats_fault(text, zone=zone)


def _path(options: Options) -> str:
    path = options.required("path", "'access/*.log'")
    fault = glob_fault(path)
    if fault is not None:
        raise options.refused("path", fault)
    return path


def _time(
    statement: SourceStatement,
    format_: SourceFormat,
    options: Options,
    found: Mapping[str, str],
    text: str,
) -> tuple[str, str | UnsetType]:
    """The time column, and what it is computed of where it is not read as it is."""
    named = LOG_FORMATS.get(format_, LogFormat())
    found = {**named.options, **found}
    wanted = options.text("time") or named.time or options.required("time", "'ts'")
    columns = {column.name.lower(): column for column in statement.columns}
    if options.text("time") is None and named.time:
        _check_has_time(statement, format_, named.time, text)
    column = columns.get(wanted.strip().strip("`").lower())
    if column is None:
        return _free_name(columns), _time_expression(statement, options, wanted)
    if column.type == "timestamp":
        return column.name, UNSET
    formats = formats_of(found.get("timestamp_format", ISO))
    if is_number(column.type) and EPOCHS.keys().isdisjoint(formats):
        raise refusal(
            text,
            column.offset,
            f"the time column `{column.name}` is {column.type}; say what it counts since 1970, "
            f"with timestamp_format = 'epoch_ms' (or {', '.join(EPOCHS)})",
        )
    if not is_number(column.type) and column.type not in ("string", "date"):
        raise refusal(
            text,
            column.offset,
            f"the time column `{column.name}` is {column.type}; declare it TIMESTAMP, and say "
            "with timestamp_format = '…' how it is written",
        )
    return _free_name(columns), name_sql(column.name)


def _check_has_time(
    statement: SourceStatement, format_: SourceFormat, time: str, text: str
) -> None:
    """Who names columns of a format names those of its time, too."""
    declared = {column.name.lower() for column in statement.columns}
    types = dict(LOG_FORMATS[format_].columns)
    names = [node.name for node in parse_expression(time).find_all(exp.Column)]
    absent = [name for name in names if name not in declared]
    missing = [f"{name} {types.get(name, 'string').upper()}" for name in absent]
    if missing:
        raise refusal(
            text,
            statement.offset,
            f"format {format_} has its time in {' and '.join(sorted(names))}, which are read where "
            f"they are named: add {', '.join(missing)}, or say time = '…'",
        )


def _free_name(taken: Collection[str]) -> str:
    name = TIME_NAME
    while name in taken:
        name += "_"
    return name


def _time_expression(statement: SourceStatement, options: Options, wanted: str) -> str:
    types = {column.name: column.type for column in statement.columns}
    if re.fullmatch(r"[`\w@.-]+", wanted.strip()):
        known = choices("columns", types, near=wanted)
        raise options.refused("time", f"no column `{wanted[:60]}`{known}")
    zone = options.text("zone")
    if zone is not None:
        raise options.refused(
            "zone",
            "a zone is for times that are read, and this source computes its time; write "
            f"time = \"to_utc_timestamp(…, '{zone[:40]}')\" and leave `zone` out",
        )
    try:
        return compile_time(wanted, types)
    except Objection as objection:
        raise options.refused("time", objection.message) from objection
    except RecursionError as error:
        raise options.refused(
            "time", "this expression nests too deeply; write a shorter one"
        ) from error


def _format_options(
    statement: SourceStatement, format_: SourceFormat, options: Options
) -> tuple[tuple[str, str], ...]:
    """What is left for the reader, in a fixed order, so that equal sources are equal values."""
    found = {
        name: value
        for name in sorted(FORMAT_OPTIONS[format_])
        if name not in ("format", "path", "time") and (value := options.text(name)) is not None
    }
    for name, text in found.items():
        fault = time_option_fault(name, text, found)
        if fault is not None:
            raise options.refused(name, fault)
    for name in ("timestamp_format", "date_format"):
        if name in found:
            found[name] = formats_text(found[name])
    for name in SWITCHES:
        if name in found:
            found[name] = options.one_of(name, ("true", "false"), found[name])
    if "encoding" in found:
        found["encoding"] = ENCODING_NAMES.get(found["encoding"].lower(), found["encoding"])
    for name in ("pattern", "record_start"):
        _check_backslashes(options, name)
    for name, text in found.items():
        fault = value_fault(name, text)
        if fault is not None:
            raise options.refused(name, fault)
    if found.get("multiline") == "true":
        _check_quote(format_, found, options)
    if format_ is SourceFormat.FIXED:
        _check_widths(statement, options)
    if format_ is SourceFormat.REGEX:
        found["pattern"] = _pattern(statement, options)
    return tuple(found.items())


def value_fault(name: str, text: str) -> str | None:
    """Of an option's value by itself."""
    match name:
        case "future_tolerance" if duration_us(text) is None:
            return f"wanted a time, such as {EXAMPLES}"
        case "malformed_max" if malformed_max(text) is None:
            return f"wanted a share of the lines or a number of them, such as {MOST}"
        case "quote" | "escape" if len(text) > 1:
            return f"option `{name}` takes one character"
        case "delimiter" if not 1 <= len(text) <= DELIMITER_LENGTH_MAX:
            return f"option `delimiter` takes 1 to {DELIMITER_LENGTH_MAX} characters"
        case "comment" if not 1 <= len(text) <= COMMENT_LENGTH_MAX:
            return f"option `comment` takes 1 to {COMMENT_LENGTH_MAX} characters"
        case "encoding" if text not in ENCODINGS:
            return f"no encoding `{text[:60]}`{choices('encodings', ENCODINGS, near=text)}"
        case "year" if re.fullmatch(r"\d{4}", text) is None:
            return f"wanted a year, such as '2026', got '{text[:60]}'"
        case "record_start":
            return record_start_fault(text)
        case "widths" if re.fullmatch(r"[1-9]\d{0,5}(,[1-9]\d{0,5})*", text) is None:
            return f"wanted widths in characters, such as '10,5,8', got '{text[:60]}'"
        case name if name in SWITCHES and text not in ("true", "false"):
            return f"option `{name}` is true or false"
    return None


def _check_quote(format_: SourceFormat, found: Mapping[str, str], options: Options) -> None:
    """Where records end is found by the bytes of the quote, before anything is a character."""
    quote = found.get("quote", '"' if format_ is SourceFormat.CSV else "")
    if not quote:
        raise options.refused(
            "multiline",
            "line breaks are taken for part of a value where it is quoted, and this source has no "
            "quote; say which with quote = '\"', or leave `multiline` out",
        )
    for name in ("quote", "escape"):
        if not found.get(name, "").isascii():
            raise options.refused(
                name, f"with `multiline` the {name} is an ASCII character, got '{found[name]}'"
            )


def _check_widths(statement: SourceStatement, options: Options) -> None:
    widths = options.required("widths", "'10,5,8'").split(",")
    if len(widths) != len(statement.columns):
        raise options.refused(
            "widths", f"{len(widths)} widths for {len(statement.columns)} columns; write one each"
        )


def _pattern(statement: SourceStatement, options: Options) -> str:
    pattern = options.required("pattern", r"r'(\S+) (\S+)'")
    if len(pattern) > PATTERN_LENGTH_MAX:
        raise options.refused("pattern", f"a pattern has at most {PATTERN_LENGTH_MAX} characters")
    try:
        group_numbers(pattern, [column.name for column in statement.columns])
    except ValueError as error:
        raise options.refused("pattern", str(error)) from error
    return pattern


def _check_backslashes(options: Options, name: str) -> None:
    if name in options.names() and options.has_single_backslash(name):
        raise options.refused(
            name,
            r"in '…' a backslash is SQL's own escape and is gone before the pattern is read; "
            rf"write {name} = r'…'",
        )
