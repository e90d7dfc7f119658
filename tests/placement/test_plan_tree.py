"""Trees over rosters: one inner node for a region, a bounded fan-in, everyone reachable."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import ConfigurationError
from headwater.placement.plan_tree import plan_tree
from headwater.plan.roster import Roster, Site


def roster_of(*sites):
    """Sites as "name@region", a trailing "!" for one that can't be dialled."""
    found = []
    for ordinal, text in enumerate(sites):
        name, _, region = text.rstrip("!").partition("@")
        found.append(Site(ordinal, name, region=region, dialable=not text.endswith("!")))
    return Roster(1, tuple(found), found[0].name)


def drawn(roster, tree):
    """The tree as text, children in the order of the roster."""
    name = {site.ordinal: site.name for site in roster.sites}

    def lines(ordinal, depth):
        yield "  " * depth + name[ordinal]
        for child in sorted(tree.children.get(ordinal, ())):
            yield from lines(child, depth + 1)

    return "\n".join(lines(tree.root, 0))


def fan_in(tree):
    counts = {}
    for _, parent in tree.parents:
        counts[parent] = counts.get(parent, 0) + 1
    return counts


def test_each_region_has_one_inner_node():
    roster = roster_of("home@de", "eu1@eu", "eu2@eu", "us1@us", "eu3@eu", "us2@us", "home2@de")
    tree = plan_tree(roster, root="home", branching=16)
    expected = """
home
  eu1
    eu2
    eu3
  us1
    us2
  home2
"""
    assert drawn(roster, tree) == expected.strip()


def test_with_latencies_the_inner_node_is_near_the_centre_of_its_region():
    roster = roster_of("home@de", "eu1@eu", "eu2@eu", "eu3@eu")
    latency_s = {
        ("eu1", "eu2"): 0.010,
        ("eu3", "eu2"): 0.010,
        ("eu1", "eu3"): 0.030,
        ("home", "eu1"): 0.5,
    }
    tree = plan_tree(roster, root="home", branching=16, latency_s=latency_s)
    assert drawn(roster, tree) == "home\n  eu2\n    eu1\n    eu3"


def test_a_region_larger_than_the_branching_factor_is_divided_again():
    roster = roster_of("home@de", *(f"s{n}@eu" for n in range(1, 31)))
    tree = plan_tree(roster, root="home", branching=3)
    assert len(tree.children.get(0, ())) == 1
    assert max(fan_in(tree).values()) == 3
    assert len(tree.members()) == 31


def test_more_regions_than_branches_are_grouped():
    roster = roster_of("home@de", *(f"s{n}@r{n % 10}" for n in range(1, 41)))
    tree = plan_tree(roster, root="home", branching=4)
    assert max(fan_in(tree).values()) <= 4


def test_sites_that_cannot_be_dialled_are_leaves_under_their_region():
    roster = roster_of("home@de", "eu1@eu!", "eu2@eu", "eu3@eu!", "us1@us!")
    tree = plan_tree(roster, root="home", branching=16)
    assert drawn(roster, tree) == "home\n  eu2\n    eu1\n    eu3\n  us1"


def test_a_root_that_cannot_be_dialled_has_only_children_that_it_dials():
    roster = roster_of("laptop!", "a", "b!", "c", "d!")
    tree = plan_tree(roster, root="laptop", branching=2)
    assert drawn(roster, tree) == "laptop\n  a\n    b\n    d\n  c"


def test_too_few_dialable_sites_share_the_load_beyond_the_branching_factor():
    roster = roster_of("home@de", *(f"s{n}@eu!" for n in range(20)))
    tree = plan_tree(roster, root="home", branching=4)
    assert len(tree.children.get(0, ())) == 20


def test_a_federation_that_nobody_can_dial_is_refused():
    with pytest.raises(ConfigurationError, match="at least one dialable"):
        plan_tree(roster_of("a!", "b!"), root="a", branching=4)


def test_a_branching_factor_below_two_is_refused():
    with pytest.raises(ConfigurationError, match="2 or more"):
        plan_tree(roster_of("a", "b"), root="a", branching=1)


def test_a_single_site_is_a_tree():
    assert plan_tree(roster_of("a"), root="a", branching=2).parents == ()


def test_a_root_in_the_middle_of_the_roster_is_the_root():
    roster = roster_of("a@x", "b@y", "c@x")
    tree = plan_tree(roster, root="b", branching=2)
    assert drawn(roster, tree) == "b\n  a\n    c"


regions = st.sampled_from(["", "eu", "us", "ap", "sa"])
site_lists = st.lists(st.tuples(regions, st.booleans()), min_size=0, max_size=80)


@settings(max_examples=150, deadline=None)
@given(site_lists, st.integers(2, 8), st.booleans(), st.booleans())
def test_every_tree_is_whole_dialable_bounded_and_the_same_again(
    sites, branching, root_dialable, measured
):
    roster = Roster(
        1,
        (
            Site(0, "root", dialable=root_dialable),
            Site(1, "relay", region="eu", dialable=True),
            *(
                Site(n, f"s{n}", region=region, dialable=dialable)
                for n, (region, dialable) in enumerate(sites, start=2)
            ),
        ),
        "root",
    )
    latency_s = None
    if measured:
        names = [site.name for site in roster.sites]
        latency_s = {
            (p, q): ((i * 7 + j * 13) % 50) / 1_000
            for i, p in enumerate(names)
            for j, q in enumerate(names[:i])
        }
    tree = plan_tree(roster, root="root", branching=branching, latency_s=latency_s)
    assert tree.members() == {site.ordinal for site in roster.sites}
    dialable = {site.ordinal for site in roster.sites if site.dialable}
    assert all(child in dialable or parent in dialable for child, parent in tree.parents)
    assert all(parent in dialable or parent == 0 for _, parent in tree.parents)
    if len(dialable) == len(roster.sites):
        assert max(fan_in(tree).values()) <= branching
    assert tree == plan_tree(roster, root="root", branching=branching, latency_s=latency_s)


@pytest.mark.parametrize("branching", [8, 32])
def test_ten_thousand_sites_make_a_flat_tree(branching):
    roster = Roster(
        1,
        tuple(Site(n, f"s{n}", region=f"r{n % 40}", dialable=n % 5 != 1) for n in range(10_000)),
        "s0",
    )
    tree = plan_tree(roster, root="s0", branching=branching)
    assert max(fan_in(tree).values()) <= branching
    depth = {0: 0}
    parent = dict(tree.parents)
    for member in parent:
        path = [member]
        while path[-1] not in depth:
            path.append(parent[path[-1]])
        for ordinal in reversed(path[:-1]):
            depth[ordinal] = depth[parent[ordinal]] + 1
    assert max(depth.values()) <= 8
