"""Clocks at a site: what it closes and seals by a wrong one, and what numbers it hears."""

from __future__ import annotations

import msgspec
import pytest
from pane_kit import SiteDesk, make_query

from headwater.algebra.incarnation import INCARNATION_MAX
from headwater.algebra.words.acknowledgement import Acknowledgement, Greeting, PaneHeld, with_leaves
from headwater.algebra.words.site_state import FOREVER, Declined, Reason
from headwater.edge.closing.wall_past import RISES_MAX, WallPast
from headwater.edge.config import EdgeConfig
from headwater.edge.outputs import Expire, Outlived
from headwater.plan.query import TimeKind

QUERY = make_query(lateness_s=20.0)
ID = str(QUERY.id)
ME, ROOT = 1000, 50
HOUR_S, DAY_S = 3_600.0, 86_400.0
SETTLE_S = 30.0
CONFIG = EdgeConfig(clock_settle_s=SETTLE_S, clock_tolerance_s=60.0, seal_every_s=1.0)


def ack(
    number=1, *, sites_clock_s=None, greetings=(), panes=(), root=ROOT, **fields
) -> Acknowledgement:
    fields.setdefault("listed", ((-FOREVER, FOREVER),))
    head = Acknowledgement(
        query=ID,
        root_incarnation=root,
        number=number,
        done_through=-FOREVER,
        sites_clock_s=sites_clock_s,
        **fields,
    )
    return with_leaves(head, panes=panes, greetings=greetings)


def desk(*, query=QUERY, config=CONFIG, **options) -> SiteDesk:
    return SiteDesk(0, [query], config=config, **options)


def poll(site: SiteDesk, now_s: float) -> None:
    site.commit(now_s=now_s, read_through_s=now_s)


def record(site: SiteDesk):
    return site.disk.records[ID]


# Closing and sealing


def test_a_site_a_day_ahead_of_the_others_closes_and_seals_by_their_clocks():
    site = desk()
    site.hear(ack(sites_clock_s=0.0), now_s=0.0)
    site.set_clock(DAY_S, now_s=0.0)
    for second in range(0, 100, 2):
        poll(site, float(second))
    assert record(site).closed_through == 15, "98 s, the tolerance, less the disorder"
    assert record(site).sealed_through == 7, "98 s less the lateness"


def test_a_site_that_is_behind_the_others_goes_by_itself():
    site = desk()
    site.hear(ack(sites_clock_s=DAY_S), now_s=0.0)
    for second in range(0, 100, 2):
        poll(site, float(second))
    assert record(site).closed_through == 9
    assert record(site).sealed_through == 7


def test_an_acknowledgement_that_tells_no_clocks_leaves_what_is_known():
    site = desk()
    site.hear(ack(1, sites_clock_s=0.0), now_s=0.0)
    site.hear(ack(2), now_s=1.0)
    site.set_clock(DAY_S, now_s=1.0)
    poll(site, 10.0)
    assert record(site).closed_through == 6


def test_the_age_of_an_acknowledgement_is_added_to_what_it_tells():
    site = desk()
    site.hear(ack(sites_clock_s=0.0, age_s=20.0), now_s=0.0)
    site.set_clock(DAY_S, now_s=0.0)
    poll(site, 11.0)
    assert record(site).closed_through == 9, "11 + 20 + 60, less the disorder"


def test_by_age_a_clock_that_is_set_moves_neither_closes_nor_records():
    query = msgspec.structs.replace(QUERY, time=TimeKind.AGE)
    site = desk(query=query)
    site.edge.root_clock(ID, 5.0, now_s=0.0)
    assert site.edge.offset_us(ID) == 5_000_000
    site.set_clock(DAY_S, now_s=0.0)
    poll(site, 46.0)
    assert record(site).closed_through == 5
    assert site.edge.offset_us(ID) == round((5.0 - DAY_S) * 1e6), "stamps are a day ahead"


@pytest.mark.parametrize("ahead_s", [0.0, DAY_S])
def test_after_a_restart_nothing_is_closed_until_the_clock_is_confirmed(ahead_s):
    site = desk()
    poll(site, 11.0)
    site.start(now_s=ahead_s + 30.0)
    poll(site, ahead_s + 59.0)
    assert record(site).closed_through == 1, "nobody knows how long it was away"
    site.hear(ack(sites_clock_s=59.0), now_s=ahead_s + 59.0)
    poll(site, ahead_s + 59.0)
    assert record(site).closed_through == (5 if ahead_s == 0.0 else 11)


