"""Scenarios at the root: summaries and states go in, answers and acknowledgements come out."""

from __future__ import annotations

import msgspec
import pytest
from pane_kit import RootDesk, RootDisk, make_query, make_roster, part, state, whole

from headwater.algebra.coverage import Coverage
from headwater.algebra.sets import bitset
from headwater.algebra.summary import Lane, Summary
from headwater.algebra.words.remark import Remark
from headwater.algebra.words.site_state import (
    FOREVER,
    Declined,
    PaneState,
    Reason,
    SiteState,
    Tally,
    Unread,
)
from headwater.root.config import RootConfig
from headwater.root.outputs import Acknowledge, Answer, Keep, KeepState, Trim
from headwater.root.said.envelope import MissingSite, Trigger
from headwater.root.said.view import explain

A, B, C = 100, 200, 300
"""Incarnations of sites 0, 1 and 2."""
LIVES = (A, B, C)


def desk(query=None, *, sites=2, hears=True, now_s=0.0, **options) -> RootDesk:
    query = query or make_query()
    made = RootDesk(query, make_roster(sites), now_s=now_s, **options)
    if hears:
        made.hear(*(state(query, n, of=LIVES[n]) for n in range(sites)), now_s=now_s)
    return made


def merged(query, pane, sites, rows) -> Summary:
    """What a relay makes of whole panes of several sites."""
    coverage = Coverage()
    for ordinal in sites:
        coverage = coverage.merge(Coverage.of_whole(ordinal, LIVES[ordinal]))
    return Summary(query=str(query.id), pane=pane, coverage=coverage, rows=tuple(rows))


def empties(query, pane, sites) -> Summary:
    coverage = Coverage()
    for ordinal in sites:
        coverage = coverage.merge(Coverage.of_empty(ordinal, LIVES[ordinal]))
    return Summary(query=str(query.id), pane=pane, coverage=coverage)


# Answering


def test_a_complete_window_is_answered_at_once():
    root = desk()
    root.receive(merged(root.query, 0, [0, 1], [1, 2]), now_s=12.0)
    root.work(now_s=12.0)
    envelope = root.newest(0).envelope
    assert root.newest(0).rows == (1, 2)
    assert envelope.trigger is Trigger.COMPLETE
    assert (envelope.exact, envelope.final) == (True, False)
    assert (envelope.expected, envelope.covered, envelope.missing) == (2, 2, ())
    assert (envelope.start_us, envelope.end_us) == (0, 10_000_000)
    assert envelope.staleness_s == 2.0


def test_an_incomplete_window_is_answered_at_its_deadline_with_who_is_missing():
    root = desk()
    root.work(now_s=10.0)
    root.receive(whole(root.query, 0, 0, [1], of=A), now_s=11.0)
    root.work(now_s=19.9)
    assert root.published == {}
    root.work(now_s=20.0)
    envelope = root.newest(0).envelope
    assert envelope.trigger is Trigger.DEADLINE
    assert not envelope.exact
    assert envelope.missing == (
        MissingSite("s1", PaneState.UNKNOWN, "no word of this pane yet", ((0, 0),)),
    )


def test_silence_is_answered_too_when_the_query_has_a_begin():
    root = desk()
    root.work(now_s=10.0)
    root.work(now_s=20.0)
    assert root.newest(0).rows == ()
    assert root.newest(0).envelope.covered == 0


def test_a_deadline_runs_from_the_first_news_where_only_rows_make_windows():
    query = make_query(begin_pane=None)
    root = desk(query)
    root.receive(whole(query, 0, 0, [1], of=A), now_s=50.0)
    root.work(now_s=59.9)
    assert root.published == {}
    root.work(now_s=60.0)
    assert root.newest(0).rows == (1,)


def test_deadlines_go_by_the_clocks_of_the_sites():
    """Two of three sites are 30 s behind the root: their window ends so much later."""
    query = make_query(deadline_s=5.0)
    root = desk(query, sites=3, hears=False)
    for ordinal, offset_s in enumerate((0.0, 30.0, 30.0)):
        heard = SiteState(
            query=str(query.id),
            ordinal=ordinal,
            incarnation=A,
            number=1,
            first_pane=0,
            offset_s=offset_s,
        )
        root.hear(heard, now_s=1.0 + 3.0 * ordinal)
    root.work(now_s=11.0)
    root.work(now_s=40.0)
    root.work(now_s=44.9)
    assert root.published == {}
    root.work(now_s=45.0)
    assert 0 in root.published


def test_windows_without_rows_are_not_answered_where_only_rows_make_windows():
    query = make_query(begin_pane=None)
    root = desk(query)
    root.receive(empties(query, 0, [0, 1]), now_s=11.0)
    root.receive(merged(query, 1, [0, 1], [1]), now_s=21.0)
    root.work(now_s=200.0)
    assert set(root.published) == {1}


def test_history_has_no_deadline_while_sites_catch_up():
    query = make_query(begin_pane=None)
    root = desk(query, hears=False, now_s=1000.0)
    root.hear(state(query, 0, of=A, first_pane=-FOREVER, catching_up=True), now_s=1000.0)
    root.receive(part(query, 3, 0, [1], of=A), now_s=1001.0)
    root.work(now_s=5000.0)
    assert root.published == {}
    root.hear(state(query, 0, of=A, number=2, first_pane=-FOREVER), now_s=5000.0)
    root.work(now_s=5009.9)
    assert root.published == {}
    root.work(now_s=5010.0)
    assert root.newest(3).rows == (1,)


