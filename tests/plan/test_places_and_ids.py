"""Rosters, trees and query ids refuse to be wrong."""

import pytest

from headwater.errors import ConfigurationError
from headwater.plan.query import QueryId
from headwater.plan.roster import Roster, Site
from headwater.plan.tree import Tree

SITES = (Site(0, "hub"), Site(3, "paris"), Site(7, "oslo"))


def test_a_query_id_is_read_back_from_its_text() -> None:
    id_ = QueryId("hits", "site-1.example", 12)
    assert QueryId.parse(str(id_)) == id_


@pytest.mark.parametrize("text", ["hits", "hits@x", "hits@x#", "1hits@x#1", "a b@x#1", "hits@x#-1"])
def test_a_text_that_is_no_query_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="wanted name@site#counter"):
        QueryId.parse(text)


def test_a_roster_finds_sites_by_name_and_by_ordinal() -> None:
    roster = Roster(1, SITES, "hub")
    assert roster.site("oslo") is roster.by_ordinal(7)
    with pytest.raises(ConfigurationError, match=r"no site 'rome'; sites: \['hub', 'paris'"):
        roster.site("rome")
    with pytest.raises(ConfigurationError, match="no site with ordinal 1"):
        roster.by_ordinal(1)


@pytest.mark.parametrize(
    ("sites", "home"),
    [((*SITES, Site(9, "hub")), "hub"), ((*SITES, Site(7, "rome")), "hub"), (SITES, "rome")],
)
def test_a_roster_with_a_double_or_without_its_home_is_refused(
    sites: tuple[Site, ...], home: str
) -> None:
    with pytest.raises(ConfigurationError, match="roster: "):
        Roster(1, sites, home)


def test_a_tree_knows_parents_children_and_subtrees() -> None:
    """
    ::

            0
           / \\
          3   7
          |
          4
    """
    tree = Tree(0, ((3, 0), (7, 0), (4, 3)))
    assert (tree.parent.get(4), tree.parent.get(0)) == (3, None)
    assert tree.children[0] == (3, 7)
    assert tree.members() == {0, 3, 4, 7}
    subtrees = {member: tree.subtree_of(member) for member in tree.members()}
    assert subtrees == {0: 0b10011001, 3: 0b11000, 4: 0b10000, 7: 0b10000000}
    assert tree.levels == {0: 0, 3: 1, 7: 1, 4: 2}
    assert tree.ancestors_of(4) == [3, 0]


@pytest.mark.parametrize(
    "parents", [((1, 2), (2, 1)), ((1, 5),), ((1, 0), (1, 0)), ((0, 1),), ((1, 1),)]
)
def test_a_tree_with_a_cycle_or_a_stray_is_refused(parents: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(ConfigurationError, match="tree: "):
        Tree(0, parents)
