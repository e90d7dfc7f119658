"""One site's input on its way to Spark: files are polled, chunks offered, batches committed.

A source is followed from the first query that reads it until the last one is removed: that is one
*life* of it. Polls run in a thread, batches are committed by Spark's threads, and both bring a
``BatchReport`` to the node, on the event loop. ``SiteInbox`` is what the Spark host sees of it.

Whatever a source raises is its own trouble: it is told, shown, and tried again until it works or
nobody reads the source any more; the other sources go on. After every ``await`` a source may be
gone, or another one under its name, so it is looked for again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor

import msgspec
import structlog

from headwater.agent.config import SourcesConfig
from headwater.agent.input.asides import Asides, Shedding
from headwater.agent.input.input_remarks import InputRemarks
from headwater.agent.input.life import Followed, Leaving, Lives
from headwater.agent.input.pasts import Pasts
from headwater.agent.input.poll_log import PollLog
from headwater.agent.input.repeated_hour import RepeatedHour
from headwater.agent.input.site_inbox import SiteInbox
from headwater.agent.input.site_sources import SiteSources
from headwater.agent.input.source_inputs import SourceInput, SourceInputs
from headwater.agent.patience import Patience
from headwater.algebra.far_times import NEVER_DUE_S
from headwater.algebra.words.malformed import Malformed, added, without_values
from headwater.algebra.words.remark import Remark
from headwater.algebra.words.site_state import Unread
from headwater.edge.report import BatchReport
from headwater.errors import StoreBroken
from headwater.plan.query import Query
from headwater.plan.readings import is_aside, is_past, past_reading, source_of
from headwater.reading.outcome import SiteOutcome
from headwater.spark.site.site_host import SiteHost
from headwater.store.cube.cube import Cube
from headwater.store.follow.listing import Glob, listed_bytes
from headwater.store.follow.poll import Poll
from headwater.store.past.past_input import PastInput

log = structlog.get_logger()

MESSAGE_CHARS_MAX = 500
"""Of an error, as much as a notice tells."""


class Feeder:
    """Driven by the event loop; ``inbox`` is called by Spark's threads."""

    def __init__(
        self,
        site: str,
        cube: Cube,
        config: SourcesConfig,
        *,
        host: SiteHost | None,
        now_s: Callable[[], float],
        wall_s: Callable[[], float] | None = None,
        report: Callable[[BatchReport], None],
        read_from: Callable[[str, float], None],
        offset_us: Callable[[str], int],
        next_wanted_s: Callable[[str, float], float],
        begin_late: Callable[[str, float], None],
        read_past: Callable[[str, bool], None],
        future_tolerance_s: float,
        future_keep_s: float,
        notice: Callable[[str, str], None] = lambda kind, text: None,
        unread: Callable[[str, Unread], None] = lambda source, unread: None,
        remarked: Callable[[str, tuple[Remark, ...]], None] = lambda source, remarks: None,
        poller: Executor,
        filled: Callable[[SiteOutcome], SiteOutcome] = lambda outcome: outcome,
        shedding: Shedding | None = None,
    ) -> None:
        """``now_s`` is steady; records are fenced by ``wall_s``, the time of day.
        ``future_tolerance_s`` is for sources that don't say it themselves; records that are
        more than ``future_keep_s`` ahead of the clock are refused. ``next_wanted_s``: from when on
        somebody gets something by a source's being read, if it was read through that. ``notice``
        is told (kind, text) of what people should see, ``unread`` (source, what) after each poll of
        what it does not read, ``remarked`` (source, remarks) of what is to be said of its input.
        ``shedding``: what the edge says of skipping input, and is told; None: it is never skipped.
        ``filled`` puts into a batch's rows what only the site can say, in Spark's threads."""
        self.site = site
        self._lives = Lives(cube.cuts)
        self._leaving = self._lives.leaving
        self._cube = cube
        self._config = config
        self._sources = SiteSources(config)
        self._host = host
        self._now_s = now_s
        self._report = report
        self._read_from = read_from
        self._next_wanted_s = next_wanted_s
        self._notice = notice
        self._unread = unread
        self._remarked = remarked
        self._loop = asyncio.get_running_loop()
        self._inputs = SourceInputs(cube.cuts, poller)
        self._pasts = Pasts(
            site,
            self._lives,
            cube,
            self._inputs,
            now_s=now_s,
            bounds_of=self._sources.bounds_of,
            begin_late=begin_late,
            read_past=read_past,
            failed=self._have_patience,
        )
        self.asides = Asides(
            site,
            self._lives,
            cube,
            shedding,
            now_s=now_s,
            bytes_max=config.set_aside_bytes_max,
            notice=notice,
            woken=lambda: self._wake.set(),
        )
        self._turn = asyncio.Lock()
        """Held by whoever opens, polls or forgets: ``install`` and ``run`` do."""
        self._is_open = True
        self._broken: StoreBroken | None = None
        self._wake = asyncio.Event()
        self.inbox = SiteInbox(
            site,
            self._lives,
            self._pasts,
            self.asides,
            cube,
            self._inputs,
            now_s=now_s,
            wall_s=wall_s or now_s,
            offset_us=offset_us,
            future_tolerance_s=future_tolerance_s,
            future_keep_s=future_keep_s,
            filled=filled,
            committed=self._committed,
            ended=self._end_with,
            woken=self._wake.set,
        )
        self._has_news = False
        """Sources or queries that Spark has not been told of."""

    @property
    def followed(self) -> Mapping[str, Followed]:
        """By the source's name."""
        return self._lives.followed

    # Queries come and go

    async def install(self, query: Query, *, is_new: bool) -> None:
        """Read the query's source from now on. Raises where its path leads outside.

        A new source is looked at, which settles from where its files are read; where that fails,
        ``run`` tries it again. What is in them is read by ``run``, since an agent does nothing else
        until this is done. The site is served to Spark by ``run`` only: after a restart all queries
        are there by then.
        """
        if self._host is None or query.stands_for is not None:
            return  # a level has the rows of its full query
        key, id_ = query.source_name, str(query.id)
        followed = self.followed.get(key)
        if followed is None:
            source = query.program.source
            place = self._sources.place(source)
            is_from_start = query.begin_pane is None or query.ends
            poll_log = PollLog(self.site, key)
            remarks, hour = InputRemarks(source), RepeatedHour(source)
            followed = Followed(source, query, place, is_from_start, poll_log, remarks, hour)
            followed.shows_values = self._sources.is_free(source)
            self._lives.add(followed)
        self._pasts.install(query, followed, is_new=is_new)
        self.asides.install(query, followed)
        followed.queries = {**followed.queries, id_: query}
        followed.new_queries.add(id_)
        followed.poll = None  # its report is news to this query, also where nothing is left to read
        followed.units |= {(query.id.installer, query.unit_last)}
        self._host.install(query)
        is_begun = self._lives.is_begun(followed)
        if is_begun and is_new:
            self._read_from(id_, self._now_s())
        elif not is_begun:
            if is_new:
                followed.unbegun.add(id_)
            await self._attend(followed, begins=True)
        await self._begin_pasts(followed)
        self._has_news = True
        self._wake.set()

    def listed_bytes(self, query: Query) -> int:
        """What the files that its source's path names here have by now, compressed ones as they
        lie. In any thread. Raises where its path leads outside."""
        source = query.program.source
        directory, pattern = self._sources.place(source)
        closed, reach = self._sources.bounds_of(source)
        disk = self._cube.cuts.disk
        return listed_bytes(Glob(directory, pattern, disk=disk, closed=closed, reach=reach))

    async def _begin_pasts(self, followed: Followed) -> None:
        if not followed.awaiting_past:
            return
        async with self._turn:
            if await self._pasts.begin(followed):
                self._has_news = True
                self._wake.set()

    def withdraw(self, query_id: str) -> None:
        """Stop running this query here; a source that nobody reads is forgotten, by ``run``."""
        for key, followed in self.followed.items():
            if query_id in followed.queries:
                left = {id_: one for id_, one in followed.queries.items() if id_ != query_id}
                followed.queries = left
                followed.unbegun.discard(query_id)
                followed.awaiting_past.discard(query_id)
                followed.new_queries.discard(query_id)
                if not left:
                    self._lives.leave(key, followed)
                    self._wake.set()
        if self._host is not None:
            self._host.remove(query_id)

    def _forget_unread(self) -> None:
        """Sources that were left when the former process ended, before they were forgotten: who
        installs them again must not go on where nobody has read for long."""
        if self._host is not None:
            awaited = self._pasts.awaited()
            for name in self._cube.cuts.names():
                if name not in self.followed and name not in awaited:
                    self._leaving.setdefault(name, Leaving(None))

    # Polling

    async def run(self) -> None:
        """Ends only when the cube can't be written any more without being opened anew."""
        self._forget_unread()
        while True:
            self._wake.clear()
            if self._broken is not None:
                raise self._broken
            try:
                await self._look_after_all()
            except StoreBroken:
                raise
            except Exception as error:
                self._tell_trouble("feeder", error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if self._is_idle() else self._pause_s()):
                    await self._wake.wait()

    def _is_idle(self) -> bool:
        """Whether nothing is left to open, poll or forget until somebody wakes us."""
        is_quiet = all(one.is_quiet for one in self.followed.values())
        return is_quiet and not self._leaving and not self._has_news

    def _pause_s(self) -> float:
        """Until the next poll of a source is due, as far as its troubles allow."""
        every_s, now_s = self._config.poll_s, self._now_s()
        pauses_s = (one.next_poll_s(every_s) - now_s for one in self.followed.values())
        return min((pause_s for pause_s in pauses_s if 0.0 < pause_s < every_s), default=every_s)

    async def _look_after_all(self) -> None:
        if self._has_news and self._host is not None:
            # All queries are handed over again: a host that several sites share drops a query when
            # a site that has it removes it and no other one is served with it yet.
            for followed in self.followed.values():
                for query in followed.queries.values():
                    self._host.install(query)
            self._host.serve(self.site, self.inbox)
            self._has_news = False
        self._pasts.end()
        self.asides.end()
        for key in list(self._leaving):
            await self._forget(key)
        for followed in list(self.followed.values()):
            await self._attend(followed)
            await self._begin_pasts(followed)

    async def _attend(self, followed: Followed, *, begins: bool = False) -> None:
        """Open the source or poll it, if it is time to. What it raises is its own trouble.
        ``begins``: reading its files is left to the next poll, which is due at once."""
        async with self._turn:
            if not self._lives.is_current(followed) or followed.is_quiet:
                return
            if self._now_s() < followed.next_poll_s(self._config.poll_s):
                return
            if not followed.patience.is_due(now_s=self._loop.time()):
                return
            try:
                if followed.input is None:
                    await self._open(followed)
                if followed.input is not None:
                    await self._poll(followed, followed.input, begins=begins)
            except StoreBroken:
                raise
            except Exception as error:
                self._have_patience(followed.source.name, followed.patience, error)

    async def _forget(self, key: str) -> None:
        async with self._turn:
            leaving = self._leaving.get(key)
            if leaving is None or not leaving.patience.is_due(now_s=self._loop.time()):
                return
            try:
                await self._inputs.forget(key, leaving.input)
            except StoreBroken:
                raise
            except Exception as error:
                self._have_patience(key, leaving.patience, error)
            else:
                del self._leaving[key]

    def _have_patience(self, source: str, patience: Patience, error: Exception) -> None:
        patience.failed(str(error) or repr(error), now_s=self._loop.time())
        self._tell_trouble(f"source {source}", error)

    def _tell_trouble(self, what: str, error: Exception) -> None:
        log.warning("in trouble", site=self.site, what=what, error=repr(error)[:2000])
        why = f"{type(error).__name__}: {error}"[:MESSAGE_CHARS_MAX]
        self._notice("in trouble", f"{what}: {why}; it is tried again")

    async def _open(self, followed: Followed) -> None:
        """Not while the store still has the source's former life."""
        key = followed.source.name
        if key in self._leaving:
            leaving = self._leaving[key]
            await self._inputs.forget(key, leaving.input)
            del self._leaving[key]
        bounds = self._sources.bounds_of(followed.source)
        opened = await self._inputs.open(followed.first, *followed.place, *bounds)
        if not self._lives.is_current(followed):
            opened.close()
            self._leaving.setdefault(key, Leaving(None))
            return
        followed.input = opened
        if not self._lives.is_begun(followed):
            followed.unbegun.update(followed.queries)

    async def _poll(self, followed: Followed, source: SourceInput, *, begins: bool) -> None:
        lost_chunks = followed.lost_chunks
        look = self._inputs.begin if begins else self._inputs.poll
        poll = await look(source, now_s=self._now_s())
        if not self._lives.is_current(followed):
            return
        followed.told_chunks = lost_chunks
        self._note_poll(followed, poll)
        await self._look_for_files(followed, poll)
        if not self._lives.is_current(followed):
            return
        if self._lives.is_begun(followed):
            begun, followed.unbegun = followed.unbegun, set()
            for query_id in begun:
                self._read_from(query_id, self._now_s())
        if poll.cuts and self._host is not None:
            self._host.notice(followed.source.name)
        if poll.report is not None:
            self._tell(followed, poll.report)
        self._find_due(followed)
        followed.shed_plan.polled(poll.started_s, poll.bytes)
        self.asides.plan(followed)
        if begins and not poll.is_clean:
            followed.poll = None  # the next one is due

    def _note_poll(self, followed: Followed, poll: Poll) -> None:
        """What a poll could not take in, for lack of room, is shown as trouble too; the next poll
        tries it again."""
        followed.poll = poll
        followed.found_bytes += poll.bytes
        followed.poll_log.say(poll)
        followed.patience.worked()
        followed.patience.trouble = poll.stalled
        if is_past(followed.source.name):
            return  # the live reading tells what its path names and is not read
        self._unread(followed.source.name, followed.unread)

    async def _look_for_files(self, followed: Followed, poll: Poll) -> None:
        """Where a poll has none it is said, with names that are like the path: once."""
        if is_past(followed.source.name):
            self._remark(followed, ())
            return
        remarks, alone, news = followed.remarks, poll.refused_count, []
        if poll.files:
            news = remarks.found_some()
        elif remarks.is_look_due(alone):
            text = await self._inputs.beside(lambda: self._sources.no_file(followed.source))
            news = remarks.found_none(text, alone)
        news += remarks.read(0, 0, followed.malformed, now_s=self._now_s())
        self._remark(followed, news)

    def _remark(self, followed: Followed, news: Sequence[tuple[str, str]]) -> None:
        for kind, text in news:
            self._notice(kind, text)
        if self._lives.is_current(followed):
            current = followed.remarks.current
            if isinstance(followed.input, PastInput):
                current = self._pasts.progress(followed.source.name)
            self._remarked(followed.source.name, current)

    def _find_due(self, followed: Followed) -> None:
        """When it is to be read next. A source of which it isn't known how far it was read is read
        at once."""
        state = self._lives.state(followed)
        read_s = None if state is None else state.read_through_s
        name = followed.source.name
        followed.due_s = NEVER_DUE_S if read_s is None else self._next_wanted_s(name, read_s)

    def _tell(self, followed: Followed, report: BatchReport) -> None:
        """On the event loop."""
        if self._lives.has_end and self._is_all_read(followed):
            report = msgspec.structs.replace(report, ended=True)
        followed.has_ended = report.ended
        self._report(report)

    def _is_all_read(self, followed: Followed) -> bool:
        """A poll since ``end_input`` has found the end, and all that was found is committed."""
        state = self._lives.state(followed)
        is_clean = followed.poll is not None and followed.poll.is_clean
        return is_clean and state is not None and state.committed_cut == state.last_cut

    def end_input(self) -> None:
        """Nothing more will be written: what is there is all, as soon as it is read."""
        self._lives.has_end = True
        for followed in self.followed.values():
            followed.poll = None
        self._wake.set()

    async def stop(self) -> None:
        """No batch is committed once this has returned."""
        if self._host is not None:
            host = self._host
            await self._inputs.beside(lambda: host.withdraw(self.site))
        self._is_open = False
        self._inputs.close()
        inputs = [one.input for one in self.followed.values()]
        inputs += [one.input for one in self._leaving.values()]
        for source in inputs:
            if source is not None:
                source.close()

    # What batches bring, from the inbox

    def _end_with(self, error: StoreBroken) -> None:
        self._broken = error
        self._wake.set()

    def _committed(self, followed: Followed, report: BatchReport, outcome: SiteOutcome) -> None:
        """On the event loop, which may have withdrawn the source since."""
        if not self._lives.is_current(followed) or not self._is_open:
            return
        source = self.followed.get(source_of(followed.source.name), followed)
        counted = source if is_aside(followed.source.name) else followed
        counted.line_count += outcome.lines
        counted.record_count += outcome.records
        counted.unparsed_count += report.unparsed
        followed.fenced_count += report.fenced
        followed.refused_count += report.refused
        for kind, text in followed.repeated_hour.reached(report.high_time_us):
            self._notice(kind, text)
        self._note_malformed(followed, outcome.samples)
        lines = outcome.lines + report.skipped_lines
        now_s = self._now_s()
        self._remark(
            followed, followed.remarks.read(lines, report.unparsed, followed.malformed, now_s=now_s)
        )
        followed.new_queries.difference_update(batch.query for batch in report.queries)
        self._tell(followed, report)
        self._find_due(followed)
        self.asides.plan(followed)
        self._wake.set()  # the next poll may be due earlier now

    def _note_malformed(self, followed: Followed, kinds: Sequence[Malformed]) -> None:
        """Reasons are added up; each that is new is logged with the line, where that may be seen.
        A protected column may stand anywhere in a line that is malformed, so that of a source that
        has one no value is kept."""
        shown = tuple(kinds) if followed.shows_values else without_values(kinds)
        known = {kind.reason for kind in followed.malformed}
        for kind in shown:
            if kind.reason not in known:
                source = followed.source.name
                log.info("malformed lines", site=self.site, source=source, why=kind.text())
        followed.malformed = added(followed.malformed, shown)

    # For views

    def unread(self, source: str) -> Unread:
        """What this site does not read of the source."""
        followed = self.followed.get(source)
        return Unread() if followed is None else followed.unread

    def remarks(self, query: Query) -> tuple[Remark, ...]:
        """What is to be said of the query's input at this site."""
        followed = self.followed.get(query.source_name)
        live = () if followed is None else followed.remarks.current
        return (*self._pasts.progress(past_reading(query)), *live)

    def broken(self, source: str) -> list[str]:
        """Files that Spark could not read in this life, and why; the newest ones."""
        followed = self.followed.get(source)
        return [] if followed is None else list(followed.broken)

    def troubles(self) -> dict[str, str]:
        """By source: why it can't be read, or forgotten, now, or fails at every batch."""
        failing = {} if self._host is None else self._host.troubles()
        all_ = [(key, one.patience) for key, one in list(self._leaving.items())]
        all_ += [(key, one.patience) for key, one in self.followed.items()]
        found = {key: one for key, one in failing.items() if key in self.followed}
        return found | {key: patience.trouble for key, patience in all_ if patience.trouble}

    @property
    def found_bytes(self) -> int:
        """Of all sources, in this life: what there is to read, and was."""
        return sum(followed.found_bytes for followed in self.followed.values())

    @property
    def waiting_bytes(self) -> int:
        """Of those, what no committed batch has read."""
        states = (self._lives.state(followed) for followed in self.followed.values())
        return sum(state.waiting_bytes for state in states if state is not None)

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
    def unread_count(self) -> int:
        """Files that the paths of sources name and that are not read now."""
        return sum(followed.unread.count for followed in self.followed.values())

    def line_counts(self) -> dict[str, tuple[int, int]]:
        """By source: lines read, and those that some query can't use."""
        read = ((name, one) for name, one in self.followed.items() if not is_aside(name))
        return {name: (one.line_count, one.unparsed_count) for name, one in read}

    def remark_counts(self) -> Counter[str]:
        """By kind: sources of which that is to be said."""
        return Counter(
            remark.kind for one in self.followed.values() for remark in one.remarks.current
        )

    @property
    def has_read_all(self) -> bool:
        """It reads something, and all of that to its end."""
        return bool(self.followed) and all(one.has_ended for one in self.followed.values())
