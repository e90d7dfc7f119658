"""One source as one streaming query, over all the sites that the host serves.

A batch goes round like this: the host *offers* the pending cuts of all sites when somebody is
served by it (``edge.batch_times``), Spark's engine sees a new offset and starts a batch,
``foreachBatch`` brings the offer back to us, the chunks are read and reduced, every site commits,
and the next offer follows. One offer is out at a time, so Spark never
has more than one batch of ours.

Spark's checkpoint is disposable. What was read is what the sites' cubes say is committed, so each
start of the stream takes a fresh checkpoint and begins a new *epoch* in every cube: a lost or
damaged checkpoint, a killed JVM and an ordinary start are the same case. Should a batch come twice
within an epoch, its cuts are committed already and there is nothing to do.

An epoch ends with the source at its site, which may be removed and installed again at any moment,
so it is taken before the chunks are listed and no commit is refused for ever: after every refusal
the site's next batch takes a new one. What one site's inbox raises concerns that site alone.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import structlog
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from headwater.algebra.far_times import LONG_AGO_S, NEVER_DUE_S
from headwater.edge.batches.batch_times import OVERDUE_S_MAX, BatchLimits, Waiting, is_batch_wanted
from headwater.edge.batches.batch_yield import BatchYield
from headwater.edge.batches.reading_pace import ReadingPace
from headwater.errors import DiskFull, EpochOver
from headwater.plan.query import Query
from headwater.reading.chunk import Chunk
from headwater.reading.columnar import SCHEMA_MARK
from headwater.reading.outcome import Batch, SiteOutcome
from headwater.spark.jvm.lease import BATCH, Work
from headwater.spark.jvm.suspicion import NoSuspicion, Suspicion, apart
from headwater.spark.site.batch import BatchRunner
from headwater.spark.site.inbox import Inbox, SiteBatch
from headwater.spark.site.offers import OfferStream
from headwater.spark.site.site_jobs import JOB_S_MAX
from headwater.spark.spark_message import message_of
from headwater.spark.unreadable import Unreadable

log = structlog.get_logger()

COMMIT_RETRY_S = 1.0
"""While a site's disk is full its batch waits, and the others' batches behind it."""
TROUBLE_S = 5.0
RESTART_S_MIN, RESTART_S_MAX = 0.5, 30.0
ACTIVE_EVERY_S = 1.0
"""How often Spark is asked whether the stream still runs. The host looks more often than that, and
a call into the JVM is most of what a look costs."""
SHORT_BYTES_MIN = 1 << 20
"""A batch of the past has as much as this also where live ones are beside it."""
HEADERS_MAX = 64
"""Headers of the files of a batch, over all its sites: Spark plans a layout for each."""
STOP_S_MAX = 30.0
"""How long a stopped stream's last batch may take; Spark waits for the stream itself no longer than
``spark.sql.streaming.stopTimeout``."""

Sites = Callable[[], Mapping[str, Inbox]]
"""The inboxes that are served now."""
Queries = Callable[[str], Sequence[Query]]
"""The installed queries of a source, read when a batch begins."""
AtWork = Callable[[Work], contextlib.AbstractContextManager[None]]

Reader = tuple[Inbox, int]
"""A site's inbox, and the epoch under which its part of a batch is committed."""


class GivingWay(msgspec.Struct, frozen=True):
    """What a reading of the past is told of the live ones."""

    must_wait: bool = False
    """One is at work, or will be before a batch of the past would be over."""
    is_beside: bool = False
    """There are such that have work at all."""


