"""Which keys of the primary part leave first: those that are probably done.

``lru`` is the paper's: the key with the least recent arrival is the least likely to get another.
``random`` is its baseline. ``gain`` is ours.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headwater.edge.outbox.early.gain import gain
from headwater.edge.outbox.early.key_columns import Slots
from headwater.edge.outbox.early.look import Look, Part, first_of

Pick = Callable[[Look, Part, int, np.random.Generator], Slots]
"""At most so many slots, in the order in which they leave."""


def lru(look: Look, part: Part, count_max: int, chance: np.random.Generator) -> Slots:
    return part.primary[first_of(look.columns.last_s[part.primary], count_max)]


def random(look: Look, part: Part, count_max: int, chance: np.random.Generator) -> Slots:
    """Of all keys with something unsent: the baseline does not know what matters."""
    there = np.flatnonzero(look.weights > 0.0)
    return chance.permutation(there)[:count_max]


PICKS: dict[str, Pick] = {"lru": lru, "random": random, "gain": gain}
