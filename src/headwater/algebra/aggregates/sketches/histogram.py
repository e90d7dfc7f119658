"""Logarithmic histograms: numbers by slots whose width is a share of the number.

A number above zero is in slot ⌈ln x / ln γ⌉, one below in the same slot of the other side; zero,
the infinities and NaN have slots of their own. With γ = (1 + e) / (1 − e) every number of a slot
is within the share e of one number, 2 γⁱ / (γ + 1), which stands for all of them (Masson, Rim and
Lee, *DDSketch*, 2019). Slots are in the order of their numbers, NaN last, as Spark orders them.

Counts of slots merge by sum and can be taken back, and however records are divided, the histogram
is the same: so is every percentile that is read off it. Histograms nest (JetStream, section 5.2):
two neighbouring slots are one slot of the square of γ, so a coarser one is made of a finer one,
before or after merging.
"""

from __future__ import annotations

import math

import numpy as np

from headwater.algebra.aggregates.merge_rule import Bits

ERROR_MIN, ERROR_MAX = 0.001, 0.25
MIDDLE = 1_000_000
"""The slot of numbers just below 1. At the least error doubles have fewer on either side of it."""
INFINITY = 2 * MIDDLE
NOT_A_NUMBER = INFINITY + 1
ROUNDING = 1e-6
"""The share of the error that is kept for logarithms, and for the digits of a float."""


def slot_sql(error: float) -> str:
    """The slot of ``{first}``, a number of any type; NULL for NULL."""
    return slot_sql_of(f"{width(error):.16e}")


def slot_sql_of(wide: str) -> str:
    """The same by SQL of the width."""
    number = "CAST({first} AS DOUBLE)"
    steps = f"LEAST(LN(ABS({number})) / {wide}, {MIDDLE:.1e})"
    return (
        f"CASE WHEN ISNAN({number}) THEN {NOT_A_NUMBER} WHEN {number} = 0 THEN 0 "
        f"ELSE CAST(SIGN({number}) * ({MIDDLE} + CEIL({steps})) AS INT) END"
    )


def width(error: float) -> float:
    """Of a slot: the natural logarithm of γ."""
    kept = error * (1 - ROUNDING)
    return math.log((1 + kept) / (1 - kept))


def stand_ins(slots: Bits, error: float) -> Bits:
    """For each slot the number that stands for those in it."""
    wide = width(error)
    steps = np.abs(slots.astype(np.float64)) - MIDDLE
    with np.errstate(over="ignore"):
        sizes = np.exp(steps * wide + math.log(2 / (math.exp(wide) + 1)))
    sizes = np.minimum(sizes, np.finfo(np.float64).max)
    sizes = np.where(np.abs(slots) == INFINITY, np.inf, sizes)
    found: Bits = np.sign(slots) * np.where(slots == 0, 0.0, sizes)
    return np.where(slots == NOT_A_NUMBER, np.nan, found)


def coarser(slots: Bits) -> Bits:
    """Each in a histogram of half as many slots, whose error is ``coarser_error``."""
    halved = np.sign(slots) * (MIDDLE + -((MIDDLE - np.abs(slots)) // 2))
    is_number = (slots != 0) & (np.abs(slots) < INFINITY)
    return np.where(is_number, halved, slots)


def coarser_error(error: float) -> float:
    """
    >>> round(coarser_error(0.01), 4)
    0.02
    """
    return math.tanh(width(error)) / (1 - ROUNDING)
