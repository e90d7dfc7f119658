"""What the files of a source give, before any query runs: lines, records, times and their order.

All of it by Spark and the parser that sites use, with every column needed: a line counts as
malformed where any field of it can't be read.

How far records lie behind: for each the highest time before it in its own file, less its own. A
follower that reads a file as it grows sees the same, so the 99.9th percentile is the ``disorder``
with which one record in a thousand is late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import msgspec
from pyspark.sql import SparkSession

from headwater.algebra.words.malformed import Malformed, added
from headwater.errors import SparkFailed
from headwater.plan.sources.local_times import Guessed, guessing_zone
from headwater.plan.sources.source import Source
from headwater.reading.chunk import Chunk
from headwater.reading.form import Form, form_of
from headwater.spark.lines.fields import quoted
from headwater.spark.lines.guessed_times import guessed_sql
from headwater.spark.lines.lines import LARGE_BYTES, SITE, Linked, linked, read_lines, with_types
from headwater.spark.lines.malformed import kinds_of
from headwater.spark.lines.parse import BAD, Parser
from headwater.spark.lines.readable import ChunkUnreadable, look_at
from headwater.spark.lines.record_order import BLOCK, FILE
from headwater.spark.spark_message import SPARK_ERRORS, message_of

T = TypeVar("T")
LINES = "__checked_lines"
PART = "__part"
ROW = "__row"
BEHIND_SHARE = 0.999
ACCURACY = 10_000
"""Of the percentile: off by a ten thousandth of the records at most."""


class SiteCheck(msgspec.Struct, frozen=True):
    """Of one site's files."""

    lines: int = 0
    """That are records or malformed."""
    malformed: int = 0
    first_us: int | None = None
    last_us: int | None = None
    behind: int = 0
    """Records that lie behind an earlier one of their file."""
    behind_us: int | None = None
    """How far the 99.9th percentile does."""
    behind_us_max: int | None = None
    why: tuple[Malformed, ...] = ()
    """Why lines are malformed, the most frequent reason first."""
    guessed: Guessed = Guessed()


@contextmanager
def lines_of(
    session: SparkSession,
    source: Source,
    files: Sequence[Sequence[Path]],
    *,
    rows_max: int | None = None,
) -> Iterator[Checked]:
    """The files of each site, as lines that a parser of all columns reads, while it lasts.
    ``rows_max``: of files with columns of their own no more is read; for who wants a sample."""
    form = form_of(source)
    looked = [look_at(of_site, form) for of_site in files]
    unread = [dict(one.unread) for one in looked]
    chunks = [list(one.files) for one in looked]
    with TemporaryDirectory(prefix="headwater-check-") as place, ExitStack() as stack:
        parts = []
        for number, of_kind in enumerate(_alike(chunks, form)):
            lines = Path(place) / f"{number}"
            found = stack.enter_context(_readable(lines, of_kind, form, unread))
            parts.append(_part(session, source, found, f"{LINES}_{number}", rows_max=rows_max))
        yield Checked(session, tuple(parts), tuple(unread))


Chunks = list[list[Chunk]]
"""Of each site."""


def _alike(chunks: Chunks, form: Form) -> list[Chunks]:
    """Together what Spark may read together: files with the same columns in the same types."""
    if not form.columnar:
        return [chunks]
    kinds = dict.fromkeys(one.header for of_site in chunks for one in of_site)
    return [
        [[one for one in of_site if one.header == kind] for of_site in chunks] for kind in kinds
    ]


@contextmanager
def _readable(
    place: Path, chunks: Chunks, form: Form, unread: Sequence[dict[Path, str]]
) -> Iterator[Linked]:
    """Linked, without those that can't be made lines: one after the other they go to ``unread``."""
    kept = [list(of_site) for of_site in chunks]
    with ExitStack() as stack:
        while True:
            try:
                found = stack.enter_context(linked(place, kept, form=form))
                break
            except ChunkUnreadable as error:
                for site, of_site in enumerate(kept):
                    if any(one is error.chunk for one in of_site):
                        unread[site][Path(error.chunk.path)] = error.reason
                        of_site[:] = [one for one in of_site if one is not error.chunk]
        yield found


class Part(msgspec.Struct, frozen=True):
    """Files that are parsed alike."""

    parser: Parser
    lines: str
    """The view of their lines, with the place of each."""


