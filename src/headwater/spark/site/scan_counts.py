"""How many lines a finished job read and how many of them were records, from Spark's own counters.

Spark counts the rows that leave a scan and each filter, whether or not anybody looks. Reading them
afterwards is free for Spark; an ``observe`` in the middle of the plan, which tells the same, cuts
the generated code in two and costs a third of the throughput of a simple query.

To find them a plan of some sixteen nodes is walked, four calls into the JVM for each: more than all
other calls of a batch together. Batches of one query have the same text and so the same plan, and
where its filters stand is remembered by the text, and held against the plan.

On a cluster they don't hold: what a lost executor had done is done again, and counted again.
"""

from __future__ import annotations

from typing import Any

import msgspec
from pyspark.sql import DataFrame

from headwater.spark.cluster.cluster import is_cluster

PLAN_DEPTH_MAX = 200
TEXTS_MAX = 64
"""Of which it is remembered where their filters stand; beyond, all are looked for again."""


class ScanCounts(msgspec.Struct, frozen=True):
    candidates: int
    """Lines that are records or malformed."""
    records: int


class _Places(msgspec.Struct, frozen=True):
    """Of nodes in a plan that is a chain, counted from its top."""

    candidates: int
    records: int
    nodes: int
    """In all."""


class ScanCounter:
    """For the batches of one source."""

    def __init__(self) -> None:
        self._known: dict[str, _Places] = {}

    def counts(self, frame: DataFrame, text: str) -> ScanCounts | None:
        """As ``scan_counts``, of a frame that was made from this text."""
        if is_cluster(frame.sparkSession.sparkContext.master):
            return None
        top = _physical(frame)
        known = self._known.get(text)
        if known is not None and (found := _counts_at(top, known)) is not None:
            return found
        places = _found(top)
        if places is None:
            return None
        if len(self._known) >= TEXTS_MAX:
            self._known.clear()
        self._known[text] = places
        return _counts_at(top, places)


def scan_counts(frame: DataFrame) -> ScanCounts | None:
    """For a frame over ``Parser.records`` that was collected; None where its plan has no counts,
    or none that hold."""
    return ScanCounter().counts(frame, "")


def _physical(frame: DataFrame) -> Any:
    """The plan that was run."""
    node = frame._jdf.queryExecution().executedPlan()
    return node.executedPlan() if node.nodeName().startswith("AdaptiveSparkPlan") else node


def _counts_at(top: Any, places: _Places) -> ScanCounts | None:
    """None: this is another plan."""
    nodes = [top.apply(number) for number in (places.candidates, places.records, places.nodes)]
    filters, beyond = nodes[:2], nodes[2]
    if beyond is not None or any(one is None or one.nodeName() != "Filter" for one in filters):
        return None
    return ScanCounts(*map(_row_count, filters))


def _found(top: Any) -> _Places | None:
    """The plan is a chain down to the scan. Its lowest filter passes the candidates, the one above
    it the records. None: it is no such plan."""
    filters: list[int] = []
    node = top
    for number in range(PLAN_DEPTH_MAX):
        if node.nodeName() == "Filter":
            filters.append(number)
        children = node.children()
        if children.size() != 1:
            break
        node = children.head()
    if children.size() or len(filters) < 2:
        return None
    return _Places(candidates=filters[-1], records=filters[-2], nodes=number + 1)


def _row_count(node: Any) -> int:
    return int(node.metrics().apply("numOutputRows").value())
