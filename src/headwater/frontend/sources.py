"""CREATE SOURCE: a schema, where its records lie, and how Spark reads them."""

from headwater.frontend.options import Options
from headwater.frontend.refusal import choices, refusal
from headwater.frontend.statements import SourceStatement
from headwater.plan.durations import EXAMPLES, duration_us
from headwater.plan.globs import glob_fault
from headwater.plan.malformed_max import EXAMPLES as MOST
from headwater.plan.malformed_max import malformed_max
from headwater.plan.query import Column, Source, SourceFormat
from headwater.plan.regex_groups import group_numbers
from headwater.plan.time_patterns import pattern_fault

_ANYWHERE = {
    "format": "csv, tsv, json or regex",
    "path": "a glob at the site",
    "time": "the column that places a record in time",
    "timestamp_format": "Spark's datetime pattern for timestamp columns",
    "date_format": "Spark's datetime pattern for date columns",
    "future_tolerance": "how far ahead of the site's clock records may be, such as '2 minutes'",
    "malformed_max": "how many lines may be malformed before it is a failure, such as '1%'",
}
_DELIMITED = {
    "header": "true: the first line of a file names its columns",
    "quote": "the sign around values that contain the delimiter",
    "escape": "the sign before a quote within a quoted value",
    "null_value": "the text that stands for NULL",
}
FORMAT_OPTIONS: dict[SourceFormat, dict[str, str]] = {
    SourceFormat.CSV: {**_ANYWHERE, **_DELIMITED, "delimiter": "between values, usually a comma"},
    SourceFormat.TSV: {**_ANYWHERE, **_DELIMITED},
    SourceFormat.JSON: _ANYWHERE,
    SourceFormat.REGEX: {**_ANYWHERE, "pattern": "a Java regular expression, one group a column"},
}
_ALL = {name: why for options in FORMAT_OPTIONS.values() for name, why in options.items()}
RESERVED_COLUMNS = ("window",)
RESERVED_PREFIX = "__"
"""Columns that are ours beside the user's, in SQL that Spark runs."""
PATTERN_LENGTH_MAX = 4000
EPOCHS = ("epoch_s", "epoch_ms", "epoch_us")
"""Instead of a pattern: numbers since 1970."""


def compile_source(statement: SourceStatement, text: str) -> Source:
    """The source as a value. Raises ``QueryRefused``, pointing into ``text``."""
    options = Options(text, statement.options, known=_ALL, offset=statement.offset)
    format_name = options.required("format", "'csv'")
    format_ = SourceFormat(options.one_of("format", [str(f) for f in SourceFormat], format_name))
    for name in options.names():
        if name not in FORMAT_OPTIONS[format_]:
            known = choices("options", FORMAT_OPTIONS[format_])
            raise options.refused(name, f"format {format_} has no option `{name}`{known}")
    for column in statement.columns:
        if column.name.lower() in RESERVED_COLUMNS:
            raise refusal(
                text, column.offset, f"`{column.name}` names the window of an answer; rename it"
            )
        if column.name.startswith(RESERVED_PREFIX):
            raise refusal(text, column.offset, "names that begin with __ are taken; rename it")
    return Source(
        name=statement.name,
        columns=tuple(Column(column.name, column.type) for column in statement.columns),
        format=format_,
        path=_path(options),
        time_column=_time_column(statement, options, text),
        options=_format_options(statement, format_, options),
        text=statement.text,
    )


def time_option_fault(name: str, text: str) -> str | None:
    """Of ``timestamp_format`` and ``date_format``: Spark looks at them when it reads a line, and a
    source with a bad one could never be read."""
    if name not in ("timestamp_format", "date_format") or text in EPOCHS:
        return None
    fault = pattern_fault(text, is_read=True)
    return None if fault is None else f"the pattern '{text[:60]}' is not Spark's: {fault}"


def _path(options: Options) -> str:
    path = options.required("path", "'access/*.log'")
    fault = glob_fault(path)
    if fault is not None:
        raise options.refused("path", fault)
    return path


def _time_column(statement: SourceStatement, options: Options, text: str) -> str:
    wanted = options.required("time", "'ts'")
    found = [column for column in statement.columns if column.name.lower() == wanted.lower()]
    if not found:
        names = [column.name for column in statement.columns]
        raise options.refused(
            "time", f"no column `{wanted[:60]}`{choices('columns', names, near=wanted)}"
        )
    if found[0].type != "timestamp":
        raise refusal(
            text,
            found[0].offset,
            f"the time column `{found[0].name}` is {found[0].type}; declare it TIMESTAMP, and say "
            "with timestamp_format = '…' how it is written",
        )
    return found[0].name


def _format_options(
    statement: SourceStatement, format_: SourceFormat, options: Options
) -> tuple[tuple[str, str], ...]:
    """What is left for the reader, in a fixed order, so that equal sources are equal values."""
    found = {
        name: value
        for name in sorted(FORMAT_OPTIONS[format_])
        if name not in ("format", "path", "time") and (value := options.text(name)) is not None
    }
    if "future_tolerance" in found and duration_us(found["future_tolerance"]) is None:
        raise options.refused("future_tolerance", f"wanted a time, such as {EXAMPLES}")
    if "malformed_max" in found and malformed_max(found["malformed_max"]) is None:
        raise options.refused(
            "malformed_max", f"wanted a share of the lines or a number of them, such as {MOST}"
        )
    for name, text in found.items():
        fault = time_option_fault(name, text)
        if fault is not None:
            raise options.refused(name, fault)
    if "header" in found:
        found["header"] = options.one_of("header", ("true", "false"), found["header"])
    for name in ("delimiter", "quote", "escape"):
        if len(found.get(name, " ")) != 1 and (name == "delimiter" or found[name]):
            raise options.refused(name, f"option `{name}` takes one character")
    if format_ is SourceFormat.REGEX:
        found["pattern"] = _pattern(statement, options)
    return tuple(found.items())


def _pattern(statement: SourceStatement, options: Options) -> str:
    pattern = options.required("pattern", r"r'(\S+) (\S+)'")
    if len(pattern) > PATTERN_LENGTH_MAX:
        raise options.refused("pattern", f"a pattern has at most {PATTERN_LENGTH_MAX} characters")
    if options.has_single_backslash("pattern"):
        raise options.refused(
            "pattern",
            r"in '…' a backslash is SQL's own escape and is gone before the pattern is read; "
            r"write pattern = r'…'",
        )
    try:
        group_numbers(pattern, [column.name for column in statement.columns])
    except ValueError as error:
        raise options.refused("pattern", str(error)) from error
    return pattern
