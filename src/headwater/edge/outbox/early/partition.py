"""Which keys matter: the boundary of the primary part (Heintz et al., sections 4.2 and 4.3)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headwater.edge.outbox.early.look import Look, Part, first_of

Partition = Callable[[Look], Part]


def by_error(look: Look) -> Part:
    """A key is promoted when keeping it back would exceed the bound: only what must go leaves."""
    return Part(np.flatnonzero(look.weights > 1.0), 1.0)


def by_size(look: Look) -> Part:
    """The σ(t) keys with the largest accumulated error, where σ(t) = B(t) - f(t): what the link
    carries until the deadline, less the keys that are still to come and will matter as much."""
    capacity = look.ahead_keys + float(look.hand.sends[: look.columns.count].sum())
    ahead = look.past.large_ahead(look.elapsed_s / look.pane_s, capacity=capacity)
    size = int(max(0.0, min(look.ahead_keys - ahead, float(look.columns.count))))
    there = np.flatnonzero(look.weights > 0.0)
    primary = there[first_of(-look.weights[there], size)]
    bar = float(look.weights[primary[-1]]) if len(primary) else np.inf
    return Part(primary, bar, size)


PARTITIONS: dict[str, Partition] = {"error": by_error, "size": by_size}
