"""A site that sends the largest groups alone, and then what the root asks for: an edge over a real
cube."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import pyarrow as pa
import pytest
from edge_site import EdgeSite
from store_kit import SOURCE, CubeUser

from headwater.algebra.panes import WindowSpec
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.tolerance import Finally, Largest, Tolerance, ToleratedColumn
from headwater.algebra.remainders.withhold import Allowance
from headwater.algebra.top.keyed import group_names
from headwater.algebra.top.request import TopRequest
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.edge.outbox.pane_book import PaneBook
from headwater.edge.query_edge import QueryEdge
from headwater.edge.report import BatchReport
from headwater.plan.degrading.degradation import Degradation, Operator, OperatorKind
from headwater.plan.notice import Notice
from headwater.store.cube.retention import RetentionConfig

PAGES = [(f"/page{n:02}", 10 * n) for n in range(1, 41)]
PLAN = Degradation((Operator(OperatorKind.TOP, (5.0,), "hits", text="top(5, hits)"),))
PANE = 134


def tolerance(finally_: Finally) -> Tolerance:
    column = ToleratedColumn("hits", "n", ErrorForm.TOTAL, 1.0)
    return Tolerance((column,), finally_, largest=Largest("hits", 5))


@pytest.fixture(params=list(Finally))
def site(request: pytest.FixtureRequest, open_cube: Callable[..., CubeUser]) -> EdgeSite:
    keeps = tolerance(request.param)
    user = open_cube(
        retention=RetentionConfig(retention_s=1e9),
        allowance_of=lambda query, pane: Allowance(keeps, 1, keys=("page",)),
    )
    made = EdgeSite(user)
    made.query = msgspec.structs.replace(
        made.query,
        window=WindowSpec(10_000_000, 10_000_000),
        timing=msgspec.structs.replace(made.query.timing, lateness_s=40.0),
        tolerance=keeps,
        degradation=PLAN,
    )
    user.install()
    made.start(now_s=990.0)
    made.tick(now_s=990.0)
    made.close(100)
    made.rate = 10.0
    for pane in range(131, PANE + 1):
        commit(made, pane, PAGES)
        close(made, pane)
    made.sends.clear()
    return made


def commit(site: EdgeSite, pane: int, pages: Sequence[tuple[str, int]], *, at: float = 5.0) -> None:
    rows = ((pane, page, n) for page, n in pages)
    site.edge.batch_committed(site.user.commit(*rows), now_s=pane * 10.0 + at)


def close(site: EdgeSite, pane: int) -> None:
    now_s = (pane + 1) * 10.0 + 2.5
    site.edge.batch_committed(BatchReport(SOURCE, read_through_s=now_s), now_s=now_s)
    site.tick(now_s=now_s)
    site.tick(now_s=now_s + 0.1)


def edge_of(site: EdgeSite) -> QueryEdge:
    (edge,) = site.edge._edges.values()
    return edge


def book_of(site: EdgeSite) -> PaneBook:
    return edge_of(site).state.book


def ask(site: EdgeSite, *asked: TopRequest, number: int, now_s: float = 1_353.0) -> list[Notice]:
    ack = Acknowledgement(str(site.query.id), 1, number, -(1 << 62), largest=tuple(asked))
    site.edge.receive_ack(ack, now_s=now_s)
    said = [one for one in site.edge.take() if isinstance(one, Notice)]
    site.tick(now_s=now_s + 0.1)
    return [one for one in said if one.kind == "request declined"]


def rows_of(site: EdgeSite, update: int, pane: int = PANE) -> dict[str, int]:
    rows = site.user.cube.rows(str(site.query.id), pane, ((update, update),))
    assert rows is not None
    return dict(zip(rows.column("page").to_pylist(), rows.column("n").to_pylist(), strict=True))


def told(site: EdgeSite, pane: int = PANE) -> tuple[int, float, int, int]:
    """With which update, the largest of what is kept back, how many groups, the request."""
    update, (kept,) = book_of(site).withheld[pane]
    return update, kept.largest, kept.keys, kept.asked


def test_at_its_level_a_site_sends_the_largest_and_says_what_stays(site: EdgeSite) -> None:
    assert edge_of(site).degrading.sends_largest
    assert rows_of(site, 1) == dict(PAGES[-5:])
    assert told(site) == (1, 350.0, 35, 0)
    assert 131 not in book_of(site).withheld, "the way was wide, as far as was known"


def test_it_answers_both_steps_by_further_updates_and_each_request_once(site: EdgeSite) -> None:
    ask(site, TopRequest(PANE, 7, 300.0), number=7)
    assert rows_of(site, 2) == dict(PAGES[29:35])
    assert told(site) == (2, 290.0, 29, 7)
    ask(site, TopRequest(PANE, 7, 300.0), number=8)
    assert book_of(site).updates_of(PANE) == 2
    hashes = keys_of(site, "/page01", "/page40", "/page17")
    ask(site, TopRequest(PANE, 9, 300.0, hashes), number=9)
    assert rows_of(site, 3) == {"/page01": 10, "/page17": 170}
    assert told(site) == (3, 290.0, 27, 9)
    assert edge_of(site).answers_requests().requests.answered == 2
    sent = [(one.updates, one.coverage.withheld[0].asked) for one in site.sends]
    assert sent == [(((2, 2),), 7), (((3, 3),), 9)]


def test_a_site_with_nothing_to_add_answers_without_rows(site: EdgeSite) -> None:
    ask(site, TopRequest(PANE, 7, 1e6), number=7)
    assert rows_of(site, 2) == {}
    assert told(site) == (2, 350.0, 35, 7)


def test_when_all_is_asked_for_nothing_stays(site: EdgeSite) -> None:
    ask(site, TopRequest(PANE, 7, 0.0), number=7)
    assert rows_of(site, 2) == dict(PAGES[:35])
    assert book_of(site).updates_of(PANE) > told(site)[0], "what was told of it is over"
    assert not ask(site, TopRequest(PANE, 8, 0.0), number=8)
    assert book_of(site).updates_of(PANE) == 2
    assert edge_of(site).answers_requests().requests.answered == 1


def test_a_restart_between_any_two_steps_changes_nothing(site: EdgeSite) -> None:
    for step, asked in enumerate((300.0, 200.0), start=2):
        site.start(now_s=1_351.0)
        edge_of(site).state.telling.ordinal  # noqa: B018
        ask(site, TopRequest(PANE, step, asked), number=step)
        assert told(site)[0] == step
        assert told(site)[3] == step
    site.start(now_s=1_352.0)
    owes = edge_of(site).state.settings.at(PANE).owes_rest
    assert (PANE in book_of(site).owing) is owes
    assert not ask(site, TopRequest(PANE, 3, 200.0), number=9)
    assert book_of(site).updates_of(PANE) == 3


def test_late_records_bring_all_of_what_was_kept_back(site: EdgeSite) -> None:
    commit(site, PANE, [("/late", 1)], at=13.0)
    site.tick(now_s=1_356.0)
    assert rows_of(site, 2) == {**dict(PAGES[:35]), "/late": 1}
    assert not ask(site, TopRequest(PANE, 7, 0.0), number=7, now_s=1_357.0)
    assert book_of(site).updates_of(PANE) == 2


def test_a_request_for_a_pane_that_is_gone_is_declined_and_counted(site: EdgeSite) -> None:
    site.edge.rows_gone(str(site.query.id), PANE)
    site.edge.take()
    assert len(ask(site, TopRequest(PANE, 7, 0.0), number=7)) == 1
    assert not ask(site, TopRequest(PANE, 7, 0.0), number=8), "each is said once"
    assert edge_of(site).answers_requests().requests.declined == 1


def test_a_request_for_a_pane_that_is_open_or_was_sent_whole_changes_nothing(
    site: EdgeSite,
) -> None:
    assert not ask(site, TopRequest(PANE + 1, 7, 0.0), TopRequest(131, 7, 0.0), number=7)
    assert book_of(site).updates_of(131) == 1
    assert edge_of(site).answers_requests().requests.answered == 0


def test_a_pane_is_not_sealed_before_the_root_has_had_time_to_ask(site: EdgeSite) -> None:
    answering = edge_of(site).answers_requests()
    assert PANE in answering.holds_up(now_s=1_360.0)
    hold_s = site.config.top_hold_s
    assert PANE not in answering.holds_up(now_s=1_353.0 + hold_s)


def test_of_more_requests_than_may_wait_the_oldest_gives_way(
    site: EdgeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.edge.degrade.answering.REQUESTS_MAX", 1)
    answering = edge_of(site).answers_requests()
    answering.hear([TopRequest(PANE - 1, 7, 300.0), TopRequest(PANE, 7, 300.0)])
    assert [one.asked.pane for one in answering.take(8, but=())] == [PANE]


def test_a_pane_with_values_below_zero_is_sent_whole(site: EdgeSite) -> None:
    """Sums of what is in say nothing then of what they come to."""
    commit(site, PANE + 1, [*PAGES, ("/less", -1)])
    close(site, PANE + 1)
    assert rows_of(site, 1, PANE + 1) == {**dict(PAGES), "/less": -1}
    assert PANE + 1 not in book_of(site).withheld


def test_its_seal_waits_for_the_root_and_comes_after(site: EdgeSite) -> None:
    over_s = 1_352.5 + site.config.top_hold_s
    read(site, over_s - 1.0)
    assert edge_of(site).state.record.sealed_through <= PANE
    for later_s in (20.0, 60.0, 100.0):
        read(site, over_s + later_s)
    owes = edge_of(site).state.settings.at(PANE).owes_rest
    assert (edge_of(site).state.record.sealed_through > PANE) is not owes


def read(site: EdgeSite, now_s: float) -> None:
    site.edge.batch_committed(BatchReport(SOURCE, read_through_s=now_s), now_s=now_s)
    site.tick(now_s=now_s)


def test_a_pane_of_which_something_is_asked_is_not_sealed_before_it_was_answered(
    site: EdgeSite,
) -> None:
    answering, over_s = edge_of(site).answers_requests(), 1_353.0 + site.config.top_hold_s
    answering.hear([TopRequest(PANE, 7, 300.0)])
    assert PANE in answering.holds_up(now_s=over_s)
    answering.take(8, but=())
    assert PANE not in answering.holds_up(now_s=over_s)


def test_it_answers_no_more_at_once_than_there_is_room_for(site: EdgeSite) -> None:
    answering, asked = edge_of(site).answers_requests(), TopRequest(PANE, 7, 300.0)
    answering.hear([asked])
    assert answering.take(0, but=()) == ()
    assert [one.asked for one in answering.take(1, but=())] == [asked]


def test_of_a_pane_of_which_something_else_is_made_nothing_is_answered_then(site: EdgeSite) -> None:
    answering, asked = edge_of(site).answers_requests(), TopRequest(PANE, 7, 300.0)
    answering.hear([asked])
    assert answering.take(8, but=[PANE]) == ()
    assert answering.take(8, but=()) == (), "it is asked for again"
    book_of(site).making[PANE] = 1_353.0
    answering.hear([asked])
    assert answering.take(8, but=()) == ()
    del book_of(site).making[PANE]
    answering.hear([asked])
    assert len(answering.take(8, but=())) == 1


def test_what_goes_or_is_wanted_no_more_between_the_request_and_its_answer_is_not_made(
    site: EdgeSite,
) -> None:
    answering, state = edge_of(site).answers_requests(), edge_of(site).state
    state.unwanted.add(PANE, PANE)
    answering.hear([TopRequest(PANE, 7, 300.0)])
    assert answering.take(8, but=()) == ()
    state.unwanted.remove(PANE, PANE)
    answering.hear([TopRequest(PANE, 7, 300.0)])
    site.edge.rows_gone(str(site.query.id), PANE)
    assert answering.take(8, but=()) == ()


def test_what_a_share_is_taken_of_stays_as_it_was_when_more_is_sent(site: EdgeSite) -> None:
    _, (before,) = book_of(site).withheld[PANE]
    ask(site, TopRequest(PANE, 7, 300.0), number=7)
    _, (after,) = book_of(site).withheld[PANE]
    assert after.of == before.of == sum(n for _, n in PAGES)


def keys_of(site: EdgeSite, *pages: str) -> tuple[int, ...]:
    return tuple(sorted(group_names(pa.table({"page": list(pages)}), ["page"]).tolist()))
