"""An agent's numbers for Prometheus, read from the runtime when somebody asks.

Prometheus is answered by a thread of its own, and everything of a runtime but its stores belongs
to the event loop. So the loop takes a snapshot, and the thread waits for it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError as Cancelled

import msgspec
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from headwater.agent.runtime import SiteRuntime
from headwater.agent.view.capacity_shown import LinkTold, capacity_metrics, links_told, ways_told
from headwater.agent.view.degraded_text import degrading_metrics
from headwater.agent.view.network_shown import budget_metrics, query_metrics
from headwater.algebra.capacity.way_capacity import WayCapacity
from headwater.algebra.words.alarm import AlarmKind
from headwater.algebra.words.remark import RemarkKind
from headwater.edge.degrade.answering import Requests
from headwater.edge.degrade.degrading import DegradeProgress
from headwater.edge.progress import Backlog
from headwater.net.network import NetworkStats
from headwater.overlay.lie_book import LieKind
from headwater.overlay.links.neighbours import BEAT_BYTES
from headwater.root.said.explain import RootProgress
from headwater.spark.jvm.jvm_end import Cause
from headwater.spark.jvm.keeper import SparkStatus

SNAPSHOT_S_MAX = 5.0
"""How long a busy loop is waited for; Prometheus gives up after ten seconds by default."""


class Snapshot(msgspec.Struct, frozen=True):
    """What belongs to the event loop, as it was at one moment."""

    network: NetworkStats
    notices: Mapping[str, int]
    publications: int
    left_out: int
    fenced: int
    refused: int
    questions: Mapping[str, int] = {}
    """By what became of them here; and panes that retention passed over for them."""
    unread: int = 0
    lines: Mapping[str, tuple[int, int]] = {}
    remarks: Mapping[str, int] = {}
    heartbeats: int = 0
    stages: Mapping[str, int] = {}
    guests: int = 0
    asleep_s: float = 0.0
    awake_share: float = 1.0
    unmerged: int = 0
    thinned: int = 0
    troubles: Mapping[str, str] = {}
    clock_off_s: float = 0.0
    clock_steps: int = 0
    alarms: Mapping[str, int] = {}
    standing: int = 0
    set_aside: tuple[int, int] = (0, 0)
    """Bytes that wait, and stretches that were given up."""
    early_keys: int = 0
    early_again: int = 0
    early_let_go: int = 0
    withheld_keys: int = 0
    flush_s: float = 0.0
    degrading: Mapping[str, DegradeProgress] = {}
    requests: Mapping[str, Requests] = {}
    backlogs: Mapping[str, Backlog] = {}
    links_carry: Mapping[str, LinkTold] = {}
    ways_carry: Mapping[str, WayCapacity] = {}


def serve_metrics(runtime: SiteRuntime, port: int) -> int:
    """Called on the event loop. On loopback only: what leaves the machine is the operator's
    decision. Returns the port, chosen by the system for 0."""
    registry = CollectorRegistry()
    registry.register(Numbers(runtime, asyncio.get_running_loop()))
    server, _ = start_http_server(port, addr="127.0.0.1", registry=registry)
    return int(server.server_port)


class Numbers(Collector):
    """``collect`` is called by the thread of whoever asks, never by the event loop's."""

    def __init__(self, runtime: SiteRuntime, loop: asyncio.AbstractEventLoop) -> None:
        self._runtime = runtime
        self._loop = loop

    def describe(self) -> Iterator[Metric]:
        """Nothing: registering, which happens on the loop, would collect to find out."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        snapshot = self._snapshot()
        if snapshot is not None:
            yield from _of_the_loop(snapshot)
        yield from self._of_the_stores()
        if self._runtime.spark is not None:
            yield from spark_metrics(self._runtime.spark.status())
            yield CounterMetricFamily(
                "headwater_spark_troubles",
                "Errors of the Spark host that it has got over",
                value=self._runtime.spark.trouble_count,
            )

    def _snapshot(self) -> Snapshot | None:
        """None: the loop is busy, or the agent ends; what does not need it is still told."""

        async def take() -> Snapshot:
            return snapshot_of(self._runtime)

        work = take()
        try:
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:
            work.close()
            return None
        try:
            return future.result(SNAPSHOT_S_MAX)
        except (TimeoutError, Cancelled):
            future.cancel()
            return None

    def _of_the_stores(self) -> Iterator[Metric]:
        status = self._runtime.stores.cube.status()
        for name, value in (
            ("cube_unacked_panes", status.unacked_panes),
            ("cube_segment_bytes", status.segment_bytes),
            ("cube_damaged_segments", status.damaged_segments),
            ("spool_bytes", status.spool_bytes),
        ):
            yield GaugeMetricFamily(f"headwater_{name}", name.replace("_", " "), value=value)


def spark_metrics(status: SparkStatus) -> Iterator[Metric]:
    """The JVM: whether there is one, how the former ones ended, how full this one is."""
    yield GaugeMetricFamily("headwater_spark_up", "1 while there is a JVM", value=status.is_up)
    deaths = CounterMetricFamily("headwater_spark_deaths", "JVMs that died", labels=["cause"])
    for cause in Cause:
        deaths.add_metric([cause], status.deaths.get(cause, 0))
    yield deaths
    for name, text, count in (
        ("replacements", "JVMs that were replaced near a limit", status.replacements),
        ("failed_starts", "JVMs that did not come up", status.failed_starts),
    ):
        yield CounterMetricFamily(f"headwater_spark_{name}", text, value=count)
    if status.vitals is None:
        return
    full = GaugeMetricFamily("headwater_jvm_full", "Share of a limit", labels=["what"])
    for what, share in status.vitals.shares().items():
        full.add_metric([what], share)
    yield full
    for name, value in msgspec.structs.asdict(status.vitals).items():
        if value is not None:
            yield GaugeMetricFamily(f"headwater_jvm_{name}", name.replace("_", " "), value=value)


def snapshot_of(runtime: SiteRuntime) -> Snapshot:
    """On the event loop."""
    progress = runtime.node.progress()
    roots, edges = progress.roots, progress.edge
    return Snapshot(
        network=runtime.network.stats(),
        notices=dict(runtime.notice_counts),
        publications=runtime.answer_count,
        left_out=runtime.left_out_count,
        fenced=runtime.feeder.fenced_count,
        refused=runtime.feeder.refused_count,
        questions=runtime.questions.counts(),
        unread=runtime.feeder.unread_count,
        lines=runtime.feeder.line_counts(),
        remarks=runtime.feeder.remark_counts(),
        set_aside=(runtime.feeder.asides.waiting_bytes, runtime.feeder.asides.given_up),
        heartbeats=runtime.node.peer.heartbeat_count(),
        stages=runtime.node.peer.stages(),
        guests=len(runtime.node.peer.guests()),
        asleep_s=runtime.node.peer.wake.asleep_s,
        awake_share=runtime.node.peer.wake.share(runtime.now_s()),
        unmerged=runtime.node.peer.counts().get("unmerged", 0),
        thinned=runtime.node.peer.counts().get("thinned", 0),
        troubles=runtime.troubles(),
        clock_off_s=runtime.node.edge.clock_off_s(),
        clock_steps=runtime.node.clock_steps,
        alarms=_alarms(runtime, roots),
        standing=sum(one.alarms for one in roots),
        early_keys=sum(one.early_keys for one in edges),
        early_again=sum(one.early_again for one in edges),
        early_let_go=runtime.node.edge.keys_let_go,
        withheld_keys=sum(one.withheld_keys for one in edges),
        flush_s=max((one.flush_s for one in edges), default=0.0),
        links_carry=links_told(runtime),
        ways_carry=ways_told(runtime),
        degrading={one.query: one.degrading for one in edges if one.degrading is not None},
        requests={one.query: one.requests for one in edges if one.requests is not None},
        backlogs={
            one.query: one.backlog for one in runtime.node.edge.progress(now_s=runtime.now_s())
        },
    )


def _alarms(runtime: SiteRuntime, roots: Sequence[RootProgress]) -> Counter[str]:
    """By kind: raised at roots here, and lies met, since the agent started."""
    found: Counter[str] = Counter()
    for one in roots:
        found.update(one.alarms_raised)
    for lie in runtime.node.peer.lies():
        found[lie.kind] += lie.count
    return found


def _of_the_overlay(snapshot: Snapshot) -> Iterator[Metric]:
    beats = snapshot.heartbeats
    yield CounterMetricFamily("headwater_heartbeats", "Heartbeats sent", value=beats)
    yield CounterMetricFamily(
        "headwater_heartbeat_bytes", "About what they took on the wire", value=beats * BEAT_BYTES
    )
    yield GaugeMetricFamily(
        "headwater_guests", "Peers that turned to this one as a last resort", value=snapshot.guests
    )
    yield CounterMetricFamily(
        "headwater_late_seconds",
        "By how much this agent's own ticks came late",
        value=snapshot.asleep_s,
    )
    yield GaugeMetricFamily(
        "headwater_awake_share",
        "Of the last while: budgets of dials, detours and repairs fall with it",
        value=snapshot.awake_share,
    )
    yield CounterMetricFamily(
        "headwater_summaries_unmerged",
        "Passed on as they came, since this agent was behind",
        value=snapshot.unmerged,
    )
    yield CounterMetricFamily(
        "headwater_summaries_thinned",
        "Merged ones of which groups were left out before a narrow link",
        value=snapshot.thinned,
    )
    stages = CounterMetricFamily(
        "headwater_summaries_sent", "By the stage of the routing policy", labels=["stage"]
    )
    for stage, count in snapshot.stages.items():
        stages.add_metric([stage], count)
    yield stages


def _of_alarms(snapshot: Snapshot) -> Iterator[Metric]:
    raised = CounterMetricFamily(
        "headwater_alarms", "Alarms raised at roots here, and lies met", labels=["kind"]
    )
    for kind in (*AlarmKind, *LieKind):
        raised.add_metric([kind], snapshot.alarms.get(kind, 0))
    yield raised
    yield GaugeMetricFamily(
        "headwater_alarms_standing",
        "Alarms about streams that are answered here",
        value=snapshot.standing,
    )


def _of_lines(snapshot: Snapshot) -> Iterator[Metric]:
    """By source, since the agent reads it."""
    waiting, given_up = snapshot.set_aside
    yield GaugeMetricFamily(
        "headwater_set_aside_bytes", "Input that was shed and is still to be read", value=waiting
    )
    yield CounterMetricFamily(
        "headwater_set_aside_given_up", "Stretches of it that there was no room for", value=given_up
    )
    lines = CounterMetricFamily("headwater_lines", "Lines read", labels=["source"])
    bad = CounterMetricFamily(
        "headwater_lines_malformed", "Lines that some query can't use", labels=["source"]
    )
    for source, (read, malformed) in snapshot.lines.items():
        lines.add_metric([source], read)
        bad.add_metric([source], malformed)
    remarks = GaugeMetricFamily(
        "headwater_input_remarks", "Sources of which this is to be said now", labels=["kind"]
    )
    for kind in RemarkKind:
        remarks.add_metric([kind], snapshot.remarks.get(kind, 0))
    yield from (lines, bad, remarks)


def _backlogs(snapshot: Snapshot) -> Iterator[Metric]:
    held = GaugeMetricFamily(
        "headwater_backlog_bytes", "Rows that wait to leave the site, in memory", labels=["query"]
    )
    waited = GaugeMetricFamily(
        "headwater_backlog_age_seconds", "How long the oldest of them has waited", labels=["query"]
    )
    rolled = CounterMetricFamily(
        "headwater_backlog_rolled_up",
        "Panes at a coarser level that were made of panes that waited",
        labels=["query"],
    )
    paused = GaugeMetricFamily(
        "headwater_paused_panes",
        "Panes that wait because the root or a relay is short of memory",
        labels=["query"],
    )
    for query, told in snapshot.backlogs.items():
        paused.add_metric([query], told.paused)
        held.add_metric([query], told.bytes)
        waited.add_metric([query], told.waited_s)
        rolled.add_metric([query], told.rolled_up)
    yield from (held, waited, rolled, paused)


def _of_the_loop(snapshot: Snapshot) -> Iterator[Metric]:
    yield from _of_the_overlay(snapshot)
    yield from budget_metrics(snapshot.network)
    yield from capacity_metrics(snapshot.links_carry, snapshot.ways_carry)
    yield from query_metrics(snapshot.network)
    sent = CounterMetricFamily("headwater_sent_bytes", "On the wire", labels=["to"])
    received = CounterMetricFamily("headwater_received_bytes", "Off the wire", labels=["of"])
    up = GaugeMetricFamily("headwater_link_up", "1 while the link is up", labels=["to"])
    for site, link in snapshot.network.links.items():
        sent.add_metric([site], link.sent_bytes)
        received.add_metric([site], link.received_bytes)
        up.add_metric([site], float(link.is_up))
    refused = CounterMetricFamily("headwater_refused", "Refused frames", labels=["reason"])
    for reason, count in snapshot.network.refused.items():
        refused.add_metric([reason], count)
    notices = CounterMetricFamily("headwater_notices", "Notices", labels=["kind"])
    for kind, count in snapshot.notices.items():
        notices.add_metric([kind], count)
    yield from _of_alarms(snapshot)
    troubles = GaugeMetricFamily(
        "headwater_trouble", "1 while it fails and is tried again", labels=["what"]
    )
    for what in snapshot.troubles:
        troubles.add_metric([what], 1.0)
    yield from (sent, received, up, refused, notices, troubles)
    yield GaugeMetricFamily(
        "headwater_clock_off_seconds",
        "How far the wall clock is ahead of the other sites', in the middle",
        value=snapshot.clock_off_s,
    )
    yield CounterMetricFamily(
        "headwater_clock_steps", "How often the wall clock was set", value=snapshot.clock_steps
    )
    yield CounterMetricFamily(
        "headwater_early_keys",
        "Keys that left before the close of their pane, each time counted",
        value=snapshot.early_keys,
    )
    yield CounterMetricFamily(
        "headwater_early_keys_again",
        "Of those, keys of closed panes that had left before in the same pane",
        value=snapshot.early_again,
    )
    yield CounterMetricFamily(
        "headwater_early_keys_let_go",
        "Keys put aside since all queries together followed too many (outbox_keys_site_max)",
        value=snapshot.early_let_go,
    )
    yield CounterMetricFamily(
        "headwater_withheld_keys",
        "Keys that were kept back at the close of their pane, each time counted",
        value=snapshot.withheld_keys,
    )
    yield GaugeMetricFamily(
        "headwater_flush_seconds",
        "What was left at the close of the newest pane takes the way so long, of the slowest query",
        value=snapshot.flush_s,
    )
    yield from degrading_metrics(snapshot.degrading, snapshot.requests)
    yield from _backlogs(snapshot)
    yield CounterMetricFamily(
        "headwater_publications", "Answers published", value=snapshot.publications
    )
    yield CounterMetricFamily(
        "headwater_groups_left_out", "Groups that answers lack", value=snapshot.left_out
    )
    yield CounterMetricFamily(
        "headwater_records_fenced", "Records from the future", value=snapshot.fenced
    )
    yield CounterMetricFamily(
        "headwater_records_refused", "Records from too far in the future", value=snapshot.refused
    )
    questions = CounterMetricFamily("headwater_questions", "About cubes here", labels=["what"])
    for what, count in snapshot.questions.items():
        questions.add_metric([what], count)
    yield questions
    yield from _of_lines(snapshot)
    yield GaugeMetricFamily(
        "headwater_input_unread", "Files that are named and not read now", value=snapshot.unread
    )
