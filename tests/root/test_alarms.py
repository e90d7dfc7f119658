"""Alarms at the root: their windows are not exact, the book is bounded, and nobody clears it."""

from __future__ import annotations

import pytest
from pane_kit import RootDesk, make_query, make_roster, part, state, whole

from headwater.algebra.words.alarm import ALARM_CHARACTERS_MAX, NO_SITE, Alarm, AlarmKind
from headwater.algebra.words.site_state import FOREVER
from headwater.root.carriers.alarm_book import ALARM_KEPT_S, AlarmBook
from headwater.root.outputs import KeepAlarm, KeepState
from headwater.root.root import Root
from headwater.root.said.envelope import ALARMS_LISTED_MAX

A, B = 100, 200
QUERY = make_query()
ID = str(QUERY.id)


def alarm(panes=(0, 0), *, ordinal=1, text="it was never cut", carriers=("hub",)) -> Alarm:
    return Alarm.of(AlarmKind.NEVER_CUT, ID, ordinal, panes, text, carriers)


def desk(**options) -> RootDesk:
    root = RootDesk(QUERY, make_roster(2), **options)
    root.hear(state(QUERY, 0, of=A), state(QUERY, 1, of=B), now_s=0.0)
    return root


def answered(**options) -> RootDesk:
    """Window 0 has an exact answer."""
    root = desk(**options)
    root.receive(whole(QUERY, 0, 0, [1], of=A), whole(QUERY, 0, 1, [2], of=B), now_s=12.0)
    root.work(now_s=12.0)
    assert root.newest(0).envelope.exact
    return root


def told(root: RootDesk, *alarms: Alarm, number=2, now_s=13.0, **fields) -> None:
    root.hear(state(QUERY, 1, of=B, number=number, alarms=alarms, **fields), now_s=now_s)
    root.work(now_s=now_s)


def standing(root: RootDesk) -> list[tuple[int, int, int]]:
    found = (one for one in root.disk.alarms.values())
    return [(one.alarm.first, one.alarm.last, one.count) for one in found]


# In the answer


def test_a_window_of_which_an_alarm_stands_is_not_exact_and_says_so():
    root = answered()
    told(root, alarm())
    root.work(now_s=30.0)
    envelope = root.newest(0).envelope
    assert (envelope.revision, envelope.exact, envelope.covered) == (2, False, 2)
    (raised,) = envelope.alarms
    assert (raised.site, raised.kind, raised.panes) == ("s1", AlarmKind.NEVER_CUT, (0, 0))
    assert raised.carriers == ("hub",)
    assert envelope.alarm_count == 1


def test_other_windows_stay_exact():
    root = answered()
    told(root, alarm())
    root.receive(whole(QUERY, 1, 0, [1], of=A), whole(QUERY, 1, 1, [2], of=B), now_s=22.0)
    root.work(now_s=22.0)
    assert root.newest(1).envelope.exact
    assert root.newest(1).envelope.alarms == ()


def test_an_alarm_that_comes_before_the_answer_is_in_the_first_one():
    root = desk()
    root.receive(whole(QUERY, 0, 1, [2], of=B), now_s=5.0)
    told(root, alarm(), now_s=6.0)
    root.receive(whole(QUERY, 0, 0, [1], of=A), now_s=12.0)
    root.work(now_s=12.0)
    assert [one.envelope.exact for one in root.published[0]] == [False]


def test_an_answer_is_revised_once_for_an_alarm_that_is_told_again_and_again():
    root = answered()
    for number in range(2, 12):
        told(root, alarm(text=f"told {number}"), number=number, now_s=20.0 * number)
    assert len(root.published[0]) == 2
    assert standing(root) == [(0, 0, 10)]


def test_a_window_that_is_final_stays_and_the_alarm_stands_beside_it():
    root = answered()
    sealed = {"sealed_through": 1}
    root.hear(state(QUERY, 0, of=A, number=2, **sealed), now_s=13.0)
    root.hear(state(QUERY, 1, of=B, number=2, **sealed), now_s=13.0)
    root.work(now_s=30.0)
    assert root.newest(0).envelope.final
    count = len(root.published[0])
    told(root, alarm(), number=3, now_s=40.0, **sealed)
    root.work(now_s=60.0)
    assert len(root.published[0]) == count
    assert root.newest(0).envelope.exact
    assert standing(root) == [(0, 0, 1)]
    assert "alarm of s1 (never cut)" in root.root.why(0).text()
    assert root.root.progress().alarms == 1


def test_it_is_named_by_why_with_whoever_may_have_carried_it():
    root = answered()
    told(root, alarm())
    text = root.root.why(0).text()
    assert "alarm of s1 (never cut): it was never cut; possible carriers: hub" in text


def test_an_envelope_names_a_few_and_counts_all():
    root = RootDesk(QUERY, make_roster(20))
    root.hear(*(state(QUERY, n, of=n + 1) for n in range(20)), now_s=0.0)
    for n in range(20):
        root.receive(part(QUERY, 0, n, [n], of=n + 1), now_s=1.0)
        root.root.raise_alarm(alarm(ordinal=n), now_s=2.0)
    found = root.root.answers.assess(0)
    assert (len(found.alarms), found.alarm_count) == (ALARMS_LISTED_MAX, 20)


# In the book


