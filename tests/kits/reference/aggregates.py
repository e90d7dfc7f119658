"""The aggregates over the values of a group, from their definitions.

Each gets the rows of its arguments, without those in which an argument is NULL, in no order that it
may use. Sums of numbers are exact; of doubles by ``fsum``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from operator import and_, or_, xor
from typing import Any

from reference.values import by_value, key_of, plain

Rows = list[tuple[Any, ...]]


def column(rows: Rows) -> list[Any]:
    return [row[0] for row in rows]


def total(values: list[Any]) -> Any:
    if any(isinstance(one, float) for one in values):
        has_both = math.inf in values and -math.inf in values
        return math.nan if has_both or any(one != one for one in values) else _sum(values)
    return sum(values)


def _tried_total(values: list[Any]) -> Any:
    """Whole numbers that leave a bigint are nothing."""
    found = total(values)
    return None if isinstance(found, int) and not -(1 << 63) <= found < 1 << 63 else found


def _sum(values: list[Any]) -> float:
    infinite = [one for one in values if math.isinf(one)]
    return infinite[0] if infinite else math.fsum(values)


def mean(values: list[Any]) -> Any:
    found = total(values)
    if isinstance(found, int):
        return found / len(values)
    return found / len(values)


def _exact(values: list[Any]) -> list[Fraction] | None:
    """For moments, without rounding; None: one is no number."""
    if any(isinstance(one, float) and not math.isfinite(one) for one in values):
        return None
    return [Fraction(one) for one in values]


def moment(values: list[Any], power: int) -> Fraction | None:
    """The sum of powers of what each lies off the mean."""
    exact = _exact(values)
    if exact is None:
        return None
    middle = sum(exact) / len(exact)
    return sum(((one - middle) ** power for one in exact), Fraction(0))


def _variance(less: int, *, is_root: bool = False) -> Callable[[Rows], Any]:
    def variance(rows: Rows) -> float | None:
        values = column(rows)
        if len(values) <= less:
            return None
        found = moment(values, 2)
        if found is None:
            return math.nan
        spread = float(found / (len(values) - less))
        return math.sqrt(spread) if is_root else spread

    return variance


def _skewness(rows: Rows) -> float | None:
    values = column(rows)
    second, third = (moment(values, power) if values else None for power in (2, 3))
    if second is None or third is None:
        return math.nan if values else None
    if second == 0:
        return None
    return math.sqrt(len(values)) * float(third) / float(second) ** 1.5


def _kurtosis(rows: Rows) -> float | None:
    values = column(rows)
    second, fourth = (moment(values, power) if values else None for power in (2, 4))
    if second is None or fourth is None:
        return math.nan if values else None
    return None if second == 0 else float(len(values) * fourth / second**2) - 3.0


class Pairs:
    """Of two columns: count, means, and centred moments. The second is the independent one."""

    def __init__(self, rows: Rows) -> None:
        ys, xs = [Fraction(row[0]) for row in rows], [Fraction(row[1]) for row in rows]
        self.n = len(rows)
        self.x, self.y = (sum(one) / self.n if self.n else None for one in (xs, ys))
        self.xx = sum(((x - self.x) ** 2 for x in xs), Fraction(0))
        self.yy = sum(((y - self.y) ** 2 for y in ys), Fraction(0))
        self.xy = sum(
            ((x - self.x) * (y - self.y) for x, y in zip(xs, ys, strict=True)), Fraction(0)
        )

    def corr(self) -> float | None:
        if not self.n or not self.xx or not self.yy:
            return None
        return float(self.xy) / math.sqrt(float(self.xx) * float(self.yy))

    def slope(self) -> Fraction | None:
        return self.xy / self.xx if self.n and self.xx else None


def _of_pairs(found: Callable[[Pairs], Any]) -> Callable[[Rows], Any]:
    def of(rows: Rows) -> float | None:
        value = found(Pairs(rows))
        return value if value is None or isinstance(value, int) else float(value)

    return of


def _r2(pairs: Pairs) -> Any:
    if not pairs.n or not pairs.xx:
        return None
    return 1 if not pairs.yy else pairs.xy**2 / (pairs.xx * pairs.yy) * Fraction(1)


def _intercept(pairs: Pairs) -> Any:
    slope = pairs.slope()
    return None if slope is None else pairs.y - slope * pairs.x


def _or_null(found: Callable[[list[Any]], Any]) -> Callable[[Rows], Any]:
    return lambda rows: found(column(rows)) if rows else None


def _extreme_by(rows: Rows, *, is_most: bool) -> Any:
    """Of equal ones the largest value, or the least; as many as a third argument says."""
    there = [row for row in rows if row[1] is not None]
    if not there:
        return None
    there.sort(key=lambda row: (by_value(row[1]), by_value(row[0])), reverse=is_most)
    return column(there[: rows[0][2]]) if len(rows[0]) > 2 else column(there)[0]


def _percentile(rows: Rows) -> Any:
    """The truth that ``percentile_approx`` is near to: of n values that at place ⌈share · n⌉."""
    if not rows:
        return None
    values, shares = _sorted(column(rows)), rows[0][1]
    if not isinstance(shares, list):
        return _at(values, shares)
    return [_at(values, share) for share in shares]


def _histogram(rows: Rows) -> list[dict[str, Any]]:
    """Slots as wide as the error allows, on a logarithmic scale whose steps begin at one."""
    error = float(rows[0][1]) if rows and len(rows[0]) > 1 else 0.01
    wide = math.log((1 + error) / (1 - error))
    slots: dict[str, int] = {}
    for one in sorted(map(float, column(rows)), key=lambda one: (one != one, one)):
        value = one
        if one and math.isfinite(one):
            step = math.ceil(math.log(abs(one)) / wide)
            value = math.copysign(math.exp(wide * step) * 2 / (math.exp(wide) + 1), one)
        slots[str(value + 0.0)] = slots.get(str(value + 0.0), 0) + 1
    return [{"value": float(value), "count": count} for value, count in slots.items()]


def _at(values: list[Any], share: Any) -> Any:
    return values[max(1, math.ceil(Fraction(share) * len(values))) - 1]


def _mode(values: list[Any]) -> Any:
    counts = Counter(map(key_of, values))
    most = max(counts.values())
    return min((one for one in values if counts[key_of(one)] == most), key=by_value)


def _top(rows: Rows) -> list[dict[str, Any]]:
    """Of equally frequent values the least, NULL before all."""
    counts = Counter(map(key_of, column(rows)))
    first = sorted(
        unique(column(rows)),
        key=lambda one: (
            -counts[key_of(one)],
            one is not None,
            () if one is None else by_value(one),
        ),
    )
    several = rows[0][1] if rows and len(rows[0]) > 1 else 5
    return [{"item": one, "count": counts[key_of(one)]} for one in first[:several]]


def _sorted(values: list[Any]) -> list[Any]:
    return sorted(values, key=by_value)


def unique(values: list[Any]) -> list[Any]:
    return list({key_of(one): one for one in values}.values())


AGGREGATES: dict[str, Callable[[Rows], Any]] = {
    "count": len,
    "count_if": lambda rows: sum(column(rows)),
    "sum": _or_null(total),
    "try_sum": _or_null(_tried_total),
    "avg": _or_null(mean),
    "mean": _or_null(mean),
    "try_avg": _or_null(mean),
    "min": _or_null(lambda values: min(values, key=by_value)),
    "max": _or_null(lambda values: max(values, key=by_value)),
    "any_value": _or_null(lambda values: min(values, key=by_value)),
    "bool_and": _or_null(all),
    "every": _or_null(all),
    "bool_or": _or_null(any),
    "any": _or_null(any),
    "some": _or_null(any),
    "bit_and": _or_null(lambda values: reduce(and_, values)),
    "bit_or": _or_null(lambda values: reduce(or_, values)),
    "bit_xor": _or_null(lambda values: reduce(xor, values)),
    "var_pop": _variance(0),
    "var_samp": _variance(1),
    "variance": _variance(1),
    "stddev_pop": _variance(0, is_root=True),
    "stddev_samp": _variance(1, is_root=True),
    "stddev": _variance(1, is_root=True),
    "std": _variance(1, is_root=True),
    "skewness": _skewness,
    "kurtosis": _kurtosis,
    "corr": _of_pairs(Pairs.corr),
    "covar_pop": _of_pairs(lambda p: p.xy / p.n if p.n else None),
    "covar_samp": _of_pairs(lambda p: p.xy / (p.n - 1) if p.n > 1 else None),
    "regr_count": len,
    "regr_slope": _of_pairs(Pairs.slope),
    "regr_intercept": _of_pairs(_intercept),
    "regr_avgx": _of_pairs(lambda p: p.x),
    "regr_avgy": _of_pairs(lambda p: p.y),
    "regr_r2": _of_pairs(_r2),
    "regr_sxx": _of_pairs(lambda p: p.xx if p.n else None),
    "regr_syy": _of_pairs(lambda p: p.yy if p.n else None),
    "regr_sxy": _of_pairs(lambda p: p.xy if p.n else None),
    "max_by": lambda rows: _extreme_by(rows, is_most=True),
    "min_by": lambda rows: _extreme_by(rows, is_most=False),
    "collect_list": lambda rows: _sorted(column(rows)),
    "array_agg": lambda rows: _sorted(column(rows)),
    "collect_set": lambda rows: _sorted(unique(column(rows))),
    "mode": _or_null(_mode),
    "approx_top_k": _top,
    "listagg": lambda rows: rows[0][1].join(_sorted(column(rows))) if rows else None,
    "string_agg": lambda rows: rows[0][1].join(_sorted(column(rows))) if rows else None,
    "percentile_approx": _percentile,
    "approx_percentile": _percentile,
    "approx_histogram": _histogram,
    "approx_count_distinct": lambda rows: len(unique(column(rows))),
}
"""By name. Lists are in the order of their values, which is how they are compared."""
KEEP_NULLS = {"max_by", "min_by", "approx_top_k"}
"""Where an argument that is NULL does not take the row out."""


def aggregate(name: str, rows: Rows, *, is_distinct: bool) -> Any:
    kept = rows if name in KEEP_NULLS else [row for row in rows if None not in row]
    if is_distinct:
        kept = list({tuple(map(key_of, row)): row for row in kept}.values())
    return AGGREGATES[name]([tuple(map(plain, row)) for row in kept])