def test_with_a_finite_input_there_is_no_deadline():
    query = make_query(begin_pane=None, ends=True)
    root = desk(query)
    root.receive(whole(query, 0, 0, [1], of=A), now_s=5.0)
    root.work(now_s=10_000.0)
    assert root.published == {}


def test_after_the_root_was_down_deadlines_run_from_its_return():
    root = desk()
    root.receive(whole(root.query, 0, 0, [1], of=A), now_s=11.0)
    root.start(now_s=500.0)
    root.work(now_s=500.0)
    root.work(now_s=509.9)
    assert root.published == {}
    root.work(now_s=510.0)
    assert root.newest(0).rows == (1,)


def test_a_revision_follows_when_more_arrives_and_not_before_its_pause():
    root = desk(make_query(revise_every_s=5.0))
    root.work(now_s=10.0)
    root.receive(whole(root.query, 0, 0, [1], of=A), now_s=11.0)
    root.work(now_s=20.0)
    root.receive(whole(root.query, 0, 1, [2], of=B), now_s=21.0)
    root.work(now_s=24.9)
    assert len(root.published[0]) == 1
    root.work(now_s=25.0)
    assert root.newest(0).rows == (1, 2)
    assert root.newest(0).envelope.trigger is Trigger.REVISION
    assert root.newest(0).envelope.revision == 2


def test_a_revision_that_changes_nothing_is_not_made():
    root = desk()
    summary = merged(root.query, 0, [0, 1], [1, 2])
    root.receive(summary, now_s=12.0)
    root.work(now_s=12.0)
    root.receive(summary, now_s=14.0)
    root.hear(state(root.query, 0, of=A, number=2, tally=Tally(unparsed=3)), now_s=15.0)
    root.work(now_s=16.0)
    assert len(root.published[0]) == 1


def test_an_answer_names_the_sites_that_remark_something_about_their_input():
    root = desk()
    remarks = (Remark("no file", "no file matches 'a*'"), Remark("malformed", "9 of 9 lines"))
    root.hear(state(root.query, 0, of=A, number=2, remarks=remarks), now_s=11.0)
    root.receive(merged(root.query, 0, [0, 1], [1, 2]), now_s=12.0)
    root.work(now_s=12.0)
    found = root.newest(0).envelope
    assert [(one.kind, one.text) for one in found.remarks] == [(r.kind, r.text) for r in remarks]
    assert found.remark_count == 2
    assert found.exact, "all that is there is in"
    why = explain(root.root, 0)
    assert f"{found.remarks[0].site}: no file matches 'a*'" in why.text()
    assert "could not be parsed" not in why.text()
    root.hear(state(root.query, 0, of=A, number=3, tally=Tally(unparsed=3)), now_s=13.0)
    assert root.root.table.remarks() == ()
    assert "since the query began 3 lines could not be parsed for it" in (
        explain(root.root, 0).text()
    )


def test_due_windows_are_answered_together_newest_first_and_one_of_the_oldest():
    root = desk(config=RootConfig(windows_per_answer_max=3))
    for pane in range(5):
        root.receive(merged(root.query, pane, [0, 1], [pane]), now_s=60.0)
    root.work(now_s=60.0)
    answers = [output for output in root.outputs if isinstance(output, Answer)]
    assert [[r.window for r in answer.requests] for answer in answers] == [[4, 3, 0], [2, 1]]


def test_sliding_windows_share_their_panes():
    query = make_query(panes=2, slide=1)
    root = desk(query)
    for pane in range(3):
        root.receive(merged(query, pane, [0, 1], [pane]), now_s=35.0)
    root.work(now_s=35.0)
    assert {window: root.newest(window).rows for window in root.published} == {0: (0, 1), 1: (1, 2)}


def test_an_answer_has_only_what_was_kept_when_its_envelope_was_made():
    root = desk()
    root.work(now_s=10.0)
    root.is_slow = True
    root.receive(whole(root.query, 0, 0, [1], of=A), now_s=11.0)
    root.work(now_s=20.0)
    root.receive(whole(root.query, 0, 1, [2], of=B), now_s=20.5)
    root.finish(now_s=22.0)
    assert root.newest(0).rows == (1,)
    root.work(now_s=23.0)
    root.finish(now_s=23.5)
    assert root.newest(0).rows == (1, 2)


def test_a_failed_answer_is_tried_again_after_a_pause_that_doubles():
    root = desk()
    root.failure = "Spark died"
    root.receive(merged(root.query, 0, [0, 1], [1]), now_s=12.0)
    root.work(now_s=12.0)
    assert root.root.progress().failure == "Spark died"
    times = []
    for tenth in range(100):
        before = len(root.outputs)
        root.work(now_s=12.0 + tenth / 10)
        if any(isinstance(output, Answer) for output in root.outputs[before:]):
            times.append(tenth / 10)
    assert times == [1.0, 3.0, 7.0]
    root.failure = None
    root.work(now_s=40.0)
    assert root.newest(0).rows == (1,)
    assert root.root.progress().failure is None


# What is let in


