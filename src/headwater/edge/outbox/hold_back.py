"""Holding back what root or relays take no more, for now: one query, once a tick."""

from __future__ import annotations

from headwater.edge.outbox.pane_book import EMPTY_CLOSE
from headwater.edge.query_state import News, QueryState
from headwater.plan.notice import Notice

CLOSES_TOLD_MAX = 1_024
"""Panes that are held back and whose close the state tells one by one; of further ones digests
tell it."""


def hold_back(state: QueryState, *, now_s: float) -> list[Notice]:
    """What is held back does not grow old: it is as live as it was, when it is let go. That it is
    closed is told at once."""
    pause, book = state.pause, state.book
    if not pause and pause.told_from is None:
        return []
    unsent = book.unsent() if pause else {}
    pause.follow(oldest=next(iter(unsent), None), now_s=now_s)
    notices = _heard(state)
    held = [pane for pane in unsent if is_held_back(state, pane)]
    for pane in held:
        if pane in book.fresh:
            book.fresh[pane].closed_s = now_s
    news = [pane for pane in held if pane not in pause.closes_told][-CLOSES_TOLD_MAX:]
    for pane in [] if state.is_level else news:
        state.tell_close(pane, book.updates_of(pane))
    pause.closes_told = set(held)
    return notices


def _heard(state: QueryState) -> list[Notice]:
    """What is said where a pause has begun or is over: the root hears of both."""
    held_from = state.pause.held_from
    if (held_from is None) == (state.pause.told_from is None):
        return []
    state.hear(News.WORD)
    if held_from is None:
        return [Notice("edge", "pause is over", f"{state.id}: what waited leaves")]
    text = f"{state.id}: panes from {held_from} on wait: the root or a relay is short of memory"
    return [Notice("edge", "paused", text)]


def is_held_back(state: QueryState, pane: int) -> bool:
    """Of this pane nothing with rows leaves now; that it is empty does."""
    if not state.pause.holds(pane):
        return False
    unsent = state.book.unsent_of(pane)
    return unsent != [EMPTY_CLOSE]


def held_panes(state: QueryState) -> int:
    """How many are held back."""
    return sum(is_held_back(state, pane) for pane in state.book.unsent()) if state.pause else 0
