"""A batch that failed, and input that was lost, are not forgotten in a crash.

::

    commit_batch ──► report ──► Edge ──► Remember ──► cube
                  ^          ^        ^
                  └──────────┴────────┴ a crash here must not lose the decline
"""

from __future__ import annotations

import msgspec
from store_kit import QUERY, SOURCE, CubeUser, gave, query_of

from headwater.algebra.panes import MICROS
from headwater.algebra.words.site_state import Declined, Reason, SiteState
from headwater.edge.config import EdgeConfig
from headwater.edge.edge import Edge
from headwater.edge.outputs import Forget, Output, Remember, Report
from headwater.edge.record import EdgeRecord, QueryKept
from headwater.edge.report import BatchReport
from headwater.node.effects import CubeWrite
from headwater.plan.query import Query
from headwater.reading.outcome import Batch, QueryResult, SiteOutcome
from headwater.store.input.new_cut import NewCut

SECOND = "hits@home#2"


def fail(
    user: CubeUser, touched: tuple[int, int] | None = (3, 4), query: str = QUERY
) -> BatchReport:
    through = user.cut_input()
    return user.cube.commit_batch(
        Batch(SOURCE, user.cube.cuts.state(SOURCE).epoch, through, through),
        SiteOutcome((QueryResult(query, failed="divide by zero", touched=touched),)),
    )


def kept_of(user: CubeUser, query: str = QUERY) -> QueryKept:
    return next(kept for kept in user.cube.restore() if kept.query == query)


def query_from(pane: int, counter: int = 1) -> Query:
    return msgspec.structs.replace(query_of(counter=counter), begin_pane=pane)


def edge_of(user: CubeUser, *queries: Query, now_s: float) -> Edge:
    """An edge that has taken up what the cube has."""
    edge = Edge(ordinal=1, incarnation=user.cube.incarnation, config=EdgeConfig(), retention_s=1e9)
    edge.restore(user.cube.restore())
    for query in queries:
        edge.install(query, now_s=now_s)
    return edge


def work(user: CubeUser, edge: Edge, *, now_s: float) -> list[SiteState]:
    """One tick: the cube writes what is to be written; the states that were told."""
    edge.tick(now_s=now_s, room=lambda query: 1 << 20)
    outputs: list[Output] = edge.take()
    writes = [one for one in outputs if isinstance(one, CubeWrite)]
    for done in user.cube.write(writes):
        edge.updates_made(done or (), now_s=now_s)
    return [state for one in outputs if isinstance(one, Report) for state in one.states]


def test_a_failed_batch_is_kept_until_a_record_knows_of_it(user: CubeUser) -> None:
    report = fail(user)
    user.reopen()
    (failure,) = kept_of(user).failures
    assert failure == report.queries[0]
    assert (failure.failed, failure.touched) == ("divide by zero", (3, 4))
    user.cube.write([Remember(QUERY, EdgeRecord(first_pane=0, state_number=7))])
    assert kept_of(user).failures, "a record that was made before the failure was heard of"
    user.cube.write([Remember(QUERY, EdgeRecord(first_pane=0, failure_heard=failure.failure))])
    assert not kept_of(user).failures


def test_a_failure_with_unknown_panes_is_kept_too(user: CubeUser) -> None:
    fail(user, touched=None)
    user.reopen()
    assert kept_of(user).failures[0].touched is None


def test_a_query_that_is_removed_takes_its_failures_along(user: CubeUser) -> None:
    fail(user)
    user.cube.write([Forget(QUERY)])
    user.install()
    assert not kept_of(user).failures


def test_a_crash_right_after_the_commit_does_not_lose_the_decline(user: CubeUser) -> None:
    query = query_from(100)
    edge = edge_of(user, query, now_s=user.clock.now_s)
    work(user, edge, now_s=user.clock.now_s)
    fail(user, touched=(101, 102))
    user.reopen()  # the edge never heard of it
    now_s = query.window.pane_end_us(110) / MICROS
    edge = edge_of(user, query, now_s=now_s)
    edge.batch_committed(BatchReport(SOURCE, read_through_s=now_s), now_s=now_s)
    (state,) = work(user, edge, now_s=now_s)
    assert Declined(first=101, last=102, reason=Reason.FAILED) in state.declined
    assert not kept_of(user).failures, "its record knows of it now"
    user.reopen()
    edge = edge_of(user, query, now_s=now_s)
    assert (
        Declined(first=101, last=102, reason=Reason.FAILED)
        in work(user, edge, now_s=now_s)[-1].declined
    )


