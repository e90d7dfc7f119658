"""One source as one streaming query, over all the sites that the host serves.

A batch goes round like this: the host *offers* the pending cuts of all sites on the board, Spark's
engine sees a new offset and starts a batch, ``foreachBatch`` brings the offer back to us, the
chunks are read and reduced, every site commits, and the next offer follows. One offer is out at a
time, so Spark never has more than one batch of ours.

Spark's checkpoint is disposable. What was read is what the sites' cubes say is committed, so each
start of the stream takes a fresh checkpoint and begins a new *epoch* in every cube: a lost or
damaged checkpoint, a killed JVM and an ordinary start are the same case. Should a batch come twice
within an epoch, its cuts are committed already and there is nothing to do.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import structlog
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from headwater.errors import DiskFull
from headwater.plan.query import Query
from headwater.spark.batch import BatchRunner, SiteBatch, SiteOutcome, Unreadable
from headwater.spark.cut_source import FORMAT, post_offer
from headwater.spark.inbox import Inbox
from headwater.spark.spark_message import message_of

log = structlog.get_logger()

COMMIT_RETRY_S = 1.0
"""While a site's disk is full its batch waits, and the others' batches behind it."""
RESTART_S_MIN, RESTART_S_MAX = 0.5, 30.0

Sites = Callable[[], Mapping[str, Inbox]]
"""The inboxes that are served now."""
Queries = Callable[[str], Sequence[Query]]
"""The installed queries of a source, read when a batch begins."""


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
    ) -> None:
        self.source = source
        self._session = session
        self._directory = directory
        self._board = directory / "board"
        self._sites = sites
        self._queries = queries
        self._commit_lock = commit_lock
        self._batch_bytes_max = batch_bytes_max
        self._runner = BatchRunner(session, directory / "batch")
        self._stream: StreamingQuery | None = None
        self._epochs: dict[str, tuple[Inbox, int]] = {}
        self._lock = threading.Lock()
        self._cuts: Mapping[str, int] = {}
        self._offered = 0
        self._done = 0
        self._life = 0
        self._restart_at_s = 0.0
        self._restart_wait_s = RESTART_S_MIN
        self._closing = threading.Event()

    def step(self) -> None:
        """Make sure that the stream runs and has an offer if there is input."""
        if self._closing.is_set():
            return
        if self._stream is None or not self._stream.isActive:
            self._restart()
        self._offer()

    def stop(self) -> None:
        """End the stream; a batch that is under way ends first, committed or not."""
        self._closing.set()
        self._end_stream()
        self._runner.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _restart(self) -> None:
        now_s = time.monotonic()
        if now_s < self._restart_at_s:
            return
        if self._stream is not None:
            fault = self._stream.exception()
            why = message_of(fault) if fault is not None else "it was stopped"
            log.warning("stream restarts", source=self.source, why=why)
            self._restart_wait_s = min(2 * self._restart_wait_s, RESTART_S_MAX)
        self._restart_at_s = now_s + self._restart_wait_s
        self._end_stream()
        self._start()

    def _start(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)
        self._directory.mkdir(parents=True)
        with self._lock:
            self._life += 1
            self._offered = self._done = 0
            self._epochs.clear()
            post_offer(self._board, {"number": 0, "cuts": {}})
        life = self._life
        self._stream = (
            self._session.readStream.format(FORMAT)
            .load(str(self._board))
            .writeStream.foreachBatch(lambda _, number: self._batch(life, number))
            .option("checkpointLocation", str(self._directory / f"checkpoint-{life}"))
            .queryName(f"{self.source}-{life}")
            .start()
        )

    def _end_stream(self) -> None:
        if self._stream is None:
            return
        if self._board.exists():
            post_offer(self._board, {"number": 0, "cuts": {}, "closed": True})
        self._stream.stop()
        self._stream = None

    def _offer(self) -> None:
        """Put the pending cuts of all sites on the board, unless an offer is still out."""
        with self._lock:
            if self._offered != self._done or self._closing.is_set():
                return
            cuts = self._pending_cuts()
            if cuts:
                self._offered += 1
                self._cuts = cuts
                post_offer(self._board, {"number": self._offered, "cuts": cuts})

    def _pending_cuts(self) -> dict[str, int]:
        """For each site the cut to read through; together about ``batch_bytes_max``."""
        reading = {site: box for site, box in self._sites().items() if self._is_read(box)}
        share = self._batch_bytes_max // max(1, len(reading))
        found = {
            site: inbox.pending(self.source, after_cut=None, bytes_max=share)
            for site, inbox in reading.items()
        }
        return {site: chunks[-1].cut for site, chunks in found.items() if chunks}

    def _is_read(self, inbox: Inbox) -> bool:
        return any(source.name == self.source for source in inbox.sources())

    def _batch(self, life: int, number: int) -> None:
        """Called by Spark. What escapes from here ends the stream, and the host restarts it.

        The batch is the offer that is out; there is one at most. Asking Spark for the rows of the
        offer, which say the same, would take a job.
        """
        if life != self._life or self._closing.is_set():
            return
        self._process(self._cuts, number)
        with self._lock:
            if life == self._life:
                self._done = self._offered
        self._restart_wait_s = RESTART_S_MIN
        self._offer()

    def _process(self, cuts: Mapping[str, int], number: int) -> None:
        batches, boxes = self._gather(cuts)
        if not batches:
            return
        try:
            outcomes = self._runner.run(batches)
        except Unreadable as error:
            # What is left of the offer comes again with the next one.
            for site, chunk, reason in error.chunks:
                boxes[site].quarantine(self.source, chunk.cut, reason)
            return
        for batch, outcome in zip(batches, outcomes, strict=True):
            self._commit(batch, outcome, boxes[batch.site], number)

    def _gather(self, cuts: Mapping[str, int]) -> tuple[list[SiteBatch], dict[str, Inbox]]:
        sites = self._sites()
        installed = self._queries(self.source)
        batches, boxes = [], {}
        for site, cut in cuts.items():
            inbox = sites.get(site)
            if inbox is None or not self._is_read(inbox):
                continue
            found = inbox.pending(self.source, after_cut=None, bytes_max=self._batch_bytes_max)
            chunks = tuple(chunk for chunk in found if chunk.cut <= cut)
            queries = tuple(query for query in installed if inbox.runs(str(query.id)))
            if chunks:
                batches.append(SiteBatch(site, chunks, queries))
                boxes[site] = inbox
        return batches, boxes

    def _commit(
        self, batch: SiteBatch, outcome: SiteOutcome, inbox: Inbox, number: int
    ) -> None:
        while not self._closing.is_set():
            with self._commit_lock:
                if self._sites().get(batch.site) is not inbox:
                    return
                try:
                    inbox.commit(
                        self.source,
                        epoch=self._epoch(batch.site, inbox),
                        batch_id=number,
                        through_cut=batch.chunks[-1].cut,
                        results=outcome.results,
                        unparsed=outcome.unparsed,
                        samples=outcome.samples,
                        high_time_us=outcome.high_time_us,
                        records=outcome.records,
                    )
                    return
                except DiskFull as error:
                    log.warning("commit waits", site=batch.site, why=str(error))
            self._closing.wait(COMMIT_RETRY_S)

    def _epoch(self, site: str, inbox: Inbox) -> int:
        """Begun at the site's first batch of this life; a site that came back begins another."""
        known = self._epochs.get(site)
        if known is None or known[0] is not inbox:
            known = (inbox, inbox.new_epoch(self.source))
            self._epochs[site] = known
        return known[1]
