"""What all tests share: one Spark session, because a start takes seconds."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headwater.spark.session import RunningSpark


@pytest.fixture(scope="session")
def running_spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[RunningSpark]":
    """The lean session of the project, compiled quickly rather than well, on two cores."""
    from headwater.spark.session import SparkConfig, start_session

    scratch = tmp_path_factory.mktemp("spark")
    running = start_session(
        SparkConfig(
            master="local[2]",
            directory=str(scratch),
            log=str(scratch / "jvm.log"),
            is_brief=True,
        )
    )
    yield running
    running.stop()


@pytest.fixture(scope="session")
def spark(running_spark: "RunningSpark") -> "SparkSession":
    return running_spark.session
