"""Which live query somebody means by the name of a stream, and who answers it."""

from __future__ import annotations

from headwater.agent.control import control_api as api
from headwater.agent.runtime import SiteRuntime
from headwater.errors import ConfigurationError
from headwater.plan.query import Query


def find_query(runtime: SiteRuntime, stream: str) -> Query:
    """The live query of this name; of two, the one that is published.

    The parts of a stream are asked for one by one: rows of one part must not pass for all.
    """
    live = [one.query for one in runtime.node.peer.live_queries().values()]
    found = [query for query in live if query.id.name == stream or str(query.id) == stream]
    if not found:
        parts = sorted(f"{one.id.name} at {one.root}" for one in live if one.stream == stream)
        if parts:
            raise ConfigurationError(
                f"stream {stream[:80]!r} is answered in parts, by several roots; ask for one of "
                f"them: {', '.join(parts)}"
            )
        names = sorted({query.id.name for query in live})
        raise ConfigurationError(f"no stream {stream[:80]!r}; streams: {names or 'none'}")
    return max(found, key=lambda query: query.unit)


def elsewhere(runtime: SiteRuntime, query: Query) -> api.Elsewhere:
    site = runtime.roster.site(query.root)
    return api.Elsewhere(site.name, site.host, site.port)
