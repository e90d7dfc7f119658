"""Words of two lives of one root, under way at one time: a ledger was lost, and a clock set back.

Summaries find their way around trouble and acknowledgements go the same ways back, so peers may
hand acknowledgements to one another in a circle. Each of them must hand each word on once.
"""

from __future__ import annotations

import itertools

from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.overlay.carry.ack_cast import AckCast

QUERY = "q@root#1"
LOW, HIGH = 5, 9
LIVES = (LOW, HIGH)


def word(life, number):
    return Acknowledgement(query=QUERY, root_incarnation=life, number=number, done_through=0)


def take(cast, ack):
    """Whether it is handed on."""
    is_news = cast.is_news(ack)
    if is_news:
        cast.accept(ack, now_s=0.0)
    return is_news


def newest(cast):
    return cast.newest(QUERY, now_s=0.0).order


def test_a_higher_life_is_news_whatever_its_count():
    cast = AckCast()
    assert take(cast, word(LOW, 7))
    assert take(cast, word(HIGH, 1))
    assert newest(cast) == (HIGH, 1)


def test_a_word_of_an_earlier_life_is_handed_on_once_and_is_not_the_newest():
    cast = AckCast()
    take(cast, word(HIGH, 3))
    assert take(cast, word(LOW, 7)), "whoever knows the higher life tells the root of it"
    assert newest(cast) == (HIGH, 3)
    assert not take(cast, word(LOW, 7))
    assert not take(cast, word(LOW, 6))
    assert take(cast, word(LOW, 8))
    assert not take(cast, word(HIGH, 3)), "it is still known"


def test_two_words_in_a_circle_come_to_rest_in_any_order():
    for first in itertools.permutations([word(life, n) for life in LIVES for n in (1, 2)]):
        casts = [AckCast() for _ in range(3)]
        under_way, sent = [(0, ack) for ack in first], 0
        while under_way:
            at, ack = under_way.pop(0)
            if take(casts[at], ack):
                sent += 1
                assert sent <= len(casts) * len(first)
                under_way.append(((at + 1) % len(casts), ack))
        assert {newest(cast) for cast in casts} == {(HIGH, 2)}


def test_a_query_that_comes_again_begins_anew():
    cast = AckCast()
    take(cast, word(HIGH, 3))
    take(cast, word(LOW, 7))
    cast.discard_query(QUERY)
    assert take(cast, word(LOW, 7))
    assert newest(cast) == (LOW, 7)
