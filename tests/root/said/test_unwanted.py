"""What a root says of panes that no window wants any more, and when."""

from __future__ import annotations

import msgspec
from pane_kit import RootDesk, make_query, make_roster, state, whole

from headwater.algebra.demand import ALL, Demand
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.words.site_state import Declined, Reason
from headwater.root.config import RootConfig
from headwater.root.said.view import explain
from headwater.root.unwanted import UnwantedBook, UnwantedPanes

LIFE = 77
SITES = 4
HALF = Demand(area=50_000, is_final=True)


def desk(demand: Demand, *, panes: int = 4, slide: int = 3, config: RootConfig | None = None):
    query = msgspec.structs.replace(make_query(panes=panes, slide=slide), demand=demand)
    root = RootDesk(query, make_roster(SITES), config=config, now_s=0.0)
    root.hear(*(state(query, n, of=LIFE) for n in range(SITES)), now_s=0.0)
    return root


def bring(root: RootDesk, pane: int, *, now_s: float, sites: int = SITES) -> None:
    for site in range(sites):
        root.receive(whole(root.query, pane, site, [100 * pane + site], of=LIFE), now_s=now_s)
    root.work(now_s=now_s)


def unwanted(root: RootDesk, *, now_s: float) -> Ranges:
    root.work(now_s=now_s)
    return root.acks[-1].unwanted


def test_the_rest_of_a_window_is_unwanted_before_it_has_ended() -> None:
    root = desk(HALF)
    bring(root, 0, now_s=12.0)
    assert unwanted(root, now_s=14.0) == ()
    bring(root, 1, now_s=22.0)
    assert root.acks[-1].done_through <= 0, "the clock has not passed the window"
    assert unwanted(root, now_s=24.5) == ((0, 2),)


def test_it_is_said_with_the_next_acknowledgement_though_no_board_has_changed() -> None:
    root = desk(HALF)
    bring(root, 0, now_s=12.0)
    root.is_slow = True
    bring(root, 1, now_s=22.0)
    root.work(now_s=26.0)
    root.finish(now_s=26.1)
    count = len(root.acks)
    root.work(now_s=26.0 + root.config.ack_every_s)
    assert len(root.acks) == count + 1
    assert root.acks[-1].unwanted


def test_nothing_is_unwanted_before_the_answer_is_out() -> None:
    root = desk(HALF)
    root.is_slow = True
    bring(root, 0, now_s=12.0)
    bring(root, 1, now_s=22.0)
    assert unwanted(root, now_s=30.0) == ()
    root.finish(now_s=30.5)
    assert unwanted(root, now_s=33.0) == ((0, 2),)


def test_a_pane_that_another_window_wants_is_wanted() -> None:
    root = desk(HALF, slide=1)
    bring(root, 0, now_s=33.0)
    bring(root, 2, now_s=33.5)
    assert unwanted(root, now_s=36.0) == ((0, 0),), "windows 1 to 3 have too little of 1 to 3"
    bring(root, 3, now_s=43.0)
    assert unwanted(root, now_s=46.0) == ((1, 2),), "window 3 may still want pane 3"
    assert root.acks[-1].done_through == 1


def test_finally_exact_nothing_is_unwanted() -> None:
    root = desk(msgspec.structs.replace(HALF, is_final=False))
    bring(root, 0, now_s=12.0)
    bring(root, 1, now_s=22.0)
    assert root.published[0]
    assert unwanted(root, now_s=30.0) == ()


def test_they_are_counted_by_the_sites_that_were_not_needed() -> None:
    root = desk(HALF)
    bring(root, 0, now_s=12.0, sites=2)
    bring(root, 1, now_s=22.0)
    bring(root, 2, now_s=23.0, sites=2)
    assert unwanted(root, now_s=26.5) == ((0, 2),)
    found = root.root.answers.unwanted_panes()
    assert (found.count, [count for _, count in found.without]) == (3, [2, 2])
    said = explain(root.root, 0).text()
    assert "since the root was started 3 panes are wanted no more: their windows had enough" in said
    root.work(now_s=90.0)
    assert root.root.answers.unwanted_panes() == found


def test_what_is_below_done_through_need_not_be_named() -> None:
    root = desk(HALF)
    bring(root, 0, now_s=12.0)
    bring(root, 1, now_s=22.0)
    root.work(now_s=45.0)
    assert root.acks[-1].done_through == 3
    assert root.acks[-1].unwanted == ()


def test_behind_a_window_that_never_gets_enough_later_ones_are_unwanted_all_the_same() -> None:
    root = desk(Demand(area=ALL, is_final=True), panes=1, slide=1)
    bring(root, 0, now_s=12.0, sites=3)
    for pane in range(1, 5):
        bring(root, pane, now_s=12.0 + 10 * pane)
    found = unwanted(root, now_s=58.0)
    assert root.acks[-1].done_through == 0
    assert found == ((1, 4),)


def test_a_restart_calls_the_same_panes_unwanted() -> None:
    root = desk(HALF)
    bring(root, 0, now_s=12.0)
    bring(root, 1, now_s=22.0)
    before = unwanted(root, now_s=24.5)
    root.start(now_s=25.0)
    assert before == unwanted(root, now_s=28.0) == ((0, 2),)


def test_of_many_ranges_the_newest_are_told() -> None:
    root = desk(
        Demand(area=ALL, is_final=True), panes=1, slide=1, config=RootConfig(ranges_per_ack_max=2)
    )
    for pane in range(0, 8, 2):
        bring(root, pane, now_s=100.0 + pane)
    assert unwanted(root, now_s=111.0)[-2:] == ((4, 4), (6, 6))
    assert len(unwanted(root, now_s=114.0)) == 2


def test_what_comes_of_it_all_the_same_is_counted_and_is_nobodys_fault() -> None:
    root = desk(HALF)
    bring(root, 0, now_s=12.0)
    bring(root, 1, now_s=22.0)
    bring(root, 2, now_s=32.0)
    assert root.root.counters["not wanted"] == SITES
    assert not root.notices
    assert len(root.newest(0).rows) == 2 * SITES


def test_a_decline_of_what_is_unwanted_changes_no_answer() -> None:
    root = desk(HALF)
    bring(root, 0, now_s=12.0)
    bring(root, 1, now_s=22.0)
    gone = (Declined(first=2, last=3, reason=Reason.EXPIRED),)
    root.hear(state(root.query, 1, of=LIFE, number=2, declined=gone), now_s=23.0)
    root.work(now_s=60.0)
    assert root.newest(0).envelope.revision == 1


def test_each_pane_is_counted_once() -> None:
    root = desk(HALF)
    bring(root, 0, now_s=12.0)
    book, board = UnwantedBook(), root.root.scoreboard.open(1)
    for _ in range(2):
        book.add(board, expected=0b11)
    assert book.told({0: "oslo", 1: "rome"}) == UnwantedPanes(1, (("oslo", 1), ("rome", 1)))