def test_disjoint_is_merged_contained_is_dropped_and_partly_overlapping_is_refused_whole():
    root = desk(sites=3)
    query = root.query
    root.receive(merged(query, 0, [0, 1], [1, 2]), now_s=11.0)
    root.receive(whole(query, 0, 0, [1], of=A), now_s=11.1)
    root.receive(merged(query, 0, [1, 2], [2, 3]), now_s=11.2)
    assert root.disk.rows([0], kept_through=99) == (1, 2)
    counters = root.root.counters
    assert (counters["accepted"], counters["contained"], counters["overlapping"]) == (1, 1, 1)
    root.receive(whole(query, 0, 2, [3], of=C), now_s=11.3)
    assert root.disk.rows([0], kept_through=99) == (1, 2, 3)


def test_a_summary_that_speaks_of_an_unknown_incarnation_is_refused():
    root = desk()
    root.receive(whole(root.query, 0, 0, [1], of=A + 1), now_s=11.0)
    assert root.root.counters["mistagged"] == 1
    assert root.disk.kept == {}


def test_spelled_out_parts_are_let_in_before_the_site_has_spoken():
    root = desk(hears=False)
    root.receive(part(root.query, 0, 0, [1], of=A), now_s=11.0)
    assert root.disk.rows([0], kept_through=99) == (1,)


def test_a_site_outside_the_node_set_is_refused_and_shown():
    query = make_query(sites=("s0",))
    root = desk(query, hears=False, sites=3)
    root.receive(part(query, 0, 1, [1], of=B), now_s=11.0)
    root.hear(state(query, 2, of=C), now_s=11.0)
    assert root.disk.kept == {}
    assert [notice.kind for notice in root.notices] == ["stranger", "stranger"]


@pytest.mark.parametrize(
    "coverage",
    [
        Coverage(whole=1, empty=1),
        Coverage.of_part(0, A, updates=((1, 3),), closed_at=2),
        Coverage.of_part(0, A, updates=((0, 1),), closed_at=2),
        Coverage(whole=1 << 40),
        Coverage(
            parts=(
                *Coverage.of_part(0, A, updates=((1, 1),), closed_at=1).parts,
                *Coverage.of_part(0, A, updates=((1, 1),), closed_at=1).parts,
            )
        ),
    ],
)
def test_a_malformed_coverage_is_refused_without_an_exception(coverage):
    root = desk()
    root.receive(
        Summary(query=str(root.query.id), pane=0, coverage=coverage, rows=(1,)), now_s=11.0
    )
    assert root.notices[-1].kind == "stranger"
    assert root.disk.kept == {}


def test_a_late_update_is_merged_and_revises_the_answer():
    root = desk()
    query = root.query
    root.receive(merged(query, 0, [0, 1], [1, 2]), now_s=12.0)
    root.work(now_s=12.0)
    root.receive(part(query, 0, 0, [3], of=A, updates=((2, 2),), closed_at=2), now_s=15.0)
    root.work(now_s=15.0)
    assert root.newest(0).rows == (1, 2, 3)
    assert root.newest(0).envelope.exact


def test_a_known_but_missing_update_makes_an_answer_inexact_and_does_not_lower_coverage():
    root = desk()
    query = root.query
    root.receive(merged(query, 0, [0, 1], [1, 2]), now_s=12.0)
    root.work(now_s=12.0)
    root.hear(state(query, 0, of=A, number=2, counts=((0, 2),)), now_s=14.0)
    root.work(now_s=14.0)
    envelope = root.newest(0).envelope
    assert not envelope.exact
    assert envelope.covered == 2
    assert envelope.missing == (
        MissingSite("s0", PaneState.CLOSED, "1 of 2 updates is awaited: 2", ((0, 0),)),
    )


def test_a_pane_of_a_site_counts_from_one_incarnation_only():
    root = desk()
    query = root.query
    root.receive(whole(query, 0, 0, [1], of=A), now_s=11.0)
    root.hear(state(query, 0, of=A + 50, first_pane=-FOREVER), now_s=12.0)
    root.receive(part(query, 0, 0, [1, 9], of=A + 50), now_s=13.0)
    assert root.disk.rows([0], kept_through=99) == (1,)
    assert root.root.counters["overlapping"] == 1


@pytest.mark.parametrize("is_sealed", [True, False])
def test_only_what_a_former_incarnation_sealed_stays_exact(is_sealed):
    """A late update may have been lost with the cube, also of a pane that was closed."""
    root = desk()
    query = root.query
    root.receive(merged(query, 0, [0, 1], [1, 2]), now_s=11.0)
    root.hear(state(query, 0, of=A, number=2, sealed_through=1 if is_sealed else 0), now_s=11.0)
    lost = (Declined(first=0, last=1, reason=Reason.LOST),)
    root.hear(state(query, 0, of=A + 50, first_pane=2, declined=lost), now_s=12.0)
    root.work(now_s=12.0)
    assert root.newest(0).rows == (1, 2)
    assert root.newest(0).envelope.exact is is_sealed


def test_what_a_former_incarnation_left_unfinished_is_lost():
    root = desk()
    query = root.query
    root.receive(part(query, 0, 0, [1], of=A, updates=((1, 1),), closed_at=2), now_s=11.0)
    root.receive(whole(query, 0, 1, [5], of=B), now_s=11.0)
    root.hear(state(query, 0, of=A + 50, first_pane=2), now_s=12.0)
    root.work(now_s=12.0)
    envelope = root.newest(0).envelope
    assert envelope.trigger is Trigger.COMPLETE, "nothing more is awaited"
    assert envelope.missing[0].state is PaneState.DECLINED
    assert root.newest(0).rows == (1, 5)


