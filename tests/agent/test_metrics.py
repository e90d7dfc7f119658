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
from headwater.algebra.capacity.way_capacity import WayCapacity
from headwater.edge.degrade.answering import Requests
from headwater.edge.degrade.degrading import DegradeProgress
from headwater.net.network import BudgetStats, LinkCounters, NetworkStats
from headwater.overlay.lie_book import LieKind, LieMet
from headwater.overlay.links.byte_budget import Traffic
from headwater.spark.jvm.keeper import SparkStatus
from headwater.spark.jvm.vitals import Vitals
from headwater.store.cube.cube import CubeStatus


class LoopOnly:
    """A runtime that may be touched by one thread only, but for its stores."""

    def __init__(self) -> None:
        self._owner = threading.get_ident()
        self.network = SimpleNamespace(stats=self._stats)
        status = CubeStatus(1, 2, 3, 4, 5, 6, 7, 8)
        self.stores = SimpleNamespace(cube=SimpleNamespace(status=lambda: status))
        self.spark: Any = None

    def _stats(self) -> NetworkStats:
        self._require_owner()
        fra = LinkCounters()
        fra.spent_bytes[Traffic.BEAT] = fra.spent_bytes[Traffic.CONTROL] = 300.0
        fra.waited_s[Traffic.LIVE] = 2.5
        return NetworkStats({"fra": fra.stats()}, {"not tls": 2}, BudgetStats(25_000.0))

    @property
    def notice_counts(self) -> Counter[str]:
        self._require_owner()
        return Counter({"edge: expired": 3})

    @property
    def node(self) -> Any:
        self._require_owner()
        peer = SimpleNamespace(
            heartbeat_count=lambda: 7,
            counts=dict,
            stages=lambda: {"up*": 2},
            guests=lambda: ["nyc"],
            link_capacity=lambda site: SimpleNamespace(
                bytes_per_s=8_000.0, queueing_s=0.5, ratio=2.0, died_count=3
            ),
            live_queries=lambda: {"q@a#1": None},
            way_capacity=lambda query: WayCapacity(4_000.0, "beyond fra"),
            wake=SimpleNamespace(asleep_s=12.5, share=lambda now_s: 0.5),
            lies=lambda: (LieMet(LieKind.LEAP, "fra", 4, 0.0, 0.0, "a leap"),),
        )
        roots = (SimpleNamespace(alarms=2, alarms_raised={"never cut": 7}),)
        edges = (
            SimpleNamespace(
                query="q@a#1",
                early_keys=30,
                early_again=4,
                withheld_keys=5,
                flush_s=0.25,
                degrading=DegradeProgress(2, 4, degraded_count=3, restored_count=1),
                requests=Requests(answered=5, declined=2),
            ),
            SimpleNamespace(
                early_keys=1,
                early_again=0,
                withheld_keys=2,
                flush_s=1.5,
                degrading=None,
                requests=None,
            ),
        )
        progress = SimpleNamespace(roots=roots, edge=edges)
        edge = SimpleNamespace(
            clock_off_s=lambda: 3_600.0, keys_let_go=7, progress=lambda now_s: ()
        )
        return SimpleNamespace(peer=peer, edge=edge, clock_steps=2, progress=lambda: progress)

    @property
    def feeder(self) -> Any:
        self._require_owner()
        return SimpleNamespace(
            fenced_count=5,
            refused_count=1,
            unread_count=6,
            line_counts=lambda: {"weblog": (100, 7)},
            remark_counts=lambda: {"no file": 1},
            asides=SimpleNamespace(waiting_bytes=700, given_up=2),
        )

    @property
    def questions(self) -> Any:
        self._require_owner()
        return SimpleNamespace(counts=lambda: {"answered": 3, "refused": 1, "panes pinned": 0})

    def troubles(self) -> dict[str, str]:
        self._require_owner()
        return {"source weblog": "no room"}

    @property
    def answer_count(self) -> int:
        self._require_owner()
        return 9

    @property
    def left_out_count(self) -> int:
        self._require_owner()
        return 4

    def now_s(self) -> float:
        self._require_owner()
        return 100.0

    def _require_owner(self) -> None:
        assert threading.get_ident() == self._owner, "only the event loop may look"


