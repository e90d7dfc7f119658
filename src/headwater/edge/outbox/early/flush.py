"""In which order keys leave after the close, when all values are known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headwater.algebra.remainders.withholding import Floats
from headwater.edge.outbox.early.key_columns import Slots

Flush = Callable[[Floats, float], Slots]
"""Of the keys' weights, those above a bar, in their order."""


def by_descending_error(weights: Floats, bar: float) -> Slots:
    """The largest first: wherever the flush is cut off, the error is as small as it can be."""
    above = np.flatnonzero(weights > bar)
    return above[np.argsort(-weights[above], kind="stable")]


FLUSHES: dict[str, Flush] = {"error": by_descending_error}
