"""Metrics: asked by a thread of Prometheus', answered by the event loop."""

from __future__ import annotations

import asyncio
import threading
import urllib.request
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

from headwater.agent.metrics import Numbers, serve_metrics
from headwater.agent.runtime import SiteRuntime
from headwater.net.network import LinkCounters, NetworkStats
from headwater.store.cube import CubeStatus


class LoopOnly:
    """A runtime that may be touched by one thread only, but for its stores."""

    def __init__(self) -> None:
        self._owner = threading.get_ident()
        self.network = SimpleNamespace(stats=self._stats)
        status = CubeStatus(1, 2, 3, 4, 5, 6, 7, 8)
        self.stores = SimpleNamespace(cube=SimpleNamespace(status=lambda: status))

    def _stats(self) -> NetworkStats:
        self._require_owner()
        return NetworkStats({"fra": LinkCounters().stats()}, {"not tls": 2})

    @property
    def notice_counts(self) -> Counter[str]:
        self._require_owner()
        return Counter({"edge: expired": 3})

    @property
    def node(self) -> Any:
        self._require_owner()
        peer = SimpleNamespace(
            heartbeat_count=lambda: 7, stages=lambda: {"up*": 2}, guests=lambda: ["nyc"]
        )
        edge = SimpleNamespace(clock_off_s=lambda: 3_600.0)
        return SimpleNamespace(peer=peer, edge=edge, clock_steps=2)

    @property
    def feeder(self) -> Any:
        self._require_owner()
        return SimpleNamespace(fenced_count=5, refused_count=1)

    @property
    def answer_count(self) -> int:
        self._require_owner()
        return 9

    def _require_owner(self) -> None:
        assert threading.get_ident() == self._owner, "only the event loop may look"


def test_the_snapshot_is_taken_on_the_event_loop() -> None:
    async def ask() -> str:
        port = serve_metrics(cast(SiteRuntime, LoopOnly()), 0)
        url = f"http://127.0.0.1:{port}/metrics"

        def fetch() -> str:
            with urllib.request.urlopen(url, timeout=10) as reply:
                return cast(str, reply.read().decode())

        return await asyncio.to_thread(fetch)

    text = asyncio.run(ask())
    assert "headwater_publications_total 9.0" in text
    assert "headwater_records_fenced_total 5.0" in text
    assert 'headwater_link_up{to="fra"}' in text
    assert 'headwater_refused_total{reason="not tls"} 2.0' in text
    assert "headwater_cube_unacked_panes 3.0" in text


def test_when_the_loop_has_ended_the_stores_are_still_told() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    runtime: Any = LoopOnly()
    names = {metric.name for metric in Numbers(runtime, loop).collect()}
    assert names == {
        "headwater_cube_unacked_panes", "headwater_cube_segment_bytes",
        "headwater_cube_damaged_segments", "headwater_spool_bytes",
    }  # fmt: skip
