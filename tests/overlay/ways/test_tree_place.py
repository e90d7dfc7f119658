"""A peer's place in a tree, and who dials whom."""

import pytest

from headwater.algebra.sets import bitset
from headwater.overlay.links.dialling import Backoff, is_dialler
from headwater.overlay.roster_index import RosterIndex
from headwater.overlay.ways.tree_place import find_place
from headwater.plan.roster import Roster, Site
from headwater.plan.tree import Tree

#  r(0) ─┬─ a(1) ─┬─ c(3)
#        │        └─ d(4)        b has no data
#        └─ b(2) ─── e(5)
ROSTER = RosterIndex(
    Roster(1, tuple(Site(n, name, has_data=name != "b") for n, name in enumerate("rabcde")), "r")
)
TREE = Tree(0, ((1, 0), (2, 0), (3, 1), (4, 1), (5, 2)))


def place(ordinal, node_set=ROSTER.data_sites):
    return find_place(TREE, ordinal, roster=ROSTER, node_set=node_set)


def test_an_inner_node_awaits_itself_and_all_below_it():
    found = place(1)
    assert (found.parent, found.children) == ("r", ("c", "d"))
    assert set(bitset.members(found.awaited)) == {1, 3, 4}
    assert found.level == 1


def test_the_farther_from_the_root_the_sooner_summaries_go_on():
    assert [place(ordinal).patience for ordinal in (0, 1, 3)] == pytest.approx([1.0, 2 / 3, 1 / 3])


def test_a_relay_without_data_does_not_await_itself():
    assert set(bitset.members(place(2).awaited)) == {5}


def test_only_sites_of_the_node_set_are_awaited():
    assert set(bitset.members(place(1, node_set=bitset.of([3, 5])).awaited)) == {3}


def test_the_root_has_no_parent_and_a_stranger_no_place():
    assert place(0).is_root
    assert find_place(Tree(0, ((1, 0),)), 4, roster=ROSTER, node_set=0) is None


@pytest.mark.parametrize(
    ("child", "parent", "dialler"),
    [("c", "p", "c"), ("c", "p!", "p!"), ("c!", "p", "c!"), ("c!", "p!", None)],
)
def test_the_child_dials_unless_only_the_parent_can(child, parent, dialler):
    dialable = frozenset(name for name in (child, parent) if not name.endswith("!"))
    dials = {
        child: is_dialler(child, parent, dialable=dialable, is_parent=True, is_child=False),
        parent: is_dialler(parent, child, dialable=dialable, is_parent=False, is_child=True),
    }
    assert [name for name, does in dials.items() if does] == ([dialler] if dialler else [])


def test_of_two_that_are_each_others_parent_one_dials():
    dialable = frozenset("ab")
    dials = [
        is_dialler(site, other, dialable=dialable, is_parent=True, is_child=True)
        for site, other in ("ab", "ba")
    ]
    assert sorted(dials) == [False, True]


def test_pauses_between_dials_double_up_to_the_last():
    backoff = Backoff("a>b", first_s=1.0, last_s=8.0)
    now_s, pauses_s = 0.0, []
    for _ in range(40):
        assert backoff.is_due(now_s=now_s)
        backoff.dialled(now_s=now_s)
        pauses_s.append(backoff.next_s - now_s)
        now_s = backoff.next_s
    assert pauses_s[0] <= 1.0
    assert all(4.0 <= pause_s <= 8.0 for pause_s in pauses_s[5:])
    assert len(set(pauses_s)) > 20
    backoff.reached()
    backoff.dialled(now_s=now_s)
    assert backoff.next_s - now_s <= 1.0
