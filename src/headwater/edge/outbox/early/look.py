"""All that a partition and a pick go by at one moment of an open pane."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from headwater.algebra.remainders.error_bound import ErrorBound
from headwater.algebra.remainders.withholding import Floats, Withholding
from headwater.edge.outbox.early.early_config import EarlyConfig
from headwater.edge.outbox.early.key_columns import Hand, KeyColumns, Slots
from headwater.edge.outbox.early.key_past import KeyPast


class Measure(msgspec.Struct, frozen=True):
    """One column of a query by which keys matter."""

    rule: Withholding
    bound: ErrorBound | None = None
    """None: the staleness is bounded, and the error follows."""
    share: float = 0.0
    """The site's share of an absolute bound, in this pane."""


class Look:
    """Of one hand. Slots are those of its columns."""

    def __init__(
        self,
        columns: KeyColumns,
        hand: Hand,
        measures: Sequence[Measure],
        limits: Sequence[Floats | float],
        past: KeyPast,
        config: EarlyConfig,
        *,
        now_s: float,
        start_s: float,
        pane_s: float,
        ahead_keys: float,
    ) -> None:
        self.columns, self.hand, self.measures, self.past = columns, hand, measures, past
        self.limits, self.config = limits, config
        """How much of each column may be withheld; where no error is bounded, what its errors are
        divided by so that columns compare."""
        self.now_s, self.pane_s = now_s, pane_s
        self.elapsed_s = now_s - start_s
        self.left_s = max(0.0, pane_s - self.elapsed_s)
        self.ahead_keys = ahead_keys
        """B(t): what the link carries until the deadline; where an error is bounded, until the
        close."""
        self.weights = weights_of(hand.errors(columns.count), limits)
        """How much each key matters: its error in units of what may be withheld."""

    def limit(self, column: int, slots: Slots) -> Floats | float:
        limit = self.limits[column]
        return limit if isinstance(limit, float) else limit[slots]


class Part(msgspec.Struct, frozen=True):
    """How a partition divides the keys."""

    primary: Slots
    """Keys that matter. Updates leave from here first."""
    bar: float
    """A key above this weight must go."""
    size: int | None = None
    """How many the primary part has room for; None: as many as are above the bar."""


def weights_of(errors: Floats, limits: Sequence[Floats | float]) -> Floats:
    """The worst of a key's columns. Of what may not be withheld at all any error is infinite."""
    found = np.zeros(errors.shape[1])
    for error, limit in zip(errors, limits, strict=True):
        if isinstance(limit, float) and limit > 0.0:
            share = error / limit
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.where(error > 0.0, error / limit, 0.0)
        np.maximum(found, share, out=found)
    return found


def first_of(scores: Floats, count_max: int) -> Slots:
    """Where the lowest scores are, rising; ties as they stand."""
    if count_max <= 0:
        return np.zeros(0, dtype=np.intp)
    if count_max >= len(scores):
        return np.argsort(scores, kind="stable")
    cut = np.partition(scores, count_max - 1)[count_max - 1]
    below = np.flatnonzero(scores < cut)
    ties = np.flatnonzero(scores == cut)[: count_max - len(below)]
    chosen = np.sort(np.concatenate([below, ties]))
    return chosen[np.argsort(scores[chosen], kind="stable")]
