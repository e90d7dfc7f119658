"""A site goes to a level between panes: what it takes, closes, defers and sends.

::

    full     | 99 | 100 | 101 | 102 | 103 | 104 | 105 |    panes of 10 s
    level    |  33 ▕        34       ▕       35       |    panes of 30 s; 34 has 102 to 104
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from edge_site import FULL, LevelSite
from store_kit import QUERY, counts_of

from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.tolerance import Finally, Threshold, Tolerance, ToleratedColumn
from headwater.algebra.remainders.withhold import Allowance
from headwater.algebra.summary import Lane
from headwater.algebra.words.site_state import Declined, Reason
from headwater.plan.degrading.degradation import Degradation, Operator, OperatorKind


def at_level(directory: Path, *, stays: bool = False) -> LevelSite:
    """Pane 34 of the level is taken, a moment before it begins."""
    site = LevelSite(directory, stays=stays)
    site.poll(1_012.0)
    site.edge.set_step(QUERY, 1)
    site.tick(1_019.5)
    return site


def with_rows(site: LevelSite) -> LevelSite:
    site.read((102, "a", 1), (104, "b", 2), now_s=1_045.0)
    return site


def test_at_full_fidelity_no_pane_is_taken(tmp_path: Path) -> None:
    site = LevelSite(tmp_path)
    site.tick(1_019.5)
    site.read((102, "a", 1), now_s=1_025.0)
    site.poll(1_033.0)
    assert site.record(site.level).taken == ()
    assert site.sent() == [100, 101, 102]


def test_a_pane_is_taken_shortly_before_it_begins_and_on_the_disk(tmp_path: Path) -> None:
    site = LevelSite(tmp_path)
    site.edge.set_step(QUERY, 1)
    site.tick(1_018.0)
    assert site.record(site.level).taken == ()
    assert 1_018.9 < site.edge.next_deadline_s() < 1_019.1
    site.tick(1_019.5)
    assert site.record(site.level).taken == ((34, 34),)


def test_a_pane_that_has_begun_is_not_taken_but_the_next_one(tmp_path: Path) -> None:
    site = LevelSite(tmp_path)
    site.edge.set_step(QUERY, 1)
    site.tick(1_020.1)
    assert site.record(site.level).taken == ()
    site.tick(1_049.5)
    assert site.record(site.level).taken == ((35, 35),)


def test_a_pane_of_which_rows_are_there_already_is_not_taken(tmp_path: Path) -> None:
    site = LevelSite(tmp_path)
    site.edge.set_step(QUERY, 1)
    site.read((104, "a", 1), now_s=1_012.0)
    site.tick(1_019.5)
    assert site.record(site.level).taken == ()


def test_the_level_leaves_in_the_place_of_the_panes_that_lie_in_it(tmp_path: Path) -> None:
    site = with_rows(at_level(tmp_path))
    site.poll(1_053.0)
    assert site.sent(site.level) == [34]
    assert counts_of(site.user.cube.rows(str(site.level.id), 34, ((1, 1),))) == {"a": 1, "b": 2}
    assert site.sent() == [100, 101]
    assert site.states[QUERY].deferred == ((102, 104),)


@pytest.mark.parametrize("stays", [False, True])
def test_people_hear_whether_what_is_deferred_follows(tmp_path: Path, *, stays: bool) -> None:
    site = with_rows(at_level(tmp_path, stays=stays))
    (told,) = (one.backlog for one in site.edge.progress() if one.query == QUERY)
    assert told.follow is not stays


def test_the_root_hears_of_a_pane_of_a_level_by_its_count_first(tmp_path: Path) -> None:
    site = with_rows(at_level(tmp_path))
    site.poll(1_053.0)
    assert site.states[str(site.level.id)].counts == ((34, 1),)


def test_an_empty_pane_of_a_level_is_told_by_the_state(tmp_path: Path) -> None:
    site = at_level(tmp_path)
    site.poll(1_053.0)
    assert site.states[str(site.level.id)].empty == ((34, 34),)
    assert site.sent(site.level) == []


def test_the_finer_panes_follow_when_the_root_has_the_level(tmp_path: Path) -> None:
    site = with_rows(at_level(tmp_path))
    site.poll(1_053.0)
    site.edge.set_step(QUERY, 0)
    site.tick(1_054.0)
    site.tick(1_055.0)
    assert site.sent() == [100, 101]
    site.hear_level(34, now_s=1_056.0)
    site.tick(1_056.5)
    assert site.sent() == [100, 101, 102, 103, 104]
    lanes = {send.pane: send.lane for send in site.sends if send.query == QUERY}
    assert lanes[102] == lanes[104] == Lane.BACKLOG
    assert site.record(FULL).deferred == ()


def test_they_wait_while_the_query_is_at_a_level_and_while_there_is_no_room(tmp_path: Path) -> None:
    site = with_rows(at_level(tmp_path))
    site.poll(1_053.0)
    site.hear_level(34, now_s=1_054.0)
    site.tick(1_055.0)
    site.edge.set_step(QUERY, 0)
    site.room = 0
    site.tick(1_056.0)
    assert site.sent() == [100, 101]


def test_a_bit_for_a_site_that_takes_nothing_is_not_believed_before_the_count_is_heard(
    tmp_path: Path,
) -> None:
    site = with_rows(at_level(tmp_path))
    site.poll(1_053.0)
    state = site.states[str(site.level.id)]
    early = msgspec.structs.replace(state, number=state.number - 1)
    site.states[str(site.level.id)] = early
    site.edge.set_step(QUERY, 0)
    site.hear_level(34, now_s=1_054.0)
    site.tick(1_055.0)
    assert site.sent() == [100, 101]


def test_a_late_record_is_in_the_level_and_follows_with_its_pane(tmp_path: Path) -> None:
    site = with_rows(at_level(tmp_path))
    site.poll(1_053.0)
    site.read((102, "c", 5), now_s=1_055.0)
    site.tick(1_070.0)
    assert site.sent(site.level) == [34, 34]
    assert site.sent() == [100, 101]
    site.edge.set_step(QUERY, 0)
    site.hear_level(34, now_s=1_071.0)
    state = site.states[str(site.level.id)]
    assert state.counts == ((34, 2),)


def test_panes_that_never_follow_are_declined_when_the_level_is_made(tmp_path: Path) -> None:
    site = with_rows(at_level(tmp_path, stays=True))
    assert site.states[QUERY].declined == ()
    site.poll(1_053.0)
    site.poll(1_054.0)
    assert site.states[QUERY].declined == (Declined(102, 104, Reason.COARSE),)
    site.edge.set_step(QUERY, 0)
    site.hear_level(34, now_s=1_056.0)
    site.tick(1_057.0)
    assert site.sent() == [100, 101]


def test_no_deferred_pane_is_sealed(tmp_path: Path) -> None:
    site = with_rows(at_level(tmp_path))
    for now_s in (1_053.0, 90_000.0, 200_000.0):
        site.poll(now_s)
    assert site.record(FULL).sealed_through <= 102


def test_after_a_restart_the_level_is_sent_and_the_others_stay_deferred(tmp_path: Path) -> None:
    site = with_rows(at_level(tmp_path))
    site.restart(now_s=1_046.0)
    site.poll(1_053.0)
    site.poll(1_060.0)
    assert site.sent(site.level) == [34]
    assert site.states[QUERY].deferred == ((102, 104),)
    assert not {102, 103, 104} & set(site.sent())


def test_rows_that_were_not_given_to_the_level_give_its_pane_up(tmp_path: Path) -> None:
    """A batch was committed before the word of the level was on the disk."""
    site = at_level(tmp_path)
    report = site.user.commit((102, "a", 1))
    alone = [one for one in report.queries if one.query == QUERY]
    late = msgspec.structs.replace(report, queries=tuple(alone), read_through_s=1_045.0)
    site.edge.batch_committed(late, now_s=1_045.0)
    site.tick(1_045.0)
    site.poll(1_053.0)
    site.poll(1_054.0)
    declined = site.states[str(site.level.id)].declined
    assert Declined(34, 34, Reason.STRADDLED) in declined
    assert site.sent() == [100, 101, 102, 103, 104]


def test_a_batch_of_which_nothing_is_in_the_sample_was_given_to_it_all_the_same(
    tmp_path: Path,
) -> None:
    site = at_level(tmp_path)
    report = site.user.commit((102, "a", 1))
    level = str(site.level.id)
    nothing = [
        msgspec.structs.replace(one, panes=(), given=(34,)) if one.query == level else one
        for one in report.queries
    ]
    given = msgspec.structs.replace(report, queries=tuple(nothing), read_through_s=1_045.0)
    site.edge.batch_committed(given, now_s=1_045.0)
    site.tick(1_045.0)
    site.poll(1_053.0)
    site.poll(1_054.0)
    assert site.states[level].declined == ()
    assert 102 not in site.sent(), "the level stands for it"


@pytest.mark.parametrize("step", [2, 7])
def test_a_step_beyond_the_levels_is_at_the_last_of_them(tmp_path: Path, step: int) -> None:
    site = LevelSite(tmp_path)
    site.edge.set_step(QUERY, step)
    site.tick(1_019.5)
    assert site.record(site.level).taken == ((34, 34),)


def test_without_its_level_a_query_sends_what_was_deferred(tmp_path: Path) -> None:
    site = with_rows(at_level(tmp_path))
    site.edge.remove(str(site.level.id))
    site.tick(1_046.0)
    site.poll(1_053.0)
    site.poll(1_054.0)
    assert site.sent() == [100, 101, 102, 103, 104]


LIMIT = Tolerance(
    (ToleratedColumn("hits", "n", ErrorForm.TOTAL, 0.5),),
    Finally.EXACT,
    threshold=Threshold("hits"),
)
BOTH = msgspec.structs.replace(
    FULL,
    tolerance=LIMIT,
    degradation=Degradation(
        (
            Operator(OperatorKind.COARSEN_TIME, (30e6,)),
            Operator(OperatorKind.THRESHOLD, (0.2, 1.0), "hits"),
        ),
        follows=True,
    ),
)


def at_threshold(directory: Path, step: int) -> LevelSite:
    """Its pane 34 of the level is taken, and the query is at this step when it is closed."""
    site = LevelSite(directory, full=BOTH, allowance_of=lambda query, pane: Allowance(LIMIT, 1))
    site.poll(1_012.0)
    site.edge.set_step(QUERY, step)
    site.tick(1_019.5)
    site.read((102, "a", 1), (103, "b", 9), (104, "a", 2), (104, "c", 40), now_s=1_045.0)
    site.poll(1_053.0)
    return site


@pytest.mark.parametrize(
    ("step", "sent"), [(1, {"a": 3, "b": 9, "c": 40}), (2, {"b": 9, "c": 40}), (3, {"c": 40})]
)
def test_a_threshold_behind_a_level_keeps_back_of_the_levels_panes(
    tmp_path: Path, step: int, sent: dict[str, int]
) -> None:
    site = at_threshold(tmp_path, step)
    cube, level = site.user.cube, str(site.level.id)
    assert counts_of(cube.rows(level, 34, ((1, 1),))) == sent
    book = site.edge._edges[level].state.book
    total = 52 - sum(sent.values())
    assert [one.total for _, kept in book.withheld.values() for one in kept] == [total] * (step > 1)
    assert site.sent() == [100, 101], "the fine ones are deferred"


def test_what_was_kept_back_of_a_level_follows_and_then_the_fine_panes(tmp_path: Path) -> None:
    site = at_threshold(tmp_path, 3)
    site.hear_level(34, now_s=1_054.0)
    site.tick(1_055.0)
    cube, level = site.user.cube, str(site.level.id)
    assert counts_of(cube.rows(level, 34, ((2, 2),))) == {"a": 3, "b": 9}
    assert site.sent() == [100, 101]
    site.edge.set_step(QUERY, 0)
    site.hear_level(34, number=2, now_s=1_056.0, extra=((2, 2),))
    site.tick(1_057.0)
    assert site.sent() == [100, 101, 102, 103, 104]
    assert counts_of(cube.rows(QUERY, 104, ((1, 1),))) == {"a": 2, "c": 40}


def test_a_restart_keeps_what_a_level_kept_back(tmp_path: Path) -> None:
    site = at_threshold(tmp_path, 3)
    site.restart(now_s=1_054.0)
    book = site.edge._edges[str(site.level.id)].state.book
    assert [one.total for _, kept in book.withheld.values() for one in kept] == [12.0]
    assert 34 in book.owing
