"""The queries of a batch in one job, where that can be done.

One job has one failure, one end and one time, and each query shall have its own. So this is an
attempt: whatever keeps it from ending well, nothing of it is used, and the queries run one by one
over lines that are kept (``site_part``), where each fails alone and a chunk that can't be read is
found. A query that failed there would break the next attempt as well, so it is left out until it
has worked by itself. Where none failed, the attempt was in vain for another reason (together they
take too long, or have too many rows, or a record lies beyond the fence), and there is a pause.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import msgspec
import pyarrow as pa
import structlog

from headwater.plan.query import Query
from headwater.reading.outcome import QueryResult
from headwater.spark.cluster.cluster_trouble import raise_if_of_the_cluster
from headwater.spark.disk_trouble import raise_if_of_the_disk
from headwater.spark.lines.parse import Parser
from headwater.spark.rows.collect import Collector, through_driver
from headwater.spark.rows.dealing import by_site
from headwater.spark.site.fence import Fence
from headwater.spark.site.joint.joint_rows import Joint
from headwater.spark.site.joint.joint_sql import joint_statements
from headwater.spark.site.joint.plain_part import part_of
from headwater.spark.site.joint.strands import NEEDS_MAX
from headwater.spark.site.line_counts import LineCounts, joined_counts
from headwater.spark.site.query_group import QueryGroup
from headwater.spark.site.site_jobs import SiteJobs
from headwater.spark.site.site_part import result
from headwater.spark.site.standing_lines import Analyser
from headwater.spark.spark_message import SPARK_ERRORS, message_of
from headwater.spark.workers.worker_trouble import raise_if_of_workers

log = structlog.get_logger()

PAUSE_BATCHES = 10
"""An attempt in vain costs as much as a batch, so those cost a tenth more at most."""
QUICK_TIMES = 4
"""Of the rows that one query may give through the driver. The other way keeps the lines, counts
them and writes files, in a job each: 300,000 rows took 1.14 times the CPU that way."""

Results = dict[str, dict[int, QueryResult]]
"""By query, and by the number of the site."""


class JointRun:
    """For the batches of one source, one at a time."""

    def __init__(self, collector: Collector, pool: Executor) -> None:
        self._collector = collector
        self._pool = pool
        self._failed: frozenset[str] = frozenset()
        """Queries that failed when they last ran by themselves."""
        self._is_in_vain = False
        """The last attempt was, and it is not known which query is to blame."""
        self._pause = 0
        """Batches without an attempt that are still to come."""

    def note(self, found: Sequence[Mapping[int, QueryResult]]) -> None:
        """What came of queries that ran by themselves."""
        results = [one for of_query in found for one in of_query.values()]
        worked = {one.query for one in results if one.failed is None}
        failed = {one.query for one in results if one.failed is not None}
        self._failed = (self._failed - worked) | failed
        if self._is_in_vain and not failed:
            self._pause = PAUSE_BATCHES
        self._is_in_vain = False

    def keep(self, query_ids: Iterable[str]) -> None:
        """Only these are in the batch; what failed and was removed is forgotten."""
        self._failed = self._failed.intersection(query_ids)

    def divided(self, group: QueryGroup) -> tuple[list[Query], list[Query]]:
        """The queries that can be in one job, and those that run by themselves."""
        together: list[Query] = []
        alone: list[Query] = []
        for query in group.queries:
            is_fit = str(query.id) not in self._failed and part_of(query) is not None
            (together if is_fit else alone).append(query)
        return together, alone

    def results(
        self,
        analyser: Analyser,
        parser: Parser,
        group: QueryGroup,
        queries: Sequence[Query],
        typed: str,
        fences: Sequence[Fence],
        *,
        jobs: SiteJobs,
        bytes_in: int,
    ) -> tuple[list[LineCounts], Results] | None:
        """Of some queries of the group; None: all are to run by themselves. Raises ``SparkFailed``
        for a cluster."""
        ids = [str(query.id) for query in queries]
        is_small = self._collector.is_small(*ids, bytes_in=bytes_in, times=QUICK_TIMES)
        if not queries or not is_small or len(parser.needs) > NEEDS_MAX:
            return None
        if self._pause:
            self._pause -= 1
            return None
        self._is_in_vain = True
        joints = joint_statements(group, queries, parser, typed, site_count=len(fences))
        tables = list(self._pool.map(lambda joint: _table(analyser, joint, jobs), joints))
        if any(table is None for table in tables):
            return None
        counted = joints[0].counts_of(tables[0])
        line_counts = _line_counts(counted, site_count=len(fences), needs=len(parser.needs))
        if any(map(_has_beyond, line_counts, fences)):
            return None
        found: Results = {}
        for joint, table in zip(joints, tables, strict=True):
            dealt = self._dealt(joint, table, group, bytes_in=bytes_in)
            if dealt is None:
                return None
            found |= dealt
        self._is_in_vain = False
        return line_counts, found

    def _dealt(
        self, joint: Joint, table: pa.Table, group: QueryGroup, *, bytes_in: int
    ) -> Results | None:
        """None: a sum leaves its type, of which Spark tells the query that it is in."""
        found: Results = {}
        for number, query in enumerate(joint.queries):
            rows = joint.rows_of(table, number)
            if rows is None:
                return None
            self._collector.learn(str(query.id), rows, bytes_in=bytes_in)
            of_sites, nothing = by_site(rows), rows.slice(0, 0)
            sites = sorted(group.sites_of(query))
            found[str(query.id)] = {n: result(query, of_sites.get(n, nothing)) for n in sites}
        return found


def _table(analyser: Analyser, joint: Joint, jobs: SiteJobs) -> pa.Table | None:
    """None: it did not end well, or is too much."""
    ids = [str(query.id) for query in joint.queries]
    try:
        with jobs.limit(*ids):
            return through_driver(analyser.sql(joint.sql))
    except SPARK_ERRORS as error:
        raise_if_of_the_cluster(error)
        raise_if_of_workers(error)
        raise_if_of_the_disk(error)
        log.info("queries run one by one", queries=ids, why=message_of(error))
        return None


def _line_counts(counted: list[dict[str, Any]], *, site_count: int, needs: int) -> list[LineCounts]:
    """Nothing lies beyond the fence here: the highest time is the highest within it."""
    found = joined_counts(counted, site_count=site_count, needs=needs)
    return [msgspec.structs.replace(one, high_time_us=one.top_time_us) for one in found]


def _has_beyond(counts: LineCounts, fence: Fence) -> bool:
    """Those are counted, and some left out, which takes bounds that move with the clock: a text
    that has them would be compiled anew for every batch."""
    return counts.top_time_us is not None and counts.top_time_us > fence.tolerated_us
