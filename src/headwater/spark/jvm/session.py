"""A lean Spark session: what a site, a root and every test run on.

A site's batches are small and many, so this is Spark tuned for short jobs in little memory: no
web interface, as many shuffle partitions as cores, no adaptive re-planning, a serial collector.
Every setting stands here in the open and can be overridden by configuration, but for the three
that the meaning of a query rests on (``MEANING``): those are the query's own. What a cluster is set
differently, and what it must have, is in ``cluster``.
"""

from __future__ import annotations

import contextlib
import importlib.resources
import logging
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from headwater.errors import ConfigurationError, SparkFailed
from headwater.spark.cluster.cluster import (
    CLUSTER,
    ENCRYPTED,
    SECRET,
    SHUFFLE_PARTITIONS,
    Network,
    is_cluster,
    is_private,
    make_private,
    not_taken,
    read_secret,
    refuse_open,
    refuse_unfit,
    refuse_unreachable,
)
from headwater.spark.cluster.cluster_probe import probe
from headwater.spark.done_within import done_within
from headwater.spark.jvm.archive import archive_path
from headwater.spark.jvm.java import Java, find_java
from headwater.spark.jvm.jvm import STOP_TIMEOUT_S, Began, Jvm, JvmIdentity, start_jvm
from headwater.spark.jvm.jvm_end import JvmEnd
from headwater.spark.jvm.process_end import ends_within
from headwater.spark.scanned import bytes_scanned
from headwater.spark.spark_message import SPARK_ERRORS, message_of

MEANING = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
}
"""What the same SQL means, at every site and at the root."""

LEAN = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.driver.maxResultSize": "128m",
    "spark.buffer.pageSize": "4m",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    # Times in nanoseconds, as pandas writes them, come as numbers; without this Spark refuses a
    # file for such a column, whether or not anybody asks for it.
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "1000000",
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    "spark.sql.files.openCostInBytes": "65536",
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.pollingDelay": "100ms",
    "spark.sql.streaming.stopTimeout": "20s",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.sql.hive.filesourcePartitionFileCacheSize": "0",
    "spark.sql.ui.retainedExecutions": "1",
    "spark.ui.retainedJobs": "1",
    "spark.ui.retainedStages": "1",
    "spark.ui.retainedTasks": "1",
    "spark.cleaner.periodicGC.interval": "30min",
    "spark.scheduler.mode": "FAIR",
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "false",
    "spark.python.use.daemon": "true",
}
"""Small jobs in little memory. Sketches sort instead of hash from 128 groups on by default; more
than 32 paths would be listed by a job of their own; a chunk is no reason to open a new task; with a
large heap every task that groups would begin with a page of 64 MB, which Java clears and moves;
what is kept for one batch is not worth compressing; a stream that does not stop is not waited for.
Spark would remember the files that each job read, up to 250 MB of names, and no job reads them
again.

The checkpoint is written by way of Hadoop, which has no native library here and starts a program
(``readlink``, ``chmod``) for what it lacks: twenty of them a batch, a sixth of the CPU of a small
one. Written without checksums, by the simpler of two ways, it takes two. Nobody reads it again: see
``source_stream``."""

METASPACE = "-XX:MetaspaceSize=128m"
"""Java collects the whole heap when its classes first take more than this, which is 21 MB unless
it is told otherwise. Beside those in the archive a short run takes 36 MB of them."""
QUICKLY = ("-XX:TieredStopAtLevel=1",)
"""For a short run: what runs often is compiled once, quickly."""
WELL_IF_OFTEN = (
    "-XX:Tier4InvocationThreshold=100000",
    "-XX:Tier4MinInvocationThreshold=12000",
    "-XX:Tier4CompileThreshold=300000",
)
"""For an agent: twenty times Java's own bounds, from which on it compiles a method for the second
time, and well. What is done for each line reaches them with the first batches all the same. What
plans a batch, thousands of methods, does not: to compile it took nearly half of the CPU of a site
with little input in its second minute, and went on for ten."""
SEVERAL_PROCESSES = "local-cluster"
"""A local master that starts executors of its own, which must be told the secret."""
GONE_S = 0.5
"""How long the end of a JVM may come after the end of its sockets."""

LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
"""With a local master, or one on loopback, nobody else has business with the driver."""
OWN_FILES = {"spark.hadoop.fs.permissions.umask-mode": "077"}
"""Hadoop sets modes by itself, and does not ask the process. Executors of a cluster may be another
user's, and must be able to read."""
IN_PROCESS = {"spark.task.maxDirectResultSize": "64m"}
"""Beyond this a task's rows go to the driver as a block over the network, encrypted on both ends.
Where tasks run in the driver's own process they can be handed over as they are."""
LOCAL = {**LOOPBACK, **ENCRYPTED, **OWN_FILES, **IN_PROCESS}
"""And of those on this machine only the driver itself: its port takes objects of any class from
whoever knows the secret, which the JVM makes for itself at each start. What passes between the
parts of one process passes no port, so this costs nothing but at the start. What it writes to disk
is for its owner alone already, and is not encrypted once more."""


