"""Clocks at the root: numbers are counted, intervals are steady, and no clock answers twice."""

from __future__ import annotations

import msgspec
import pytest
from pane_kit import RootDesk, RootDisk, make_query, make_roster, part, state, whole

from headwater.algebra.incarnation import INCARNATION_MAX
from headwater.algebra.words.site_state import FOREVER, PaneState
from headwater.plan.query import TimeKind
from headwater.root.config import RootConfig
from headwater.root.outputs import Outdated
from headwater.root.windows import WindowBook

A, B, C = 100, 200, 300
"""Incarnations of sites 0, 1 and 2."""
HOUR_S, DAY_S = 3_600.0, 86_400.0


def desk(query=None, *, sites=2, now_s=0.0, offsets_s=(), **options) -> RootDesk:
    """Sites tell how far the root's steady clock is ahead of theirs."""
    query = query or make_query()
    made = RootDesk(query, make_roster(sites), now_s=now_s, **options)
    for ordinal, life in enumerate((A, B, C)[:sites]):
        offset_s = offsets_s[ordinal] if offsets_s else None
        made.hear(state(query, ordinal, of=life, offset_s=offset_s), now_s=now_s)
    return made


def seal(root: RootDesk, through: int, *, number: int, now_s: float, sites=2) -> None:
    for ordinal, life in enumerate((A, B, C)[:sites]):
        told = state(root.query, ordinal, of=life, number=number, sealed_through=through)
        root.hear(told, now_s=now_s)


# Numbers


def test_a_root_whose_clock_is_set_back_goes_on_acknowledging():
    root = desk(now_s=HOUR_S)
    root.work(now_s=HOUR_S)
    root.root.set_clock(-HOUR_S)
    for second in range(60):
        root.work(now_s=HOUR_S + second)
    numbers = [ack.number for ack in root.acks]
    assert len(numbers) > 3, "every fifteen seconds at least"
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("later_s", [-DAY_S, -8.0, 0.0, 1.0, DAY_S])
def test_acknowledgements_of_a_restarted_root_are_higher_whatever_its_clock_shows(later_s):
    root = desk(now_s=DAY_S)
    root.work(now_s=DAY_S)
    before = root.acks[-1].number
    root.start(now_s=DAY_S + later_s)
    root.work(now_s=DAY_S + later_s)
    assert root.acks[-1].number > before


def test_a_root_that_is_told_of_a_higher_life_of_its_own_asks_for_one_above():
    root = desk(disk=RootDisk(50))
    told = state(root.query, 0, of=A, number=2, root_incarnation=70)
    root.hear(told, now_s=1.0)
    assert Outdated(70) in root.outputs
    for number in range(3, 9):
        told = state(root.query, 0, of=A, number=number, root_incarnation=70)
        root.hear(told, now_s=float(number))
    assert root.outputs.count(Outdated(70)) == 7, "it is told until the root has risen"
    root.root.rise(71)
    root.work(now_s=5.0)
    assert root.acks[-1].root_incarnation == 71


def test_a_root_that_has_risen_says_so_soon():
    root = desk(disk=RootDisk(50))
    for second in (0.0, 20.0):
        root.work(now_s=second)
    root.take_acks()
    root.root.rise(71)
    root.work(now_s=20.0 + root.config.ack_every_s)
    assert [ack.root_incarnation for ack in root.acks] == [71]


@pytest.mark.parametrize("told", [0, 49, 50, INCARNATION_MAX + 1])
def test_a_root_is_not_outdated_by_its_own_life_nor_by_one_that_can_not_be(told):
    root = desk(disk=RootDisk(50))
    root.hear(state(root.query, 0, of=A, number=2, root_incarnation=told), now_s=1.0)
    assert not [output for output in root.outputs if isinstance(output, Outdated)]


def test_a_site_that_tells_of_ever_higher_lives_makes_the_root_rise_a_few_times_only():
    """Each rise makes all sites compare all that they have."""
    root = desk(disk=RootDisk(50))
    for number in range(2, 20):
        told = state(root.query, 0, of=A, number=number, root_incarnation=100 * number)
        root.hear(told, now_s=float(number))
        if Outdated(100 * number) in root.outputs:
            root.root.rise(100 * number + 1)
    assert root.root.incarnation == 401
    root.hear(state(root.query, 1, of=A, number=2, root_incarnation=5_000), now_s=30.0)
    assert Outdated(5_000) in root.outputs, "others are believed"


# A site that lost its disk under an early clock


def test_a_site_that_speaks_as_an_earlier_life_is_greeted_with_the_higher_one():
    root = desk()
    root.work(now_s=0.0)
    root.take_acks()
    root.hear(state(root.query, 0, of=A - 1), now_s=10.0)
    root.work(now_s=20.0)
    greetings = [hail for ack in root.acks for hail in ack.greetings]
    assert [(hail.ordinal, hail.incarnation) for hail in greetings] == [(0, A)]


