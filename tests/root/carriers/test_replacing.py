"""What takes the place of a disputed piece: whose updates are awaited, which count, how many."""

from __future__ import annotations

from functools import reduce

import pytest
from pane_kit import NumbersMerger, make_query, make_roster, part, state

from headwater.algebra.coverage import Coverage
from headwater.algebra.words.close_digest import Closes
from headwater.algebra.words.site_state import Declined, Reason
from headwater.root.carriers.replacing import BENCH_LIVES, Piece, Pieces, Replacing
from headwater.root.config import RootConfig
from headwater.root.scoreboard import Scoreboard
from headwater.root.site_table import SiteTable

SITES = 5
LIFE = 7
QUERY = make_query()


class Desk:
    def __init__(self, **config: int) -> None:
        self.now_s = 0.0
        self.number = 10
        self.board = Scoreboard(SiteTable(QUERY, make_roster(SITES)))
        self.replacing = Replacing(self.board, RootConfig(**config), NumbersMerger())
        for site in range(SITES):
            self.board.hear(state(QUERY, site, of=LIFE), since=1)

    def dispute(self, pane: int, *pieces: tuple[int, ...], site: int = 0) -> None:
        """These sites are in one piece each, and the site's part of one is disputed."""
        for number, sites in enumerate(pieces, start=1):
            self.replacing.pieces.add(pane, Piece(number, covering(*sites), has_rows=True))
        self.board.disputed[pane] = {site: 2}
        self.replacing.begin(pane, now_s=self.now_s)

    def take(self, pane: int, site: int, *rows: int, of: int = LIFE) -> bool:
        return self.replacing.take(part(QUERY, pane, site, rows, of=of))

    def wanted(self) -> list[tuple[int, int]]:
        self.number += 1
        found = self.replacing.wanted(number=self.number, now_s=self.now_s)
        return [(one.pane, one.sites) for one in found]

    def not_yet(self, site: int, pane: int, *, asked: int) -> None:
        told = Closes.not_yet(pane, asked)
        self.replacing.hear(state(QUERY, site, of=LIFE, number=2, closes=(told,)))

    def size_bytes(self, pane: int) -> int:
        return self.replacing.benches[pane].size_bytes


def covering(*sites: int) -> Coverage:
    parts = (Coverage.of_part(n, LIFE, updates=((1, 1),), closed_at=1) for n in sites)
    return reduce(Coverage.merge, parts)


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    desk.dispute(3, (0, 1))
    return desk


def test_pieces_that_have_a_site_in_common_are_replaced_together(desk):
    desk.dispute(5, (3, 4), (1, 2), (0, 1))
    assert desk.wanted() == [(3, 0b00011), (5, 0b00111)]
    for site in (0, 1):
        desk.take(5, site, site)
    assert desk.replacing.complete(5) is None
    desk.take(5, 2, 2)
    assert [one.rows for one in desk.replacing.complete(5) or ()] == [(0,), (1,), (2,)]
    numbers, left = desk.replacing.swap(5)
    assert (numbers, [piece.number for piece in left]) == ({2, 3}, [1])


def test_updates_of_a_former_life_are_not_the_sites_own_word(desk):
    desk.take(3, 0, 1)
    desk.take(3, 1, 2, of=LIFE - 1)
    assert desk.replacing.complete(3) is None
    assert desk.wanted() == [(3, 0b10)]


def test_of_who_has_declined_the_pane_nothing_is_awaited(desk):
    desk.take(3, 0, 1)
    lost = state(
        QUERY, 1, of=LIFE, number=2, declined=(Declined(first=3, last=3, reason=Reason.LOST),)
    )
    desk.board.hear(lost, since=1)
    assert [one.rows for one in desk.replacing.complete(3) or ()] == [(1,)]


def test_an_update_that_comes_twice_is_taken_once(desk):
    assert desk.take(3, 0, 1)
    assert desk.take(3, 0, 1)
    assert desk.size_bytes(3) == 8


def test_what_is_laid_by_has_a_limit():
    desk = Desk(bench_bytes_max=20)
    desk.dispute(3, (0, 1))
    desk.dispute(5, (0, 1))
    desk.take(3, 0, 1)
    desk.take(5, 0, 1)
    assert desk.take(5, 1, 2), "it is not let in beside what it would replace"
    assert desk.size_bytes(3) + desk.size_bytes(5) == 16


