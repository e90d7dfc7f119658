"""One Spark for the sites that share a machine: every source one stream, every batch all queries.

The agent of each site *serves* its inbox and *installs* its queries; which of them a site runs is
asked of the inbox when a batch begins. Installing and removing therefore restart nothing. A thread
of the host looks after the streams: it starts those that are wanted, stops those that no site
reads any more, restarts those that ended, and offers them input. ``notice`` makes it look at once;
without it the host finds new input within ``LOOK_EVERY_S``.
"""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import structlog
from pyspark.sql import SparkSession

from headwater.plan.query import Query
from headwater.spark.inbox import Inbox
from headwater.spark.source_stream import SourceStream

log = structlog.get_logger()

LOOK_EVERY_S = 0.25
TROUBLE_S = 1.0
BATCH_BYTES_MAX = 64 << 20


class SiteHost:
    """Safe to use from any thread."""

    def __init__(
        self, session: SparkSession, directory: Path, *, batch_bytes_max: int = BATCH_BYTES_MAX
    ) -> None:
        """``directory`` is for what lives as long as the host: its content is removed."""
        self._session = session
        self._directory = directory / "streams"
        self._batch_bytes_max = batch_bytes_max
        self._inboxes: dict[str, Inbox] = {}
        self._queries: dict[str, Query] = {}
        self._streams: dict[str, SourceStream] = {}
        self._commit_lock = threading.RLock()
        self._wake = threading.Event()
        self._is_stopping = False
        shutil.rmtree(self._directory, ignore_errors=True)
        self._keeper = threading.Thread(target=self._keep, name="site-host", daemon=True)
        self._keeper.start()

    def serve(self, site: str, inbox: Inbox) -> None:
        """Read for this site from now on, whatever its inbox names as sources."""
        with self._commit_lock:
            self._inboxes = {**self._inboxes, site: inbox}
        self._wake.set()

    def withdraw(self, site: str) -> None:
        """When this has returned, nothing is committed for the site any more."""
        with self._commit_lock:
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
        self._wake.set()

    def notice(self, source: str) -> None:
        """There is new input of this source at a site."""
        self._wake.set()

    def stop(self) -> None:
        """Ends all streams; what is under way is committed or not, as a whole."""
        self._is_stopping = True
        self._wake.set()
        self._keeper.join()
        for stream in self._streams.values():
            stream.stop()
        self._streams.clear()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _keep(self) -> None:
        while not self._is_stopping:
            self._wake.wait(LOOK_EVERY_S)
            self._wake.clear()
            if not self._is_stopping:
                self._match_streams()
            for name, stream in list(self._streams.items()):
                try:
                    stream.step()
                except Exception as error:  # one source's trouble must not end the others
                    log.warning("stream is in trouble", source=name, error=repr(error)[:500])
                    time.sleep(TROUBLE_S)

    def _match_streams(self) -> None:
        wanted = {source.name for inbox in self._sites().values() for source in inbox.sources()}
        for name in wanted - self._streams.keys():
            self._streams[name] = self._new_stream(name)
        for name in self._streams.keys() - wanted:
            self._streams.pop(name).stop()

    def _new_stream(self, source: str) -> SourceStream:
        return SourceStream(
            source,
            self._session,
            self._directory / re.sub(r"\W", "_", source),
            sites=self._sites,
            queries=self._of_source,
            commit_lock=self._commit_lock,
            batch_bytes_max=self._batch_bytes_max,
        )

    def _sites(self) -> Mapping[str, Inbox]:
        return self._inboxes

    def _of_source(self, source: str) -> Sequence[Query]:
        return [query for query in self._queries.values() if query.source.name == source]
