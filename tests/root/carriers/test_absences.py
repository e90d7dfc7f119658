"""A site that all its parents have lost is not waited for; who is not sure of it is."""

from __future__ import annotations

import msgspec
import pytest
from pane_kit import RootDesk, make_query, make_roster, part, state, whole

from headwater.algebra.demand import Demand
from headwater.algebra.sets import bitset
from headwater.algebra.words.absence import Absence
from headwater.algebra.words.site_state import PaneState
from headwater.root.carriers.absences import Absences
from headwater.root.config import RootConfig
from headwater.root.said.envelope import MissingSite, Trigger

LIFE = 100
PARENTS = {1: (0, 2), 2: (0,), 3: (2,)}
LIFE_S = RootConfig().absence_life_s


def word(speaker, *lost, at_s, guests=(), age_s=0.0):
    return Absence("q@a#1", speaker, clock_s=at_s, lost=lost, guests=tuple(guests), age_s=age_s)


def absences(*words, now_s):
    book = Absences(lambda ordinal: PARENTS.get(ordinal, ()), RootConfig())
    for one in words:
        book.hear(one, now_s=now_s)
    return book


def test_all_parents_on_all_trees_have_to_say_so() -> None:
    book = absences(word(0, 1, 2, at_s=50.0), now_s=50.0)
    assert book.absent() == bitset.of([2])
    book.hear(word(2, 1, at_s=50.0), now_s=50.0)
    assert book.absent() == bitset.of([1, 2])


def test_nobody_else_has_a_say() -> None:
    assert absences(word(0, 3, at_s=50.0), word(1, 3, at_s=50.0), now_s=50.0).absent() == 0


def test_what_was_said_before_counts_for_nothing_that_came_later() -> None:
    book = absences(word(0, 2, at_s=50.0), now_s=50.0)
    assert book.absent(since_s=50.0) == bitset.of([2])
    assert book.absent(since_s=50.1) == 0


def test_who_has_spoken_since_is_not_absent() -> None:
    book = absences(word(0, 2, at_s=50.0), now_s=50.0)
    book.heard(bitset.of([2]), now_s=50.5)
    assert book.absent() == 0
    book.hear(word(0, 2, at_s=52.0), now_s=52.0)
    assert book.absent() == bitset.of([2]), "and has been lost again since then"


def test_a_host_that_has_taken_it_in_knows_better() -> None:
    book = absences(word(0, 2, at_s=50.0), word(5, at_s=50.0, guests=[2]), now_s=50.0)
    assert book.absent() == 0
    book.hear(word(0, 2, at_s=50.0 + LIFE_S), now_s=50.1 + LIFE_S)
    assert book.absent() == bitset.of([2]), "what the host has said has lapsed"


def test_it_lapses_when_it_is_not_said_again() -> None:
    book = absences(word(0, 2, at_s=50.0), now_s=50.0)
    book.follow(now_s=50.0 + LIFE_S)
    assert book.absent()
    book.follow(now_s=50.1 + LIFE_S)
    assert book.absent() == 0


@pytest.mark.parametrize(
    "old",
    [word(0, 2, at_s=50.0 - LIFE_S - 0.1), word(0, 2, at_s=50.0, age_s=LIFE_S + 0.1)],
    ids=["handed on later", "long on its way"],
)
def test_an_old_word_is_worth_nothing(old: Absence) -> None:
    assert absences(old, now_s=50.0).absent() == 0


def test_the_newest_word_of_a_parent_counts_whatever_comes_late() -> None:
    book = absences(word(0, at_s=50.0), word(0, 2, at_s=49.0), now_s=50.0)
    assert book.absent() == 0


def test_a_copy_of_a_word_is_no_news() -> None:
    book = absences(word(0, 2, at_s=50.0), now_s=50.0)
    book.has_news = False
    book.hear(word(0, 2, at_s=50.0), now_s=50.5)
    assert not book.has_news


def test_who_has_no_parents_is_absent_whoever_says_so() -> None:
    assert absences(word(0, 0, 9, at_s=50.0), now_s=50.0).absent() == 0


# At a root


def desk(*, demand=None, waits=False, deadline_s=10.0, ends=False) -> RootDesk:
    query = make_query(deadline_s=deadline_s, ends=ends)
    query = msgspec.structs.replace(query, demand=demand, waits=True if waits else msgspec.UNSET)
    root = RootDesk(query, make_roster(3), parents_of=lambda ordinal: (0,) if ordinal else ())
    root.hear(*(state(query, n, of=LIFE) for n in range(3)), now_s=0.0)
    return root


def tell(root: RootDesk, *lost: int, now_s: float) -> None:
    root.root.receive_absence(word(0, *lost, at_s=now_s), now_s=now_s)
    root.work(now_s=now_s)


def some(root: RootDesk, *sites: int, now_s: float = 12.0) -> None:
    for site in sites:
        root.receive(whole(root.query, 0, site, [site], of=LIFE), now_s=now_s)
    root.work(now_s=now_s)


