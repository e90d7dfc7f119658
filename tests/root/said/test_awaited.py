"""What a watcher waits for, and which window ``why newest`` means. Windows of 10 s, answered at the
latest 10 s after their end."""

from __future__ import annotations

from typing import Any

import msgspec
from pane_kit import RootDesk, make_query, make_roster, state, whole

from headwater.root.said.awaited import awaited_window, newest_expected
from headwater.root.said.view import explain


def desk(*, sites: int = 2, **options: Any) -> RootDesk:
    made = RootDesk(make_query(**options), make_roster(sites), now_s=0.0)
    made.hear(*(state(made.query, n, of=100 * (n + 1)) for n in range(sites)), now_s=0.0)
    return made


def text_at(root: RootDesk, now_s: float) -> str:
    found = awaited_window(root.root, now_s=now_s)
    assert found is not None
    return found.text()


def test_before_its_end_a_window_is_awaited_until_its_deadline() -> None:
    assert text_at(desk(), 3.0) == (
        "waiting for the window 00:00:00 to 00:00:10 UTC: it has not ended; "
        "answered at 00:00:20 at the latest"
    )


def test_a_window_of_days_is_told_with_its_days() -> None:
    found = awaited_window(desk().root, now_s=3.0)
    assert found is not None
    week = msgspec.structs.replace(found, end_us=7 * 86_400 * 1_000_000)
    assert "the window 1970-01-01 00:00:00 UTC to 1970-01-08 00:00:00 UTC:" in week.text()


def test_after_its_end_those_are_named_who_are_missing() -> None:
    root = desk(sites=6)
    root.work(now_s=10.0)
    root.receive(whole(root.query, 0, 0, [1], of=100), now_s=11.0)
    told = text_at(root, 12.0)
    assert "it lacks s1 (no word of this pane yet); s2 (no word of this pane yet); s3" in told
    assert "s4 (no word of this pane yet) and 1 more sites; answered at 00:00:20" in told
    assert "s0" not in told


def test_the_next_window_is_awaited_once_one_is_answered() -> None:
    root = desk(sites=1)
    root.work(now_s=10.0)
    root.receive(whole(root.query, 0, 0, [1], of=100), now_s=11.0)
    root.work(now_s=11.0)
    assert root.newest(0).envelope.revision == 1
    assert text_at(root, 11.0).startswith("waiting for the window 00:00:10 to 00:00:20 UTC")


def test_after_a_restart_what_is_answered_already_is_not_awaited() -> None:
    """Clocks are doubted then, and open no windows for a while."""
    root = desk(sites=1)
    for pane in (0, 1, 2):
        at_s = 10.0 * (pane + 1) + 1
        root.work(now_s=at_s)
        root.receive(whole(root.query, pane, 0, [1], of=100), now_s=at_s)
        root.work(now_s=at_s)
    root.start(now_s=32.0)
    root.work(now_s=32.0)
    assert text_at(root, 32.0).startswith("waiting for the window 00:00:30 to 00:00:40 UTC")


def test_an_input_that_ends_has_no_deadline_and_records_alone_make_windows() -> None:
    root = desk(begin_pane=None, ends=True)
    assert awaited_window(root.root, now_s=30.0) is None
    root.receive(whole(root.query, 0, 0, [1], of=100), now_s=30.0)
    assert text_at(root, 30.0) == (
        "waiting for the window 00:00:00 to 00:00:10 UTC: it lacks s1 (no word of this pane yet)"
    )


def test_newest_is_the_last_window_whose_deadline_has_passed() -> None:
    """It was the last with an answer, and so hid that answers had stopped::

    window 0 |----------| deadline    window 1 |----------| deadline
             0          10     20              10         20     30
    """
    root = desk()
    assert newest_expected(root.root, now_s=3.0) == 0, "none is due: the one that is awaited"
    assert newest_expected(root.root, now_s=19.9) == 0
    assert newest_expected(root.root, now_s=29.9) == 0
    assert newest_expected(root.root, now_s=30.0) == 1
    assert newest_expected(root.root, now_s=105.0) == 8


def test_newest_is_a_window_that_was_answered_before_it_had_to_be() -> None:
    root = desk(sites=1)
    for pane in (0, 1):
        at_s = 10.0 * (pane + 1) + 1
        root.work(now_s=at_s)
        root.receive(whole(root.query, pane, 0, [1], of=100), now_s=at_s)
        root.work(now_s=at_s)
    assert newest_expected(root.root, now_s=22.0) == 1


def test_where_records_make_windows_newest_is_the_last_open_one_that_is_due() -> None:
    root = desk(begin_pane=None)
    assert newest_expected(root.root, now_s=500.0) is None
    root.receive(whole(root.query, 3, 0, [1], of=100), now_s=500.0)
    root.receive(whole(root.query, 4, 0, [1], of=100), now_s=505.0)
    assert newest_expected(root.root, now_s=506.0) == 3, "none is due: the oldest that is awaited"
    assert newest_expected(root.root, now_s=511.0) == 3
    assert newest_expected(root.root, now_s=520.0) == 4


def test_why_never_counts_a_site_as_covered_and_as_missing() -> None:
    root = desk()
    for ordinal in (0, 1):
        root.receive(whole(root.query, 0, ordinal, [1], of=100 * (ordinal + 1)), now_s=12.0)
    root.work(now_s=12.0)
    news = [state(root.query, n, of=100 * (n + 1), number=2, counts=((0, 2),)) for n in (0, 1)]
    root.hear(*news, now_s=14.0)
    root.work(now_s=14.0)
    why = root.root.why(0)
    assert (why.expected, why.covered, why.missing_count, why.behind) == (2, 0, 2, 2)
    assert "0 of 2 sites covered (2 more were, and lack what came since)" in why.text()
    assert root.newest(0).envelope.covered == 2, "of an answer it never goes down"
    told = why.with_published(root.newest(0).envelope)
    assert told.covered + told.missing_count == told.expected


def test_why_says_where_to_ask_what_holds_up_a_site_that_is_silent() -> None:
    """A site whose disk is full can't say so: nothing is said before it is on the disk."""
    root = desk()
    root.work(now_s=10.0)
    root.receive(whole(root.query, 0, 0, [1], of=100), now_s=11.0)
    ask = "headwater streams --at s1"
    assert ask not in explain(root.root, 0).text(), "its deadline has not come"
    root.work(now_s=20.0)
    assert root.newest(0).envelope.revision == 1
    assert ask in explain(root.root, 0).text()
    root.receive(whole(root.query, 0, 1, [2], of=200), now_s=21.0)
    assert ask not in explain(root.root, 0).text()


def test_why_says_where_to_ask_of_a_site_that_catches_up() -> None:
    root = desk()
    behind = state(root.query, 1, of=200, number=2, catching_up=True)
    root.hear(behind, now_s=10.0)
    root.receive(whole(root.query, 0, 0, [1], of=100), now_s=11.0)
    assert "headwater streams --at s1" in explain(root.root, 0).text()