def test_an_earlier_incarnation_is_not_heard_any_more():
    root = desk()
    root.hear(state(root.query, 0, of=A - 1, number=9), now_s=11.0)
    assert root.notices[-1].kind == "earlier incarnation"


# Spares


def spare(query, pane, ordinal, rows):
    return part(query, pane, ordinal, rows, of=LIVES[ordinal], lane=Lane.SPARE)


def test_a_spare_never_spoils_an_aggregate_that_is_under_way():
    root = desk(sites=3)
    query = root.query
    root.receive(spare(query, 0, 0, [1]), now_s=11.0)
    root.receive(merged(query, 0, [0, 1, 2], [1, 2, 3]), now_s=12.0)
    root.work(now_s=12.0)
    assert root.newest(0).rows == (1, 2, 3)
    assert root.newest(0).envelope.exact


def test_a_parked_spare_fills_a_gap_when_the_window_is_answered():
    root = desk(sites=3)
    query = root.query
    root.work(now_s=10.0)
    root.receive(spare(query, 0, 0, [1]), now_s=11.0)
    root.receive(whole(query, 0, 1, [2], of=B), now_s=12.0)
    root.work(now_s=20.0)
    assert root.published[0][0].rows == (2,)
    root.work(now_s=21.0)
    assert root.newest(0).rows == (1, 2)


def test_a_spare_is_used_when_nothing_else_is_missing():
    root = desk()
    root.receive(spare(root.query, 0, 0, [1]), now_s=11.0)
    root.receive(whole(root.query, 0, 1, [2], of=B), now_s=12.0)
    root.work(now_s=12.0)
    assert root.newest(0).envelope.trigger is Trigger.COMPLETE
    assert root.newest(0).rows == (1, 2)


def test_a_spare_is_used_after_the_life_of_a_summary():
    query = make_query(begin_pane=None, ends=True)
    root = desk(query, sites=3, config=RootConfig(summary_life_s=30.0))
    root.receive(spare(query, 0, 0, [1]), now_s=100.0)
    root.work(now_s=129.9)
    assert root.disk.kept == {}
    root.work(now_s=130.0)
    assert root.disk.rows([0], kept_through=9) == (1,)


def test_parking_is_bounded_and_the_oldest_is_let_in_before_its_time():
    root = desk(sites=3, config=RootConfig(parked_max=2))
    for pane in range(4):
        root.receive(spare(root.query, pane, 0, [pane]), now_s=1.0)
    assert root.root.progress().parked == 2
    assert [notice.kind for notice in root.notices] == ["parking is full", "parking is full"]
    assert root.disk.rows([0, 1, 2, 3], kept_through=9) == (0, 1), "nobody has to send it again"


def test_a_spare_without_updates_spoils_no_aggregate_and_never_waits():
    root = desk()
    query = root.query
    closed = part(query, 0, 0, None, of=A, updates=(), closed_at=0, lane=Lane.SPARE)
    root.receive(closed, now_s=11.0)
    assert root.root.progress().parked == 0
    both = empties(query, 0, [0]).coverage.merge(whole(query, 0, 1, [2], of=B).coverage)
    root.receive(Summary(query=str(query.id), pane=0, coverage=both, rows=(2,)), now_s=12.0)
    root.work(now_s=12.0)
    assert root.newest(0).envelope.exact
    assert root.newest(0).rows == (2,)


# States


def test_panes_closed_empty_in_bulk_count_as_covered():
    root = desk()
    query = root.query
    root.hear(state(query, 1, of=B, number=2, empty=((0, 20),)), now_s=11.0)
    root.receive(whole(query, 0, 0, [1], of=A), now_s=12.0)
    root.work(now_s=12.0)
    assert root.newest(0).envelope.exact


def test_a_late_update_after_an_empty_close_is_awaited():
    root = desk()
    query = root.query
    root.receive(empties(query, 0, [0, 1]), now_s=11.0)
    root.work(now_s=11.0)
    assert root.newest(0).envelope.exact
    root.hear(state(query, 0, of=A, number=2, counts=((0, 1),)), now_s=13.0)
    root.work(now_s=13.0)
    assert not root.newest(0).envelope.exact
    assert not root.acks[-1].panes[0].sites & 1, "the bit would be taken for the update"
    root.receive(part(query, 0, 0, [7], of=A), now_s=15.0)
    root.work(now_s=15.0)
    assert root.newest(0).envelope.exact
    assert root.newest(0).rows == (7,)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"declined": (Declined(first=0, last=3, reason=Reason.FAILED),)}, "failed"),
        ({"declined": (Declined(first=0, last=0, reason=Reason.EXPIRED),)}, "expired"),
        ({"declined": (Declined(first=0, last=0, reason=Reason.LIMIT),)}, "limit"),
        ({"first_pane": 5}, "not installed"),
        ({"first_pane": 5, "declined": (Declined(first=0, last=4, reason=Reason.LOST),)}, "lost"),
        (
            {
                "first_pane": None,
                "declined": (Declined(first=-FOREVER, last=FOREVER, reason=Reason.REFUSED),),
            },
            "refused",
        ),
        (
            {
                "first_pane": None,
                "message": "column 'x' has level denied" + "!" * 1000,
                "declined": (Declined(first=-FOREVER, last=FOREVER, reason=Reason.REFUSED),),
            },
            "refused: column 'x' has level denied" + "!" * 573,
        ),
    ],
)
def test_what_never_comes_is_not_waited_for_and_is_named(fields, reason):
    root = desk()
    query = root.query
    root.hear(state(query, 1, of=B, number=2, **fields), now_s=11.0)
    root.receive(whole(query, 0, 0, [1], of=A), now_s=12.0)
    root.work(now_s=12.0)
    envelope = root.newest(0).envelope
    assert envelope.trigger is Trigger.COMPLETE
    assert not envelope.exact
    assert envelope.missing == (MissingSite("s1", PaneState.DECLINED, reason, ((0, 0),)),)


