"""A site that is covered by what it never cut says so in its state, until the root has heard it."""

from __future__ import annotations

import pytest
from pane_kit import SiteDesk, make_query

from headwater.algebra.words.acknowledgement import (
    Acknowledgement,
    ExtraHeld,
    Greeting,
    PaneHeld,
    with_leaves,
)
from headwater.algebra.words.alarm import ALARMS_TOLD_MAX, AlarmKind
from headwater.algebra.words.site_state import FOREVER
from headwater.edge.outputs import Remember

QUERY = make_query()
ID = str(QUERY.id)
ME, ROOT = 1000, 50


def ack(*, number=1, greet=None, root=ROOT, panes=(), extra=(), **fields):
    greetings = () if greet is None else (Greeting(ordinal=0, incarnation=ME, number=greet),)
    fields = {"done_through": -FOREVER, "listed": ((-FOREVER, FOREVER),)} | fields
    head = Acknowledgement(ID, root, number=number, **fields)
    return with_leaves(head, panes=panes, extra=extra, greetings=greetings)


def greeted() -> SiteDesk:
    site = SiteDesk(0, [QUERY])
    site.hear(ack(greet=site.told[-1].number), now_s=0.5)
    site.take_told()
    return site


def alarmed(**fields) -> SiteDesk:
    site = greeted()
    site.hear(ack(number=2, **(fields or {"panes": (PaneHeld(7, 0b1),)})), now_s=12.0)
    return site


def alarms_of(site: SiteDesk) -> list[tuple[int, int]]:
    return [(alarm.first, alarm.last) for alarm in site.told[-1].alarms]


def test_a_bit_for_a_pane_that_is_not_closed_is_told_in_the_state():
    site = alarmed()
    (alarm,) = site.told[-1].alarms
    assert (alarm.kind, alarm.query, alarm.ordinal) == (AlarmKind.NEVER_CUT, ID, 0)
    assert (alarm.first, alarm.last) == (7, 7)
    assert "pane 7" in alarm.text


def test_a_range_that_is_held_is_one_alarm_for_all_its_panes():
    assert alarms_of(alarmed(held=((0, 4),), panes=(PaneHeld(5, 0b1), PaneHeld(9, 0b1)))) == [
        (0, 5),
        (9, 9),
    ]


def test_an_update_beyond_those_that_were_cut_is_one_of_its_pane():
    site = greeted()
    site.commit({0: [1]}, now_s=11.0, read_through_s=11.0)
    extra = ExtraHeld(pane=0, ordinal=0, incarnation=ME, updates=((1, 2),))
    site.hear(ack(number=2, panes=(PaneHeld(0, 1),), extra=(extra,)), now_s=12.0)
    assert alarms_of(site) == [(0, 0)]


def test_it_is_remembered_before_it_is_told():
    site = alarmed()
    newest = [write for write in site.writes if isinstance(write, Remember)][-1]
    assert newest.record.alarms == site.told[-1].alarms
    assert newest.record.state_number == site.told[-1].number


def test_the_same_acknowledgement_again_raises_nothing_new():
    site = alarmed()
    number = site.told[-1].number
    site.hear(ack(number=3, panes=(PaneHeld(7, 0b1),)), now_s=13.0)
    site.work(now_s=30.0)
    assert {told.number for told in site.told} == {number}
    assert len(site.notices) == 1


def test_it_is_told_until_the_root_has_greeted_a_state_that_tells_it():
    site = alarmed()
    number = site.told[-1].number
    site.hear(ack(number=3, greet=number - 1), now_s=13.0)
    site.work(now_s=30.0)
    assert alarms_of(site) == [(7, 7)]
    site.hear(ack(number=4, greet=number), now_s=31.0)
    assert site.disk.records[ID].alarms == ()
    site.take_told()
    site.commit(now_s=500.0, read_through_s=500.0)
    assert alarms_of(site) == []


def test_a_site_that_restarts_before_the_root_has_heard_it_tells_it_again():
    site = alarmed()
    site.start(now_s=20.0)
    assert alarms_of(site) == [(7, 7)]


def test_a_restarted_site_raises_it_no_second_time_and_lets_go_when_the_root_has_heard_it():
    site = alarmed()
    site.start(now_s=20.0)
    held, greet = (PaneHeld(7, 0b1),), site.told[-1].number
    site.hear(ack(number=3, panes=held, greet=greet - 1), now_s=21.0)
    assert len(site.notices) == 1, "that of the former process"
    site.hear(ack(number=4, panes=held, greet=greet), now_s=22.0)
    assert site.disk.records[ID].alarms == ()


def test_a_new_root_hears_it_also_where_the_former_one_had():
    site = alarmed()
    site.hear(ack(number=3, greet=site.told[-1].number), now_s=13.0)
    site.hear(ack(root=ROOT + 1, greet=1, panes=(PaneHeld(7, 0b1),)), now_s=14.0)
    site.work(now_s=20.0)
    assert alarms_of(site) == [(7, 7)]


def test_more_than_a_state_holds_wait_until_the_root_has_heard_the_first():
    panes = tuple(PaneHeld(7 + 2 * n, 0b1) for n in range(ALARMS_TOLD_MAX + 3))
    site = alarmed(panes=panes)
    assert len(site.told[-1].alarms) == ALARMS_TOLD_MAX
    site.hear(ack(number=3, greet=site.told[-1].number, panes=panes), now_s=20.0)
    assert alarms_of(site) == [(held.pane, held.pane) for held in panes[ALARMS_TOLD_MAX:]]


@pytest.mark.parametrize("done_through", [-FOREVER, 8])
def test_one_about_a_pane_that_the_root_is_done_with_is_told_all_the_same(done_through):
    site = alarmed()
    site.hear(ack(number=3, done_through=done_through), now_s=13.0)
    site.commit(now_s=500.0, read_through_s=500.0)
    assert alarms_of(site) == [(7, 7)]


def test_those_who_were_handed_its_summaries_are_named():
    site = greeted()
    site.edge._carriers_of = {ID: ["hub", "lhr"]}.__getitem__
    site.hear(ack(number=2, panes=(PaneHeld(7, 0b1),)), now_s=12.0)
    assert site.told[-1].alarms[0].carriers == ("hub", "lhr")
