"""Percentiles within an error in ranks: ``percentile_approx(x, share, accuracy)``, and sketches.

By KLL sketches of whole numbers, which Spark makes at the site and reads at the root. As in Spark,
the accuracy is one over the error in ranks. Of dates and times it may be left out: one percent of
such a value would be half a year.
"""

from __future__ import annotations

import re

from headwater.algebra.aggregates.aggregate import Aggregate, PartialColumn, Split, UnfitArguments
from headwater.algebra.aggregates.sketches.merge_kll import KLLS, SIZES, rank_error
from headwater.algebra.rows.bounded import Bound, BoundKind
from headwater.algebra.rows.types import INTEGERS

CONFIDENCE = 0.99
K = 200
"""Spark's own for a sketch."""
TIMES_ACCURACY = 100
"""Of dates and times, where none is written: within 1% of the ranks."""
SHARES_MAX = 100
ACCURACY_MAX = int(1 / rank_error(SIZES[-1]))
NAME = "percentile_approx"
TRUTH = "PERCENTILE_APPROX({first}, {second}, 1000000)"
"""What Spark gives when it loses nothing: an accuracy that keeps up to a million values."""
TO_BIGINT = {"timestamp": "UNIX_MICROS({first})", "date": "CAST(UNIX_DATE({first}) AS BIGINT)"}
FROM_BIGINT = {
    "timestamp": "TIMESTAMP_MICROS({0})",
    "date": "DATE_FROM_UNIX_DATE(CAST({0} AS INT))",
}


def split_ranks(types: tuple[str, ...]) -> Split:
    argument = types[0] if types else "nothing"
    if argument not in (*INTEGERS, *TO_BIGINT):
        raise UnfitArguments(
            f"{NAME} takes numbers and times, and with an accuracy in ranks whole numbers and "
            f"times, got {argument}; write {NAME}(x, 0.5, 0.01), which is within 1% of the value"
        )
    if len(types) not in (2, 3):
        raise UnfitArguments(
            f"{NAME} takes a share, and beside it an error or an accuracy in ranks; write "
            f"{NAME}(x, 0.5)"
        )
    shares, k = read_shares(types[1]), _size(types[2] if len(types) > 2 else str(TIMES_ACCURACY))
    found = [_value(argument, share) for share in shares]
    is_list = types[1].upper().startswith("ARRAY(")
    value = f"ARRAY({', '.join(found)})" if is_list else found[0]
    return Split(
        f"array<{argument}>" if is_list else argument,
        (_state(argument, k),),
        f"CASE WHEN KLL_SKETCH_GET_N_BIGINT({{0}}) > 0 THEN {value} END",
        central=TRUTH + "{filter}",
        bound=_bound(k),
        merge=KLLS[k],
    )


def split_sketch(types: tuple[str, ...]) -> Split:
    if not 1 <= len(types) <= 2 or types[0] not in INTEGERS:
        got = types[0] if types else "nothing"
        raise UnfitArguments(
            f"kll_sketch_agg_bigint takes {', '.join(INTEGERS)}, got {got}; write "
            "kll_sketch_agg_bigint(CAST(… AS BIGINT))"
        )
    text = types[1] if len(types) > 1 else str(K)
    k = int(text) if text.isdecimal() and len(text) < 6 else 0
    if k not in KLLS:
        sizes = ", ".join(map(str, SIZES))
        raise UnfitArguments(
            f"kll_sketch_agg_bigint takes a size as a literal ({sizes}), got {text[:60]}"
        )
    return Split("binary", (_state(types[0], k),), bound=_bound(k), merge=KLLS[k])


def _state(argument: str, k: int) -> PartialColumn:
    value = TO_BIGINT.get(argument, "CAST({first} AS BIGINT)")
    return PartialColumn("kll", "binary", f"KLL_SKETCH_AGG_BIGINT({value}, {k}){{filter}}")


def _value(argument: str, share: str) -> str:
    value = f"KLL_SKETCH_GET_QUANTILE_BIGINT({{0}}, {share})"
    return FROM_BIGINT.get(argument, f"CAST({{0}} AS {argument.upper()})").replace("{0}", value)


def _bound(k: int) -> Bound:
    return Bound(BoundKind.RANK, rank_error(k), CONFIDENCE)


def read_shares(text: str) -> list[str]:
    """What is written: one share, or a list of them."""
    match = re.fullmatch(r"(?i)ARRAY\((.*)\)", text)
    shares = [word.strip() for word in (match[1].split(",") if match else [text])]
    if not 1 <= len(shares) <= SHARES_MAX or not all(map(_is_share, shares)):
        raise UnfitArguments(
            f"{NAME} takes shares from 0 to 1 as literals, up to {SHARES_MAX}, got {text[:60]}; "
            f"write {NAME}(x, 0.5)"
        )
    return shares


def _is_share(text: str) -> bool:
    return re.fullmatch(r"\d\.?\d{0,15}|\.\d{1,15}", text) is not None and float(text) <= 1


def _size(accuracy: str) -> int:
    wanted = int(accuracy) if accuracy.isdecimal() and len(accuracy) < 6 else 0
    if not 1 <= wanted <= ACCURACY_MAX:
        raise UnfitArguments(
            f"{NAME} takes an accuracy in ranks from 1 to {ACCURACY_MAX} as a literal, got "
            f"{accuracy[:60]}; write {NAME}(x, 0.5, 100)"
        )
    return next(k for k in SIZES if rank_error(k) * wanted <= 1)


RANKS = (
    Aggregate(
        "kll_sketch_agg_bigint",
        KLLS[K],
        split_sketch,
        ("kll_sketch_agg_bigint",),
        literals_from=1,
        further_rules=tuple(KLLS.values()),
    ),
)
"""A sketch has values of records as they are, so it needs columns that are free."""
