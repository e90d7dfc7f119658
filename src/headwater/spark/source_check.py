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
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import msgspec
from pyspark.sql import SparkSession

from headwater.algebra.malformed import Malformed
from headwater.errors import SparkFailed
from headwater.plan.query import Source
from headwater.reading.form import form_of
from headwater.spark.fields import HEAD, LINE, quoted
from headwater.spark.lines import SITE, Linked, linked
from headwater.spark.malformed import kinds_of
from headwater.spark.parse import BAD, Parser
from headwater.spark.readable import whole_files
from headwater.spark.spark_message import SPARK_ERRORS, message_of

T = TypeVar("T")
LINES = "__checked_lines"
FILE = "__file"
PART = "__part"
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
def lines_of(
    session: SparkSession, source: Source, files: Sequence[Sequence[Path]]
) -> Iterator[Checked]:
    """The files of each site, as lines that a parser of all columns reads, while it lasts."""
    form = form_of(source)
    chunks = [whole_files(of_site, form) for of_site in files]
    with (
        TemporaryDirectory(prefix="headwater-check-") as place,
        linked(Path(place) / "lines", chunks, form=form) as found,
    ):
        columns = frozenset(column.name for column in source.columns)
        _view(session, found)
        yield Checked(session, Parser(source, (columns,), headers=found.headers), len(files))


class Checked(msgspec.Struct, frozen=True):
    """Lines in the view ``LINES``, and what reads them."""

    session: SparkSession
    parser: Parser
    site_count: int

    def sites(self) -> list[SiteCheck]:
        """For each site by its number. Raises ``SparkFailed``."""
        typed = self.parser.typed_sql(LINES, keep=[SITE, FILE, PART, BLOCK, ROW])
        rows = self._run(_check_sql(typed, quoted(self.parser.source.time_column)))
        found = {row.pop(SITE): SiteCheck(**row) for row in rows}
        checks = [found.get(number, SiteCheck()) for number in range(self.site_count)]
        if not any(check.malformed for check in checks):
            return checks
        reasons = self._asked(
            lambda: kinds_of(self.session, self.parser, LINES, site_count=self.site_count)
        )
        return [
            msgspec.structs.replace(check, why=why)
            for check, why in zip(checks, reasons, strict=True)
        ]

    def first_records(self, count: int) -> list[dict[str, Any]]:
        """A few records as the parser reads them, each column as text. Raises ``SparkFailed``."""
        names = [quoted(name) for name in self.parser.columns]
        columns = ", ".join(f"CAST({name} AS STRING) AS {name}" for name in names)
        typed = self.parser.typed_sql(LINES)
        return self._run(f"SELECT {columns} FROM ({typed}) WHERE NOT {BAD}0 LIMIT {count}")

    def _run(self, sql: str) -> list[dict[str, Any]]:
        return self._asked(lambda: self.session.sql(sql).toArrow().to_pylist())

    def _asked(self, ask: Callable[[], list[T]]) -> list[T]:
        try:
            return ask()
        except SPARK_ERRORS as error:
            name = self.parser.source.name
            raise SparkFailed(f"source {name}: {message_of(error)}") from error


def _view(session: SparkSession, found: Linked) -> None:
    """With the place of each line, so that those of a file can be brought into their order: a file
    may have been written as several parts, and read as several blocks."""
    lines = session.read.text(str(found.directory))
    head = [HEAD] if HEAD in lines.columns else []
    lines.selectExpr(
        LINE,
        SITE,
        *head,
        f"substring_index(_metadata.file_name, '-', 1) AS {FILE}",
        f"CAST(regexp_extract(_metadata.file_name, '-(\\\\d+)', 1) AS INT) AS {PART}",
        f"_metadata.file_block_start AS {BLOCK}",
        f"monotonically_increasing_id() AS {ROW}",
    ).createOrReplaceTempView(LINES)


def _check_sql(typed: str, time: str) -> str:
    timed = (
        f"SELECT {SITE}, {FILE}, {PART}, {BLOCK}, {ROW}, {BAD}0 AS __bad, "
        f"if({BAD}0, NULL, unix_micros({time})) AS __us FROM ({typed})"
    )
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
