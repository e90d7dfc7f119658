"""What is known of each key of a pane: one slot a key, one numpy array for each thing.

A key is a number of 64 bits. Who drives it numbers the groups of the query; two groups never have
the same number within a pane.

Looking keys up by a binary search in a sorted array costs a tenth of what Arrow's hash join does at
this size, and needs no entry in Python for each key.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from headwater.algebra.remainders.withholding import Floats, Withholding

Keys: TypeAlias = NDArray[np.uint64]
Slots: TypeAlias = NDArray[np.intp]

GROWTH = 1.5
SLOTS_MIN = 1_024


class Hand:
    """What was sent and what was not, by one way of picking."""

    def __init__(self, rules: tuple[Withholding, ...]) -> None:
        self._rules = rules
        self.sent = _nothing(rules, SLOTS_MIN)
        """Of each column, by slot."""
        self.unsent = _nothing(rules, SLOTS_MIN)
        self.sends = np.zeros(SLOTS_MIN, dtype=np.int32)

    def grow(self, size: int) -> None:
        more = size - len(self.sends)
        if more <= 0:
            return
        self.sent = np.concatenate([self.sent, _nothing(self._rules, more)], axis=1)
        self.unsent = np.concatenate([self.unsent, _nothing(self._rules, more)], axis=1)
        self.sends = np.concatenate([self.sends, np.zeros(more, dtype=np.int32)])

    def keep(self, slots: Slots) -> None:
        self.sent, self.unsent = self.sent[:, slots], self.unsent[:, slots]
        self.sends = self.sends[slots]

    def arrive(self, slots: Slots, values: Floats) -> None:
        for rule, unsent, value in zip(self._rules, self.unsent, values, strict=True):
            unsent[slots] = rule.merge(unsent[slots], value)

    def send(self, slots: Slots) -> None:
        for rule, sent, unsent in zip(self._rules, self.sent, self.unsent, strict=True):
            sent[slots] = rule.merge(sent[slots], unsent[slots])
            unsent[slots] = rule.nothing
        self.sends[slots] += 1

    def errors(self, count: int) -> Floats:
        """Of withholding what is unsent; for each column and slot."""
        found = np.empty((len(self._rules), count))
        for n, rule in enumerate(self._rules):
            found[n] = rule.error(self.sent[n, :count], self.unsent[n, :count])
        return found


class KeyColumns:
    """Slots are given out in the order in which keys come first."""

    def __init__(self, column_count: int) -> None:
        self.count = 0
        self.keys: Keys = np.zeros(SLOTS_MIN, dtype=np.uint64)
        self.records = np.zeros(SLOTS_MIN)
        """In this pane."""
        self.first_s = np.zeros(SLOTS_MIN)
        self.last_s = np.zeros(SLOTS_MIN)
        self.sizes = np.zeros(SLOTS_MIN, dtype=np.int32)
        """What the key's row takes in an update, in bytes."""
        self.sums = np.zeros((column_count, SLOTS_MIN))
        """Of all values of a column in this pane, sent or not."""
        self.squares = np.zeros((column_count, SLOTS_MIN))
        self.past_records = np.zeros(SLOTS_MIN)
        """In a pane, by earlier ones; less than 0: the key was never seen."""
        self.past_sums = np.zeros((column_count, SLOTS_MIN))
        self.past_squares = np.zeros((column_count, SLOTS_MIN))
        self.is_doubtful = np.zeros(SLOTS_MIN, dtype=bool)
        """More of the key may have been put aside."""
        self._sorted: Keys = self.keys[:0]
        self._slots: Slots = np.zeros(0, dtype=np.intp)

    @property
    def room(self) -> int:
        return len(self.keys)

    def find(self, keys: Keys) -> Slots:
        """-1 where a key has none."""
        if not self.count:
            return np.full(len(keys), -1, dtype=np.intp)
        at = np.searchsorted(self._sorted, keys)
        at[at == len(self._sorted)] = 0
        return np.where(self._sorted[at] == keys, self._slots[at], -1)

    def add(self, keys: Keys) -> Slots:
        """Slots for keys that have none; each key once."""
        slots = np.arange(self.count, self.count + len(keys), dtype=np.intp)
        self.count += len(keys)
        if self.count > self.room:
            self._grow(max(self.count, int(self.room * GROWTH)))
        self.keys[slots] = keys
        order = np.argsort(keys)
        at = np.searchsorted(self._sorted, keys[order])
        self._sorted = np.insert(self._sorted, at, keys[order])
        self._slots = np.insert(self._slots, at, slots[order])
        return slots

    def keep(self, slots: Slots) -> None:
        """Only these keys, in this order."""
        for name in _ROWS:
            setattr(self, name, getattr(self, name)[slots])
        for name in _TABLES:
            setattr(self, name, getattr(self, name)[:, slots])
        self.count = len(slots)
        self._slots = np.argsort(self.keys)
        self._sorted = self.keys[self._slots]

    def _grow(self, size: int) -> None:
        more = size - self.room
        for name in (*_ROWS, *_TABLES):
            old = getattr(self, name)
            new = np.zeros((*old.shape[:-1], more), dtype=old.dtype)
            setattr(self, name, np.concatenate([old, new], axis=-1))


_ROWS = ("records", "first_s", "last_s", "sizes", "past_records", "is_doubtful", "keys")
_TABLES = ("sums", "squares", "past_sums", "past_squares")


def _nothing(rules: tuple[Withholding, ...], count: int) -> Floats:
    return np.repeat(np.array([[rule.nothing] for rule in rules]), count, axis=1)
