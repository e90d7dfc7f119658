"""What is given up of a stream, in one cell: by the site that was asked, and at its root by all;
and in metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from headwater.agent.runtime import SiteRuntime
from headwater.algebra.byte_rate import rate_text
from headwater.algebra.capacity.way_capacity import BUDGET
from headwater.algebra.sets import bitset
from headwater.edge.degrade.answering import Requests
from headwater.edge.degrade.degrading import DegradeProgress
from headwater.edge.progress import Backlog
from headwater.plan.query import Query
from headwater.root.root import Root

SITES_NAMED_MAX = 3


def degraded_text(runtime: SiteRuntime, query: Query) -> str:
    """Nothing where the stream gives up nothing, whatever comes."""
    name, told = str(query.id), list[str]()
    own = next((one for one in runtime.node.edge.progress() if one.query == name), None)
    if own is not None and own.degrading is not None:
        told.append(f"{runtime.site}: {own_text(own.degrading)}")
    root = runtime.node.root(name)
    if root is not None and root.table.degraded:
        told.append(_sites_text(root))
    return "; ".join(told)


def own_text(found: DegradeProgress) -> str:
    """
    >>> own_text(DegradeProgress(1, 2, "sample(url, 1/4) at level 1", "capacity", 9e3, 8e3, "fra"))
    'sample(url, 1/4) at level 1 (capacity), needs 72 kbit/s, way 64 kbit/s (to fra)'
    >>> own_text(DegradeProgress(0, 2, "all is sent", "", 9e3, 1e4, BUDGET))
    'all is sent, needs 72 kbit/s, way 80 kbit/s (its budget)'
    """
    why = f" ({found.why})" if found.why else ""
    way = "way not known" if found.way is None else f"way {rate_text(found.way)}"
    narrowest = "its budget" if found.narrowest == BUDGET else f"to {found.narrowest}"
    to = f" ({narrowest})" if found.narrowest and found.way is not None else ""
    left = ", ".join(f"{100.0 * one:.0f} %" for one in found.left)
    leaves = f", steps leave {left}" if left else ""
    return f"{found.text}{why}, needs {rate_text(found.need)}, {way}{to}{leaves}"


def backlog_text(found: Backlog) -> str:
    """Nothing where nothing waits.

    >>> backlog_text(Backlog(12, 3_400_000, 75.2, 30, True, 6))
    '12 panes wait (3.2 MiB), for up to 75 s; 30 deferred, follow; 6 rolled up'
    >>> backlog_text(Backlog(2, 1_000_000, 3.0, paused=1))
    '2 panes wait (1.0 MiB), for up to 3 s, 1 of them paused'
    >>> backlog_text(Backlog())
    ''
    """
    told = list[str]()
    if found.panes:
        wait = "pane waits" if found.panes == 1 else "panes wait"
        size = found.bytes / (1 << 20)
        paused = f", {found.paused} of them paused" if found.paused else ""
        waited = f"for up to {found.waited_s:.0f} s{paused}"
        told.append(f"{found.panes} {wait} ({size:.1f} MiB), {waited}")
    if found.deferred:
        told.append(f"{found.deferred} deferred{', follow' if found.follow else ''}")
    if found.rolled_up:
        told.append(f"{found.rolled_up} rolled up")
    return "; ".join(told)


def _sites_text(root: Root) -> str:
    views, names = root.table.views, root.table.names
    now = [
        names[ordinal]
        for ordinal in bitset.members(root.table.degraded)
        if ordinal in names and views[ordinal].state.degraded[-1].step
    ]
    if not now:
        return "no site gives anything up now"
    more = f" and {len(now) - SITES_NAMED_MAX} more" if len(now) > SITES_NAMED_MAX else ""
    return f"given up by {', '.join(now[:SITES_NAMED_MAX])}{more}"


def degrading_metrics(
    degrading: Mapping[str, DegradeProgress], requests: Mapping[str, Requests]
) -> Iterator[Metric]:
    step = GaugeMetricFamily(
        "headwater_degrade_step", "How much of a query is given up; 0: nothing", labels=["query"]
    )
    need = GaugeMetricFamily(
        "headwater_degrade_need_bytes_per_second",
        "What the newest panes of a query that may give something up take on the wire",
        labels=["query"],
    )
    changes = CounterMetricFamily(
        "headwater_degrade_changes",
        "How often a step came in, or went, since the agent started",
        labels=["query", "kind"],
    )
    for query, told in degrading.items():
        step.add_metric([query], told.step)
        need.add_metric([query], told.need)
        changes.add_metric([query, "degraded"], told.degraded_count)
        changes.add_metric([query, "restored"], told.restored_count)
    asked = CounterMetricFamily(
        "headwater_top_requests",
        "Requests of a root for further groups that this site has met, since the agent started",
        labels=["query", "outcome"],
    )
    for query, met in requests.items():
        asked.add_metric([query, "answered"], met.answered)
        asked.add_metric([query, "declined"], met.declined)
    yield from (step, need, changes, asked)
