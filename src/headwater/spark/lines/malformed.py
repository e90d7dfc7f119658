"""Why lines are malformed: which field, what was wanted, what came; and how many of each kind.

A count alone helps nobody: a comma at the end of every line and one broken record look alike. So
where a batch has malformed lines they are read once more, and grouped by the first thing that is
wrong with each: the line as such, then its time, then its fields in the source's order. A line is
in one group, so the groups add up to the count. Lines that are records cost nothing here.

It is asked of the parser, with a need for each column by itself: whatever format it reads, the
flags say which fields are bad.

What is shown of a value is cut, and has no control characters. Who may see it at all is the site's
decision (``algebra/words/malformed.py``).
"""

from __future__ import annotations

from typing import Any

import msgspec
from pyspark.sql import SparkSession

from headwater.algebra.words.malformed import Malformed, most_frequent
from headwater.shown_text import shown_line
from headwater.spark.lines.fields import literal
from headwater.spark.lines.lines import SITE
from headwater.spark.lines.parse import BAD, FAULT, TEXT, TOLD_LINE, Parser

LINE_CHARACTERS = 200
VALUE_CHARACTERS = 60
"""Of a malformed line, and of what came in a field, as much as is shown."""


def kinds_of(
    session: SparkSession, parser: Parser, lines: str, *, site_count: int
) -> list[tuple[Malformed, ...]]:
    """For each site by its number: why lines of the view ``lines`` are malformed for a query of the
    parser, the most frequent reason first."""
    rows = session.sql(_kinds_sql(parser, lines)).toArrow().to_pylist()
    found: list[list[Malformed]] = [[] for _ in range(site_count)]
    for row in rows:
        found[row[SITE]].append(_kind(parser, row))
    return [most_frequent(of_site) for of_site in found]


def _kinds_sql(parser: Parser, lines: str) -> str:
    """By site, number of the column (-1: the line as such), whether it is empty, and fault."""
    by_column = msgspec.structs.replace(
        parser, needs=tuple(frozenset({name}) for name in parser.columns)
    )
    explained = by_column.typed_sql(lines, keep=[SITE], is_explained=True)
    time = parser.columns.index(parser.source.time_column)
    order = [time, *(n for n in range(len(parser.columns)) if n != time)]
    first = " ".join(
        f"WHEN {parser.is_no_time if n == time else f'{BAD}{n}'} THEN {n}" for n in order
    )
    kind = f"CASE WHEN {FAULT} IS NOT NULL THEN -1 {first} END"
    texts = [f"{TEXT}{n}" for n in range(len(parser.columns))]
    numbered = (
        f"SELECT {SITE}, {TOLD_LINE}, {FAULT}, {', '.join(texts)}, {kind} AS __kind, "
        f"monotonically_increasing_id() AS __at FROM ({explained}) "
        f"WHERE {' OR '.join(f'{BAD}{n}' for n in order)}"
    )
    came = " ".join(f"WHEN {n} THEN {text}" for n, text in enumerate(texts))
    shown = (
        f"SELECT {SITE}, __kind, coalesce({FAULT}, '') AS fault, __at, "
        f"{_shortened(f'CASE __kind {came} END', VALUE_CHARACTERS)} AS came, "
        f"{_shortened(TOLD_LINE, LINE_CHARACTERS)} AS sample FROM ({numbered})"
    )
    return (
        f"SELECT {SITE}, __kind, fault, coalesce(came, '') = '' AS is_empty, count(*) AS lines, "
        f"min_by(came, __at) AS came, min_by(sample, __at) AS sample "
        f"FROM ({shown}) GROUP BY 1, 2, 3, 4"
    )


def _shortened(text: str, characters: int) -> str:
    """With a sign where something is left away: a value that is cut must not pass for whole."""
    short = f"concat(left({text}, {characters - 1}), {literal('…')})"
    return f"make_valid_utf8(if(length({text}) > {characters}, {short}, {text}))"


def _kind(parser: Parser, row: dict[str, Any]) -> Malformed:
    sample = shown_line(row["sample"])
    number = row["__kind"]
    if number < 0:
        return Malformed(row["fault"], row["lines"], sample=sample)
    (column,) = [one for one in parser.source.columns if one.name == parser.columns[number]]
    if row["is_empty"]:
        return Malformed(f"{column.name}: wanted a time, it is empty", row["lines"], sample=sample)
    form = _form(parser, column.type)
    came = None if row["came"] is None else shown_line(row["came"])
    return Malformed(
        reason=f"{column.name}: wanted {column.type}{form}",
        lines=row["lines"],
        came=came,
        sample=sample,
    )


def _form(parser: Parser, type_: str) -> str:
    """How it should be written, where the source says so."""
    written = dict(parser.source.options).get(f"{type_}_format")
    return "" if written is None else f" written as '{written}'"
