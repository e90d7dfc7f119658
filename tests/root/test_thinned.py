"""What relays leave out of what they have merged, seen from the root: stated, and made whole."""

from __future__ import annotations

import math

import msgspec
import pytest
from federations.relayed import SITES, Federation
from pane_kit import RootDesk, make_roster, part, state, whole

from headwater.algebra.coverage import Coverage
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.remainder import Remainder
from headwater.algebra.remainders.tolerance import Finally, Tolerance, ToleratedColumn
from headwater.algebra.rows.columns import Partial
from headwater.algebra.summary import Lane, Summary
from headwater.algebra.words.alarm import AlarmKind
from headwater.algebra.words.site_state import Declined, Reason
from headwater.plan.query import Query
from headwater.root.carriers.replacing import THINNED_MAX
from headwater.root.said.envelope import FinalBy

LIFE = 77


def with_relays(query: Query, finally_: Finally = Finally.EXACT) -> Query:
    column = ToleratedColumn("n", "n", ErrorForm.TOTAL, 0.8)
    program = msgspec.structs.replace(query.program, partials=(Partial("n", "bigint", "sum"),))
    tolerance = Tolerance((column,), finally_, relays=0.5)
    return msgspec.structs.replace(query, program=program, tolerance=tolerance)


def thinned(summary: Summary) -> Summary:
    """Without its first record, as if that were a group below the relay's part."""
    if not summary.rows or not summary.coverage.is_merged:
        return summary
    told = Remainder(largest=1.0, total=1.0, keys=1, of=float(len(summary.rows)))
    coverage = msgspec.structs.replace(summary.coverage, thinned=(told,))
    return msgspec.structs.replace(summary, rows=summary.rows[1:], coverage=coverage)


class Narrow(Federation):
    """Its relay thins what it merges until ``wide_from``; nothing else is wrong with it."""

    def __init__(self, finally_: Finally = Finally.EXACT, *, wide_from: int = 10) -> None:
        super().__init__(made=lambda query: with_relays(query, finally_))
        self.lie = lambda merged: thinned(merged) if merged.pane < wide_from else merged

    def first(self, pane: int):
        return self.root.published[pane][0].envelope


def test_a_thinned_pane_says_how_far_it_is_off_and_is_made_whole_by_its_sites_own_updates():
    world = Narrow(wide_from=3)
    world.run(300.0, panes=6)
    for pane in range(6):
        first, newest = world.first(pane), world.newest(pane)
        assert world.rows(pane) == world.truth(pane)
        assert newest.exact
        assert newest.final
        assert newest.final_by is FinalBy.SEALED
        assert bool(first.withheld) == (pane < 3)
        assert first.exact == (pane >= 3)
    said = world.first(1).withheld
    (column,) = said.columns
    assert said.follows
    assert said.keys == 1
    assert column.is_kept
    assert (column.largest, column.total) == (1.0, 1.0)
    assert math.isclose(column.share, 1 / SITES)
    assert world.count("replaced") == 3


def test_sites_neither_repair_nor_raise_an_alarm_for_what_is_held_thinned():
    world = Narrow(Finally.BOUNDED)
    sent: list[Lane] = []
    carried = world.carried
    world.carried = lambda lane, all_: [sent.append(lane), carried(lane, all_)][1]
    world.run(300.0, panes=6)
    assert Lane.SPARE not in sent
    assert not any(world.newest(pane).alarms for pane in range(6))
    assert not world.root.root.alarms.of(0, 6)
    assert {kind for kind in AlarmKind if world.count(kind)} == set()


def test_under_a_bound_it_stays_and_the_answer_is_final_with_it():
    world = Narrow(Finally.BOUNDED)
    world.run(300.0, panes=6)
    for pane in range(6):
        newest = world.newest(pane)
        assert world.rows(pane) == world.truth(pane) - {min(world.truth(pane))}
        assert newest.final_by is FinalBy.BOUNDED
        assert not newest.exact
        assert newest.withheld.columns[0].total == 1.0
        assert not newest.withheld.follows
    assert world.count("replaced") == 0


def test_few_panes_at_a_time_are_asked_for():
    world, most = Narrow(), 0
    carried, is_open = world.carried, [False]
    world.carried = lambda lane, all_: (
        [] if lane is Lane.SPARE and not is_open[0] else carried(lane, all_)
    )
    for second in range(400):
        is_open[0] = second > 110
        world.run(1.0, panes=9)
        most = max(most, len(world.root.root.books.replacing.benches))
    assert most == THINNED_MAX
    assert all(world.newest(pane).exact for pane in range(9))


