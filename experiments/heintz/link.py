"""A narrow link that pulls keys from the product's key book, window after window.

The link carries so many keys a window, one after the other. Arrivals are added and keys are
pulled at ticks, as agents do: what leaves in a tick was known at its start. What a window's flush
has left over occupies the first part of the next window. A key is one byte, so bytes are keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from experiments.heintz.optima import worth
from experiments.heintz.traces import Floats, Window
from headwater.algebra.remainders.error_bound import ErrorBound, ErrorForm
from headwater.algebra.remainders.withholding import Added, Largest
from headwater.edge.outbox.early.early_config import EarlyConfig
from headwater.edge.outbox.early.key_book import KeyBook
from headwater.edge.outbox.early.key_columns import Keys
from headwater.edge.outbox.early.key_past import KeyPast
from headwater.edge.outbox.early.look import Measure

TICKS = 50
"""Of a window: what is below 2 % of a window isn't resolved while it is open."""


class Batch(NamedTuple):
    """What came in a tick, each key once."""

    keys: Keys
    values: Floats
    records: Floats


def batches(window: Window, what: str) -> list[Batch]:
    values = worth(window, what)
    cuts = np.searchsorted(window.at, np.arange(1, TICKS) / TICKS)
    found = []
    for at in np.split(np.arange(len(window.at)), cuts):
        keys, places = np.unique(window.keys[at], return_inverse=True)
        if what == "max":
            merged = np.full(len(keys), -np.inf)
            np.maximum.at(merged, places, values[at])
        else:
            merged = np.bincount(places, values[at], minlength=len(keys))
        records = np.bincount(places, minlength=len(keys)).astype(float)
        found.append(Batch(keys.astype(np.uint64), merged[None, :], records))
    return found


class Outcome(NamedTuple):
    """Of one window."""

    staleness: float
    """In windows."""
    error: float
    sends: int
    pick: str


def run(
    windows: Sequence[list[Batch]],
    what: str,
    pick: str,
    *,
    rates: Sequence[float],
    bound: float | None = None,
    staleness: float | None = None,
    seed: int = 1,
) -> list[Outcome]:
    """With an error bound, or with a staleness; ``rates`` are keys a window, by window."""
    config = EarlyConfig(pick=pick, partition="size" if bound is None else "error")
    past = KeyPast(config, column_count=1)
    chance = np.random.default_rng(seed)
    rule = Largest(floor=0.0) if what == "max" else Added()
    asked = None if bound is None else ErrorBound(ErrorForm.ABSOLUTE, bound)
    measure = Measure(rule, asked, share=bound or 0.0)
    link, found = Link(), []
    for number, (window, rate) in enumerate(zip(windows, rates, strict=True)):
        book = KeyBook([measure], past, config, start_s=number, pane_s=1.0, chance=chance)
        deadline = number + 1.0 + (staleness if staleness is not None else np.inf)
        ahead_until = deadline if staleness is not None else number + 1.0
        for tick, batch in enumerate(window):
            now = number + (tick + 1) / TICKS
            book.add(batch.keys, batch.values, records=batch.records, row_bytes=1, now_s=now)
            if tick + 1 < TICKS:
                _pull(book, link, rate, now, now + 1.0 / TICKS, ahead_until)
        end = number + 1.0
        ahead = max(0.0, deadline - max(link.free, end)) * rate
        book.close(ahead_bytes=ahead if staleness is not None else 0.0)
        sent = book.take(int(min(ahead + 1e-6, 1e9)), now_s=end)
        link.carry(len(sent), rate, end)
        staled = max(0.0, link.free - end)
        error = float(book.errors()[0])
        sends = book.sends
        found.append(Outcome(staled, error, sends, book.pick))
        book.end()
    return found


class Link:
    """When it is free again; a part of a key that fits into no tick is not lost."""

    def __init__(self) -> None:
        self.free = 0.0
        self._is_full = False

    def room(self, rate: float, now: float, until: float) -> int:
        if not self._is_full:
            self.free = max(self.free, now)
        return max(0, int((until - self.free) * rate + 1e-6))

    def carry(self, count: int, rate: float, now: float, *, room: int | None = None) -> None:
        if not self._is_full:
            self.free = max(self.free, now)
        self._is_full = room is not None and count == room
        self.free += count / rate


def _pull(
    book: KeyBook, link: Link, rate: float, now: float, until: float, ahead_until: float
) -> None:
    room = link.room(rate, now, until)
    if room:
        ahead = (ahead_until - link.free) * rate
        sent = book.take(room, now_s=now, ahead_bytes=ahead)
        link.carry(len(sent), rate, now, room=room)
