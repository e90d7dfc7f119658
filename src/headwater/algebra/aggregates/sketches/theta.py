"""``theta_sketch_agg(x[, lg_k])``: a sketch of the different values, of which sets can be made.

Spark makes it at the site, and reads it in the root part as in whatever reads the answers:
``theta_sketch_estimate(theta_intersection(a, b))`` is how many values two of them have in common.
"""

from __future__ import annotations

import math

from headwater.algebra.aggregates.aggregate import Aggregate, PartialColumn, Split, UnfitArguments
from headwater.algebra.aggregates.sketches.distinct import CONFIDENCE, DEVIATIONS
from headwater.algebra.aggregates.sketches.merge_theta import THETAS
from headwater.algebra.aggregates.sketches.theta_cells import LG_K_MAX, LG_K_MIN
from headwater.algebra.rows.bounded import Bound, BoundKind

NAME = "theta_sketch_agg"
LG_K = 12
"""Spark's own."""
SKETCHED = ("int", "bigint", "float", "double", "string", "binary", "array<int>", "array<bigint>")


def split_theta(types: tuple[str, ...]) -> Split:
    if not 1 <= len(types) <= 2 or types[0] not in SKETCHED:
        raise UnfitArguments(
            f"{NAME} takes {', '.join(SKETCHED)}, got {types[0] if types else 'nothing'}; write "
            f"{NAME}(xxhash64(x))"
        )
    text = types[1] if len(types) > 1 else str(LG_K)
    lg_k = int(text) if text.isdecimal() and len(text) < 4 else -1
    if lg_k not in THETAS:
        raise UnfitArguments(
            f"{NAME} takes the logarithm of its size, a literal from {LG_K_MIN} to {LG_K_MAX}, got "
            f"{text[:60]}; write {NAME}(x, {LG_K})"
        )
    state = PartialColumn("theta", "binary", f"THETA_SKETCH_AGG({{first}}, {lg_k}){{filter}}")
    size = Bound(BoundKind.VALUE, DEVIATIONS * deviation(lg_k), CONFIDENCE)
    return Split("binary", (state,), bound=size, merge=THETAS[lg_k])


def deviation(lg_k: int) -> float:
    """Of the estimate, relative to the count: of k least hashes 1/√(k − 1)."""
    return 1 / math.sqrt((1 << lg_k) - 1)


THETA = Aggregate(
    NAME, THETAS[LG_K], split_theta, (NAME,), literals_from=1, further_rules=tuple(THETAS.values())
)
"""Whole hashes leave, by which values can be looked up: it needs columns that are free."""
