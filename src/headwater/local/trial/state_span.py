"""From when to when states over finite files are asked for: from their first record to their last.

A state holds until it changes, so without a begin and an end it would be answered for ever. The
files say both, and are read once for that, before the question goes its way.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from pyspark.sql import SparkSession

from headwater.errors import ConfigurationError
from headwater.plan.durations import duration_text
from headwater.plan.node_sets import is_asked
from headwater.plan.query import Query
from headwater.plan.roster import Site
from headwater.plan.timestamps import timestamp_text
from headwater.spark.central import over_files
from headwater.sql.read.sql_text import name_sql
from headwater.sql.write.write_site_sql import RECORDS
from headwater.store.input.site_files import paths_below

ANSWERS_MAX = 100_000
"""Of one stream over files: a single record of long ago would ask for one a second since then."""


def with_span(query: Query, session: SparkSession, folders: Sequence[Path]) -> Query:
    """A state query with its begin and end; any other as it is. Raises ``ConfigurationError`` where
    that is too long."""
    if not query.holds_states or query.begin_pane is not None:
        return query
    asked = [folder for folder in folders if is_asked(query, Site(0, folder.name))]
    files = paths_below(asked, query.program.source.path)
    first_us, last_us = _times_us(query, session, files)
    begin, last = query.window.pane_at(first_us), query.window.pane_at(last_us)
    if last - begin >= ANSWERS_MAX:
        raise ConfigurationError(
            f"stream {query.id.name}: an answer every {duration_text(query.window.pane_us)} from "
            f"{timestamp_text(first_us)} to {timestamp_text(last_us)} would be {last - begin + 1} "
            f"of them; at most {ANSWERS_MAX}: write a longer every, or take files of a shorter time"
        )
    return msgspec.structs.replace(query, begin_pane=begin, end_pane=last + 1)


def settled(query: Query, spanned: Sequence[Query]) -> Query:
    """The query as it was compiled once more, with the span that was found for it."""
    found = next(one for one in spanned if one.id.name == query.id.name)
    return msgspec.structs.replace(query, begin_pane=found.begin_pane, end_pane=found.end_pane)


def _times_us(query: Query, session: SparkSession, files: Sequence[Path]) -> tuple[int, int]:
    """Of the first and the last record; of none: any one pane."""
    plain = msgspec.structs.replace(query, last_n=msgspec.UNSET)
    time = f"UNIX_MICROS({name_sql(query.program.source.time_column)})"
    sql = f"SELECT MIN({time}) AS first, MAX({time}) AS last FROM {RECORDS}"
    found = over_files(session, plain, files, sql)
    row = {} if found is None else found.to_pylist()[0]
    first, last = row.get("first"), row.get("last")
    return (0, 0) if first is None or last is None else (int(first), int(last))
