"""Percentiles within an error in ranks: ``percentile_approx(x, share, accuracy)``, and sketches.

By KLL sketches, of whole numbers or of doubles, which Spark makes at the site and reads at the
root. As in Spark, the accuracy is one over the error in ranks. Of dates and times it may be left
out: one percent of such a value would be half a year.

Sketches know no NaN, and Spark's drop them. ``percentile_approx`` counts them as the largest value:
they go into its sketch as infinity, and infinity as the largest double, which thus passes for it.
"""

from __future__ import annotations

import re
from functools import partial

from headwater.algebra.aggregates.aggregate import Aggregate, PartialColumn, Split, UnfitArguments
from headwater.algebra.aggregates.sketches.fold_percentile import SHARES_MAX
from headwater.algebra.aggregates.sketches.merge_kll import KLLS, SIZES, rank_error
from headwater.algebra.rows.bounded import Bound, BoundKind
from headwater.algebra.rows.types import FLOATS, INTEGERS

CONFIDENCE = 0.99
K = 200
"""Spark's own for a sketch."""
TIMES_ACCURACY = 100
"""Of dates and times, where none is written: within 1% of the ranks."""
ACCURACY_MAX = int(1 / rank_error(SIZES[-1]))
NAME = "percentile_approx"
TRUTH = "PERCENTILE_APPROX({first}, {second}, 1000000)"
"""What Spark gives when it loses nothing: an accuracy that keeps up to a million values."""
INFINITY, LARGEST, NOT_A_NUMBER = (
    f"CAST('{text}' AS DOUBLE)" for text in ("Infinity", "1.7976931348623157E308", "NaN")
)
ORDERED = (
    f"CASE WHEN ISNAN({{first}}) THEN {INFINITY} WHEN {{first}} = {INFINITY} THEN {LARGEST} "
    "ELSE CAST({first} AS DOUBLE) END"
)
"""A double such that NaN comes last among numbers."""
TO_SKETCH = {
    **dict.fromkeys(INTEGERS, "CAST({first} AS BIGINT)"),
    **dict.fromkeys(FLOATS, ORDERED),
    "timestamp": "UNIX_MICROS({first})",
    "date": "CAST(UNIX_DATE({first}) AS BIGINT)",
}
"""What of a value goes into a sketch, by its type."""
FROM_SKETCH = {
    **{name: f"CAST({{0}} AS {name.upper()})" for name in INTEGERS},
    **{
        name: f"CAST(CASE {{0}} WHEN {INFINITY} THEN {NOT_A_NUMBER} WHEN {LARGEST} THEN {INFINITY} "
        f"ELSE {{0}} END AS {name.upper()})"
        for name in FLOATS
    },
    "timestamp": "TIMESTAMP_MICROS({0})",
    "date": "DATE_FROM_UNIX_DATE(CAST({0} AS INT))",
}
"""And back."""
SKETCHED = {"bigint": INTEGERS, "double": FLOATS, "float": ("float",)}
"""What Spark's function for a sketch of each kind takes."""


def split_ranks(types: tuple[str, ...]) -> Split:
    argument = types[0] if types else "nothing"
    if argument not in TO_SKETCH:
        raise UnfitArguments(
            f"{NAME} takes numbers and times, and with an accuracy in ranks whole numbers, "
            f"doubles and times, got {argument}; write {NAME}(x, 0.5, 0.01), which is within 1% of "
            "the value"
        )
    if len(types) not in (2, 3):
        raise UnfitArguments(
            f"{NAME} takes a share, and beside it an error or an accuracy in ranks; write "
            f"{NAME}(x, 0.5)"
        )
    shares, k = read_shares(types[1]), _size(types[2] if len(types) > 2 else str(TIMES_ACCURACY))
    kind = "double" if argument in FLOATS else "bigint"
    found = [_value(argument, kind, share) for share in shares]
    is_list = types[1].upper().startswith("ARRAY(")
    value = f"ARRAY({', '.join(found)})" if is_list else found[0]
    is_float = argument in FLOATS
    return Split(
        f"array<{argument}>" if is_list else argument,
        (_state(TO_SKETCH[argument], kind, k),),
        f"CASE WHEN KLL_SKETCH_GET_N_{kind.upper()}({{0}}) > 0 THEN {value} END",
        central=values_at(shares, is_list=is_list) if is_float else TRUTH + "{filter}",
        bound=_bound(k),
        merge=KLLS[kind][k],
    )


def values_at(shares: list[str], *, is_list: bool) -> str:
    """By all values, sorted. Spark's own merges parts with NaN as if it were any number."""
    values, count = "ARRAY_SORT(COLLECT_LIST({first}){filter})", "COUNT({first}){filter}"
    found = [
        f"TRY_ELEMENT_AT({values}, GREATEST(1, CAST(CEIL({share}D * {count}) AS INT)))"
        for share in shares
    ]
    if not is_list:
        return found[0]
    return f"CASE WHEN {count} > 0 THEN ARRAY({', '.join(found)}) END"


def split_sketch(kind: str, types: tuple[str, ...]) -> Split:
    """As Spark's, without NaN; of nothing an empty one."""
    name = f"kll_sketch_agg_{kind}"
    if not 1 <= len(types) <= 2 or types[0] not in SKETCHED[kind]:
        got = types[0] if types else "nothing"
        raise UnfitArguments(
            f"{name} takes {', '.join(SKETCHED[kind])}, got {got}; write "
            f"{name}(CAST(… AS {kind.upper()}))"
        )
    text = types[1] if len(types) > 1 else str(K)
    k = int(text) if text.isdecimal() and len(text) < 6 else 0
    if k not in SIZES:
        sizes = ", ".join(map(str, SIZES))
        raise UnfitArguments(f"{name} takes a size as a literal ({sizes}), got {text[:60]}")
    state = _state(f"CAST({{first}} AS {kind.upper()})", kind, k)
    return Split("binary", (state,), bound=_bound(k), merge=KLLS[kind][k])


def _state(value: str, kind: str, k: int) -> PartialColumn:
    text = f"KLL_SKETCH_AGG_{kind.upper()}({value}, {k}){{filter}}"
    return PartialColumn("kll", "binary", text)


def _value(argument: str, kind: str, share: str) -> str:
    value = f"KLL_SKETCH_GET_QUANTILE_{kind.upper()}({{0}}, {share})"
    return FROM_SKETCH[argument].replace("{0}", value)


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


def _sketch(kind: str) -> Aggregate:
    name = f"kll_sketch_agg_{kind}"
    rules = KLLS[kind]
    return Aggregate(
        name,
        rules[K],
        partial(split_sketch, kind),
        (name,),
        literals_from=1,
        further_rules=tuple(rules.values()),
    )


RANKS = tuple(map(_sketch, SKETCHED))
"""A sketch has values of records as they are, so it needs columns that are free."""
