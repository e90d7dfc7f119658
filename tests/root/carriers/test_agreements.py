"""Digests held against boards, step by step: what is agreed to, asked for, awaited and forgotten.

Here without windows, ledger and relays; ``test_disputes.py`` has all of them together.
"""

from __future__ import annotations

from functools import reduce

from pane_kit import make_query, make_roster, state

from headwater.algebra.coverage import Coverage
from headwater.algebra.words.close_digest import Asked, BlockDigest, Close, Closes, digest_of
from headwater.algebra.words.site_state import FOREVER, Declined, Reason
from headwater.root.carriers.agreements import AGREED_TOLD_TIMES, Agreements
from headwater.root.config import RootConfig
from headwater.root.scoreboard import Scoreboard
from headwater.root.site_table import SiteTable

LIFE = 7
LIFE_S = 25.0
LATE_S = 100.0
"""When all that differs is asked about."""
QUERY = make_query()


class Desk:
    def __init__(self, sites: int = 3, **config: int) -> None:
        self.table = SiteTable(QUERY, make_roster(sites))
        self.board = Scoreboard(self.table)
        self.agreements = Agreements(self.board, RootConfig(summary_life_s=LIFE_S, **config))
        self.kept = 0
        self.told = dict.fromkeys(range(sites), 0)

    def hold(self, pane: int, *sites: int, updates: int = 1, of: int = LIFE) -> None:
        """One summary came, in which each of these sites has closed the pane with as many."""
        ranges = ((1, updates),) if updates else ()
        parts = (Coverage.of_part(site, of, updates=ranges, closed_at=updates) for site in sites)
        coverage = reduce(Coverage.merge, parts)
        self.kept += 1
        self.board.accept(pane, coverage, number=self.kept, has_rows=True)
        self.agreements.held_changed(pane, coverage, number=self.kept, now_s=0.0)

    def say(
        self, site: int, *words: BlockDigest | Closes, of: int = LIFE, **fields: object
    ) -> None:
        self.told[site] += 1
        said = state(
            QUERY,
            site,
            of=of,
            number=self.told[site],
            digests=tuple(one for one in words if isinstance(one, BlockDigest)),
            closes=tuple(one for one in words if isinstance(one, Closes)),
            **fields,
        )
        self.board.hear(said, since=1)
        self.agreements.hear(said, now_s=0.0)

    def compare(self) -> None:
        self.agreements.compare(done_through=0, now_s=0.0)

    def ask(self, number: int = 1) -> tuple[Asked, ...]:
        return self.agreements.asked(number=number, done_through=0, now_s=LATE_S)

    def through(self, site: int) -> int:
        return self.table.views[site].agreed_through


def block(first: int, last: int, *closes: Close, of: int = LIFE) -> BlockDigest:
    return BlockDigest(first=first, last=last, digest=digest_of(of, closes))


def differing(**config: int) -> Desk:
    """Of each site an update of pane 1 is held that it has not cut."""
    desk = Desk(**config)
    desk.hold(1, 0, 1, 2)
    for site in range(3):
        desk.say(site, block(0, 3))
    desk.compare()
    return desk


# Questions and answers


def test_an_answer_to_an_earlier_question_proves_nothing():
    desk = differing()
    assert desk.ask(number=7)[0] == Asked(ordinal=0, first=0, last=3)
    desk.say(0, block(0, 3), Closes(first=0, last=3, asked=6))
    assert (desk.board.disputed, desk.through(0)) == ({}, 0)
    assert desk.ask(number=8)[0] == Asked(ordinal=0, first=0, last=3), "it is asked still"
    desk.say(0, block(0, 3), Closes(first=0, last=3, asked=7))
    assert (desk.board.disputed, desk.through(0)) == ({1: {0: 0}}, 4)


def test_what_came_after_the_question_may_have_been_cut_after_the_answer():
    desk = Desk()
    desk.say(0, block(0, 3, (1, 1)))
    desk.compare()
    assert desk.ask(number=7) == (Asked(ordinal=0, first=0, last=3),)
    desk.hold(1, 0, updates=2)
    desk.say(0, block(0, 3, (1, 1)), Closes(first=0, last=3, asked=7, closes=((1, 1),)))
    assert (desk.board.disputed, desk.through(0)) == ({}, 0)


def test_panes_below_what_a_digest_is_of_are_not_agreed_to_with_it():
    desk = Desk()
    desk.say(0, block(4, 7))
    desk.compare()
    assert desk.through(0) == 0
    assert desk.ask(number=7) == (Asked(ordinal=0, first=4, last=7),)
    desk.say(0, block(4, 7), Closes(first=4, last=7, asked=7))
    desk.compare()
    assert desk.through(0) == 0


def test_what_a_site_has_closed_and_the_root_lacks_is_asked_for():
    desk = Desk()
    desk.say(0, block(0, 3, (2, 1)))
    desk.compare()
    desk.ask(number=7)
    desk.say(0, block(0, 3, (2, 1)), Closes(first=0, last=3, asked=7, closes=((2, 1),)))
    assert desk.through(0) == 4
    assert desk.board.lacked == {2: {0: 1}}
    assert desk.board.boards[2].lacking == 0b1


def test_of_what_a_site_has_declined_its_digest_says_nothing():
    desk = Desk()
    desk.hold(1, 0)
    desk.say(0, block(0, 3), declined=(Declined(first=1, last=1, reason=Reason.LOST),))
    desk.compare()
    assert desk.through(0) == 4


