"""The JVM process under Spark: started by us, known by its identity, ended for sure.

PySpark would start it through ``spark-submit``, a shell script that runs a first JVM to compute
the command line of a second. Starting it directly saves two of seven seconds, works with a Java
that lacks ``jdk.incubator.vector``, keeps the JVM's stderr where we want it, and gives us the
process itself: semantics asks that a JVM which outlived its agent is awaited or ended before a
new one starts.

The JVM ends by itself when its stdin closes, so an agent that dies by SIGKILL leaves none behind
for long.

What it may use is bounded (``LIMITS``), and a JVM that has run out of memory ends at once: half of
its threads would be dead, and whoever waits for those would wait for ever. How it ended is read off
its last words by ``jvm_end``.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyspark
from pyspark.java_gateway import launch_gateway
from pyspark.serializers import UTF8Deserializer, read_int

from headwater.errors import SparkFailed
from headwater.spark.done_within import done_within
from headwater.spark.jvm.callback_door import guard_callbacks
from headwater.spark.jvm.java import Java
from headwater.spark.jvm.jvm_end import JvmEnd, end_of
from headwater.spark.niceness import hand_on_niceness

SPARK_HOME = Path(pyspark.__file__).parent
START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 20.0
POLL_S = 0.02

OPENED_PACKAGES = (
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.util.calendar",
)
"""What ``org.apache.spark.launcher.JavaModuleOptions`` of Spark 4.3 opens in java.base, less
``sun.security.action``, which is for Kerberos and gone from Java 25."""

MODULE_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED_PACKAGES),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "--add-opens=java.management/sun.management=ALL-UNNAMED",
    "--add-opens=java.management/com.sun.jmx.mbeanserver=ALL-UNNAMED",
    "--enable-native-access=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
)
"""The rest of the same list, and where the JVM's own figures are (``vitals``)."""

CODE_CACHE_MB = 240
"""Room for compiled code, which is reserved, not taken. It is Java's own figure for a JVM with both
compilers; one that compiles quickly (``is_brief``) would reserve 48 MB, and such a one filled them
in 80 rounds of the soak: 57 MB after 390 rounds, and 77 MB where Java compiles all that runs at
once. A full one does not end the JVM but takes a thread here and there, which is worse."""
METASPACE_MB = 512
"""Room for classes. Spark's own take 25 to 130 MB, with and without an archive, and each of the at
most 100 plans whose code Spark keeps (``spark.sql.codegen.cache.maxEntries``) less than 0.5 MB; the
rest is for classes that await a collection. Without a bound they would await it in the memory of
the machine."""
LIMITS = (
    f"-XX:ReservedCodeCacheSize={CODE_CACHE_MB}m",
    "-XX:-SegmentedCodeCache",
    f"-XX:MaxMetaspaceSize={METASPACE_MB}m",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-CreateCoredumpOnCrash",
)
"""One code cache rather than three, so that it is full when it is full and not when a third is."""
LAST_OUTPUT_BYTES = 64 << 10
CRASH_REPORT = "jvm_crash_%s.log"

Began = Callable[[subprocess.Popen[bytes]], None]


class JvmIdentity(msgspec.Struct, frozen=True):
    """Which process: a pid alone may by now belong to somebody else."""

    pid: int
    started_ticks: int


class Voice(msgspec.Struct, frozen=True):
    """Where a JVM speaks, and from where on it is this one."""

    log: Path | None
    """None: our stderr, which nobody can read back."""
    begin: int
    directory: Path | None = None
    """Where it leaves its report when it crashes."""

    @classmethod
    def of(cls, log: Path | None) -> Voice:
        """A log goes on where the JVM before has ended it."""
        size = log.stat().st_size if log is not None and log.exists() else 0
        return cls(log, size, None if log is None else log.absolute().parent)

    def last_output(self) -> str:
        if self.log is None:
            return ""
        try:
            with self.log.open("rb") as file:
                file.seek(max(self.begin, file.seek(0, os.SEEK_END) - LAST_OUTPUT_BYTES))
                return file.read().decode("utf-8", "replace")
        except OSError:
            return ""

    def crash_options(self) -> list[str]:
        where = self.directory or Path(tempfile.gettempdir())
        return [f"-XX:ErrorFile={where}/{CRASH_REPORT % '%p'}"]

    def crash(self, pid: int) -> Path | None:
        """The report of its crash, if it wrote one."""
        where = self.directory or Path(tempfile.gettempdir())
        path = where / (CRASH_REPORT % pid)
        return path if path.exists() else None


