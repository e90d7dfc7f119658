"""What sites do with panes that they can't read in time: the option ``shed``."""

from __future__ import annotations

import msgspec
import pytest
from query_kit import queries_in

from headwater.errors import QueryRefused
from headwater.plan.flat_query import FlatQuery
from headwater.plan.query import Query, Shed

SOURCE = (
    "CREATE SOURCE r (word STRING, ts TIMESTAMP) "
    "WITH (format = 'json', path = 'r.json', time = 'ts');"
)


def compiled(options: str) -> Query:
    return queries_in(
        f"{SOURCE} CREATE STREAM s WITH ({options}) AS "
        "SELECT word, count(*) AS n FROM r GROUP BY word, window(ts, '10 seconds');"
    )[0]


@pytest.mark.parametrize("options", ["disorder = '1 s'", "shed = 'never'"])
def test_without_it_a_plan_is_what_it_was(options: str) -> None:
    query = compiled(options)
    assert query.sheds is None
    assert b"shed" not in msgspec.json.encode(FlatQuery.of(query)).replace(b"shed = ", b"")


@pytest.mark.parametrize(("word", "means"), [("Defer", Shed.DEFER), ("decline", Shed.DECLINE)])
def test_it_is_part_of_the_plan(word: str, means: Shed) -> None:
    query = compiled(f"shed = '{word}'")
    assert query.sheds is means
    sent = msgspec.msgpack.encode(FlatQuery.of(query))
    assert msgspec.msgpack.decode(sent, type=FlatQuery).query() == query


def test_a_word_of_a_later_version_loses_nothing() -> None:
    sent = msgspec.to_builtins(FlatQuery.of(compiled("shed = 'decline'"))) | {"shed": "sometimes"}
    assert msgspec.convert(sent, FlatQuery).query().sheds is Shed.DEFER


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("shed = 'all'", "wanted 'never', 'defer' or 'decline', got 'all'"),
        ("shed = 'defer', answer = 'complete'", "no deadline"),
        ("shed = 'defer', time = 'age'", "records by their age"),
        ("shed = 'defer', error = '5 %'", "an error"),
        ("shed = 'defer', degrade = '5 s'", "degrade"),
    ],
)
def test_what_can_not_be_left_out_is_refused_with_its_place(options: str, says: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        compiled(options)
    assert says in str(refused.value)
    assert "shed" in str(refused.value)


def test_a_plan_from_elsewhere_that_could_not_be_written_leaves_nothing_out() -> None:
    query = msgspec.structs.replace(compiled("shed = 'defer'"), ends=True)
    assert query.sheds is None
