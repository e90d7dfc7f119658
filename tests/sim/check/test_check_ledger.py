"""Which sites a kept summary counts from which life, and what may be called held of it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from headwater.algebra.coverage import Coverage, SitePart
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.site_state import SiteState
from headwater.root.outputs import Keep, KeptSummary
from headwater.sim.check.check_ledger import LedgerCheck, _counted
from headwater.sim.check.truth import Truth
from headwater.sim.outcome import Violation
from headwater.sim.records.bag import Bag

QUERY, PANE, SITE = "q1@a#1", 5, 3
LIFE, NEXT_LIFE = 7, 9


def test_a_group_of_which_nothing_is_in_counts_nobody() -> None:
    """A liar's word that a site has closed, say, with updates that are yet to come."""
    told = Coverage.of_group(3, 7, updates=(), closed_at=2)
    is_in = Coverage.of_group(4, 7, updates=((1, 1),), closed_at=2)
    both = told.merge(is_in)
    assert [one.sites for one in _counted(both).groups] == [1 << 4]
    assert _counted(is_in) == is_in


def state_of(life: int) -> SiteState:
    return SiteState(query=QUERY, ordinal=SITE, incarnation=life, number=1, first_pane=PANE - 1)


def acknowledge(*lives: int) -> None:
    """Two of three updates of the first life are in, and all is called held; the site has begun
    these lives by clocks that were not past the pane."""
    truth = Truth()
    for number in range(3):
        truth.add_update(QUERY, PANE, SITE, LIFE, Bag(1 << number))
    check = LedgerCheck(truth)
    part = SitePart(SITE, LIFE, updates=((1, 2),), closed_at=3)
    check.keep(Keep(QUERY, KeptSummary(1, PANE, Coverage(parts=(part,)), rows=Bag(0b11))))
    said = {life: state_of(life) for life in lives}
    states = {(SITE, life): SimpleNamespace(state=state) for life, state in said.items()}
    disk = SimpleNamespace(states=states, done_through=None)
    query = SimpleNamespace(begin_pane=None, stands_for=None)
    ack = Acknowledgement(QUERY, 1, 1, 0, held=((PANE, PANE),), tells_several=True)
    check.acknowledge(ack, query, 1 << SITE, disk)


def test_what_lacks_an_update_of_the_present_life_may_not_be_called_held() -> None:
    with pytest.raises(Violation, match="nothing acked is missing"):
        acknowledge(LIFE)


def test_of_a_life_that_is_over_nothing_more_is_awaited() -> None:
    """It has lost its disk, and its new clock is behind: it answers for the pane once more."""
    acknowledge(LIFE, NEXT_LIFE)
    acknowledge(NEXT_LIFE)
