"""A state query at one site: every pane has a state, and what is the same is said once."""

from __future__ import annotations

import msgspec
import pytest
from pane_kit import SOURCE, SiteDesk, StatesDisk, make_query

from headwater.algebra.summary import STATE_PANES_MAX, Lane
from headwater.algebra.words.acknowledgement import Acknowledgement, Greeting, PaneHeld, with_leaves
from headwater.algebra.words.site_state import FOREVER, Declined, Reason
from headwater.edge.config import EdgeConfig
from headwater.edge.report import BatchReport, QueryBatch

QUERY = msgspec.structs.replace(make_query(), last_n=2)
ID = str(QUERY.id)
ME = 1000


def desk(*, records_max: int = 100, **options) -> SiteDesk:
    """Greeted, so that coverage is in its short form."""
    site = SiteDesk(0, [QUERY], disk=StatesDisk(ME, last_n=2, records_max=records_max), **options)
    site.hear(ack(greet=site.told[-1].number), now_s=0.5)
    return site


def ack(*, greet: int | None = None, number: int = 1, panes=(), **fields) -> Acknowledgement:
    greetings = () if greet is None else (Greeting(ordinal=0, incarnation=ME, number=greet),)
    head = Acknowledgement(
        query=ID,
        root_incarnation=50,
        number=number,
        done_through=-FOREVER,
        listed=((-FOREVER, FOREVER),),
        **fields,
    )
    return with_leaves(head, panes=panes, greetings=greetings)


def spans(site: SiteDesk) -> list[tuple[int, int, tuple[int, ...] | None]]:
    return [(one.pane, one.last, one.rows) for one in site.take_said()]


def read_through(site: SiteDesk, pane: int, records=None) -> None:
    """A poll that closes all panes up to this one."""
    end_s = 10.0 * (pane + 1) + 1.0
    site.commit(records, now_s=end_s, read_through_s=end_s)


def test_a_quiet_pane_has_the_former_state_and_not_an_empty_close():
    site = desk()
    read_through(site, 0, {0: [1, 2, 3]})
    assert spans(site) == [(0, 0, (2, 3))]
    read_through(site, 1)
    assert spans(site) == [(1, 1, (2, 3))]


def test_panes_that_close_at_once_with_one_state_leave_as_one_send():
    site = desk()
    site.commit({0: [1, 2], 3: [3]}, now_s=5.0)
    read_through(site, 5)
    assert spans(site) == [(0, 2, (1, 2)), (3, 5, (2, 3))]


def test_panes_before_the_first_record_are_closed_empty_together():
    site = desk()
    read_through(site, 3, {3: [1]})
    assert sorted(spans(site)) == [(0, 2, None), (3, 3, (1,))]


def test_a_late_record_counts_for_the_panes_that_are_open():
    site = desk()
    read_through(site, 1, {0: [1], 1: [2]})
    assert spans(site) == [(0, 0, (1,)), (1, 1, (1, 2))]
    read_through(site, 2, {0: [3]})
    assert spans(site) == [(2, 2, (2, 3))]


def test_a_clock_that_is_set_closes_no_state_without_what_was_read_by_the_former_one():
    """A state is never revised: it must wait for the records that were stamped in between."""
    site = desk()
    read_through(site, 0, {0: [1, 2]})
    site.set_clock(30.0, now_s=25.0)
    assert spans(site) == [(0, 0, (1, 2))], "pane 1 is over by no read"
    site.commit({1: [3]}, now_s=26.0, read_through_s=26.0)
    assert spans(site)[0] == (1, 4, (2, 3))


def test_a_state_of_several_updates_is_joined_update_by_update():
    site = desk(records_max=1)
    read_through(site, 2, {0: [1, 2]})
    said = site.take_said()
    assert [(one.pane, one.last, one.rows) for one in said] == [(0, 2, (1,)), (0, 2, (2,))]
    assert [one.coverage.groups[0].updates for one in said] == [((1, 1),), ((2, 2),)]