def test_a_life_with_an_early_clock_makes_panes_of_the_former_one_inexact():
    """What it has for them can't count: they count from the former life. So they lack it."""
    root = desk()
    query = root.query
    for pane in (0, 1):
        root.receive(whole(query, pane, 0, [1], of=A), now_s=12.0)
        root.receive(whole(query, pane, 1, [2], of=B), now_s=12.0)
    root.hear(state(query, 0, of=A, number=2, sealed_through=2), now_s=40.0)
    root.work(now_s=40.0)
    assert root.newest(1).envelope.exact
    root.hear(state(query, 0, of=A + 1, first_pane=1), now_s=50.0)
    root.work(now_s=60.0)
    assert root.newest(0).envelope.exact, "the new life does not answer for it"
    envelope = root.newest(1).envelope
    assert not envelope.exact
    assert [(one.site, one.state) for one in envelope.missing] == [("s0", PaneState.DECLINED)]
    assert root.newest(1).rows == (1, 2)


def test_panes_that_a_former_life_told_in_bulk_are_inexact_too_where_the_new_one_answers():
    root = desk()
    query = root.query
    told = state(query, 0, of=A, number=2, empty=((0, 5),), sealed_through=6)
    root.hear(told, now_s=10.0)
    root.hear(state(query, 0, of=A + 1, first_pane=3), now_s=20.0)
    for pane in (1, 4):
        root.receive(whole(query, pane, 1, [pane], of=B), now_s=30.0)
    root.work(now_s=60.0)
    assert root.newest(1).envelope.exact
    assert not root.newest(4).envelope.exact


def test_of_a_finite_input_a_further_life_reads_the_same_and_spoils_nothing():
    query = make_query(begin_pane=None, ends=True)
    root = desk(query)
    for ordinal, life in enumerate((A, B)):
        root.receive(whole(query, 0, ordinal, [ordinal], of=life), now_s=1.0)
    root.hear(state(query, 0, of=A, number=2, sealed_through=1), now_s=1.0)
    root.work(now_s=2.0)
    assert root.newest(0).envelope.exact
    root.hear(state(query, 0, of=A + 1), now_s=3.0)
    root.work(now_s=60.0)
    assert root.newest(0).envelope.exact


def test_a_greeting_says_up_to_where_former_lives_are_held():
    root = desk()
    query = root.query
    root.receive(part(query, 7, 0, [1], of=A), now_s=12.0)
    root.work(now_s=12.0)
    root.take_acks()
    root.hear(state(query, 0, of=A + 1, first_pane=2), now_s=20.0)
    root.work(now_s=20.0)
    (hail,) = [hail for ack in root.acks for hail in ack.greetings if hail.ordinal == 0]
    assert (hail.incarnation, hail.former_through) == (A + 1, 8)
    root.take_acks()
    root.hear(state(query, 1, of=B, number=2), now_s=30.0)
    root.work(now_s=30.0)
    (hail,) = [hail for ack in root.acks for hail in ack.greetings]
    assert (hail.ordinal, hail.former_through) == (1, -FOREVER)


# Windows


def test_a_root_that_is_behind_its_sites_answers_no_final_window_again():
    """Sites are half a minute ahead and seal at once: windows are over before they end here."""
    root = desk(make_query(lateness_s=1.0, deadline_s=5.0))
    query = root.query
    for pane in range(3):
        root.receive(whole(query, pane, 0, [pane], of=A), now_s=1.0)
        root.receive(whole(query, pane, 1, [pane], of=B), now_s=1.0)
    root.work(now_s=2.0)
    seal(root, 3, number=2, now_s=3.0)
    for second in range(4, 60):
        root.work(now_s=float(second))
        late = part(query, 1, 0, [99], of=A, updates=((2, 2),), closed_at=2)
        root.receive(late, now_s=float(second))
    for window in range(3):
        finals = [one.envelope.final for one in root.published[window]]
        assert finals[-1], "it was sealed by all"
        assert finals.count(True) == 1, f"window {window} was answered again"
        assert len(finals) <= 2


def test_the_roots_own_clock_opens_no_windows_that_the_sites_have_not_reached():
    root = desk(make_query(deadline_s=5.0), sites=3, offsets_s=(0.0, 0.0, -DAY_S), now_s=0.0)
    root.root.set_clock(DAY_S)
    for second in range(100):
        root.work(now_s=float(second))
    assert sorted(root.published) == list(range(9)), "nine have ended and met their deadline"
    assert len(root.root.windows.windows) <= 10
    assert root.newest(0).envelope.answered_at_s > DAY_S, "by the wall clock, for people"
    assert root.newest(0).envelope.staleness_s == pytest.approx(5.0, abs=1.0)


