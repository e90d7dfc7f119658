"""Where each update of a query stands at its site: waiting, made, sent, acknowledged.

::

    rows committed     made          sent              acknowledged
    open, late ──────► fresh ──────► flights ────────► (only a bit in ``filled`` remains)
                         │ too old     ▲    │ lacking in an acknowledgement
                         ▼             │    ▼
                       backlog ────────┘  repairs ──► sent again, as spares

An empty close travels the same way; it is held as update number 0 of its pane.

Backlog leaves oldest pane first. Every site has the same rule, so sites that were cut off together
send the same panes at about the same time and relays can merge them; and the oldest panes are the
ones that retention takes first.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import Any

from headwater.algebra.far_times import LONG_AGO_S, NEVER_DUE_S
from headwater.algebra.remainders.remainder import Remainders
from headwater.algebra.sets.interval_set import IntervalSet
from headwater.algebra.sets.ranges import Range, Ranges
from headwater.algebra.words.site_state import FOREVER
from headwater.edge.outputs import UpdatesMade
from headwater.edge.record import Withheld

EMPTY_CLOSE = 0
"""Stands for "closed with no update" where update numbers stand."""
EMPTY_CLOSE_BYTES = 64
"""About what an empty close takes on a link."""


NOTHING: Withheld = (EMPTY_CLOSE, ())
"""Nothing was kept back of a pane."""


class Unsent:
    """Updates of one pane that were never sent."""

    def __init__(self, updates: list[int], closed_s: float) -> None:
        self.updates = updates
        self.closed_s = closed_s


class PaneBook:
    """One query. Only panes that are not acknowledged cost an entry each."""

    def __init__(self) -> None:
        self.open = IntervalSet()
        """Panes that are not closed yet and have rows."""
        self.late: dict[int, float] = {}
        """Closed panes with rows that are in no update -> since when; oldest first."""
        self.making: dict[int, float] = {}
        """Panes whose updates are being made -> when they were closed."""
        self.filled = IntervalSet()
        """Panes with at least one update."""
        self.same = IntervalSet()
        """Of a state query: panes that have the same rows as the pane before them."""
        self.withheld_keys = 0
        """Kept back at closes in this life, each time counted."""
        self.fresh: dict[int, Unsent] = {}
        """Made and not sent, closed a short time ago; in the order of their closes."""
        self.flights: dict[int, dict[int, float]] = {}
        """Pane -> update -> when it was sent; acknowledged ones are gone."""
        self.repairs: dict[int, set[int]] = {}
        """Pane -> updates that the root has asked for again."""
        self.repaired: dict[int, None] = {}
        """Panes of which spares have been sent: what is under way of them is no first copy."""
        self.doubtful = IntervalSet()
        """Empty closes of which it isn't known whether the root has them: see ``apply_ack``."""
        self.doubtful_s = LONG_AGO_S
        """When they count as sent."""
        self.typical_bytes = 1_024.0
        """What an update of this query takes, on average; for panes whose size was not kept."""
        self._wanted_s: dict[int, float] = {}
        """Panes that the root wanted from this site alone -> when it was last heard."""
        self._backlog: dict[int, Unsent] = {}
        self._backlog_order: list[int] = []
        self.withheld: dict[int, Withheld] = {}
        """Panes of which something was kept back."""
        self.owing: dict[int, None] = {}
        """Those of them whose rest is to follow, the oldest first."""
        self.deferred = IntervalSet()
        """Closed panes that a level of the query stands for, as the record has them."""
        self.following: dict[int, None] = {}
        """Those of which updates are being made: they leave as backlog."""
        self.early: dict[int, None] = {}
        """Panes that have updates and no close: these left before it."""
        self.cutting: dict[int, None] = {}
        """Panes of which an early update is being made."""
        self._counts: dict[int, int] = {}
        self._first_closes: dict[int, int] = {}
        """Panes of which more is known than a first update -> how many updates their first close
        counted; where that was in a former process, as few as may be."""
        self._bytes: dict[int, int] = {}
        self._written: dict[int, float] = {}
        self._expiry: list[tuple[float, int]] = []

    # Rows in no update

    def take_open(self, below: int, count_max: int) -> list[int]:
        """The lowest open panes with rows, rising; they are closed from now on."""
        found = list(islice(self.open.numbers(-FOREVER, below - 1), count_max))
        if found:
            self.open.remove(found[0], found[-1])
        return found

    def add_late(self, pane: int, *, now_s: float) -> None:
        """The pane is closed and has rows."""
        self.late.setdefault(pane, now_s)

    def late_for(self, wait_s: float, *, now_s: float) -> list[int]:
        """Closed panes whose rows have waited so long."""
        return [pane for pane, since_s in self.late.items() if since_s + wait_s <= now_s]

    def make(self, panes: Iterable[int], *, now_s: float) -> None:
        """All that they have is being made into updates."""
        self.making = dict.fromkeys(panes, now_s)
        for pane in self.making.keys() & self.late.keys():
            del self.late[pane]

    def made(self, done: UpdatesMade, *, owes_rest: bool = False, now_s: float) -> float:
        """When it was closed. ``owes_rest``: what was kept back is to follow."""
        pane, updates = done.pane, done.last_update
        self.set_updates(pane, updates, row_bytes=done.row_bytes, is_same=done.is_same)
        self.owing.pop(pane, None)
        self.early.pop(pane, None)
        if done.withheld:
            self.withheld[pane] = (updates, done.withheld)
            self.withheld_keys += max(one.keys for one in done.withheld)
            if owes_rest:
                self.owing[pane] = None
        if updates >= done.first_update:
            self.doubtful.remove(pane, pane)
            self.written(pane, now_s=now_s)
        return self.making.pop(pane, now_s)

    def made_early(self, done: UpdatesMade, *, now_s: float) -> list[int]:
        """The new update of an open pane, if it came to one; it leaves now."""
        pane, update = done.pane, done.last_update
        self.cutting.pop(pane, None)
        if update < done.first_update:
            return []
        self.set_updates(pane, update, row_bytes=done.row_bytes)
        self.early[pane] = None
        self.written(pane, now_s=now_s)
        self.fly(pane, [update], now_s=now_s)
        return [update]

    # Counting

    def updates_of(self, pane: int) -> int:
        if pane in self._counts:
            return self._counts[pane]
        return 1 if pane in self.filled else 0

    def first_close_of(self, pane: int) -> int:
        """The updates that the root knows of if it knows any close of the pane."""
        return self._first_closes.get(pane, 1)

    def beyond_first_close(self) -> list[tuple[int, int]]:
        """(pane, updates) where there are more than the root knows of from any close. A pane that
        is open has no close that could be told."""
        counts = ((pane, n) for pane, n in self._counts.items() if pane not in self.early)
        return [(pane, updates) for pane, updates in counts if updates > self.first_close_of(pane)]

    def close_first(self, pane: int, updates: int) -> None:
        """The pane was closed with so many, for the first time."""
        if updates > 1:
            self._first_closes.setdefault(pane, updates)

    def set_updates(
        self, pane: int, updates: int, *, row_bytes: int, is_same: bool = False
    ) -> None:
        if is_same:
            self.same.add(pane, pane)
        if updates > 0:
            self.filled.add(pane, pane)
        if updates > 1:
            self._counts[pane] = updates
        if row_bytes > 0:
            self._bytes[pane] = row_bytes
            self.typical_bytes += (row_bytes - self.typical_bytes) / 8.0

    def withheld_with(self, pane: int, update: int) -> Remainders:
        """What is told with this update of what was kept back."""
        told_with, remainders = self.withheld.get(pane, NOTHING)
        return remainders if update == told_with else ()

    def rests(self, count_max: int) -> list[int]:
        """Panes whose rest may follow now: what was due of them has arrived."""
        due = (pane for pane in self.owing if not self.is_unacked(pane))
        return list(islice(due, count_max))

    def bytes_of(self, pane: int, update: int) -> int:
        if update == EMPTY_CLOSE:
            return EMPTY_CLOSE_BYTES
        return self._bytes.get(pane, round(self.typical_bytes))

    # First sends

    def add_unsent(self, pane: int, updates: list[int], *, closed_s: float, live: bool) -> None:
        book = self.fresh if live else self._backlog
        entry = book.get(pane)
        if entry is None:
            entry = self.fresh.pop(pane, None) or self._backlog.pop(pane, None)
            entry = entry or Unsent([], closed_s)
            book[pane] = entry
            if not live:
                heappush(self._backlog_order, pane)
        entry.updates = [u for u in entry.updates if u != EMPTY_CLOSE] + updates

    def age_fresh(self, before_s: float) -> None:
        """What was closed before this time is backlog from now on."""
        if not self.fresh:
            return
        old = [pane for pane, entry in self.fresh.items() if entry.closed_s < before_s]
        for pane in old:
            entry = self.fresh.pop(pane)
            self.add_unsent(pane, entry.updates, closed_s=entry.closed_s, live=False)

    def oldest_backlog(self) -> int | None:
        order = self._backlog_order
        while order and order[0] not in self._backlog:
            heappop(order)
        return order[0] if order else None

    def take_unsent(self, pane: int, *, now_s: float, count_max: int | None = None) -> list[int]:
        """The pane's updates, or the first of them, which count as sent from now on."""
        updates = self.unsent_of(pane)
        taken = updates[:count_max]
        if len(taken) == len(updates):
            self.fresh.pop(pane, None)
            self._backlog.pop(pane, None)
        else:
            del updates[:count_max]
        self.fly(pane, taken, now_s=now_s)
        return taken

    def unsent_of(self, pane: int) -> list[int]:
        entry = self.fresh.get(pane) or self._backlog.get(pane)
        return entry.updates if entry else []

    def unsent(self) -> dict[int, Unsent]:
        """By pane, the oldest first."""
        return dict(sorted({**self._backlog, **self.fresh}.items()))

    def shelve(self, pane: int) -> None:
        """What was made of it stays at the site for now."""
        for book in (self.fresh, self._backlog):
            book.pop(pane, None)

    @property
    def waits_for_room(self) -> bool:
        return bool(self.fresh or self._backlog or self.repairs)

    # Flights and repairs

    def fly(self, pane: int, updates: Iterable[int], *, now_s: float) -> None:
        flight = self.flights.setdefault(pane, {})
        for update in updates:
            if update != EMPTY_CLOSE:
                flight.pop(EMPTY_CLOSE, None)
            flight[update] = now_s
        if not flight:
            del self.flights[pane]

    def sent(self, pane: int, updates: Ranges, *, now_s: float) -> None:
        """They left at this moment, after loading."""
        flight = self.flights.get(pane, {})
        for first, last in updates:
            flight.update((n, now_s) for n in range(first, last + 1) if n in flight)

    def ask(self, pane: int, update: int) -> None:
        self.repairs.setdefault(pane, set()).add(update)

    def is_wanted_anew(self, pane: int, *, again_s: float, count_max: int, now_s: float) -> bool:
        """The root wants it from this site alone; False: it was heard less than that ago."""
        if now_s - self._wanted_s.get(pane, LONG_AGO_S) <= again_s:
            return False
        while len(self._wanted_s) >= count_max:
            del self._wanted_s[next(iter(self._wanted_s))]
        self._wanted_s.pop(pane, None)
        self._wanted_s[pane] = now_s
        return True

    def take_repair(self, pane: int, *, now_s: float) -> list[int]:
        updates = sorted(self.repairs.pop(pane, ()))
        self.fly(pane, updates, now_s=now_s)
        self.repaired[pane] = None
        return updates

    def land(self, pane: int, update: int) -> None:
        """The root holds it."""
        flight = self.flights.get(pane, {})
        flight.pop(update, None)
        asked = self.repairs.get(pane)
        if asked is not None:
            asked.discard(update)
            if not asked:
                del self.repairs[pane]
        if not flight:
            self.flights.pop(pane, None)

    def is_unacked(self, pane: int) -> bool:
        is_waiting = pane in self.fresh or pane in self._backlog
        return pane in self.flights or is_waiting or pane in self.deferred

    def release(self, pane: int) -> None:
        """All of it is acknowledged: nothing but its updates' count is worth keeping."""
        self._written.pop(pane, None)
        self._bytes.pop(pane, None)

    def fly_again(self, done_through: int) -> None:
        """All that was ever sent is in question, as sent long ago if it isn't under way."""
        self._wanted_s.clear()
        for pane in self.filled.numbers(done_through, FOREVER):
            if pane in self.deferred:
                continue
            known = {*self.unsent_of(pane), *self.flights.get(pane, ())}
            sent = [n for n in range(1, self.updates_of(pane) + 1) if n not in known]
            self.fly(pane, sent, now_s=LONG_AGO_S)
        for pane in [pane for pane, flight in self.flights.items() if EMPTY_CLOSE in flight]:
            self.land(pane, EMPTY_CLOSE)

    def doubt(self, empty: Iterable[Range], *, told: Ranges, now_s: float) -> None:
        """Of these empty closes those that no state tells count as sent then."""
        self.doubtful, self.doubtful_s = IntervalSet(empty), now_s
        self.learn(told)

    def learn(self, empty: Ranges) -> None:
        """It is known of these empty closes whether the root has them."""
        for first, last in empty:
            self.doubtful.remove(first, last)

    # Retention

    def written(self, pane: int, *, now_s: float) -> None:
        if self._written.get(pane) != now_s:
            self._written[pane] = now_s
            heappush(self._expiry, (now_s, pane))

    def expired(self, retention_s: float, *, now_s: float) -> list[int]:
        """Unacknowledged panes whose last write is so long ago; each is named once."""
        found = []
        while self._expiry and self._expiry[0][0] + retention_s <= now_s:
            written_s, pane = heappop(self._expiry)
            if self._written.get(pane) == written_s and self.is_unacked(pane):
                found.append(pane)
        return found

    def next_expiry_s(self) -> float:
        return self._expiry[0][0] if self._expiry else NEVER_DUE_S

    def beyond(self, unacked_max: int) -> list[int]:
        """The oldest unacknowledged panes beyond this number."""
        deferred = sum(last - first + 1 for first, last in self.deferred.ranges())
        count = len(self.flights) + len(self.fresh) + len(self._backlog) + deferred
        if count <= unacked_max:
            return []
        waiting = self.deferred.numbers(-FOREVER, FOREVER)
        panes = sorted({*self.flights, *self.fresh, *self._backlog, *waiting})
        return panes[: max(0, len(panes) - unacked_max)]

    def drop(self, pane: int) -> None:
        """Nothing of this pane is left."""
        for book in self._books():
            book.pop(pane, None)
        for panes in (self.filled, self.doubtful):
            panes.remove(pane, pane)

    def leave(self, panes: IntervalSet) -> None:
        """Nothing of these panes is to leave any more. What was made of them is still known."""
        unsent: tuple[dict[int, Any], ...] = (self.late, self.fresh, self._backlog, self.owing)
        for book in (*unsent, self.flights, self.repairs, self._written):
            for pane in [pane for pane in book if pane in panes]:
                del book[pane]
        self.learn(panes.ranges())

    def drop_below(self, done_through: int) -> None:
        for book in self._books():
            for pane in [pane for pane in book if pane < done_through]:
                del book[pane]
        for panes in (self.filled, self.same, self.doubtful):
            panes.remove(-FOREVER, done_through - 1)
        if len(self._expiry) > 2 * len(self._written) + 64:
            self._expiry = [(s, pane) for pane, s in self._written.items()]
            heapify(self._expiry)

    def _books(self) -> tuple[dict[int, Any], ...]:
        known = (self.late, self.fresh, self._backlog, self.flights, self.repairs, self.repaired)
        more = (self.withheld, self.owing, self.early, self.cutting, self.following)
        counts = self._counts, self._first_closes, self._bytes, self._written
        return (*known, *more, *counts)
