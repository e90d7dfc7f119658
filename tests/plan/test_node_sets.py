"""A node set says which sites are asked, by names or labels, over any version of the roster."""

from __future__ import annotations

import pytest
from query_kit import queries_in

from headwater.errors import QueryRefused
from headwater.plan.node_sets import NODE_SET_LENGTH_MAX, node_set, node_set_fault
from headwater.plan.roster import Site

SITES = (
    Site(0, "root", has_data=False),
    Site(1, "eu-1", region="eu", labels={"tier": "edge"}),
    Site(2, "eu-2", region="eu", labels={"tier": "core", "rack": "7"}),
    Site(3, "eu-test", region="eu"),
    Site(4, "us-1", region="us", labels={"tier": "edge"}),
)
TEXT = """
CREATE SOURCE hits (ts TIMESTAMP) WITH (format = 'csv', path = '*.csv', time = 'ts');
CREATE STREAM n WITH (sites = '{}') AS SELECT count(*) AS n FROM hits GROUP BY window(ts, '10s');
"""


def compiled(sites: str):
    (query,) = queries_in(TEXT.format(sites), at="root", known_sites=SITES)
    return query


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("eu-*, !eu-test", "eu-1 eu-2"),
        ("!eu-*", "us-1"),
        ("eu-?", "eu-1 eu-2"),
        ("region = eu and tier = edge", "eu-1"),
        ("tier = edge", "eu-1 us-1"),
        ("region = eu AND tier != edge", "eu-2 eu-test"),
        ("rack = 7", "eu-2"),
        ("site = us-*", "us-1"),
    ],
)
def test_a_node_set_has_the_sites_that_it_says(text: str, names: str) -> None:
    found = [site.name for site in SITES if site.has_data and node_set(text).has(site)]
    assert found == names.split()
    assert node_set_fault(text, SITES) is None
    assert compiled(text).node_set == text
    assert compiled(text).sites == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("asia-*", "no site is in it; site: eu-1, eu-2, eu-test, us-1"),
        ("teir = edge", "no label `teir` in the roster; there are: region, site, rack, tier"),
        ("tier = middle", "no site is in it; tier: core, edge"),
        ("region = eu or tier = edge", "is no condition on sites"),
        ("eu-*, !", "is no name of sites"),
        ("tier = ", "is no condition on sites"),
    ],
)
def test_an_empty_node_set_is_a_fault_and_no_empty_answer(text: str, said: str) -> None:
    with pytest.raises(QueryRefused) as caught:
        compiled(text)
    assert said in str(caught.value)
    assert "line 3:" in str(caught.value)


def test_plain_names_are_as_they_were() -> None:
    query = compiled("eu-1, us-1")
    assert query.sites == ("eu-1", "us-1")
    assert not isinstance(query.node_set, str)


def test_a_node_set_has_a_limit_in_characters() -> None:
    node_set("a" * NODE_SET_LENGTH_MAX)
    with pytest.raises(ValueError, match=f"at most {NODE_SET_LENGTH_MAX} characters"):
        node_set("a" * (NODE_SET_LENGTH_MAX + 1))
