"""The root part without Spark: stands where a ``RootSpark`` stands, for the one kind of query here.

``SELECT id, count(*) AS n, sum(id) AS total … GROUP BY window(…), id``: an answer's rows are the
merged panes' own, summed by id where a window has several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from headwater.errors import SparkFailed
from headwater.plan.query import Query
from headwater.spark.root.bad_groups import Verdict, WindowPanes

COLUMNS = ("id", "n", "total")


class PlainRoot:
    def finish(self, query: Query, windows: WindowPanes) -> dict[int, pa.Table]:
        return {window: _summed(panes) for window, panes in windows.items()}

    def judge(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, Verdict]:
        raise SparkFailed(f"query {query.id}: there is no Spark here that could judge groups")

    @property
    def handover(self) -> Any:
        raise SparkFailed("there is no Spark here for answers that are too large for memory")


def _summed(panes: Sequence[tuple[int, pa.Table]]) -> pa.Table:
    rows = pa.concat_tables([table.rename_columns(COLUMNS) for _, table in panes])
    summed = rows.group_by("id").aggregate([("n", "sum"), ("total", "sum")])
    return summed.select(["id", "n_sum", "total_sum"]).rename_columns(COLUMNS)
