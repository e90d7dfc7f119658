"""Clusters that can't work for us: each is told in one sentence, and nothing is left of the try."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from standalone.cluster import StandaloneCluster, until, write_privately
from standalone.session import session_on

from headwater.errors import SparkFailed
from headwater.spark.cluster.cluster_probe import probe
from headwater.spark.jvm import session
from headwater.spark.jvm.session import SparkConfig, start_session

pytestmark = [pytest.mark.spark, pytest.mark.processes, pytest.mark.timeout(600)]

UNSHARE = ("unshare", "--mount", "--propagation", "private")


@pytest.fixture(autouse=True)
def no_other_spark(spark_house: Any) -> None:
    """A process has one."""
    spark_house.arm(False)
    spark_house.stop()


def test_a_cluster_with_another_secret_is_told(
    cluster: StandaloneCluster, directory: Path, tmp_path: Path
) -> None:
    other = tmp_path / "secret"
    write_privately(other, "f" * 64)
    said = r"did not take this application.*wanted .* its secret"
    with pytest.raises(SparkFailed, match=said) as caught:
        session_on(cluster, tmp_path, secret=other)
    assert "\n" not in str(caught.value)
    assert "f" * 64 not in (tmp_path / "jvm.log").read_text(errors="replace")


def test_a_cluster_without_free_cores_is_told(
    cluster: StandaloneCluster, tmp_path: Path, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "probe", lambda one, shared: probe(one, shared, wait_s=5.0))
    config = SparkConfig(
        master=cluster.url,
        directory=str(tmp_path),
        log=str(tmp_path / "jvm.log"),
        shared=str(tmp_path / "shared"),
        secret=str(secret),
        is_brief=True,
        settings=(("spark.executor.memory", "64g"),),
    )
    with pytest.raises(SparkFailed, match="gave no executors within 5 s: look whether"):
        start_session(config)
    until(lambda: (cluster.state() or {}).get("activeapps") == [], "the application stays")


@pytest.mark.skipif(os.geteuid() != 0, reason="a mount of its own needs an administrator")
def test_a_worker_that_sees_another_directory_is_told(
    tmp_path: Path, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file system has something else under the same path, as on a machine without the mount."""
    shared = tmp_path / "mount"
    shared.mkdir()
    if subprocess.run([*UNSHARE, "mount", "-t", "tmpfs", "none", str(shared)]).returncode:
        pytest.skip("this machine lets nobody mount")
    hide = (*UNSHARE, "sh", "-c", f'mount -t tmpfs none {shared} && exec "$@"', "sh")
    text = secret.read_text()
    with StandaloneCluster(tmp_path / "cluster", secret=text, workers=1, before=hide) as cluster:
        config = SparkConfig(
            master=cluster.url,
            directory=str(tmp_path),
            log=str(tmp_path / "jvm.log"),
            shared=str(shared / "mine"),
            secret=str(secret),
            is_brief=True,
            settings=(("spark.executor.memory", "512m"),),
        )
        with pytest.raises(SparkFailed, match=r"executors .* can't work in .*same directory"):
            start_session(config)
    assert list((shared / "mine").iterdir()) == []
