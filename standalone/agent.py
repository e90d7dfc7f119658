"""One real agent, site and root in one, on a cluster: started, killed, asked, compared.

Its records are numbered, so that the count and the sum of what was answered show one that was lost
or counted twice; what is right is what a plain local Spark makes of the same file.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession

from headwater.algebra.rows.equality import difference
from headwater.local.up import is_ready, lay_out, spawn_agent
from headwater.plan.query import Query
from headwater.spark.central import central_answers
from headwater.spark.jvm.jvm import JvmIdentity
from headwater.sql.compile import compile_statements
from headwater.store.results.results import ResultsReader
from standalone.cluster import BRIEF, EXECUTOR_MEMORY, end, until

SITE = "site1"
SQL = """
CREATE SOURCE hits (ts TIMESTAMP, id BIGINT, page STRING)
WITH (format = 'csv', path = '*.csv', time = 'ts');
CREATE STREAM pages WITH (deadline = '4s', disorder = '1s', begin = 'earliest') AS
SELECT page, count(*) AS n, sum(id) AS ids FROM hits GROUP BY window(ts, '5 seconds'), page;
CREATE STREAM totals WITH (deadline = '4s', disorder = '1s', begin = 'earliest') AS
SELECT count(*) AS n, min(id) AS low, max(id) AS high FROM hits GROUP BY window(ts, '10 seconds');
"""
TICK_S = 0.1
LINES_EACH = 40


class ClusterAgent:
    def __init__(self, directory: Path, *, master: str, shared: Path, secret: Path) -> None:
        self.directory = directory
        lay_out(directory, site_count=1)
        toml = directory / SITE / "agent.toml"
        spark = (
            f'master = "{master}"\nshared = "{shared}"\nsecret = "{secret}"\n\n[spark.settings]\n'
            f'"spark.executor.memory" = "{EXECUTOR_MEMORY}"\n'
            f'"spark.executor.extraJavaOptions" = "{BRIEF}"\n'
        )
        toml.write_text(toml.read_text().replace('master = "local[1]"\n', spark))
        self.log = directory / SITE / "data" / "hits.csv"
        self.count = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def state(self) -> Path:
        return self.directory / SITE / "state"

    def start(self) -> None:
        self._process = spawn_agent(self.directory, SITE)
        pid = self._process.pid
        until(lambda: is_ready(self.directory, SITE, pid), "the agent is not ready", wait_s=300.0)

    def install(self) -> None:
        statements = self.directory / "statements.sql"
        statements.write_text(SQL)
        self.command("run", str(statements))

    def command(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "headwater.cli", *arguments, "--federation", self.directory],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def jvm(self) -> int:
        """The driver's process id."""
        return msgspec.json.decode((self.state / "jvm.json").read_bytes(), type=JvmIdentity).pid

    def kill(self) -> None:
        assert self._process is not None, "it runs"
        end(self._process)

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(60)
            end(self._process)

    def log_tail(self) -> str:
        path = self.directory / SITE / "agent.log"
        return path.read_text(errors="replace")[-2000:] if path.exists() else ""

    def has_told(self, text: str) -> bool:
        path = self.directory / SITE / "agent.log"
        return path.exists() and text in path.read_text(errors="replace")

    # Its input

    @contextlib.contextmanager
    def growing(self) -> Iterator[None]:
        """Numbered records, some each moment, until the block ends."""
        stops = threading.Event()

        def write() -> None:
            while not stops.wait(TICK_S):
                self.write(LINES_EACH)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            yield
        finally:
            stops.set()
            writer.join()

    def write(self, count: int) -> None:
        now = datetime.now(UTC).isoformat()
        numbers = range(self.count + 1, self.count + count + 1)
        lines = "".join(f"{now},{number},page {number % 7}\n" for number in numbers)
        with self.log.open("a") as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
        self.count += count

    # Its answers

    def answers(self, stream: str) -> dict[int, pa.Table]:
        """The newest rows of each window that has any and is exact."""
        reader = ResultsReader(self.state / "results" / stream)
        found = {}
        for seq, envelope in reader.newest():
            rows = reader.answer(seq, envelope)
            if rows is not None and rows.num_rows and envelope.exact:
                found[envelope.window] = rows
        return found

    def answered(self, stream: str) -> int:
        """Records in all exact answers."""
        return sum(sum(rows["n"].to_pylist()) for rows in self.answers(stream).values())

    def await_answered(self, *, at_least: int | None = None) -> None:
        """Without a number: until every record that was written is in an exact answer."""
        wanted = self.count if at_least is None else at_least
        for stream in ("pages", "totals"):
            until(
                lambda stream=stream: self.answered(stream) >= wanted,  # type: ignore[misc]
                f"{stream}: {wanted} records are not answered exactly: {self.log_tail()}",
                wait_s=300.0,
            )

    def difference(self, session: SparkSession) -> str | None:
        """From what plain Spark says of the same file; None: there is none."""
        for query in self._queries():
            right = central_answers(session, query, [self.log.parent])
            mine = self.answers(query.id.name)
            if mine.keys() != right.keys():
                return f"{query.id}: windows {sorted(mine.keys() ^ right.keys())[:5]}"
            for window, rows in right.items():
                found = difference(mine[window], rows)
                if found is not None:
                    return f"{query.id}: window {window}: {found}"
        return None

    def _queries(self) -> list[Query]:
        return compile_statements(SQL, root=SITE, installer=SITE, next_counter=1)
