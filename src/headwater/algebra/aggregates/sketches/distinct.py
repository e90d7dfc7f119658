"""How many different values there are, nearly: ``approx_count_distinct`` and ``hll_sketch_agg``.

Both are a HyperLogLog sketch, which Spark makes at the site and estimates at the root.
``approx_count_distinct`` takes any type, since ``xxhash64`` does, for which 0.0 and -0.0 are one
value and so are all NaN, as they are for Spark's own function. It promises what Spark's does: the
standard deviation that is written, or 5%, by the least sketch that has it.
"""

from __future__ import annotations

import math

from headwater.algebra.aggregates.aggregate import Aggregate, PartialColumn, Split, UnfitArguments
from headwater.algebra.aggregates.sketches.hll_cells import LG_K_MAX, LG_K_MIN
from headwater.algebra.aggregates.sketches.merge_hll import HLLS
from headwater.algebra.remainders.meaning import ErrorOf, Meaning
from headwater.algebra.rows.bounded import Bound, BoundKind
from headwater.algebra.rows.types import WINDOW_TYPE

DEVIATION = 0.05
"""Spark's own, relative to the count, where none is written."""
DEVIATION_FACTOR = math.sqrt(3 * math.log(2) - 1)
"""Of n registers it is this over √n (Heule, Nunkesser and Hall; for merged sketches)."""
DEVIATIONS, CONFIDENCE = 2, 0.95
"""A bound is so many standard deviations, which hold in that share of cases."""
LG_K = 12
"""Spark's own for ``hll_sketch_agg``."""
SKETCHED = ("int", "bigint", "string", "binary")


def deviation(lg_k: int) -> float:
    return DEVIATION_FACTOR / math.sqrt(1 << lg_k)


def split_approx_count_distinct(types: tuple[str, ...]) -> Split:
    if not 1 <= len(types) <= 2 or types[0] == WINDOW_TYPE or "map<" in types[0]:
        raise UnfitArguments(
            "approx_count_distinct takes a value of a record without maps, of which equal ones "
            "can't be told, and beside it a standard deviation such as 0.02"
        )
    wanted = DEVIATION if len(types) == 1 else _fraction(types[1])
    sizes = [lg_k for lg_k in HLLS if deviation(lg_k) <= wanted]
    if not sizes or wanted >= 1:
        least = deviation(LG_K_MAX)
        raise UnfitArguments(
            f"approx_count_distinct takes a standard deviation from {least:.4f} to 0.5 as a "
            f"literal, got {types[1]}"
        )
    hashed = "IF({first} IS NULL, NULL, XXHASH64({first}))"
    state = PartialColumn("hll", "binary", f"HLL_SKETCH_AGG({hashed}, {sizes[0]}){{filter}}")
    return Split(
        "bigint",
        (state,),
        "COALESCE(HLL_SKETCH_ESTIMATE({0}), 0)",
        central="COUNT(DISTINCT {first}){filter}",
        bound=Bound(BoundKind.VALUE, DEVIATIONS * deviation(sizes[0]), CONFIDENCE),
        merge=HLLS[sizes[0]],
    )


def split_hll_sketch(types: tuple[str, ...]) -> Split:
    if not 1 <= len(types) <= 2 or types[0] not in SKETCHED:
        raise UnfitArguments(
            f"hll_sketch_agg takes {', '.join(SKETCHED)}, got {types[0] if types else 'nothing'}; "
            "write hll_sketch_agg(xxhash64(x))"
        )
    lg_k = LG_K if len(types) == 1 else _whole(types[1])
    if lg_k not in HLLS:
        raise UnfitArguments(
            f"hll_sketch_agg takes the logarithm of its size, a literal from {LG_K_MIN} to "
            f"{LG_K_MAX}, got {types[1]}"
        )
    state = PartialColumn("hll", "binary", f"HLL_SKETCH_AGG({{first}}, {lg_k}){{filter}}")
    size = Bound(BoundKind.VALUE, DEVIATIONS * deviation(lg_k), CONFIDENCE)
    return Split("binary", (state,), bound=size, merge=HLLS[lg_k])


def _fraction(text: str) -> float:
    """What is written, if it is a number between 0 and 1; else one that fits nothing."""
    try:
        found = float(text)
    except ValueError:
        return -1.0
    return found if 0 < found < 1 else -1.0


def _whole(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 4 else -1


RULES = tuple(HLLS.values())
SKETCHES = (
    Aggregate(
        "approx_count_distinct",
        HLLS[LG_K],
        split_approx_count_distinct,
        ("hll_sketch_agg",),
        makes_one_of_many=True,
        literals_from=1,
        further_rules=RULES,
        error=ErrorOf(Meaning.MEMBERS, "COUNT({first}){filter}"),
    ),
    Aggregate(
        "hll_sketch_agg",
        HLLS[LG_K],
        split_hll_sketch,
        ("hll_sketch_agg",),
        makes_one_of_many=True,
        literals_from=1,
        further_rules=RULES,
    ),
)
