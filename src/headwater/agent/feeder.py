"""One site's input on its way to Spark: files are polled, chunks offered, batches committed.

A source is followed from the first query that reads it until the last one is removed. Polls run
in a thread, batches are committed by Spark's threads, and both bring a ``BatchReport`` to the
node, on the event loop. ``SiteInbox`` is what the Spark host sees of it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import msgspec
import structlog

from headwater.agent.admission import source_directory
from headwater.agent.config import SourcesConfig
from headwater.edge.report import BatchReport
from headwater.errors import StoreError
from headwater.plan.query import Query, Source
from headwater.spark.fence import Fence
from headwater.spark.site_host import SiteHost
from headwater.store.batch_rows import QueryResult
from headwater.store.chunk import Chunk
from headwater.store.cube import Cube
from headwater.store.finite import FiniteInput
from headwater.store.follow import LogFollower
from headwater.store.poll import Poll, Start

log = structlog.get_logger()

SAMPLES_MAX = 20
"""Malformed lines that are kept to be shown, for each source."""
RETRY_S = 1.0
"""After a poll that failed as a whole."""


@dataclass
class Followed:
    """One source at this site."""

    source: Source
    input: LogFollower | FiniteInput
    is_from_start: bool
    """What was in the files when they were first looked at is read, too."""
    queries: set[str] = field(default_factory=set)
    units: set[tuple[str, int]] = field(default_factory=set)
    """(installer, last number) of the files that its queries came with."""
    poll: Poll | None = None
    samples: deque[str] = field(default_factory=lambda: deque(maxlen=SAMPLES_MAX))
    record_count: int = 0
    unparsed_count: int = 0
    fenced_count: int = 0
    refused_count: int = 0
    has_ended: bool = False


class Feeder:
    """Driven by the event loop; ``inbox`` methods are called by Spark's threads."""

    def __init__(
        self,
        site: str,
        cube: Cube,
        config: SourcesConfig,
        *,
        host: SiteHost | None,
        now_s: Callable[[], float],
        report: Callable[[BatchReport], None],
        read_from: Callable[[str, float], None],
        offset_us: Callable[[str], int],
        begin_late: Callable[[str, float], None],
        future_tolerance_s: float,
        future_keep_s: float,
    ) -> None:
        """``future_tolerance_s`` is for sources that don't say it themselves; records that are
        more than ``future_keep_s`` ahead of the clock are refused."""
        self.site = site
        self.followed: dict[str, Followed] = {}
        self._cube = cube
        self._config = config
        self._host = host
        self._now_s = now_s
        self._report = report
        self._read_from = read_from
        self.offset_us = offset_us
        """Of an ``Inbox``: what is added to the times of a query's records."""
        self._begin_late = begin_late
        self._future_tolerance_s = future_tolerance_s
        self._future_keep_s = future_keep_s
        self._loop = asyncio.get_running_loop()
        self._poller = ThreadPoolExecutor(1, thread_name_prefix=f"{site}-poll")
        self.commanded: Mapping[str, int] = {}
        """By installer: all its commands up to this number have been done here."""
        self._input_ends = False
        self._is_open = True
        self._wake = asyncio.Event()
        self._has_news = False
        """Sources or queries that Spark has not been told of."""

    # Queries come and go

    async def install(self, query: Query, *, is_new: bool) -> None:
        """Read the query's source from now on. Raises where its path leads outside.

        A new source is polled at once, which settles from where its files are read. The site is
        served to Spark by ``run`` only: after a restart all queries are there by then.
        """
        if self._host is None:
            return
        key = query.source.name
        if key not in self.followed:
            is_from_start = query.begin_pane is None or query.ends
            self.followed[key] = Followed(query.source, self._open(query), is_from_start)
        followed = self.followed[key]
        is_missed = is_new and self._has_missed(query, followed)
        followed.queries.add(str(query.id))
        followed.units.add((query.id.installer, query.unit_last))
        self._host.install(query)
        if not self._cube.cuts.state(key).is_begun:
            await self._poll(followed)
        elif is_new:
            self._read_from(str(query.id), self._now_s())
        if is_missed:
            self._begin_late(str(query.id), self._now_s())
        self._has_news = True
        self._wake.set()

    def _has_missed(self, query: Query, followed: Followed) -> bool:
        """Whether a query that wants the earliest records comes too late for them.

        It does not if it is the first of its source, or came with the first in one file: Spark
        reads nothing before a file's queries are all there.
        """
        if query.begin_pane is not None:
            return False
        is_first = not followed.queries or (query.id.installer, query.unit_last) in followed.units
        is_unread = self._cube.cuts.state(query.source.name).committed_cut == 0
        return not (followed.is_from_start and is_first and is_unread)

    def withdraw(self, query_id: str) -> None:
        """Stop running this query here; a source that nobody reads is forgotten."""
        for key, followed in list(self.followed.items()):
            followed.queries.discard(query_id)
            if not followed.queries:
                del self.followed[key]
                followed.input.close()
                self._cube.cuts.forget_source(key)

    def _open(self, query: Query) -> LogFollower | FiniteInput:
        source = query.source
        directory, pattern = source_directory(source, self._config)
        if query.ends:
            return FiniteInput(
                self._cube.cuts, source=source.name, directory=directory, pattern=pattern
            )
        start = Start.BEGINNING if query.begin_pane is None else Start.END
        return LogFollower(
            self._cube.cuts, source=source.name, directory=directory, pattern=pattern, start=start
        )

    # Polling

    async def run(self) -> None:
        while True:
            self._wake.clear()
            if self._has_news and self._host is not None:
                self._has_news = False
                self._host.serve(self.site, self)
            for followed in list(self.followed.values()):
                await self._poll(followed)
            try:
                async with asyncio.timeout(self._config.poll_s):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def _poll(self, followed: Followed) -> None:
        now_s = self._now_s()
        was_begun = self._cube.cuts.state(followed.source.name).is_begun
        try:
            poll = await self._loop.run_in_executor(
                self._poller, lambda: followed.input.poll(now_s=now_s)
            )
        except StoreError as error:
            log.warning("poll failed", site=self.site, error=str(error))
            await asyncio.sleep(RETRY_S)
            return
        followed.poll = poll
        if not was_begun and self._cube.cuts.state(followed.source.name).is_begun:
            for query_id in followed.queries:
                self._read_from(query_id, self._now_s())
        if poll.cuts and self._host is not None:
            self._host.notice(followed.source.name)
        if poll.report is not None:
            self._tell(followed, poll.report)

    def _tell(self, followed: Followed, report: BatchReport) -> None:
        """On the event loop."""
        if self._input_ends and self._is_all_read(followed):
            report = msgspec.structs.replace(report, ended=True)
        followed.has_ended = report.ended
        self._report(report)

    def _is_all_read(self, followed: Followed) -> bool:
        """A poll since ``end_input`` has found the end, and all that was found is committed."""
        state = self._cube.cuts.state(followed.source.name)
        is_clean = followed.poll is not None and followed.poll.is_clean
        return is_clean and state.committed_cut == state.last_cut

    def end_input(self) -> None:
        """Nothing more will be written: what is there is all, as soon as it is read."""
        self._input_ends = True
        for followed in self.followed.values():
            followed.poll = None
        self._wake.set()

    async def stop(self) -> None:
        """No batch is committed once this has returned."""
        if self._host is not None:
            host = self._host
            await asyncio.to_thread(host.withdraw, self.site)
        self._is_open = False
        self._poller.shutdown(wait=True)
        for followed in self.followed.values():
            followed.input.close()

    # What the Spark host asks (an ``Inbox``), from its own threads

    def sources(self) -> list[Source]:
        followed = list(self.followed.values())
        return [one.source for one in followed if all(map(self._is_whole, list(one.units)))]

    def _is_whole(self, unit: tuple[str, int]) -> bool:
        """All statements of this file are installed, or refused, or removed again."""
        installer, last = unit
        return self.commanded.get(installer, 0) >= last

    def runs(self, query_id: str) -> bool:
        return any(query_id in followed.queries for followed in list(self.followed.values()))

    def pending(self, source: str, *, after_cut: int | None, bytes_max: int) -> list[Chunk]:
        return self._cube.cuts.pending(source, after_cut=after_cut, bytes_max=bytes_max)

    def fence(self, source: str) -> Fence:
        """A finite input has none: nothing of it closes by a clock."""
        followed = self.followed.get(source)
        if followed is None or isinstance(followed.input, FiniteInput):
            return Fence()
        return Fence.at(
            self._now_s(),
            tolerance_s=followed.source.future_tolerance_s(self._future_tolerance_s),
            keep_s=self._future_keep_s,
        )

    def committed_cut(self, source: str) -> int:
        return self._cube.cuts.state(source).committed_cut

    def epoch(self, source: str) -> int:
        return self._cube.cuts.state(source).epoch

    def new_epoch(self, source: str) -> int:
        return self._cube.cuts.begin_epoch(source)

    def quarantine(self, source: str, cut: int, reason: str) -> None:
        log.warning("chunk quarantined", site=self.site, source=source, cut=cut, reason=reason)
        self._cube.cuts.quarantine(source, cut)

    def commit(
        self,
        source: str,
        *,
        epoch: int,
        batch_id: int,
        through_cut: int,
        results: Sequence[QueryResult],
        unparsed: int,
        samples: Sequence[str],
        high_time_us: int | None,
        records: int = 0,
        fenced: int = 0,
        refused: int = 0,
    ) -> None:
        """Make one batch durable, then tell the node."""
        report = self._cube.commit_batch(
            source=source,
            epoch=epoch,
            batch_id=batch_id,
            through_cut=through_cut,
            results=results,
            high_time_us=high_time_us,
            unparsed=unparsed,
            fenced=fenced,
            refused=refused,
        )
        self._loop.call_soon_threadsafe(self._committed, source, report, records, tuple(samples))

    def _committed(
        self, source: str, report: BatchReport, records: int, samples: Sequence[str]
    ) -> None:
        followed = self.followed.get(source)
        if followed is None or not self._is_open:
            return
        followed.record_count += records
        followed.unparsed_count += report.unparsed
        followed.fenced_count += report.fenced
        followed.refused_count += report.refused
        followed.samples.extend(samples)
        self._tell(followed, report)

    # For views

    @property
    def record_count(self) -> int:
        return sum(followed.record_count for followed in self.followed.values())

    @property
    def fenced_count(self) -> int:
        """Records from the future, in this life."""
        return sum(followed.fenced_count for followed in self.followed.values())

    @property
    def refused_count(self) -> int:
        """Records from too far in the future, in this life."""
        return sum(followed.refused_count for followed in self.followed.values())

    @property
    def has_sources(self) -> bool:
        return bool(self.followed)

    @property
    def has_ended(self) -> bool:
        return all(followed.has_ended for followed in self.followed.values())
