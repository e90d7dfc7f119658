"""One Spark for the sites that share a machine: every source one stream, every batch all queries.

The agent of each site *serves* its inbox and *installs* its queries; which of them a site runs is
asked of the inbox when a batch begins. Installing and removing therefore restart nothing. A thread
of the host looks after the streams: it starts those that are wanted, stops those that no site
reads any more, restarts those that ended, and offers them input. ``notice`` makes it look at once;
without it the host finds new input within ``LOOK_EVERY_S``.

The session is leased (``keeper``). When the lease is over, because the JVM is gone or is to be
replaced, the host ends its streams, gives the lease back and begins anew on the next one.

No exception ends the host's thread: it is logged and counted, and the host looks again.
"""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import structlog
from pyspark.sql import SparkSession

from headwater.edge.batches.batch_times import BatchLimits
from headwater.errors import SparkDown
from headwater.plan.query import Query
from headwater.plan.readings import is_past, source_of
from headwater.spark.jvm.lease import AnyLease, Spark, spark_of
from headwater.spark.jvm.suspicion import Suspicion
from headwater.spark.site.inbox import Inbox
from headwater.spark.site.site_jobs import JOB_S_MAX
from headwater.spark.site.source_stream import GivingWay, SourceStream

log = structlog.get_logger()

LOOK_EVERY_S = 0.25
LOOK_SITES = 100
"""Up to so many sites are looked at as often as that, and more of them less often: a look asks each
of them, also while a batch of theirs is under way for a minute."""
REST_SHARE = 20.0
"""After a look the host rests so many times as long as it took, ``LOOK_EVERY_S`` at most: a look
asks all sites, and a thousand sites that start wake it a thousand times."""
TROUBLE_S = 1.0
"""A source, or the host itself, is left alone for so long after an error."""
STOP_S_MAX = 60.0
"""How long the streams may take to end before they are left to themselves."""
BATCH_BYTES_MAX = 64 << 20
BESIDE_S = 30.0
"""For so long after a live batch, a reading of the past counts as being beside live ones."""
BATCH_ROWS_MAX = 4_000_000


