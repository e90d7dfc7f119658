"""Leaves that trade places: freer ways to the root, in trees of the same shape and length."""

from collections import Counter
from random import Random
from statistics import mean

from tree_kit import one_way, reached, roster_of, towns

from headwater.algebra.draws import Draws
from headwater.placement.plan_by_coordinates import plan_by_coordinates
from headwater.placement.plan_tree import plan_tree
from headwater.placement.plan_trees import plan_trees
from headwater.placement.rotate import rotations
from headwater.placement.trade_leaves import trade_leaves
from headwater.placement.tree_latency import latency_to_root_s, most_within_s

SITES = 300


def siblings(at):
    """Of one clustering, without any trade."""
    primary = plan_by_coordinates(
        roster_of(SITES), root="s0", branching=16, coordinates=at, draws=Draws(3)
    )
    return (primary, *rotations(primary, 3, undialable=frozenset(), draws=Draws(4)))


def traded(trees, at, *, undialable=frozenset(), seed=5):
    places = {int(name[1:]): where for name, where in at.items()}
    return trade_leaves(trees, places=places, undialable=undialable, draws=Draws(seed))


def share_left(trees, *, gone_share, seed=6):
    """Of the live sites that still reach the root, over failures that no trade has seen."""
    random = Random(seed)
    shares = []
    for _ in range(40):
        gone = set(random.sample(range(1, SITES), round(gone_share * SITES)))
        shares.append(len(reached(trees, gone)) / (SITES - len(gone)))
    return mean(shares)


def test_more_of_the_living_keep_a_way_than_before():
    at = towns(SITES, seed=7)
    before = siblings(at)
    after = traded(before, at)
    for gone_share in (0.2, 0.3, 0.4):
        lost_before = 1.0 - share_left(before, gone_share=gone_share)
        lost_after = 1.0 - share_left(after, gone_share=gone_share)
        assert lost_after < 0.85 * lost_before


def test_trees_keep_their_shape_and_inner_nodes_their_parents():
    at = towns(SITES, seed=8)
    before = siblings(at)
    after = traded(before, at)
    assert after[0] == before[0]
    for old, new in zip(before, after, strict=True):
        assert Counter(new.parent.values()) == Counter(old.parent.values())
        assert {n: new.parent[n] for n in old.children if n} == {
            n: old.parent[n] for n in old.children if n
        }
    assert all(old != new for old, new in zip(before[1:], after[1:], strict=True))


def of_leaves_s(tree, at):
    """Within which time nine in ten of them reach the root."""
    found = latency_to_root_s(tree, one_way(at))
    return most_within_s([found[n] for n in found if n not in tree.children])


def test_nobody_moves_farther_out_than_nine_in_ten_are():
    at = towns(SITES, seed=9)
    before = siblings(at)
    for old, new in zip(before, traded(before, at), strict=True):
        assert of_leaves_s(new, at) <= of_leaves_s(old, at)
        hops, farther = (
            sorted(one_way(at)(child, parent) for child, parent in tree.parents)
            for tree in (old, new)
        )
        assert mean(farther) < 1.3 * mean(hops)
        assert farther[-1] <= hops[-1]


def test_of_every_new_pair_one_can_be_dialled():
    at = towns(SITES, seed=10)
    before = siblings(at)
    inner = {n for tree in before for n in tree.children}
    leaves = [n for n in range(SITES) if n not in inner]
    behind_nat = frozenset([*leaves[::2], *list(before[1].children)[1::3]])
    stray = {pair for tree in before for pair in tree.parents if set(pair) <= behind_nat}
    for old, new in zip(before, traded(before, at, undialable=behind_nat), strict=True):
        fresh = set(new.parents) - set(old.parents)
        assert not {pair for pair in fresh if set(pair) <= behind_nat}
    free = traded(before, at)
    assert {pair for tree in free for pair in tree.parents if set(pair) <= behind_nat} - stray


def test_who_stands_nowhere_stays_where_it_is():
    at = towns(SITES, seed=11)
    before = siblings(at)
    after = traded(before, {name: where for name, where in at.items() if name > "s2"})
    for old, new in zip(before, after, strict=True):
        moved = {n for n in old.parent if old.parent[n] != new.parent[n]}
        assert not [n for n in moved if f"s{n}" <= "s2"]
    assert after != before


def test_while_no_place_is_known_leaves_trade_within_their_regions():
    roster = roster_of(SITES, regions=5)
    region = {site.ordinal: site.region for site in roster.sites}
    before = siblings_by_region(roster)
    after = plan_trees(roster, root="s0", branching=16, count=4)
    assert share_left(after, gone_share=0.4) > share_left(before, gone_share=0.4)
    for old, new in zip(before, after, strict=True):
        moved = [n for n in old.parent if old.parent[n] != new.parent[n]]
        assert all(region[n] == region[new.parent[n]] for n in moved)
        assert bool(moved) == (old is not before[0])


def siblings_by_region(roster):
    """As ``plan_trees`` makes them before any trade."""
    primary = plan_tree(roster, root="s0", branching=16)
    return (primary, *rotations(primary, 3, undialable=frozenset(), draws=Draws(0).fork()))


def test_other_draws_give_other_trades_and_the_same_draws_the_same():
    at = towns(SITES, seed=12)
    trees = siblings(at)
    assert traded(trees, at) == traded(trees, at)
    assert traded(trees, at) != traded(trees, at, seed=6)


def test_one_tree_alone_has_nobody_to_trade_with():
    at = towns(SITES, seed=13)
    assert traded(siblings(at)[:1], at) == siblings(at)[:1]
