"""How much is enough: when a window is answered, what is said of it, and when it is final."""

from __future__ import annotations

import msgspec
import pytest
from pane_kit import RootDesk, make_query, make_roster, state, whole

from headwater.algebra.coverage import Coverage
from headwater.algebra.demand import ALL, Demand
from headwater.algebra.summary import Summary
from headwater.algebra.words.site_state import Declined, Reason
from headwater.plan.query import Query
from headwater.root.said.envelope import Envelope, FinalBy, Trigger
from headwater.root.said.view import explain

LIFE = 77
SITES = 4
PANES = 4


def query_of(demand: Demand | None, *, panes: int = PANES, **options: float) -> Query:
    """Windows of so many panes, one of them beginning with each pane."""
    query = make_query(panes=panes, slide=1, **options)
    return query if demand is None else msgspec.structs.replace(query, demand=demand)


def desk(demand: Demand | None, *, sites: int = SITES, **options: float) -> RootDesk:
    query = query_of(demand, **options)
    root = RootDesk(query, make_roster(sites), now_s=0.0)
    root.hear(*(state(query, n, of=LIFE) for n in range(sites)), now_s=0.0)
    return root


def bring(root: RootDesk, pairs: list[tuple[int, int]], *, now_s: float) -> None:
    """(site, pane): the pane of that site is in, with a record of its own number."""
    for site, pane in pairs:
        summary = whole(root.query, pane, site, [100 * pane + site], of=LIFE)
        root.receive(summary, now_s=now_s)
    root.work(now_s=now_s)


def decline(root: RootDesk, site: int, first: int, last: int, *, now_s: float) -> None:
    gone = (Declined(first=first, last=last, reason=Reason.SHED),)
    told = state(root.query, site, of=LIFE, number=2, declined=gone)
    root.hear(told, now_s=now_s)
    root.work(now_s=now_s)


def envelope(root: RootDesk, window: int = 0) -> Envelope:
    return root.newest(window).envelope


def pane_of(pane: int, sites: int = SITES) -> list[tuple[int, int]]:
    return [(site, pane) for site in range(sites)]


AREA = Demand(area=50_000)


def test_an_answer_comes_as_soon_as_there_is_enough() -> None:
    root = desk(AREA)
    bring(root, pane_of(0), now_s=12.0)
    assert not root.published[0]
    bring(root, [(0, 1), (1, 1), (2, 1)], now_s=22.0)
    assert not root.published[0], "7 of 16"
    bring(root, [(3, 1)], now_s=23.0)
    found = envelope(root)
    assert found.trigger is Trigger.ENOUGH
    assert (found.fidelity.area, found.fidelity.time, found.fidelity.space) == (0.5, 0.5, 1.0)
    assert found.fidelity.bins == ((2, 4), (2, 0))
    assert (found.fidelity.demanded, found.fidelity.is_met) == ("area 50 %", True)
    assert found.covered == 0, "of no site every pane is in"
    assert found.staleness_s < 0, "the window has not ended"
    assert not found.final


def test_finally_exact_the_rest_follows() -> None:
    root = desk(AREA)
    bring(root, [*pane_of(0), *pane_of(1)], now_s=23.0)
    bring(root, [*pane_of(2), *pane_of(3)], now_s=43.0)
    found = envelope(root)
    assert (found.revision, found.trigger) == (2, Trigger.REVISION)
    assert found.exact
    assert found.fidelity.bins == ((4, 4),)


def test_without_a_demand_the_fidelity_is_stated_none_the_less() -> None:
    root = desk(None)
    bring(root, [*pane_of(0), *pane_of(1, sites=3)], now_s=23.0)
    root.work(now_s=50.0)
    found = envelope(root)
    assert found.trigger is Trigger.DEADLINE
    assert found.fidelity.bins == ((1, 4), (1, 3), (2, 0))
    assert (found.fidelity.demanded, found.fidelity.is_met) == ("", True)


