"""Which queries for the earliest records come too late for them."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
from store_kit import MERGER, query_of

from headwater.agent.config import SourcesConfig
from headwater.agent.input.feeder import Feeder
from headwater.store.cube.cube import Cube
from headwater.store.cube.cube_queries import QueryFacts


def late_ones(tmp_path: Path, *queries: tuple[int | None, int]) -> list[str]:
    """Install queries of (begin pane, last number of its file); those whose past is read."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.log").write_text("a line\n")
    late: list[str] = []

    async def run() -> None:
        cube = Cube.open(tmp_path / "cube", site="paris", facts=QueryFacts(lambda _: MERGER))
        host: Any = SimpleNamespace(
            install=lambda query: None, notice=lambda source: None, withdraw=lambda site: None
        )
        feeder = Feeder(
            "paris",
            cube,
            SourcesConfig(data=str(tmp_path / "data")),
            host=host,
            now_s=time.time,
            report=lambda report: None,
            read_from=lambda query, at_s: None,
            begin_late=lambda query, at_s: None,
            offset_us=lambda query: 0,
            read_past=lambda query, is_read: late.append(query) if is_read else None,
            next_wanted_s=lambda source, after_s: after_s,
            future_tolerance_s=5.0,
            future_keep_s=1e6,
            poller=ThreadPoolExecutor(1),
        )
        for number, (begin_pane, unit_last) in enumerate(queries, start=1):
            query = msgspec.structs.replace(
                query_of(counter=number), begin_pane=begin_pane, unit_last=unit_last
            )
            await feeder.install(query, is_new=True)
        await feeder.stop()
        cube.close()

    asyncio.run(run())
    return late


def test_the_first_query_and_those_of_its_file_get_the_earliest_records(tmp_path: Path) -> None:
    assert late_ones(tmp_path, (None, 2), (None, 2)) == []


def test_a_query_of_another_file_comes_late(tmp_path: Path) -> None:
    assert late_ones(tmp_path, (None, 1), (None, 2)) == ["hits@home#2"]


def test_where_the_source_is_read_from_its_end_the_earliest_is_gone(tmp_path: Path) -> None:
    assert late_ones(tmp_path, (7, 2), (None, 2)) == ["hits@home#2"]
