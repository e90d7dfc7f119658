"""A staleness that nobody could meet is refused by what a root has measured of its ways."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from query_kit import queries_in

from headwater.agent.control.install import check_travel, travel_s_here, travel_s_of
from headwater.errors import QueryRefused
from headwater.plan.query import Query
from headwater.sql.read.answering import TRAVEL_S, staleness_fault


def stream(name: str) -> Query:
    (query,) = queries_in(
        "CREATE SOURCE r (word STRING, ts TIMESTAMP) "
        "WITH (format = 'json', path = 'r.json', time = 'ts');"
        f"CREATE STREAM {name} WITH (staleness = '6 s', disorder = '2 s') AS "
        "SELECT word, count(*) AS n FROM r GROUP BY word, window(ts, '10 seconds');"
    )
    return query


def agent(**travels: float | None) -> Any:
    """At the root, with streams whose summaries take so long."""
    queries = [stream(name) for name in travels]
    live = {str(query.id): SimpleNamespace(query=query) for query in queries}
    roots = {str(query.id): SimpleNamespace(travel_s=travels[query.stream]) for query in queries}
    peer = SimpleNamespace(live_queries=lambda: live)
    return SimpleNamespace(site="home", node=SimpleNamespace(peer=peer, root=roots.get))


def test_what_is_measured_takes_the_place_of_what_a_way_is_given() -> None:
    query = stream("words")
    check_travel(query, 6.0, None)
    check_travel(query, 6.0, 2.9)
    with pytest.raises(QueryRefused) as refused:
        check_travel(query, 6.0, 3.5)
    said = str(refused.value)
    assert "stream 'words': `staleness`: wanted more than 6500 milliseconds, got 6 seconds" in said
    assert "2 seconds for records in disorder" in said
    assert "every 1 second" in said
    assert "summaries take 3500 milliseconds to the root, as it has measured" in said


def test_a_way_that_is_quick_is_given_no_less_than_before_it_was_measured() -> None:
    assert staleness_fault(3.0 + TRAVEL_S - 1.0, disorder_s=2.0, travel_s=0.1) is not None


def test_a_stream_that_runs_goes_by_its_own_way_and_a_new_one_by_the_quickest() -> None:
    runtime = agent(slow=7.0, quick=1.5, unheard=None)
    assert travel_s_of(runtime, stream("slow")) == 7.0
    assert travel_s_of(runtime, stream("new")) is None
    assert travel_s_here(runtime, "home") == 1.5
    assert travel_s_here(runtime, "elsewhere") is None, "its root has measured, and it is not here"
    assert travel_s_here(agent(unheard=None), "home") is None