def test_spatial_and_temporal_demands_wait_for_other_things() -> None:
    spatial = desk(Demand(panes=50_000, sites=ALL))
    temporal = desk(Demand(panes=ALL, sites=50_000))
    both_sites = [(site, pane) for pane in range(PANES) for site in (0, 1)]
    for root in (spatial, temporal):
        bring(root, both_sites, now_s=42.0)
    assert not spatial.published[0]
    assert envelope(temporal).trigger is Trigger.ENOUGH
    bring(spatial, [(2, 0), (3, 0), (2, 3), (3, 3)], now_s=43.0)
    assert envelope(spatial).trigger is Trigger.ENOUGH
    assert envelope(spatial).fidelity.bins == ((1, 4), (2, 2), (1, 4))


def test_what_misses_its_demand_at_the_deadline_says_so() -> None:
    root = desk(Demand(area=80_000))
    bring(root, pane_of(0), now_s=12.0)
    root.work(now_s=50.0)
    found = envelope(root)
    assert (found.trigger, found.fidelity.is_met) == (Trigger.DEADLINE, False)
    assert root.newest(0).rows == (0, 1, 2, 3), "answered with what there is"
    assert root.root.counters["below demand"] == 1
    text = explain(root.root, 0).text()
    assert "25 % of (site, pane) is in: 25 % of the panes, 100 % of the sites" in text
    assert "demanded is area 80 %: it is NOT reached" in text


def test_all_that_is_missing_was_declined() -> None:
    root = desk(Demand(area=90_000))
    for pane in range(PANES):
        bring(root, pane_of(pane, sites=3), now_s=12.0 + 10 * pane)
    assert not root.published[0]
    decline(root, 3, 0, PANES - 1, now_s=43.0)
    found = envelope(root)
    assert (found.trigger, found.fidelity.is_met) == (Trigger.HOPELESS, False)


def test_what_is_still_possible_is_not_enough_once_the_window_has_ended() -> None:
    root = desk(Demand(panes=ALL, sites=ALL))
    decline(root, 3, 0, 0, now_s=12.0)
    bring(root, pane_of(0, sites=3), now_s=13.0)
    assert not root.published[0], "it has not ended, and may have more"
    bring(root, pane_of(3, sites=1), now_s=42.0)
    assert envelope(root).trigger is Trigger.HOPELESS


def test_a_declined_pane_that_leaves_enough_possible_is_waited_for() -> None:
    root = desk(Demand(area=80_000))
    decline(root, 3, 0, 0, now_s=12.0)
    bring(root, pane_of(3, sites=1), now_s=42.0)
    assert not root.published[0]


# Below the demand


SILENT = Demand(area=80_000, is_silent=True)


def test_silent_says_that_there_is_too_little_and_gives_no_rows() -> None:
    root = desk(SILENT)
    bring(root, pane_of(0), now_s=12.0)
    root.work(now_s=50.0)
    assert root.newest(0).rows == ()
    found = envelope(root)
    assert (found.trigger, found.fidelity.area) == (Trigger.DEADLINE, 0.25)
    assert found.fidelity.is_silent
    assert "so there are no rows" in explain(root.root, 0).text()
    assert "It has no rows before it has what is demanded" in explain(root.root, 0).text()


def test_it_is_answered_when_it_comes_to_have_enough() -> None:
    root = desk(SILENT)
    bring(root, pane_of(0), now_s=12.0)
    root.work(now_s=50.0)
    bring(root, pane_of(1), now_s=55.0)
    assert envelope(root).revision == 1, "still too little: nothing new is said"
    bring(root, [*pane_of(2), (0, 3)], now_s=60.0)
    found = envelope(root)
    assert (found.revision, found.fidelity.is_silent) == (2, False)
    assert len(root.newest(0).rows) == 13
    bring(root, [(1, 3), (2, 3), (3, 3)], now_s=65.0)
    assert envelope(root).exact


