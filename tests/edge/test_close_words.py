"""Which digests of its closes a site tells, and when."""

from collections.abc import Iterator

import pytest

from headwater.algebra.words.close_digest import Close, Closes, digest_of
from headwater.algebra.words.site_state import FOREVER
from headwater.edge.config import EdgeConfig
from headwater.edge.words.close_words import CloseWords

LIFE = 7
CONFIG = EdgeConfig(digest_panes=4, digests_told_max=3, closes_told_max=2, asked_max=2)


class Site:
    """Closes by pane, and what would be told of them."""

    def __init__(self, *, is_finite: bool = False) -> None:
        self.words = CloseWords(CONFIG, is_finite=is_finite)
        self.closes: dict[int, int] = {}
        self.number = 0

    def of(self, first: int, last: int) -> Iterator[Close]:
        return (one for one in sorted(self.closes.items()) if first <= one[0] <= last)

    def close(self, through: int, *, sealed: int = -FOREVER, cut: int = FOREVER) -> bool:
        return self.words.close(0, closed_through=through, sealed_through=sealed, made_through=cut)

    def told(self, lowest: int = 0) -> list[tuple[int, int]]:
        """The ranges; each digest is that of its closes."""
        found = self.words.digests(lowest, LIFE, self.of)
        for one in found:
            assert one.digest == digest_of(LIFE, self.of(one.first, one.last))
        return [(one.first, one.last) for one in found]

    def answers(self) -> tuple[Closes, ...]:
        return self.words.answers(0, self.of, open_from=self.words.closed_through)

    def tell(self) -> int:
        self.number += 1
        self.words.numbered(self.number)
        return self.number


@pytest.fixture
def site() -> Site:
    return Site()


def test_a_block_is_told_when_all_of_it_is_closed(site):
    site.closes = dict.fromkeys(range(20), 1)
    assert not any(site.close(through) for through in range(4))
    assert site.close(4)
    assert site.told() == [(0, 3)]
    assert not any(site.close(through) for through in range(5, 8))
    assert site.close(8)
    assert site.told() == [(0, 3), (4, 7)]


def test_the_beginning_of_a_block_is_told_where_it_is_sealed(site):
    site.closes = dict.fromkeys(range(20), 1)
    site.close(11, sealed=10)
    assert site.told() == [(0, 3), (4, 7), (8, 9)]


def test_what_is_being_cut_is_not_told(site):
    site.closes = dict.fromkeys(range(7), 1)
    site.close(8, cut=7)
    assert site.told() == [(0, 3), (4, 6)]


def test_a_stretch_without_updates_adds_no_block(site):
    site.closes = {1: 1, 1_000_002: 2}
    site.close(2_000_000)
    assert site.told() == [(0, 3), (4, 1_999_999)]


def test_a_finite_input_is_one_range_when_it_has_ended():
    site = Site(is_finite=True)
    site.closes = dict.fromkeys(range(40), 1)
    assert not site.close(40)
    assert site.close(FOREVER, sealed=FOREVER)
    assert site.told(-FOREVER) == [(-FOREVER, FOREVER - 1)]


def test_no_more_blocks_are_told_than_the_limit_and_the_others_follow(site):
    site.closes = dict.fromkeys(range(40), 1)
    site.close(20)
    assert site.told() == [(0, 3), (4, 7), (8, 11)]
    assert site.words.agree(8), "what is left was told, and there is more"
    assert site.words.agree(12), "there is more to tell"
    assert site.told() == [(12, 15), (16, 19)]


def test_what_is_agreed_to_is_not_told_again(site):
    site.closes = dict.fromkeys(range(8), 1)
    site.close(8)
    site.told()
    assert not site.words.agree(4), "what is left was told as it is"
    assert site.told() == [(4, 7)]
    assert site.words.agree(6), "it begins within what was told"
    assert site.told() == [(6, 7)]
    assert not site.words.agree(8)
    assert site.told() == []


def test_agreement_says_which_state_was_heard(site):
    site.closes = dict.fromkeys(range(20), 1)
    site.close(4)
    site.tell()
    site.words.agree(4)
    assert site.words.heard_number() == 0, "it may be a former process's state that was heard"
    site.close(8)
    number = site.tell()
    site.tell()
    assert site.words.heard_number() == 0
    site.words.agree(8)
    assert site.words.heard_number() == number


def test_closes_are_told_one_by_one_until_the_root_has_them(site):
    site.closes = {0: 1, 1: 3, 5: 1}
    site.close(8)
    assert site.words.ask(0, 3, number=70)
    assert not site.words.ask(0, 3, number=71), "it is told already"
    (answer,) = site.answers()
    assert (answer.first, answer.last, answer.asked) == (0, 3, 70)
    assert answer.closes == ((0, 1), (1, 3))
    number = site.tell()
    site.words.greeted(number - 1)
    assert site.answers()
    site.words.greeted(number)
    assert not site.answers()
    assert site.words.ask(0, 3, number=72)


def test_a_question_that_comes_later_is_not_answered_by_what_was_told_before(site):
    site.close(8)
    site.words.ask(0, 3, number=70)
    first = site.tell()
    site.words.ask(4, 7, number=71)
    second = site.tell()
    site.words.greeted(first)
    assert [one.first for one in site.answers()] == [0, 4]
    site.words.greeted(second)
    assert not site.answers()


def test_nothing_is_answered_of_panes_that_are_not_closed(site):
    site.closes = {2: 1, 4: 1}
    site.close(4)
    site.words.ask(2, 9, number=70)
    site.words.ask(4, 9, number=71)
    (answer,) = site.answers()
    assert (answer.first, answer.last, answer.closes) == (2, 3, ((2, 1),))


def test_of_a_pane_that_is_wanted_it_is_said_that_it_is_not_closed_while_it_is_not(site):
    site.close(4)
    assert site.words.wanted_open(4, number=70)
    assert not site.words.wanted_open(4, number=71), "it is told already"
    assert site.answers() == (Closes.not_yet(4, 70),)
    site.close(8)
    assert site.answers() == ()
    site.words.greeted(site.tell())
    assert site.words.wanted_open(8, number=72), "what was greeted is not told again"
    assert site.answers() == (Closes.not_yet(8, 72),)


def test_an_answer_that_is_too_long_ends_before_the_first_close_that_it_leaves_out(site):
    site.closes = {0: 1, 1: 1, 2: 1, 3: 1}
    site.close(4)
    site.words.ask(0, 3, number=70)
    (answer,) = site.answers()
    assert (answer.first, answer.last, len(answer.closes)) == (0, 1, 2)


def test_no_more_questions_are_remembered_than_the_limit(site):
    site.close(40)
    for n in range(5):
        site.words.ask(n, n, number=70 + n)
    assert [one.first for one in site.answers()] == [3, 4]


def test_another_root_has_agreed_to_nothing_and_asked_nothing(site):
    site.closes = dict.fromkeys(range(8), 1)
    site.tell()
    site.close(8)
    site.tell()
    site.words.agree(8)
    site.words.ask(0, 3, number=70)
    site.words.forget_agreement()
    assert site.told() == [(0, 3), (4, 7)]
    assert not site.answers()
    site.words.agree(8)
    assert site.words.heard_number() == 0, "it was told to the former one"
