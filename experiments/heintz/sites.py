"""Sites with keys in common, each with a key book and a link of its own, under relays.

A site pulls at some moments of a window and sends the rest of what must go at its close. Relays
merge what meets: closing updates of all sites, and early ones that are of the same round. What
leaves the relays is counted in key-updates: a key in an update.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.heintz import link
from experiments.heintz.traces import (
    SITED_TRACES,
    Floats,
    Ints,
    Trace,
    Window,
    is_there,
    measured,
    synthetic,
)
from headwater.algebra.remainders.error_bound import ErrorBound, ErrorForm
from headwater.algebra.remainders.withholding import Added
from headwater.edge.outbox.early.early_config import EarlyConfig
from headwater.edge.outbox.early.key_book import KeyBook
from headwater.edge.outbox.early.key_columns import Keys
from headwater.edge.outbox.early.key_past import KeyPast
from headwater.edge.outbox.early.look import Measure


class Sited(NamedTuple):
    name: str
    windows: tuple[tuple[Window, ...], ...]
    """By site, then in a row."""

    @property
    def site_count(self) -> int:
        return len(self.windows)

    @property
    def window_count(self) -> int:
        return len(self.windows[0])


def split(trace: Trace, count: int) -> Sited:
    """By members: each is at one site."""
    return Sited(
        trace.name,
        tuple(
            tuple(_only(window, window.members % count == site) for window in trace.windows)
            for site in range(count)
        ),
    )


def _only(window: Window, chosen: NDArray[np.bool_]) -> Window:
    at, keys, values, members = (column[chosen] for column in window)
    return Window(at, keys, values, members)


def sited(name: str, count: int) -> Sited:
    """The measured trace where it is there; else one that is made here, and that is said."""
    if is_there(SITED_TRACES[name]):
        return split(measured(name, SITED_TRACES[name]), count)
    print(f"NOT MEASURED: {SITED_TRACES[name].file} is not there; a made-up trace is used.")
    return split(synthetic(), count)


def values_of(windows: Sequence[Window]) -> tuple[Ints, Floats]:
    """The keys of one window over these sites, and the sum of each."""
    keys, places = np.unique(np.concatenate([one.keys for one in windows]), return_inverse=True)
    return keys, np.bincount(places, np.concatenate([one.values for one in windows]))


class Sent(NamedTuple):
    """By one site, of one window."""

    early: tuple[Keys, ...]
    """At each moment at which it pulled; a site with room does not."""
    closing: Keys
    withheld: Keys
    errors: Floats
    """Of the keys that are withheld."""

    @property
    def count(self) -> int:
        return sum(map(len, self.early)) + len(self.closing)


def run_site(
    windows: Sequence[Window], *, share: float, rate: float, pulls: Sequence[int]
) -> list[Sent]:
    """``share`` of an absolute bound, 0 for a site that withholds nothing; ``rate`` in keys a
    window; ``pulls`` as numbers of ticks, rising. A pull has the room of the time to the next."""
    config = EarlyConfig()
    past = KeyPast(config, column_count=1)
    chance = np.random.default_rng(1)
    measure = Measure(Added(), ErrorBound(ErrorForm.ABSOLUTE, share or 1.0), share=share)
    rooms = dict(zip(pulls, np.diff([*pulls, link.TICKS]) / link.TICKS * rate, strict=True))
    found = []
    for window in windows:
        book = KeyBook([measure], past, config, start_s=0.0, pane_s=1.0, chance=chance)
        at_root = Ledger(window)
        early, room = [], 0.0
        for tick, batch in enumerate(link.batches(window, "sum"), 1):
            now = tick / link.TICKS
            book.add(batch.keys, batch.values, records=batch.records, row_bytes=1, now_s=now)
            at_root.arrive(batch)
            if tick in rooms:
                room += rooms[tick]
                taken = book.take(int(room + 1e-6), now_s=now, ahead_bytes=(1.0 - now) * rate)
                room = min(1.0, room - len(taken))  # a part of a key is not lost, idle room is
                early.append(at_root.send(taken))
        book.close()
        closing = at_root.send(book.take(book.left_bytes(), now_s=1.0))
        book.end()
        found.append(Sent(tuple(early), closing, *at_root.withheld()))
    return found


class Ledger:
    """What the root lacks of a site's window, kept beside the book and not by it."""

    def __init__(self, window: Window) -> None:
        self._keys = np.unique(window.keys).astype(np.uint64)
        self._unsent = np.zeros(len(self._keys))

    def arrive(self, batch: link.Batch) -> None:
        self._unsent[np.searchsorted(self._keys, batch.keys)] += batch.values[0]

    def send(self, keys: Keys) -> Keys:
        self._unsent[np.searchsorted(self._keys, keys)] = 0.0
        return keys

    def withheld(self) -> tuple[Keys, Floats]:
        left = self._unsent > 0.0
        return self._keys[left], self._unsent[left]


class Tree(NamedTuple):
    """Sites in a row under relays, as many under each."""

    sites_per_relay: int

    def key_updates(self, sent: Sequence[Sent], *, meet: bool) -> int:
        """That leave the relays for the root, of one window; ``meet``: early ones of the same
        number are merged."""
        return sum(
            _relayed(sent[first : first + self.sites_per_relay], meet=meet)
            for first in range(0, len(sent), self.sites_per_relay)
        )


def _relayed(sent: Sequence[Sent], *, meet: bool) -> int:
    closing = len(np.unique(np.concatenate([one.closing for one in sent])))
    if not meet:
        return closing + sum(len(keys) for one in sent for keys in one.early)
    none = np.zeros(0, dtype=np.uint64)
    rounds = zip_longest(*(one.early for one in sent), fillvalue=none)
    return closing + sum(len(np.unique(np.concatenate(keys))) for keys in rounds)


def root_error(sent: Sequence[Sent]) -> float:
    """The largest over all keys of a window: what all sites withhold of it."""
    keys = np.concatenate([one.withheld for one in sent])
    _, places = np.unique(keys, return_inverse=True)
    errors = np.bincount(places, np.concatenate([one.errors for one in sent]))
    return float(errors.max(initial=0.0))
