"""How long a stream's panes are kept for questions: ``keep``."""

from __future__ import annotations

import msgspec
import pytest
from query_kit import queries_in

from headwater.errors import QueryRefused
from headwater.plan.flat_query import FlatQuery
from headwater.plan.query import KEEP_S_MAX, Query

SOURCE = (
    "CREATE SOURCE r (word STRING, ts TIMESTAMP) "
    "WITH (format = 'json', path = 'r.json', time = 'ts');"
)


def compiled(options: str) -> Query:
    (query,) = queries_in(
        f"{SOURCE} CREATE STREAM s WITH ({options}) AS "
        "SELECT word, count(*) AS n FROM r GROUP BY word, window(ts, '10 seconds');"
    )
    return query


def test_without_it_a_plan_is_what_it_was() -> None:
    assert b"keep_s" not in msgspec.json.encode(FlatQuery.of(compiled("disorder = '1 s'")))


def test_it_is_a_length_of_time_that_travels() -> None:
    query = compiled("keep = '30 days'")
    assert query.keep_s == 30 * 86_400.0
    sent = msgspec.msgpack.encode(FlatQuery.of(query))
    assert msgspec.msgpack.decode(sent, type=FlatQuery).query() == query


@pytest.mark.parametrize("text", ["0 s", "11 years", "4000 days"])
def test_no_time_and_more_than_anybody_lives_to_see_are_refused(text: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        compiled(f"keep = '{text}'")
    assert "keep" in str(refused.value)


def test_from_the_wire_it_has_the_same_limits() -> None:
    query = FlatQuery.of(compiled("keep = '30 days'"))
    for keep_s in (0.0, -1.0, KEEP_S_MAX * 2, float("nan")):
        sent = msgspec.msgpack.encode(msgspec.structs.replace(query, keep_s=keep_s))
        with pytest.raises(msgspec.ValidationError):
            msgspec.msgpack.decode(sent, type=FlatQuery)
