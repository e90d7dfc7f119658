"""What an answer of a sliding window costs: one hour by ten seconds, 10,000 groups.

``python -m benchmarks.sliding [--quick]``. A root's ledger is filled with the panes of an hour and
a bit. Then windows are answered one after the other, as an agent does: groups from the ledger,
finished by Spark. The same for a tumbling window of ten seconds, which is one pane, and for Spark
merging all 360 panes of the window from Parquet, whose writing is not counted. Two questions: one
whose sums can be taken back, and one whose can't (averages of doubles, extremes).

Times are medians; of the sliding windows also the worst, since now and then a merge of many panes
is made anew.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headwater.agent.answers.window_groups import WindowGroups
from headwater.algebra.coverage import Coverage
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.types import summary_schema
from headwater.algebra.windows.sliding_window import can_move
from headwater.node.effects import Keep
from headwater.plan.query import Query
from headwater.root.outputs import KeptSummary
from headwater.spark.jvm.session import RunningSpark, SparkConfig, start_session
from headwater.spark.root.root_part import RootSpark
from headwater.sql.compile import compile_statements
from headwater.store.ledger.root_ledger import RootLedger

QUICK = "--quick" in sys.argv
GROUPS = 10_000
PANES = 360
WARM, MEASURED = (5, 20) if QUICK else (10, 100)
SPARK_PASSES = 3
SOURCE = """
CREATE SOURCE hits (ts TIMESTAMP, url STRING, bytes BIGINT, seconds DOUBLE)
WITH (format = 'csv', path = '*.csv', time = 'ts');
"""
QUESTIONS = {
    "removed": "url, count(*) AS n, sum(bytes) AS b",
    "combined": "url, count(*) AS n, avg(seconds) AS s, max(seconds) AS slowest",
}
SLIDING, TUMBLING = "window(ts, '1 hour', '10 seconds')", "window(ts, '10 seconds')"


def main() -> int:
    running = start_session(SparkConfig())
    worst = 0
    try:
        for name, columns in QUESTIONS.items():
            with tempfile.TemporaryDirectory(prefix="headwater-bench-") as scratch:
                worst = max(worst, measure(running, name, columns, Path(scratch)))
    finally:
        running.stop()
    return worst


def measure(running: RunningSpark, name: str, columns: str, scratch: Path) -> int:
    sliding, tumbling = (compiled(columns, window) for window in (SLIDING, TUMBLING))
    assert can_move(sliding.window, sliding.program) == (name == "removed")
    ledger = RootLedger(scratch, merger_of=lambda query: ArrowMerger(sliding.program))
    filled(ledger, sliding, tumbling)
    root = RootSpark(running.session)
    hour, one_pane = timed(root, ledger, sliding, tumbling)
    in_spark = merged_by_spark(running, ledger, sliding, scratch / "panes")
    ledger.close()
    middle, least = statistics.median(hour), statistics.median(one_pane)
    ratio, share = middle / least, middle / in_spark
    print(f"{name}: {GROUPS} groups, {PANES} panes a window, {MEASURED} answers each")
    print(f"  tumbling, 10 s      {least * 1e3:8.0f} ms an answer, worst {max(one_pane) * 1e3:.0f}")
    print(f"  sliding, 1 h / 10 s {middle * 1e3:8.0f} ms, worst {max(hour) * 1e3:.0f}")
    print(f"  all panes in Spark  {in_spark * 1e3:8.0f} ms")
    print(
        f"  sliding / tumbling {ratio:.2f} (wanted at most 1.5); / Spark {share:.3f} (at most 0.1)"
    )
    return int(ratio > 1.5 or share > 0.1)


def compiled(columns: str, window: str) -> Query:
    text = f"{SOURCE} CREATE STREAM s AS SELECT {columns} FROM hits GROUP BY {window}, url;"
    (query,) = compile_statements(
        text, root="home", installer="home", next_counter=1, begin="earliest"
    )
    return query


def filled(ledger: RootLedger, sliding: Query, tumbling: Query) -> None:
    """One summary a pane, as relays have merged it. Both queries have the same id and panes."""
    assert sliding.id == tumbling.id
    schema = summary_schema(sliding.program)
    rng = np.random.default_rng(1)
    urls = pa.array([f"/shelf/{n % 97}/item-{n}.html" for n in range(GROUPS)])
    for number in range(1, PANES + WARM + MEASURED + 1):
        columns = [urls]
        for field in list(schema)[1:]:
            values = rng.integers(1, 10_000, GROUPS)
            whole = pa.array(values if pa.types.is_floating(field.type) is False else values / 7)
            columns.append(whole.cast(field.type))
        rows = pa.Table.from_arrays(columns, schema=schema)
        kept = KeptSummary(number, number - 1, Coverage.of_whole(1, 99), rows, True)
        ledger.write([Keep(str(sliding.id), kept)])


def timed(root: RootSpark, ledger: RootLedger, *queries: Query) -> list[list[float]]:
    """Of each query the seconds of its answers, taken in turn: the machine is the same for all."""
    groups_of = [WindowGroups(ledger, differs=differs) for _ in queries]
    found: list[list[float]] = [[] for _ in queries]
    for step in range(WARM + MEASURED):
        for query, groups, times in zip(queries, groups_of, found, strict=True):
            last_pane = PANES + step
            window = query.window.windows_of(last_pane).start
            began_s = time.perf_counter()
            answer = answered(root, query, groups, window, last_pane + 1)
            times.append(time.perf_counter() - began_s)
            assert answer.num_rows == GROUPS
    return [times[WARM:] for times in found]


def answered(
    root: RootSpark, query: Query, groups_of: WindowGroups, window: int, through: int
) -> pa.Table:
    """``through`` is the number of the last summary that the answer has in it."""
    stamps = groups_of.stamps(query, window, kept_through=through)
    assert len(stamps) == query.window.panes_per_window
    groups = groups_of.of(query, window, stamps, kept_through=through)
    return root.finish(query, {window: groups.merged})[window]


def differs(query: Query, text: str) -> None:
    raise AssertionError(text)


def merged_by_spark(running: RunningSpark, ledger: RootLedger, query: Query, place: Path) -> float:
    place.mkdir()
    for pane in range(PANES):
        rows = ledger.rows.pane_rows(str(query.id), pane, kept_through=PANES)
        pq.write_table(rows, place / f"{pane}.parquet")
    merges = ", ".join(f"{one.merge.upper()}({one.name})" for one in query.program.partials)
    frame = running.session.read.parquet(str(place))
    frame.createOrReplaceTempView("all_panes")
    found = []
    for _ in range(SPARK_PASSES):
        began_s = time.perf_counter()
        rows = running.session.sql(f"SELECT url, {merges} FROM all_panes GROUP BY url").toArrow()
        found.append(time.perf_counter() - began_s)
        assert rows.num_rows == GROUPS
    return statistics.median(found)


if __name__ == "__main__":
    sys.exit(main())
