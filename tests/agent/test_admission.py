"""What a site runs and reads is its own decision."""

from typing import Any

import msgspec
import pytest
from query_kit import changed, queries_in

from headwater.agent.admission import admit_with
from headwater.agent.config import PolicyConfig, SourcesConfig
from headwater.agent.control.rights import OperatorRights, Right
from headwater.agent.input.site_sources import SiteSources
from headwater.errors import HeadwaterError
from headwater.plan.duty import Duty
from headwater.plan.query import Query

TEXT = """
CREATE SOURCE hits (ts TIMESTAMP, domain STRING, client STRING)
WITH (format = 'csv', path = 'access.log', time = 'ts');
CREATE STREAM by_client AS
SELECT client, count(*) AS n FROM hits GROUP BY window(ts, '5 seconds'), client;
"""
SOURCES = SourcesConfig(data="/srv/data", open=("/var/log/nginx",))


@pytest.fixture
def query():
    return queries_in(TEXT, at="oslo")[0]


def test_a_compiled_query_is_admitted(query):
    assert admit_with(PolicyConfig(), SOURCES)(query, Duty.READ, "olga") is None


def test_a_foreign_installer_is_a_reason_to_refuse(query):
    reason = admit_with(PolicyConfig(installers=("rome",)), SOURCES)(query, Duty.READ, "olga")
    assert reason is not None
    assert "oslo" in reason


def test_sql_that_nobody_compiled_is_refused(query):
    evil = changed(
        query, site_sql="SELECT REFLECT('java.lang.System', 'exit', 1) AS pane FROM records"
    )
    reason = admit_with(PolicyConfig(), SOURCES)(evil, Duty.READ, "olga")
    assert reason is not None
    assert "site part" in reason


@pytest.mark.parametrize("path", ["/etc/passwd", "../secrets/*.csv", "/var/log/nginx/../auth.log"])
def test_a_path_that_leads_outside_is_refused(query, path):
    source = msgspec.structs.replace(query.program.source, path=path)
    with pytest.raises(HeadwaterError, match="path"):
        SiteSources(SOURCES).place(source)


def test_an_absolute_path_below_an_open_directory_is_read_there(query):
    source = msgspec.structs.replace(query.program.source, path="/var/log/nginx/site/*.log")
    directory, pattern = SiteSources(SOURCES).place(source)
    assert (str(directory), pattern) == ("/var/log/nginx", "site/*.log")


def rights(**more: Any) -> PolicyConfig:
    return PolicyConfig(operators=(OperatorRights("olga", **more),))


@pytest.mark.parametrize("duty", [Duty.READ, Duty.ANSWER])
def test_what_an_operator_may_not_install_here_is_refused_whoever_took_the_command(
    query: Query, duty: Duty
) -> None:
    stream, path = query.stream, query.program.source.path
    assert admit_with(rights(), SOURCES)(query, duty, "olga") is None
    assert (
        admit_with(rights(streams=(stream,), sources=(path,)), SOURCES)(query, duty, "olga") is None
    )
    for policy, operator in (
        (rights(), "mallory"),
        (rights(), ""),
        (rights(may=(Right.READ,)), "olga"),
        (rights(streams=("other_*",)), "olga"),
        (rights(sources=("other/*",)), "olga"),
    ):
        reason = admit_with(policy, SOURCES)(query, duty, operator)
        assert reason is not None
        assert "[policy]" in reason


def test_a_relay_carries_for_operators_that_it_does_not_know(query: Query) -> None:
    assert admit_with(rights(), SOURCES)(query, Duty.CARRY, "mallory") is None
