"""A cluster's master: what is set for it, what is refused before it is asked, whose fault it is."""

from __future__ import annotations

import os
import re
import socket
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from pyspark import SparkContext
from pyspark.errors import ArithmeticException, PySparkRuntimeError
from pyspark.sql import SparkSession

from headwater.errors import ConfigurationError, SparkFailed
from headwater.spark.cluster import cluster_probe
from headwater.spark.cluster.cluster import (
    ENCRYPTED,
    SECRET,
    Network,
    make_private,
    read_secret,
    refuse_unreachable,
)
from headwater.spark.cluster.cluster_probe import probe
from headwater.spark.cluster.cluster_trouble import is_of_the_cluster, raise_if_of_the_cluster
from headwater.spark.jvm import session
from headwater.spark.jvm.session import SparkConfig, session_settings, start_session
from headwater.spark.lines.lines import SITE, linked
from headwater.spark.site.scan_counts import scan_counts

FAR = "spark://10.11.12.13:7077"
NEAR = "spark://127.0.0.1:7077"
SECRET_TEXT = "a secret of the whole cluster"


@pytest.fixture
def secret(tmp_path: Path) -> str:
    path = tmp_path / "secret"
    path.write_text(SECRET_TEXT + "\n")
    path.chmod(0o600)
    return str(path)


def refused(config: SparkConfig) -> str:
    """Also where the tests before this one have left a Spark."""
    none = mock.patch.object(SparkContext, "_active_spark_context", None)
    with none, pytest.raises((ConfigurationError, SparkFailed)) as caught:
        start_session(config)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("master", [FAR, NEAR, "yarn", "k8s://https://h:6443"])
def test_a_cluster_needs_a_directory_that_its_executors_see(master: str) -> None:
    assert re.search(
        "wanted a directory .* all executors see.*shared = …", refused(SparkConfig(master))
    )


def test_a_cluster_on_the_network_is_refused_without_a_secret(tmp_path: Path) -> None:
    said = refused(SparkConfig(FAR, shared=str(tmp_path / "shared")))
    assert "got no secret" in said
    assert "secret = …" in said


def test_encryption_can_not_be_turned_off_on_the_network(tmp_path: Path, secret: str) -> None:
    off = (("spark.network.crypto.enabled", "false"),)
    config = SparkConfig(FAR, shared=str(tmp_path / "shared"), secret=secret, settings=off)
    assert "wanted encrypted connections" in refused(config)


def test_a_secret_turns_encryption_on_and_is_no_setting(secret: str) -> None:
    settings = session_settings(SparkConfig(FAR, secret=secret))
    assert settings.items() >= ENCRYPTED.items()
    assert settings["spark.io.encryption.enabled"] == "true"
    assert SECRET not in settings
    assert SECRET_TEXT not in str(settings)


def test_those_who_make_a_secret_for_each_application_are_encrypted_without_ours() -> None:
    assert session_settings(SparkConfig("yarn")).items() >= ENCRYPTED.items()
    assert "spark.authenticate" not in session_settings(SparkConfig(NEAR))


def test_a_master_on_loopback_binds_nothing_else() -> None:
    assert session_settings(SparkConfig(NEAR))["spark.driver.bindAddress"] == "127.0.0.1"
    assert "spark.driver.bindAddress" not in session_settings(SparkConfig(FAR))
    assert "spark.driver.bindAddress" not in session_settings(SparkConfig(f"{NEAR},10.0.0.9:7077"))


def test_a_secret_among_the_settings_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="belongs in a file"):
        session_settings(SparkConfig(FAR, settings=((SECRET, SECRET_TEXT),)))


def test_a_secret_that_others_can_read_is_refused(secret: str) -> None:
    assert read_secret(secret) == SECRET_TEXT
    os.chmod(secret, 0o640)
    with pytest.raises(ConfigurationError, match="for its owner alone, got mode 640"):
        read_secret(secret)
    os.chmod(secret, 0o600)
    Path(secret).write_text("short")
    with pytest.raises(ConfigurationError, match="at least 16 characters, got 5"):
        read_secret(secret)
    with pytest.raises(ConfigurationError, match="can't be read"):
        read_secret(secret + "-nowhere")


def test_a_bad_secret_is_refused_before_anything_is_started(tmp_path: Path, secret: str) -> None:
    os.chmod(secret, 0o644)
    config = SparkConfig(FAR, shared=str(tmp_path / "shared"), secret=secret)
    with mock.patch.object(session, "start_jvm", side_effect=AssertionError("too late")):
        assert "for its owner alone" in refused(config)
    assert not (tmp_path / "shared").exists()


def test_nothing_private_stands_on_the_command_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, secret: str
) -> None:
    seen: dict[str, str] = {}

    def start_jvm(*_: object, settings: dict[str, str], **__: object) -> Any:
        seen.update(settings)
        raise SparkFailed("enough")

    monkeypatch.setattr(session, "start_jvm", start_jvm)
    monkeypatch.setattr(session, "refuse_unreachable", lambda _: None)
    given = (("spark.ssl.rpc.keyStorePassword", "hush"), ("spark.cores.max", "3"))
    config = SparkConfig(FAR, shared=str(tmp_path / "shared"), secret=secret, settings=given)
    assert "enough" in refused(config)
    assert seen["spark.cores.max"] == "3"
    assert "hush" not in str(seen)
    assert SECRET_TEXT not in str(seen)
    assert (tmp_path / "shared").stat().st_mode & 0o777 == 0o700


