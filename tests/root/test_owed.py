"""What sites owe the root: updates that were in answers, and that its ledger has lost."""

from __future__ import annotations

import pytest
from pane_kit import make_query, state

from headwater.algebra.words.site_state import Declined, Reason
from headwater.root.pane_board import Holding, PaneBoard
from headwater.root.site_table import SiteView

A = 100
PANE = 5
SITE, BIT = 0, 1


def declining() -> PaneBoard:
    """Site 0 has closed the pane with three updates, and declines what is not here."""
    board = PaneBoard(PANE)
    board.add_part(SITE, Holding(A, (), 3), A)
    board.decline(SITE, A)
    return board


def test_a_site_that_declines_the_rest_is_awaited_for_what_was_lost():
    board = declining()
    assert board.settled & BIT
    board.owe(SITE, ((1, 1),))
    assert not board.settled & BIT
    board.add_part(SITE, Holding(A, ((1, 1),), 3), A)
    assert board.settled & BIT, "it is here again"


def test_what_was_lost_in_several_summaries_is_awaited_wholly():
    board = declining()
    board.owe(SITE, ((1, 1),))
    board.owe(SITE, ((2, 2),))
    board.add_part(SITE, Holding(A, ((2, 2),), 3), A)
    assert not board.settled & BIT
    board.add_part(SITE, Holding(A, ((1, 1),), 3), A)
    assert board.settled & BIT


def test_a_life_that_is_over_owes_nothing():
    board = declining()
    board.owe(SITE, ((1, 1),))
    board.retire(SITE, A, is_sealed=False)
    assert not board.owed


@pytest.mark.parametrize(
    ("pane", "life", "reason", "is_there"),
    [
        (PANE, A, None, True),
        (PANE, A, Reason.FAILED, True),
        (PANE, A, Reason.LOST, False),
        (PANE, A, Reason.EXPIRED, False),
        (PANE, A - 1, None, False),
        (PANE - 1, A, None, False),
    ],
)
def test_a_site_has_the_rows_that_its_present_life_sent_and_has_not_given_up(
    pane, life, reason, is_there
):
    declined = () if reason is None else (Declined(first=PANE, last=PANE, reason=reason),)
    told = state(make_query(), SITE, of=A, first_pane=PANE, declined=declined)
    assert SiteView(told, 0).has_rows_of(pane, incarnation=life) is is_there
