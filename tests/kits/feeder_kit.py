"""A feeder on a real cube and real files, with a Spark that is a list of calls."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import msgspec
from query_kit import changed
from store_kit import MERGER, query_of

from headwater.agent.config import SourcesConfig
from headwater.agent.input.declarations import SourceDeclaration
from headwater.agent.input.feeder import Feeder
from headwater.edge.outputs import Remember
from headwater.edge.record import EdgeRecord
from headwater.plan.query import Query
from headwater.plan.sources.source import Source
from headwater.reading.outcome import SiteOutcome
from headwater.spark.site.inbox import Inbox, SiteBatch
from headwater.spark.site.source_stream import SourceStream
from headwater.store.cube.cube import Cube
from headwater.store.cube.cube_queries import QueryFacts

SITE = "paris"
WAIT_S_MAX = 120.0


class Host:
    """Stands where a ``SiteHost`` stands."""

    def __init__(self) -> None:
        self.queries: dict[str, Query] = {}
        self.inboxes: dict[str, Any] = {}
        self.spark: Any = None

    def install(self, query: Query) -> None:
        self.queries[str(query.id)] = query

    def remove(self, query_id: str) -> None:
        del self.queries[query_id]

    def serve(self, site: str, inbox: Any) -> None:
        self.inboxes[site] = inbox

    def troubles(self) -> dict[str, str]:
        return {}

    def withdraw(self, site: str) -> None:
        self.inboxes.pop(site, None)

    def notice(self, source: str) -> None:
        pass


class Gate:
    """Stops whoever comes through until it is opened; tells that somebody is there."""

    def __init__(self) -> None:
        self.came = threading.Event()
        self._may_go = threading.Event()

    def pass_through(self) -> None:
        self.came.set()
        assert self._may_go.wait(WAIT_S_MAX), "the gate was never opened"

    def open(self) -> None:
        self._may_go.set()


class Site:
    """One site and what its feeder told."""

    def __init__(
        self, directory: Path, *, declared: tuple[SourceDeclaration, ...] = (), **options: Any
    ) -> None:
        self.data = directory / "data"
        self.data.mkdir(exist_ok=True)
        self.cube = Cube.open(directory / "cube", site=SITE, facts=QueryFacts(lambda _: MERGER))
        self.host = Host()
        self.begun: list[str] = []
        self.notices: list[tuple[str, str]] = []
        self.reports: list[Any] = []
        self.feeder = Feeder(
            SITE,
            self.cube,
            SourcesConfig(data=str(self.data), declared=declared, poll_s=0.01),
            host=cast(Any, self.host),
            read_from=lambda query, at_s: self.begun.append(query),
            begin_late=lambda query, at_s: None,
            offset_us=lambda query: 0,
            read_past=lambda query, is_read: None,
            next_wanted_s=lambda source, after_s: after_s + 1e-6,
            future_tolerance_s=5.0,
            future_keep_s=1e6,
            poller=ThreadPoolExecutor(1),
            **{
                "now_s": time.time,
                "report": self.reports.append,
                "notice": lambda kind, text: self.notices.append((kind, text)),
                **options,
            },
        )
        self.feeder.inbox.commanded = {"home": 1_000}

    def query(self, counter: int, source: str = "weblog", *, begin_pane: int | None = 7) -> Query:
        """Of this source, whose files are ``<source>.log``."""
        query = query_of(counter=counter)
        of = msgspec.structs.replace(query.program.source, name=source, path=f"{source}*.log")
        made = changed(query, source=of, begin_pane=begin_pane)
        self.cube.write([Remember(str(made.id), EdgeRecord(first_pane=0, source=source))])
        return made

    def write(self, *lines: str, source: str = "weblog") -> None:
        with (self.data / f"{source}.log").open("a") as file:
            file.writelines(f"{line}\n" for line in lines)

    async def install(self, counter: int, source: str = "weblog", **options: Any) -> Query:
        query = self.query(counter, source, **options)
        await self.feeder.install(query, is_new=True)
        return query

    async def first_cut(self, *lines: str) -> Query:
        """Its first query is installed, and a first cut has these lines."""
        query = await self.install(1)
        self.write(*lines)
        await self.until_cut("weblog", 1)
        return query

    async def until_cut(self, source: str, cut: int) -> None:
        """A poll has found so much."""
        await until(
            lambda: (
                source in self.cube.cuts.names() and self.cube.cuts.state(source).last_cut >= cut
            )
        )

    def stream(self, source: str = "weblog") -> Stream:
        return Stream(self, source)


@asynccontextmanager
async def running(directory: Path, **options: Any) -> AsyncIterator[Site]:
    """A site whose feeder runs; that it still does is checked at the end."""
    site = Site(directory, **options)
    task = asyncio.create_task(site.feeder.run())
    try:
        yield site
        assert not task.done(), f"the feeder ended: {task.exception()!r}"
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await site.feeder.stop()
        site.cube.close()


def with_site(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """A test whose first argument is a site whose feeder runs; the others are its fixtures."""

    async def run(directory: Path, fixtures: dict[str, Any]) -> None:
        async with running(directory) as site:
            await test(site, **fixtures)

    def tested(tmp_path: Path, **fixtures: Any) -> None:
        asyncio.run(run(tmp_path, fixtures))

    place, *_ = inspect.signature(tested).parameters.values()
    _, *others = inspect.signature(test).parameters.values()
    tested.__signature__ = inspect.Signature([place, *others])  # type: ignore[attr-defined]
    tested.__doc__ = test.__doc__
    return tested


async def until(is_so: Callable[[], object]) -> None:
    async with asyncio.timeout(WAIT_S_MAX):
        while not is_so():
            await asyncio.sleep(0.005)


class Batches:
    """In place of Spark's part of a batch: no rows, and the lines that were read."""

    def __init__(self) -> None:
        self.read: list[str] = []
        self.meanwhile: Callable[[], None] = lambda: None

    def run(self, batches: Sequence[SiteBatch]) -> list[SiteOutcome]:
        for batch in batches:
            for chunk in batch.chunks:
                self.read += chunk.path.read_text().split()
        self.meanwhile()
        return [SiteOutcome() for _ in batches]

    def clear(self) -> None:
        """There are no files to remove."""

    def close(self) -> None:
        pass


class Stream:
    """A real ``SourceStream`` whose engine is the test: ``batch`` is one trigger of Spark's."""

    def __init__(self, site: Site, source: str) -> None:
        inboxes: Mapping[str, Inbox] = {SITE: site.feeder.inbox}
        self.batches = Batches()
        self._number = -1
        self.stream = SourceStream(
            source,
            cast(Any, None),
            site.data.parent / "stream",
            sites=lambda: inboxes,
            queries=lambda _: list(site.host.queries.values()),
            commit_lock=threading.RLock(),
            batch_bytes_max=1 << 20,
            batch_rows_max=1_000_000,
        )
        self.stream._runner = cast(Any, self.batches)
        self.stream._offers = cast(Any, self)

    def offer(self) -> None:
        """Called by the stream: there is input."""

    def note_caller(self) -> None:
        """Called by the stream: a batch has come."""

    def batch(self) -> None:
        self.stream._offer()
        self._number += 1
        self.stream._batch(0, self._number)


def names(sources: Sequence[Source]) -> set[str]:
    return {source.name for source in sources}
