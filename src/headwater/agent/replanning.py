"""New trees for old queries: the root looks now and then whether the network has changed.

Coordinates always move a little, and exchanging trees costs an install and some heartbeats, so it
is done only where it shortens the way to the root by a good part (``placement.is_much_better``).
"""

from __future__ import annotations

import asyncio

import msgspec
import structlog

from headwater.agent.control.install import plan_here, usable_coordinates
from headwater.agent.runtime import SiteRuntime
from headwater.placement.tree_latency import is_much_better
from headwater.plan.command import Install

log = structlog.get_logger()


async def keep_planned(runtime: SiteRuntime) -> None:
    """Runs for as long as the agent does. A query that can't be planned keeps its trees, and is
    planned the next time."""
    while True:
        await asyncio.sleep(runtime.settings.replan_every_s)
        for query_id in list(runtime.node.peer.live_queries()):
            try:
                await _plan_anew_here(runtime, query_id)
            except Exception as error:
                log.warning("not planned anew", query=query_id, error=repr(error)[:2000])
                runtime.note("planner", "not planned anew", f"{query_id}: {error!r}"[:500])


async def _plan_anew_here(runtime: SiteRuntime, query_id: str) -> None:
    """Others may have been planned meanwhile, which takes time: it is looked for again."""
    install = runtime.node.peer.live_queries().get(query_id)
    if install is not None and install.query.root == runtime.site:
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
    live = runtime.node.peer.live_queries().get(str(install.query.id))
    if live is None or live.plan_version != install.plan_version:
        return False  # it was removed, or planned by somebody else, while we were planning
    if not is_much_better(install.trees, trees, by_ordinal):
        return False
    version = install.plan_version + 1
    log.info("planned anew", query=str(install.query.id), plan=version)
    runtime.replan(msgspec.structs.replace(install, trees=trees, plan_version=version, age_s=0.0))
    return True
