"""Which keys leave early, in which order, and what is kept back; section by section where the paper
(Heintz et al.) says it."""

from __future__ import annotations

import numpy as np
import pytest

from headwater.algebra.remainders.error_bound import ErrorBound, ErrorForm
from headwater.algebra.remainders.withholding import Added, Largest
from headwater.edge.outbox.early.contest import Contest
from headwater.edge.outbox.early.early_config import EarlyConfig
from headwater.edge.outbox.early.key_book import KeyBook
from headwater.edge.outbox.early.key_past import KeyPast
from headwater.edge.outbox.early.look import Measure
from headwater.errors import ConfigurationError

PANE_S = 100.0


def a_bound(size: float) -> ErrorBound:
    return ErrorBound(ErrorForm.ABSOLUTE, size)


def a_book(past: KeyPast | None = None, *, share: float = 10.0, **settings: object) -> KeyBook:
    config = EarlyConfig(**settings)
    past = past or KeyPast(config, column_count=1)
    bound = None if config.partition == "size" else a_bound(share)
    return KeyBook(
        [Measure(Added(), bound, share=share)],
        past,
        config,
        start_s=0.0,
        pane_s=PANE_S,
        chance=np.random.default_rng(1),
    )


def add(book: KeyBook, now_s: float, row_bytes: int = 1, **values: float) -> None:
    """Keys are letters."""
    keys = np.array([ord(key) for key in values], dtype=np.uint64)
    given = np.array([list(values.values())], dtype=float)
    book.add(keys, given, records=np.ones(len(keys)), row_bytes=row_bytes, now_s=now_s)


def take(book: KeyBook, bytes_max: int, now_s: float, ahead: float = 0.0) -> str:
    return "".join(chr(key) for key in book.take(bytes_max, now_s=now_s, ahead_bytes=ahead))


def test_section_4_2_only_keys_above_the_bound_leave_early_least_recent_first() -> None:
    book = a_book(pick="lru")
    add(book, 1.0, a=11.0, b=4.0, c=30.0)
    add(book, 2.0, a=1.0, d=12.0)
    assert take(book, 9, 3.0) == "cad"
    add(book, 4.0, b=6.0, c=10.0)
    assert take(book, 9, 5.0) == "", "just at the bound is within it"
    add(book, 6.0, b=1.0)
    assert take(book, 9, 7.0) == "b"


def test_section_4_2_after_the_close_all_that_exceeds_the_bound_goes_and_the_rest_stays() -> None:
    book = a_book(pick="lru")
    add(book, 1.0, a=11.0, b=4.0, c=30.0, d=7.0)
    book.close()
    assert book.left_bytes() == 2
    assert take(book, 9, 100.0) == "ca", "the largest error first"
    assert take(book, 9, 100.0) == ""
    assert book.errors().tolist() == [7.0], "of d"


def test_section_4_3_the_primary_part_has_what_the_link_carries_less_what_is_still_to_come() -> (
    None
):
    past = KeyPast(EarlyConfig(), column_count=1)
    book = a_book(past, partition="size", pick="lru")
    add(book, 1.0, a=50.0, b=40.0, c=30.0, d=20.0)
    assert take(book, 1, 2.0, ahead=3.0) == "a"
    add(book, 60.0, e=60.0)
    book.close()
    assert take(book, 2, 100.0) == "eb", "from both parts, in descending error"
    book.end()
    assert past.threshold == 30.0
    assert past.first_by_error.tolist() == [0.60, 0.01, 0.01, 0.01, 0.01], "e, then a to d"
    later = a_book(past, partition="size", pick="lru")
    add(later, 1.0, a=50.0, b=40.0, c=30.0)
    assert take(later, 9, 2.0, ahead=3.0) == "ab", "one of three places is for a key to come"
    assert take(later, 9, 70.0, ahead=1.0) == "c"


def test_a_link_that_has_become_narrow_does_not_wait_for_keys_that_it_cannot_carry() -> None:
    past = KeyPast(EarlyConfig(), column_count=1)
    book = a_book(past, partition="size", pick="lru")
    add(book, 1.0, a=50.0)
    add(book, 90.0, **{chr(98 + n): 10.0 + n for n in range(20)})
    book.close()
    assert len(take(book, 99, 100.0)) == 21
    book.end()
    later = a_book(past, partition="size", pick="lru")
    add(later, 1.0, a=50.0, b=10.0)
    assert take(later, 9, 2.0, ahead=4.0) == "a", "three of four places are for keys to come"


def test_nothing_is_cut_that_does_not_fit() -> None:
    book = a_book(pick="lru")
    add(book, 1.0, row_bytes=20, a=11.0)
    add(book, 2.0, row_bytes=30, b=11.0)
    assert take(book, 19, 3.0) == ""
    assert take(book, 49, 3.0) == "a"
    assert take(book, 49, 3.0) == "b"


def test_gain_sends_what_is_done_and_keeps_what_goes_on() -> None:
    """Both above the bound; one has come at a steady rate in earlier panes, the other once."""
    config = EarlyConfig()
    past = KeyPast(config, column_count=1)
    for _ in range(3):
        book = a_book(past)
        add(book, 1.0, o=20.0)
        for n in range(20):
            add(book, 1.0 + 5 * n, s=20.0)
        book.close()
        book.end()
    book = a_book(past)
    add(book, 30.0, o=20.0)
    for n in range(6):
        add(book, 1.0 + 5 * n, s=20.0)
    assert book.pick == "gain"
    assert take(book, 1, 31.0) == "o"
    assert take(book, 1, 31.0) == "", "it would have to go again"
    assert take(book, 1, 99.9) == "s"


