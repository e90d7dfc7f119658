"""The root part without Spark: stands where a ``RootSpark`` stands, for the one kind of query here.

``SELECT id, count(*) AS n, sum(id) AS total … GROUP BY window(…), id``: an answer's rows are
its groups' own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from headwater.errors import SparkFailed
from headwater.plan.query import Query
from headwater.spark.root.bad_groups import Verdict

COLUMNS = ("id", "n", "total")


class PlainRoot:
    def finish(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, pa.Table]:
        return {window: groups.rename_columns(COLUMNS) for window, groups in windows.items()}

    def judge(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, Verdict]:
        raise SparkFailed(f"query {query.id}: there is no Spark here that could judge groups")

    @property
    def handover(self) -> Any:
        raise SparkFailed("there is no Spark here for answers that are too large for memory")