def test_of_many_sites_that_refuse_some_are_told_in_their_own_words(monkeypatch):
    monkeypatch.setattr("headwater.root.said.assess.REFUSALS_TOLD_MAX", 1)
    root = desk()
    refused = (Declined(first=-FOREVER, last=FOREVER, reason=Reason.REFUSED),)
    for ordinal, incarnation in ((0, A), (1, B)):
        root.hear(
            state(
                root.query,
                ordinal,
                of=incarnation,
                number=2,
                first_pane=None,
                declined=refused,
                message="no",
            ),
            now_s=11.0,
        )
    root.work(now_s=30.0)
    reasons = [one.reason for one in root.newest(0).envelope.missing]
    assert reasons == ["refused: no", "refused"]


def test_rows_of_a_declined_pane_count_but_the_answer_is_not_exact():
    root = desk()
    query = root.query
    failed = (Declined(first=0, last=0, reason=Reason.FAILED),)
    root.hear(state(query, 1, of=B, number=2, declined=failed), now_s=11.0)
    root.receive(merged(query, 0, [0, 1], [1, 2]), now_s=12.0)
    root.work(now_s=12.0)
    assert root.newest(0).rows == (1, 2)
    assert not root.newest(0).envelope.exact


def test_damaged_panes_are_never_exact():
    root = desk()
    query = root.query
    root.hear(state(query, 1, of=B, number=2, damaged=((0, 0),)), now_s=11.0)
    root.receive(merged(query, 0, [0, 1], [1, 2]), now_s=12.0)
    root.work(now_s=12.0)
    envelope = root.newest(0).envelope
    assert (envelope.exact, envelope.damaged, envelope.covered) == (False, 1, 2)


def test_an_update_that_overtakes_the_state_with_its_damage_makes_no_exact_answer():
    """Of a pane that can't be exact the close comes with the state, and the rows may be earlier."""
    root = desk()
    query = root.query
    root.receive(merged(query, 0, [0, 1], [1, 2]), now_s=12.0)
    root.work(now_s=12.0)
    assert root.newest(0).envelope.exact
    root.receive(part(query, 0, 1, [2], of=B, updates=((2, 2),), closed_at=None), now_s=15.0)
    root.work(now_s=60.0)
    assert root.newest(0).rows == (1, 2, 2)
    assert not root.newest(0).envelope.exact
    told = state(query, 1, of=B, number=2, damaged=((0, 0),), counts=((0, 2),))
    root.hear(told, now_s=61.0)
    root.work(now_s=120.0)
    envelope = root.newest(0).envelope
    assert (envelope.exact, envelope.damaged, envelope.missing) == (False, 1, ())


def test_an_answer_is_final_when_every_site_has_sealed_it():
    root = desk()
    query = root.query
    root.receive(merged(query, 0, [0, 1], [1, 2]), now_s=12.0)
    root.work(now_s=12.0)
    root.hear(state(query, 0, of=A, number=2, sealed_through=1), now_s=50.0)
    root.work(now_s=50.0)
    assert not root.newest(0).envelope.final
    root.hear(state(query, 1, of=B, number=2, sealed_through=1), now_s=51.0)
    root.work(now_s=51.0)
    assert root.newest(0).envelope.final
    assert root.newest(0).envelope.exact
    assert [out for out in root.outputs if isinstance(out, Trim)][-1].done_through == 1


def test_sealed_is_not_final_while_an_update_is_missing():
    root = desk()
    query = root.query
    sealed = {"number": 2, "sealed_through": 1}
    root.hear(state(query, 0, of=A, **sealed), state(query, 1, of=B, **sealed), now_s=11.0)
    root.receive(whole(query, 0, 0, [1], of=A), now_s=12.0)
    root.work(now_s=30.0)
    assert not root.newest(0).envelope.final
    root.receive(spare(query, 0, 1, [2]), now_s=31.0)
    root.work(now_s=31.0)
    assert root.newest(0).envelope.final


def test_final_is_final_whatever_arrives():
    root = desk()
    query = root.query
    root.is_slow = True
    sealed = {"number": 2, "sealed_through": 1}
    root.receive(merged(query, 0, [0, 1], [1, 2]), now_s=12.0)
    root.hear(state(query, 0, of=A, **sealed), state(query, 1, of=B, **sealed), now_s=12.0)
    root.work(now_s=12.0)
    rogue = part(query, 0, 0, [99], of=A, updates=((2, 2),), closed_at=2)
    root.receive(rogue, now_s=12.5)
    root.finish(now_s=13.0)
    assert root.newest(0).envelope.final
    root.receive(rogue, now_s=14.0)
    root.work(now_s=20.0)
    assert len(root.published[0]) == 1
    assert root.root.counters["after final"] == 1


