"""The reference: the same question by one plain Spark over all files of all sites.

It shares with the site part what decides on records, the parser, and nothing else: no panes, no
partial aggregates, no cubes. ``try --compare`` and the demo hold every answer against it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.errors import ArithmeticException
from pyspark.sql import SparkSession

from headwater.errors import AnswerOverflow, SparkFailed
from headwater.plan.query import Query
from headwater.spark.parse import Parser
from headwater.spark.root_part import split_by_window
from headwater.spark.session import apply_settings
from headwater.spark.site_part import over_records
from headwater.spark.spark_message import SPARK_ERRORS, message_of

LINES = "__lines"
GLOB_SIGNS = re.compile(r"([\\*?\[\]{}])")


def central_answers(
    session: SparkSession, query: Query, folders: Sequence[Path], *, before_us: int | None = None
) -> dict[int, pa.Table]:
    """The answer's rows for each window that has any; the source's path is below each folder.

    ``before_us`` is the fence of the sites that it is compared with: records from there on are
    refused. A finite input has none.

    Raises ``AnswerOverflow`` where a value leaves its type, else ``SparkFailed``.
    """
    own = apply_settings(session, dict(query.settings))
    files = [path for folder in folders for path in files_of(query, folder)]
    if not files:
        return {}
    parser = Parser(query.source, (frozenset(query.columns_used),))
    lines = own.read.text([GLOB_SIGNS.sub(r"\\\1", str(path)) for path in files])
    lines.createOrReplaceTempView(LINES)
    before = None if before_us is None else f"{before_us}L"
    records = parser.records_sql(f"({parser.typed_sql(LINES)})", 0, before_us=before)
    try:
        answer = own.sql(over_records(records, query.central_sql)).toArrow()
    except ArithmeticException as error:
        raise AnswerOverflow(f"query {query.id}, one Spark: {message_of(error)}") from error
    except SPARK_ERRORS as error:
        raise SparkFailed(f"query {query.id}, one Spark: {message_of(error)}") from error
    return split_by_window(query, answer)


def files_of(query: Query, folder: Path) -> list[Path]:
    """The files that the source names below this folder, by their names."""
    path = query.source.path
    if Path(path).is_absolute():
        base = Path(path).anchor
        return sorted(found for found in Path(base).glob(path[len(base) :]) if found.is_file())
    return sorted(found for found in folder.glob(path) if found.is_file())
