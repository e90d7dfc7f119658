"""Finding a Java, settings that may be set, and a JVM that is gone when it should be."""

from __future__ import annotations

import gc
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.accumulators import AccumulatorTCPServer, UpdateRequestHandler
from pyspark.errors import PySparkRuntimeError
from soak.measure import live_objects
from spark_kit import until

from headwater.errors import ConfigurationError, SparkFailed
from headwater.spark.jvm import session
from headwater.spark.jvm.archive import archive_path
from headwater.spark.jvm.java import Java, find_java, read_release
from headwater.spark.jvm.jvm import (
    CODE_CACHE_MB,
    METASPACE_MB,
    JvmIdentity,
    end_jvm,
    jvm_command,
    started_ticks,
)
from headwater.spark.jvm.jvm_end import JvmEnd, end_of
from headwater.spark.jvm.session import (
    SparkConfig,
    core_count,
    quieten_accumulators,
    session_settings,
    start_session,
)
from headwater.spark.jvm.vitals import collect_garbage, read_vitals

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from headwater.spark.jvm.session import RunningSpark


HEAP = "Terminating due to java.lang.OutOfMemoryError: Java heap space"


def make_java(home: Path, version: str) -> Path:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text("#!/bin/sh\n")
    (home / "bin" / "java").chmod(0o755)
    (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return home


@pytest.mark.parametrize(
    ("release", "version"), [("17.0.15", 17), ("25.0.2", 25), ("1.8.0_402", 8), ("21", 21)]
)
def test_a_java_tells_its_version(tmp_path: Path, release: str, version: int) -> None:
    java = read_release(make_java(tmp_path / "jdk", release))
    assert java is not None
    assert (java.version, java.build) == (version, release)


def test_an_old_java_is_passed_over_and_a_new_one_is_found(tmp_path: Path) -> None:
    old, new = make_java(tmp_path / "old", "11.0.2"), make_java(tmp_path / "new", "21.0.1")
    found = find_java(environment={"JAVA_HOME": str(old), "PATH": str(new / "bin")})
    assert found.home == new


def test_a_java_that_was_asked_for_is_taken_or_refused(tmp_path: Path) -> None:
    old = make_java(tmp_path / "old", "11.0.2")
    with pytest.raises(SparkFailed, match=r"wanted version 17 or newer.*Java 11"):
        find_java(str(old))
    with pytest.raises(SparkFailed, match="no Java"):
        find_java(str(tmp_path / "nowhere"))


def test_an_archive_belongs_to_one_build_of_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADWATER_ARCHIVE", raising=False)
    builds = [archive_path(Java(Path("/j"), 17, build)) for build in ("17.0.14", "17.0.15")]
    assert builds[0] != builds[1]


def test_settings_of_an_operator_win_but_not_over_the_meaning_of_queries() -> None:
    config = SparkConfig(master="local[3]", settings=(("spark.sql.shuffle.partitions", "7"),))
    assert session_settings(config)["spark.sql.shuffle.partitions"] == "7"
    assert session_settings(SparkConfig(master="local[3]"))["spark.sql.shuffle.partitions"] == "3"
    with pytest.raises(ConfigurationError, match=r"timeZone.*belong to the query"):
        session_settings(SparkConfig(settings=(("spark.sql.session.timeZone", "CET"),)))


@pytest.mark.parametrize(
    ("master", "count"),
    [("local", 1), ("local[4]", 4), ("local[2,3]", 2), ("local[*]", 8), ("spark://h:7077", 64)],
)
def test_a_master_says_how_many_tasks_run_at_once(master: str, count: int) -> None:
    assert core_count(master, available=8) == count


def test_the_command_asks_for_no_module_that_a_java_may_lack() -> None:
    java = Java(Path("/opt/jdk"), 17, "17.0.1")
    command = jvm_command(java, options=["-Xmx1g"], settings={"spark.master": "local"})
    assert command[0] == "/opt/jdk/bin/java"
    assert command[-3:] == ["--conf", "spark.master=local", "pyspark-shell"]
    assert not any("incubator" in part for part in command)


def test_a_process_left_behind_is_ended_and_a_stranger_with_its_number_is_not() -> None:
    left = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    ticks = started_ticks(left.pid)
    assert ticks is not None
    assert end_jvm(JvmIdentity(left.pid, ticks - 1), wait_s=0.0), "that one is gone already"
    assert left.poll() is None, "a process that only has its number is left alone"
    assert end_jvm(JvmIdentity(left.pid, ticks), wait_s=0.0)
    assert left.wait(120) != 0
    assert left.stdin is not None
    left.stdin.close()
    assert end_jvm(JvmIdentity(left.pid, ticks), wait_s=0.0), "gone is gone"


class FakeJvm:
    """A JVM that starts; what becomes of Spark on it is up to the test."""

    def __init__(self, end: JvmEnd | None = None) -> None:
        self.gateway = SimpleNamespace(jvm=None)
        self.process = self
        self.is_stopped = False
        self._end = end

    def wait(self, wait_s: float) -> None:
        if self._end is None:
            raise subprocess.TimeoutExpired("java", wait_s)

    def end(self) -> JvmEnd | None:
        return self._end

    def stop(self) -> None:
        self.is_stopped = True


def failing_start(monkeypatch: pytest.MonkeyPatch, jvm: FakeJvm, error: BaseException) -> Any:
    """Spark on this JVM raises that; returns what stands where PySpark's context stands."""

    class Context:
        _active_spark_context: object = None
        _gateway: object = None
        _jvm: object = None

        def __init__(self, **_: object) -> None:
            Context._active_spark_context = Context._gateway = Context._jvm = self
            raise error

    conf = SimpleNamespace(setAll=lambda _: None)
    monkeypatch.setattr(session, "find_java", lambda _: Java(Path("/j"), 17, "17.0.1"))
    monkeypatch.setattr(session, "start_jvm", lambda *_, **__: jvm)
    monkeypatch.setattr(session, "SparkConf", lambda **_: conf)
    monkeypatch.setattr(session, "SparkContext", Context)
    monkeypatch.setattr(session, "SparkSession", SimpleNamespace())
    return Context


MASTER = "Could not parse Master URL: 'locl[2]'\n\tat org.apache.spark.SparkContext$.create…"


@pytest.mark.parametrize(
    ("error", "end", "said"),
    [
        (PySparkRuntimeError(MASTER), None, r"Spark did not start: Could not parse .* 'locl\[2\]'"),
        (Py4JNetworkError("Answer from Java side is empty"), end_of(-9, ""), r"killed \(SIGKILL\)"),
        (ConnectionResetError("Connection reset"), end_of(3, HEAP), "no room left in its heap"),
        (ConnectionResetError("Connection reset"), None, "Spark did not start: Connection reset"),
    ],
    ids=repr,
)
def test_a_start_of_spark_that_fails_is_one_sentence_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, error: Exception, end: JvmEnd | None, said: str
) -> None:
    jvm = FakeJvm(end)
    context = failing_start(monkeypatch, jvm, error)
    with pytest.raises(SparkFailed, match=said) as caught:
        start_session(SparkConfig())
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None, "no traces beside it"
    assert jvm.is_stopped
    assert context._active_spark_context is context._gateway is context._jvm is None