def test_a_failure_counts_once_however_often_the_process_ends(user: CubeUser) -> None:
    query = query_from(100)
    work(user, edge_of(user, query, now_s=990.0), now_s=990.0)
    fail(user, touched=(101, 101))
    for _ in range(3):
        user.reopen()
        work(user, edge_of(user, query, now_s=1_000.0), now_s=1_000.0)
    assert kept_of(user).record.failures == 1


def test_a_loss_is_told_until_the_record_of_every_query_knows_of_it(user: CubeUser) -> None:
    first, second = query_from(0), query_from(0, counter=2)
    user.cube.write(
        [Remember(id_, EdgeRecord(first_pane=0, source=SOURCE)) for id_ in (QUERY, SECOND)]
    )
    cut = user.cut_input()
    user.cube.cuts.quarantine(SOURCE, cut)
    state = user.cube.cuts.state(SOURCE)
    told = user.cube.cuts.polled(state, started_s=10.0, is_clean=True)
    assert told is not None
    user.cut_input()  # a transaction after the report, before any record
    user.reopen()
    state = user.cube.cuts.state(SOURCE)
    assert list(state.losses) == [told.loss_through], "no record knew of it"
    again = state.report()
    edge = edge_of(user, first, second, now_s=25.0)
    edge.batch_committed(again, now_s=25.0)
    states = work(user, edge, now_s=25.0)
    assert [one.damaged for one in states] == [((0, 2),), ((0, 2),)]
    user.cut_input()
    assert not user.cube.cuts.state(SOURCE).losses
    edge.batch_committed(again, now_s=95.0)
    found = [(one.damaged, one.tally.lost_bytes) for one in work(user, edge, now_s=95.0)]
    assert found == [(((0, 2),), 2)] * 2, "who knows of it does not count it again"


def doubt(user: CubeUser, *rows: tuple[int, str, int]) -> BatchReport:
    """Commit a batch of what may have been read before."""
    state = user.cube.cuts.open_source(SOURCE)
    if not state.epoch:
        user.cube.cuts.begin_epoch(SOURCE)
    chunk = user.cube.cuts.spool.write("chunk", [b"x\n"])
    cut = NewCut("f", 0, 2, chunk, 2, 2, is_doubtful=True)
    user.cube.cuts.register(state, [cut], poll_s=user.clock())
    return user.cube.commit_batch(
        Batch(SOURCE, state.epoch, state.last_cut, state.last_cut), gave(*rows)
    )


def test_what_may_have_been_read_twice_damages_its_panes_in_the_batchs_own_transaction(
    user: CubeUser,
) -> None:
    report = doubt(user, (3, "/a", 1), (5, "/b", 1))
    assert report.queries[0].twice_bytes == 2
    user.reopen()
    assert kept_of(user).record.damaged == ((3, 3), (5, 5))


def test_a_record_of_an_edge_that_has_not_heard_of_it_yet_leaves_the_damage(user: CubeUser) -> None:
    before = kept_of(user).record
    doubt(user, (3, "/a", 1), (5, "/b", 1))
    user.cube.write([Remember(QUERY, msgspec.structs.replace(before, damaged=((8, 8),)))])
    assert kept_of(user).record.damaged == ((3, 3), (5, 5), (8, 8))
    user.cube.write([Remember(QUERY, msgspec.structs.replace(before, done_through=5))])
    assert kept_of(user).record.damaged == ((5, 5), (8, 8)), "the root wants no more of the others"


def test_a_header_that_many_files_have_puts_nothing_in_doubt(user: CubeUser) -> None:
    report = doubt(user)
    assert report.queries[0].twice_bytes == 0
    assert kept_of(user).record.damaged == ()
