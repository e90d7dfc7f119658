"""A guess as the statement that people run, with its doubts as comments above it."""

from __future__ import annotations

import re

from headwater.infer.guess import ColumnGuess, SourceGuess, TimeGuess

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
RESERVED = frozenset(
    (
        "all",
        "and",
        "any",
        "as",
        "asc",
        "between",
        "by",
        "case",
        "cast",
        "create",
        "cross",
        "desc",
        "distinct",
        "else",
        "end",
        "except",
        "exists",
        "false",
        "filter",
        "for",
        "from",
        "full",
        "group",
        "having",
        "in",
        "inner",
        "interval",
        "intersect",
        "into",
        "is",
        "join",
        "left",
        "like",
        "limit",
        "natural",
        "not",
        "null",
        "offset",
        "on",
        "or",
        "order",
        "outer",
        "right",
        "select",
        "set",
        "table",
        "then",
        "true",
        "union",
        "using",
        "values",
        "when",
        "where",
        "window",
        "with",
    )
)
"""Names that would be read as words of a statement."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]+")


def write_source(guess: SourceGuess, *, name: str, path: str) -> str:
    """CREATE SOURCE, without a semicolon."""
    columns = ",\n".join(f"  {line}" for line in _columns(guess.columns))
    options = ",\n".join(f"  {option}" for option in _options(guess, path))
    return f"CREATE SOURCE {name} (\n{columns}\n) WITH (\n{options}\n)"


def doubt_lines(guess: SourceGuess) -> list[str]:
    """As comments."""
    return [f"-- Not sure: {one.replace(chr(10), ' ')}" for one in guess.doubts]


def source_name(path: str) -> str:
    """From the files' own name.

    >>> source_name("logs/access-*.log.gz"), source_name("*.csv"), source_name("2026/07.csv")
    ('access', 'records', 'records')
    """
    parts = re.split(r"[*?\[\]/]", path)
    stem = next((part for part in reversed(parts) if re.match(r"[A-Za-z_]", part)), "")
    word = _NOT_IN_NAMES.sub("_", stem.partition(".")[0]).strip("_").lower()
    return word if _PLAIN_NAME.fullmatch(word) else "records"


def quoted_name(name: str) -> str:
    """In backticks where it is not letters, digits and _."""
    is_plain = _PLAIN_NAME.fullmatch(name) and name.lower() not in RESERVED
    return name if is_plain else f"`{name.replace('`', '``')}`"


def literal(text: str) -> str:
    """A value of an option: raw where it has a backslash.

    >>> print(literal("it's"), literal(chr(9)), literal("(a+)"))
    'it\\'s' '\\t' '(a+)'
    """
    if "\\" in text and "'" not in text:
        return f"r'{text}'"
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + escaped.replace("\t", "\\t").replace("\x01", "\\u0001") + "'"


def _columns(columns: tuple[ColumnGuess, ...]) -> list[str]:
    names = [quoted_name(column.name) for column in columns]
    width = max(map(len, names))
    lines = []
    for name, column in zip(names, columns, strict=True):
        path = f" PATH {literal(column.path)}" if column.path else ""
        lines.append(f"{name:<{width}} {column.type}{path}")
    return lines


def _options(guess: SourceGuess, path: str) -> list[str]:
    time = guess.time
    found = [f"format = {literal(guess.format)}", f"path = {literal(path)}"]
    if not time.is_computed:
        found.append(f"time = {literal(time.columns[0])}")
    else:
        found.append(f"time = {time_expression(time)}")
    found += [f"{name} = {literal(value)}" for name, value in guess.options]
    if time.pattern and not time.is_computed:
        found.append(f"timestamp_format = {literal(time.pattern)}")
    return found


def time_expression(time: TimeGuess) -> str:
    """Of several columns, or of one and a year, in the quotes in which expressions stand."""
    joined = quoted_name(time.columns[0])
    if time.before:
        joined = f"'{time.before}' || {joined}"
    for symbol, name in zip(time.symbols, time.columns[1:], strict=True):
        joined += f" || '{symbol}' || {quoted_name(name)}"
    return f"\"to_timestamp({joined}, '{time.pattern}')\""
