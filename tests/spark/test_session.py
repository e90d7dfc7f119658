"""Finding a Java, settings that may be set, and a JVM that is gone when it should be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headwater.errors import ConfigurationError, SparkFailed
from headwater.spark.archive import archive_path
from headwater.spark.java import Java, find_java, read_release
from headwater.spark.jvm import (
    CODE_CACHE_MB,
    METASPACE_MB,
    JvmIdentity,
    end_jvm,
    jvm_command,
    started_ticks,
)
from headwater.spark.session import SparkConfig, core_count, session_settings
from headwater.spark.vitals import collect_garbage, read_vitals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headwater.spark.session import RunningSpark


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
    [("local", 1), ("local[4]", 4), ("local[2,3]", 2), ("local[*]", 8), ("spark://h:7077", 16)],
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
    assert left.wait(10) != 0
    assert left.stdin is not None
    left.stdin.close()
    assert end_jvm(JvmIdentity(left.pid, ticks), wait_s=0.0), "gone is gone"


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
