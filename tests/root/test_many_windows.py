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
