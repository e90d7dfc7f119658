"""How full a JVM is: of each thing that it can run out of, and of what must not pile up.

A site's JVM lives for months, and nobody looks at it. What it may use is bounded by options of the
JVM (``jvm.py``) and of Spark (``session.py``); what it does use is read here, for the metrics, for
the keeper, which replaces a JVM that comes near a limit, and for the soak.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from headwater.spark.cluster.cluster_probe import executor_count, is_stopped
from headwater.spark.jvm.session import RunningSpark

NEAR_SHARES = {"heap": 0.85, "metaspace": 0.85, "code cache": 0.85}
"""From this share of its limit on, a JVM is near its end. What is left then is enough for a batch
and for reading these figures: 15% of a heap of 512 MB is 77 MB, of the code cache 36 MB, which is
more than hundreds of batches compile (``make soak``)."""
OLD_POOLS = ("Tenured Gen", "Old Gen", "ZHeap", "Shenandoah")
"""Ends of the names of the pools that hold what outlives a collection, whatever the collector."""


class Vitals(msgspec.Struct, frozen=True):
    """Bytes and counts. Limits are None where the JVM has none."""

    heap_bytes: int
    """Alive after the last full collection."""
    heap_limit: int | None
    metaspace_bytes: int
    metaspace_limit: int | None
    code_bytes: int
    code_limit: int | None
    class_count: int
    thread_count: int
    bound_objects: int
    """Objects of the JVM that this Python process holds on to."""
    callbacks: int
    """Objects of this Python process that the JVM holds on to."""
    listeners: int
    """On Spark's bus."""
    cached_plans: int
    """Frames that Spark keeps for queries to come."""
    streams: int
    """Streaming queries at work, in any session."""
    executors: int | None = None
    """That the cluster has given us; None: there is no cluster."""
    is_stopped: bool = False
    """Whether the cluster has ended Spark's context, which leaves the JVM."""

    def shares(self) -> dict[str, float]:
        """Of each thing with a limit, how much of it is used."""
        found = {
            "heap": (self.heap_bytes, self.heap_limit),
            "metaspace": (self.metaspace_bytes, self.metaspace_limit),
            "code cache": (self.code_bytes, self.code_limit),
        }
        return {name: used / limit for name, (used, limit) in found.items() if limit}

    def near(self) -> str | None:
        """Which limit is near, in words; None: none is."""
        for name, share in self.shares().items():
            if share >= NEAR_SHARES[name]:
                return f"its {name} is {share:.0%} full"
        return None


class _Gauges:
    """The objects of one JVM that are asked each time: to find them takes more calls than to ask
    them, since py4j asks for every part of a class's name."""

    def __init__(self, spark: RunningSpark) -> None:
        session = spark.session
        jvm: Any = session._jvm
        beans = jvm.java.lang.management.ManagementFactory
        pools = {pool.getName(): pool for pool in beans.getMemoryPoolMXBeans()}
        self.old = _one(pools, OLD_POOLS)
        self.metaspace = _one(pools, ("Metaspace",))
        self.code = [pool for name, pool in pools.items() if name.startswith(("Code", "'Code"))]
        self.classes = beans.getClassLoadingMXBean()
        self.threads = beans.getThreadMXBean()
        self.bus = session.sparkContext._jsc.sc().listenerBus()
        shared = session._jsparkSession.sharedState()
        self.plans = shared.cacheManager()
        self.streams = shared.activeStreamingQueries()


_gauges: WeakKeyDictionary[RunningSpark, _Gauges] = WeakKeyDictionary()
"""By JVM; they go with it."""


def read_vitals(spark: RunningSpark) -> Vitals:
    """Some thirty calls into the JVM. Raises what a dead JVM makes py4j raise."""
    gauges = _gauges.get(spark)
    if gauges is None:
        gauges = _gauges[spark] = _Gauges(spark)
    heap = gauges.old.getCollectionUsage() or gauges.old.getUsage()
    metaspace = gauges.metaspace.getUsage()
    code = [pool.getUsage() for pool in gauges.code]
    gateway = spark.session.sparkContext._gateway
    has_ended = is_stopped(spark.session)
    has_cluster = spark.shared is not None and not has_ended
    return Vitals(
        heap_bytes=heap.getUsed(),
        heap_limit=_limit(heap.getMax()),
        metaspace_bytes=metaspace.getUsed(),
        metaspace_limit=_limit(metaspace.getMax()),
        code_bytes=sum(usage.getUsed() for usage in code),
        code_limit=_limit(sum(usage.getMax() for usage in code)),
        class_count=gauges.classes.getLoadedClassCount(),
        thread_count=gauges.threads.getThreadCount(),
        bound_objects=_bound_objects(gateway),
        callbacks=len(gateway.gateway_property.pool),
        listeners=gauges.bus.listeners().size(),
        cached_plans=gauges.plans.numCachedEntries(),
        streams=gauges.streams.size(),
        executors=executor_count(spark.session) if has_cluster else None,
        is_stopped=has_ended,
    )


def collect_garbage(spark: RunningSpark) -> None:
    """A full collection, which also unloads classes that nobody uses: some 100 ms."""
    jvm: Any = spark.session._jvm
    jvm.java.lang.System.gc()


def _one(pools: Mapping[str, Any], ends: tuple[str, ...]) -> Any:
    return next(pool for name, pool in pools.items() if name.endswith(ends))


def _limit(most: int) -> int | None:
    return most if most > 0 else None


def _bound_objects(gateway: Any) -> int:
    """py4j's own list, which it keeps to tell the JVM what has gone."""
    from py4j.finalizer import ThreadSafeFinalizer  # type: ignore[import-untyped]

    return len(ThreadSafeFinalizer.finalizers)
