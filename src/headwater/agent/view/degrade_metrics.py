"""What a site gives up of its queries, as metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.core import GaugeMetricFamily, Metric

from headwater.edge.degrade.degrading import DegradeProgress


def degrade_metrics(degrading: Mapping[str, DegradeProgress]) -> Iterator[Metric]:
    step = GaugeMetricFamily(
        "headwater_degrade_step", "How much of a query is given up; 0: nothing", labels=["query"]
    )
    need = GaugeMetricFamily(
        "headwater_degrade_need_bytes_per_second",
        "What the newest panes of a query that may give something up take on the wire",
        labels=["query"],
    )
    for query, told in degrading.items():
        step.add_metric([query], told.step)
        need.add_metric([query], told.need)
    yield from (step, need)
