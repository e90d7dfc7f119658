"""What happens to clusters happens to one real agent here, while numbered records come in.

Master, workers, executors, driver and agent are processes. After each misfortune every record that
was written is in an exact answer, and the answers are those of plain Spark over the same file.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from standalone.agent import ClusterAgent
from standalone.cluster import StandaloneCluster, until

pytestmark = [pytest.mark.processes, pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def agent(directory: Path, cluster: StandaloneCluster, secret: Path) -> Iterator[ClusterAgent]:
    (directory / "shared").mkdir()
    agent = ClusterAgent(
        directory / "federation", master=cluster.url, shared=directory / "shared", secret=secret
    )
    try:
        agent.start()
        agent.install()
        yield agent
    finally:
        agent.stop()
    assert list((directory / "shared").iterdir()) == [], "an agent that ends leaves nothing there"


def go_on_past(agent: ClusterAgent) -> None:
    """Records keep coming until some that were written from now on are answered."""
    agent.await_answered(at_least=agent.count + 1)


def compare(agent: ClusterAgent, session: SparkSession) -> None:
    agent.await_answered()
    assert agent.answered("pages") == agent.answered("totals") == agent.count
    assert agent.difference(session) is None


def test_answers_are_those_of_plain_spark(agent: ClusterAgent, spark: SparkSession) -> None:
    with agent.growing():
        go_on_past(agent)
    compare(agent, spark)


def test_an_executor_that_is_killed_loses_nothing(
    agent: ClusterAgent, cluster: StandaloneCluster, spark: SparkSession
) -> None:
    until(lambda: len(cluster.executors()) == 2, "each worker has an executor")
    with agent.growing():
        go_on_past(agent)
        victims = cluster.executors()
        for pid in victims:
            cluster.kill_executor(pid)
        until(lambda: len(set(cluster.executors()) - set(victims)) == 2, "no new executors")
        go_on_past(agent)
    compare(agent, spark)


def test_a_worker_that_is_added_gets_work(
    agent: ClusterAgent, cluster: StandaloneCluster, spark: SparkSession
) -> None:
    with agent.growing():
        cluster.add_worker()
        cluster.await_workers(3)
        until(lambda: len(cluster.executors()) == 3, "the new worker has no executor")
        go_on_past(agent)
    compare(agent, spark)


def test_a_worker_that_is_lost_with_its_executor_loses_nothing(
    agent: ClusterAgent, cluster: StandaloneCluster, spark: SparkSession
) -> None:
    with agent.growing():
        cluster.kill_worker()
        cluster.await_workers(2)
        go_on_past(agent)
    compare(agent, spark)


def test_a_master_that_comes_back_finds_its_application(
    agent: ClusterAgent, cluster: StandaloneCluster, spark: SparkSession
) -> None:
    driver = agent.jvm()
    with agent.growing():
        cluster.kill_master()
        go_on_past(agent)
        cluster.start_master()
        cluster.await_workers(2)
        go_on_past(agent)
    compare(agent, spark)
    assert agent.jvm() == driver, "the application went on"


def test_a_master_that_forgot_everything_is_asked_anew(
    agent: ClusterAgent, cluster: StandaloneCluster, spark: SparkSession
) -> None:
    driver = agent.jvm()
    with agent.growing():
        cluster.kill_master()
        cluster.forget()
        cluster.start_master()
        cluster.await_workers(2)
        for pid in cluster.executors():
            cluster.kill_executor(pid)
        until(lambda: agent.jvm() != driver, "the same driver waits for ever", wait_s=400.0)
        go_on_past(agent)
    compare(agent, spark)


def test_a_driver_that_is_killed_is_started_anew(
    agent: ClusterAgent, cluster: StandaloneCluster, spark: SparkSession
) -> None:
    driver = agent.jvm()
    with agent.growing():
        os.kill(driver, signal.SIGKILL)
        until(lambda: agent.jvm() != driver, "no new driver", wait_s=300.0)
        go_on_past(agent)
    compare(agent, spark)


def test_an_agent_that_is_killed_goes_on_where_it_was(
    agent: ClusterAgent, cluster: StandaloneCluster, spark: SparkSession
) -> None:
    with agent.growing():
        agent.kill()
        agent.start()
        go_on_past(agent)
    compare(agent, spark)


def test_an_agent_that_starts_before_its_cluster_waits_for_it(
    agent: ClusterAgent, cluster: StandaloneCluster, spark: SparkSession
) -> None:
    with agent.growing():
        agent.kill()
        cluster.kill_master()
        agent.start()
        until(lambda: agent.has_told("does not answer"), "nobody said that the master is away")
        cluster.start_master()
        cluster.await_workers(2)
        go_on_past(agent)
    compare(agent, spark)
