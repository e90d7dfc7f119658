"""A standalone master with two workers: a site's batches and a root's answers on it, in private."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from spark_kit import ListInbox, inverse, per_domain, rows
from standalone.cluster import StandaloneCluster
from standalone.processes import children_of, command_of, environment_mode

from headwater.spark.cluster.cluster_probe import executor_count
from headwater.spark.jvm.session import RunningSpark
from headwater.spark.root.root_part import RootSpark
from headwater.spark.site.site_host import SiteHost

pytestmark = [pytest.mark.spark, pytest.mark.processes, pytest.mark.timeout(600)]


def test_a_batch_of_two_sites_is_read_by_executors_and_leaves_nothing(
    on_cluster: RunningSpark, cluster: StandaloneCluster, tmp_path: Path
) -> None:
    query, failing = per_domain(), inverse()
    host = SiteHost(on_cluster.session, tmp_path / "host", shared=on_cluster.shared)
    inboxes = [ListInbox(tmp_path / name, query.program.source) for name in ("fra", "lhr")]
    try:
        for number, inbox in enumerate(inboxes):
            inbox.installed = {str(query.id), str(failing.id)}
            inbox.put(*(f"2026-05-01T12:00:{n:02d}Z,a.org,{n + number},1.0" for n in range(60)))
            inbox.put("no record")
        for one in (query, failing):
            host.install(one)
        for inbox in inboxes:
            host.serve(inbox.directory.name, inbox)
        for inbox in inboxes:
            inbox.wait_for_all()
    finally:
        host.stop()
    for inbox in inboxes:
        assert set(inbox.counts(query).values()) == {10}
        assert (inbox.records, inbox.unparsed) == (60, 1)
    assert "DIVIDE_BY_ZERO" in inboxes[0].failures(failing)[0].failed
    assert inboxes[1].failures(failing) == [], "one site's records fail one site's query"
    assert on_cluster.shared is not None
    assert list(on_cluster.shared.iterdir()) == []


def test_a_root_part_runs_on_executors(on_cluster: RunningSpark) -> None:
    query = per_domain()
    panes = pa.table({"domain": ["a", "b"], "count_1": [4, 2], "sum_1": [40, 20]})
    names = [field.name for field in query_schema(query)]
    found = RootSpark(on_cluster.session).finish(
        query, {7: panes.rename_columns(names).cast(query_schema(query))}
    )
    assert sorted((row["domain"], row["n"], row["b"]) for row in rows(found[7])) == [
        ("a", 4, 40),
        ("b", 2, 20),
    ]


def query_schema(query: object) -> pa.Schema:
    from headwater.algebra.rows.types import summary_schema

    return summary_schema(query.program)  # type: ignore[arg-type]


def test_executors_run_no_python(on_cluster: RunningSpark, cluster: StandaloneCluster) -> None:
    assert executor_count(on_cluster.session) == 2
    assert [children_of(pid) for pid in cluster.executors()] == [{}, {}]


def test_the_secret_is_on_no_command_line_and_in_no_file_for_others(
    on_cluster: RunningSpark, cluster: StandaloneCluster, secret: Path, directory: Path
) -> None:
    text = secret.read_text()
    processes = [on_cluster.jvm.pid, *cluster.pids(), *cluster.executors()]
    assert len(processes) == 6
    assert [pid for pid in processes if text in command_of(pid)] == []
    assert {environment_mode(pid) for pid in processes} == {0o400}
    assert on_cluster.shared is not None
    assert on_cluster.shared.stat().st_mode & 0o777 == 0o700
    told = [path for path in directory.rglob("*.log") if text in path.read_text(errors="replace")]
    assert told == []


def test_every_connection_is_encrypted(on_cluster: RunningSpark) -> None:
    conf = dict(on_cluster.session.sparkContext.getConf().getAll())
    assert conf["spark.network.crypto.enabled"] == "true"
    assert conf["spark.network.crypto.saslFallback"] == "false"
    assert conf["spark.io.encryption.enabled"] == "true"