def test_after_a_restart_a_clock_that_nobody_confirms_is_believed_after_a_while():
    site = desk()
    poll(site, 11.0)
    site.start(now_s=30.0)
    poll(site, 30.0 + 3 * SETTLE_S - 0.1)
    assert record(site).closed_through == 1
    poll(site, 30.0 + 3 * SETTLE_S + 1.0)
    assert record(site).closed_through == 12


@pytest.mark.parametrize("ahead_s", [0.0, DAY_S])
def test_an_acknowledgement_that_tells_no_clocks_confirms_none(ahead_s):
    """The root may have begun anew on the same machine, with the same clock."""
    site = desk()
    for second in range(60):
        poll(site, float(second))
    assert (record(site).closed_through, record(site).sealed_through) == (5, 3)
    site.start(now_s=ahead_s + 70.0)
    site.hear(ack(), now_s=ahead_s + 70.0)
    poll(site, ahead_s + 75.0)
    closed = 7 if ahead_s == 0.0 else 11
    assert record(site).closed_through == closed, "52 + 5 s since then + 60, less the disorder"
    assert record(site).sealed_through == 3
    for number in range(2, 6):
        site.hear(ack(number), now_s=ahead_s + 75.0)
        poll(site, ahead_s + 75.0)
    assert record(site).closed_through == closed, "saying it again tells no more"
    site.hear(ack(6, sites_clock_s=75.0), now_s=ahead_s + 75.0)
    poll(site, ahead_s + 76.0)
    assert record(site).sealed_through == 5


def test_by_age_any_acknowledgement_ends_the_doubt():
    site = desk(query=msgspec.structs.replace(QUERY, time=TimeKind.AGE, begin_pane=None))
    site.edge.root_clock(ID, 0.0, now_s=0.0)
    site.work(now_s=0.0)
    site.start(now_s=200.0)
    site.edge.root_clock(ID, 0.0, now_s=200.0)
    poll(site, 200.0)
    assert record(site).closed_through == -FOREVER
    site.hear(ack(), now_s=201.0)
    poll(site, 201.0)
    assert record(site).closed_through == 20


def test_a_clock_that_was_set_forward_says_nothing_of_reads_before():
    """What was written between the read and the setting has stamps of the former clock."""
    site = desk()
    poll(site, 11.0)
    site.set_clock(20.0, now_s=12.0)
    assert record(site).closed_through == 1, "a record of 15 s may still be read"
    poll(site, 12.0)
    assert record(site).closed_through == 3


def test_a_read_that_was_under_way_when_the_clock_was_set_counts_by_the_former_one():
    site = desk()
    site.set_clock(20.0, now_s=12.0)
    site.commit(now_s=30.0, read_through_s=11.0)
    assert record(site).closed_through == 1


def test_a_site_that_reads_nothing_seals_nothing_by_a_clock_that_is_set_forward():
    """Spark stands still; what was found meanwhile is in no batch yet."""
    site = desk()
    site.hear(ack(sites_clock_s=0.0), now_s=0.0)
    poll(site, 41.0)
    before = record(site)
    site.set_clock(DAY_S, now_s=200.0)
    site.work(now_s=201.0)
    assert record(site) == before


def test_a_clock_that_was_set_back_counts_for_reads_before():
    site = desk()
    site.set_clock(HOUR_S, now_s=1.0)
    site.commit(now_s=9.0, read_through_s=0.5)
    site.set_clock(-5.0, now_s=10.0)
    poll(site, 14.0)
    assert record(site).closed_through == 0
    poll(site, 16.0)
    assert record(site).closed_through == 1


def test_by_age_a_clock_that_was_set_forward_leaves_its_records_time():
    """Stamps of the former clock are placed by the new one's offset: earlier by the step."""
    site = desk(query=msgspec.structs.replace(QUERY, time=TimeKind.AGE))
    site.edge.root_clock(ID, 0.0, now_s=0.0)
    poll(site, 11.0)
    site.set_clock(15.0, now_s=40.0)
    site.commit(now_s=41.0, read_through_s=35.0)
    assert record(site).closed_through == 1, "a stamp of 35 s lies at 20 s, less the disorder"
    poll(site, 41.0)
    assert record(site).closed_through == 4


