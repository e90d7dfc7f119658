"""Former queries of which answers are left: what ``headwater streams --former`` lists.

A stream that is installed anew has a new id and the same directory of results; one that is removed
leaves its directory. Answers stay there until somebody removes them or there are too many, and
whoever reads the directory meets them. Nobody else knows of them: a removed query leaves no word
behind, so the published headers tell all that is told here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from headwater.agent.control import control_api as api
from headwater.agent.runtime import SiteRuntime
from headwater.agent.time_text import iso_of
from headwater.errors import StoreError
from headwater.store.results.results import ResultsReader

COLUMNS = ("query", "stream", "window", "window_start", "answered_at")
MOMENTS = (("window_start", "min"), ("window_start", "max"), ("answered_at", "max"))


def former_lines(runtime: SiteRuntime) -> tuple[api.FormerLine, ...]:
    """Of all streams that were answered here, by stream and then by when they ended."""
    directory = runtime.stores.results_directory
    live = set(runtime.node.peer.live_queries())
    places = sorted(place for place in directory.glob("*") if place.is_dir())
    return tuple(
        _line(left, place)
        for place in places
        for left in left_in(place)
        if left["query"] not in live
    )


def left_in(place: Path) -> list[dict[str, Any]]:
    """By query: what its published headers say, the oldest query first."""
    kinds: dict[pa.DataType, list[pa.Table]] = {}  # a successor may have windows of numbers
    for table in _headers(ResultsReader(place)):
        kinds.setdefault(table.schema.field("window_start").type, []).append(table)
    grouped = [pa.concat_tables(tables).group_by(["query", "stream"]) for tables in kinds.values()]
    counted = [one.aggregate([("window", "count_distinct"), *MOMENTS]) for one in grouped]
    found = [line for table in counted for line in table.to_pylist()]
    return sorted(found, key=lambda line: line["answered_at_max"])


def _headers(reader: ResultsReader) -> Iterator[pa.Table]:
    for seq in reader.publications():
        with contextlib.suppress(StoreError):  # it was the oldest, and is removed by now
            yield reader.headers(seq).select(COLUMNS)


def _line(left: dict[str, Any], place: Path) -> api.FormerLine:
    def at(column: str) -> str:
        moment = left[column]
        return iso_of(moment) if isinstance(moment, datetime) else str(moment)

    return api.FormerLine(
        left["stream"],
        left["query"],
        ended=at("answered_at_max"),
        windows=left["window_count_distinct"],
        first=at("window_start_min"),
        newest=at("window_start_max"),
        results=str(place),
    )
