"""A root with little memory: what it asks sites to wait with, and that answers free it again."""

from __future__ import annotations

import msgspec
from pane_kit import NumbersMerger, RootDesk, level_of, make_query, make_roster, state, whole

from headwater.algebra.summary import Lane
from headwater.algebra.words.pause import NO_PANE, Pause
from headwater.algebra.words.site_state import FOREVER, PaneState, Reason
from headwater.root.config import RootConfig
from headwater.root.said.view import explain

LIFE, SITES = 77, 2
ROW = NumbersMerger().size_bytes((1,))
"""What each pane takes here."""
CONFIG = RootConfig(unanswered_bytes_max=3 * ROW)
EVERY_S = CONFIG.ack_every_s


def desk(config: RootConfig = CONFIG, **query: object) -> RootDesk:
    """Windows of one pane of ten seconds, which site 0 says nothing of."""
    root = RootDesk(make_query(panes=1, slide=1, **query), make_roster(SITES), config=config)
    root.hear(*(state(root.query, n, of=LIFE) for n in range(SITES)), now_s=0.0)
    root.is_slow = True
    return root


def bring(root: RootDesk, *panes: int, site: int = 1, now_s: float) -> None:
    for pane in panes:
        root.receive(whole(root.query, pane, site, [100 * pane + site], of=LIFE), now_s=now_s)
    root.work(now_s=now_s)


def said(root: RootDesk, *, now_s: float) -> tuple[Pause | None, int]:
    root.work(now_s=now_s)
    return root.acks[-1].pause, root.acks[-1].exempt_through


def test_a_root_with_room_asks_nobody_to_wait() -> None:
    root = desk()
    bring(root, 0, 1, 2, now_s=1.0)
    assert said(root, now_s=1.0 + EVERY_S) == (None, FOREVER)


def test_beyond_its_limit_it_takes_from_the_oldest_pane_on_as_many_as_fit() -> None:
    root = desk()
    bring(root, 0, 1, 2, 3, 4, now_s=1.0)
    assert said(root, now_s=1.0 + EVERY_S) == (Pause(2, EVERY_S), 0)
    assert root.root.counters["paused"] == 1


def test_the_oldest_window_without_an_answer_is_exempt_however_large_it_is() -> None:
    config = RootConfig(unanswered_bytes_max=1)
    root = desk(config)
    bring(root, 3, 4, now_s=1.0)
    assert said(root, now_s=1.0 + EVERY_S) == (Pause(3, EVERY_S), 3)


def test_answers_free_memory_and_the_pause_ends_at_half_of_the_limit() -> None:
    root = desk()
    bring(root, 0, 1, 2, 3, now_s=1.0)
    assert said(root, now_s=3.0)[0] == Pause(2, EVERY_S)
    root.is_slow = False
    bring(root, 0, site=0, now_s=4.0)
    bring(root, 1, site=0, now_s=4.5)
    assert said(root, now_s=7.0) == (Pause(3, EVERY_S), 2), "two panes are more than half"
    bring(root, 2, site=0, now_s=8.0)
    assert said(root, now_s=11.0) == (None, FOREVER)


def test_it_is_said_with_every_acknowledgement_while_it_lasts() -> None:
    root = desk()
    bring(root, 0, 1, 2, 3, now_s=1.0)
    root.work(now_s=1.0 + EVERY_S)
    for turn in range(2, 8):
        count = len(root.acks)
        assert said(root, now_s=1.0 + turn * EVERY_S)[0] == Pause(2, EVERY_S)
        assert len(root.acks) == count + 1


def test_parked_spares_count() -> None:
    root = desk()
    bring(root, 0, now_s=1.0)
    for pane in range(1, 5):
        spare = whole(root.query, pane, 1, [pane], of=LIFE)
        root.receive(msgspec.structs.replace(spare, lane=Lane.SPARE), now_s=1.5)
    assert said(root, now_s=4.0)[0] is not None


def test_where_a_site_holds_back_for_a_relay_the_exempt_panes_are_told() -> None:
    root = desk()
    root.hear(state(root.query, 1, of=LIFE, number=2, paused_from=4), now_s=1.0)
    assert said(root, now_s=1.0 + EVERY_S) == (None, NO_PANE)
    bring(root, 2, now_s=4.0)
    assert said(root, now_s=4.0 + EVERY_S) == (None, 2)


def test_who_waits_is_missing_as_deferred_whether_it_has_closed_or_not() -> None:
    root = desk()
    bring(root, 2, now_s=1.0)
    waiting = state(root.query, 0, of=LIFE, number=2, paused_from=2, counts=((2, 1),))
    root.hear(waiting, now_s=1.5)
    (missing,) = explain(root.root, 2).missing
    assert (missing.state, missing.reason) == (PaneState.DEFERRED, Reason.PAUSED)
    root.hear(state(root.query, 0, of=LIFE, number=3, paused_from=3, counts=((2, 1),)), now_s=2.0)
    (missing,) = explain(root.root, 2).missing
    assert missing.state is PaneState.CLOSED


def test_a_root_that_was_started_again_takes_all() -> None:
    root = desk()
    bring(root, 0, 1, 2, 3, now_s=1.0)
    assert said(root, now_s=3.0)[0] is not None
    root.start(now_s=5.0)
    bring(root, 4, now_s=6.0)
    assert said(root, now_s=9.0)[0] is None, "what the ledger has takes no memory"


def test_nothing_of_a_level_is_held_back() -> None:
    """Windows of a level that no site is at are never answered, and so would never let it go."""
    config = RootConfig(unanswered_bytes_max=1)
    level = level_of(make_query(panes=1, slide=1))
    root = RootDesk(level, make_roster(SITES), config=config)
    pausing = root.root.books.pausing
    pausing.came(0, (1, 2, 3))
    assert not pausing.follow()
    assert (pausing.said(), pausing.exempt_through()) == (None, FOREVER)


def test_what_is_answered_or_done_with_takes_no_memory() -> None:
    root = desk()
    pausing = root.root.books.pausing
    root.is_slow = False
    bring(root, 0, now_s=1.0)
    bring(root, 0, site=0, now_s=1.5)
    assert pausing.bytes == 0
    pausing.came(0, (9,))
    assert pausing.bytes == 0, "a late update of an answered window"
    bring(root, 3, 4, now_s=2.0)
    assert pausing.bytes == 2 * ROW
    pausing.drop_below(4)
    assert pausing.bytes == ROW
