"""Merging rows with Arrow: the laws, and Spark's semantics on every extreme.

The oracle is a few lines of plain Python; that Spark itself agrees is tested with a Spark.
"""

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, localcontext
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.aggregates import RULES
from headwater.algebra.aggregates.merge_rule import Columns, MergeRule, Types
from headwater.algebra.rows.arrow_rows import ArrowMerger, check_rows, in_schema
from headwater.algebra.rows.columns import Column, Partial
from headwater.errors import WireError


class Layout:
    def __init__(self, keys: Sequence[Column], partials: Sequence[Partial]) -> None:
        self.keys = tuple(keys)
        self.partials = tuple(partials)


TYPES = {
    "boolean": st.booleans(),
    "tinyint": st.integers(-128, 127),
    "int": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32),
    "double": st.floats(),
    "decimal(5,2)": st.decimals(-999, 999, places=2),
    "decimal(38,0)": st.integers(-(10**38) + 1, 10**38 - 1).map(Decimal),
    "string": st.text(max_size=4),
    "binary": st.binary(max_size=4),
    "date": st.dates(date(1900, 1, 1), date(2100, 1, 1)),
    "timestamp": st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
}
SUMS = {
    "bigint": st.integers(-(10**17), 10**17),
    "double": st.integers(-(2**40), 2**40).map(float),
    "decimal(38,0)": st.integers(-(10**36), 10**36).map(Decimal),
    "decimal(20,3)": st.decimals(-(10**6), 10**6, places=3),
}


def rule_of(index: int) -> str:
    return ("min", "max")[index % 2]


ORDERED = Layout(
    [Column("k", "double"), Column("s", "string")],
    [Partial(f"p{i}", name, rule_of(i)) for i, name in enumerate([*TYPES, *TYPES, "double"])],
)
SUMMED = Layout(
    [Column("k", "bigint")], [Partial(f"p{i}", name, "sum") for i, name in enumerate(SUMS)]
)
KEYLESS = Layout([], [Partial("n", "bigint", "sum"), Partial("m", "float", "max")])


def tables(layout: Layout, keys: Sequence[st.SearchStrategy[Any]]) -> st.SearchStrategy[pa.Table]:
    values = [SUMS[p.type] if p.merge == "sum" else TYPES[p.type] for p in layout.partials]
    row = st.tuples(*keys, *(st.none() | value for value in values))
    rows = st.lists(row, max_size=6 if keys else 1, unique_by=lambda row: repr(row[: len(keys)]))
    schema = ArrowMerger(layout).schema
    return rows.map(lambda rows: table_of(rows, schema))


