"""What the network allows: drawn by hand.

::

    tree 0    r ─ a ─ b ─ c        tree 1    r ─ c ─ b ─ a
"""

from headwater.plan.roster import Roster, Site
from headwater.plan.tree import Tree
from headwater.sim.faults.faults import Fault, Kind
from headwater.sim.faults.limits import Reach

R, A, B, C = range(4)
ROSTER = Roster(1, tuple(Site(n, name) for n, name in enumerate("rabc")), "r")
CHAIN = Tree(R, ((A, R), (B, A), (C, B)))
BACK = Tree(R, ((C, R), (B, C), (A, B)))


def reach(trees: tuple[Tree, ...], *faults: Fault) -> list[str]:
    """(live, upwards, over trees' links, at all), as letters."""
    found = Reach(ROSTER, trees, faults, root="r").during(10.0, 12.0)
    return ["".join(sorted(names)) for names in found]


def gone(site: str, from_s: float = 0.0, for_s: float = 100.0) -> Fault:
    return Fault(Kind.ISOLATE, from_s, for_s, (site,))


def test_all_are_reached_where_nothing_is_wrong() -> None:
    assert reach((CHAIN,)) == ["abcr"] * 4


def test_whoever_is_below_the_gone_is_cut_off_in_one_tree_but_not_in_two() -> None:
    assert reach((CHAIN,), gone("a")) == ["bcr", "r", "r", "bcr"]
    assert reach((CHAIN, BACK), gone("a")) == ["bcr", "bcr", "bcr", "bcr"]


def test_a_site_that_was_gone_for_a_part_of_the_time_counts_as_gone() -> None:
    assert reach((CHAIN, BACK), gone("b", 11.0, 50.0))[0] == "acr"
    assert reach((CHAIN, BACK), gone("b", 1.0, 8.0))[0] == "abcr"


def test_a_cut_link_is_gone_around_and_a_partition_is_not() -> None:
    cut = Fault(Kind.CUT, 0.0, 100.0, ("a", "r"))
    assert reach((CHAIN, BACK), cut) == ["abcr", "abcr", "abcr", "abcr"]
    apart = Fault(Kind.PARTITION, 0.0, 100.0, ("b", "c"))
    assert reach((CHAIN, BACK), apart) == ["abcr", "ar", "ar", "ar"]