def test_what_was_disputed_and_is_replaced_stays_so_while_its_site_still_has_it():
    desk = disputing()
    desk.board.make_anew(1)
    desk.agreements.clear(1)
    assert desk.board.disputed == {1: {0: 1}}
    desk.hold(1, 0)
    desk.agreements.clear(1)
    assert desk.board.disputed == {}


def test_of_what_a_site_has_declined_nothing_is_disputed_once_all_else_is_replaced():
    """Its own update expired before it came: nobody can send it, and the pane would never be final
    for a word that nobody can compare any more."""
    desk = disputing()
    expired = Declined(first=1, last=1, reason=Reason.EXPIRED)
    desk.say(0, block(0, 3), declined=(expired,))
    desk.agreements.clear(1)
    assert desk.board.disputed == {1: {0: 1}}, "what carriers brought is still in"
    desk.board.make_anew(1)
    desk.agreements.clear(1)
    assert desk.board.disputed == {}


def disputing() -> Desk:
    """Carriers brought two updates of the first site, which has closed the pane with one."""
    desk = Desk()
    desk.hold(1, 0, 1, updates=2)
    desk.say(0, block(0, 3, (1, 1)))
    desk.compare()
    desk.ask(number=7)
    desk.say(0, block(0, 3, (1, 1)), Closes(first=0, last=3, asked=7, closes=((1, 1),)))
    assert desk.board.disputed == {1: {0: 1}}
    return desk


def test_a_question_about_panes_that_are_over_is_not_put_again():
    desk = differing()
    assert len(desk.ask()) == 3
    desk.agreements.drop_below(4)
    assert all(desk.agreements._lives[site].ask is None for site in range(3))


# Limits


def test_no_more_sites_are_compared_at_a_time_than_the_limit():
    desk = Desk(compares_per_tick_max=2)
    for site in range(3):
        desk.say(site, block(0, 3))
    desk.compare()
    assert [desk.through(site) for site in range(3)] == [4, 4, 0]
    desk.compare()
    assert desk.through(2) == 4


def test_no_more_is_asked_at_a_time_than_the_limit_and_who_is_silent_holds_up_nobody():
    desk = differing(asks_per_ack_max=2)
    asked = [[one.ordinal for one in desk.ask(number)] for number in range(1, 4)]
    assert asked == [[0, 1], [2, 0], [1, 2]]


def test_beyond_the_limit_of_disputes_a_site_stays_uncompared():
    desk = Desk(disputes_max=1)
    for pane in (1, 2):
        desk.hold(pane, 0, 1)
    desk.say(0, block(0, 3))
    desk.compare()
    desk.ask(number=7)
    desk.say(0, block(0, 3), Closes(first=0, last=3, asked=7))
    assert desk.board.disputed == {1: {0: 0}}
    assert desk.through(0) == 0


# What sites are told


def agreed(desk: Desk) -> list[tuple[int, int]]:
    return [(one.pane, one.sites) for one in desk.agreements.take_told()]


def test_a_site_is_told_a_few_times_how_far_it_is_agreed_with_and_again_if_it_repeats_itself():
    desk = Desk()
    desk.say(0, block(0, 3))
    desk.compare()
    told = [agreed(desk) for _ in range(AGREED_TOLD_TIMES + 1)]
    assert told == [*[[(4, 0b1)]] * AGREED_TOLD_TIMES, []]
    desk.agreements.tell_again(0)
    assert agreed(desk) == [(4, 0b1)]
    desk.agreements.tell_again(1)
    assert agreed(desk) == [(4, 0b1)], "nothing is known of the other one"


def test_who_finds_no_room_in_one_acknowledgement_is_told_in_a_later_one():
    desk = Desk(agreed_per_ack_max=1)
    for site, last in ((0, 3), (1, 7), (2, 7)):
        desk.say(site, block(0, last))
    desk.compare()
    told = [agreed(desk) for _ in range(2 * AGREED_TOLD_TIMES + 1)]
    assert told == [*[[(8, 0b110)]] * AGREED_TOLD_TIMES, *[[(4, 0b001)]] * AGREED_TOLD_TIMES, []]


# Lives


def test_a_new_life_of_a_site_begins_uncompared_and_without_doubts():
    desk = Desk()
    desk.say(0, block(0, 3))
    desk.compare()
    desk.hold(1, 0, 1)
    assert desk.board.doubted == {1: 0b1}
    desk.say(0, of=LIFE + 1)
    assert desk.board.doubted == {}
    assert desk.through(0) == 0
    assert desk.agreements.through == -FOREVER


def test_all_that_is_doubted_of_a_site_is_one_question() -> None:
    """A liar spoils many panes at once, and one question is put in an acknowledgement at most."""
    desk = Desk()
    desk.say(0, block(0, 9))
    desk.compare()
    assert desk.through(0) == 10
    for pane in (2, 8, 5):
        desk.hold(pane, 0, 1)
    assert desk.ask(number=7) == (Asked(ordinal=0, first=2, last=8),)
    desk.say(0, block(0, 9), Closes(first=2, last=5, asked=7))
    assert sorted(desk.board.disputed) == [2, 5], "as far as it had room to say"
    assert desk.board.doubted == {8: 0b1}
    assert desk.ask(number=8) == (Asked(ordinal=0, first=8, last=8),)
    desk.say(0, block(0, 9), Closes(first=8, last=8, asked=8))
    assert sorted(desk.board.disputed) == [2, 5, 8]
    assert desk.board.doubted == {}
    assert desk.through(0) == 10
