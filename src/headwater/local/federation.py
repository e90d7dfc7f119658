"""A federation in one process: many sites, one Spark, a network that is emulated in real time.

Each site has its own directory, cube and runtime, exactly as an agent process has. The Spark host
and the event loop are shared, the trees are planned once, and messages travel through
``MemoryWorld`` instead of sockets, as the same bytes or as values. ``headwater try``, which may
have a thousand sites and keeps nothing, hands over values, and also shares threads, a disk without
syncs and the tables of its cubes. The demo kills sites and starts them again from what they have
written, so its sites have all of these to themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import msgspec

from headwater.agent.admission import admit_with
from headwater.agent.clock import SiteClock
from headwater.agent.config import PolicyConfig
from headwater.agent.runtime import SiteRuntime, federation_trees
from headwater.agent.settings import RuntimeSettings
from headwater.agent.stores import SiteStores
from headwater.agent.threads import SharedThreads
from headwater.net.memory.memory_network import MemoryWorld
from headwater.net.values.codec import Codec
from headwater.plan.roster import Roster
from headwater.spark.jvm.session import RunningSpark
from headwater.spark.root.root_part import RootSpark
from headwater.spark.rows.handover import HandoverPlace
from headwater.spark.site.site_host import SiteHost
from headwater.store.disk import Disk
from headwater.store.segments import CACHE_BYTES_MAX
from headwater.store.tables import Tables

CACHES_BYTES_MAX = 512 << 20
"""Of the tables that all sites of a process together keep in memory beside their segments."""
CACHE_BYTES_MIN = 256 << 10


class Federation:
    """Made on a running event loop. Sites can be killed and started again while it runs."""

    def __init__(
        self,
        directory: Path,
        roster: Roster,
        *,
        spark: RunningSpark,
        world: MemoryWorld,
        settings: RuntimeSettings,
        data: Mapping[str, Path],
        now_s: Callable[[], float],
        batch_bytes_max: int | None = None,
        clocks: Mapping[str, Callable[[], float]] | None = None,
        disk: Disk | None = None,
        threads: SharedThreads | None = None,
    ) -> None:
        """``data`` maps each site with data to the directory that its sources are below. ``now_s``
        is the wall clock; sites with an entry in ``clocks`` go by that instead. Without ``threads``
        each site has its own."""
        self.directory = directory
        self.roster = roster
        self.world = world
        self.runtimes: dict[str, SiteRuntime] = {}
        self._settings = settings
        self._data = data
        self._now_s = now_s
        self._clocks = clocks or {}
        self._disk = disk or Disk()
        self._threads = threads
        self._tables = None if self._disk.is_kept else Tables()
        self._codec_made: Codec | None = None
        """The newest."""
        self._trees = federation_trees(roster, settings)
        self._host = SiteHost(
            spark.session,
            directory / "spark",
            batch_bytes_max=batch_bytes_max or settings.sources.batch_bytes_max,
            batch_rows_max=settings.sources.batch_rows_max,
            shared=spark.shared,
            limits=settings.sources.batch_limits,
        )
        handover = HandoverPlace((spark.shared or directory / "spark") / "handover")
        self._root_spark = RootSpark(spark.session, handover=handover)

    async def start(self) -> None:
        """All are reachable before the first one dials, so nobody is sought in vain."""
        made = [await self._made(site.name) for site in self.roster.sites]
        for runtime in made:
            await runtime.take_up()
        for runtime in made:
            await runtime.join()
        for runtime in made:
            runtime.begin()

    async def start_site(self, name: str) -> SiteRuntime:
        """A new life of this site, on the directory that it had."""
        runtime = await self._made(name)
        await runtime.start()
        return runtime

    async def _made(self, name: str) -> SiteRuntime:
        site = self.roster.site(name)
        clock = SiteClock(wall=self._clocks.get(name, self._now_s))
        sources = msgspec.structs.replace(
            self._settings.sources, data=str(self._data.get(name, self.directory / "none"))
        )
        open_stores = partial(
            SiteStores,
            self.directory / "sites" / name,
            site=name,
            clock=clock.now_s,
            retention=self._settings.retention,
            summary_bytes_max=self._settings.summary_bytes_max,
            disk=self._disk,
            cache_bytes_max=self._cache_bytes_max(),
            spool_directory=None if self._disk.is_kept else self.directory / "spool",
            tables=self._tables,
        )
        if self._threads is None:
            stores = await asyncio.to_thread(open_stores)
        else:
            stores = await self._threads.beside(open_stores)
        runtime = SiteRuntime(
            site=name,
            roster=self.roster,
            settings=msgspec.structs.replace(self._settings, sources=sources),
            stores=stores,
            network=self.world.network(name, self._codec(stores)),
            now_s=clock.now_s,
            ahead_s=clock.ahead_s,
            admit=admit_with(PolicyConfig(), sources),
            host=self._host if site.has_data else None,
            root_spark=self._root_spark,
            trees=self._trees,
            threads=self._threads,
        )
        self.runtimes[name] = runtime
        return runtime

    def _codec(self, stores: SiteStores) -> Codec:
        """Where values are handed over nobody asks it for anything, and the first does for all."""
        if self._codec_made is None or not self.world.hands_over_values:
            self._codec_made = Codec(stores.book.schema, ordinals_max=self.roster.ordinals)
        return self._codec_made

    def _cache_bytes_max(self) -> int:
        share = CACHES_BYTES_MAX // len(self.roster.sites)
        return max(CACHE_BYTES_MIN, min(CACHE_BYTES_MAX, share))

    async def kill_site(self, name: str) -> None:
        """The agent is gone from one moment to the next; its directory stays."""
        await self.runtimes.pop(name).kill()

    @property
    def home(self) -> SiteRuntime:
        return self.runtimes[self.roster.home]

    async def stop(self) -> None:
        """No new input, then no new words, then the stores. All rest before the first one leaves,
        so that nobody seeks those who have left."""
        runtimes = list(self.runtimes.values())
        self.runtimes.clear()
        for runtime in runtimes:
            await runtime.rest()
        await asyncio.to_thread(self._host.stop)
        self.world.end()
        for runtime in runtimes:
            await runtime.stop()
        if self._threads is not None:
            self._threads.end()
