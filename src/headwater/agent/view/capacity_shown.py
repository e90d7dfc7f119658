"""What links and ways carry, for people and for metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from headwater.agent.runtime import SiteRuntime
from headwater.algebra.byte_rate import rate_text
from headwater.algebra.capacity.way_capacity import WayCapacity


class LinkTold(msgspec.Struct, frozen=True):
    """Of one link, as its agent knows it."""

    bytes_per_s: float | None
    queueing_s: float = 0.0
    ratio: float | None = None
    died: int = 0


def links_told(runtime: SiteRuntime) -> dict[str, LinkTold]:
    """By neighbour; of links of which something was measured."""
    peer = runtime.node.peer
    found = {}
    for site in runtime.network.stats().links:
        known = peer.link_capacity(site)
        if known.bytes_per_s is not None or known.died_count:
            found[site] = LinkTold(
                known.bytes_per_s, known.queueing_s, known.ratio, known.died_count
            )
    return found


def ways_told(runtime: SiteRuntime) -> dict[str, WayCapacity]:
    """By query that is not answered here; of ways of which something is known."""
    peer = runtime.node.peer
    ways = {query: peer.way_capacity(query) for query in peer.live_queries()}
    return {query: way for query, way in ways.items() if way.bytes_per_s is not None}


def link_text(told: LinkTold | None) -> str:
    """As ``410 kbit/s``; nothing where nothing was measured."""
    return "" if told is None or told.bytes_per_s is None else rate_text(told.bytes_per_s)


def way_text(way: WayCapacity) -> str:
    """As ``64 kbit/s (beyond oslo)``; nothing where nothing is known."""
    if way.bytes_per_s is None:
        return ""
    return f"{rate_text(way.bytes_per_s)} ({way.narrowest})"


def capacity_metrics(
    links: Mapping[str, LinkTold], ways: Mapping[str, WayCapacity]
) -> Iterator[Metric]:
    carries = GaugeMetricFamily(
        "headwater_link_capacity_bytes_per_second", "As it was shown last", labels=["to"]
    )
    queueing = GaugeMetricFamily(
        "headwater_link_queueing_seconds",
        "How long packets wait on the way, beyond our own queue",
        labels=["to"],
    )
    ratio = GaugeMetricFamily(
        "headwater_link_marker_ratio",
        "Seconds of data before the newest marker, for each until the neighbour had read it",
        labels=["to"],
    )
    died = CounterMetricFamily(
        "headwater_link_died", "Summaries that were too old before they left", labels=["to"]
    )
    for site, told in links.items():
        if told.bytes_per_s is not None:
            carries.add_metric([site], told.bytes_per_s)
        queueing.add_metric([site], told.queueing_s)
        if told.ratio is not None:
            ratio.add_metric([site], told.ratio)
        died.add_metric([site], told.died)
    whole = GaugeMetricFamily(
        "headwater_way_capacity_bytes_per_second",
        "The least over the links to the root, and over budgets",
        labels=["query"],
    )
    for query, way in ways.items():
        if way.bytes_per_s is not None:
            whole.add_metric([query], way.bytes_per_s)
    yield from (carries, queueing, ratio, died, whole)
