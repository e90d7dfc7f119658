"""The staged policy of Mortar's figure 5, stage by stage, and that it can't go in circles."""

from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.route import NEVER, START, Route
from headwater.overlay.roster_index import RosterIndex
from headwater.overlay.ways.staged_policy import (
    DOWN,
    DOWNS_MAX,
    FLEX,
    SAME,
    UP,
    choose_down,
    choose_up,
)
from headwater.overlay.ways.tree_place import TreePlace, find_place
from headwater.plan.roster import Roster, Site
from headwater.plan.tree import Tree


def place(parent, level, *children):
    return TreePlace(parent, children, level=level, awaited=0)


def hop(route, places, *, down=()):
    def leads(site):
        return site not in down

    return choose_up(route, places, leads) or choose_down(route, places, leads)


PLACES = (place("p0", 3), place("p1", 2), place("p2", 4, "c2"))


def test_the_same_tree_comes_first():
    found = hop(START, PLACES)
    assert (found.site, found.stage) == ("p0", SAME)
    assert found.route == Route(0, (3,))


def test_up_takes_a_tree_on_which_this_peer_is_as_near_to_the_root():
    found = hop(START, PLACES, down={"p0"})
    assert (found.site, found.stage) == ("p1", UP)
    assert found.route == Route(1, (NEVER, 2))


def test_flex_takes_any_tree_that_was_not_visited_so_near_to_the_root():
    found = hop(START, PLACES, down={"p0", "p1"})
    assert (found.site, found.stage) == ("p2", FLEX)


def test_a_tree_is_not_entered_again_at_a_level_it_was_left_from():
    assert hop(Route(tree=0, levels=(NEVER, 2, 4), downs=DOWNS_MAX), PLACES, down={"p0"}) is None


def test_flex_down_goes_to_a_child_and_is_counted():
    found = hop(START, PLACES, down={"p0", "p1", "p2"})
    assert (found.site, found.stage, found.route.downs) == ("c2", DOWN, 1)
    assert hop(Route(tree=0, levels=(), downs=DOWNS_MAX), PLACES, down={"p0", "p1", "p2"}) is None


def test_what_became_one_may_do_only_what_both_may():
    left, right = (
        Route(tree=1, levels=(3, 2), downs=1),
        Route(tree=0, levels=(4, NEVER, 5), downs=2),
    )
    assert left.merge(right) == Route(tree=1, levels=(3, 2, 5), downs=2)


@st.composite
def worlds(draw):
    """A few trees over the same sites, some of which are down."""
    count = draw(st.integers(2, 12))
    trees = []
    for _ in range(draw(st.integers(1, 4))):
        order = [0, *draw(st.permutations(range(1, count)))]
        parents = [(order[n], order[draw(st.integers(0, n - 1))]) for n in range(1, count)]
        trees.append(Tree(0, tuple(parents)))
    down = draw(st.sets(st.integers(1, count - 1), max_size=count - 1))
    return count, trees, down


@given(worlds())
def test_no_summary_travels_for_ever_and_every_one_reaches_the_root_where_a_tree_does(world):
    """Each tree visits a level once, so the way is at most all levels, and again for each step
    down. Where one tree leads from a site to the root, the policy finds a way."""
    count, trees, down = world
    sites = tuple(Site(n, f"s{n}") for n in range(count))
    roster = RosterIndex(Roster(1, sites, "s0"))
    dead = {f"s{n}" for n in down}
    hops_max = (DOWNS_MAX + 1) * sum(max(tree.levels.values()) + 1 for tree in trees) + DOWNS_MAX
    for start in set(range(count)) - down:
        at, route = start, START
        for _ in range(hops_max):
            places = [find_place(tree, at, roster=roster, node_set=0) for tree in trees]
            found = None if at == 0 else hop(route, places, down=dead)
            if found is None:
                break
            at, route = roster.ordinal_of[found.site], found.route
        else:
            raise AssertionError(f"s{start} is under way after {hops_max} hops")
        has_live_path = any(not down & set(tree.ancestors_of(start)) for tree in trees[:1])
        assert at == 0 or not has_live_path