def test_after_a_setting_a_site_wants_to_be_read_for_the_panes_that_the_former_clock_left():
    site = desk()
    poll(site, 11.0)
    site.set_clock(20.0, now_s=12.0)
    wanted_s = site.edge.next_wanted_s(QUERY.source_name, after_s=11.0, now_s=12.0)
    assert wanted_s <= 12.0


@pytest.mark.parametrize("count", [3, RISES_MAX + 5])
def test_of_many_settings_the_lowest_since_a_read_decides(count):
    wall = WallPast()
    for step in range(1, count + 1):
        wall.set(float(step), now_s=10.0 * step)
    assert wall.of_read(5.0) == 5.0
    assert wall.of_read(10.0 * count - 5.0) == 10.0 * count - 5.0 + count - 1
    assert wall.of_read(10.0 * count) == 11.0 * count
    wall.set(1.5, now_s=10.0 * count + 1.0)
    assert wall.of_read(10.0 * count) == 10.0 * count + 1.5
    assert all(wall.of_read(10.0 * step) <= 10.0 * step + 1.5 for step in range(count))


def test_a_query_that_comes_later_knows_the_others_clocks_as_well():
    site = desk()
    site.hear(ack(sites_clock_s=0.0), now_s=0.0)
    later = make_query(name="later", counter=2)
    site.edge.install(later, now_s=0.0)
    site.set_clock(DAY_S, now_s=0.0)
    poll(site, 11.0)
    assert site.disk.records[str(later.id)].closed_through == record(site).closed_through == 7


def test_what_a_clock_had_sealed_before_it_was_set_back_is_never_exact():
    """Nobody has told what other clocks show, so it went by its own."""
    site = desk()
    site.commit({2: [1]}, now_s=21.0, read_through_s=21.0)
    site.set_clock(HOUR_S, now_s=22.0)
    poll(site, 40.0)
    poll(site, 42.0)
    sealed = record(site).sealed_through
    assert sealed > 300
    assert record(site).damaged == ()
    site.set_clock(0.0, now_s=50.0)
    (damaged,) = record(site).damaged
    assert damaged == (3, sealed - 1), "what came before 30 s was sealed in time"
    assert site.told[-1].damaged == (damaged,)


def test_nothing_is_sealed_by_a_clock_that_shows_less_than_is_believed():
    """Nobody knows yet whether it stays so: what comes by it may be in time."""
    site = desk()
    poll(site, 40.0)
    sealed = record(site).sealed_through
    site.edge.doubt_clock(30.0)
    for second in range(42, 61, 2):
        poll(site, float(second))
    assert record(site).sealed_through == sealed
    assert record(site).closed_through == 5, "what is closed may yet be revised"


def test_what_a_clock_shows_that_is_right_again_holds_up_no_seal():
    site = desk()
    site.edge.doubt_clock(30.0)
    poll(site, 40.0)
    assert record(site).sealed_through <= 0
    site.edge.doubt_clock(0.0)
    poll(site, 42.0)
    assert record(site).sealed_through == 2


def test_a_query_that_comes_while_a_clock_is_doubted_seals_nothing_by_it_either():
    site = desk(query=make_query(name="first"))
    site.edge.doubt_clock(30.0)
    site.edge.install(QUERY, now_s=0.0)
    poll(site, 40.0)
    assert record(site).sealed_through <= 0


def test_what_is_sealed_in_steps_by_the_end_of_input_is_not_doubted_by_the_clock():
    """One pane a cut: the seal of the end comes in as many steps."""
    config = msgspec.structs.replace(CONFIG, panes_per_cut_max=1)
    site = desk(query=make_query(lateness_s=DAY_S), config=config)
    site.commit({2: [1], 3: [2], 4: [3]}, now_s=41.0, read_through_s=41.0, ended=True)
    for second in range(42, 50):
        site.work(now_s=float(second))
    assert record(site).sealed_through == FOREVER
    assert record(site).damaged == ()


def test_a_restarted_site_spoils_nothing_by_a_clock_that_is_in_doubt():
    site = desk()
    for second in range(60):
        poll(site, float(second))
    assert record(site).sealed_through == 3
    site.start(now_s=-60.0)
    poll(site, 29.0)
    assert record(site).damaged == (), "it may be set right before it is believed"
    poll(site, 31.0)
    assert record(site).damaged == ((1, 2),)


def test_a_small_step_back_spoils_nothing():
    site = desk()
    for second in range(60):
        poll(site, float(second))
    site.set_clock(-QUERY.timing.disorder_s, now_s=60.0)
    site.work(now_s=60.0)
    assert record(site).damaged == ()


