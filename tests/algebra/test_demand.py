"""What is enough, and what can't be demanded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.demand import ALL, Chance, Demand, least
from headwater.algebra.fidelity import Fidelity, measure

FOUR = 0b1111


def of(panes: list[int], demand: Demand, expected: int = FOUR) -> bool:
    asked = demand.panes_asked(len(panes))
    return demand.is_met_by(measure(panes, expected, panes_asked=asked))


def test_an_area_takes_any_pairs() -> None:
    demand = Demand(area=50_000)
    assert of([0b0011] * 4, demand)
    assert of([FOUR, FOUR, 0, 0], demand)
    assert not of([FOUR, 0b0111, 0, 0], demand)


def test_spatial_completeness_wants_every_site_in_some_panes() -> None:
    demand = Demand(panes=50_000, sites=ALL)
    assert of([FOUR, 0, FOUR, 0], demand)
    assert not of([0b0111] * 4, demand)


def test_temporal_completeness_wants_the_same_sites_in_every_pane() -> None:
    demand = Demand(panes=ALL, sites=50_000)
    assert of([0b0011] * 4, demand)
    assert not of([0b0011, 0b1100, 0b0011, 0b1100], demand), "two in each pane, but not the same"


def test_of_both_axes_each_is_asked_along_the_other() -> None:
    demand = Demand(panes=50_000, sites=50_000)
    assert of([0b0011, 0b0011, 0, 0], demand)
    assert not of([FOUR, 0, 0, 0], demand), "every site, in a pane alone"
    assert not of([1, 1, 1, 1], demand), "one site, in every pane"


def test_a_share_is_rounded_up() -> None:
    assert least(80_000, 11) == 9
    assert of([FOUR, FOUR, 0, 0, 0], Demand(panes=40_000, sites=ALL))
    assert not of([FOUR, 0, 0, 0, 0], Demand(panes=40_000, sites=ALL))


@given(
    st.lists(st.integers(0, FOUR), min_size=4, max_size=4),
    st.lists(st.integers(0, FOUR), min_size=4, max_size=4),
    st.one_of(
        st.builds(Demand, area=st.integers(1, ALL)),
        st.builds(Demand, panes=st.integers(25_000, ALL), sites=st.integers(1, ALL)),
    ),
)
def test_more_never_misses_what_less_had(a: list[int], b: list[int], demand: Demand) -> None:
    asked = demand.panes_asked(4)
    less, other = (measure(panes, FOUR, panes_asked=asked) for panes in (a, b))
    if demand.is_met_by(less):
        assert demand.is_met_by(less.at_least(other))
    assert demand.is_met_by(measure([FOUR] * 4, FOUR, panes_asked=asked)), "all is enough"


@pytest.mark.parametrize(
    "demand",
    [
        Demand(),
        Demand(area=80_000, panes=ALL, sites=ALL),
        Demand(panes=40_000),
        Demand(area=ALL + 1),
        Demand(panes=40_000, sites=-5),
    ],
)
def test_what_is_no_demand_has_a_fault(demand: Demand) -> None:
    assert demand.fault(20)


def test_a_demand_is_not_finer_than_the_panes_of_the_window() -> None:
    demand = Demand(panes=40_000, sites=ALL)
    assert demand.fault(1) == "40 % of the panes is less than one pane: a window has only one"
    assert "a window has 2" in (demand.fault(2) or "")
    assert demand.fault(3) is None
    assert Demand(panes=ALL, sites=60_000).fault(1) is None


def drawn(panes: list[int], undrawn: list[int], demand: Demand) -> bool:
    return demand.is_met_by(measure(panes, FOUR, undrawn=undrawn))


def test_all_that_was_drawn_is_enough() -> None:
    demand = Demand(area=50_000, chance=Chance.ALIKE)
    assert drawn([FOUR, 0, 0, 0], [0, FOUR, FOUR, FOUR], demand), "a window may have one pane less"
    assert drawn([FOUR, FOUR, 0, 0], [0, 0, 0, FOUR], demand), "or one more, of which half is"
    assert not drawn([FOUR, 0b0111, 0, 0], [0, 0, FOUR, FOUR], demand)
    assert not drawn([0, 0, FOUR, FOUR], [0, 0, FOUR, FOUR], demand), "others don't count"


def test_a_random_demand_is_of_an_area_and_of_fewer_panes_than_there_are() -> None:
    assert Demand(area=50_000, chance=Chance.ALIKE).fault(4) is None
    assert "only one pane" in (Demand(area=50_000, chance=Chance.APART).fault(1) or "")
    assert "has 4 panes" in (Demand(area=80_000, chance=Chance.ALIKE).fault(4) or "")
    assert Demand(panes=50_000, sites=ALL, chance=Chance.ALIKE).fault(4)


def test_of_nothing_nothing_is_asked() -> None:
    assert Demand(area=ALL).is_met_by(Fidelity())
