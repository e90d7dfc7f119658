"""An agent that answers, alone: its root part is no Spark's, and its sites are not there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from headwater.agent.runtime import SiteRuntime
from headwater.agent.settings import RuntimeSettings
from headwater.agent.stores import SiteStores
from headwater.net.memory.memory_network import MemoryWorld
from headwater.net.values.codec import Codec
from headwater.plan.query import Query
from headwater.plan.roster import Roster, Site
from headwater.spark.root.root_part import RootSpark

WAIT_S_MAX = 120.0
ROSTER = Roster(1, (Site(0, "home", has_data=False), Site(1, "paris")), "home")


class RowsAsTheyAre:
    """A root part without Spark: the rows of the window's panes."""

    def finish(self, query: Query, windows: dict[int, Any]) -> dict[int, pa.Table]:
        return windows


def alone(directory: Path | SiteStores, **more: Any) -> SiteRuntime:
    """The runtime of ``home``, whom nobody else is there to talk to. ``more``: what is otherwise
    than usual."""
    stores = directory
    if isinstance(stores, Path):
        stores = SiteStores(stores, site="home", clock=time.time)
    usual: dict[str, Any] = {
        "site": "home",
        "roster": Roster(1, (Site(0, "home"),), "home"),
        "settings": RuntimeSettings(),
        "stores": stores,
        "network": MemoryWorld().network("home", Codec(stores.book.schema)),
        "now_s": time.time,
        "admit": lambda query, duty, operator: None,
    }
    return SiteRuntime(**usual | more)


def at_home(directory: Path, work: Callable[[SiteRuntime], Awaitable[None]], **more: Any) -> None:
    """A root at work, over sites of whom nobody is there."""

    async def run() -> None:
        spark = cast(RootSpark, RowsAsTheyAre())
        runtime = alone(directory, **{"roster": ROSTER, "root_spark": spark} | more)
        await runtime.start()
        try:
            await work(runtime)
        finally:
            await runtime.stop()

    asyncio.run(run())


async def until(is_so: Callable[[], object]) -> None:
    async with asyncio.timeout(WAIT_S_MAX):
        while not is_so():
            await asyncio.sleep(0.02)
