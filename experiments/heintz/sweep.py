"""A trace made ready for one aggregate, and what anybody reaches on it with a bound and a rate.

The rate is given as a share: of the keys that a window has on average, so many fit through the link
in the time of a window. An error bound is given by how many keys are above it. *Load* is the keys
above the bound ÷ what the link carries in a window.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from statistics import median

import numpy as np

from experiments.heintz import baselines, link
from experiments.heintz.optima import epe, least_error, prefixes
from experiments.heintz.traces import WARM_UP, Trace

WHATS = ("sum", "max", "distinct")
PICKS = ("random", "lru", "gain")
BANDWIDTHS = (0.25, 0.5, 1.0)
MEASURED_MIN = 10
"""Windows behind the warm-up that a median is taken of, at least."""


class Ready:
    """One aggregate over one trace."""

    def __init__(self, trace: Trace, what: str) -> None:
        self.trace, self.what = trace, what
        self.ofs = [prefixes(window, what) for window in trace.windows]

    @cached_property
    def batches(self) -> list[list[link.Batch]]:
        return [link.batches(window, self.what) for window in self.trace.windows]

    @property
    def measured_windows(self) -> int:
        return len(self.ofs) - WARM_UP

    def rate(self, bandwidth: float) -> float:
        """Keys a window."""
        return max(1.0, bandwidth * self.trace.keys_per_window)

    def bound(self, above: float) -> float:
        """Above which this share of all keys of all windows is; of equal values none, so the share
        that is found may be smaller."""
        return float(np.quantile(np.concatenate([of.initial for of in self.ofs]), 1.0 - above))

    def due(self, bound: float) -> list[int]:
        """Keys that have to go, by window."""
        return [int((of.initial > bound).sum()) for of in self.ofs]

    def load(self, bound: float, rate: float) -> float:
        return float(np.mean(self.due(bound)[WARM_UP:])) / rate

    @cached_property
    def largest(self) -> float:
        """The largest possible error."""
        return max(float(of.initial.max(initial=0.0)) for of in self.ofs)

    # Staleness under an error bound, by window

    def with_bound(self, pick: str, bound: float, rate: float) -> list[link.Outcome]:
        rates = [rate] * len(self.ofs)
        return link.run(self.batches, self.what, pick, rates=rates, bound=bound)

    def best_staleness(self, bound: float, rate: float) -> list[float]:
        """By EPE; a flush occupies the first part of the next window, as for everybody."""
        found, free = [], 0.0
        for of in self.ofs:
            free = max(0.0, epe(of, bound, rate=rate, free=free) - 1.0)
            found.append(free)
        return found

    def streaming_staleness(self, bound: float, rate: float) -> list[float]:
        """Each window by itself: one after the other they would be later and later."""
        ends = (
            baselines.streaming_until(window, of, bound, rate=rate, free=0.0)
            for window, of in zip(self.trace.windows, self.ofs, strict=True)
        )
        return [max(0.0, end - 1.0) for end in ends]

    def batching_staleness(self, bound: float, rate: float) -> list[float]:
        return [baselines.batching_until(of, bound, rate=rate) - 1.0 for of in self.ofs]

    # Error under a staleness bound, by window

    def with_staleness(self, pick: str, staleness: float, rate: float) -> list[link.Outcome]:
        rates = [rate] * len(self.ofs)
        return link.run(self.batches, self.what, pick, rates=rates, staleness=staleness)

    def best_error(self, staleness: float, rate: float) -> list[float]:
        """What SPEF with early omissions reaches."""
        found, free = [], 0.0
        for of in self.ofs:
            error, end = least_error(of, 1.0 + staleness, rate=rate, free=free)
            free = max(0.0, end - 1.0)
            found.append(error)
        return found

    def streaming_error(self, staleness: float, rate: float) -> list[float]:
        return [
            baselines.streaming_error(window, self.what, 1.0 + staleness, rate=rate, free=staleness)
            for window in self.trace.windows
        ]

    def batching_error(self, staleness: float, rate: float) -> list[float]:
        return [baselines.batching_error(of, 1.0 + staleness, rate=rate) for of in self.ofs]


def settled(values: Sequence[float]) -> float:
    """The median of the windows that are measured."""
    return median(values[WARM_UP:])


def gap_closed(found: float, *, random: float, best: float, least: float) -> float | None:
    """Of what random is behind the optimum; None where that is next to nothing."""
    gap = random - best
    return None if gap < least else (random - found) / gap
