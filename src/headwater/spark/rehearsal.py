"""The kinds of jobs that an agent runs, once, on next to nothing.

Java loads a class when it is first used, and Spark has thousands of them: the first batch of a
fresh JVM takes seconds, the second a fraction. ``archive`` rehearses so that the classes go into
the archive of the next start.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from headwater.plan.query import Query
from headwater.reading.outcome import QueryResult, SiteOutcome
from headwater.spark.file_inbox import FileInbox
from headwater.spark.root.root_part import RootSpark
from headwater.spark.site.site_host import SiteHost
from headwater.sql.compile import compile_statements

STATEMENTS = """
CREATE SOURCE rehearsal (ts TIMESTAMP, name STRING, n BIGINT, x DOUBLE)
WITH (format = 'csv', path = '*', time = 'ts');
CREATE STREAM one AS SELECT name, count(*) AS c, sum(n) AS s, avg(x) AS a FROM rehearsal
GROUP BY window(ts, '10 seconds'), name ORDER BY c DESC LIMIT 3;
CREATE STREAM two AS SELECT min(x) AS lo, max(x) AS hi FROM rehearsal
GROUP BY window(ts, '20 seconds', '10 seconds');
"""
LINES = [f"2026-05-01T12:00:{n % 60:02d}Z,name {n % 5},{n},{n / 4}" for n in range(600)]
ROUNDS = 2
REHEARSAL_S_MAX = 120.0


def rehearse(session: SparkSession) -> None:
    """Read chunks through two queries and finish their windows."""
    queries = compile_statements(
        STATEMENTS, root="home", installer="home", next_counter=1, begin="earliest"
    )
    with tempfile.TemporaryDirectory(prefix="headwater-rehearsal-") as scratch:
        outcomes: list[SiteOutcome] = []
        site = FileInbox(queries[0].program.source, lambda _, one: outcomes.append(one))
        for number in range(ROUNDS):
            path = Path(scratch) / f"chunk-{number}"
            path.write_text("\n".join(LINES) + "\nno record\n", encoding="utf-8")
            site.add(path)
        host = SiteHost(session, Path(scratch) / "host")
        try:
            for query in queries:
                host.install(query)
            host.serve("rehearsal", site)
            site.is_read_within(REHEARSAL_S_MAX)
        finally:
            host.stop()
    root = RootSpark(session)
    for query in queries:
        _finish(root, query, outcomes[-1].results if outcomes else ())


def _finish(root: RootSpark, query: Query, results: Sequence[QueryResult]) -> None:
    tables = [one.table for one in results if one.query == str(query.id) and one.table is not None]
    for table in tables:
        window = query.window.windows_of(table["pane"][0].as_py())[-1]
        root.finish(query, {window: table.drop_columns("pane")})
