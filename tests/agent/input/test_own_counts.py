"""What a site counts itself goes on from batch to batch, and again where a batch ended badly.

The feeder, the cube and the stream of the source are real; Spark's part is a count of lines.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from feeder_kit import Batches, Site, Stream, running

from headwater.algebra.panes import WindowSpec
from headwater.algebra.windows.sequence_grid import ROW, SequenceGrid
from headwater.plan.query import Query
from headwater.reading.outcome import QueryResult, SiteOutcome
from headwater.spark.site.inbox import SiteBatch


class Counting(Batches):
    def __init__(self) -> None:
        super().__init__()
        self.starts: list[int] = []

    def run(self, batches: Sequence[SiteBatch]) -> list[SiteOutcome]:
        (batch,) = batches
        ((query, start),) = batch.starts.items()
        self.starts.append(start)
        before = len(self.read)
        super().run(batches)
        lines = len(self.read) - before
        return [SiteOutcome((QueryResult(query, counted_through=start + lines),))]


def counting(stream: Stream) -> Counting:
    stream.batches = Counting()
    stream.stream._runner = cast(Any, stream.batches)
    return stream.batches


async def install(site: Site) -> Query:
    query = msgspec.structs.replace(
        site.query(1, begin_pane=0), window=WindowSpec(10, 10), sequence=SequenceGrid(ROW)
    )
    await site.feeder.install(query, is_new=True)
    return query


class Crash(Exception):
    pass


def crash() -> None:
    raise Crash


def test_a_batch_that_ended_badly_begins_where_it_began_and_the_next_one_behind_it(
    tmp_path: Path,
) -> None:
    async def run() -> None:
        async with running(tmp_path) as site:
            query = await install(site)
            site.write("a", "b", "c")
            await site.until_cut("weblog", 1)
            stream = site.stream()
            batches = counting(stream)
            batches.meanwhile = crash
            with pytest.raises(Crash):
                stream.batch()
            batches.meanwhile = lambda: None
            stream.batch()
            site.write("d", "e")
            await site.until_cut("weblog", 2)
            stream.batch()
            assert batches.starts == [0, 0, 3]
            assert site.feeder.inbox.counted(query) == 5
        async with running(tmp_path) as site:  # a restart
            assert site.cube.counted(str(query.id), query.window) == 5

    asyncio.run(run())