def test_panes_are_asked_for_in_turn():
    desk = Desk(wanted_per_ack_max=2)
    for pane in range(3, 6):
        desk.dispute(pane, (0, 1))
    asked = [desk.wanted() for _ in range(3)]
    assert [len(one) for one in asked] == [2, 2, 2]
    assert {pane for one in asked for pane, _ in one} == {3, 4, 5}


def test_pieces_that_were_put_in_the_place_of_others_count_instead_of_them():
    kept = Pieces(RootConfig(pieces_max=3))
    for pane in (1, 2):
        kept.add(pane, Piece(pane, covering(1), has_rows=True))
    for number in range(5):
        kept.put(2, [Piece(10 + number, covering(1), has_rows=True)])
    kept.add(3, Piece(3, covering(1), has_rows=True))
    assert [len(kept.of(pane)) for pane in (1, 2, 3)] == [1, 1, 1]
    kept.put(3, [])
    kept.add(4, Piece(4, covering(1), has_rows=True))
    assert [len(kept.of(pane)) for pane in (1, 2, 3, 4)] == [1, 1, 0, 1]


def test_pieces_have_a_limit_and_a_dispute_without_any_is_told_apart():
    kept = Pieces(RootConfig(pieces_max=3))
    for pane in range(5):
        kept.add(pane, Piece(pane, covering(0, 1), has_rows=True))
    assert [len(kept.of(pane)) for pane in range(5)] == [0, 0, 1, 1, 1]
    desk = Desk()
    desk.board.disputed[9] = {0: 1}
    assert not desk.replacing.begin(9, now_s=0.0)


def test_of_who_says_that_the_pane_is_not_closed_yet_nothing_is_awaited(desk):
    assert desk.wanted() == [(3, 0b11)]
    desk.not_yet(1, 3, asked=desk.number)
    assert desk.wanted() == [(3, 0b01)]
    desk.take(3, 0, 1)
    assert [one.rows for one in desk.replacing.complete(3) or ()] == [(1,)]


def test_an_answer_to_an_older_question_says_nothing_of_what_came_since(desk):
    desk.not_yet(1, 3, asked=desk.number + 9)
    assert desk.wanted() == [(3, 0b11)], "it was not asked before"
    desk.not_yet(1, 3, asked=desk.number - 1)
    assert desk.wanted() == [(3, 0b11)]
    desk.not_yet(1, 3, asked=desk.number)
    assert desk.wanted() == [(3, 0b01)]
    desk.replacing.pieces.add(3, Piece(9, covering(1, 2), has_rows=True))
    desk.replacing.begin(3, now_s=desk.now_s)
    assert desk.wanted() == [(3, 0b111)], "a piece came since, with an update that it may have cut"


def test_who_has_not_closed_the_pane_and_sends_it_later_is_heard(desk):
    desk.wanted()
    desk.not_yet(1, 3, asked=desk.number)
    desk.take(3, 0, 1)
    desk.take(3, 1, 2)
    assert [one.rows for one in desk.replacing.complete(3) or ()] == [(1,), (2,)]


def test_panes_whose_sites_stay_away_make_room_for_others_in_turn():
    desk = Desk(replacing_max=2)
    for pane in range(3, 8):
        desk.dispute(pane, (0, 1))
    life_s = RootConfig().summary_life_s
    turns = []
    for _ in range(6):
        turns.append([pane for pane, _ in desk.wanted()])
        desk.now_s += life_s
        assert [pane for pane, _ in desk.wanted()] == turns[-1], "a turn is longer than that"
        desk.now_s += BENCH_LIVES * life_s
    assert turns == [[3, 4], [5, 6], [3, 7], [4, 5], [6, 7], [3, 4]]


def test_where_nobody_waits_a_pane_keeps_its_room():
    desk = Desk(replacing_max=1)
    desk.dispute(3, (0, 1))
    desk.take(3, 0, 1)
    desk.now_s += 1e6
    assert desk.wanted() == [(3, 0b10)]
