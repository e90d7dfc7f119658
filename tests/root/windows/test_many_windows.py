"""A query that begins long ago opens its windows within a limit."""

from __future__ import annotations

from pane_kit import make_query

from headwater.root.config import RootConfig
from headwater.root.windows import WindowBook


def test_clocks_open_no_more_windows_than_the_limit_until_others_are_over() -> None:
    config = RootConfig(windows_max=5, clock_settle_s=0.001)
    book = WindowBook(make_query(deadline_s=5.0), config, now_s=0.0)
    now_s = 1e6
    for window in book.due_by_clock(now_s=now_s):
        book.open(window, now_s=now_s)
    assert sorted(book.windows) == [0, 1, 2, 3, 4]
    assert list(book.due_by_clock(now_s=now_s)) == []
    book.overdue(now_s=2 * now_s)
    assert book.next_deadline_s() > 2 * now_s, "nothing to do, so nobody is woken"
    book.retire(book.windows[0])
    assert next(book.due_by_clock(now_s=now_s)) == 5


def test_a_record_of_the_year_9999_does_not_open_every_window_until_then() -> None:
    """Of a finite input with a begin every window has an answer, as far as there is room."""
    query = make_query(deadline_s=5.0, ends=True)
    book = WindowBook(query, RootConfig(windows_max=5), now_s=0.0)
    assert list(book.unopened_of(2)) == [0, 1, 2]
    far = 10**15
    for _ in range(2):
        assert book.gap_before(far) == far - 3
        assert list(book.unopened_of(far)) == [far]
    book.open(far, now_s=1.0)
    assert book.gap_before(far) == 0, "it is said once"
    assert list(book.unopened_of(far)) == []
    assert list(book.unopened_of(4)) == [0, 1, 2, 3, 4][3:], "what is near is answered as ever"
