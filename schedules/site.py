"""One site that is its own root, life after life, on one directory."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import headwater.agent.runtime as runtime_module
import headwater.spark.site.source_stream as stream_module
from headwater.agent.config import SourcesConfig
from headwater.agent.control.install import plan_here
from headwater.agent.runtime import SiteRuntime
from headwater.agent.settings import RuntimeSettings
from headwater.agent.stores import SiteStores
from headwater.edge.config import EdgeConfig
from headwater.net.memory.memory_network import MemoryWorld
from headwater.net.values.codec import Codec
from headwater.node.config import NodeConfig
from headwater.overlay.config import OverlayConfig
from headwater.plan.command import Install, Remove
from headwater.plan.query import Query
from headwater.plan.roster import Roster
from headwater.plan.roster import Site as RosterSite
from headwater.root.config import RootConfig
from headwater.spark.root.root_part import RootSpark
from headwater.spark.site.site_host import SiteHost
from headwater.store.cube.retention import RetentionConfig
from headwater.store.follow.follow import LogFollower
from headwater.store.lock import DirectoryLock
from headwater.store.table_cache import TableCache
from schedules.queries import SITE, query_of
from schedules.stand_ins import StandInOffers, StandInRoot, StandInRunner, StandInSpark

LIFE_S = 7.0
RETAIN_EVERY_S = 7.0
"""So often that it happens in every schedule."""
NODE = NodeConfig(
    overlay=OverlayConfig(summary_life_s=LIFE_S),
    edge=EdgeConfig(summary_life_s=LIFE_S, live_for_s=LIFE_S, state_every_s=2.0, seal_every_s=2.0),
    root=RootConfig(
        summary_life_s=LIFE_S, ack_every_s=1.0, ack_idle_s=5.0, answer_retry_last_s=4.0
    ),
)
"""Everything sooner than in an agent, so that a schedule of a minute sees all of it."""
ROSTER = Roster(1, (RosterSite(0, SITE),), SITE)


class Site:
    """Made for one life, inside the event loop that runs it."""

    def __init__(
        self,
        directory: Path,
        *,
        disk: Any,
        spark: StandInSpark,
        now_s: Callable[[], float],
        retention: RetentionConfig,
        cache_bytes_max: int | None,
    ) -> None:
        """``cache_bytes_max``: a small one makes the stores read again what they wrote."""
        self.spark = spark
        self.now_s = now_s
        self.stores = SiteStores(directory, site=SITE, clock=now_s, retention=retention, disk=disk)
        if cache_bytes_max is not None:
            self.stores.ledger.rows._cache = TableCache(cache_bytes_max)
            self.stores.cube._rows.store._cache = TableCache(cache_bytes_max)
        self.host = SiteHost(cast(Any, spark), directory / "spark")
        sources = SourcesConfig(data=str(directory.parent / "data"))
        self.runtime = SiteRuntime(
            site=SITE,
            roster=ROSTER,
            settings=RuntimeSettings(
                sources=sources, retention=retention, node=NODE, branching=2, trees=1
            ),
            stores=self.stores,
            network=MemoryWorld().network(SITE, Codec(self.stores.book.schema)),
            now_s=now_s,
            admit=lambda query, duty, operator: None,
            host=self.host,
            root_spark=cast(RootSpark, StandInRoot(spark)),
        )

    async def start(self) -> None:
        await self.runtime.start()

    async def stop(self) -> None:
        await self.runtime.stop()
        await asyncio.to_thread(self.host.stop)

    # What an operator does

    def install(self, source: str, *, name: str, range_s: int) -> Query:
        """Raises ``StoreError`` when the command can't be numbered."""
        counter = self.runtime.next_counter()
        query = query_of(source, name=name, counter=counter, range_s=range_s, now_s=self.now_s())
        trees = plan_here(self.runtime, query)
        self.runtime.command(Install(query=query, trees=trees, roster_version=ROSTER.version))
        return query

    def remove(self, name: str) -> str | None:
        for one in self.live():
            if one.id.name == name:
                self.runtime.command(
                    Remove(id=one.id, installer=SITE, counter=self.runtime.next_counter())
                )
                return str(one.id)
        return None

    def live(self) -> list[Query]:
        return [one.query for one in self.runtime.node.peer.live_queries().values()]


@contextlib.contextmanager
def parts_replaced(
    polled: Callable[[str, Callable[[], Any]], Any], locks: list[DirectoryLock]
) -> Iterator[None]:
    """Stand-ins where the host would ask Spark, and an eye on every poll and every lock."""
    real_poll, real_take = LogFollower.poll, DirectoryLock.take

    def take(directory: Path) -> DirectoryLock:
        locks.append(real_take(directory))
        return locks[-1]

    def poll(self: LogFollower, **given: Any) -> Any:
        return polled(self.source, lambda: real_poll(self, **given))

    places: list[tuple[Any, str, Any]] = [
        (stream_module, "OfferStream", StandInOffers),
        (stream_module, "BatchRunner", StandInRunner),
        (runtime_module, "RETENTION_EVERY_S", RETAIN_EVERY_S),
        (LogFollower, "poll", poll),
        (DirectoryLock, "take", take),
    ]
    before = [(where, name, vars(where)[name]) for where, name, _ in places]
    for where, name, stand_in in places:
        setattr(where, name, stand_in)
    try:
        yield
    finally:
        for where, name, real in before:
            setattr(where, name, real)
