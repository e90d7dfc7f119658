"""Merging counts, means and centred moments, as Spark's own functions give them.

A state of one number is ``count, avg, var_pop`` and as far as it is asked for ``skewness`` and
``kurtosis``; of two numbers, ``regr_count, regr_avgx, regr_avgy, regr_sxx, regr_syy, regr_sxy``.
From these the sums of powers around the mean are known, and with d the way from the mean of all to
that of a part they add up::

    m2 = Σ m2ᵢ + nᵢ dᵢ²
    m3 = Σ m3ᵢ + 3 dᵢ m2ᵢ + nᵢ dᵢ³
    m4 = Σ m4ᵢ + 4 dᵢ m3ᵢ + 6 dᵢ² m2ᵢ + nᵢ dᵢ⁴
    cxy = Σ cxyᵢ + nᵢ dxᵢ dyᵢ

Nothing is squared before it is centred: of values near 10⁹ that differ by 1, eight digits of the
variance are right, as many as a mean in a double leaves, while sums of squares have none.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headwater.algebra.aggregates.merge_lists import LISTED, Lists, as_they_are, column_of
from headwater.algebra.aggregates.merge_rule import Bits, Columns, MergeRule, Types

COUNT_MAX = 2.0**62
"""Nobody has so many records; a count from the wire may say more, and stays a number."""


def moments_fault(types: Types) -> str | None:
    is_state = pa.types.is_int64(types[0]) and all(map(pa.types.is_float64, types[1:]))
    return None if is_state else "wanted a count (bigint) and moments (double)"


def merge_moments(grouped: Columns, types: Types) -> Columns:
    """Of one number: variance, and skewness and kurtosis where there are columns for them."""
    lists = Lists(grouped)
    with np.errstate(all="ignore"):
        n, count, mean, away = _centre(lists, 1)
        m2s = lists.numbers(2) * n
        m2 = lists.total(m2s + n * away**2)
        merged = [mean, m2 / count]
        if len(types) > 3:
            m3s = lists.numbers(3) * m2s * np.sqrt(m2s / np.maximum(n, 1))
            m3 = lists.total(m3s + 3 * away * m2s + n * away**3)
            merged.append(np.sqrt(count) * m3 / m2**1.5)
        if len(types) > 4:
            m4s = (lists.numbers(4) + 3 * lists.are_there(4)) * m2s**2 / np.maximum(n, 1)
            m4 = lists.total(m4s + 4 * away * m3s + 6 * away**2 * m2s + n * away**4)
            merged.append(count * m4 / m2**2 - 3)
    shapeless = (count == 0) | (m2 == 0)
    missing = [count == 0, count == 0, shapeless, shapeless]
    return _state(count, merged, missing, types)


def merge_comoments(grouped: Columns, types: Types) -> Columns:
    """Of two numbers."""
    lists = Lists(grouped)
    with np.errstate(all="ignore"):
        n, count, mean_x, away_x = _centre(lists, 1)
        _, _, mean_y, away_y = _centre(lists, 2)
        pairs = ((away_x, away_x), (away_y, away_y), (away_x, away_y))
        products = [
            lists.total(lists.numbers(column) + n * first * second)
            for column, (first, second) in enumerate(pairs, start=3)
        ]
    return _state(count, [mean_x, mean_y, *products], [count == 0] * 5, types)


def _centre(lists: Lists, column: int) -> tuple[Bits, Bits, Bits, Bits]:
    """Counts of parts, the count and the mean of all, and how far each part's mean is from it."""
    n, means = lists.numbers(0).astype(np.float64), lists.numbers(column)
    count = lists.total(n)
    mean = lists.total(np.where(n > 0, n * means, 0.0)) / count
    return n, count, mean, np.where(n > 0, means - lists.spread(mean), 0.0)


def _state(count: Bits, merged: list[Bits], missing: list[Bits], types: Types) -> Columns:
    whole = np.clip(count, -COUNT_MAX, COUNT_MAX).astype(np.int64)
    columns = [column_of(whole, np.zeros(len(count), bool), types[0])]
    columns += [
        column_of(np.where(no, 0.0, values), no, arrow)
        for values, no, arrow in zip(merged, missing, types[1:], strict=False)
    ]
    return columns


VARIANCE, SKEWNESS, KURTOSIS = (
    MergeRule(name, LISTED, "", moments_fault, as_they_are, merge_moments, width=width)
    for name, width in (("variance", 3), ("skewness", 4), ("kurtosis", 5))
)
COVARIANCE = MergeRule(
    "covariance", LISTED, "", moments_fault, as_they_are, merge_comoments, width=6
)
