"""The keys of simulated records, by which some of them leave before the close of their pane.

A record's key is a hash of its number, since those of one site have a common divisor. So a key has
several records, of which some may leave early and others later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from headwater.algebra.sets import bitset
from headwater.algebra.top.keyed import Keyed
from headwater.edge.report import PaneKeys

KEYS = 5
GROUPS = 9
"""Where the largest are looked for, of different sizes."""
RECORD_BYTES = 40
"""What one record counts for in limits of queues and links: about one small group of a summary."""


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


def by_key(bits: int) -> Counter[int]:
    """The records of each key."""
    return Counter(map(_key_of, bitset.members(bits)))


def counts_of(bits: int) -> Counter[int]:
    """The records of each group, where the largest are looked for."""
    return Counter(map(_group_of, bitset.members(bits)))


def of_keys(bits: int, keys: Collection[int]) -> int:
    """The records of these groups."""
    return bitset.of(number for number in bitset.members(bits) if _group_of(number) in keys)


def keyed(parts: Sequence[int]) -> Keyed:
    """As the groups of an agent's rows are told apart: each is its own hash."""
    counts = [counts_of(part) for part in parts]
    return Keyed(
        tuple(np.array(list(one), dtype=np.int64) for one in counts),
        tuple(np.array(list(one.values()), dtype=np.float64) for one in counts),
        np.arange(GROUPS, dtype=np.uint64),
    )


def _group_of(number: int) -> int:
    """Half of all records are in the first one, a quarter in the next, and so on."""
    drawn = _mixed(number) % (1 << GROUPS - 1)
    return GROUPS - 1 - drawn.bit_length()


def _mixed(number: int) -> int:
    return number * 0x9E3779B1 >> 12


def _key_of(number: int) -> int:
    return _mixed(number) % KEYS