class Jvm:
    """A running JVM and the way to talk to it."""

    def __init__(
        self, process: subprocess.Popen[bytes], gateway: Any, *, voice: Voice, heap: str = ""
    ) -> None:
        self.process = process
        self.gateway = gateway
        self.identity = JvmIdentity(process.pid, started_ticks(process.pid) or 0)
        self._voice = voice
        self._heap = heap

    def end(self) -> JvmEnd | None:
        """How it ended; None while it runs."""
        code = self.process.poll()
        if code is None:
            return None
        return end_of(
            code,
            self._voice.last_output(),
            crash=self._voice.crash(self.identity.pid),
            heap=self._heap,
        )

    def kill(self) -> None:
        """At once. Whoever waits for an answer of it gets an error instead."""
        self.process.kill()
        self.process.wait(STOP_TIMEOUT_S)

    def stop(self, *, wait_s: float = STOP_TIMEOUT_S) -> None:
        """Close its stdin, which is its signal to end; end it by force if it does not.

        The gateway may take for ever to shut down: py4j closes each connection on which the JVM
        calls us, and closing one waits for the thread that reads from it. A stream that was left
        in the middle of its call holds its connection, so nothing comes there until the JVM ends.
        """
        done_within(wait_s, self.gateway.shutdown)
        assert self.process.stdin is not None, "the JVM is started with a pipe"
        self.process.stdin.close()
        try:
            self.process.wait(wait_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(STOP_TIMEOUT_S)


def start_jvm(
    java: Java,
    *,
    options: Sequence[str],
    settings: Mapping[str, str],
    log: Path | None,
    began: Began = lambda process: None,
) -> Jvm:
    """Start the JVM and wait until it can be talked to. ``log`` None: it shares our stderr.

    ``began`` is told of the process before anything is waited for; whoever ends that one ends the
    start, which then raises."""
    voice = Voice.of(log)
    command = jvm_command(java, options=[*options, *voice.crash_options()], settings=settings)
    with tempfile.TemporaryDirectory(prefix="headwater-jvm-") as directory:
        port_file = Path(directory) / "port"
        environment = {
            **os.environ,
            "SPARK_HOME": str(SPARK_HOME),
            "JAVA_HOME": str(java.home),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_CONNECT_MODE": "0",
            "MALLOC_ARENA_MAX": os.environ.get("MALLOC_ARENA_MAX", "2"),
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(port_file),
        }
        process = _spawn(command, environment, log)
        try:
            began(process)
            port, secret = _await_port(process, port_file, command, log)
        except BaseException:
            process.kill()  # nobody would know of it, and it writes into directories that go now
            process.wait(STOP_TIMEOUT_S)
            raise
    heap = next((one.removeprefix("-Xmx") for one in options if one.startswith("-Xmx")), "")
    return Jvm(process, _connect(port, secret), voice=voice, heap=heap)


def jvm_command(java: Java, *, options: Sequence[str], settings: Mapping[str, str]) -> list[str]:
    """What ``spark-submit`` would run for the same settings, less the incubator module."""
    conf = os.environ.get("SPARK_CONF_DIR", str(SPARK_HOME / "conf"))
    confs = [part for item in settings.items() for part in ("--conf", "=".join(item))]
    return [
        str(java.executable),
        "-cp",
        f"{conf}:{SPARK_HOME}/jars/*",
        *MODULE_OPTIONS,
        *LIMITS,
        *options,
        "org.apache.spark.deploy.SparkSubmit",
        *confs,
        "pyspark-shell",
    ]


def started_ticks(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; None when there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else int(fields[19])


def end_jvm(identity: JvmIdentity, *, wait_s: float) -> bool:
    """Wait for a JVM of a former agent to end, then end it. False: it is still there.

    Called before a new JVM starts on the same directory. A pid that has been taken over by another
    process is left alone.
    """
    if _gone_within(identity, wait_s):
        return True
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(identity.pid, number)
        if _gone_within(identity, STOP_TIMEOUT_S):
            return True
    return False


def _gone_within(identity: JvmIdentity, wait_s: float) -> bool:
    deadline = time.monotonic() + wait_s
    while started_ticks(identity.pid) == identity.started_ticks:
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_S)
    return True


def _spawn(
    command: Sequence[str], environment: Mapping[str, str], log: Path | None
) -> subprocess.Popen[bytes]:
    """A session of its own keeps a Ctrl-C in the terminal from the JVM: we end it ourselves."""
    with contextlib.ExitStack() as opened:
        sink = None if log is None else opened.enter_context(log.open("ab"))
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=sink,
            stderr=sink,
            env=environment,
            start_new_session=True,
        )
    hand_on_niceness(process.pid)
    return process


def _await_port(
    process: subprocess.Popen[bytes], file: Path, command: Sequence[str], log: Path | None
) -> tuple[int, str]:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not file.is_file():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            process.wait(STOP_TIMEOUT_S)
            where = f"its output is in {log}" if log else "its output is on stderr"
            raise SparkFailed(
                f"the JVM did not come up (exit {process.poll()}); {where}; "
                f"command: {shlex.join(command)[:300]} …"
            )
        time.sleep(POLL_S)
    with file.open("rb") as stream:
        return read_int(stream), UTF8Deserializer().loads(stream)


def _connect(port: int, secret: str) -> Any:
    """PySpark takes a JVM that already runs from these two variables; nobody else shall."""
    os.environ["PYSPARK_GATEWAY_PORT"] = str(port)
    os.environ["PYSPARK_GATEWAY_SECRET"] = secret
    try:
        gateway = launch_gateway()
        guard_callbacks(gateway)
        return gateway
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
