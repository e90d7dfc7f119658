"""New trees for old queries: the root looks now and then whether the network has changed.

Coordinates always move a little, and exchanging trees costs an install and some heartbeats, so it
is done only where it shortens the way to the root by a good part (``placement.is_much_better``).
"""

from __future__ import annotations

import asyncio

import msgspec
import structlog

from headwater.agent.install import plan_here, usable_coordinates
from headwater.agent.runtime import SiteRuntime
from headwater.placement.tree_latency import is_much_better
from headwater.plan.command import Install

log = structlog.get_logger()


async def keep_planned(runtime: SiteRuntime) -> None:
    """Runs for as long as the agent does."""
    while True:
        await asyncio.sleep(runtime.settings.replan_every_s)
        for install in list(runtime.node.peer.live_queries().values()):
            if install.query.root == runtime.site:
                await plan_anew(runtime, install)


async def plan_anew(runtime: SiteRuntime, install: Install) -> bool:
    """True where the query has new trees now. Planning is left to a thread: it may take seconds."""
    places = usable_coordinates(runtime)
    if places is None:
        return False
    trees = await asyncio.to_thread(plan_here, runtime, install.query)
    by_ordinal = {
        site.ordinal: places[site.name] for site in runtime.roster.sites if site.name in places
    }
    if not is_much_better(install.trees, trees, by_ordinal):
        return False
    version = install.plan_version + 1
    log.info("planned anew", query=str(install.query.id), plan=version)
    runtime.replan(msgspec.structs.replace(install, trees=trees, plan_version=version, age_s=0.0))
    return True
