"""How full a JVM is: of each thing that it can run out of, and of what must not pile up.

A site's JVM lives for months, and nobody looks at it. What it may use is bounded by options of the
JVM (``jvm.py``) and of Spark (``session.py``); what it does use is read here, for the metrics, for
the keeper, which replaces a JVM that comes near a limit, and for the soak.
"""

from __future__ import annotations

from typing import Any

import msgspec

from headwater.spark.cluster_probe import executor_count, is_stopped
from headwater.spark.session import RunningSpark

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


def read_vitals(spark: RunningSpark) -> Vitals:
    """A few dozen calls into the JVM, about 20 ms. Raises what a dead JVM makes py4j raise."""
    jvm: Any = spark.session._jvm
    beans = jvm.java.lang.management.ManagementFactory
    pools = list(beans.getMemoryPoolMXBeans())
    old = _one(pools, OLD_POOLS)
    heap = old.getCollectionUsage() or old.getUsage()
    metaspace = _one(pools, ("Metaspace",)).getUsage()
    code = [pool.getUsage() for pool in pools if pool.getName().startswith(("Code", "'Code"))]
    context = spark.session.sparkContext._jsc.sc()
    streams = spark.session._jsparkSession.sharedState().activeStreamingQueries()
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
        class_count=beans.getClassLoadingMXBean().getLoadedClassCount(),
        thread_count=beans.getThreadMXBean().getThreadCount(),
        bound_objects=_bound_objects(gateway),
        callbacks=len(gateway.gateway_property.pool),
        listeners=context.listenerBus().listeners().size(),
        cached_plans=spark.session._jsparkSession.sharedState().cacheManager().numCachedEntries(),
        streams=streams.size(),
        executors=executor_count(spark.session) if has_cluster else None,
        is_stopped=has_ended,
    )


def collect_garbage(spark: RunningSpark) -> None:
    """A full collection, which also unloads classes that nobody uses: some 100 ms."""
    jvm: Any = spark.session._jvm
    jvm.java.lang.System.gc()


def _one(pools: list[Any], ends: tuple[str, ...]) -> Any:
    return next(pool for pool in pools if pool.getName().endswith(ends))


def _limit(most: int) -> int | None:
    return most if most > 0 else None


def _bound_objects(gateway: Any) -> int:
    """py4j's own list, which it keeps to tell the JVM what has gone."""
    from py4j.finalizer import ThreadSafeFinalizer  # type: ignore[import-untyped]

    return len(ThreadSafeFinalizer.finalizers)
