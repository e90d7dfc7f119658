"""A query with an extent at its root: its last window, and nothing behind it."""

from __future__ import annotations

import msgspec
from pane_kit import RootDesk, make_query, make_roster, state, whole

from headwater.algebra.words.site_state import SiteState

LIFE = 100
QUERY = msgspec.structs.replace(make_query(panes=2, slide=1, deadline_s=5.0), end_pane=3)
"""Windows of two panes of ten seconds that slide by one: 0 and 1, the last ends at 30 s."""


def desk() -> RootDesk:
    root = RootDesk(QUERY, make_roster(1), now_s=0.0)
    root.hear(state(QUERY, 0, of=LIFE), now_s=0.0)
    return root


def test_windows_behind_the_extent_are_never_opened() -> None:
    root = desk()
    for now_s in range(0, 200, 5):
        root.work(now_s=float(now_s))
    assert sorted(root.published) == [0, 1]
    assert root.root.windows.next_unanswered() is None
    assert root.root.windows.last_due(now_s=200.0) == 1


def test_rows_behind_the_extent_are_nobodys() -> None:
    root = desk()
    root.receive(whole(QUERY, 3, 0, [9], of=LIFE), now_s=45.0)
    root.work(now_s=60.0)
    assert all(9 not in root.newest(window).rows for window in root.published)


def test_the_last_window_is_final_when_it_is_sealed_and_nothing_more_is_wanted() -> None:
    root = desk()
    for pane in range(3):
        root.receive(whole(QUERY, pane, 0, [pane], of=LIFE), now_s=12.0 + 10.0 * pane)
    root.work(now_s=40.0)
    assert root.newest(1).rows == (1, 2)
    sealed = state(QUERY, 0, of=LIFE)
    sealed = msgspec.structs.replace(sealed, number=9, sealed_through=3, ended=True)
    assert isinstance(sealed, SiteState)
    root.hear(sealed, now_s=50.0)
    root.work(now_s=60.0)
    assert root.root.windows.last_due(now_s=60.0) == 1
