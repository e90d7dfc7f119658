"""The conformance queries, and windows of many groups, on a standalone master with two workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from nasty_logs import write_sites
from spark_kit import per_domain

from headwater.algebra.rows.types import summary_schema
from headwater.local.trial.compare_results import differences
from headwater.local.trial.one_spark import try_central
from headwater.local.trial.results import StreamResult
from headwater.local.trial.try_query import try_query
from headwater.spark.jvm.session import RunningSpark
from headwater.spark.root.root_part import RootSpark
from headwater.sql.compile import parse_script

QUERIES = Path(__file__).parents[1] / "conformance" / "queries.sql"
TEXT = QUERIES.read_text(encoding="utf-8")
NAMES = [stream.name for stream in parse_script(TEXT).streams]
GROUPS = 300_000
STALL_LOOKS_MAX = 4_500

pytestmark = [pytest.mark.spark, pytest.mark.processes, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def sites(directory: Path) -> Path:
    write_sites(directory / "sites", seed=20261116)
    return directory / "sites"


@pytest.fixture(scope="module")
def central(spark_house: Any, sites: Path) -> list[StreamResult]:
    """By plain Spark with a local master: a process has one Spark, so this comes first."""
    return try_central(TEXT, sites, spark=spark_house.running())


@pytest.fixture(scope="module")
def federated(
    central: list[StreamResult], on_cluster: RunningSpark, sites: Path
) -> list[StreamResult]:
    """Five processes work for one batch of all queries: a busy machine takes minutes for it."""
    with mock.patch("headwater.local.trial.try_query.STALL_LOOKS_MAX", STALL_LOOKS_MAX):
        return try_query(TEXT, sites, spark=on_cluster)


@pytest.fixture(scope="module")
def unlike(federated: list[StreamResult], central: list[StreamResult]) -> dict[str, str | None]:
    """For each stream where the two differ."""
    return differences(federated, central)


@pytest.mark.parametrize("name", NAMES)
def test_the_answer_on_a_cluster_equals_plain_spark_on_one_machine(
    name: str, unlike: dict[str, str | None]
) -> None:
    assert unlike[name] is None


def test_windows_of_many_groups_are_finished(on_cluster: RunningSpark) -> None:
    query = per_domain()
    schema = summary_schema(query.program)
    keys = pa.array([f"domain {n}" for n in range(GROUPS)])
    ones = pa.array([1] * GROUPS, pa.int64())
    numbers = pa.array(range(GROUPS), pa.int64())
    panes = pa.table([keys, ones, numbers], names=schema.names).cast(schema)
    found = RootSpark(on_cluster.session).finish(query, dict.fromkeys((1, 2), panes))
    for rows in found.values():
        assert rows.num_rows == GROUPS
        assert pc.unique(rows["n"]).to_pylist() == [1]
        assert pc.sum(rows["b"]).as_py() == GROUPS * (GROUPS - 1) // 2
