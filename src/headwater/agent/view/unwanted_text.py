"""How many panes of a stream its root wants no more, in one cell."""

from __future__ import annotations

from headwater.agent.runtime import SiteRuntime
from headwater.algebra.sets import ranges
from headwater.plan.query import Query


def unwanted_text(runtime: SiteRuntime, query: Query) -> str:
    """At the root since it was started, and without which sites; of the site that was asked, those
    that it has been told of and still answers for."""
    name, told = str(query.id), list[str]()
    root = runtime.node.root(name)
    if root is not None:
        told.append(root.answers.unwanted_panes().text())
    own = next((one for one in runtime.node.edge.progress() if one.query == name), None)
    if own is not None and own.record.unwanted:
        count = ranges.count(own.record.unwanted)
        told.append(f"{runtime.site} makes and sends {count} of the newest no more")
    return "; ".join(filter(None, told))