def test_a_window_past_its_horizon_is_over_without_being_final():
    query = make_query(revise_for_s=100.0)
    root = desk(query, config=RootConfig(horizon_slack_s=10.0))
    root.receive(whole(query, 0, 0, [1], of=A), now_s=11.0)
    root.work(now_s=20.0)
    root.work(now_s=125.0)
    assert root.root.why(0).status == "over"
    root.receive(whole(query, 0, 1, [2], of=B), now_s=126.0)
    assert root.disk.rows([0], kept_through=99) == ()
    assert root.root.counters["not wanted"] == 1


# The end of a finite input


def ended(query, ordinal, empty, number=2):
    return state(
        query,
        ordinal,
        of=LIVES[ordinal],
        number=number,
        first_pane=-FOREVER,
        ended=True,
        sealed_through=FOREVER,
        empty=empty,
    )


def test_a_finite_query_ends_when_every_window_is_final():
    query = make_query(begin_pane=None, ends=True)
    root = desk(query)
    root.receive(whole(query, 4, 0, [1], of=A), now_s=5.0)
    root.hear(ended(query, 0, ((-FOREVER, 3), (5, FOREVER))), now_s=6.0)
    root.hear(ended(query, 1, ((-FOREVER, 6), (8, FOREVER))), now_s=6.0)
    root.work(now_s=6.0)
    assert root.newest(4).envelope.final
    assert not root.has_ended, "site 1 has rows in pane 7, which have not arrived"
    root.receive(whole(query, 7, 1, [2], of=B), now_s=7.0)
    root.work(now_s=7.0)
    assert root.newest(7).envelope.final
    assert root.has_ended
    root.work(now_s=9.0)
    assert root.acks[-1].done_through == FOREVER


def test_a_finite_query_over_nothing_ends_at_once():
    query = make_query(begin_pane=None, ends=True)
    root = desk(query)
    nothing = ((-FOREVER, FOREVER),)
    root.hear(ended(query, 0, nothing), ended(query, 1, nothing), now_s=6.0)
    root.work(now_s=6.0)
    assert root.has_ended


def test_a_finite_query_with_a_begin_answers_every_window_up_to_the_newest():
    query = make_query(begin_pane=2, ends=True)
    root = desk(query)
    root.receive(merged(query, 4, [0, 1], [1]), now_s=5.0)
    for ordinal in (0, 1):
        sealed = {"ended": True, "sealed_through": FOREVER, "empty": ((2, 3), (5, FOREVER))}
        root.hear(state(query, ordinal, of=LIVES[ordinal], number=2, **sealed), now_s=6.0)
    root.work(now_s=6.0)
    assert {w: root.newest(w).rows for w in root.published} == {2: (), 3: (), 4: (1,)}
    assert root.has_ended


# Acknowledgements


def last_ack(root: RootDesk):
    return root.acks[-1]


def test_what_is_kept_comes_before_the_acknowledgement_that_speaks_of_it():
    root = desk()
    root.receive(merged(root.query, 0, [0, 1], [1]), now_s=11.0)
    root.work(now_s=12.0)
    kinds = [type(output) for output in root.outputs]
    assert kinds.index(KeepState) < kinds.index(Keep) < kinds.index(Acknowledge)
    assert last_ack(root).held == ((0, 0),)


def test_a_pane_that_lacks_a_site_is_spelled_out():
    root = desk()
    root.receive(whole(root.query, 0, 0, [1], of=A), now_s=11.0)
    root.work(now_s=12.0)
    assert last_ack(root).held == ()
    assert [(held.pane, held.sites) for held in last_ack(root).panes] == [(0, 0b01)]


def test_late_updates_are_spelled_out_with_their_incarnation():
    root = desk()
    query = root.query
    root.receive(merged(query, 0, [0, 1], [1, 2]), now_s=11.0)
    root.receive(part(query, 0, 0, [3], of=A, updates=((2, 2),), closed_at=2), now_s=11.5)
    root.work(now_s=12.0)
    (extra,) = last_ack(root).extra
    assert (extra.pane, extra.ordinal, extra.incarnation, extra.updates) == (0, 0, A, ((1, 2),))


def test_panes_that_nobody_spoke_of_are_listed_as_lacking():
    query = make_query(begin_pane=None)
    root = desk(query)
    root.receive(whole(query, 5, 0, [1], of=A), now_s=60.0)
    root.work(now_s=61.0)
    assert last_ack(root).listed == ((-FOREVER, FOREVER),)


def test_panes_that_are_left_out_are_not_listed_and_have_their_turn():
    root = desk(config=RootConfig(panes_per_ack_max=2, ack_every_s=1.0))
    for pane in range(5):
        root.receive(whole(root.query, pane, 0, [pane], of=A), now_s=60.0)
    seen = []
    for second in range(4):
        root.work(now_s=60.0 + second)
        ack = last_ack(root)
        spelled = [held.pane for held in ack.panes]
        seen += spelled
        listed = {p for a, b in ack.listed for p in range(max(a, 0), min(b, 4) + 1)}
        assert listed == set(spelled)
    assert set(seen) == set(range(5))


