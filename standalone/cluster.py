"""A standalone master and its workers, from PySpark's own jars, on loopback, in little memory.

No script of Spark's is used, as in ``headwater.spark.jvm.jvm``: a Java and the jars are enough.
Each process is in a session of its own, its log beside its working directory, and all are gone when
the cluster is closed. What there is to wait for is asked of the master, which tells its workers and
applications as JSON; nothing here sleeps and hopes.

The secret of the cluster lies in a file of properties for its owner alone, never on a command line.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headwater.spark.cluster.cluster import ENCRYPTED
from headwater.spark.jvm.archive import archive_path
from headwater.spark.jvm.java import Java, find_java
from headwater.spark.jvm.jvm import MODULE_OPTIONS, SPARK_HOME
from standalone.processes import children_of

LOOPBACK = "127.0.0.1"
WAIT_S_MAX = 120.0
LOOK_EVERY_S = 0.1
DAEMON_HEAP = "-Xmx128m"
EXECUTOR_MEMORY = "512m"
"""The least that Spark takes is 450 MB."""
BRIEF = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""Of executors: compile quickly instead of well."""
SCALA_VERSION = "2.13"
"""Of the jars. A worker that starts executors without Spark's scripts has to be told."""
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
EXECUTOR = "CoarseGrainedExecutorBackend"


class StandaloneCluster:
    """``with StandaloneCluster(directory) as cluster:`` and ``cluster.url`` is a master."""

    def __init__(
        self,
        directory: Path,
        *,
        secret: str | None = None,
        workers: int = 2,
        keeps: bool = False,
        before: tuple[str, ...] = (),
    ) -> None:
        """``keeps``: a master that is started again remembers its workers and applications.
        ``before``: what stands before the command of a worker."""
        self._before = before
        self._directory = directory
        self._java = find_java()
        self._port, self._page_port = free_port(), free_port()
        self._first_workers = workers
        self._master: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._properties = directory / "spark.properties"
        write_privately(self._properties, properties(directory, secret=secret, keeps=keeps))

    @property
    def url(self) -> str:
        return f"spark://{LOOPBACK}:{self._port}"

    def __enter__(self) -> StandaloneCluster:
        try:
            self.start_master()
            for _ in range(self._first_workers):
                self.add_worker()
            self.await_workers(self._first_workers)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start_master(self) -> None:
        ports = ("--port", str(self._port), "--webui-port", str(self._page_port))
        self._master = self._spawn("master", MASTER, "--host", LOOPBACK, *ports)
        until(lambda: self.state() is not None, "the master does not answer")

    def forget(self) -> None:
        """What a master that keeps has written down: the next one knows nobody."""
        for path in (self._directory / "recovery").iterdir():
            path.unlink()

    def kill_master(self) -> None:
        assert self._master is not None, "it runs"
        end(self._master)
        self._master = None

    def add_worker(self, *, cores: int = 1) -> None:
        name = f"worker-{len(self.workers) + 1}"
        at = ("--host", LOOPBACK, "--webui-port", "0", "--work-dir", str(self._directory / name))
        size = ("--cores", str(cores), "--memory", "600m")
        self.workers.append(self._spawn(name, WORKER, *at, *size, self.url))

    def kill_worker(self) -> None:
        """The newest, with its executors."""
        end(self.workers.pop())

    def await_workers(self, count: int) -> None:
        until(lambda: self.alive_workers() == count, f"there are not {count} workers")

    def alive_workers(self) -> int:
        return int((self.state() or {}).get("aliveworkers", 0))

    def pids(self) -> list[int]:
        """Of master and workers."""
        return [one.pid for one in [self._master, *self.workers] if one is not None]

    def executors(self) -> list[int]:
        """Process ids, of all workers."""
        return [
            pid
            for worker in self.workers
            if worker.poll() is None
            for pid, command in children_of(worker.pid).items()
            if EXECUTOR in command
        ]

    def kill_executor(self, pid: int) -> None:
        """From one moment to the next; its worker starts another."""
        os.kill(pid, signal.SIGKILL)

    def state(self) -> dict[str, Any] | None:
        """What the master tells of itself; None: nobody answers."""
        try:
            with urllib.request.urlopen(
                f"http://{LOOPBACK}:{self._page_port}/json/", timeout=WAIT_S_MAX
            ) as reply:
                return dict(json.load(reply))
        except (OSError, ValueError):
            return None

    def close(self) -> None:
        """Workers first: they take their executors with them."""
        for process in [*self.workers, *([self._master] if self._master else [])]:
            end(process)
        self.workers.clear()
        self._master = None

    def _spawn(self, name: str, what: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = daemon_command(self._java, what, self._properties, arguments)
        command[:0] = self._before if what == WORKER else ()
        environment = {
            **os.environ,
            "SPARK_HOME": str(SPARK_HOME),
            "JAVA_HOME": str(self._java.home),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_SCALA_VERSION": SCALA_VERSION,
            "MALLOC_ARENA_MAX": "2",
        }
        with (self._directory / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )


def can_start_executors() -> bool:
    """Spark asks its executors' Java for a module that Javas from PyPI lack."""
    done = subprocess.run(
        [str(find_java().executable), "--list-modules"], capture_output=True, text=True, check=True
    )
    return "jdk.incubator.vector" in done.stdout


def daemon_command(
    java: Java, what: str, properties_file: Path, arguments: tuple[str, ...]
) -> list[str]:
    archive = archive_path(java)
    shared = [f"-XX:SharedArchiveFile={archive}", "-Xlog:cds=off"] if archive.exists() else []
    # Before the arguments of its own: a worker takes the master's URL as its last.
    return [
        str(java.executable),
        "-cp",
        f"{SPARK_HOME}/conf:{SPARK_HOME}/jars/*",
        *MODULE_OPTIONS,
        DAEMON_HEAP,
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:-UsePerfData",
        *shared,
        what,
        "--properties-file",
        str(properties_file),
        *arguments,
    ]


def properties(directory: Path, *, secret: str | None, keeps: bool) -> str:
    """What master and workers share."""
    found = {
        "spark.master.rest.enabled": "false",
        "spark.worker.timeout": "10",
        "spark.worker.cleanup.enabled": "false",
    }
    if keeps:
        (directory / "recovery").mkdir(exist_ok=True)
        found["spark.deploy.recoveryMode"] = "FILESYSTEM"
        found["spark.deploy.recoveryDirectory"] = str(directory / "recovery")
    if secret is not None:
        found |= {**ENCRYPTED, "spark.authenticate.secret": secret}
    return "".join(f"{name} {value}\n" for name, value in found.items())


def write_privately(path: Path, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)


def end(process: subprocess.Popen[bytes]) -> None:
    """At once, and what it started with it: executors are in their worker's session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(WAIT_S_MAX)


def until(is_so: Callable[[], bool], otherwise: str, *, wait_s: float = WAIT_S_MAX) -> None:
    deadline_s = time.monotonic() + wait_s
    while not is_so():
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"{otherwise} after {wait_s:.0f} s")
        time.sleep(LOOK_EVERY_S)


def free_port() -> int:
    with socket.socket() as one:
        one.bind((LOOPBACK, 0))
        return int(one.getsockname()[1])
