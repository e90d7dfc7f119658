"""``collect_set(x)``, ``collect_list(x)``, ``listagg(x, ',')``, ``mode(x)``: each value is a hidden
key, with how often it occurred.

Spark gives lists in the order of reading, and any of the values that are equally frequent. Here
lists are in the order of their values, and of equally frequent values the least is given, so the
division does not show. They share their rows, as do ``DISTINCT`` ones over the same values.
"""

from collections.abc import Callable
from functools import partial

import msgspec

from headwater.algebra.aggregates.aggregate import (
    Aggregate,
    FoldedColumn,
    PartialColumn,
    Split,
    UnfitArguments,
    hidden_keys,
    one_argument,
)
from headwater.algebra.aggregates.growing.fold_lists import (
    LIST_VALUES_MAX,
    LISTED_ALL,
    LISTED_ONCE,
    MOST_FREQUENT,
)
from headwater.algebra.aggregates.growing.fold_rule import FoldRule
from headwater.algebra.aggregates.merge_sums import SUMS
from headwater.algebra.rows.types import FLOATS

DELIMITER_LENGTH_MAX = 100
SET = "SORT_ARRAY(COLLECT_SET({0}){filter})"
LIST = "SORT_ARRAY(COLLECT_LIST({0}){filter})"
MODE = "MODE({0}, TRUE){filter}"
MANY = f"NULLIF(COUNT({{0}}){{filter}} > {LIST_VALUES_MAX}, TRUE)"
MANY_IN_SET = f"NULLIF(COUNT(DISTINCT {{0}}){{filter}} > {LIST_VALUES_MAX}, TRUE)"
TEXTS = f"CASE WHEN COUNT({{0}}){{filter}} > 0 THEN ARRAY_JOIN({LIST}, {{1}}) END"
TEXTS_ONCE = f"CASE WHEN COUNT({{0}}){{filter}} > 0 THEN ARRAY_JOIN({SET}, {{1}}) END"


def split_list(name: str, fold: FoldRule, central: str, types: tuple[str, ...]) -> Split:
    argument = listable(name, one_argument(name, types))
    made = argument if fold is MOST_FREQUENT else f"array<{argument}>"
    tried = {LISTED_ALL.name: MANY, LISTED_ONCE.name: MANY_IN_SET}.get(fold.name, "")
    folded = FoldedColumn(fold.name, made, fold.name)
    return msgspec.structs.replace(_split(name, made, argument, folded, central), tried=tried)


def split_texts(types: tuple[str, ...]) -> Split:
    """The list, put together with what is written between the texts."""
    return _texts(types, LISTED_ALL, TEXTS)


def split_texts_once(types: tuple[str, ...]) -> Split:
    return msgspec.structs.replace(_texts(types, LISTED_ONCE, TEXTS_ONCE), tried=MANY_IN_SET)


def _texts(types: tuple[str, ...], rule: FoldRule, central: str) -> Split:
    if len(types) != 2 or types[0] != "string":
        raise UnfitArguments(
            "listagg takes a text and what stands between two of them, as in listagg(x, ','); "
            f"got {', '.join(types)[:100]}"
        )
    between = types[1]
    is_literal = between[:1] == between[-1:] == "'" and 1 < len(between) < DELIMITER_LENGTH_MAX
    if not is_literal or "'" in between[1:-1] or "{" in between or "\\" in between:
        raise UnfitArguments(
            f"listagg takes a short text in quotes between two, got {between[:60]}"
        )
    fold = FoldedColumn(rule.name, "array<string>", rule.name)
    finish = f"CASE WHEN SIZE({{0}}) > 0 THEN ARRAY_JOIN({{0}}, {between}) END"
    return _split("listagg", "string", "string", fold, central, finish)


def _split(
    name: str, made: str, argument: str, fold: FoldedColumn, central: str, finish: str = "{0}"
) -> Split:
    counted = PartialColumn("count", "bigint", "COUNT({0}){filter}")
    hidden = hidden_keys(name, (argument,))
    return Split(made, (counted,), finish, MANY, central, hidden=hidden, folds=(fold,))


def listable(name: str, argument: str) -> str:
    """Spark groups both zeros as one, and lists them as two."""
    if argument in FLOATS:
        raise UnfitArguments(
            f"{name} takes whole numbers, decimals, texts, times and truths, got {argument}; write "
            f"{name}(CAST(… AS DECIMAL(p, s)))"
        )
    return argument


def _list(
    name: str, fold: FoldRule, central: str, synonyms: tuple[str, ...] = (), once: str = ""
) -> Aggregate:
    split = partial(split_list, name, fold, central)
    return Aggregate(name, SUMS, split, ("count",), synonyms, once=once, settled=central)


def _joined(
    split: Callable[[tuple[str, ...]], Split], central: str, *, is_distinct: bool
) -> Aggregate:
    return Aggregate(
        "listagg",
        SUMS,
        split,
        ("count",),
        ("string_agg",),
        is_distinct=is_distinct,
        literals_from=1,
        settled=central,
    )


LISTS = (
    _list("collect_set", LISTED_ONCE, SET),
    _list("collect_list", LISTED_ALL, LIST, ("array_agg",), once="collect_set"),
    _list("mode", MOST_FREQUENT, MODE),
    _joined(split_texts, TEXTS, is_distinct=False),
    _joined(split_texts_once, TEXTS_ONCE, is_distinct=True),
)