class SparkConfig(msgspec.Struct, frozen=True):
    """What an operator decides about Spark at a site."""

    master: str = "local[*]"
    memory: str = "512m"
    """The driver's heap; with a local master that is all the heap there is."""
    settings: tuple[tuple[str, str], ...] = ()
    """Any setting of Spark; they win over ours."""
    directory: str | None = None
    """For shuffle files and the like; None: the system's temporary directory."""
    log: str | None = None
    """A file for what the JVM says; None: our stderr."""
    shared: str | None = None
    """With a cluster: a directory of our own that this machine and all executors see, for what
    passes between them. It is made, and holds nothing that must survive."""
    secret: str | None = None
    """With a standalone cluster: the file with its secret."""
    java_home: str | None = None
    is_brief: bool = False
    """A short run (a test, ``try`` on little input): compile quickly instead of well."""
    options: tuple[str, ...] = ()
    """Further options of the JVM."""


class RunningSpark:
    """A session and the JVM under it. PySpark knows one per process, so there is one."""

    def __init__(self, session: SparkSession, jvm: Jvm, shared: Path | None = None) -> None:
        self.session = session
        self.shared = shared
        """Where executors see what is put for them; None: they are here, and see everything."""
        self._jvm = jvm
        self._verdict: JvmEnd | None = None

    @property
    def jvm(self) -> JvmIdentity:
        """For the manifest: whoever starts next on this directory awaits or ends it."""
        return self._jvm.identity

    def is_at_work(self) -> bool:
        """Whether a job runs now; False where the JVM does not say."""
        try:
            return bool(self.session.sparkContext.statusTracker().getActiveJobsIds())
        except (Py4JError, OSError):
            return False

    def bytes_scanned(self) -> int:
        """Of files, since it started; 0 where the JVM does not say."""
        try:
            return bytes_scanned(self.session)
        except (Py4JError, OSError):
            return 0

    def is_alive(self) -> bool:
        return self._jvm.process.poll() is None

    def end(self) -> JvmEnd | None:
        """How the JVM ended; None while it runs."""
        end = self._jvm.end()
        return None if end is None else self._verdict or end

    def ends_within(self, wait_s: float) -> bool:
        """Whether the JVM has ended, or does so while it is waited for."""
        return ends_within(self._jvm.process, wait_s)

    def kill(self, verdict: JvmEnd | None = None) -> None:
        """End the JVM from one moment to the next; ``stop`` is still to be called.

        ``verdict`` says why, which a process that was killed can't.
        """
        self._verdict = verdict
        self._jvm.kill()

    def stop(self, *, wait_s: float = STOP_TIMEOUT_S) -> None:
        """End the session and the JVM; nothing of either is left when this returns.

        A JVM that does not answer is ended by force.
        """
        context = self.session.sparkContext
        try:
            if self.is_alive() and not done_within(wait_s, self.session.stop):
                self.kill()
            _end_accumulators(context)
        finally:
            self._jvm.stop(wait_s=wait_s)
            _forget_jvm()


def start_session(
    config: SparkConfig, *, archive_into: Path | None = None, began: Began = lambda process: None
) -> RunningSpark:
    """Start Spark; takes 3 to 6 s. Raises ``SparkFailed`` if there is no Java or no start.

    ``archive_into``: go without an archive of classes, and write one there at the end. ``began``
    is told of the JVM's process, by the end of which the start is ended, too (``starting``).

    PySpark would write eight kilobytes of trace for each query that fails; we tell its message.
    """
    if SparkContext._active_spark_context is not None:
        raise ConfigurationError(
            "Spark: one session in a process, and there is one already; stop that one first"
        )
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_no_broken_call)
    java = find_java(config.java_home)
    settings = session_settings(config)
    shared = _made_ready(config, settings)
    log = Path(config.log) if config.log else None
    options = [*jvm_options(config), *archive_options(java, into=archive_into)]
    told = {name: value for name, value in settings.items() if not is_private(name)}
    jvm = start_jvm(java, options=options, settings=told, log=log, began=began)
    try:
        conf = SparkConf(loadDefaults=False, _jvm=jvm.gateway.jvm)
        conf.setAll([*settings.items(), *_secrets(config)])
        context = SparkContext(conf=conf, gateway=jvm.gateway)
        context.pythonExec = sys.executable
        quieten_accumulators(context)
        session = SparkSession(context)
        if shared is not None:
            probe(session, shared)
        return RunningSpark(session, jvm, shared)
    except BaseException as error:
        try:
            text = _text_of(error, jvm)
            if text is not None and shared is not None:
                text = not_taken(config.master, text)
        finally:
            _put_away(jvm)
        if text is None:
            raise
        raise SparkFailed(f"Spark did not start: {text}") from None


def _made_ready(config: SparkConfig, settings: Mapping[str, str]) -> Path | None:
    """For a cluster: everything that can be refused before a JVM is started."""
    if not is_cluster(config.master):
        return None
    network = Network(config.master, config.secret)
    refuse_unfit(network, settings, shared=config.shared)
    assert config.shared is not None, "it was asked for"
    _secrets(config)
    make_private(Path(config.shared))
    refuse_unreachable(network)
    return Path(config.shared)


