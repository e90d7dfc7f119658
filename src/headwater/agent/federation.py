"""A federation in one process: many sites, one Spark, a network that is emulated in real time.

Each site has its own directory, cube and runtime, exactly as an agent process has; only the Spark
host and the event loop are shared, and messages travel as the same bytes through ``MemoryWorld``
instead of sockets. ``headwater try`` and the demo run on this.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from headwater.agent.admission import admit_with
from headwater.agent.clock import SiteClock
from headwater.agent.config import PolicyConfig
from headwater.agent.runtime import SiteRuntime
from headwater.agent.settings import RuntimeSettings
from headwater.agent.stores import SiteStores
from headwater.net.codec import Codec
from headwater.net.memory_network import MemoryWorld
from headwater.plan.roster import Roster
from headwater.spark.handover import HandoverPlace
from headwater.spark.root_part import RootSpark
from headwater.spark.session import RunningSpark
from headwater.spark.site_host import SiteHost


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
    ) -> None:
        """``data`` maps each site with data to the directory that its sources are below. ``now_s``
        is the wall clock; sites with an entry in ``clocks`` go by that instead."""
        self.directory = directory
        self.roster = roster
        self.world = world
        self.runtimes: dict[str, SiteRuntime] = {}
        self._settings = settings
        self._data = data
        self._now_s = now_s
        self._clocks = clocks or {}
        self._host = SiteHost(
            spark.session,
            directory / "spark",
            batch_bytes_max=batch_bytes_max or settings.sources.batch_bytes_max,
            limits=settings.sources.batch_limits,
        )
        handover = HandoverPlace(directory / "spark" / "handover")
        self._root_spark = RootSpark(spark.session, handover=handover)

    async def start(self) -> None:
        for site in self.roster.sites:
            await self.start_site(site.name)

    async def start_site(self, name: str) -> SiteRuntime:
        """A new life of this site, on the directory that it had."""
        site = self.roster.site(name)
        clock = SiteClock(wall=self._clocks.get(name, self._now_s))
        sources = msgspec.structs.replace(
            self._settings.sources, data=str(self._data.get(name, self.directory / "none"))
        )
        stores = await asyncio.to_thread(
            SiteStores,
            self.directory / "sites" / name,
            site=name,
            clock=clock.now_s,
            retention=self._settings.retention,
        )
        runtime = SiteRuntime(
            site=name,
            roster=self.roster,
            settings=msgspec.structs.replace(self._settings, sources=sources),
            stores=stores,
            network=self.world.network(name, Codec(stores.book.schema)),
            now_s=clock.now_s,
            ahead_s=clock.ahead_s,
            admit=admit_with(PolicyConfig(), sources),
            host=self._host if site.has_data else None,
            root_spark=self._root_spark,
        )
        await runtime.start()
        self.runtimes[name] = runtime
        return runtime

    async def kill_site(self, name: str) -> None:
        """The agent is gone from one moment to the next; its directory stays."""
        await self.runtimes.pop(name).kill()

    @property
    def home(self) -> SiteRuntime:
        return self.runtimes[self.roster.home]

    async def stop(self) -> None:
        for runtime in list(self.runtimes.values()):
            await runtime.stop()
        self.runtimes.clear()
        await asyncio.to_thread(self._host.stop)
