"""An agent that originates without Spark: ``python -m chaos.generator agent.toml``.

The product reads with Spark, and a machine with two cores has room for one. All else of an agent is
real here: files are followed and cut, batches are committed to the cube, the node closes panes and
sends summaries over TLS. Only what Spark does between a cut and a commit is done by a few lines of
Python, for the one query of the namespace run; every other query fails, and says so.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from headwater.agent.admission import admit_with
from headwater.agent.clock import SiteClock
from headwater.agent.config import AgentConfig
from headwater.agent.control.control import ControlDesk
from headwater.agent.metrics import serve_metrics
from headwater.agent.process import READY, credentials_of, take_roster
from headwater.agent.runtime import SiteRuntime
from headwater.agent.settings import RuntimeSettings
from headwater.agent.stores import SiteStores
from headwater.algebra.rows.types import site_schema
from headwater.errors import EpochOver
from headwater.net.identity.signed_roster import SignedRoster
from headwater.net.transport.tls_network import TlsNetwork
from headwater.net.values.codec import Codec
from headwater.plan.query import Query
from headwater.plan.tree import Tree
from headwater.reading.chunk import Chunk
from headwater.reading.outcome import Batch, QueryResult, SiteOutcome
from headwater.spark.site.inbox import Inbox
from headwater.store.disk import Disk

LOOK_EVERY_S = 0.1
BATCH_BYTES_MAX = 1 << 20
EPOCH = datetime.fromtimestamp(0, UTC)
SITE_COLUMNS = ("pane", "id", "count_1", "sum_2")
"""Of ``SELECT id, count(*), sum(id) … GROUP BY window(…), id``, as the site part names them."""


class PlainHost:
    """Stands where a ``SiteHost`` stands, for all sites of a process."""

    def __init__(self, *, look_every_s: float = LOOK_EVERY_S) -> None:
        self.spark = None
        """Nothing is computed of what is asked of cubes."""
        self._queries: dict[str, Query] = {}
        self._inboxes: dict[str, Inbox] = {}
        self._epochs: dict[tuple[str, str], int] = {}
        """By site and source."""
        self._batch_id = 0
        self._look_every_s = look_every_s
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self.failure: Exception | None = None
        threading.Thread(target=self._keep, name="plain-host", daemon=True).start()

    def install(self, query: Query) -> None:
        self._queries = {**self._queries, str(query.id): query}

    def remove(self, query_id: str) -> None:
        self._queries = {key: one for key, one in self._queries.items() if key != query_id}

    def serve(self, site: str, inbox: Inbox) -> None:
        self._inboxes = {**self._inboxes, site: inbox}
        self._wake.set()

    def notice(self, source: str) -> None:
        self._wake.set()

    def withdraw(self, site: str) -> None:
        """When this has returned, nothing of the site is committed any more."""
        with self._lock:
            self._inboxes = {name: one for name, one in self._inboxes.items() if name != site}

    def _keep(self) -> None:
        try:
            while True:
                self._wake.wait(self._look_every_s)
                self._wake.clear()
                for site in self._inboxes:
                    with self._lock:
                        if site in self._inboxes:
                            self._step(site, self._inboxes[site])
        except Exception as error:
            self.failure = error
            raise

    def _step(self, site: str, inbox: Inbox) -> None:
        for source in inbox.sources():
            key = (site, source.name)
            try:
                if key not in self._epochs:
                    self._epochs[key] = inbox.new_epoch(source.name)
                chunks = inbox.pending(source.name, after_cut=None, bytes_max=BATCH_BYTES_MAX)
                if chunks:
                    self._batch(inbox, source.name, chunks, epoch=self._epochs[key])
            except EpochOver:  # the source was removed, and perhaps installed again
                self._epochs.pop(key, None)

    def _batch(self, inbox: Inbox, source: str, chunks: Sequence[Chunk], *, epoch: int) -> None:
        records = [record for chunk in chunks for record in _records(chunk)]
        self._batch_id += 1
        results = tuple(
            _reduced(query, records)
            for query in self._queries.values()
            if query.source_name == source and inbox.runs(str(query.id))
        )
        count, high_us = len(records), max((ts_us for _, ts_us in records), default=None)
        outcome = SiteOutcome(results, count, high_time_us=high_us, lines=count)
        inbox.commit(Batch(source, epoch, self._batch_id, chunks[-1].cut), outcome)


def _records(chunk: Chunk) -> Iterator[tuple[int, int]]:
    """(number, time in microseconds) of each line."""
    for line in Path(chunk.path).read_text().splitlines():
        number, time_text, _ = line.split(",")
        yield int(number), (datetime.fromisoformat(time_text) - EPOCH) // timedelta(microseconds=1)


def _reduced(query: Query, records: Sequence[tuple[int, int]]) -> QueryResult:
    """The site part of the run's query."""
    schema = site_schema(query.program)
    if tuple(schema.names) != SITE_COLUMNS:
        return QueryResult(str(query.id), failed=f"a generator can't run {query.program.site_sql}")
    counts = Counter((query.window.pane_at(ts_us), number) for number, ts_us in records)
    if not counts:
        return QueryResult(str(query.id))
    columns = [
        pa.array([pane for pane, _ in counts]),
        pa.array([number for _, number in counts]),
        pa.array(counts.values()),
        pa.array([number * count for (_, number), count in counts.items()]),
    ]
    return QueryResult(str(query.id), pa.table(columns, SITE_COLUMNS).cast(schema))


def open_agent(
    config: AgentConfig,
    signed: SignedRoster,
    *,
    host: PlainHost | None,
    root: object = None,
    disk: Disk | None = None,
    trees: Sequence[Tree] | None = None,
) -> SiteRuntime:
    """As ``headwater.agent.process`` does it, with another host, and with another root part where
    there is one: ``root`` stands where a ``RootSpark`` stands. Agents that share a process may
    share their ``trees``."""
    clock = SiteClock()
    stores = SiteStores(Path(config.directory), site=config.site, clock=clock.now_s, disk=disk)
    (stores.directory / READY).unlink(missing_ok=True)
    desk = ControlDesk()
    runtime = SiteRuntime(
        site=config.site,
        roster=signed.roster,
        settings=RuntimeSettings.of(config),
        stores=stores,
        network=TlsNetwork(
            site=config.site,
            roster=signed.roster,
            roster_digest=signed.digest,
            credentials=credentials_of(config),
            codec=Codec(stores.book.schema),
            listen=(config.listen.host, config.listen.port),
            control=desk.handle,
            notify=lambda kind, text: print(f"network {kind}: {text}", file=sys.stderr),
        ),
        now_s=clock.now_s,
        ahead_s=clock.ahead_s,
        admit=admit_with(config.policy, config.sources),
        host=cast(Any, host),
        root_spark=cast(Any, root),
        trees=trees,
    )
    desk.open(runtime)
    return runtime


async def _run(config: AgentConfig) -> None:
    signed = take_roster(config, credentials_of(config), now_s=time.time())
    host = PlainHost()
    runtime = open_agent(config, signed, host=host)
    ends = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ends.set)
    await runtime.start()
    if config.metrics_port is not None:
        serve_metrics(runtime, config.metrics_port)
    (runtime.stores.directory / READY).write_text(f"{os.getpid()}\n")
    while not ends.is_set() and not runtime.failure and host.failure is None:
        try:
            async with asyncio.timeout(LOOK_EVERY_S):
                await ends.wait()
        except TimeoutError:
            continue
    await runtime.stop()


if __name__ == "__main__":
    asyncio.run(_run(AgentConfig.load(Path(sys.argv[1]))))