class SourceStream:
    """Driven by the host: ``step`` often, from one thread. Batches come in Spark's thread."""

    def __init__(
        self,
        source: str,
        session: SparkSession,
        directory: Path,
        *,
        sites: Sites,
        queries: Queries,
        commit_lock: threading.RLock,
        batch_bytes_max: int,
        batch_rows_max: int,
        limits: BatchLimits | None = None,
        at_work: AtWork = lambda _: contextlib.nullcontext(),
        shared: Path | None = None,
        job_s_max: float = JOB_S_MAX,
        suspicion: Suspicion | None = None,
        giving_way: Callable[[float], GivingWay] | None = None,
    ) -> None:
        """``giving_way``: of a reading of the past, whether the live ones want Spark for
        themselves for so many seconds. ``limits`` say for how much input a batch waits that nobody
        waits for; ``at_work`` is told what each batch runs, for as long as it runs. The files of a
        batch lie in ``shared`` where executors see no other place."""
        self.source = source
        self._session = session
        self._directory = directory
        self._sites = sites
        self._queries = queries
        self._commit_lock = commit_lock
        self._batch_bytes_max = batch_bytes_max
        self._batch_rows_max = batch_rows_max
        self._limits = limits or BatchLimits()
        self._pace = ReadingPace()
        self._giving_way = giving_way
        self._rests_until_s = 0.0
        self.was_at_work_s = LONG_AGO_S
        """When its newest batch ended."""
        self.due_in_s = NEVER_DUE_S
        """Until a batch of it is wanted, as it was when it was last asked."""
        self._learned = BatchYield()
        self._at_work = at_work
        self._suspicion = suspicion or NoSuspicion()
        self._runner = BatchRunner(
            session, (shared or directory) / "batch", self._learned, job_s_max=job_s_max
        )
        self.trouble = ""
        """Why its last batch, or the stream itself, failed; empty: it did not."""
        self._stream: StreamingQuery | None = None
        self._epochs: dict[str, tuple[int, Inbox, int]] = {}
        """By site: its epoch, and for which life of the stream and which inbox it was taken."""
        self._lock = threading.Lock()
        self._batch_lock = threading.Lock()
        self._offers: OfferStream | None = None
        self._ended: list[OfferStream] = []
        """Of former lives, whose connections are still open."""
        self._cuts: Mapping[str, int] | None = None
        """The offer that is out."""
        self._life = 0
        self._trouble_until_s: dict[str, float] = {}
        self._commit_waits: dict[str, str] = {}
        """By site: why its part of a batch could not be committed yet; empty: it could."""
        self._restart_at_s = 0.0
        self._restart_wait_s = RESTART_S_MIN
        self._ask_at_s = 0.0
        self._closing = threading.Event()

    def step(self) -> None:
        """Make sure that the stream runs and has an offer if there is input."""
        if self._closing.is_set():
            return
        if not self._is_running():
            self._restart()
        self._offer()

    def _is_running(self) -> bool:
        """As of a moment ago; a batch that failed is a reason to ask at once."""
        now_s = time.monotonic()
        if self._stream is None or (now_s < self._ask_at_s and not self.trouble):
            return self._stream is not None
        self._ask_at_s = now_s + ACTIVE_EVERY_S
        return bool(self._stream.isActive)

    def retire(self) -> None:
        """A commit that is under way ends first; none begins after it."""
        self._closing.set()
        with self._commit_lock:
            self._life += 1

    def stop(self) -> None:
        """Retire, and end the stream; a batch that does not end by that is left to itself."""
        self.retire()
        self._end_stream()
        is_idle = self._batch_lock.acquire(timeout=STOP_S_MAX)
        self._runner.close(wait=is_idle)
        if is_idle:
            self._batch_lock.release()
            self._hang_up()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _restart(self) -> None:
        now_s = time.monotonic()
        if now_s < self._restart_at_s:
            return
        if self._stream is not None:
            fault = self._stream.exception()
            why = message_of(fault) if fault is not None else "it was stopped"
            log.warning("stream restarts", source=self.source, why=why)
            self.trouble = self.trouble or why
            self._restart_wait_s = min(2 * self._restart_wait_s, RESTART_S_MAX)
        self._restart_at_s = now_s + self._restart_wait_s
        self._end_stream()
        self._hang_up()
        self._start()

    def _start(self) -> None:
        checkpoints = self._directory / "checkpoints"
        shutil.rmtree(checkpoints, ignore_errors=True)
        offers = OfferStream(self._session)
        with self._commit_lock, self._lock:
            self._life += 1
            self._offers = offers
            self._cuts = None
            self._epochs.clear()
        life = self._life
        self._stream = (
            offers.frame()
            .writeStream.foreachBatch(lambda _, number: self._batch(life, number))
            .option("checkpointLocation", str(checkpoints / str(life)))
            .queryName(f"{self.source}-{life}")
            .start()
        )

    def _end_stream(self) -> None:
        """Also when the JVM is gone, which ended the stream for us."""
        if self._stream is not None:
            with contextlib.suppress(Py4JError, OSError):
                self._stream.stop()
            self._stream = None
            if self._offers is not None:
                self._ended.append(self._offers)

    def _hang_up(self) -> None:
        """For streams that have ended; while a batch does not end, that is left to the next."""
        if not self._batch_lock.acquire(blocking=False):
            return
        try:
            while self._ended:
                with contextlib.suppress(Py4JError, OSError):
                    self._ended.pop().hang_up()
        finally:
            self._batch_lock.release()

    def _offer(self) -> None:
        """Offer the pending cuts of all sites, if somebody is served by a batch now and no offer
        is still out."""
        with self._lock:
            if self._cuts is not None or self._offers is None or self._closing.is_set():
                return
            cuts = self._pending_cuts()
            if cuts:
                self._cuts = cuts
                try:
                    self._offers.offer()
                except BaseException:
                    self._cuts = None  # or nothing would be offered any more in this life
                    raise

    def _pending_cuts(self) -> dict[str, int]:
        """For each site the cut to read through; together about what a batch may hold."""
        now_s, sites = time.monotonic(), self._sites()
        waiting = {
            site: self._waiting(site, inbox)
            for site, inbox in sites.items()
            if self._trouble_until_s.get(site, 0.0) <= now_s
        }
        having = [site for site, one in waiting.items() if one.byte_count]
        dues_s = (one.due_in_s for one in waiting.values() if one.due_in_s > -OVERDUE_S_MAX)
        self.due_in_s = min(dues_s, default=NEVER_DUE_S)
        if not is_batch_wanted([waiting[site] for site in having], self._pace, self._limits):
            return {}
        share = self._bytes_max() // len(having)
        if self._giving_way is not None:
            share = self._past_bytes(self._giving_way, share, now_s=now_s)
            if not share:
                return {}
        found = {site: self._pending(site, sites[site], share) for site in having}
        return {site: chunks[-1].cut for site, chunks in found.items() if chunks}

    def _past_bytes(
        self, giving_way: Callable[[float], GivingWay], bytes_max: int, *, now_s: float
    ) -> int:
        """Of the past, what a site's part of a batch may hold now; 0: the live readings come first.
        Beside them batches are short, so that none of theirs waits for long, and take no more than
        their share of the time."""
        per_byte_s = max(self._pace.reading_s(1_000_000), 1e-6) / 1e6
        short = max(SHORT_BYTES_MIN, int(self._limits.past_batch_s / per_byte_s))
        way = giving_way(self._pace.batch_s(min(short, bytes_max)))
        if way.must_wait or (way.is_beside and now_s < self._rests_until_s):
            return 0
        return min(bytes_max, short) if way.is_beside else bytes_max

    @property
    def is_at_work(self) -> bool:
        """An offer of it is out."""
        return self._cuts is not None

    def _bytes_max(self) -> int:
        """What a batch may hold, by what the queries gave so far."""
        return self._learned.bytes_in_max(
            (str(query.id) for query in self._queries(self.source)),
            bytes_max=self._batch_bytes_max,
            rows_max=self._batch_rows_max,
        )

    def _waiting(self, site: str, inbox: Inbox) -> Waiting:
        try:
            return inbox.waiting(self.source) if self._is_read(inbox) else Waiting()
        except Exception as error:
            self._leave_for_a_while(site, error)
            return Waiting()

    def _pending(self, site: str, inbox: Inbox, bytes_max: int) -> Sequence[Chunk]:
        try:
            return inbox.pending(self.source, after_cut=None, bytes_max=bytes_max)
        except Exception as error:
            self._leave_for_a_while(site, error)
            return ()

    def _leave_for_a_while(self, site: str, error: Exception) -> None:
        """A site whose store is in trouble must not stop the sites beside it."""
        log.warning("site is left alone", site=site, source=self.source, why=repr(error)[:500])
        self._trouble_until_s[site] = time.monotonic() + TROUBLE_S

    def _is_read(self, inbox: Inbox) -> bool:
        return any(source.name == self.source for source in inbox.sources())

    def _batch(self, life: int, number: int) -> None:
        """Called by Spark. What escapes from here ends the stream, and the host restarts it.

        A stream that was stopped may leave its last call behind, so there is a lock, and a call of
        a former life commits nothing.
        """
        with self._batch_lock:
            cuts, offers = self._cuts, self._offers
            if life == self._life and cuts is not None and offers is not None:
                offers.note_caller()
                self._process(life, cuts, number)
            with self._lock:
                if life == self._life:
                    self._cuts = None
                    self._restart_wait_s = RESTART_S_MIN
                    self.trouble = ""
        self._offer()

    def cancel(self, query_id: str) -> None:
        """The query is removed, and what it does in a batch ends."""
        self._runner.jobs.cancel(query_id)

    def _process(self, life: int, cuts: Mapping[str, int], number: int) -> None:
        """What is raised here comes back through Spark as one long word of Java's."""
        try:
            batches, readers = self._gather(life, cuts)
            if batches:
                self._run(life, batches, readers, number)
        except Exception as error:
            self.trouble = message_of(error)
            raise
        finally:
            self._runner.clear()

    def _run(
        self, life: int, batches: Sequence[SiteBatch], readers: Mapping[str, Reader], number: int
    ) -> None:
        began_s = time.monotonic()
        try:
            outcomes = self._outcomes(batches)
        except Unreadable as error:
            # What is left of the offer comes again with the next one.
            for site, chunk, reason in error.chunks:
                self._quarantine(site, readers[site], chunk, reason)
            return
        for batch, outcome in zip(batches, outcomes, strict=True):
            while not self._is_done_with(life, batch, outcome, readers[batch.site], number):
                self._closing.wait(COMMIT_RETRY_S)
        byte_count = sum(chunk.bytes for batch in batches for chunk in batch.chunks)
        took_s = time.monotonic() - began_s
        self._pace.took(byte_count, took_s)
        # It has the rest of the time to itself that its share leaves to others.
        self.was_at_work_s = time.monotonic()
        rest_s = took_s * (1.0 / self._limits.catch_up_share - 1.0)
        self._rests_until_s = self.was_at_work_s + rest_s

    def _outcomes(self, batches: Sequence[SiteBatch]) -> list[SiteOutcome]:
        """Of all queries at once, but for those that are suspected of ending JVMs."""
        found, suspects = [], self._suspicion.suspects()
        every = (str(query.id) for batch in batches for query in batch.queries)
        queries = tuple(dict.fromkeys(every))
        if not suspects:
            with self._at_work(Work(BATCH, queries)):
                return self._runner.run(batches)
        for ids in apart(queries, suspects):
            with self._at_work(Work(BATCH, ids)):
                found.append(self._runner.run([_with_queries(batch, ids) for batch in batches]))
            if len(ids) == 1 and ids[0] in suspects:
                self._suspicion.survived(ids[0])
        return [SiteOutcome.joined(of_site) for of_site in zip(*found, strict=True)]

    def _gather(
        self, life: int, cuts: Mapping[str, int]
    ) -> tuple[list[SiteBatch], dict[str, Reader]]:
        sites = self._sites()
        installed = self._queries(self.source)
        batches: list[SiteBatch] = []
        readers: dict[str, Reader] = {}
        headers: set[str] = set()
        for site, cut in cuts.items():
            inbox = sites.get(site)
            try:
                if inbox is None or not self._is_read(inbox):
                    continue
                readers[site] = (inbox, self._epoch(life, site, inbox))
                batch = self._site_batch(site, inbox, cut, installed)
            except Exception as error:
                self._leave_for_a_while(site, error)
                continue
            headers |= {chunk.header for chunk in batch.chunks}
            is_by_schema = any(header.startswith(SCHEMA_MARK) for header in headers)
            if batches and len(headers) > (1 if is_by_schema else HEADERS_MAX):
                break  # the other sites' cuts come with the next offer
            if batch.chunks:
                batches.append(batch)
        return batches, readers

    def _site_batch(
        self, site: str, inbox: Inbox, cut: int, installed: Sequence[Query]
    ) -> SiteBatch:
        found = inbox.pending(self.source, after_cut=None, bytes_max=self._batch_bytes_max)
        chunks = tuple(chunk for chunk in found if chunk.cut <= cut)
        if not chunks:
            return SiteBatch(site, (), ())
        first = chunks[0].cut
        queries = tuple(
            query for query in installed if inbox.reads(self.source, str(query.id), first_cut=first)
        )
        offsets_us = {str(one.id): inbox.offset_us(str(one.id)) for one in queries}
        fence, wants_first = inbox.fence(self.source), inbox.wants_first(self.source)
        starts = {
            str(one.id): inbox.counted(one) for one in queries if one.reading_count is not None
        }
        return SiteBatch(site, chunks, queries, fence, offsets_us, wants_first, starts)

    def _quarantine(self, site: str, reader: Reader, chunk: Chunk, reason: str) -> None:
        inbox, epoch = reader
        try:
            inbox.quarantine(self.source, chunk.cut, reason, epoch=epoch)
        except Exception as error:
            self._refused(site, error)

    def _is_done_with(
        self, life: int, batch: SiteBatch, outcome: SiteOutcome, reader: Reader, number: int
    ) -> bool:
        """Commit one site's part, or find that it is not to be; False: its disk is full now."""
        inbox, epoch = reader
        of = Batch(self.source, epoch, number, batch.chunks[-1].cut)
        with self._commit_lock:
            if life != self._life or self._sites().get(batch.site) is not inbox:
                return True
            try:
                if inbox.committed_cut(self.source) < batch.chunks[0].cut:
                    inbox.commit(of, outcome)
            except DiskFull as error:
                self._note_waiting(batch.site, str(error))
                return False
            except Exception as error:
                self._refused(batch.site, error)
            if self._commit_waits.get(batch.site):
                self._note_waiting(batch.site, "")
        return True

    def _note_waiting(self, site: str, why: str) -> None:
        """Said when it begins, when its reason is another one, and when it is over."""
        if why != self._commit_waits.get(site, ""):
            log.warning("commit waits", site=site, why=why or "no longer")
        self._commit_waits[site] = why

    def _refused(self, site: str, error: Exception) -> None:
        """Nothing was committed. What the batch held is offered again, under another epoch: at
        once where the source was made anew, which is no trouble."""
        self._epochs.pop(site, None)
        if isinstance(error, EpochOver):
            log.info("epoch is over", site=site, source=self.source, why=str(error))
        else:
            self._leave_for_a_while(site, error)

    def _epoch(self, life: int, site: str, inbox: Inbox) -> int:
        """Begun at the site's first batch of this life; a site that came back begins another."""
        known = self._epochs.get(site)
        if known is None or known[0] != life or known[1] is not inbox:
            known = (life, inbox, inbox.new_epoch(self.source))
            self._epochs[site] = known
        return known[2]


def _with_queries(batch: SiteBatch, ids: Sequence[str]) -> SiteBatch:
    own = tuple(query for query in batch.queries if str(query.id) in ids)
    return batch if own == batch.queries else msgspec.structs.replace(batch, queries=own)