def test_a_state_is_greeted_once_and_again_when_it_is_repeated():
    root = desk(hears=False)
    root.work(now_s=0.0)
    one = state(root.query, 1, of=B)
    root.hear(one, now_s=1.0)
    root.work(now_s=3.0)
    assert [(g.ordinal, g.incarnation, g.number) for g in last_ack(root).greetings] == [(1, B, 1)]
    root.work(now_s=30.0)
    assert last_ack(root).greetings == ()
    root.hear(one, now_s=31.0)
    root.work(now_s=33.0)
    assert len(last_ack(root).greetings) == 1


def test_an_idle_root_still_acknowledges_now_and_then():
    root = desk(make_query(begin_pane=10_000), config=RootConfig(ack_idle_s=15.0))
    root.work(now_s=0.0)
    before = len(root.acks)
    root.work(now_s=14.9)
    assert len(root.acks) == before
    root.work(now_s=15.0)
    assert len(root.acks) == before + 1


def test_acknowledgements_of_a_restarted_root_are_newer_than_those_before():
    root = desk()
    root.work(now_s=100.0)
    before = last_ack(root).number
    root.start(now_s=101.0)
    root.work(now_s=101.0)
    assert last_ack(root).number > before


# Restarts


def test_a_restart_brings_back_coverage_revisions_and_what_is_done():
    root = desk()
    query = root.query
    sealed = {"number": 2, "sealed_through": 1}
    root.receive(merged(query, 0, [0, 1], [1]), now_s=12.0)
    root.hear(state(query, 0, of=A, **sealed), state(query, 1, of=B, **sealed), now_s=12.0)
    root.work(now_s=20.0)
    root.receive(whole(query, 1, 0, [2], of=A), now_s=21.0)
    root.work(now_s=30.0)
    root.start(now_s=100.0)
    root.receive(merged(query, 0, [0, 1], [1]), now_s=101.0)
    root.receive(whole(query, 1, 1, [3], of=B), now_s=101.0)
    root.work(now_s=101.0)
    assert len(root.published[0]) == 1, "it was final"
    assert [(p.envelope.revision, p.rows) for p in root.published[1]] == [(1, (2,)), (2, (2, 3))]


def test_numbers_of_kept_summaries_rise_across_a_restart_that_finds_none():
    root = desk()
    query = root.query
    sealed = {"number": 2, "sealed_through": 1}
    root.receive(merged(query, 0, [0, 1], [1]), now_s=12.0)
    root.hear(state(query, 0, of=A, **sealed), state(query, 1, of=B, **sealed), now_s=12.0)
    root.work(now_s=12.0)
    assert root.disk.kept == {}, "it is done, so it was trimmed"
    root.hear(state(query, 0, of=A + 9, first_pane=1), now_s=13.0)
    root.start(now_s=14.0)
    root.receive(part(query, 1, 0, [4], of=A + 9), now_s=22.0)
    assert list(root.disk.kept) == [2]


def test_a_new_root_without_its_ledger_knows_nothing():
    root = desk()
    root.receive(merged(root.query, 0, [0, 1], [1]), now_s=12.0)
    root.disk = RootDisk(incarnation=51)
    root.start(now_s=13.0)
    root.work(now_s=13.0)
    assert last_ack(root).held == ()
    assert last_ack(root).root_incarnation == 51


# Explanations


def test_why_names_the_sites_their_states_and_what_is_awaited():
    root = desk(sites=3)
    query = root.query
    root.hear(
        state(
            query, 2, of=C, number=2, declined=(Declined(first=0, last=0, reason=Reason.FAILED),)
        ),
        now_s=1.0,
    )
    root.receive(whole(query, 0, 0, [1], of=A), now_s=11.0)
    explained = root.root.why(0)
    assert explained.text() == (
        "counts window 0, from 1970-01-01 00:00:00 to 1970-01-01 00:00:10 UTC (panes 0 to 0): "
        "open, revision 0, 1 of 3 sites covered\n"
        "  s1: unknown (no word of this pane yet), panes 0\n"
        "  s2: declined (failed), panes 0\n"
        "  It is answered when complete, or at its deadline."
    )


def test_why_names_what_sites_do_not_read():
    root = desk()
    unread = Unread.of(5, [("a.zip", "can't be expanded here"), ("pipe", "not a regular file")])
    root.hear(state(root.query, 1, of=B, number=2, unread=unread), now_s=1.0)
    root.receive(whole(root.query, 0, 0, [1], of=A), now_s=11.0)
    why = root.root.why(0)
    assert (
        "  s1: 5 files are not read: a.zip (can't be expanded here); pipe (not a regular file); "
        "and 3 more\n"
    ) in why.text()
    root.hear(state(root.query, 1, of=B, number=3), now_s=2.0)
    assert root.root.why(0).unread == (), "it is read now"


def test_why_of_a_window_that_has_not_come_says_so():
    root = desk()
    assert root.root.why(1000).status == "unknown"
    assert root.root.why(1000).awaited[0].endswith("its end has not come.")
    assert 1000 not in root.root.scoreboard.boards


def test_why_of_a_window_before_the_begin_says_so_and_misses_nobody():
    """Also once the root is done with later panes, when everything before is over too."""
    root = desk(make_query(begin_pane=6))
    for now_s in (61.0, 500.0):
        root.work(now_s=now_s)
        why = root.root.why(2)
        assert why.status == "before the begin"
        assert why.text() == (
            "counts window 2, from 1970-01-01 00:00:20 to 1970-01-01 00:00:30 UTC "
            "(panes 2 to 2): before the begin\n"
            "  It is before the query's begin: its first window is 6, from "
            "1970-01-01 00:01:00 UTC."
        )
        assert (why.expected, why.missing) == (0, ())