def test_staleness_is_counted_from_the_end_of_the_window_by_the_sites_clocks():
    root = desk(make_query(deadline_s=5.0), sites=3, offsets_s=(HOUR_S,) * 3)
    for second in range(0, 100, 5):
        root.work(now_s=HOUR_S + second)
    assert root.newest(0).envelope.staleness_s == pytest.approx(5.0, abs=5.0)


@pytest.mark.parametrize("wrong_s", [-DAY_S, DAY_S])
def test_one_wrong_clock_moves_no_deadline(wrong_s):
    root = desk(make_query(deadline_s=5.0), sites=3, offsets_s=(0.0, wrong_s, 0.0))
    for second in range(15):
        root.work(now_s=float(second))
    assert root.published == {}
    root.work(now_s=15.0)
    assert sorted(root.published) == [0]


def test_a_root_whose_sites_are_silent_opens_only_what_can_have_ended_since_the_begin():
    """Its own clock is a day ahead, and nobody has told of another."""
    root = RootDesk(make_query(deadline_s=5.0), make_roster(2))
    root.root.set_clock(DAY_S)
    root.work(now_s=25.0)
    assert sorted(root.root.windows.windows) == [0, 1]


def test_deadlines_of_history_move_with_the_clocks_of_the_sites_too():
    query = make_query(deadline_s=5.0, revise_for_s=60.0)
    book = WindowBook(query, RootConfig(horizon_slack_s=10.0), now_s=1_000.0)
    window = book.open(5, now_s=1_000.0)
    book.passed(FOREVER, now_s=1_000.0)
    book.follow(HOUR_S)
    ended_s = 60.0 + HOUR_S
    assert book.overdue(now_s=ended_s) == []
    assert not book.is_past_horizon(window, now_s=ended_s + 70.0)
    assert book.is_past_horizon(window, now_s=ended_s + 71.0)
    assert book.overdue(now_s=ended_s + 5.0) == [window]


def test_a_root_that_begins_anew_keeps_its_clock():
    root = desk()
    root.work(now_s=0.0)
    root.root.set_clock(DAY_S)
    root.root.begin_anew(root.disk.restore(), incarnation=51, lost=[], now_s=1.0)
    assert root.root.windows.ahead_s == DAY_S


def test_deadlines_move_with_the_clocks_of_the_sites():
    """All that is open is answered when its window has ended there, not when it was thought to."""
    query = make_query(deadline_s=5.0)
    root = desk(query, offsets_s=(DAY_S, DAY_S), sites=2)
    root.receive(whole(query, 0, 0, [1], of=A), now_s=1.0)
    for ordinal, life in enumerate((A, B)):
        told = state(query, ordinal, of=life, number=2, offset_s=0.0)
        root.hear(told, now_s=8.0 + 6.0 * ordinal)
    root.work(now_s=14.9)
    assert root.published == {}
    root.work(now_s=15.1)
    assert sorted(root.published) == [0]


def test_acknowledgements_tell_what_the_clocks_of_the_sites_show_in_the_middle():
    root = desk(sites=3, offsets_s=(10.0, 12.0, -DAY_S))
    root.work(now_s=0.0)
    root.hear(state(root.query, 0, of=A, number=2, offset_s=10.0), now_s=100.0)
    root.work(now_s=100.0)
    assert root.acks[-1].sites_clock_s == pytest.approx(90.0)


def test_a_state_that_was_overtaken_tells_nothing_of_a_clock():
    root = desk(sites=1)
    for number, offset_s in ((3, 10.0), (2, DAY_S)):
        root.hear(state(root.query, 0, of=A, number=number, offset_s=offset_s), now_s=1.0)
    root.work(now_s=100.0)
    assert root.acks[-1].sites_clock_s == pytest.approx(90.0)


def test_a_root_whose_clock_was_set_follows_it_at_once():
    """With two sites its own clock is the third."""
    root = desk(sites=2, offsets_s=(0.0, HOUR_S))
    root.work(now_s=100.0)
    root.root.set_clock(-60.0)
    root.root.tick(now_s=100.1)
    assert root.root.windows.lag_s == 60.0


def test_a_restarted_root_tells_no_clocks_before_the_sites_have_heard_it():
    root = desk(sites=3, offsets_s=(0.0, 0.0, 0.0))
    root.work(now_s=1.0)
    root.start(now_s=DAY_S)
    root.work(now_s=DAY_S + 1.0)
    assert root.acks[-1].sites_clock_s is None
    root.work(now_s=DAY_S + root.config.clock_settle_s + 20.0)
    assert root.acks[-1].sites_clock_s is not None