def test_a_site_says_that_its_clock_is_off_and_that_it_is_right_again():
    site = desk()
    site.hear(ack(1, sites_clock_s=0.0), now_s=0.0)
    site.set_clock(HOUR_S, now_s=0.0)
    site.hear(ack(2, sites_clock_s=2.0), now_s=2.0)
    site.hear(ack(3, sites_clock_s=4.0), now_s=4.0)
    assert site.edge.clock_off_s() == pytest.approx(HOUR_S)
    site.set_clock(1.0, now_s=5.0)
    site.hear(ack(4, sites_clock_s=6.0), now_s=6.0)
    assert [notice.kind for notice in site.notices] == ["clock is off", "clock is right"]
    assert "3600 s ahead of" in site.notices[0].text


def test_the_root_is_told_when_the_offset_to_its_clock_has_changed_much():
    site = desk()
    site.edge.root_clock(ID, 7.0, now_s=0.0)
    site.work(now_s=0.0)
    assert site.told[-1].offset_s == 7.0
    site.hear(
        ack(greetings=(Greeting(ordinal=0, incarnation=ME, number=site.told[-1].number),)),
        now_s=1.0,
    )
    count = len(site.told)
    site.edge.root_clock(ID, 7.5, now_s=2.0)
    site.work(now_s=2.0)
    assert len(site.told) == count, "noise is no news"
    site.set_clock(HOUR_S, now_s=2.0)
    site.edge.root_clock(ID, 7.5, now_s=3.0)
    site.work(now_s=3.0)
    assert site.told[-1].offset_s == 7.5 - HOUR_S


@pytest.mark.parametrize("later_s", [-DAY_S, 0.0, DAY_S])
def test_a_clock_that_is_set_between_two_lives_makes_nothing_expire(later_s):
    site = desk(retention_s=100.0)
    site.commit({0: [1]}, now_s=11.0, read_through_s=11.0)
    site.start(now_s=11.0 + later_s)
    site.work(now_s=11.0 + later_s + 99.0)
    assert not [write for write in site.writes if isinstance(write, Expire)]
    site.work(now_s=11.0 + later_s + 101.0)
    assert [write for write in site.writes if isinstance(write, Expire)]


# Lives of the root, and of the site


def greeted(number, **fields):
    return (Greeting(ordinal=0, incarnation=ME, number=number, **fields),)


def test_a_root_that_is_outdated_is_told_of_the_life_that_was_heard_before():
    site = desk()
    site.hear(ack(greetings=greeted(site.told[-1].number)), now_s=1.0)
    site.work(now_s=60.0)
    count = len(site.told)
    site.hear(ack(9, root=ROOT - 1), now_s=100.0)
    site.work(now_s=100.0)
    assert len(site.told) == count + 1
    assert site.told[-1].root_incarnation == ROOT
    assert record(site).root_incarnation == ROOT, "it is not heard itself"
    site.work(now_s=200.0)
    assert len(site.told) == count + 1, "once, until it is heard again"


def test_a_site_that_is_greeted_under_a_higher_incarnation_asks_for_one_above():
    site = desk()
    higher = (
        Greeting(ordinal=0, incarnation=ME + 5, number=3),
        Greeting(ordinal=1, incarnation=ME + 9, number=3),
    )
    site.hear(ack(greetings=higher, held=((0, 7),)), now_s=1.0)
    assert [write for write in site.writes if isinstance(write, Outlived)] == [Outlived(ME + 5)]
    assert site.notices == [], "what is held is of its former life"


@pytest.mark.parametrize("incarnation", [ME - 1, INCARNATION_MAX + 1])
def test_no_other_incarnation_in_a_greeting_moves_a_site(incarnation):
    site = desk()
    site.hear(ack(greetings=(Greeting(ordinal=0, incarnation=incarnation, number=3),)), now_s=1.0)
    assert not [write for write in site.writes if isinstance(write, Outlived)]


def test_a_site_that_lives_anew_sends_all_it_has_again_under_the_new_incarnation():
    site = desk()
    site.commit({0: [1]}, now_s=11.0, read_through_s=11.0)
    site.hear(ack(panes=(PaneHeld(0, 1),)), now_s=12.0)
    site.take_said()
    site.edge.live_anew(ME + 9)
    site.work(now_s=13.0)
    assert site.told[-1].incarnation == ME + 9
    site.hear(ack(2), now_s=100.0)
    (again,) = [one for one in site.said if one.rows]
    assert again.rows == (1,)
    assert again.coverage.parts[0].incarnation == ME + 9