class SiteHost:
    """Safe to use from any thread."""

    def __init__(
        self,
        spark: Spark | SparkSession,
        directory: Path,
        *,
        batch_bytes_max: int = BATCH_BYTES_MAX,
        batch_rows_max: int = BATCH_ROWS_MAX,
        limits: BatchLimits | None = None,
        stop_s_max: float = STOP_S_MAX,
        shared: Path | None = None,
        job_s_max: float = JOB_S_MAX,
        suspicion: Suspicion | None = None,
    ) -> None:
        """``directory`` is for what lives as long as the host: its content is removed. So is that
        of ``shared``, which is for what executors of a cluster are to see. No query's job in a
        batch takes longer than ``job_s_max``; whom ``suspicion`` names runs alone."""
        self._spark = spark_of(spark)
        self._lease: AnyLease | None = None
        self._directory = directory / "streams"
        self._shared = None if shared is None else shared / "streams"
        self._batch_bytes_max = batch_bytes_max
        self._batch_rows_max = batch_rows_max
        self._limits = limits
        self._stop_s_max = stop_s_max
        self._job_s_max = job_s_max
        self._suspicion = suspicion
        self._inboxes: dict[str, Inbox] = {}
        self._queries: dict[str, Query] = {}
        self._streams: dict[str, SourceStream] = {}
        self._quiet_until_s: dict[str, float] = {}
        self.trouble_count = 0
        """Errors that the host has got over."""
        self._commit_lock = threading.RLock()
        self._wake = threading.Event()
        self._is_stopping = threading.Event()
        self._clear()
        self._keeper = threading.Thread(target=self._keep, name="site-host", daemon=True)
        self._keeper.start()

    @property
    def spark(self) -> Spark:
        """For what else is computed at these sites."""
        return self._spark

    def serve(self, site: str, inbox: Inbox) -> None:
        """Read for this site from now on, whatever its inbox names as sources."""
        with self._commit_lock:
            self._inboxes = {**self._inboxes, site: inbox}
        self._wake.set()

    def withdraw(self, site: str) -> None:
        """When this has returned, nothing is committed for the site any more."""
        with self._commit_lock:
            if site not in self._inboxes:  # the host has stopped, for all of a thousand sites
                return
            self._inboxes = {name: box for name, box in self._inboxes.items() if name != site}
        self._wake.set()

    def install(self, query: Query) -> None:
        """Run it on every batch that begins from now on, at the sites whose inbox runs it."""
        self._queries = {**self._queries, str(query.id): query}

    def remove(self, query_id: str) -> None:
        """Once for each site that has it, when its inbox no longer runs it. It stays for as long as
        a site that is served runs it; one that is served later installs it again."""
        if any(inbox.runs(query_id) for inbox in self._inboxes.values()):
            return
        self._queries = {key: one for key, one in self._queries.items() if key != query_id}
        for stream in list(self._streams.values()):
            stream.cancel(query_id)
        self._wake.set()

    def troubles(self) -> dict[str, str]:
        """By source: why its stream fails and is started again and again."""
        return {name: one.trouble for name, one in list(self._streams.items()) if one.trouble}

    def notice(self, source: str) -> None:
        """There is new input of this source at a site."""
        self._wake.set()

    def stop(self) -> None:
        """Ends all streams; what is under way is committed or not, as a whole.

        Nothing is committed when this has returned, even where a stream did not end in time.
        """
        self._is_stopping.set()
        self._wake.set()
        self._keeper.join(self._stop_s_max)
        if self._keeper.is_alive():
            log.warning("streams do not end, and are left", sources=sorted(self._streams))
            for stream in list(self._streams.values()):
                stream.retire()
        self._inboxes = {}
        self._clear()

    def _clear(self) -> None:
        for directory in filter(None, (self._directory, self._shared)):
            shutil.rmtree(directory, ignore_errors=True)

    def _keep(self) -> None:
        while not self._is_stopping.is_set():
            self._wake.wait(LOOK_EVERY_S * max(1.0, len(self._inboxes) / LOOK_SITES))
            self._wake.clear()
            try:
                if not self._is_stopping.is_set():
                    began_s = time.monotonic()
                    self._look()
                    took_s = time.monotonic() - began_s
                    self._is_stopping.wait(min(LOOK_EVERY_S, REST_SHARE * took_s))
            except Exception as error:
                self._in_trouble("the host", error)
                self._is_stopping.wait(TROUBLE_S)
        self._let_go()

    def _look(self) -> None:
        lease = self._leased()
        if lease is None:
            return
        self._match_streams(lease)
        for name, stream in list(self._streams.items()):
            if self._quiet_until_s.get(name, 0.0) > time.monotonic():
                continue
            try:
                stream.step()
            except Exception as error:  # one source's trouble must not end the others
                if not lease.is_over:
                    self._in_trouble(name, error)

    def _in_trouble(self, name: str, error: Exception) -> None:
        self.trouble_count += 1
        self._quiet_until_s[name] = time.monotonic() + TROUBLE_S
        log.warning("stream is in trouble", source=name, error=repr(error)[:500])

    def _leased(self) -> AnyLease | None:
        """A session to work with; None: there is none now."""
        if self._lease is not None and self._lease.is_over:
            self._let_go()
        if self._lease is None:
            try:
                self._lease = self._spark.lease()
            except SparkDown:
                return None
        return self._lease

    def _let_go(self) -> None:
        for name in list(self._streams):
            self._end_stream(name)
        if self._lease is not None:
            self._lease.end()
            self._lease = None

    def _end_stream(self, name: str) -> None:
        stream = self._streams.pop(name)
        try:
            stream.stop()
        except Exception as error:  # it belongs to a JVM that is gone, say
            self._in_trouble(name, error)

    def _match_streams(self, lease: AnyLease) -> None:
        wanted: set[str] = set()
        is_known = True
        for site, inbox in self._inboxes.items():
            try:
                wanted |= {source.name for source in inbox.sources()}
            except Exception as error:  # unknown is not none: nothing is stopped for it
                is_known = False
                self._in_trouble(f"sources of {site}", error)
        for name in wanted - self._streams.keys():
            self._streams[name] = self._new_stream(name, lease)
        for name in self._streams.keys() - wanted if is_known else ():
            self._end_stream(name)

    def _new_stream(self, source: str, lease: AnyLease) -> SourceStream:
        name = re.sub(r"\W", "_", source)
        return SourceStream(
            source,
            lease.session,
            self._directory / name,
            shared=None if self._shared is None else self._shared / name,
            sites=lambda: self._inboxes,
            queries=self._of_source,
            commit_lock=self._commit_lock,
            batch_bytes_max=self._batch_bytes_max,
            batch_rows_max=self._batch_rows_max,
            limits=self._limits,
            at_work=lease.at_work,
            job_s_max=self._job_s_max,
            suspicion=self._suspicion,
            giving_way=self._giving_way if is_past(source) else None,
        )

    def _giving_way(self, batch_s: float) -> GivingWay:
        """For a reading of the past that would take so long: what the live ones are at."""
        live = [one for name, one in list(self._streams.items()) if not is_past(name)]
        return GivingWay(
            must_wait=any(one.is_at_work or one.due_in_s <= batch_s for one in live),
            is_beside=any(one.was_at_work_s + BESIDE_S > time.monotonic() for one in live),
        )

    def _of_source(self, source: str) -> Sequence[Query]:
        """Also of a reading of its past; whom that is for each site's inbox knows."""
        name = source_of(source)
        return [query for query in self._queries.values() if query.source_name == name]