class Checked(msgspec.Struct, frozen=True):
    """What each site's files are read as."""

    session: SparkSession
    parts: tuple[Part, ...]
    unread: tuple[dict[Path, str], ...]
    """By site: files that are not read, and why."""

    def sites(self) -> list[SiteCheck]:
        """For each site by its number. Raises ``SparkFailed``."""
        if not self.parts:
            return [SiteCheck() for _ in self.unread]
        rows = self._run(_check_sql([_timed(one) for one in self.parts]))
        found = {row.pop(SITE): SiteCheck(**row) for row in rows}
        checks = [
            msgspec.structs.replace(found.get(number, SiteCheck()), guessed=guessed)
            for number, guessed in enumerate(self.guessed())
        ]
        if not any(check.malformed for check in checks):
            return checks
        return [
            msgspec.structs.replace(check, why=why)
            for check, why in zip(checks, self._reasons(), strict=True)
        ]

    def guessed(self) -> list[Guessed]:
        """For each site by its number: records whose time is a guess. Raises ``SparkFailed``."""
        found = [Guessed() for _ in self.unread]
        for one in self.parts:
            zone = guessing_zone(one.parser.source)
            sql = guessed_sql(one.parser, one.lines, zone, keep=SITE) if zone else None
            for row in self._run(sql) if sql is not None else ():
                found[row.pop(SITE)] += Guessed(zone, **row)
        return found

    def _reasons(self) -> list[tuple[Malformed, ...]]:
        count = len(self.unread)
        reasons: list[tuple[Malformed, ...]] = [()] * count
        for one in self.parts:
            kinds = partial(kinds_of, self.session, one.parser, one.lines, site_count=count)
            reasons = [added(*pair) for pair in zip(reasons, self._asked(kinds), strict=True)]
        return reasons

    def first_records(self, count: int) -> list[dict[str, Any]]:
        """A few records as the parser reads them, each column as text. Raises ``SparkFailed``."""
        found: list[dict[str, Any]] = []
        for one in self.parts:
            names = [quoted(name) for name in one.parser.columns]
            columns = ", ".join(f"{_shown(one.parser, name)} AS {name}" for name in names)
            typed = one.parser.typed_sql(one.lines)
            rest = count - len(found)
            found += self._run(f"SELECT {columns} FROM ({typed}) WHERE NOT {BAD}0 LIMIT {rest}")
        return found

    def _run(self, sql: str) -> list[dict[str, Any]]:
        return self._asked(lambda: self.session.sql(sql).toArrow().to_pylist())

    def _asked(self, ask: Callable[[], list[T]]) -> list[T]:
        with _told_of(self.parts[0].parser.source):
            return ask()


@contextmanager
def _told_of(source: Source) -> Iterator[None]:
    try:
        yield
    except SPARK_ERRORS as error:
        raise SparkFailed(f"source {source.name}: {message_of(error)}") from error


def _shown(parser: Parser, name: str) -> str:
    """A column as text; bytes in hexadecimal, for they may be no text."""
    (type_,) = [one.type for one in parser.source.columns if quoted(one.name) == name]
    return f"hex({name})" if type_ == "binary" else f"CAST({name} AS STRING)"


def _part(
    session: SparkSession, source: Source, found: Linked, view: str, *, rows_max: int | None
) -> Part:
    """With the place of each line, so that those of a file can be brought into their order: a file
    may have been written as several parts, and read as several blocks."""
    columns = frozenset(column.name for column in source.columns)
    parser = Parser(source, (columns,), headers=found.headers)
    with _told_of(source):
        lines = read_lines(session, found, byte_count=LARGE_BYTES)
        placed = lines.selectExpr(
            *map(quoted, lines.columns),
            f"substring_index(_metadata.file_name, '-', 1) AS {FILE}",
            f"CAST(regexp_extract(_metadata.file_name, '-(\\\\d+)', 1) AS INT) AS {PART}",
            f"_metadata.file_block_start AS {BLOCK}",
            f"monotonically_increasing_id() AS {ROW}",
        )
        if found.columnar and rows_max is not None:
            start = placed.limit(rows_max)
            placed = session.createDataFrame(start.toArrow(), start.schema)
        placed.createOrReplaceTempView(view)
    return Part(with_types(parser, found, lines), view)


def _timed(part: Part) -> str:
    """Of each line its place, whether it is malformed, and its time."""
    typed = part.parser.typed_sql(part.lines, keep=[SITE, FILE, PART, BLOCK, ROW])
    time = quoted(part.parser.source.time_column)
    return (
        f"SELECT {SITE}, {FILE}, {PART}, {BLOCK}, {ROW}, {BAD}0 AS __bad, "
        f"if({BAD}0, NULL, unix_micros({time})) AS __us FROM ({typed})"
    )


def _check_sql(parts: Sequence[str]) -> str:
    timed = " UNION ALL ".join(parts)
    behind = (
        f"SELECT {SITE}, __bad, __us, max(__us) OVER (PARTITION BY {SITE}, {FILE} "
        f"ORDER BY {PART}, {BLOCK}, {ROW} ROWS UNBOUNDED PRECEDING) - __us AS __behind "
        f"FROM ({timed})"
    )
    return (
        f"SELECT {SITE}, count(*) AS lines, count_if(__bad) AS malformed, min(__us) AS first_us, "
        f"max(__us) AS last_us, count_if(__behind > 0) AS behind, "
        f"percentile_approx(__behind, {BEHIND_SHARE}D, {ACCURACY}) AS behind_us, "
        f"max(__behind) AS behind_us_max FROM ({behind}) GROUP BY {SITE}"
    )