def test_a_query_that_comes_after_a_site_lives_anew_has_the_new_incarnation():
    site = desk()
    site.edge.live_anew(ME + 9)
    site.edge.install(make_query(name="later", counter=2), now_s=1.0)
    site.work(now_s=1.0)
    assert {one.query: one.incarnation for one in site.told}["later@s0#2"] == ME + 9


@pytest.mark.parametrize("root", [ROOT, ROOT + 1])
def test_what_another_life_is_held_of_is_no_alarm_before_the_new_one_is_greeted(root):
    """Either the site lives anew, or the root does: what was told of former lives is over."""
    site = desk()
    site.hear(ack(1, greetings=greeted(site.told[-1].number)), now_s=1.0)
    if root == ROOT:
        site.edge.live_anew(ME + 9)
    site.hear(ack(2, held=((0, 90),), root=root), now_s=2.0)
    assert [notice for notice in site.notices if notice.kind == "alarm"] == []


def test_panes_that_the_root_holds_from_a_former_life_are_no_alarm():
    """The former life's clock was ahead of ours: what it closed we have not come to."""
    site = desk()
    number = site.told[-1].number
    site.hear(ack(1, held=((0, 90),)), now_s=1.0)
    site.hear(ack(2, held=((0, 90),), greetings=greeted(number, former_through=91)), now_s=2.0)
    assert site.notices == []
    site.hear(ack(3, held=((0, 91),)), now_s=3.0)
    (notice,) = site.notices
    assert notice.kind == "alarm"


# A cube that was made just now


def made_anew(query=QUERY, *, now_s=100.0) -> SiteDesk:
    """A site that lost its disk; its clock was set back before it came back."""
    site = desk(query=make_query(lateness_s=20.0, begin_pane=0), now_s=now_s)
    site.edge = type(site.edge)(
        ordinal=0, incarnation=ME, config=CONFIG, retention_s=1e6, born_s=now_s, made_s=now_s
    )
    site.disk.records.clear()
    site.told.clear()
    site.edge.install(query, now_s=now_s)
    site.work(now_s=now_s)
    return site


def test_a_new_cube_closes_nothing_until_the_root_has_said_whether_there_was_another():
    site = made_anew()
    poll(site, 140.0)
    assert record(site).closed_through == 11, "its first pane begins when the clock is sure"
    assert record(site).awaits_greeting
    site.hear(ack(greetings=greeted(site.told[-1].number)), now_s=141.0)
    poll(site, 142.0)
    assert record(site).closed_through == 14
    assert not record(site).awaits_greeting


def test_what_a_former_life_had_stamped_is_lost_though_the_clock_is_an_earlier_one():
    """Its clock would show 1141 now; the cube was made 41 s ago, and stamps may be 5 s ahead."""
    site = made_anew()
    hail = greeted(site.told[-1].number, former_clock_s=1_140.0)
    site.hear(ack(greetings=hail, age_s=1.0), now_s=141.0)
    site.work(now_s=141.0)
    told = site.told[-1]
    assert told.first_pane == 111
    assert Declined(first=11, last=110, reason=Reason.LOST) in told.declined


def test_a_former_clock_has_gone_on_while_the_greeting_was_on_its_way():
    site = made_anew()
    hail = greeted(site.told[-1].number, former_clock_s=1_140.0)
    site.hear(ack(greetings=hail, age_s=20.0), now_s=141.0)
    site.work(now_s=141.0)
    assert record(site).first_pane == 113


def test_a_former_life_with_the_same_clock_takes_nothing_from_the_new_one():
    site = made_anew()
    hail = greeted(site.told[-1].number, former_clock_s=141.0)
    site.hear(ack(greetings=hail), now_s=141.0)
    site.work(now_s=141.0)
    assert record(site).first_pane == 11


def test_a_restart_before_the_greeting_still_awaits_it():
    site = made_anew()
    site.start(now_s=150.0)
    poll(site, 200.0)
    assert record(site).closed_through == 11
    hail = greeted(site.told[-1].number, former_clock_s=1_200.0)
    site.hear(ack(greetings=hail), now_s=200.0)
    site.work(now_s=200.0)
    assert record(site).first_pane == 121, "when the cube was made nobody knows any more"