def test_no_rows_below_the_minimum_after_a_restart_either() -> None:
    root = desk(SILENT)
    bring(root, pane_of(0), now_s=12.0)
    root.work(now_s=50.0)
    root.start(now_s=51.0)
    bring(root, pane_of(1), now_s=55.0)
    assert root.newest(0).rows == ()
    assert envelope(root).revision == 1
    bring(root, [*pane_of(2), *pane_of(3)], now_s=60.0)
    assert len(root.newest(0).rows) == 16


def test_what_stays_too_little_is_final_without_rows() -> None:
    root = desk(Demand(area=80_000, is_silent=True), panes=1, lateness_s=5.0)
    query = root.query
    bring(root, [(0, 0), (1, 0)], now_s=12.0)
    root.work(now_s=20.0)
    gone = (Declined(first=0, last=0, reason=Reason.SHED),)
    for site in range(SITES):
        told = state(
            query, site, of=LIFE, number=3, sealed_through=1, declined=gone if site > 1 else ()
        )
        root.hear(told, now_s=30.0)
    root.work(now_s=31.0)
    found = envelope(root)
    assert (found.final, found.final_by) == (True, FinalBy.SEALED)
    assert found.fidelity.is_silent
    assert root.newest(0).rows == ()


# Finally enough


ENOUGH = Demand(area=50_000, is_final=True)


def test_enough_is_final_and_says_so() -> None:
    root = desk(ENOUGH)
    bring(root, [*pane_of(0), *pane_of(1)], now_s=23.0)
    found = envelope(root)
    assert (found.final, found.final_by, found.exact) == (True, FinalBy.ENOUGH, False)


def test_what_comes_after_enough_changes_nothing() -> None:
    root = desk(ENOUGH, panes=1)
    bring(root, [(0, 0), (1, 0)], now_s=12.0)
    bring(root, [(2, 0), (3, 0)], now_s=13.0)
    assert (envelope(root).revision, len(root.newest(0).rows)) == (1, 2)
    assert root.root.counters["not wanted"] == 2
    assert not root.notices, "nobody did anything wrong"


def test_the_root_is_done_with_panes_that_no_window_wants() -> None:
    root = desk(ENOUGH, panes=1)
    bring(root, pane_of(0, sites=2), now_s=12.0)
    assert envelope(root).final
    root.work(now_s=30.0)
    assert root.acks[-1].done_through == 1, "though half of it was never sent"


def test_a_pane_is_taken_while_another_window_wants_it() -> None:
    root = desk(ENOUGH)
    bring(root, [*pane_of(0), *pane_of(2)], now_s=33.0)
    boards = root.root.scoreboard.boards
    assert envelope(root).final
    assert [boards[pane].is_frozen for pane in range(PANES)] == [True, False, False, False]
    bring(root, pane_of(3), now_s=43.0)
    assert envelope(root, 1).fidelity.bins == ((1, 0), (2, 4), (1, 0))
    assert [boards[pane].is_frozen for pane in (1, 2, 3)] == [True, True, False]
    assert envelope(root).revision == 1


def test_what_was_not_taken_is_not_called_held() -> None:
    """A site that closed a pane empty has a late update after all, which nobody wants any more."""
    query = query_of(ENOUGH, panes=2)
    root = RootDesk(query, make_roster(SITES), now_s=0.0)
    root.hear(*(state(query, n, of=LIFE) for n in range(SITES)), now_s=0.0)
    empty = Summary(query=root.root.id, pane=1, coverage=Coverage.of_empty(2, LIFE))
    root.receive(empty, now_s=21.0)
    bring(root, [(0, 1), (1, 1), (0, 0), (1, 0)], now_s=22.0)
    board = root.root.scoreboard.boards[1]
    assert board.first_held() >> 2 & 1
    root.hear(state(query, 2, of=LIFE, number=2, counts=((1, 1),)), now_s=23.0)
    assert not board.first_held() >> 2 & 1


