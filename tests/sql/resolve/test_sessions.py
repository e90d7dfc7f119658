"""Sessions are plain aggregates at sites, with the first and the last time among their partials."""

import msgspec
import pytest
from query_kit import queries_in

from headwater.algebra.windows.sessions import Sessions
from headwater.errors import QueryRefused
from headwater.plan.flat_query import FlatQuery
from headwater.plan.query import Query

SOURCE = """
CREATE SOURCE hits (ts TIMESTAMP, user STRING, bytes BIGINT)
WITH (format = 'csv', path = '*.csv', time = 'ts');
"""
SELECT = "SELECT user, count(*) AS n FROM hits GROUP BY session_window(ts, '1 minute'), user"


def compiled(select: str = SELECT, options: str = "") -> Query:
    text = f"{SOURCE} CREATE STREAM s {options} AS {select};"
    (query,) = queries_in(text, now_us=0)
    return query


def test_a_session_has_panes_of_its_gap_and_looks_back_its_length_and_two_gaps() -> None:
    query = compiled(options="WITH (session_max = '150 seconds')")
    assert query.sessions == Sessions(60_000_000, 150_000_000, "min_2", "max_3")
    assert (query.window.pane_us, query.window.panes_per_window) == (60_000_000, 6)


def test_a_session_is_twelve_gaps_long_at_most_where_nothing_is_said() -> None:
    sessions = compiled().sessions
    assert isinstance(sessions, Sessions)
    assert sessions.longest_us == 12 * sessions.gap_us


def test_the_times_of_a_session_share_the_partials_that_the_user_asks_for() -> None:
    query = compiled(SELECT.replace("count(*) AS n", "min(ts) AS first, session_window.end AS e"))
    assert [partial.name for partial in query.program.partials] == ["min_1", "max_2"]


def test_sessions_travel_with_their_query() -> None:
    query = compiled()
    image = msgspec.msgpack.encode(FlatQuery.of(query))
    assert msgspec.msgpack.decode(image, type=FlatQuery).query() == query


def test_a_query_without_sessions_has_the_bytes_that_it_had() -> None:
    query = compiled(SELECT.replace("session_window", "window"))
    assert b"sessions" not in msgspec.msgpack.encode(FlatQuery.of(query))


@pytest.mark.parametrize(
    "changed",
    [
        {"gap_us": 0},
        {"gap_us": 30_000_000},
        {"longest_us": -1},
        {"first": "max_3"},
        {"last": "count_1"},
        {"first": "nothing"},
    ],
)
def test_sessions_that_do_not_fit_their_query_are_refused(changed: dict[str, object]) -> None:
    query = compiled()
    assert isinstance(query.sessions, Sessions)
    sessions = msgspec.structs.replace(query.sessions, **changed)
    with pytest.raises(ValueError, match="sessions: wanted"):
        msgspec.structs.replace(query, sessions=sessions)


@pytest.mark.parametrize(
    ("select", "options", "message"),
    [
        (SELECT, "WITH (time = 'age')", "sessions go by the times of records"),
        (SELECT, "WITH (session_max = '30 days')", "write a shorter session_max"),
        (SELECT, "WITH (window = '1 minute')", "sessions have a grid of their own"),
        (
            SELECT.replace("1 minute", "99 milliseconds"),
            "WITH (session_max = '1 second')",
            "which is the size of a pane; at least",
        ),
        (
            SELECT.replace("count(*)", "count(DISTINCT bytes)"),
            "",
            "sessions have no growing states",
        ),
        (SELECT.replace("session_", ""), "WITH (session_max = '1 day')", "nothing here has sess"),
    ],
)
def test_options_that_do_not_go_with_sessions_are_refused(
    select: str, options: str, message: str
) -> None:
    with pytest.raises(QueryRefused, match=message):
        compiled(select, options)


def test_a_plan_says_that_it_needs_sessions() -> None:
    assert "grid session" in compiled().needs