def test_of_several_former_lives_the_clock_that_was_furthest_is_told():
    root = desk(sites=1, offsets_s=(-HOUR_S,))
    for life, offset_s in ((A + 1, 0.0), (A + 2, 0.0)):
        root.hear(state(root.query, 0, of=life, offset_s=offset_s), now_s=1.0)
    root.take_acks()
    root.work(now_s=100.0)
    (hail,) = root.acks[-1].greetings
    assert (hail.incarnation, hail.former_clock_s) == (A + 2, 100.0 + HOUR_S)


def test_a_restarted_root_tells_no_former_clock_by_what_its_former_process_heard():
    """Its clock may be another one now: the site would give up all between the two."""
    root = desk(sites=1, offsets_s=(0.0,))
    root.work(now_s=1.0)
    root.start(now_s=DAY_S)
    root.hear(state(root.query, 0, of=A + 1, offset_s=DAY_S), now_s=DAY_S + 1.0)
    root.take_acks()
    root.work(now_s=DAY_S + 100.0)
    (hail,) = root.acks[-1].greetings
    assert (hail.incarnation, hail.former_clock_s) == (A + 1, None)


def test_by_age_no_former_clock_is_told():
    query = msgspec.structs.replace(make_query(), time=TimeKind.AGE)
    root = desk(query, sites=1, offsets_s=(-HOUR_S,))
    root.hear(state(query, 0, of=A + 1, offset_s=0.0), now_s=1.0)
    root.take_acks()
    root.work(now_s=100.0)
    (hail,) = root.acks[-1].greetings
    assert hail.former_clock_s is None


def test_acknowledgements_say_nothing_of_clocks_that_nobody_told():
    root = desk(sites=3)
    root.work(now_s=0.0)
    assert root.acks[-1].sites_clock_s is None


def test_acknowledgements_tell_no_clocks_before_most_sites_have_told_theirs():
    root = desk(sites=3)
    root.hear(state(root.query, 0, of=A, number=2, offset_s=10.0), now_s=1.0)
    root.work(now_s=1.0)
    assert root.acks[-1].sites_clock_s is None
    root.hear(state(root.query, 1, of=B, number=2, offset_s=10.0), now_s=2.0)
    root.work(now_s=20.0)
    assert root.acks[-1].sites_clock_s is not None


def test_clocks_of_a_few_are_told_when_the_others_have_had_their_time():
    root = desk(sites=3)
    root.hear(state(root.query, 0, of=A, number=2, offset_s=10.0), now_s=1.0)
    late_s = root.config.clock_settle_s + 1.0
    root.work(now_s=late_s)
    assert root.acks[-1].sites_clock_s == pytest.approx(late_s - 10.0)


@pytest.mark.parametrize("sites", [1, 2])
def test_where_nobody_is_outvoted_the_roots_own_clock_is_told_until_the_sites_have(sites):
    root = desk(sites=sites, offsets_s=(0.0,) * sites)
    root.work(now_s=1.0)
    root.start(now_s=DAY_S)
    root.root.set_clock(-5.0)
    root.work(now_s=DAY_S + 1.0)
    assert root.acks[-1].sites_clock_s == DAY_S - 4.0


def test_a_restarted_root_with_a_wrong_clock_waits_for_the_sites():
    config = RootConfig(clock_settle_s=60.0)
    root = desk(make_query(deadline_s=5.0), offsets_s=(0.0, 0.0), config=config)
    root.work(now_s=1.0)
    root.start(now_s=DAY_S)
    for second in range(50):
        root.work(now_s=DAY_S + second)
    assert root.published == {}, "its clock may be anything"
    for ordinal, life in enumerate((A, B)):
        told = state(root.query, ordinal, of=life, number=2, offset_s=DAY_S)
        root.hear(told, now_s=DAY_S + 50.0)
    for second in range(51, 80):
        root.work(now_s=DAY_S + second)
    assert root.published
    assert max(root.published) <= 7, "sites have come little more than a minute far"


# What sites know of the root's


def test_sites_that_go_by_an_unconfirmed_clock_are_told_with_the_answer():
    query = msgspec.structs.replace(make_query(), time=TimeKind.AGE)
    root = RootDesk(query, make_roster(2))
    root.hear(state(query, 0, of=A), now_s=0.0)
    root.hear(state(query, 1, of=B, is_clock_unconfirmed=True), now_s=0.0)
    root.receive(whole(query, 0, 0, [1], of=A), whole(query, 0, 1, [2], of=B), now_s=31.0)
    root.work(now_s=31.0)
    envelope = root.newest(0).envelope
    assert (envelope.clocks_unconfirmed, envelope.exact) == (1, True)
    assert "the root's clock is unconfirmed at 1 site (s1)" in root.root.why(0).text()
    root.hear(state(query, 1, of=B, number=2), now_s=32.0)
    assert "unconfirmed" not in root.root.why(0).text()