def test_enough_stays_final_after_a_restart() -> None:
    root = desk(ENOUGH)
    bring(root, [*pane_of(0), *pane_of(1)], now_s=23.0)
    root.start(now_s=24.0)
    bring(root, [*pane_of(2), *pane_of(3)], now_s=43.0)
    assert envelope(root).revision == 1


def test_enough_that_is_missed_is_revised_until_it_is_met() -> None:
    root = desk(ENOUGH)
    bring(root, pane_of(0), now_s=12.0)
    root.work(now_s=50.0)
    assert (envelope(root).trigger, envelope(root).final) == (Trigger.DEADLINE, False)
    bring(root, pane_of(1), now_s=55.0)
    assert (envelope(root).revision, envelope(root).final_by) == (2, FinalBy.ENOUGH)


@pytest.mark.parametrize("demand", [SILENT, ENOUGH])
def test_an_input_that_ends_is_answered_in_full(demand: Demand) -> None:
    query = msgspec.structs.replace(make_query(ends=True, begin_pane=None), demand=demand)
    root = RootDesk(query, make_roster(2), now_s=0.0)
    root.hear(*(state(query, n, of=LIFE) for n in range(2)), now_s=0.0)
    bring(root, [(0, 0)], now_s=1.0)
    assert not root.published[0], "half is in, and it is waited for all"
    bring(root, [(1, 0)], now_s=2.0)
    assert (envelope(root).trigger, envelope(root).exact) == (Trigger.COMPLETE, True)


def test_a_revision_states_no_less_than_the_one_before() -> None:
    root = desk(None, panes=2)
    bring(root, [(0, 0), (1, 0), (0, 1)], now_s=22.0)
    root.work(now_s=33.0)
    before = envelope(root).fidelity
    bring(root, [(2, 0), (3, 1)], now_s=35.0)
    after = envelope(root).fidelity
    assert after.area > before.area
    assert after.fidelity.at_least(before.fidelity) == after.fidelity


@pytest.mark.parametrize("is_final", [False, True])
def test_a_demand_holds_for_windows_of_the_past(is_final: bool) -> None:
    """A site still reads what was before the query: an answer that has enough does not wait for
    it, and with enough what it brings later is not taken."""
    demand = msgspec.structs.replace(AREA, is_final=is_final)
    query = msgspec.structs.replace(query_of(demand, begin_pane=0), reads_past=True)
    late_s = 10_000.0
    root = RootDesk(query, make_roster(SITES), now_s=late_s)
    behind = {"catching_up": True}
    root.hear(*(state(query, n, of=LIFE, **behind) for n in range(SITES)), now_s=late_s)
    bring(root, pane_of(0, SITES - 1), now_s=late_s + 1.0)
    assert not root.published[0], "a quarter is in, and windows of the past have no deadline yet"
    bring(root, pane_of(1), now_s=late_s + 2.0)
    bring(root, [(0, 2)], now_s=late_s + 3.0)
    assert envelope(root).trigger is Trigger.ENOUGH
    assert envelope(root).fidelity.is_met
    first = envelope(root).revision
    bring(root, [*pane_of(2)[1:], *pane_of(3)], now_s=late_s + 60.0)
    assert (envelope(root).revision > first) == (not demand.is_final)


def test_why_says_by_what_a_window_was_first_answered_also_after_revisions_and_a_restart() -> None:
    root = desk(ENOUGH)
    bring(root, pane_of(0), now_s=12.0)
    root.work(now_s=50.0)
    said = "first answered by deadline: its time was over"
    assert said in explain(root.root, 0).text()
    bring(root, pane_of(1), now_s=55.0)
    root.start(now_s=56.0)
    assert (envelope(root).trigger, envelope(root).first_trigger) == (
        Trigger.REVISION,
        Trigger.DEADLINE,
    )
    assert said in explain(root.root, 0).with_published(envelope(root)).text()
