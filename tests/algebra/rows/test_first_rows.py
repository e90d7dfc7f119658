"""The first rows of a pane: the same ones however rows were divided and merged, as Spark orders."""

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType

from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Column, FirstRows, OrderTerm, Partial
from headwater.algebra.rows.first_rows import FIRST_MAX, first_rows

Row = tuple[Any, ...]
KEYS = (
    *(Column("part", "double"), Column("d", "double"), Column("s", "string")),
    *(Column("m", "decimal(5,2)"), Column("b", "boolean")),
)
COPIES = Partial("n", "bigint", "sum")


class Layout:
    keys = KEYS

    def __init__(self, first: FirstRows | UnsetType, partials: Sequence[Partial] = (COPIES,)):
        self.first = first
        self.partials = tuple(partials)


MERGER = ArrowMerger(Layout(UNSET))
"""Keeps everything."""
few = st.sampled_from([None, math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -2.25])
rows = st.tuples(
    st.sampled_from([None, 1.0, math.nan]),
    few,
    st.sampled_from([None, "", "a", "B", "é", "\ud7ff", "\ue000", "𝄞"]),
    st.sampled_from([None, Decimal("0.00"), Decimal("-9.99"), Decimal("10.00")]),
    st.sampled_from([None, True, False]),
    st.integers(1, 4),
)
parts = st.lists(st.lists(rows, max_size=12), min_size=1, max_size=4)
terms = st.permutations([key.name for key in KEYS]).flatmap(
    lambda names: st.tuples(
        *(st.builds(OrderTerm, st.just(one), st.booleans(), st.booleans()) for one in names)
    )
)
firsts = st.builds(
    FirstRows,
    st.integers(1, 9),
    terms,
    st.sampled_from([(), ("part",), ("part", "b")]),
    st.just("n"),
)


def table(some: Sequence[Row]) -> pa.Table:
    columns = [[row[index] for row in some] for index in range(len(KEYS) + 1)]
    return pa.table(columns, schema=MERGER.schema)


def bag(rows: pa.Table) -> list[str]:
    return sorted(map(repr, zip(*(column.to_pylist() for column in rows.columns), strict=True)))


def in_spark_order(row: Row, order: Sequence[OrderTerm]) -> list[tuple[int, Any]]:
    """A key for Python's sorting, column by column, as Spark compares them."""
    names = [key.name for key in KEYS]
    return [_place(row[names.index(term.column)], term) for term in order]


def _place(value: Any, term: OrderTerm) -> tuple[int, Any]:
    if value is None:
        return (1 if term.nulls_last else -1), 0
    if isinstance(value, str):
        # Longer texts come after shorter ones that they begin with, in both directions.
        sign = -1 if term.is_descending else 1
        bytes_ = [sign * (byte + 1) for byte in value.encode()]
        return 0, [*bytes_, 0] if term.is_descending else bytes_
    if isinstance(value, float):
        rank = (1, 0.0) if math.isnan(value) else (0, value)
        return 0, (-rank[0], -rank[1]) if term.is_descending else rank
    return 0, -value if term.is_descending else value


def by_hand(merged: pa.Table, first: FirstRows) -> list[str]:
    """In plain Python: sorted, and counted."""
    names = [key.name for key in KEYS]
    before: dict[str, int] = {}
    kept = []
    found = list(zip(*(column.to_pylist() for column in merged.columns), strict=True))
    for row in sorted(found, key=lambda row: in_spark_order(row, first.order)):
        part = repr([row[names.index(name)] for name in first.within])
        if before.get(part, 0) < first.limit:
            kept.append(repr(row))
        before[part] = before.get(part, 0) + row[-1]
    return sorted(kept)


@given(st.lists(rows, max_size=20), firsts)
def test_the_first_rows_are_those_that_spark_would_rank_first(
    some: list[Row], first: FirstRows
) -> None:
    merged = MERGER.groups([table(some)]).merged
    assert bag(first_rows(merged, first)) == by_hand(merged, first)


@given(parts, firsts, st.randoms(use_true_random=False))
def test_taking_the_first_early_changes_nothing(
    some: list[list[Row]], first: FirstRows, chance: Any
) -> None:
    """However rows are divided, in whatever order they are merged, and whoever takes no first."""
    tables = [table(part) for part in some]
    wanted = bag(first_rows(MERGER.groups(tables).merged, first))
    early = ArrowMerger(Layout(first))
    taken = [early.groups([one]).merged if chance.random() < 0.7 else one for one in tables]
    chance.shuffle(taken)
    cut = chance.randint(0, len(taken))
    merged = early.groups([early.merge(taken[:cut]), early.merge(taken[cut:])]).merged
    assert bag(merged) == wanted
    assert bag(early.groups([merged, early.none()]).merged) == wanted


@given(parts, firsts)
def test_what_is_kept_is_bounded(some: list[list[Row]], first: FirstRows) -> None:
    merged = ArrowMerger(Layout(first)).groups([table(part) for part in some]).merged
    places = [[key.name for key in KEYS].index(name) for name in first.within]
    of_parts = {repr([row[place] for place in places]) for part in some for row in part}
    assert merged.num_rows <= first.limit * len(of_parts)


ORDER = tuple(OrderTerm(key.name) for key in KEYS)


@pytest.mark.parametrize(
    ("first", "partials"),
    [
        (FirstRows(3, ORDER[1:], copies="n"), (COPIES,)),
        (FirstRows(3, (*ORDER, ORDER[0]), copies="n"), (COPIES,)),
        (FirstRows(0, ORDER, copies="n"), (COPIES,)),
        (FirstRows(FIRST_MAX + 1, ORDER, copies="n"), (COPIES,)),
        (FirstRows(3, ORDER, ("n",), "n"), (COPIES,)),
        (FirstRows(3, ORDER, copies="d"), (COPIES,)),
        (FirstRows(3, ORDER), (COPIES,)),
        (FirstRows(3, ORDER, copies="n"), (Partial("n", "bigint", "max"),)),
        (FirstRows(3, ORDER, copies="n"), (COPIES, Partial("more", "bigint", "sum"))),
    ],
)
def test_first_rows_of_anything_but_rows_are_refused(
    first: FirstRows, partials: tuple[Partial, ...]
) -> None:
    with pytest.raises(ValueError, match="first rows: wanted 1 to 2000000 rows"):
        ArrowMerger(Layout(first, partials))


def test_distinct_rows_count_once() -> None:
    first = FirstRows(2, ORDER)
    merger = ArrowMerger(Layout(first, ()))
    some = table([(None, 1.0, "a", None, None, 9)] * 2 + [(None, 2.0, "a", None, None, 9)] * 2)
    assert merger.groups([some.drop(["n"])]).merged.num_rows == 2


def test_windows_of_first_rows_are_not_built_by_removal() -> None:
    """The rows behind those that were kept are gone, so a pane can't be taken out again."""
    assert MERGER.can_take_back
    assert not ArrowMerger(Layout(FirstRows(2, ORDER, copies="n"))).can_take_back
