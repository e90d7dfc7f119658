"""What a site takes from an acknowledgement whose leaves were handed on in part."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pane_kit import SiteDesk, make_query

from headwater.algebra.summary import Lane
from headwater.algebra.words.acknowledgement import (
    LEAF_SITES,
    Acknowledgement,
    ExtraHeld,
    Greeting,
    PaneHeld,
    with_leaves,
)
from headwater.algebra.words.site_state import FOREVER
from headwater.edge.outputs import Outlived

QUERY = make_query()
ME, ROOT = 1000, 50
PANES = 4
SENT_S, ASKED_S = 41.0, 500.0
ALL = ((-FOREVER, FOREVER),)


def ack(number: int, **said: object) -> Acknowledgement:
    head = Acknowledgement(
        query=str(QUERY.id), root_incarnation=ROOT, number=number, done_through=-FOREVER, listed=ALL
    )
    return with_leaves(head, **said)  # type: ignore[arg-type]


def sent(ordinal: int = 0) -> SiteDesk:
    """A site that is greeted and has sent four panes."""
    site = SiteDesk(ordinal, [QUERY])
    site.hear(
        ack(1, greetings=(Greeting(ordinal=ordinal, incarnation=ME, number=site.told[-1].number),)),
        now_s=0.5,
    )
    numbers = {pane: [pane] for pane in range(PANES)}
    site.commit(numbers, now_s=SENT_S, read_through_s=SENT_S)
    greeting = Greeting(ordinal=ordinal, incarnation=ME, number=site.told[-1].number)
    site.hear(ack(2, greetings=(greeting,)), now_s=SENT_S)
    assert len(site.take_said()) == PANES
    site.take_told()
    return site


def without(ack: Acknowledgement, *numbers: int) -> Acknowledgement:
    kept = tuple(leaf for leaf in ack.leaves if leaf.number not in numbers)
    return msgspec.structs.replace(ack, leaves=kept)


def repaired(site: SiteDesk) -> list[int]:
    site.work(now_s=ASKED_S + 1.0)
    said = site.take_said()
    assert all(summary.lane is Lane.SPARE for summary in said)
    return [summary.pane for summary in said]


def test_a_site_without_its_leaf_sends_nothing_again_and_believes_the_head() -> None:
    site = sent()
    lacking = ack(3, panes=[PaneHeld(0, 1), PaneHeld(1, 0b10)])
    head = msgspec.structs.replace(lacking, held=((3, 3),), done_through=0)
    site.hear(without(head, 0), now_s=ASKED_S)
    assert repaired(site) == []
    assert site.edge.progress()[0].unacked_panes == PANES - 1, "pane 3 is held from everybody"
    site.hear(head, now_s=ASKED_S)
    assert repaired(site) == [1, 2], "and with its leaf it hears what is lacking"


def test_a_leaf_that_does_not_exist_says_that_nothing_is_held() -> None:
    site = sent(LEAF_SITES + 3)
    site.hear(ack(3, panes=[PaneHeld(0, 1)]), now_s=ASKED_S)
    assert repaired(site) == list(range(PANES))


@pytest.mark.parametrize("ordinal", [0, LEAF_SITES - 1, LEAF_SITES, 3 * LEAF_SITES + 17])
def test_a_site_finds_its_own_bit_in_its_leaf(ordinal: int) -> None:
    others = sum(1 << place for place in (1, 5, ordinal + 1, ordinal + 2 * LEAF_SITES))
    site = sent(ordinal)
    held = [PaneHeld(pane, others | (pane < 2) << ordinal) for pane in range(PANES)]
    site.hear(ack(3, panes=held), now_s=ASKED_S)
    assert repaired(site) == [2, 3]


def test_a_site_that_waits_and_has_not_got_its_leaf_says_its_state_again() -> None:
    """Relays on the way then see that its leaf is wanted there."""
    site = sent()
    whole = ack(3, panes=[PaneHeld(pane, 1) for pane in range(PANES)])
    site.hear(without(whole, 0), now_s=ASKED_S)
    assert len(site.take_told()) == 1
    site.hear(without(whole, 0), now_s=ASKED_S + 0.1)
    assert site.take_told() == [], "not more often than states are repeated"
    site.hear(whole, now_s=ASKED_S + 0.2)
    later = msgspec.structs.replace(whole, number=4)
    site.work(now_s=ASKED_S + 60.0)
    site.take_told()
    site.hear(without(later, 0), now_s=ASKED_S + 120.0)
    site.work(now_s=ASKED_S + 180.0)
    assert site.take_told() == [], "nothing is under way, so nothing is awaited"


def test_greetings_and_extras_are_those_of_its_own_leaf() -> None:
    ordinal = 2 * LEAF_SITES + 5
    site = sent(ordinal)
    others = [
        Greeting(ordinal=5, incarnation=ME + 7, number=9),
        Greeting(ordinal=LEAF_SITES + 5, incarnation=ME + 7, number=9),
    ]
    site.hear(ack(3, greetings=others, panes=[PaneHeld(9, 1 << ordinal)]), now_s=SENT_S)
    assert not [one for one in site.writes if isinstance(one, Outlived)]


@pytest.mark.parametrize("ordinal", [0, 5, LEAF_SITES - 1, LEAF_SITES, 3 * LEAF_SITES + 17])
@given(data=st.data())
def test_what_was_left_out_of_others_leaves_changes_nothing(
    ordinal: int, data: st.DataObject
) -> None:
    """With its own leaf a site hears the same as with all, without it nothing is asked for."""
    bits = st.sets(st.sampled_from([0, 5, ordinal, 700, 900])).map(
        lambda found: sum(1 << one for one in found)
    )
    panes = [PaneHeld(pane, data.draw(bits)) for pane in range(PANES)]
    extra = [
        ExtraHeld(pane=pane, ordinal=one, incarnation=ME, updates=((2, 2),))
        for pane in data.draw(st.sets(st.integers(0, PANES - 1)))
        for one in (ordinal, 700)
    ]
    whole = ack(3, panes=panes, extra=extra)
    own = ordinal // LEAF_SITES
    others = [leaf.number for leaf in whole.leaves if leaf.number != own]
    left_out = data.draw(st.lists(st.sampled_from(others), unique=True)) if others else []
    alike = [sent(ordinal), sent(ordinal)]
    for site, heard in zip(alike, (whole, without(whole, *left_out)), strict=True):
        site.hear(heard, now_s=ASKED_S)
    assert repaired(alike[0]) == repaired(alike[1])
    if whole.filled >> own & 1:
        blind = sent(ordinal)
        blind.hear(without(whole, own), now_s=ASKED_S)
        assert repaired(blind) == []