def test_gain_uses_idle_room_for_what_will_have_to_go() -> None:
    past = KeyPast(EarlyConfig(), column_count=1)
    for _ in range(3):
        book = a_book(past)
        for n in range(2):
            add(book, 10.0 + n, u=6.0)
        book.close()
        book.end()
    book = a_book(past)
    add(book, 10.0, u=6.0)
    taken = [take(book, 1, now_s) for now_s in (11.0, 60.0, 99.0)]
    assert "".join(taken).count("u") <= 1
    assert book.errors().max() <= 6.0


def test_gain_waits_while_the_link_has_room_to_spare_until_the_close() -> None:
    """A key of which more will probably come; nothing else wants the link."""
    past = KeyPast(EarlyConfig(), column_count=1)
    for _ in range(3):
        book = a_book(past)
        for n in range(3):
            add(book, 10.0 + 30 * n, u=20.0)
        book.close()
        book.end()
    wide, narrow = a_book(past), a_book(past)
    for book in (wide, narrow):
        add(book, 10.0, u=20.0)
    assert take(narrow, 1, 40.0, ahead=1.0) == "u"
    assert take(wide, 1, 40.0, ahead=60.0) == "", "it would have to go again, and there is time"
    assert take(wide, 1, 99.0, ahead=1.0) == "u"


def test_room_is_kept_for_keys_that_had_to_go_and_came_later_in_the_last_pane() -> None:
    past = KeyPast(EarlyConfig(), column_count=1)
    book = a_book(past)
    add(book, 10.0, a=20.0, b=5.0)
    add(book, 60.0, b=6.0, c=11.0)
    add(book, 80.0, d=9.0)
    take(book, 1, 90.0)
    book.close()
    book.end()
    assert past.first_of_due.tolist() == [0.1, 0.1, 0.6], "a, b and c; d is within the bound"
    assert [past.due_ahead(share) for share in (0.0, 0.1, 0.7)] == [3, 1, 0]


def test_a_pick_that_was_behind_yields_and_comes_back() -> None:
    past = KeyPast(EarlyConfig(contest_panes=2), column_count=1)
    assert a_book(past).pick == "gain"
    past.contest.score(preferred=5.0, other=3.0)
    assert a_book(past).pick == "lru"
    past.contest.score(preferred=1.0, other=4.0)
    assert a_book(past).pick == "gain"


def test_the_shadow_is_dealt_the_same_room_and_sends_nothing() -> None:
    past = KeyPast(EarlyConfig(), column_count=1)
    past.contest = Contest(4)
    book = a_book(past)
    add(book, 1.0, a=20.0, b=20.0)
    add(book, 50.0, a=20.0)
    sent = take(book, 1, 99.9)
    book.close()
    assert len(sent) == 1
    assert past.contest.text() == "picks: 1 against 1 over 1 panes"


def test_beyond_its_keys_the_smallest_are_put_aside_and_stay_within_the_bound() -> None:
    book = a_book(pick="lru", outbox_keys_max=8)
    add(book, 1.0, **{chr(97 + n): float(n + 20) for n in range(8)})
    add(book, 2.0, x=1.0, y=2.0)
    assert book.key_count == 7
    assert take(book, 99, 3.0) == "bcdefgh"
    book.close()
    assert book._is_aside_sent, "20 + 1 + 2 are more than half of what may be withheld"


def test_a_key_that_may_be_aside_is_never_early_and_its_error_counts_with_theirs() -> None:
    book = a_book(pick="lru", outbox_keys_max=8, share=100.0)
    add(book, 1.0, **{chr(97 + n): 10.0 + n for n in range(8)})
    add(book, 2.0, z=9.0)
    assert book.key_count == 7, "z and a are aside: 19 in all"
    add(book, 3.0, a=85.0)
    assert take(book, 99, 4.0) == ""
    book.close()
    assert take(book, 99, 100.0) == "a", "85 is within 100, with 19 it may not be"
    assert not book._is_aside_sent, "19 are within half of what may be withheld"


def test_memory_of_earlier_panes_is_bounded_and_fades() -> None:
    config = EarlyConfig(outbox_keys_max=16)
    past = KeyPast(config, column_count=1)
    for first in (97, 107):
        book = a_book(past, outbox_keys_max=16)
        add(book, 1.0, **{chr(first + n): 1.0 for n in range(10)})
        book.close()
        book.end()
    assert past.key_count <= 16
    for _ in range(6):
        book = a_book(past, outbox_keys_max=16)
        add(book, 1.0, a=1.0)
        book.close()
        book.end()
    assert past.key_count == 1


def test_several_columns_a_key_must_go_when_one_of_them_exceeds_its_bound() -> None:
    config = EarlyConfig(pick="lru")
    measures = [
        Measure(Added(), a_bound(10.0), share=10.0),
        Measure(Largest(floor=0.0), a_bound(5.0)),
    ]
    book = KeyBook(
        measures,
        KeyPast(config, column_count=2),
        config,
        start_s=0.0,
        pane_s=PANE_S,
        chance=np.random.default_rng(1),
    )
    keys = np.array([1, 2, 3], dtype=np.uint64)
    values = np.array([[9.0, 11.0, 9.0], [4.0, 4.0, 6.0]])
    book.add(keys, values, records=np.ones(3), row_bytes=1, now_s=1.0)
    assert book.take(9, now_s=2.0).tolist() == [2, 3]


@pytest.mark.parametrize("what", ["partition", "pick"])
def test_an_unknown_part_is_refused_with_those_that_there_are(what: str) -> None:
    with pytest.raises(ConfigurationError, match=f"wanted {what} of .*error|wanted pick of gain"):
        a_book(**{what: "best"})


def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="outbox_keys_max > 0"):
        EarlyConfig(outbox_keys_max=0)