def table_of(rows: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.Table:
    columns = [[row[index] for row in rows] for index in range(len(schema))]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


few_doubles = st.sampled_from([None, 0.0, 1.5, math.nan])
few_words = st.sampled_from([None, "", "a", "é"])
ordered = tables(ORDERED, [few_doubles, few_words])
summed = tables(SUMMED, [st.sampled_from([None, 1, 2, 3])])
keyless = tables(KEYLESS, [])


def bag(table: pa.Table) -> list[str]:
    return sorted(repr(list(row.values())) for row in table.to_pylist())


def order(value: Any) -> Any:
    """Spark's order: NaN above everything, strings by their bytes."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value, math.copysign(1, value))
    return value.encode() if isinstance(value, str) else value


def merged_by_hand(layout: Layout, parts: Sequence[pa.Table]) -> list[str]:
    groups: dict[str, list[list[Any]]] = {}
    width = len(layout.keys)
    for part in parts:
        for row in part.to_pylist():
            values = list(row.values())
            groups.setdefault(repr(values[:width]), []).append(values)
    merged = []
    for rows in groups.values():
        result = rows[0][:width]
        for index, partial in enumerate(layout.partials, start=width):
            known = [row[index] for row in rows if row[index] is not None]
            result.append(reduced(known, partial.merge) if known else None)
        merged.append(repr(result))
    return sorted(merged)


def reduced(known: list[Any], rule: str) -> Any:
    if rule == "sum":
        with localcontext(prec=80):
            return sum(known[1:], known[0])
    return (min if rule == "min" else max)(known, key=order)


@pytest.mark.parametrize(
    ("layout", "strategy"), [(ORDERED, ordered), (SUMMED, summed), (KEYLESS, keyless)]
)
def test_merge_is_what_spark_would_do(
    layout: Layout, strategy: st.SearchStrategy[pa.Table]
) -> None:
    merger = ArrowMerger(layout)

    @given(st.lists(strategy, min_size=2, max_size=4))
    def check(parts: list[pa.Table]) -> None:
        merged = merger.merge(parts)
        assert merged.schema == merger.schema
        assert bag(merged) == merged_by_hand(layout, parts)

    check()


@pytest.mark.parametrize(
    ("layout", "strategy"), [(ORDERED, ordered), (SUMMED, summed), (KEYLESS, keyless)]
)
def test_merge_is_associative_and_commutative_and_no_rows_are_neutral(
    layout: Layout, strategy: st.SearchStrategy[pa.Table]
) -> None:
    merger = ArrowMerger(layout)

    @given(strategy, strategy, strategy)
    def check(a: pa.Table, b: pa.Table, c: pa.Table) -> None:
        left = merger.merge([merger.merge([a, b]), c])
        right = merger.merge([a, merger.merge([b, c])])
        assert bag(left) == bag(right) == bag(merger.merge([c, a, b]))
        assert bag(merger.merge([a, merger.none()])) == bag(a)

    check()


def test_zeros_and_nans_of_every_kind_are_one_key_each() -> None:
    merger = ArrowMerger(Layout([Column("k", "double")], [Partial("n", "bigint", "sum")]))
    other_nan = pa.array([0x7FF8000000000001], pa.int64()).view(pa.float64())
    left = pa.table([pa.array([0.0, math.nan]), pa.array([1, 2])], schema=merger.schema)
    right = pa.table(
        [pa.chunked_array([pa.array([-0.0]), other_nan]), pa.array([10, 20])], schema=merger.schema
    )
    merged = merger.merge([left, right])
    assert bag(merged) == ["[0.0, 11]", "[nan, 22]"]


def test_a_group_that_overflows_stays_apart_and_the_others_are_merged() -> None:
    merger = ArrowMerger(Layout([Column("k", "string")], [Partial("n", "bigint", "sum")]))
    parts = [
        table_of([("good", 1), ("bad", 2**63 - 1), (None, 5)], merger.schema),
        table_of([("bad", 1), ("good", 2)], merger.schema),
        table_of([("good", 4), (None, 5)], merger.schema),
    ]
    merged = merger.merge(parts)
    assert bag(merged) == sorted(
        ["['good', 7]", "[None, 10]", f"['bad', {2**63 - 1}]", "['bad', 1]"]
    )
    found = merger.groups(parts)
    assert bag(found.merged) == ["['good', 7]", "[None, 10]"]
    assert found.overflowing.to_pylist() == [{"k": "bad"}]
    assert found.columns == ("n",)


def test_rows_that_stayed_apart_become_one_when_their_sum_fits_again() -> None:
    """So it does not matter in which order relays meet the parts of a group."""
    merger = ArrowMerger(Layout([Column("k", "string")], [Partial("n", "bigint", "sum")]))
    big, more, less = (table_of([("a", n)], merger.schema) for n in (2**63 - 1, 7, -7))
    on_the_way = merger.merge([big, more])
    assert on_the_way.num_rows == 2
    assert bag(merger.merge([on_the_way, less])) == [f"['a', {2**63 - 1}]"]


def test_a_group_with_several_partials_stays_apart_whole() -> None:
    """The other columns of an overflowing group must not be merged without it."""
    merger = ArrowMerger(Layout([Column("k", "double")], KEYLESS.partials))
    parts = [
        table_of([(0.0, 2**62, 1.0), (1.0, 1, 2.0)], merger.schema),
        table_of([(-0.0, 2**62, 3.0), (1.0, 1, 9.0)], merger.schema),
    ]
    found = merger.groups(parts)
    assert bag(found.merged) == ["[1.0, 2, 9.0]"]
    assert bag(found.apart) == [f"[-0.0, {2**62}, 3.0]", f"[0.0, {2**62}, 1.0]"]


def test_groups_are_told_apart_also_within_one_part() -> None:
    """A pane may hold rows that stayed apart when it was merged."""
    merger = ArrowMerger(KEYLESS)
    alone = table_of([(2**62, None), (2**62, 1.0)], merger.schema)
    assert merger.groups([alone]).merged.num_rows == 0
    assert merger.groups([alone]).apart.num_rows == 2
    assert merger.groups([alone]).overflowing_count == 1
    assert merger.groups([alone.slice(0, 1)]).merged.num_rows == 1
    assert merger.groups([]).merged.num_rows == 0


def test_merging_is_lawful_also_where_groups_overflow() -> None:
    """Rows that stay apart are all that the group has: its total is the same in every order."""
    layout = Layout(
        [Column("k", "int")], [Partial("n", "bigint", "sum"), Partial("d", "decimal(38,2)", "sum")]
    )
    merger = ArrowMerger(layout)
    bigs = st.sampled_from([0, 1, -1, 2**62, 2**63 - 1, -(2**63)])
    decimals = st.sampled_from([Decimal("9" * 36 + ".99"), Decimal("-" + "9" * 36), Decimal(1)])
    row = st.tuples(st.sampled_from([1, 2, 3]), bigs, decimals)
    part = st.lists(row, max_size=3, unique_by=lambda one: one[0]).map(
        lambda rows: table_of(rows, merger.schema)
    )

    @given(part, part, part)
    def check(a: pa.Table, b: pa.Table, c: pa.Table) -> None:
        left = merger.merge([merger.merge([a, b]), c])
        right = merger.merge([a, merger.merge([b, c])])
        wanted = totals([a, b, c])
        assert totals([left]) == totals([right]) == totals([merger.merge([c, a, b])]) == wanted
        found = merger.groups([a, b, c])
        assert {row["k"] for row in found.merged.to_pylist()} == {
            key for key, sums in wanted.items() if fits(sums)
        }
        assert found.merged.num_rows + found.overflowing_count == len(wanted)

    check()


def totals(parts: Sequence[pa.Table]) -> dict[int, tuple[Decimal, Decimal]]:
    found: dict[int, tuple[Decimal, Decimal]] = {}
    with localcontext(prec=80):
        for part in parts:
            for row in part.to_pylist():
                n, d = found.get(row["k"], (Decimal(0), Decimal(0)))
                found[row["k"]] = (n + row["n"], d + row["d"])
    return found


def fits(sums: tuple[Decimal, Decimal]) -> bool:
    return -(2**63) <= sums[0] < 2**63 and -(10**36) < sums[1] < 10**36


def test_a_sum_of_bigints_that_fits_in_the_end_is_exact() -> None:
    merger = ArrowMerger(KEYLESS)
    parts = [table_of([(n, None)], merger.schema) for n in (2**63 - 1, 2**63 - 1, -(2**63), -7)]
    assert merger.merge(parts)["n"].to_pylist() == [2**63 - 9]


@pytest.mark.parametrize("type_name", ["decimal(38,0)", "decimal(38,10)", "decimal(4,2)"])
def test_a_sum_of_decimals_at_their_precision_is_exact_or_stays_apart(type_name: str) -> None:
    merger = ArrowMerger(Layout([], [Partial("d", type_name, "sum")]))
    digits = merger.schema.field("d").type
    largest = Decimal((0, (9,) * digits.precision, -digits.scale))
    up, down = (table_of([(value,)], merger.schema) for value in (largest, largest.copy_negate()))
    assert merger.merge([up, down, up])["d"].to_pylist() == [largest]
    assert merger.merge([up, up])["d"].to_pylist() == [largest, largest]


def test_rows_that_spark_marked_not_null_merge_with_rows_that_it_did_not() -> None:
    merger = ArrowMerger(KEYLESS)
    strict = pa.schema([pa.field("n", pa.int64(), nullable=False), ("m", pa.float32())])
    left = pa.table([pa.array([1]), pa.array([None], pa.float32())], schema=strict)
    right = table_of([(2, 0.5)], merger.schema)
    assert merger.merge([left, right]).to_pylist() == [{"n": 3, "m": 0.5}]


def test_no_parts_are_no_rows_and_one_part_is_itself() -> None:
    merger = ArrowMerger(KEYLESS)
    part = table_of([(2, 0.5)], merger.schema)
    assert merger.merge([]).num_rows == 0
    assert merger.merge([merger.none(), merger.none()]).schema == merger.schema
    assert merger.merge([merger.none(), part]) is part
    assert merger.size_bytes(part) >= 12 > merger.size_bytes(merger.none())


def test_keys_without_partials_are_each_kept_once() -> None:
    merger = ArrowMerger(Layout([Column("k", "string")], []))
    left, right = (table_of([(k,) for k in keys], merger.schema) for keys in (["a", "b"], ["b"]))
    assert bag(merger.merge([left, right])) == ["['a']", "['b']"]


def test_a_sum_over_a_type_that_can_t_be_summed_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="wanted bigint, double or decimal to sum, got string"):
        ArrowMerger(Layout([], [Partial("p", "string", "sum")]))


def test_a_rule_that_nobody_has_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"one rule merges \(sum of 1, .*got 'median'"):
        ArrowMerger(Layout([], [Partial("p", "string", "median")]))


def lower_pairs(grouped: Columns, types: Types) -> Columns:
    """Of each group the pair with the greatest first."""
    pairs = zip(*(column.to_pylist() for column in grouped), strict=True)
    best = [max(zip(*pair, strict=True)) for pair in pairs]
    columns = zip(*best, strict=True)
    return [pa.chunked_array([pa.array(c, t)]) for c, t in zip(columns, types, strict=True)]


LAST = MergeRule("last", "list", "", lambda types: None, lambda c: c, lower_pairs, width=2)


def test_columns_that_belong_together_are_merged_together() -> None:
    """Beside a column that is merged by itself, in whichever order the parts are."""
    partials = [Partial("n", "bigint", "sum")]
    partials += [Partial("at", "int", "last"), Partial("what", "string", "last")]
    rules = {**RULES, "last": LAST}
    merger = ArrowMerger(Layout([Column("k", "string")], partials), rules)
    early, late = (
        table_of([("a", 1, 5, "x"), ("b", 1, 6, "z")], merger.schema),
        table_of([("a", 2, 7, "w")], merger.schema),
    )
    for parts in ([early, late], [late, early]):
        assert bag(merger.merge(parts)) == ["['a', 3, 7, 'w']", "['b', 1, 6, 'z']"]
    with pytest.raises(ValueError, match="partial 'at': wanted columns side by side"):
        ArrowMerger(Layout([], [partials[1], partials[0], partials[2]]), rules)


def test_rows_of_another_query_are_refused_at_the_wire() -> None:
    rows = pa.table({"n": [1], "other": [2.0]})
    with pytest.raises(WireError, match=r"wanted columns \(n int64, m float\), got \(n int64, oth"):
        check_rows(rows, KEYLESS)
    with pytest.raises(ValueError, match="wanted columns"):
        in_schema(rows, ArrowMerger(KEYLESS).schema)


def test_rows_whose_buffers_lie_are_refused_at_the_wire() -> None:
    layout = Layout([Column("k", "string")], [])
    offsets = pa.array([0, 3, 1, 3], pa.int32()).buffers()[1]
    broken = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"abc")])
    with pytest.raises(WireError, match="not valid Arrow"):
        check_rows(pa.table([broken], schema=ArrowMerger(layout).schema), layout)


def test_good_rows_pass_the_wire_in_the_schema_of_the_summary() -> None:
    merger = ArrowMerger(KEYLESS)
    rows = table_of([(2, 0.5)], merger.schema).replace_schema_metadata({"x": "y"})
    assert check_rows(rows, KEYLESS).schema.equals(merger.schema, check_metadata=True)
