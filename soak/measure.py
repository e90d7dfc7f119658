"""What is counted: everything that could pile up, after a collection in both worlds."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from headwater.spark.jvm.session import RunningSpark
from headwater.spark.jvm.vitals import collect_garbage, read_vitals

COUNTED_CLASSES = {
    "sessions": "org.apache.spark.sql.classic.SparkSession",
    "temporary views": "org.apache.spark.sql.catalyst.catalog.TemporaryViewRelation",
    "generated code": "org.apache.spark.sql.catalyst.expressions.codegen.GeneratedClass",
    "stopped streams": "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution",
    "offer lists": "org.apache.spark.sql.execution.streaming.runtime.MemoryStream",
    "names of files": "org.apache.hadoop.fs.LocatedFileStatus",
    "query plans": "org.apache.spark.sql.execution.QueryExecution",
}
"""By what the JVM's own histogram of live objects calls them."""
SETTLE_S = 0.5
LOOKS = 5
"""Of which the one with the least memory counts. Tasks of a query that failed go on for a while on
a busy machine, with a megabyte each: a look that found 78 MB was followed by one that found 71, and
those were the same in every round. What piles up is in all of them."""


def measure(running: RunningSpark) -> dict[str, int]:
    """What Python lets go of is told to the JVM, which lets go of it at the next look."""
    live = min((_looked(running) for _ in range(LOOKS)), key=lambda one: one["heap_bytes"])
    found = msgspec.structs.asdict(read_vitals(running))
    counts = {
        name: value
        for name, value in found.items()
        if type(value) is int and not name.endswith("_limit")
    }
    return {
        **counts,
        **live,
        "python threads": threading.active_count(),
        "python connections": len(_gateway(running)._callback_server.connections),
        "open files": len(list(Path("/proc/self/fd").iterdir())),
    }


def _looked(running: RunningSpark) -> dict[str, int]:
    gc.collect()
    time.sleep(SETTLE_S)
    collect_garbage(running)
    return live_objects(running)


def _gateway(running: RunningSpark) -> Any:
    return running.session.sparkContext._gateway


def live_objects(running: RunningSpark) -> dict[str, int]:
    """Counted by the JVM, which collects first; and the bytes of all of them together. What it
    calls used is no measure of these: regions of its heap that are half empty count as full, and
    swing by an eighth."""
    jvm = _gateway(running).jvm
    server = jvm.java.lang.management.ManagementFactory.getPlatformMBeanServer()
    name = jvm.javax.management.ObjectName("com.sun.management:type=DiagnosticCommand")
    strings = _gateway(running).new_array(jvm.java.lang.String, 0)
    arguments = _gateway(running).new_array(jvm.java.lang.Object, 1)
    arguments[0] = strings
    signature = _gateway(running).new_array(jvm.java.lang.String, 1)
    signature[0] = "[Ljava.lang.String;"
    text = server.invoke(name, "gcClassHistogram", arguments, signature)
    rows = [line.split() for line in text.splitlines()]
    rows = [row for row in rows if len(row) >= 4 and row[1].isdecimal()]
    counts = {row[3]: int(row[1]) for row in rows}
    found = {
        what: sum(n for cls, n in counts.items() if cls == wanted or cls.endswith(f".{wanted}"))
        for what, wanted in COUNTED_CLASSES.items()
    }
    return {"heap_bytes": sum(int(row[2]) for row in rows), **found}


class Growth(msgspec.Struct, frozen=True):
    """One quantity between two points, each the middle of a few samples."""

    name: str
    first: float
    last: float

    @property
    def share(self) -> float:
        return (self.last - self.first) / self.first if self.first else float(self.last > 0)


def growth(
    samples: Sequence[tuple[int, Mapping[str, int]]], *, settled: int, points: int
) -> list[Growth]:
    """From round ``settled`` on: the middle of the first few samples, and that of the last few."""
    after = [counts for number, counts in samples if number >= settled]
    return [
        Growth(name, _middle(name, after[:points]), _middle(name, after[-points:]))
        for name in after[0]
    ]


def _middle(name: str, samples: Sequence[Mapping[str, int]]) -> float:
    values = sorted(sample[name] for sample in samples)
    return float(values[len(values) // 2])
