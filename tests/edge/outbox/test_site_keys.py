"""A limit over the keys of all streams of a site: the largest gives way, who is gone is gone."""

from __future__ import annotations

import gc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.edge.outbox.test_when_keys_leave import PANE, ROW_BYTES, START_S, close, cuts, hear, made

from headwater.edge.outbox.early.site_keys import KeysTogether, SiteKeys
from headwater.edge.outbox.early_rounds import EarlyRounds
from headwater.edge.report import PaneKeys


class Keys:
    def __init__(self, key_count: int = 0) -> None:
        self.key_count = key_count

    def let_go(self, keys_left: int) -> None:
        assert keys_left < self.key_count
        self.key_count = keys_left


def test_whoever_has_most_gives_way_whoever_came_last() -> None:
    together, large, small = KeysTogether(16), Keys(12), Keys(4)
    together.came(large, 12)
    together.came(small, 4)
    assert together.let_go == 0
    small.key_count += 1
    together.came(small, 1)
    assert (large.key_count, small.key_count, together.let_go) == (10, 5, 2)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 90)), max_size=60))
def test_there_are_never_more_than_that_after_anything_came(came: list[tuple[int, int]]) -> None:
    together, following = KeysTogether(100), [Keys() for _ in range(5)]
    total = 0
    for at, more in came:
        following[at].key_count += more
        total += more
        together.came(following[at], more)
        left = sum(one.key_count for one in following)
        assert left <= 100
        assert left + together.let_go == total


def test_who_is_gone_leaves_its_room_to_the_others() -> None:
    together, gone, other = KeysTogether(10), Keys(9), Keys(10)
    together.came(gone, 9)
    del gone
    gc.collect()
    together.came(other, 10)
    assert together.let_go == 0


def two_streams(keys_max: int) -> tuple[SiteKeys, EarlyRounds, EarlyRounds]:
    keys, (one, _), (other, _) = SiteKeys(keys_max), made(), made()
    return keys, EarlyRounds(one, keys), EarlyRounds(other, keys)


def test_small_keys_of_the_larger_stream_are_put_aside_and_its_large_ones_leave() -> None:
    keys, large, small = two_streams(100)
    values = np.full((1, 96), 1.0)
    values[0, :40] = 900.0
    batch = PaneKeys(PANE, np.arange(1, 97, dtype=np.uint64), values, np.ones(96), ROW_BYTES)
    large.hear(batch, now_s=START_S + 1.0)
    hear(small, 5, 50.0)
    assert keys.books.let_go == 12, "an eighth at once"
    (cut,) = cuts(large)
    assert len(cut.keys) > 0
    assert set(cut.keys) <= set(range(1, 41))
    (book,) = small._books.values()
    assert book.key_count == 5, "the other stream has lost nothing"


def test_books_of_closed_panes_count_no_more_and_what_they_teach_is_limited_too() -> None:
    keys = SiteKeys(50)
    (one, _), (other, _) = made(), made()
    rounds = EarlyRounds(one, keys), EarlyRounds(other, keys)
    hear(rounds[0], 40, 50.0)
    close(one, rounds[0])
    hear(rounds[1], 45, 50.0)
    assert keys.books.let_go == 0, "the first book is gone"
    close(other, rounds[1])
    assert keys.pasts.let_go >= 35


def test_a_book_that_gives_up_all_its_keys_still_closes() -> None:
    state, rounds = made()
    hear(rounds, 40, 50.0)
    (book,) = rounds._books.values()
    book.let_go(0)
    assert book.key_count == 0
    close(state, rounds)
