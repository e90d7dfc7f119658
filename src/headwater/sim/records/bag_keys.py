"""The keys of simulated records, by which some of them leave before the close of their pane.

A record's key is a hash of its number, since those of one site have a common divisor. So a key has
several records, of which some may leave early and others later.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from headwater.algebra.sets import bitset
from headwater.edge.report import PaneKeys
from headwater.sim.records.bag import RECORD_BYTES

KEYS = 5


def keys_of(pane: int, numbers: Iterable[int]) -> PaneKeys:
    """Of the records of a batch."""
    keys, counts = np.unique([_key_of(number) for number in numbers], return_counts=True)
    values = counts.astype(np.float64)
    return PaneKeys(pane, keys.astype(np.uint64), values[None, :], values, RECORD_BYTES)


def leaving(waiting: int, wanted: Iterable[int]) -> int:
    """The records of these keys, but for one key where nothing else would be left."""
    keys = {int(key) for key in wanted}
    numbers = list(bitset.members(waiting))
    chosen = [number for number in numbers if _key_of(number) in keys]
    if len(chosen) == len(numbers) and numbers:
        chosen = [number for number in chosen if _key_of(number) != _key_of(numbers[-1])]
    return bitset.of(chosen)


def _key_of(number: int) -> int:
    return (number * 0x9E3779B1 >> 12) % KEYS