def test_what_is_thinned_stays_where_a_site_can_no_longer_send_its_own():
    world = Narrow(wide_from=2)
    carried = world.carried
    world.carried = lambda lane, all_: [] if lane is Lane.SPARE else carried(lane, all_)
    world.run(60.0, panes=3)
    desk = world.root
    former = desk.root.table.views[1].state
    lost = msgspec.structs.replace(
        former, number=former.number + 1, declined=(Declined(0, 1, Reason.EXPIRED),)
    )
    desk.hear(lost, now_s=world.now_s)
    world.silent = {1}
    rows = world.rows(0)
    world.run(30.0, panes=3)
    assert desk.root.counters["stays thinned"] == 2
    assert world.rows(0) == rows, "nothing that is in is given up"
    assert world.newest(0).withheld
    assert not world.newest(0).exact
    assert not desk.root.books.replacing.benches


def test_an_update_that_comes_while_a_pane_is_made_whole_counts_at_once_and_once():
    query = with_relays(Narrow().query)
    root = asked(query)
    root.receive(one_piece(query, 0), now_s=11.0)
    root.work(now_s=12.0)
    assert list(root.root.books.replacing.benches) == [0]
    root.receive(part(query, 0, 0, (4,), of=LIFE, updates=((2, 2),), closed_at=2), now_s=13.0)
    assert root.root.scoreboard.boards[0].groups, "it is held"
    for site, update, rows in ((0, 1, (1, 2)), (1, 1, (3,)), (0, 2, (4,))):
        closed_at = 2 - site
        own = part(
            query,
            0,
            site,
            rows,
            of=LIFE,
            updates=((update, update),),
            closed_at=closed_at,
            lane=Lane.SPARE,
        )
        root.receive(own, now_s=14.0)
        root.work(now_s=14.0)
    board = root.root.scoreboard.boards[0]
    assert not board.thinned
    assert board.in_whole == 0b11
    held = [number for one in root.disk.kept.values() for number in one.rows or ()]
    assert sorted(held) == [1, 2, 3, 4]


def test_who_had_nothing_of_a_pane_is_in_it_when_it_is_whole_and_is_asked_for_nothing():
    query = with_relays(Narrow().query)
    root = asked(query, sites=3)
    piece = one_piece(query, 0)
    found = piece.coverage.merge(Coverage.of_empty(2, LIFE))
    root.receive(msgspec.structs.replace(piece, coverage=found), now_s=11.0)
    root.work(now_s=12.0)
    for site, rows in ((0, (1, 2)), (1, (3,))):
        root.receive(part(query, 0, site, rows, of=LIFE, lane=Lane.SPARE), now_s=14.0)
    root.work(now_s=15.0)
    board = root.root.scoreboard.boards[0]
    assert not board.thinned
    assert board.empty == 0b100, "nothing is awaited of it"


@pytest.mark.parametrize(
    ("coverage", "why"),
    [
        (Coverage.of_whole(0, LIFE), "it has one site in it"),
        (Coverage.of_whole(0, LIFE).merge(Coverage.of_whole(1, LIFE)), "of two columns"),
    ],
)
def test_a_mark_that_no_relay_can_mean_is_refused_and_counted(coverage, why):
    query = with_relays(Narrow().query)
    root, told = asked(query), Remainder(1.0, 1.0, 1, 3.0)
    is_single = not coverage.is_merged
    marked = msgspec.structs.replace(coverage, thinned=(told,) if is_single else (told, told))
    root.receive(
        msgspec.structs.replace(whole(query, 0, 0, (1,), of=LIFE), coverage=marked), now_s=11
    )
    assert root.root.counters["stranger"] == 1, why
    assert not root.disk.kept


def test_a_query_that_leaves_relays_nothing_takes_no_thinned_piece():
    query = with_relays(Narrow().query)
    plain = msgspec.structs.replace(query.tolerates, relays=msgspec.UNSET)
    query = msgspec.structs.replace(query, tolerance=plain)
    root = asked(query)
    root.receive(one_piece(query, 0), now_s=11.0)
    assert root.root.counters["stranger"] == 1
    assert not root.disk.kept


def test_a_thinned_piece_is_known_again_after_a_restart():
    world = Narrow(Finally.BOUNDED)
    world.run(45.0, panes=3)
    before = world.root.root.scoreboard.boards[1].snapshot()
    assert before[-1], "it is thinned"
    world.root.start(now_s=world.now_s)
    assert world.root.root.scoreboard.boards[1].snapshot() == before


def one_piece(query: Query, pane: int) -> Summary:
    """Of two sites, without record 1."""
    mine, yours = (whole(query, pane, site, (2, 3), of=LIFE) for site in (0, 1))
    told = Remainder(largest=1.0, total=1.0, keys=1, of=3.0)
    found = mine.coverage.merge(yours.coverage)
    coverage = msgspec.structs.replace(found, thinned=(told,))
    return msgspec.structs.replace(mine, coverage=coverage)


def asked(query: Query, *, sites: int = 2) -> RootDesk:
    root = RootDesk(query, make_roster(sites), now_s=0.0)
    root.hear(*(state(query, ordinal, of=LIFE) for ordinal in range(sites)), now_s=0.0)
    root.work(now_s=10.0)
    return root