def test_a_shared_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    said = refused(SparkConfig(NEAR, shared=str(tmp_path / "nowhere" / "mine")))
    assert f"shared: {tmp_path / 'nowhere'}: wanted a directory" in said


def test_a_directory_that_somebody_else_has_put_there_is_not_used(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir(mode=0o755)
    make_private(mine)
    assert mine.stat().st_mode & 0o777 == 0o700
    (tmp_path / "link").symlink_to(mine)
    with pytest.raises(ConfigurationError, match="link there belongs to somebody else"):
        make_private(tmp_path / "link")
    with (
        mock.patch.object(os, "geteuid", return_value=os.getuid() + 1),
        pytest.raises(ConfigurationError, match="mine there belongs to somebody else"),
    ):
        make_private(mine)


def test_a_master_that_does_not_answer_is_said_at_once() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        with pytest.raises(
            SparkFailed, match=rf"127.0.0.1:{port}: Connection refused.*start the master"
        ):
            refuse_unreachable(Network(f"spark://127.0.0.1:{port}"))
        closed.listen()
        refuse_unreachable(Network(f"spark://127.0.0.1:1,127.0.0.1:{port}"))
    refuse_unreachable(Network("yarn"))


@pytest.mark.parametrize(
    "text",
    [
        "Task 0 in stage 3.0 failed 4 times … ExecutorLostFailure (executor 7 exited caused by …",
        "Job 3 cancelled because SparkContext was shut down",
        "Cannot call methods on a stopped SparkContext.",
        "java.io.FileNotFoundException: File file:/mnt/x/1.txt does not exist",
    ],
)
def test_what_the_cluster_fails_is_no_querys_failure(text: str) -> None:
    error = PySparkRuntimeError(text)
    with pytest.raises(SparkFailed, match="the cluster failed a batch, which comes again"):
        judged_on(FAR, error)
    judged_on("local[2]", error)


def test_what_a_value_fails_is_the_querys_failure_on_a_cluster_too() -> None:
    error = ArithmeticException("[DIVIDE_BY_ZERO] … Connection reset … SQLSTATE: 22012")
    judged_on(FAR, error)
    assert not is_of_the_cluster("[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column … SQLSTATE: 42703")


def test_sparks_counters_are_not_believed_on_a_cluster() -> None:
    context = SimpleNamespace(master=FAR)
    frame = SimpleNamespace(sparkSession=SimpleNamespace(sparkContext=context))
    assert scan_counts(frame) is None  # type: ignore[arg-type]


def judged_on(master: str, error: Exception) -> None:
    context = SimpleNamespace(master=master)
    with mock.patch.object(SparkContext, "_active_spark_context", context):
        raise_if_of_the_cluster(error)


class Cut(SimpleNamespace):
    cut: int
    path: Path
    bytes: int
    header = ""
    is_file = False


def test_chunks_are_put_where_executors_see_them_and_are_gone_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "spool.gz"
    path.write_bytes(b"lines")
    chunks = [[Cut(cut=4, path=path, bytes=5)]]
    with linked(tmp_path / "batch", chunks, is_shared=True) as first:
        (put,) = first.directory.rglob("*.gz")
        assert put.relative_to(first.directory) == Path(f"{SITE}=0/00000000000000000004-000000.gz")
        assert not put.is_symlink()
        assert put.read_bytes() == b"lines"
    with linked(tmp_path / "batch", chunks, is_shared=True) as second:
        assert first.directory != second.directory, "machines remember what was under a name"
    assert list((tmp_path / "batch").iterdir()) == []
    assert path.read_bytes() == b"lines"


def test_chunks_on_another_file_system_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "spool").write_bytes(b"lines")
    with linked(
        tmp_path / "batch", [[Cut(cut=1, path=tmp_path / "spool", bytes=5)]], is_shared=True
    ) as at:
        assert (
            at.directory / f"{SITE}=0" / "00000000000000000001-000000.txt"
        ).read_bytes() == b"lines"


@pytest.mark.spark
def test_a_probe_leaves_nothing_and_tells_what_there_is(
    spark: SparkSession, tmp_path: Path
) -> None:
    facts = probe(spark, tmp_path)
    assert facts.cores == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spark
def test_a_directory_that_executors_do_not_see_is_told(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = cluster_probe._job

    def elsewhere(session: SparkSession, directory: Path) -> None:
        for path in (directory / "in").iterdir():
            path.unlink()
        real(session, directory)

    monkeypatch.setattr(cluster_probe, "_job", elsewhere)
    with pytest.raises(SparkFailed, match="executors wrote 4 lines there and this machine sees 0"):
        probe(spark, tmp_path)


@pytest.mark.spark
def test_another_version_of_spark_is_told(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_probe, "VERSION_SQL", "'4.2.1'")
    with pytest.raises(SparkFailed, match=r"the cluster runs Spark 4\.2\.1 and this agent 4\.3"):
        probe(spark, tmp_path)


@pytest.mark.spark
def test_a_cluster_that_gives_no_executors_is_not_waited_for_for_ever(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = threading.Event()
    monkeypatch.setattr(cluster_probe, "_job", lambda *_: ends.wait(60))
    with pytest.raises(
        SparkFailed, match="gave no executors within 0 s: look whether it has workers"
    ):
        probe(spark, tmp_path, wait_s=0.01)
    ends.set()