def test_why_of_a_window_long_past_does_not_say_that_its_end_has_not_come():
    """Where only records make windows, a window of which none came has no end to wait for."""
    query = make_query(begin_pane=None)
    root = desk(query)
    root.receive(merged(query, 100, [0, 1], [1]), now_s=1100.0)
    root.work(now_s=1101.0)
    for number in (3, 100_000):
        (sentence,) = root.root.why(number).awaited
        assert sentence.startswith("No site has told of records in this window")


def test_why_of_a_window_that_is_over_tells_its_last_answer_as_it_was_published():
    root = desk()
    query = root.query
    root.receive(merged(query, 0, [0, 1], [1]), now_s=11.0)
    for ordinal, life in ((0, A), (1, B)):
        root.hear(state(query, ordinal, of=life, number=2, sealed_through=1), now_s=12.0)
    root.work(now_s=13.0)
    root.work(now_s=4_000.0)
    why = root.root.why(0)
    assert (why.status, why.expected, why.missing) == ("over", 0, ())
    envelope = root.newest(0).envelope
    assert envelope.final
    told = why.with_published(envelope)
    assert (told.status, told.revision, told.expected, told.covered) == ("final", 1, 2, 2)
    assert "final, revision 1, 2 of 2 sites covered" in told.text()
    assert "It is final since 1970-01-01 00:" in told.text()
    given_up = msgspec.structs.replace(envelope, final=False, covered=1)
    assert "over, revision 1, 1 of 2 sites covered" in why.with_published(given_up).text()
    assert "not final" in why.with_published(given_up).text()
    assert "no answer of it is kept" in why.with_published(None).text()
    open_ = root.root.why(1000)
    assert open_.with_published(None) == open_, "of what is not over the root knows more"


def test_progress_counts_what_happened():
    root = desk()
    root.receive(merged(root.query, 0, [0, 1], [1]), now_s=12.0)
    root.work(now_s=12.0)
    progress = root.root.progress()
    assert progress.newest_answered == 0
    assert progress.counters["accepted"] == 1


# Limits


def test_panes_beyond_the_limit_are_refused_and_shown():
    root = desk(config=RootConfig(panes_max=3))
    for pane in range(5):
        root.receive(whole(root.query, pane, 0, [pane], of=A), now_s=60.0)
    assert len(root.root.scoreboard.boards) == 3
    assert root.notices[-1].kind == "too many panes"


def test_a_thousand_sites_in_one_bitmap():
    query = make_query()
    root = RootDesk(query, make_roster(1000))
    root.hear(*(state(query, n, of=n + 1) for n in range(1000)), now_s=0.0)
    tag = 0
    for ordinal in range(1000):
        tag ^= Coverage.of_whole(ordinal, ordinal + 1).tag
    coverage = Coverage(whole=bitset.below(1000), tag=tag)
    root.receive(Summary(query=str(query.id), pane=0, coverage=coverage, rows=(1,)), now_s=11.0)
    root.work(now_s=11.0)
    assert root.newest(0).envelope.exact
    assert root.newest(0).envelope.covered == 1000


def due_windows(windows_max: int, jobs: int) -> list[list[int]]:
    """Forty windows are complete at once; which of them each job answers, in order."""
    root = desk(config=RootConfig(windows_per_answer_max=windows_max))
    root.is_slow = True
    for pane in range(40):
        root.receive(merged(root.query, pane, [0, 1], [pane]), now_s=500.0)
    found = []
    for job in range(jobs):
        root.work(now_s=500.0 + job)
        assert root.under_way is not None
        found.append([request.window for request in root.under_way.requests])
        root.finish(now_s=500.0 + job)
    return found


def test_a_quarter_of_a_job_belongs_to_the_oldest_windows():
    first, second = due_windows(8, 2)
    assert first == [39, 38, 37, 36, 35, 34, 0, 1]
    assert second == [33, 32, 31, 30, 29, 28, 2, 3]


def test_where_a_job_has_one_place_every_fourth_belongs_to_the_oldest_window():
    assert due_windows(1, 8) == [[39], [38], [37], [0], [36], [35], [34], [1]]


def test_where_there_are_places_for_all_the_newest_come_first():
    (first,) = due_windows(64, 1)
    assert sorted(first) == list(range(40))
    assert first[:8] == [39, 38, 37, 36, 35, 34, 33, 32]


def test_only_closes_that_count_are_kept():
    """Site 0 is held in life A; a relay brings a close of another of its lives, and site 1."""
    root = desk()
    root.receive(part(root.query, 0, 0, [1], of=A), now_s=11.0)
    other = Coverage.of_part(0, A + 1, updates=(), closed_at=2)
    both = other.merge(Coverage.of_part(1, B, updates=(), closed_at=0))
    root.receive(Summary(query=str(root.query.id), pane=0, coverage=both), now_s=12.0)
    root.work(now_s=12.0)
    kept = [one.kept.coverage for one in root.outputs if isinstance(one, Keep)]
    assert [[one.ordinal for one in coverage.parts] for coverage in kept] == [[0], [1]]
    assert root.newest(0).envelope.exact
