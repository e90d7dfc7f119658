"""What a stream may have of links: ``budget`` and ``weight``."""

from __future__ import annotations

import msgspec
import pytest
from query_kit import queries_in

from headwater.errors import QueryRefused
from headwater.plan.altered.link_share import EVEN, LinkShare
from headwater.plan.altered.settings import Settings
from headwater.plan.flat_query import FlatQuery
from headwater.plan.query import Query
from headwater.sql.admit.needs import BUDGET
from headwater.sql.alter import settings_with
from headwater.sql.write.explain import explain

SOURCE = (
    "CREATE SOURCE r (word STRING, ts TIMESTAMP) "
    "WITH (format = 'json', path = 'r.json', time = 'ts');"
)


def compiled(options: str, length: str = "10 seconds") -> Query:
    (query,) = queries_in(
        f"{SOURCE} CREATE STREAM s WITH ({options}) AS "
        f"SELECT word, count(*) AS n FROM r GROUP BY word, window(ts, '{length}');"
    )
    return query


def test_without_them_a_plan_is_what_it_was() -> None:
    query = compiled("disorder = '1 s'")
    assert query.link_share == EVEN
    assert b"share" not in msgspec.json.encode(FlatQuery.of(query))
    assert b"share" not in msgspec.json.encode(Settings.of(query))
    assert compiled("weight = 1, budget = 'none'").share is msgspec.UNSET


@pytest.mark.parametrize(
    ("options", "share"),
    [
        ("budget = '80 kbit/s'", LinkShare(1.0, 10_000.0)),
        ("budget = '10kB/s', weight = 2", LinkShare(2.0, 10_000.0)),
        ("weight = 0.5", LinkShare(0.5)),
        ("weight = '.25'", LinkShare(0.25)),
        ("weight = 100, budget = 'None'", LinkShare(100.0)),
    ],
)
def test_options_say_what_it_may_have(options: str, share: LinkShare) -> None:
    query = compiled(options)
    assert query.link_share == share
    assert msgspec.convert(msgspec.to_builtins(FlatQuery.of(query)), FlatQuery).query() == query
    assert Settings.of(query).share == share
    assert Settings.of(query).on(compiled("disorder = '2 s'")).link_share == share
    assert (BUDGET in (query.needs or ())) == (share.bytes_per_s is not None)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("budget = '80'", 'wanted bits or bytes a second, as "200 kbit/s"'),
        ("budget = '80 kb/s'", "units are bit/s"),
        ("budget = 80", "wanted bits or bytes"),
        ("budget = '0 kbit/s'", "more than 0"),
        ("budget = '-5 kbit/s'", "wanted bits or bytes"),
        ("budget = 'nan kbit/s'", "wanted bits or bytes"),
        ("budget = '9999999 Gbit/s'", "at most 1000 GB/s"),
        ("budget = '1 kbit/s'", "the least that works with panes of 10 s is 2.02 kbit/s"),
        ("weight = 0", "wanted a number from 0.01 to 100, as in weight = 2, got '0'"),
        ("weight = 'nan'", "wanted a number from 0.01 to 100"),
        ("weight = 'inf'", "wanted a number from 0.01 to 100"),
        ("weight = '1e1'", "wanted a number from 0.01 to 100"),
        ("weight = '.'", "wanted a number from 0.01 to 100"),
        ("weight = '²'", "wanted a number from 0.01 to 100"),
        ("weight = 1000", "wanted a number from 0.01 to 100"),
        ("weight = 'double'", "wanted a number from 0.01 to 100"),
    ],
)
def test_what_is_none_is_refused_with_what_to_write(options: str, told: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        compiled(options)
    assert told in str(refused.value)


def test_the_least_that_is_named_works() -> None:
    for length in ("1 second", "10 seconds", "1 hour"):
        with pytest.raises(QueryRefused) as refused:
            compiled("budget = '100 bit/s'", length)
        least = str(refused.value).partition(" s is ")[2].split("\n")[0]
        assert compiled(f"budget = '{least}'", length).link_share.bytes_per_s


def test_they_can_be_altered_and_a_wrong_one_is_refused_as_at_create() -> None:
    query = compiled("weight = 2")
    altered = settings_with(query, (("budget", "'80 kbit/s'"), ("weight", "4")), known_sites=())
    assert altered.share == LinkShare(4.0, 10_000.0)
    assert altered.text() == "budget = '80 kbit/s', weight = 4"
    with pytest.raises(QueryRefused, match="the least that works"):
        settings_with(query, (("budget", "'1 bit/s'"),), known_sites=())


@pytest.mark.parametrize("share", [LinkShare(float("nan")), LinkShare(1.0, -1.0), LinkShare(1e9)])
def test_a_plan_with_an_impossible_share_is_none(share: LinkShare) -> None:
    with pytest.raises(ValueError, match="wanted"):
        msgspec.structs.replace(compiled("weight = 2"), share=share)


def test_explain_names_them() -> None:
    said = explain(compiled("budget = '80 kbit/s', weight = 2"))
    assert "sends at most 80 kbit/s, and so does each relay" in said
    assert "has weight 2 where streams share a link" in said
