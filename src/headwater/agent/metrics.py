"""An agent's numbers for Prometheus, read from the runtime when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from headwater.agent.runtime import SiteRuntime


def serve_metrics(runtime: SiteRuntime, port: int) -> None:
    """On loopback only: what leaves the machine is the operator's decision."""
    registry = CollectorRegistry()
    registry.register(_Numbers(runtime))
    start_http_server(port, addr="127.0.0.1", registry=registry)


class _Numbers(Collector):
    def __init__(self, runtime: SiteRuntime) -> None:
        self._runtime = runtime

    def collect(self) -> Iterator[Metric]:
        runtime = self._runtime
        stats = runtime.network.stats()
        sent = CounterMetricFamily("headwater_sent_bytes", "On the wire", labels=["to"])
        received = CounterMetricFamily("headwater_received_bytes", "Off the wire", labels=["of"])
        up = GaugeMetricFamily("headwater_link_up", "1 while the link is up", labels=["to"])
        for site, link in stats.links.items():
            sent.add_metric([site], link.sent_bytes)
            received.add_metric([site], link.received_bytes)
            up.add_metric([site], float(link.is_up))
        refused = CounterMetricFamily("headwater_refused", "Refused frames", labels=["reason"])
        for reason, count in stats.refused.items():
            refused.add_metric([reason], count)
        notices = CounterMetricFamily("headwater_notices", "Notices", labels=["kind"])
        for kind, count in runtime.notice_counts.items():
            notices.add_metric([kind], count)
        yield from (sent, received, up, refused, notices)
        yield from self._own()

    def _own(self) -> Iterator[Metric]:
        status = self._runtime.stores.cube.status()
        for name, value in (
            ("cube_unacked_panes", status.unacked_panes),
            ("cube_segment_bytes", status.segment_bytes),
            ("cube_damaged_segments", status.damaged_segments),
            ("spool_bytes", status.spool_bytes),
        ):
            yield GaugeMetricFamily(f"headwater_{name}", name.replace("_", " "), value=value)
        yield CounterMetricFamily(
            "headwater_publications", "Answers published", value=self._runtime.answer_count
        )
