"""What the network tells of budgets and of queries, as metrics."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from headwater.net.network import NetworkStats


def budget_metrics(network: NetworkStats) -> Iterator[Metric]:
    """By link and class; of the agent's own budget with nobody's name."""
    budgets = {"": network.budget} | {site: link.budget for site, link in network.links.items()}
    allowed = GaugeMetricFamily(
        "headwater_budget_bytes_per_second", "What may be sent", labels=["to"]
    )
    spent = CounterMetricFamily(
        "headwater_budget_spent_bytes",
        "Where a budget counts, as the interface sees it",
        labels=["to", "class"],
    )
    waited = CounterMetricFamily(
        "headwater_budget_waited_seconds",
        "How long something waited for the budget",
        labels=["to", "class"],
    )
    frames = CounterMetricFamily("headwater_sent_class_bytes", "Frames", labels=["to", "class"])
    for site, budget in budgets.items():
        if budget.bytes_per_s is not None:
            allowed.add_metric([site], budget.bytes_per_s)
        for name, count in budget.spent_bytes.items():
            spent.add_metric([site, name], count)
        for name, waited_s in budget.waited_s.items():
            waited.add_metric([site, name], waited_s)
    for site, link in network.links.items():
        for name, count in link.sent_by.items():
            frames.add_metric([site, name], count)
    yield from (allowed, spent, waited, frames)


def query_metrics(network: NetworkStats) -> Iterator[Metric]:
    """By query and class; what is sent for queries that are not known here has no name."""
    spent = CounterMetricFamily(
        "headwater_query_sent_bytes",
        "Of its summaries, states and acknowledgements, with headers of TLS and TCP",
        labels=["query", "class"],
    )
    allowed = GaugeMetricFamily(
        "headwater_query_budget_bytes_per_second", "Its own budget", labels=["query"]
    )
    weight = GaugeMetricFamily(
        "headwater_query_weight", "Where queries share a link", labels=["query"]
    )
    held = CounterMetricFamily(
        "headwater_query_budget_held",
        "How often its own budget began to hold something back",
        labels=["query"],
    )
    for query, told in network.queries.items():
        for name, count in told.spent_bytes.items():
            spent.add_metric([query, name], count)
        if not query:
            continue
        weight.add_metric([query], told.share.weight)
        if told.share.bytes_per_s is not None:
            allowed.add_metric([query], told.share.bytes_per_s)
            held.add_metric([query], told.held_count)
    yield from (spent, allowed, weight, held)