def test_it_is_kept_before_the_state_that_told_it():
    """A crash in between lets the site tell it again: the root has not greeted it."""
    root = answered()
    root.outputs.clear()
    told(root, alarm())
    kinds = [type(output) for output in root.outputs]
    assert kinds.index(KeepAlarm) < kinds.index(KeepState)


def test_it_survives_a_restart():
    root = answered()
    told(root, alarm())
    root.work(now_s=30.0)
    published = len(root.published[0])
    root.start(now_s=40.0)
    root.hear(state(QUERY, 0, of=A), state(QUERY, 1, of=B, number=3), now_s=41.0)
    root.work(now_s=130.0)
    assert len(root.published[0]) == published, "nothing new is said of it"
    assert not root.root.answers.assess(0).is_exact
    assert standing(root) == [(0, 0, 1)]


def test_a_state_that_tells_it_again_until_it_is_greeted_counts_once():
    root = answered()
    told(root, alarm(), number=2)
    told(root, alarm(), number=3, now_s=14.0)
    assert standing(root) == [(0, 0, 1)]


def test_alarms_whose_panes_touch_are_one():
    root = desk()
    for pane in range(4):
        root.receive(whole(QUERY, pane, 1, [pane], of=B), now_s=12.0)
        told(root, alarm((pane, pane)), number=pane + 2)
    assert standing(root) == [(0, 3, 4)]


def test_nothing_that_the_root_has_nothing_of_is_doubted():
    root = answered()
    newest = max(root.root.scoreboard.boards)
    told(root, alarm((-FOREVER, FOREVER)))
    assert standing(root) == [(0, newest, 1)]
    told(root, alarm((newest + 5, FOREVER)), number=3)
    assert standing(root) == [(0, newest, 1)]
    assert root.root.counters["alarm of nothing"] == 1


def test_peers_above_the_site_may_have_carried_it_and_the_root_may_not():
    root = answered()
    above = {1: ("hub", "lhr")}.__getitem__
    root.root = Root(root.root.books.anew(incarnation=50, now_s=12.0, carriers_of=above))
    root.root.restore(root.disk.restore(), now_s=12.0)
    told(root, alarm(carriers=("fra", QUERY.root, "hub")))
    (raised,) = root.root.answers.assess(0).alarms
    assert raised.carriers == ("hub", "lhr", "fra")


# A full book


def book(alarms_max=3) -> AlarmBook:
    return AlarmBook(ID, alarms_max=alarms_max)


def add(to: AlarmBook, *panes: int, done_through=-FOREVER, wall_s=0.0):
    found = [
        to.add(alarm((pane, pane)), done_through=done_through, wall_s=wall_s + at)
        for at, pane in enumerate(panes)
    ]
    return found[-1]


def test_of_a_full_book_the_oldest_gives_way_whose_windows_are_over():
    full = book()
    add(full, 10, 20, 30)
    newest = add(full, 40, done_through=25, wall_s=9.0)
    assert newest.number == 0, "it takes the place of pane 10"
    assert [one.first for one in full.of(0, 99)] == [20, 30, 40]


def test_what_was_raised_again_is_as_young_as_that():
    full = book()
    add(full, 10, 20, 30)
    again = add(full, 10, wall_s=50.0)
    assert (again.count, again.first_s, again.last_s) == (2, 0.0, 50.0)
    add(full, 40, done_through=99, wall_s=60.0)
    assert sorted(one.first for one in full.of(0, 99)) == [10, 30, 40]
    full.drop_old(done_through=99, wall_s=ALARM_KEPT_S + 40.0)
    assert sorted(one.first for one in full.of(0, 99)) == [10, 40]


def test_what_is_not_named_stands_for_all_its_windows():
    full = book()
    add(full, 10, 20, 30)
    full.add(alarm((50, 60)), done_through=-FOREVER, wall_s=0.0)
    assert [one.kind for one in full.of(60, 60)] == [AlarmKind.UNNAMED]


def test_where_none_is_over_one_stands_for_all_that_find_no_room():
    full = book()
    add(full, 10, 20, 30)
    first = add(full, 50)
    again = add(full, 70)
    assert len(full) == 4
    assert (first.number, again.number, again.count) == (3, 3, 2)
    assert (again.alarm.kind, again.alarm.ordinal) == (AlarmKind.UNNAMED, NO_SITE)
    assert [one.kind for one in full.of(50, 50)] == [AlarmKind.UNNAMED]
    assert [one.kind for one in full.of(10, 10)] == [AlarmKind.NEVER_CUT]


def test_an_alarm_goes_when_it_is_old_and_its_windows_are_over():
    aged = book()
    add(aged, 10, 20)
    aged.drop_old(done_through=15, wall_s=ALARM_KEPT_S - 1.0)
    assert len(aged) == 2
    aged.drop_old(done_through=15, wall_s=ALARM_KEPT_S + 5.0)
    assert [one.first for one in aged.of(0, 99)] == [20]


@pytest.mark.parametrize("text", ["x" * 5_000])
def test_a_sentence_stays_short_however_often_it_is_joined(text):
    full = book(1)
    add(full, 10)
    for pane in range(20, 200, 10):
        full.add(alarm((pane, pane), text=text), done_through=-FOREVER, wall_s=0.0)
    assert all(len(one.text) <= ALARM_CHARACTERS_MAX for one in full.of(0, 999))
