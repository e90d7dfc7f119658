"""Handing updates to the overlay: in which form, and only into room.

Room is what the overlay can still take on the way to a query's root; queries share links, so what
one has used is gone for all of them.

What is short goes first of what could go together: nothing overtakes a message that has begun.

Panes of a state query whose state is the same leave as one send where they leave together: a site
that was quiet, or is back after an outage, says what it has to say of many panes once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heapreplace

import msgspec

from headwater.algebra.coverage import Coverage
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.summary import STATE_PANES_MAX, Lane
from headwater.edge.outbox.hold_back import is_held_back
from headwater.edge.outbox.pane_book import EMPTY_CLOSE
from headwater.edge.outputs import MarkSent, Send
from headwater.edge.query_state import QueryState


class Room:
    """What may still be sent in this tick."""

    def __init__(self, room: Callable[[str], int]) -> None:
        self._room = room
        self._spent = 0
        self._known: dict[str, int] = {}

    def is_left(self, query: str) -> bool:
        if query not in self._known:
            self._known[query] = self._room(query)
        return self._known[query] > self._spent

    def count(self, query: str, row_bytes: int) -> int:
        """How many sends of this size still fit; where there is any room, at least one."""
        if not self.is_left(query):
            return 0
        return max(1, (self._known[query] - self._spent) // max(1, row_bytes))

    def spend(self, sends: Iterable[Send]) -> None:
        self._spent += sum(send.row_bytes for send in sends)


class Sending:
    """The sends of one tick and the marks that must be durable before them."""

    def __init__(self, states: Sequence[QueryState], room: Room, *, now_s: float) -> None:
        self._states = states
        self._room = room
        self._now_s = now_s
        self._marks: dict[str, list[tuple[int, int, int]]] = {}
        self._free: dict[str, deque[int]] = {}
        """Of queries that hold something back: the backlog that may leave, the oldest first."""
        self.sends: list[Send] = []

    def marks(self) -> list[MarkSent]:
        return [MarkSent(query, tuple(updates)) for query, updates in self._marks.items()]

    def send_live(self) -> None:
        for state in sorted(self._states, key=_first_bytes):
            for pane in list(state.book.fresh):
                if not self._room.is_left(state.id):
                    break
                if not is_held_back(state, pane):
                    self._send_first(state, pane, Lane.LIVE)

    def send_repairs(self, count_max: int) -> int:
        """How many there were: a pane that has several updates comes whole, so there may be
        a few more than ``count_max``."""
        count = 0
        for state in self._states:
            for pane in sorted(state.book.repairs):
                if count >= count_max or not self._room.is_left(state.id):
                    break
                if state.pause.holds(pane) and state.book.repairs[pane] != {EMPTY_CLOSE}:
                    continue
                updates = state.book.take_repair(pane, now_s=self._now_s)
                self._say(state, pane, updates, Lane.SPARE)
                count += len(updates)
        return count

    def send_backlog(self, count_max: int) -> None:
        heads = [head for state in self._states if (head := self._head(state)) is not None]
        heapify(heads)
        while heads and count_max > 0:
            _, _, at, pane = heads[0]
            state = self._states[at]
            if not self._room.is_left(state.id):
                heappop(heads)
                continue
            self._send_first(state, pane, Lane.BACKLOG)
            count_max -= 1
            head = self._head(state)
            if head is None:
                heappop(heads)
            else:
                heapreplace(heads, head)

    def _head(self, state: QueryState) -> tuple[int, str, int, int] | None:
        pane = self._oldest_free(state) if state.pause else state.book.oldest_backlog()
        if pane is None:
            return None
        return state.query.window.pane_end_us(pane), state.id, self._states.index(state), pane

    def _oldest_free(self, state: QueryState) -> int | None:
        book, free = state.book, self._free.get(state.id)
        if free is None:
            backlog = (pane for pane in book.unsent() if pane not in book.fresh)
            free = deque(pane for pane in backlog if not is_held_back(state, pane))
            self._free[state.id] = free
        while free and not book.unsent_of(free[0]):
            free.popleft()
        return free[0] if free else None

    def _send_first(self, state: QueryState, pane: int, lane: Lane) -> None:
        """As many of its updates as there is room for: the rows of a large pane are never in
        memory all at once. The others follow when there is room again."""
        first = next(iter(state.book.unsent_of(pane)), EMPTY_CLOSE)
        count = self._room.count(state.id, state.book.bytes_of(pane, first))
        updates = state.book.take_unsent(pane, now_s=self._now_s, count_max=count)
        rows = [update for update in updates if update != EMPTY_CLOSE]
        if rows:
            self._marks.setdefault(state.id, []).append((pane, min(rows), max(rows)))
        self._say(state, pane, updates, lane)

    def _say(self, state: QueryState, pane: int, updates: list[int], lane: Lane) -> None:
        if EMPTY_CLOSE in updates and state.is_doubted(pane):
            state.book.land(pane, EMPTY_CLOSE)
            state.close_empty((pane, pane))
            return
        sends = sends_of(state, pane, updates, lane)
        self._room.spend(sends)
        self.sends += sends


def sends_of(state: QueryState, pane: int, updates: Iterable[int], lane: Lane) -> list[Send]:
    """One send for each update, so that none is larger than an update may be."""
    sends = []
    for update in updates:
        rows = () if update == EMPTY_CLOSE else ((update, update),)
        coverage = _coverage(state, pane, rows, lane)
        row_bytes = state.book.bytes_of(pane, update)
        withheld = state.book.withheld_with(pane, update)
        if withheld:
            coverage = msgspec.structs.replace(coverage, withheld=withheld)
        sends.append(Send(state.id, pane, rows, coverage, lane, row_bytes))
    return sends


def _first_bytes(state: QueryState) -> int:
    """Of the first live pane that it has to send."""
    book = state.book
    for pane in book.fresh:
        return book.bytes_of(pane, next(iter(book.unsent_of(pane)), EMPTY_CLOSE))
    return 0


def join_states(sends: Sequence[Send], states: Iterable[QueryState]) -> list[Send]:
    """The same sends, with neighbouring panes of the same state joined; spares stay alone."""
    holding = {state.id: state for state in states if state.query.holds_states}
    joined: list[Send] = []
    open_: dict[tuple[str, Lane, Ranges], int] = {}
    for send in sends:
        state = holding.get(send.query)
        if send.lane is Lane.SPARE or state is None:
            joined.append(send)
            continue
        key = (send.query, send.lane, send.updates)
        at = open_.get(key)
        if at is not None and _continues(joined[at], send, state):
            joined[at] = msgspec.structs.replace(joined[at], more=joined[at].more + 1)
        else:
            open_[key] = len(joined)
            joined.append(send)
    return joined


def _continues(before: Send, send: Send, state: QueryState) -> bool:
    return (
        send.pane == before.panes.stop
        and send.pane in state.book.same
        and send.coverage == before.coverage
        and len(before.panes) < STATE_PANES_MAX
    )


def _coverage(state: QueryState, pane: int, updates: Ranges, lane: Lane) -> Coverage:
    """The short form only where the root knows this incarnation, and never in a spare. Without
    updates it is an empty close.

    Of a pane that can't be exact the state tells the close; see ``QueryState.count``. What left
    before the close says nothing of it.
    """
    ordinal, incarnation = state.telling.ordinal, state.telling.incarnation
    is_doubted = bool(updates) and state.is_doubted(pane)
    is_open = is_doubted or (bool(updates) and pane in state.book.early)
    closed_at = None if is_open else state.book.updates_of(pane)
    if state.telling.is_greeted and lane is not Lane.SPARE and not is_doubted:
        if not updates:
            return Coverage.of_empty(ordinal, incarnation)
        return Coverage.of_group(ordinal, incarnation, updates=updates, closed_at=closed_at)
    return Coverage.of_part(ordinal, incarnation, updates=updates, closed_at=closed_at)