def test_the_snapshot_is_taken_on_the_event_loop() -> None:
    async def ask() -> str:
        port = serve_metrics(cast(SiteRuntime, LoopOnly()), 0)
        url = f"http://127.0.0.1:{port}/metrics"

        def fetch() -> str:
            with urllib.request.urlopen(url, timeout=120) as reply:
                return cast(str, reply.read().decode())

        return await asyncio.to_thread(fetch)

    text = asyncio.run(ask())
    assert "headwater_publications_total 9.0" in text
    assert "headwater_early_keys_total 31.0" in text
    assert 'headwater_questions_total{what="answered"} 3.0' in text
    assert "headwater_early_keys_again_total 4.0" in text
    assert "headwater_early_keys_let_go_total 7.0" in text
    assert "headwater_withheld_keys_total 7.0" in text
    assert "headwater_flush_seconds 1.5" in text
    assert "headwater_groups_left_out_total 4.0" in text
    assert "headwater_late_seconds_total 12.5" in text or "headwater_late_seconds 12.5" in text
    assert "headwater_awake_share 0.5" in text
    assert "headwater_records_fenced_total 5.0" in text
    assert "headwater_input_unread 6.0" in text
    assert 'headwater_lines_total{source="weblog"} 100.0' in text
    assert 'headwater_lines_malformed_total{source="weblog"} 7.0' in text
    assert 'headwater_input_remarks{kind="no file"} 1.0' in text
    assert 'headwater_input_remarks{kind="malformed"} 0.0' in text
    assert 'headwater_link_up{to="fra"}' in text
    assert 'headwater_degrade_changes_total{kind="degraded",query="q@a#1"} 3.0' in text
    assert 'headwater_degrade_changes_total{kind="restored",query="q@a#1"} 1.0' in text
    assert 'headwater_top_requests_total{outcome="answered",query="q@a#1"} 5.0' in text
    assert 'headwater_top_requests_total{outcome="declined",query="q@a#1"} 2.0' in text
    assert 'headwater_budget_bytes_per_second{to=""} 25000.0' in text
    assert 'headwater_budget_spent_bytes_total{class="control",to="fra"} 600.0' in text
    assert 'headwater_budget_waited_seconds_total{class="live",to="fra"} 2.5' in text
    assert 'headwater_link_capacity_bytes_per_second{to="fra"} 8000.0' in text
    assert 'headwater_link_died_total{to="fra"} 3.0' in text
    assert 'headwater_way_capacity_bytes_per_second{query="q@a#1"} 4000.0' in text
    assert 'headwater_refused_total{reason="not tls"} 2.0' in text
    assert "headwater_cube_unacked_panes 3.0" in text
    assert 'headwater_trouble{what="source weblog"} 1.0' in text
    assert "headwater_set_aside_bytes 700.0" in text
    assert "headwater_set_aside_given_up_total 2.0" in text
    assert 'headwater_alarms_total{kind="never cut"} 7.0' in text
    assert 'headwater_alarms_total{kind="leap"} 4.0' in text
    assert 'headwater_alarms_total{kind="not signed"} 0.0' in text
    assert "headwater_alarms_standing 2.0" in text


def test_when_the_loop_has_ended_the_stores_are_still_told() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    runtime: Any = LoopOnly()
    names = {metric.name for metric in Numbers(runtime, loop).collect()}
    assert names == {
        "headwater_cube_unacked_panes",
        "headwater_cube_segment_bytes",
        "headwater_cube_damaged_segments",
        "headwater_spool_bytes",
    }


def test_the_jvm_is_told_with_its_deaths_and_how_full_it_is() -> None:
    vitals = Vitals(
        heap_bytes=40,
        heap_limit=80,
        metaspace_bytes=1,
        metaspace_limit=None,
        code_bytes=3,
        code_limit=4,
        class_count=5,
        thread_count=6,
        bound_objects=7,
        callbacks=8,
        listeners=9,
        cached_plans=10,
        streams=11,
    )
    status = SparkStatus(
        is_up=True, deaths={"heap": 2}, replacements=3, failed_starts=4, leases=5, vitals=vitals
    )
    loop = asyncio.new_event_loop()
    loop.close()
    runtime: Any = LoopOnly()
    runtime.spark = SimpleNamespace(status=lambda: status, trouble_count=6)
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for metric in Numbers(runtime, loop).collect()
        for sample in metric.samples
    }
    assert found["headwater_spark_up",] == 1
    assert found["headwater_spark_deaths_total", "heap"] == 2
    assert found["headwater_spark_deaths_total", "killed"] == 0, "a rate needs a first value"
    assert found["headwater_spark_replacements_total",] == 3
    assert found["headwater_spark_failed_starts_total",] == 4
    assert found["headwater_spark_troubles_total",] == 6
    assert found["headwater_jvm_full", "heap"] == 0.5
    assert found["headwater_jvm_full", "code cache"] == 0.75
    assert ("headwater_jvm_full", "metaspace") not in found
    assert found["headwater_jvm_class_count",] == 5
    assert found["headwater_jvm_cached_plans",] == 10
