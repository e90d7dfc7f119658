"""Answers straight from panes: merged as an agent merges them, and finished."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from headwater.algebra.rows.arrow_rows import ArrowMerger, Groups
from headwater.plan.query import Query
from headwater.spark.root.bad_groups import Finished, GroupFinisher, GroupJobs

WindowPanes = Mapping[int, Sequence[tuple[int, pa.Table]]]


def merged(query: Query, windows: WindowPanes) -> dict[int, Groups]:
    merger = ArrowMerger(query.program)
    return {w: merger.groups([table for _, table in panes]) for w, panes in windows.items()}


class PaneFinisher:
    def __init__(self, jobs: GroupJobs) -> None:
        self._finisher = GroupFinisher(jobs)

    def finish(self, query: Query, windows: WindowPanes) -> Finished:
        return self._finisher.finish(query, merged(query, windows))