def test_a_window_that_awaits_absent_sites_alone_is_answered_without_them() -> None:
    root = desk()
    some(root, 0, 1)
    assert root.published == {}
    tell(root, 2, now_s=13.0)
    envelope = root.newest(0).envelope
    assert envelope.trigger is Trigger.HOPELESS
    assert envelope.missing == (MissingSite("s2", PaneState.UNKNOWN, "absent", ((0, 0),)),)
    assert (envelope.covered, envelope.exact, envelope.final) == (2, False, False)


def test_who_is_awaited_beside_them_is_waited_for() -> None:
    root = desk()
    some(root, 0)
    tell(root, 2, now_s=13.0)
    assert root.published == {}
    some(root, 1, now_s=14.0)
    assert root.newest(0).envelope.trigger is Trigger.HOPELESS


def test_a_window_that_has_not_ended_is_waited_for() -> None:
    root = desk()
    some(root, 0, 1, now_s=8.0)
    tell(root, 2, now_s=9.0)
    root.work(now_s=12.0)
    assert root.published == {}, "said before its end"
    tell(root, 2, now_s=12.5)
    assert root.newest(0).envelope.trigger is Trigger.HOPELESS


@pytest.mark.parametrize("by", ["a summary", "a state"])
def test_who_is_heard_after_the_word_is_waited_for(by: str) -> None:
    """A summary of another pane, or a state, whichever way it came."""
    root = desk()
    some(root, 0)
    tell(root, 2, now_s=13.0)
    if by == "a state":
        root.hear(state(root.query, 2, of=LIFE, number=2), now_s=13.5)
    else:
        root.receive(whole(root.query, 1, 2, [2], of=LIFE), now_s=13.5)
    some(root, 1, now_s=14.0)
    assert 0 not in root.published


def test_a_word_that_has_lapsed_without_another_shortens_nothing() -> None:
    root = desk(deadline_s=60.0)
    some(root, 0)
    tell(root, 2, now_s=13.0)
    some(root, 1, now_s=13.5 + LIFE_S)
    assert root.published == {}


def test_a_word_from_before_the_end_shortens_nothing_whatever_comes_after_it() -> None:
    root = desk()
    some(root, 0, now_s=8.0)
    tell(root, 2, now_s=9.0)
    some(root, 1, now_s=12.0)
    assert root.published == {}


def test_of_those_that_are_absent_what_is_owed_counts_for_no_demand() -> None:
    """It has closed the pane and what it said of it is on its way, or would be."""
    root = desk(demand=Demand(panes=100_000, sites=100_000))
    some(root, 0, 1)
    owed = part(root.query, 0, 2, [2], of=LIFE, updates=((2, 2),), closed_at=2)
    root.receive(owed, now_s=12.5)
    tell(root, 2, now_s=13.0)
    assert root.newest(0).envelope.trigger is Trigger.HOPELESS


def test_who_returns_revises() -> None:
    root = desk()
    some(root, 0, 1)
    tell(root, 2, now_s=13.0)
    some(root, 2, now_s=15.0)
    newest = root.newest(0)
    assert (newest.envelope.revision, newest.envelope.exact) == (2, True)
    assert newest.rows == (0, 1, 2)


def test_a_word_that_comes_again_makes_no_revision() -> None:
    root = desk()
    some(root, 0, 1)
    for now_s in (13.0, 15.0, 17.0, 40.0):
        tell(root, 2, now_s=now_s)
    assert len(root.published[0]) == 1


def test_who_waits_for_the_deadline_waits() -> None:
    root = desk(waits=True)
    some(root, 0, 1)
    tell(root, 2, now_s=13.0)
    assert root.published == {}
    root.work(now_s=22.0)
    assert root.newest(0).envelope.trigger is Trigger.DEADLINE


def test_a_finite_input_waits_for_the_absent() -> None:
    root = desk(ends=True)
    some(root, 0, 1)
    tell(root, 2, now_s=13.0)
    assert root.published == {}


def test_a_demand_that_can_still_be_met_is_waited_for() -> None:
    """Two of three sites are enough: with one absent it may still come to that."""
    root = desk(demand=Demand(panes=100_000, sites=60_000))
    some(root, 0)
    tell(root, 2, now_s=13.0)
    assert root.published == {}
    tell(root, 1, 2, now_s=14.0)
    envelope = root.newest(0).envelope
    assert envelope.trigger is Trigger.HOPELESS
    assert not envelope.fidelity.is_met


def test_why_names_who_is_absent_and_who_says_so() -> None:
    root = desk()
    some(root, 0)
    tell(root, 2, now_s=13.0)
    text = root.root.why(0).text()
    assert "s2: unknown (absent)" in text
    assert "s2 is absent: s0 has lost it, as it said 0.0 s ago. Nobody waits for it." in text
