"""Whether a cluster can work for us: asked once, by one small job, before anything depends on it.

The driver writes files into the shared directory, tasks on the executors read them and write what
they read, with their versions, beside them, and the driver looks at what came. A directory that is
not mounted somewhere, or is another one of the same name, or belongs to somebody else, is found
here, with a sentence, and not by a batch at night.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
import threading
from pathlib import Path

import msgspec
import pyspark
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headwater.errors import SparkFailed
from headwater.spark.lines.fields import LINE
from headwater.spark.spark_message import message_of

EXECUTORS_S_MAX = 120.0
"""How long a cluster may take to give us executors. Kubernetes pulls images meanwhile."""
FILES_MAX = 64
VERSION_SQL = "java_method('org.apache.spark.SparkBuildInfo', 'spark_version')"
"""Of the Spark that runs the task: ``version()`` is the driver's."""
ONE_FILE_EACH = str(1 << 30)
"""The cost of opening a file, so high that every file is a task of its own."""


class ClusterFacts(msgspec.Struct, frozen=True):
    executors: int
    """Those that were there when the probe ended; more may come."""
    cores: int


def probe(session: SparkSession, shared: Path, *, wait_s: float = EXECUTORS_S_MAX) -> ClusterFacts:
    """Raises ``SparkFailed`` where a batch could not work."""
    context = session.sparkContext
    directory = shared / f"probe-{secrets.token_hex(8)}"
    try:
        token = secrets.token_hex(16)
        count = min(2 * context.defaultParallelism, FILES_MAX)
        _write(directory / "in", token, count)
        _run_in_time(session, directory, master=context.master, wait_s=wait_s)
        _refuse_what_came(directory / "out", token, count, shared)
        return ClusterFacts(executor_count(session), context.defaultParallelism)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def executor_count(session: SparkSession) -> int:
    """Without the driver, which Spark counts as one."""
    return int(session.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1


def is_stopped(session: SparkSession) -> bool:
    """A master that removes an application ends its context, and leaves the JVM."""
    return bool(session.sparkContext._jsc.sc().isStopped())


def _write(directory: Path, token: str, count: int) -> None:
    directory.mkdir(parents=True, mode=0o700)
    for number in range(count):
        (directory / f"{number}.txt").write_text(f"{token}\n", encoding="ascii")


def _run_in_time(session: SparkSession, directory: Path, *, master: str, wait_s: float) -> None:
    """A cluster without free cores lets a job wait for ever."""
    errors: list[Exception] = []

    def run() -> None:
        try:
            _job(session, directory)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="cluster-probe", daemon=True)
    thread.start()
    thread.join(wait_s)
    if thread.is_alive():
        raise SparkFailed(
            f"{master} gave no executors within {wait_s:.0f} s: look whether it has workers with "
            "free cores and as much free memory as spark.executor.memory asks for, whether they "
            "reach this machine (spark.driver.host, spark.driver.port), and share its secret"
        )
    if errors:
        raise SparkFailed(
            f"executors of {master} can't work in {directory.parent}: {message_of(errors[0])}; "
            "wanted the same directory under the same path at all workers ([spark] shared), which "
            "run as the user of this agent"
        ) from errors[0]


def _job(session: SparkSession, directory: Path) -> None:
    own = session.newSession()
    own.conf.set("spark.sql.files.openCostInBytes", ONE_FILE_EACH)
    own.conf.set("spark.sql.files.maxPartitionBytes", ONE_FILE_EACH)
    said = F.concat_ws(" ", F.col(LINE), F.expr(VERSION_SQL))
    own.read.text(str(directory / "in")).select(said).write.text(str(directory / "out"))


def _refuse_what_came(directory: Path, token: str, count: int, shared: Path) -> None:
    lines: list[str] = []
    with contextlib.suppress(OSError):
        for path in directory.glob("part-*"):
            lines += path.read_text(encoding="utf-8", errors="replace").splitlines()
    found = [line.split(" ") for line in lines]
    if len(found) != count or any(one[0] != token for one in found):
        raise SparkFailed(
            f"[spark] shared: {shared}: executors wrote {count} lines there and this machine sees "
            f"{len(found)}; wanted one directory for all machines, not one on each"
        )
    others = sorted({one[1] for one in found} - {pyspark.__version__})
    if others:
        raise SparkFailed(
            f"the cluster runs Spark {', '.join(others)} and this agent {pyspark.__version__}; "
            "wanted the same: install one of them anew"
        )
