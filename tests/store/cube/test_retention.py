"""Retention: what goes first, and that nobody is lied to."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from store_kit import QUERY, CubeUser

from headwater.algebra.words.site_state import Declined, Reason
from headwater.edge.outputs import Forget, MarkAcked
from headwater.edge.record import EdgeRecord
from headwater.errors import StoreError
from headwater.store.cube.retention import RetentionConfig

Open = Callable[..., CubeUser]
RECORD = EdgeRecord(first_pane=0)
OTHER = "other@paris#2"


def filled(open_cube: Open, panes: int, **limits: float) -> CubeUser:
    """Panes 0, 1, 2 … with one update each, written ten seconds apart from 1000 on."""
    keep_s = limits.pop("keep_s", 0.0)
    user = open_cube(retention=RetentionConfig(**limits), keep_s_of=lambda query: keep_s)  # type: ignore[arg-type]
    user.install()
    for pane in range(panes):
        user.clock.now_s = 1000.0 + 10 * pane
        user.commit((pane, "/a", pane))
        user.make_updates(pane, sent=True)
    return user


def ack(user: CubeUser, *panes: int) -> None:
    user.cube.write([MarkAcked(QUERY, tuple((p, p) for p in panes), 0, RECORD)])


def panes(user: CubeUser) -> set[int]:
    """Those whose rows can be loaded."""
    found = set()
    for kept in user.cube.restore()[0].panes:
        try:
            user.cube.rows(QUERY, kept.pane, ((1, kept.updates),))
            found.add(kept.pane)
        except StoreError:
            continue
    return found


def test_old_acknowledged_panes_go_without_a_word(open_cube: Open) -> None:
    user = filled(open_cube, 4, retention_s=25)
    ack(user, 0, 1)
    run = user.cube.retention(now_s=1040.0)
    assert (run.dropped, run.declined) == (2, ())
    assert run.freed_bytes > 0
    assert panes(user) == {2, 3}
    assert user.cube.restore()[0].record.declined == ()


def test_an_old_pane_that_nobody_acknowledged_is_declined_in_the_same_step(open_cube: Open) -> None:
    user = filled(open_cube, 3, retention_s=25)
    run = user.cube.retention(now_s=1040.0)
    assert run.declined == ((QUERY, 0), (QUERY, 1))
    user.reopen()
    (kept,) = user.cube.restore()
    assert kept.record.declined == (
        Declined(first=0, last=0, reason=Reason.EXPIRED),
        Declined(first=1, last=1, reason=Reason.EXPIRED),
    )
    assert user.commit((0, "/late", 1)).queries[0].too_late == 1


def test_a_dropped_pane_still_knows_how_many_updates_it_had(open_cube: Open) -> None:
    user = filled(open_cube, 1, retention_s=25)
    ack(user, 0)
    user.cube.retention(now_s=2000.0)
    (pane,) = user.cube.restore()[0].panes
    assert (pane.updates, pane.is_acked, pane.sent) == (1, True, ((1, 1),))
    user.commit((0, "/late", 1))
    (done,) = user.make_updates(0)
    assert (done.first_update, done.last_update) == (2, 2)


def test_late_rows_of_a_dropped_pane_are_kept_no_longer_than_others(open_cube: Open) -> None:
    """They wait for a cut that may never come, and what is not a pane's can't expire."""
    user = filled(open_cube, 1, retention_s=25)
    ack(user, 0)
    user.cube.retention(now_s=2000.0)
    user.clock.now_s = 2000.0
    user.commit((0, "/late", 1))
    assert user.cube.retention(now_s=2020.0).dropped == 0
    run = user.cube.retention(now_s=2030.0)
    assert run.declined == ((QUERY, 0),)
    assert user.cube.status().segment_bytes == 0


def test_late_rows_of_a_dropped_pane_are_cut_and_expire_like_others(open_cube: Open) -> None:
    user = filled(open_cube, 1, retention_s=25)
    ack(user, 0)
    user.cube.retention(now_s=2000.0)
    user.clock.now_s = 2000.0
    user.commit((0, "/late", 1))
    user.make_updates(0, sent=True)
    assert user.cube.retention(now_s=2030.0).declined == ((QUERY, 0),)
    assert user.cube.status().segment_bytes == 0


def test_over_the_bytes_acknowledged_panes_go_first_then_the_oldest(open_cube: Open) -> None:
    user = filled(open_cube, 6, retention_bytes=1)
    one = user.cube.status().segment_bytes // 6
    ack(user, 4)

    def limit(panes_kept: int) -> None:
        user.cube._retention = RetentionConfig(retention_bytes=panes_kept * one + one // 2)

    limit(5)
    assert user.cube.retention(now_s=1060.0).declined == ()
    assert panes(user) == {0, 1, 2, 3, 5}
    limit(3)
    assert user.cube.retention(now_s=1060.0).declined == ((QUERY, 0), (QUERY, 1))
    assert panes(user) == {2, 3, 5}
    assert len(list((user.directory / "segments").iterdir())) == 3


def test_rows_that_wait_for_a_cut_are_not_safe_though_the_pane_was_acknowledged(
    open_cube: Open,
) -> None:
    user = filled(open_cube, 1, retention_s=25)
    ack(user, 0)
    user.commit((0, "/late", 1))
    run = user.cube.retention(now_s=2000.0)
    assert run.declined == ((QUERY, 0),)


def test_a_pane_that_the_root_is_done_with_leaves_no_trace(open_cube: Open) -> None:
    user = filled(open_cube, 2, retention_s=25)
    done = EdgeRecord(first_pane=0, done_through=2)
    user.cube.write([MarkAcked(QUERY, (), 2, done)])
    run = user.cube.retention(now_s=2000.0)
    assert (run.dropped, run.declined) == (2, ())
    assert user.cube.status().panes == 0


def test_what_the_root_wants_no_more_goes_as_if_it_had_it(open_cube: Open) -> None:
    """Made or not, without a word, and before what it still wants."""
    user = filled(open_cube, 3, retention_s=25)
    user.commit((1, "/late", 1))
    left = EdgeRecord(first_pane=0, unwanted=((1, 5),))
    user.cube.write([MarkAcked(QUERY, (), 0, left)])
    run = user.cube.retention(now_s=2000.0)
    assert run.declined == ((QUERY, 0),)
    assert run.dropped == 3
    kept = {one.pane: one.updates for one in user.cube.restore()[0].panes}
    assert kept == {1: 1, 2: 1}, "and the count of its updates stays, for digests"


def test_over_the_bytes_what_is_unwanted_goes_first(open_cube: Open) -> None:
    user = filled(open_cube, 3)
    one = user.cube.status().segment_bytes // 3
    left = EdgeRecord(first_pane=0, unwanted=((2, 2),))
    user.cube.write([MarkAcked(QUERY, (), 0, left)])
    user.cube._retention = RetentionConfig(retention_bytes=2 * one + one // 2)
    assert user.cube.retention(now_s=1060.0).declined == ()
    assert panes(user) == {0, 1}


def test_within_its_limits_nothing_goes(open_cube: Open) -> None:
    user = filled(open_cube, 3, retention_s=1000)
    assert user.cube.retention(now_s=1060.0).dropped == 0
    assert panes(user) == {0, 1, 2}


def test_retention_that_fails_leaves_all_as_it_was(
    open_cube: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = filled(open_cube, 3, retention_s=1)
    queries = user.cube._queries

    def fail(*_: object, **__: object) -> None:
        raise KeyError

    monkeypatch.setattr(queries, "end_pane", fail)
    with pytest.raises(KeyError):
        user.cube.retention(now_s=9000.0)
    monkeypatch.undo()
    assert panes(user) == {0, 1, 2}
    assert user.cube.restore()[0].record.declined == ()


@pytest.mark.parametrize("later_s", [-86_400.0, 0.0, 86_400.0])
def test_a_clock_that_is_set_between_two_lives_makes_nothing_expire(
    open_cube: Open, later_s: float
) -> None:
    """How long the site was away nobody knows: what was written last counts as written now."""
    user = filled(open_cube, 3, retention_s=25)
    user.clock.now_s = 1020.0 + later_s
    user.reopen()
    assert user.cube.retention(now_s=1020.0 + later_s + 4.0).dropped == 0
    run = user.cube.retention(now_s=1020.0 + later_s + 6.0)
    assert run.declined == ((QUERY, 0),), "and the others as long before as they were"


def test_a_life_under_another_incarnation_has_nothing_acknowledged(open_cube: Open) -> None:
    user = filled(open_cube, 2, retention_s=1000)
    ack(user, 0, 1)
    user.cube.live_anew(user.cube.incarnation)
    user.reopen()
    assert [kept.is_acked for kept in user.cube.restore()[0].panes] == [False, False]


def test_what_is_set_aside_because_its_record_can_not_be_read_is_left_as_it_is(
    open_cube: Open,
) -> None:
    user = filled(open_cube, 4, retention_s=25)
    with user.cube.manifest.transaction():
        user.cube.manifest.run("UPDATE queries SET record = x'c1'")
    user.reopen()
    assert list(user.cube.unread()) == [QUERY]
    assert user.cube.restore() == []
    before = user.cube.status().panes
    assert user.cube.retention(now_s=9_999.0).dropped == 0
    assert user.cube.status().panes == before == 4
    user.cube.write([Forget(QUERY)])
    assert user.cube.status().panes == user.cube.status().segments == 0


def test_panes_of_a_stream_that_keeps_them_longer_stay(open_cube: Open) -> None:
    user = filled(open_cube, 4, keep_s=60.0, retention_s=25)
    ack(user, 0, 1, 2, 3)
    assert user.cube.retention(now_s=1055.0).dropped == 0
    assert user.cube.retention(now_s=1075.0).dropped == 2
    assert panes(user) == {2, 3}


def test_a_shorter_keep_than_the_cubes_own_says_nothing(open_cube: Open) -> None:
    user = filled(open_cube, 4, keep_s=5.0, retention_s=25)
    ack(user, 0, 1, 2, 3)
    assert user.cube.retention(now_s=1030.0).dropped == 1


def test_over_the_bytes_what_is_kept_longer_goes_after_what_is_not(open_cube: Open) -> None:
    user = open_cube(keep_s_of=lambda query: 1e6 if query == QUERY else 0.0)
    for query in (QUERY, OTHER):
        user.install(query)
        user.commit((0, "/a", 1), query=query)
        user.make_updates(0, query=query, sent=True)
        user.cube.write([MarkAcked(query, ((0, 0),), 0, RECORD)])
        user.clock.now_s += 10.0
    half = user.cube.status().segment_bytes // 2
    user.cube._retention = RetentionConfig(retention_s=5.0, retention_bytes=half + half // 2)
    run = user.cube.retention(now_s=user.clock() + 10.0)
    assert (run.dropped, run.declined) == (1, ())
    assert user.cube.rows(QUERY, 0, ((1, 1),)).num_rows == 1
