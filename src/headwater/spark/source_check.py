"""What the files of a source give, before any query runs: lines, records, times and their order.

All of it by Spark and the parser that sites use, with every column needed: a line counts as
malformed where any field of it can't be read.

How far records lie behind: for each the highest time before it in its own file, less its own. A
follower that reads a file as it grows sees the same, so the 99.9th percentile is the ``disorder``
with which one record in a thousand is late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from pyspark.sql import DataFrame, SparkSession

from headwater.algebra.malformed import Malformed
from headwater.errors import SparkFailed
from headwater.plan.compressed import expanded_suffix
from headwater.plan.query import Source
from headwater.spark.fields import quoted
from headwater.spark.lines import SITE
from headwater.spark.malformed import kinds_of
from headwater.spark.parse import BAD, Parser
from headwater.spark.spark_message import SPARK_ERRORS, message_of

T = TypeVar("T")
LINES = "__checked_lines"
FILE = "__file"
BLOCK = "__block"
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


@contextmanager
def linked_files(directory: Path, files: Sequence[Sequence[Path]]) -> Iterator[Path]:
    """A directory with links to the files of each site, by the site's number."""
    for number, of_site in enumerate(files):
        folder = directory / f"{SITE}={number}"
        folder.mkdir(parents=True)
        for at, path in enumerate(of_site):
            (folder / f"{at}{expanded_suffix(path.name) or '.txt'}").symlink_to(path.absolute())
    yield directory


def check_sites(
    session: SparkSession, source: Source, directory: Path, *, site_count: int
) -> list[SiteCheck]:
    """For each site by its number. Raises ``SparkFailed``."""
    parser = _parser(source)
    _lines(session, directory)
    typed = parser.typed_sql(LINES, keep=[SITE, FILE, BLOCK, ROW])
    rows = _run(session, source, _check_sql(typed, quoted(source.time_column)))
    found = {row.pop(SITE): SiteCheck(**row) for row in rows}
    checks = [found.get(number, SiteCheck()) for number in range(site_count)]
    if not any(check.malformed for check in checks):
        return checks
    reasons = _asked(source, lambda: kinds_of(session, parser, LINES, site_count=site_count))
    return [
        msgspec.structs.replace(check, why=why) for check, why in zip(checks, reasons, strict=True)
    ]


def first_records(
    session: SparkSession, source: Source, directory: Path, *, count: int
) -> list[dict[str, Any]]:
    """A few records as the parser reads them, each column as text."""
    parser = _parser(source)
    _lines(session, directory)
    columns = ", ".join(f"CAST({quoted(one)} AS STRING) AS {quoted(one)}" for one in parser.columns)
    typed = parser.typed_sql(LINES)
    return _run(session, source, f"SELECT {columns} FROM ({typed}) WHERE NOT {BAD}0 LIMIT {count}")


def _parser(source: Source) -> Parser:
    return Parser(source, (frozenset(column.name for column in source.columns),))


def _lines(session: SparkSession, directory: Path) -> DataFrame:
    """With the place of each line, so that those of a file can be brought into their order."""
    lines = session.read.text(str(directory)).selectExpr(
        "value",
        SITE,
        f"_metadata.file_name AS {FILE}",
        f"_metadata.file_block_start AS {BLOCK}",
        f"monotonically_increasing_id() AS {ROW}",
    )
    lines.createOrReplaceTempView(LINES)
    return lines


def _check_sql(typed: str, time: str) -> str:
    timed = (
        f"SELECT {SITE}, {FILE}, {BLOCK}, {ROW}, {BAD}0 AS __bad, "
        f"if({BAD}0, NULL, unix_micros({time})) AS __us FROM ({typed})"
    )
    behind = (
        f"SELECT {SITE}, __bad, __us, max(__us) OVER (PARTITION BY {SITE}, {FILE} "
        f"ORDER BY {BLOCK}, {ROW} ROWS UNBOUNDED PRECEDING) - __us AS __behind FROM ({timed})"
    )
    return (
        f"SELECT {SITE}, count(*) AS lines, count_if(__bad) AS malformed, min(__us) AS first_us, "
        f"max(__us) AS last_us, count_if(__behind > 0) AS behind, "
        f"percentile_approx(__behind, {BEHIND_SHARE}D, {ACCURACY}) AS behind_us, "
        f"max(__behind) AS behind_us_max FROM ({behind}) GROUP BY {SITE}"
    )


def _run(session: SparkSession, source: Source, sql: str) -> list[dict[str, Any]]:
    return _asked(source, lambda: session.sql(sql).toArrow().to_pylist())


def _asked(source: Source, ask: Callable[[], list[T]]) -> list[T]:
    try:
        return ask()
    except SPARK_ERRORS as error:
        raise SparkFailed(f"source {source.name}: {message_of(error)}") from error