@pytest.mark.parametrize("error", [KeyError("a mistake of ours"), KeyboardInterrupt()], ids=repr)
def test_a_start_that_ends_for_another_reason_says_so_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    jvm = FakeJvm()
    context = failing_start(monkeypatch, jvm, error)
    with pytest.raises(type(error)):
        start_session(SparkConfig())
    assert jvm.is_stopped
    assert context._active_spark_context is None


def test_an_error_whose_words_are_gone_with_the_jvm_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Wordless(PySparkRuntimeError):
        def __str__(self) -> str:
            raise Py4JNetworkError("nobody answers")

    jvm = FakeJvm()
    context = failing_start(monkeypatch, jvm, Wordless("x"))
    with pytest.raises(Py4JNetworkError):
        start_session(SparkConfig())
    assert jvm.is_stopped
    assert context._active_spark_context is None


@pytest.mark.spark
def test_the_session_means_what_queries_count_on(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"
    assert spark.sparkContext.uiWebUrl is None


@pytest.mark.spark
def test_a_jvm_tells_how_full_it_is_and_has_room_for_code(running_spark: RunningSpark) -> None:
    """Compiled quickly, as here, a JVM would have 48 MB, and the tests need more."""
    running_spark.session.range(10).count()
    collect_garbage(running_spark)
    vitals = read_vitals(running_spark)
    assert vitals.code_limit == CODE_CACHE_MB << 20
    assert vitals.metaspace_limit == METASPACE_MB << 20
    assert set(vitals.shares()) == {"heap", "metaspace", "code cache"}
    assert all(0 < share < 1 for share in vitals.shares().values())
    assert vitals.class_count > 1_000
    assert running_spark.end() is None


@pytest.mark.spark
def test_spark_remembers_no_files_that_jobs_have_read(
    running_spark: RunningSpark, tmp_path: Path
) -> None:
    """By default it keeps their names for the next job, up to half of our heap."""

    def known_files() -> int:
        gc.collect()
        collect_garbage(running_spark)
        return live_objects(running_spark)["names of files"]

    before = known_files()
    for number in range(40):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "lines").write_text("a\n")
        assert running_spark.session.read.text(str(tmp_path / str(number))).count() == 1
    until(lambda: known_files() < before + 20)


@pytest.mark.parametrize(("said", "is_told"), [(b"the token", False), (b"bad token", True)])
def test_a_jvm_that_is_gone_leaves_no_trace_of_its_accumulators(
    said: bytes, is_told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    server = AccumulatorTCPServer(("127.0.0.1", 0), UpdateRequestHandler, "the token")
    quieten_accumulators(cast("SparkContext", SimpleNamespace(_accumulatorServer=server)))
    with server:
        with socket.create_connection(server.server_address) as jvm:
            jvm.sendall(said)
        server.handle_request()
    assert ("Traceback" in capsys.readouterr().err) is is_told