def test_a_repair_is_of_one_pane_alone():
    site = desk()
    read_through(site, 4, {0: [1, 2]})
    assert spans(site) == [(0, 4, (1, 2))]
    held = tuple(PaneHeld(pane, 1) for pane in (0, 2, 4))
    site.hear(ack(number=2, panes=held), now_s=200.0)
    said = site.take_said()
    assert [(one.pane, one.more, one.rows, one.lane) for one in said] == [
        (1, 0, (1, 2), Lane.SPARE),
        (3, 0, (1, 2), Lane.SPARE),
    ]


def test_what_could_not_be_sent_leaves_as_one_when_there_is_room():
    site = desk()
    site.room = 0
    for pane in range(6):
        read_through(site, pane, {0: [1]} if pane == 0 else None)
    assert site.take_said() == []
    site.room = 1 << 30
    site.work(now_s=500.0)
    assert spans(site) == [(0, 5, (1,))]


def test_a_restart_knows_which_states_are_the_same():
    site = desk()
    site.room = 0
    read_through(site, 3, {0: [1], 2: [2]})
    site.room = 1 << 30
    site.start(now_s=60.0)
    assert spans(site) == [(0, 1, (1,)), (2, 3, (1, 2))]


def test_one_cut_takes_a_bounded_number_of_panes_and_the_next_goes_on():
    site = desk(config=EdgeConfig(panes_per_cut_max=4))
    read_through(site, 9, {0: [1]})
    assert spans(site) == [(0, 3, (1,)), (4, 7, (1,)), (8, 9, (1,))]


def test_no_send_is_longer_than_a_message_may_be():
    site = desk(config=EdgeConfig(panes_per_cut_max=10_000))
    read_through(site, STATE_PANES_MAX + 5, {0: [1]})
    assert spans(site) == [
        (0, STATE_PANES_MAX - 1, (1,)),
        (STATE_PANES_MAX, STATE_PANES_MAX + 5, (1,)),
    ]


def test_a_state_that_may_lack_a_record_is_never_exact_and_not_joined_with_one_that_is():
    site = desk()
    site.disk.is_whole = False
    read_through(site, 1, {0: [1]})
    assert spans(site) == [(0, 1, (1,))]
    assert site.told[-1].damaged == ((0, 1),)
    site.disk.is_whole = True
    read_through(site, 2)
    assert spans(site) == [(2, 2, (1,))]
    assert site.told[-1].damaged == ((0, 1),)


def test_a_state_that_may_lack_a_record_is_doubted_after_a_crash_too():
    """The cube knows it; the record was not written any more."""
    site = desk()
    read_through(site, 0, {0: [1]})
    (kept,) = site.disk.restore()
    panes = tuple(msgspec.structs.replace(pane, is_whole=False) for pane in kept.panes)
    site.disk.restore = lambda: [msgspec.structs.replace(kept, panes=panes)]
    site.start(now_s=20.0)
    assert site.told[-1].damaged == ((0, 0),)


def test_lost_bytes_damage_no_pane_by_themselves():
    """Which states they touch is known when those are cut."""
    site = desk()
    site.commit(now_s=5.0, lost_bytes=10, damaged_from_us=0, damaged_to_us=1)
    read_through(site, 0, {0: [1]})
    assert site.told[-1].damaged == ()
    assert spans(site) == [(0, 0, (1,))]


def test_a_failed_batch_declines_open_panes_and_never_closed_ones():
    site = desk()
    read_through(site, 1, {0: [1]})
    site.take_said()
    failed = QueryBatch(ID, failed="division by zero", touched=(0, 2))
    site.report(BatchReport(SOURCE.name, (failed,), read_through_s=None), now_s=25.0)
    assert site.told[-1].declined == (Declined(first=2, last=2, reason=Reason.FAILED),)
    read_through(site, 3)
    assert spans(site) == [(3, 3, (1,))]


@pytest.mark.parametrize("pane", [0, 7])
def test_no_pane_is_ever_closed_twice(pane):
    site = desk()
    read_through(site, pane, {pane: [1]})
    site.take_said()
    read_through(site, pane, {0: [2]})
    assert site.take_said() == []
    assert site.told[-1].counts == ()