def _secrets(config: SparkConfig) -> list[tuple[str, str]]:
    """What is told to the JVM alone. Raises where it is no secret."""
    if config.master.startswith(SEVERAL_PROCESSES):
        return [(SECRET, secrets.token_hex(32))]
    is_told = config.secret is not None and is_cluster(config.master)
    return [(SECRET, read_secret(config.secret))] if is_told and config.secret else []


def _text_of(error: BaseException, jvm: Jvm) -> str | None:
    """Why Spark did not start, asked for while there is a JVM to ask; None: it is not Spark's.

    Of a JVM that ended meanwhile the error says that nobody answers, and its end says why.
    """
    if not isinstance(error, (*SPARK_ERRORS, Py4JError, OSError)):
        return None
    with contextlib.suppress(subprocess.TimeoutExpired):
        jvm.process.wait(GONE_S)
    end = jvm.end()
    return message_of(error) if end is None else str(end)


def _is_no_broken_call(record: logging.LogRecord) -> bool:
    """Py4J writes a trace for each call that a JVM did not survive, some to the root of all logs.
    Whoever made the call gets the error, and the JVM's end is told in one sentence."""
    return record.msg != "Exception while sending command."


def quieten_accumulators(context: SparkContext) -> None:
    """PySpark's own server would write a trace when the JVM at its other end is gone, too."""
    server = getattr(context, "_accumulatorServer", None)
    if server is None:
        return
    told = server.handle_error

    def handle_error(request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), (EOFError, ConnectionError)):
            told(request, client_address)

    server.handle_error = handle_error


def _put_away(jvm: Jvm) -> None:
    jvm.stop()
    _forget_jvm()


def session_settings(config: SparkConfig) -> dict[str, str]:
    """All settings, ours first so that the operator's win."""
    given = dict(config.settings)
    overridden = sorted(set(MEANING) & given.keys())
    if overridden:
        raise ConfigurationError(
            f"spark settings: {overridden} belong to the query, not to the site; remove them here"
        )
    if SECRET in given:
        raise ConfigurationError(
            f"spark settings: {SECRET} belongs in a file for the agent's user alone; name it with "
            "secret = … under [spark]"
        )
    if not is_cluster(config.master):
        refuse_open(given)
    settings = {
        "spark.app.name": "headwater",
        "spark.master": config.master,
        "spark.driver.memory": config.memory,
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
        "spark.sql.shuffle.partitions": str(core_count(config.master)),
        **LEAN,
        **MEANING,
        **_place_settings(config),
    }
    directory = config.directory or tempfile.gettempdir()
    settings["spark.local.dir"] = directory
    settings["spark.sql.warehouse.dir"] = f"{directory}/warehouse"
    return settings | given


def _place_settings(config: SparkConfig) -> dict[str, str]:
    """What depends on where tasks run."""
    if not is_cluster(config.master):
        return LOCAL
    network = Network(config.master, config.secret)
    return {**CLUSTER, **network.settings(), **(LOOPBACK if network.is_loopback else {})}


def core_count(master: str, *, available: int | None = None) -> int:
    """How many tasks of a local master run at once; for a cluster, what a shuffle is cut into.

    >>> core_count("local[3]"), core_count("local[*]", available=8), core_count("local")
    (3, 8, 1)
    """
    if is_cluster(master):
        return SHUFFLE_PARTITIONS
    inside = master.partition("[")[2].partition("]")[0].partition(",")[0]
    if inside == "*":
        return available or os.cpu_count() or 1
    return int(inside) if inside.isdigit() else 1


def jvm_options(config: SparkConfig) -> list[str]:
    """Heap, collector and log."""
    log4j = importlib.resources.files("headwater.spark.jvm") / "log4j2.properties"
    return [
        f"-Xmx{config.memory}",
        "-XX:+UseSerialGC",
        "-XX:-UsePerfData",
        METASPACE,
        *(QUICKLY if config.is_brief else WELL_IF_OFTEN),
        f"-Dlog4j2.configurationFile=file:{log4j}",
        *config.options,
    ]


def archive_options(java: Java, *, into: Path | None) -> list[str]:
    """Use the archive of classes if there is one, or write one; a JVM can't do both."""
    if into is not None:
        return [f"-XX:ArchiveClassesAtExit={into}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]
    path = archive_path(java)
    return [f"-XX:SharedArchiveFile={path}", "-Xlog:cds=off"] if path.exists() else []


def apply_settings(session: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """A session of its own with a query's settings, on the same Spark."""
    own = session.newSession()
    for name, value in {**MEANING, **settings}.items():
        own.conf.set(name, value)
    return own


def _end_accumulators(context: SparkContext) -> None:
    """Of a JVM that died PySpark keeps a thread and a socket, where ``stop`` can't be called."""
    server = getattr(context, "_accumulatorServer", None)
    if server is not None:
        server.shutdown()
        server.server_close()
        context._accumulatorServer = None


def _forget_jvm() -> None:
    """PySpark keeps the JVM in class variables and would go on talking to a dead one."""
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
    SparkSession._activeSession = None
