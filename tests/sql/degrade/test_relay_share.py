"""The option ``relay_share``: which bounds may be shared with relays, and what the plan says."""

from __future__ import annotations

import pytest

from headwater.errors import QueryRefused
from headwater.plan.query import Query
from headwater.sql.alter import merged_options, settings_with
from headwater.sql.compile import compile_statements
from headwater.sql.read.statements import Option
from headwater.sql.write.explain import explain

SOURCE = """CREATE SOURCE access (ts TIMESTAMP, url STRING, ms INT)
WITH (format = 'csv', path = 'access/*.csv', time = 'ts');
"""


def compiled(options: str, columns: str = "count(*) AS hits") -> Query:
    text = f"""{SOURCE}CREATE STREAM hits WITH ({options}) AS
SELECT url, {columns} FROM access GROUP BY url, window(ts, '5 seconds');"""
    (query,) = compile_statements(text, root="home", installer="home", next_counter=1)
    return query


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        ("error = '1 % of total'", "count(*) AS hits"),
        ("error = 'hits: 1 % of total, m: 500'", "count(*) AS hits, max(abs(ms)) AS m"),
        ("degrade = 'threshold(hits, 1 % of total)'", "count(*) AS hits, avg(ms) AS ms"),
    ],
)
def test_shares_of_a_total_and_maxima_may_be_shared(options: str, columns: str) -> None:
    query = compiled(f"{options}, relay_share = '25 %'", columns)
    assert query.tolerates is not None
    assert query.tolerates.relay_share == 0.25
    assert query.tolerates.columns[0].size == 0.01, "what was asked is what it was"
    assert "option relay_share" in query.needs
    assert "25 % of the bound is relays'" in explain(query)


def test_who_does_not_share_needs_nothing_of_older_agents() -> None:
    query = compiled("error = '1 % of total'")
    assert "option relay_share" not in query.needs
    assert "relays'" not in explain(query)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("relay_share = '50 %'", "there is none; add error"),
        ("degrade = 'top(10, hits)', relay_share = '50 %'", "there is none; add error"),
        ("error = '500', relay_share = '50 %'", "the bound of `hits` ('500')"),
        ("error = '1 %', relay_share = '50 %'", "the bound of `hits` ('1 %')"),
        ("error = '1 % of total', relay_share = 'half'", "wanted a share such as '50 %'"),
        ("error = '1 % of total', relay_share = '0 %'", "wanted a share such as '50 %'"),
        ("error = '1 % of total', relay_share = '100 %'", "wanted a share such as '50 %'"),
        ("error = '1 % of total', relay_share = '-5 %'", "wanted a share such as '50 %'"),
        (
            "degrade = 'threshold(hits, 1 % of total), sample(url, 1/4)', relay_share = '50 %'",
            "leave one of the two out",
        ),
    ],
)
def test_what_can_not_be_shared_is_refused_with_what_to_write(options: str, said: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        compiled(options)
    assert said in str(refused.value)


def test_a_bound_is_altered_beside_it_and_without_one_it_says_nothing() -> None:
    query = compiled("error = '1 % of total', relay_share = '50 %'")
    former = (("error", "'1 % of total'"),)
    wider = merged_options(former, [Option("error", "2 % of total", 0, 0, "'2 % of total'")])
    settings = settings_with(query, wider, known_sites=())
    assert settings.tolerance is not None
    assert settings.tolerance.relay_share == 0.5
    none = merged_options(former, [Option("error", "none", 0, 0, "'none'")])
    assert settings_with(query, none, known_sites=()).tolerance is None
    with pytest.raises(QueryRefused, match="relays have left groups out by it"):
        merged_options(former, [Option("relay_share", "10 %", 0, 0, "'10 %'")])
