"""Of a backlog that is more than may wait, the oldest panes leave at a level.

::

    full     | 102 | 103 | 104 | 105 | 106 | 107 |    panes of 10 s
    level    |        34       |       35        |    panes of 30 s
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from edge_site import FULL, LevelSite
from store_kit import QUERY, SOURCE, counts_of

from headwater.algebra.panes import MICROS
from headwater.algebra.remainders.remainder import Remainder
from headwater.algebra.summary import Lane
from headwater.algebra.windows.coarsening import Coarsening
from headwater.algebra.words.degraded import Degraded, Why
from headwater.algebra.words.site_state import Declined, Reason
from headwater.edge.outputs import RollUp
from headwater.edge.query_state import QueryState
from headwater.edge.report import BatchReport, QueryBatch
from headwater.plan.degrading.degradation import Degradation, Operator, OperatorKind

TIME = Operator(OperatorKind.COARSEN_TIME, (30.0 * MICROS,), text="coarsen(time, 30 s)")
BOUNDED = msgspec.structs.replace(
    FULL, degradation=Degradation((TIME,), follows=True, backlog_age_s=15.0)
)


def waiting(directory: Path, *, now_s: float = 1_083.0, stays: bool = False) -> LevelSite:
    """Panes 102 to 107 are closed, and there was no room for any of them; 102 to 104 have waited
    for too long."""
    site = LevelSite(directory, full=BOUNDED, stays=stays)
    site.poll(1_021.0)
    site.room = 0
    for second in range(1_023, int(now_s) + 1, 10):
        pane = second // 10 - 1
        if pane != 103:
            site.read((pane, "a", 1), (pane, "b", pane), now_s=float(second))
        site.poll(second + 0.5)
    return site


def later(site: LevelSite, now_s: float, count: int = 6) -> None:
    for n in range(count):
        site.poll(now_s + n)


def test_the_oldest_leave_at_the_level_with_all_their_rows(tmp_path: Path) -> None:
    site = waiting(tmp_path)
    assert ranges_of(site)[0] == (34, 34)
    assert site.states[QUERY].deferred[0] == (102, 104)
    site.room = 1 << 20
    later(site, 1_084.0)
    assert site.sent(site.level)[0] == 34
    rows = site.user.cube.rows(str(site.level.id), 34, ((1, 1),))
    assert counts_of(rows) == {"a": 2, "b": 102 + 104}
    assert not {102, 103, 104} & set(site.sent())
    lanes = [one.lane for one in site.sends if one.query == str(site.level.id)]
    assert set(lanes) == {Lane.BACKLOG}


def ranges_of(site: LevelSite) -> tuple[tuple[int, int], ...]:
    return site.record(site.level).taken


def test_what_has_not_waited_too_long_stays_fine(tmp_path: Path) -> None:
    site = waiting(tmp_path, now_s=1_063.0)
    assert ranges_of(site) == ((34, 34),)
    site.room = 1 << 20
    later(site, 1_064.0)
    assert [pane for pane in site.sent() if pane >= 102] == [105]


def test_without_a_bound_nothing_is_rolled_up(tmp_path: Path) -> None:
    site = LevelSite(tmp_path)
    site.poll(1_021.0)
    site.room = 0
    site.read((102, "a", 1), now_s=1_033.0)
    later(site, 1_200.0)
    assert ranges_of(site) == ()


def test_a_bound_in_bytes_holds_likewise(tmp_path: Path) -> None:
    plan = Degradation((TIME,), follows=True, backlog_bytes=1)
    site = LevelSite(tmp_path, full=msgspec.structs.replace(FULL, degradation=plan))
    site.poll(1_021.0)
    site.room = 0
    for pane in (102, 103, 104):
        site.read((pane, "a", 1), now_s=10.0 * pane + 13.0)
        site.poll(10.0 * pane + 13.5)
    later(site, 1_090.0)
    assert ranges_of(site) == ((34, 34),)


def test_a_pane_of_which_one_has_left_is_straddled(tmp_path: Path) -> None:
    site = LevelSite(tmp_path, full=BOUNDED)
    site.read((102, "a", 1), now_s=1_033.0)
    site.poll(1_033.5)
    assert 102 in site.sent()
    site.room = 0
    for pane in (103, 104):
        site.read((pane, "a", 1), now_s=10.0 * pane + 13.0)
    later(site, 1_090.0)
    assert ranges_of(site) == ()
    site.room = 1 << 20
    later(site, 1_100.0)
    assert {102, 103, 104} <= set(site.sent())


def test_the_fine_ones_follow_as_they_were_made(tmp_path: Path) -> None:
    site = waiting(tmp_path, now_s=1_063.0)
    site.room = 1 << 20
    later(site, 1_064.0)
    site.hear_level(34, now_s=1_071.0)
    later(site, 1_072.0)
    follow = [one for one in site.sends if one.query == QUERY and one.pane in (102, 104)]
    assert [(one.pane, one.updates) for one in follow] == [(102, ((1, 1),)), (104, ((1, 1),))]
    assert site.record(site.full).deferred == ()


def test_those_that_never_follow_are_declined(tmp_path: Path) -> None:
    site = waiting(tmp_path, now_s=1_063.0, stays=True)
    later(site, 1_064.0)
    assert Declined(102, 104, Reason.COARSE) in site.states[QUERY].declined


def test_the_state_says_why(tmp_path: Path) -> None:
    site = waiting(tmp_path, now_s=1_063.0)
    said = site.states[QUERY].degraded
    assert said == (Degraded(102, 1, Why.BACKLOG), Degraded(105, 0, Why.RESTORED))


def test_a_restart_in_between_brings_the_level_and_nothing_twice(tmp_path: Path) -> None:
    site = waiting(tmp_path, now_s=1_063.0)
    site.restart(now_s=1_064.0)
    site.room = 1 << 20
    later(site, 1_065.0)
    assert site.sent(site.level) == [34]
    assert not {102, 103, 104} & set(site.sent())


def test_a_late_record_comes_to_both(tmp_path: Path) -> None:
    site = waiting(tmp_path, now_s=1_063.0)
    site.room = 1 << 20
    site.read((102, "c", 5), now_s=1_064.0)
    later(site, 1_065.0, count=20)
    rows = [one for one in site.sends if one.query == str(site.level.id)]
    found = site.user.cube.rows(str(site.level.id), 34, rows[-1].updates)
    every = site.user.cube.rows(str(site.level.id), 34, ((1, rows[-1].updates[0][1]),))
    assert counts_of(found)["c"] == counts_of(every)["c"] == 5
    site.edge.remove(str(site.level.id))  # then nothing stands for the fine ones any more
    later(site, 1_091.0)
    assert [one.updates for one in site.sends if one.query == QUERY and one.pane == 102] == [
        ((1, 1),),
        ((2, 2),),
    ]


def test_rows_that_came_beside_it_give_the_pane_up_and_the_fine_ones_leave(tmp_path: Path) -> None:
    """A batch was committed before the level had taken the pane, and is heard of after that."""
    site = waiting(tmp_path, now_s=1_063.0)
    late = QueryBatch(QUERY, ((102, 1),))
    site.edge.batch_committed(BatchReport(SOURCE, (late,), read_through_s=1_064.0), now_s=1_064.0)
    site.room = 1 << 20
    later(site, 1_065.0)
    assert Declined(34, 34, Reason.STRADDLED) in site.states[str(site.level.id)].declined
    assert {102, 104} <= set(site.sent())


def test_a_failed_batch_beside_it_gives_the_pane_up(tmp_path: Path) -> None:
    site = waiting(tmp_path, now_s=1_063.0)
    failed = QueryBatch(QUERY, failed="division by zero", touched=(102, 103))
    site.edge.batch_committed(BatchReport(SOURCE, (failed,), read_through_s=1_064.0), now_s=1_064.0)
    site.tick(1_065.0)
    assert Declined(34, 34, Reason.STRADDLED) in site.states[str(site.level.id)].declined


def test_nothing_is_rolled_up_that_the_level_has_sealed(tmp_path: Path) -> None:
    """It would be too late: the root holds nothing open for a pane that is sealed."""
    timing = msgspec.structs.replace(FULL.timing, lateness_s=5.0)
    plan = Degradation((TIME,), follows=True, backlog_age_s=60.0)
    full = msgspec.structs.replace(FULL, degradation=plan, timing=timing)
    site = LevelSite(tmp_path, full=full)
    site.poll(1_021.0)
    site.room = 0
    site.read((102, "a", 1), now_s=1_033.0)
    for now_s in range(1_034, 1_140, 3):
        site.poll(float(now_s))
    assert site.record(site.level).sealed_through > 34
    assert ranges_of(site) == ()


Change = Callable[[QueryState, QueryState], object]
"""Of the full query and of the level."""
REST = (Remainder(1.0, 1.0, 1),)


def rolled_up_after(directory: Path, change: Change) -> tuple[tuple[int, int], ...]:
    """What the level has taken where something has changed before the last of its panes closed."""
    site = waiting(directory, now_s=1_043.0)
    change(*(site.edge._edges[str(one.id)].state for one in (site.full, site.level)))
    site.read((104, "a", 1), now_s=1_053.0)
    site.poll(1_053.5)
    later(site, 1_054.0)
    return ranges_of(site)


@pytest.mark.parametrize(
    "change",
    [
        lambda full, level: full.damage(103, 103),
        lambda full, level: full.decline(103, 103, Reason.FAILED),
        lambda full, level: full.unwanted.add(103, 103),
        lambda full, level: full.book.withheld.update({102: (1, REST)}),
        lambda full, level: full.book.flights.update({102: {2: 1_050.0}}),
        lambda full, level: level.damage(34, 34),
        lambda full, level: setattr(level, "query", _coarser(level)),
    ],
    ids=[
        "damaged",
        "declined",
        "unwanted",
        "kept back",
        "under way",
        "damaged at the level",
        "another key",
    ],
)
def test_what_is_not_whole_unsent_and_wanted_is_not_rolled_up(
    tmp_path: Path, change: Change
) -> None:
    assert rolled_up_after(tmp_path, change) == ()


def _coarser(level: QueryState) -> object:
    of = msgspec.structs.replace(level.query.stands_for, coarsening=Coarsening("page", "site"))
    return msgspec.structs.replace(level.query, companion=of)


def test_damage_beside_them_is_none_of_theirs(tmp_path: Path) -> None:
    assert rolled_up_after(tmp_path, lambda full, level: full.damage(105, 105)) == ((34, 34),)


def test_both_records_and_all_rows_are_written_at_once_also_if_it_is_written_twice(
    tmp_path: Path,
) -> None:
    site = waiting(tmp_path, now_s=1_043.0)
    user, level = site.user, str(site.level.id)
    user.commit((103, "late", 7))  # it is in no update yet
    full = msgspec.structs.replace(site.record(site.full), deferred=((102, 104),))
    of_level = msgspec.structs.replace(site.record(site.level), taken=((34, 34),))
    roll = RollUp(QUERY, level, 34, (102, 103, 104), full, of_level)
    for _ in range(2):
        user.cube.write([roll])
        user.reopen()
    assert site.record(site.full).deferred == ((102, 104),)
    assert site.record(site.level).taken == ((34, 34),)
    user.make_updates(34, query=level)
    assert counts_of(user.cube.rows(level, 34, ((1, 1),))) == {"a": 1, "b": 102, "late": 7}


def test_what_stays_beside_the_level_is_not_taken_for_sent_when_a_root_has_lost_all(
    tmp_path: Path,
) -> None:
    site = waiting(tmp_path, now_s=1_063.0)
    book = site.edge._edges[QUERY].state.book
    book.fly_again(100)
    assert not {102, 103, 104} & book.flights.keys()
