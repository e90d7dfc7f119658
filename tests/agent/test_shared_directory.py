"""Where an agent puts what executors of a cluster are to see."""

import msgspec

from headwater.agent.agent_spark import shared_directory
from headwater.agent.config import AgentConfig, SparkSettings

ON_CLUSTER = AgentConfig(
    site="oslo",
    directory="/var/lib/headwater",
    spark=SparkSettings(master="spark://h:7077", shared="/mnt/all"),
)


def test_each_life_of_an_agent_has_the_same_directory_and_no_other_agent_has_it() -> None:
    mine = shared_directory(ON_CLUSTER)
    assert mine is not None
    assert str(mine).startswith("/mnt/all/headwater-oslo-")
    assert shared_directory(ON_CLUSTER) == mine
    beside = msgspec.structs.replace(ON_CLUSTER, directory="/var/lib/another")
    assert shared_directory(beside) != mine


def test_with_a_local_master_there_is_none() -> None:
    local = msgspec.structs.replace(ON_CLUSTER, spark=SparkSettings(shared="/mnt/all"))
    assert shared_directory(local) is None
