"""A session of ours on a cluster of ours, small enough for tests."""

from __future__ import annotations

from pathlib import Path

from headwater.spark.jvm.session import RunningSpark, SparkConfig, start_session
from standalone.cluster import BRIEF, EXECUTOR_MEMORY, StandaloneCluster, until


def session_on(
    cluster: StandaloneCluster,
    directory: Path,
    *,
    secret: Path | None = None,
    memory: str = "512m",
    settings: tuple[tuple[str, str], ...] = (),
    is_brief: bool = True,
) -> RunningSpark:
    """With an executor at each worker."""
    own = [("spark.executor.memory", EXECUTOR_MEMORY)]
    own += [("spark.executor.extraJavaOptions", BRIEF)] if is_brief else []
    running = start_session(
        SparkConfig(
            master=cluster.url,
            memory=memory,
            settings=(*own, *settings),
            directory=str(directory),
            log=str(directory / "jvm.log"),
            shared=str(directory / "shared"),
            secret=None if secret is None else str(secret),
            is_brief=is_brief,
        )
    )
    until(lambda: len(cluster.executors()) == len(cluster.workers), "a worker has no executor")
    return running
