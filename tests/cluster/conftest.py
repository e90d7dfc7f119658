"""A standalone cluster for the tests of this folder."""

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from standalone.cluster import StandaloneCluster

    from headwater.spark.jvm.session import RunningSpark


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where disks are encrypted PySpark hands rows over by a socket, which it leaves to Python's
    collector to close."""
    leaves = "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings(leaves))


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def secret(directory: Path) -> Path:
    from standalone.cluster import can_start_executors, write_privately

    if not can_start_executors():
        pytest.skip("this Java lacks jdk.incubator.vector, which Spark asks its executors for")
    write_privately(directory / "secret", secrets.token_hex(32))
    return directory / "secret"


@pytest.fixture(scope="module")
def cluster(directory: Path, secret: Path) -> "Iterator[StandaloneCluster]":
    """A master that remembers and two workers."""
    from standalone.cluster import StandaloneCluster

    text = secret.read_text()
    with StandaloneCluster(directory / "cluster", secret=text, keeps=True) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def on_cluster(
    spark_house: Any, cluster: "StandaloneCluster", directory: Path, secret: Path
) -> "Iterator[RunningSpark]":
    """A process has one Spark: that of the other tests makes room."""
    from standalone.session import session_on

    spark_house.arm(False)
    spark_house.stop()
    running = session_on(cluster, directory, secret=secret)
    yield running
    running.stop()
