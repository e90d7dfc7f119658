"""*Sequence windows* at the root: a window has rows, and its deadline runs from its last close."""

from __future__ import annotations

import msgspec
from pane_kit import RootDesk, make_query, make_roster, state, whole

from headwater.algebra.panes import WindowSpec
from headwater.algebra.windows.sequence_grid import SequenceGrid
from headwater.root.said.awaited import awaited_window
from headwater.root.said.view import explain

LIFE = 100
GRID = SequenceGrid("lsn", from_now=True)
QUERY = msgspec.structs.replace(
    make_query(begin_pane=None, deadline_s=5.0, disorder_s=0.0),
    window=WindowSpec(20, 10),
    sequence=GRID,
)
"""Windows of two panes of ten numbers."""


def desk() -> RootDesk:
    root = RootDesk(QUERY, make_roster(2), now_s=0.0)
    for site in (0, 1):
        root.hear(state(QUERY, site, of=LIFE), now_s=0.0)
    return root


def test_no_clock_makes_or_answers_a_window() -> None:
    root = desk()
    root.receive(whole(QUERY, 3, 0, [1], of=LIFE), now_s=10.0)
    for now_s in (100.0, 10_000.0, 1_000_000.0):
        root.work(now_s=now_s)
    assert sorted(root.published) == [2], "window 3 awaits its last pane from everybody"
    assert root.root.windows.answered_by_s(3) is None


def test_the_deadline_runs_from_the_first_close_of_the_last_pane() -> None:
    root = desk()
    root.receive(whole(QUERY, 3, 0, [1], of=LIFE), now_s=10.0)
    root.receive(whole(QUERY, 4, 0, [2], of=LIFE), now_s=200.0)
    assert root.root.windows.answered_by_s(3) == 205.0
    root.work(now_s=204.0)
    assert 3 not in root.published
    root.work(now_s=206.0)
    assert root.newest(3).rows == (1, 2)
    assert root.newest(3).envelope.counted == "lsn"
    assert (root.newest(3).envelope.start_us, root.newest(3).envelope.end_us) == (30, 50)
    assert root.newest(3).envelope.staleness_s == 6.0


def test_a_close_further_on_ends_the_windows_before_it() -> None:
    root = desk()
    root.receive(whole(QUERY, 3, 0, [1], of=LIFE), now_s=10.0)
    sealed = msgspec.structs.replace(state(QUERY, 0, of=LIFE), number=9, sealed_through=40)
    root.hear(sealed, now_s=50.0)
    assert root.root.windows.answered_by_s(3) == 55.0


def test_a_window_is_answered_at_once_when_all_have_closed_it() -> None:
    root = desk()
    for site in (0, 1):
        for pane in (3, 4):
            root.receive(whole(QUERY, pane, site, [10 * pane + site], of=LIFE), now_s=20.0)
    root.work(now_s=20.5)
    assert root.newest(3).rows == (30, 31, 40, 41)
    assert root.newest(3).envelope.exact


def test_why_and_watch_speak_of_numbers() -> None:
    root = desk()
    root.receive(whole(QUERY, 3, 0, [1], of=LIFE), now_s=10.0)
    root.work(now_s=20.0)
    text = explain(root.root, 3).text()
    assert "lsn 30 to 50" in text
    assert "its deadline runs once a site has closed its end" in text
    awaited = awaited_window(root.root, now_s=20.0)
    assert awaited is not None
    assert "waiting for the window lsn 30 to 50: it has not ended" in awaited.text()


def test_a_root_that_returns_knows_which_windows_have_ended() -> None:
    root = desk()
    root.receive(whole(QUERY, 3, 0, [1], of=LIFE), now_s=10.0)
    root.receive(whole(QUERY, 4, 0, [2], of=LIFE), now_s=11.0)
    root.start(now_s=100.0)
    assert root.root.windows.answered_by_s(3) == 105.0
    assert root.root.windows.answered_by_s(4) is None
