"""The laws, through which every aggregate of the registry goes, over every type that it takes.

Its states merge associatively and commutatively, and no rows are neutral: whatever the states are.
And the division does not show: records of two hundred groups are dealt to four sites, the site SQL
of each partial runs at each site, the rows are merged as relays merge them, the finish runs over
what comes of it, and that is what Spark's own function gives over the records themselves, in its
own type. All aggregates over all types are one query each way.

Growing states go through the same: their rows are merged by all keys, and folded by the user's.
"""

import itertools
import math
import random
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.algebra.aggregates import AGGREGATES, ALL, GROWING, RULES
from headwater.algebra.aggregates.aggregate import Aggregate, Split, UnfitArguments, spelled
from headwater.algebra.aggregates.merge_moments import COVARIANCE
from headwater.algebra.aggregates.sketches.hll_cells import Decoded, coupons_max, encoded
from headwater.algebra.aggregates.sketches.merge_theta import merged as merged_thetas
from headwater.algebra.aggregates.sketches.theta_cells import ALL as ALL_HASHES
from headwater.algebra.aggregates.sketches.theta_cells import Hashes
from headwater.algebra.aggregates.sketches.theta_cells import encoded as encoded_thetas
from headwater.algebra.rows.arrow_rows import ArrowMerger, in_schema
from headwater.algebra.rows.bounded import Bound
from headwater.algebra.rows.coarser_groups import set_number
from headwater.algebra.rows.columns import Column, Folded, Folding, Partial
from headwater.algebra.rows.fold_groups import GroupMaker
from headwater.algebra.rows.types import arrow_type, decimal_digits, summary_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GROUPS = 200
RECORDS = 3000
SITES = 4
DECIMALS = ("1,0", "5,5", "10,2", "18,6", "32,0", "28,14", "32,14")
COLUMNS = {
    **{f"d{index}": f"decimal({digits})" for index, digits in enumerate(DECIMALS)},
    "yes": "boolean",
    "tiny": "tinyint",
    "small": "smallint",
    "whole": "int",
    "big": "bigint",
    "single": "float",
    "twice": "double",
    "steady": "double",
    "word": "string",
    "raw": "binary",
    "day_": "date",
    "ts": "timestamp",
}
PAIRS = [
    ("tiny", "steady"),
    ("d0", "tiny"),
    ("ts", "word"),
    ("word", "yes"),
    ("single", "day_"),
    ("word", "twice"),
]
"""Of arguments for aggregates that take two."""
CALLS_AT_ONCE = 100
"""Of one query: Spark takes more than in proportion for more."""
GROWING_AT_ONCE = 8
"""Each is a grouping more at a site, with the columns of all."""
SEEDS = st.integers(0, 2**32)
KEYS = 32
"""Of the rows of an example: each is a case of its own, and a merge of many takes hardly longer
than one of few."""
KEYS_OF_SKETCHES = 6
EXAMPLES = settings(max_examples=20)
"""Of so many keys each. They are drawn from a number, since a draw that can be made smaller takes
longer than what it is drawn for."""
NEAR_AT_ONCE = 6
"""They are held against counts of DISTINCT values, for each of which Spark expands all records."""


def value(type_name: str, chance: random.Random) -> Any:
    """Often an extreme, often nothing."""
    if chance.random() < 0.2:
        return None
    digits = decimal_digits(type_name)
    if digits is not None:
        largest = 10 ** digits[0] - 1
        unscaled = chance.choice([0, 1, -1, largest, -largest, chance.randint(-largest, largest)])
        return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -digits[1]))
    # Spark averages bigints in doubles, which are exact only while the sum has 53 bits.
    bits = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 40}.get(type_name)
    if bits is not None:
        top = 2 ** (bits - 1)
        return chance.choice([0, top - 1, -top, chance.randrange(-top, top)])
    match type_name:
        case "boolean":
            return chance.random() < 0.5
        case "float" | "double":
            # Sums of these are exact in any order; for others the order of adding shows.
            return chance.choice([0.0, -0.0, 1.5, -2.25, 2.0**40, -(2.0**40), math.inf, 2.0**-9])
        case "string":
            return chance.choice(["", "a", "Z", "é", "\ud7ff", "\ue000", "𝄞", "aa"])
        case "binary":
            return chance.choice([b"", b"\x00", b"\xff", b"a"])
        case "date":
            return chance.choice([date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)])
    return datetime(1969, 12, 31, 23, 59, 59, chance.randrange(1_000_000), tzinfo=UTC)


@pytest.fixture
def dealt(spark: "SparkSession") -> Iterator["SparkSession"]:
    chance = random.Random(11)
    schema = pa.schema([(name, arrow_type(type_name)) for name, type_name in COLUMNS.items()])
    columns = [[value(type_name, chance) for _ in range(RECORDS)] for type_name in COLUMNS.values()]
    for column in ("single", "twice"):
        values = columns[schema.get_field_index(column)]
        values[::7] = [math.nan] * len(values[::7])
    columns[schema.get_field_index("steady")] = [1e3 + chance.random() for _ in range(RECORDS)]
    table = pa.table(columns, schema=schema)
    groups = [chance.randrange(GROUPS) for _ in range(RECORDS)]
    table = table.append_column("k", pa.array(groups))
    table = table.append_column("site", pa.array([chance.randrange(SITES) for _ in range(RECORDS)]))
    spark.createDataFrame(table).createOrReplaceTempView("dealt")
    yield spark
    spark.catalog.dropTempView("dealt")


class Layout:
    """Rows by one key."""

    def __init__(self, partials: list[Partial]) -> None:
        self.keys = (Column("k", "bigint"),)
        self.partials = tuple(partials)


LITERALS = {
    "percentile_approx": [
        ("0.5",),
        ("ARRAY(0.0, 0.3, 1.0)", "0.25"),
        ("ARRAY(0.0, 0.3, 1.0)", "50"),
    ],
    "listagg": [("','",)],
    "approx_top_k": [(), ("2",)],
    "approx_histogram": [(), ("0.2",)],
    "theta_sketch_agg": [("4",)],
    "max_by": [(), ("4",)],
    "min_by": [(), ("4",)],
}
"""What some aggregates want beside a column."""


ARGUMENTS = r", (?![^(]*\))"
"""What stands between two of them."""


def splits(aggregate: Aggregate) -> Iterator[tuple[str, Split]]:
    """With the columns that are its arguments, one or two; a star where it takes one."""
    if aggregate.takes_star:
        yield "*", aggregate.split(())
    literals = LITERALS.get(aggregate.name, [()])
    columns = [*((name,) for name in COLUMNS), *PAIRS]
    for one, further in itertools.product(columns, literals):
        if further and len(one) != aggregate.literals_from:
            continue
        arguments = (*one, *further)
        try:
            found = aggregate.split(tuple(COLUMNS.get(name, name) for name in arguments))
        except UnfitArguments:
            continue
        yield ", ".join(arguments), found


def states(aggregate: Aggregate) -> list[Partial]:
    """The columns of its states, of all arguments side by side."""
    found = [
        (one.type, split.merge or aggregate.merge)
        for _, split in splits(aggregate)
        for one in split.partials
        if not split.hidden
    ]
    return [Partial(f"p{n}", name, rule.name) for n, (name, rule) in enumerate(found)]


BY = [AGGREGATES["max_by"], AGGREGATES["min_by"]]
"""Of one value their states are fixed, of several they are rows."""
GROW = [*GROWING, *BY, AGGREGATES["percentile_approx"], AGGREGATES["approx_histogram"]]
"""Those whose states are rows. Percentiles of times are not, and are drawn."""
FIXED = [one for one in ALL if one in BY or (one not in GROW and not one.merge.is_drawn)]


@pytest.mark.parametrize("aggregate", FIXED, ids=lambda one: one.name)
def test_states_merge_associatively_and_commutatively_and_no_rows_are_neutral(
    aggregate: Aggregate,
) -> None:
    layout = Layout(states(aggregate))
    merger = ArrowMerger(layout)
    assert len(merger.schema) > 1
    is_sketch = any(RULES[one.merge].take is not None for one in layout.partials)
    key_count = KEYS_OF_SKETCHES if is_sketch else KEYS

    def rows(chance: random.Random) -> pa.Table:
        keys = chance.sample(range(key_count), k=chance.choice([0, 1, key_count // 2, key_count]))
        width = aggregate.merge.width
        made = [
            [
                cell
                for at in range(0, len(layout.partials), width)
                for cell in cells(aggregate, layout.partials[at : at + width], chance)
            ]
            if width > 1
            else [state(p, chance) for p in layout.partials]
            for _ in keys
        ]
        columns = zip(*made, strict=True) if made else [[] for _ in layout.partials]
        return pa.table([keys, *map(list, columns)], schema=merger.schema)

    @EXAMPLES
    @given(SEEDS)
    def check(seed: int) -> None:
        chance = random.Random(seed)
        a, b, c = rows(chance), rows(chance), rows(chance)
        left = outcome(merger, merger.merge([merger.merge([a, b]), c]))
        right = merger.merge([a, merger.merge([b, c])])
        assert are_alike(left, outcome(merger, right))
        assert are_alike(left, outcome(merger, merger.merge([c, a, b])))
        assert are_alike(outcome(merger, merger.merge([a, merger.none()])), outcome(merger, a))

    check()


TAKEN_BACK = {"count", "count_if", "sum", "avg"}
"""Aggregates that have states of which windows are built by removal."""


@pytest.mark.parametrize("aggregate", ALL, ids=lambda one: one.name)
def test_taking_back_undoes_a_merge_to_the_bit(aggregate: Aggregate) -> None:
    """Of states that are there: how often a group was merged is counted by whoever takes back."""
    partials = [one for one in states(aggregate) if can_take_back(aggregate, one)]
    assert partials or aggregate.is_distinct or aggregate.name not in TAKEN_BACK
    merger = ArrowMerger(Layout(partials))

    def rows(chance: random.Random) -> pa.Table:
        keys = chance.sample(range(KEYS), k=chance.choice([1, KEYS // 2, KEYS]))
        columns = [[small_state(one.type, chance) for _ in keys] for one in partials]
        return pa.table([keys, *columns], schema=merger.schema)

    @EXAMPLES
    @given(SEEDS)
    def check(seed: int) -> None:
        chance = random.Random(seed)
        a, b = rows(chance), rows(chance)
        found = bag(merger.merge([merger.merge([a, b]), merger.taken_back(b)]))
        left = {row[0]: row for row in found}
        assert all(left[row[0]] == row for row in bag(a))
        nothing = [row[1:] for key, row in left.items() if key not in a["k"].to_pylist()]
        assert all(not any(row) for row in nothing)

    if partials:
        check()


def can_take_back(aggregate: Aggregate, partial: Partial) -> bool:
    """A column alone; no state of several columns can."""
    return aggregate.merge.width == 1 and ArrowMerger(Layout([partial])).can_take_back


def small_state(type_name: str, chance: random.Random) -> Any:
    """So small that no two of them leave its type."""
    digits = decimal_digits(type_name)
    if digits is not None:
        return Decimal(chance.randint(-4, 4)).scaleb(-digits[1])
    return chance.randint(-(2**40), 2**40)


def cells(aggregate: Aggregate, partials: tuple[Partial, ...], chance: random.Random) -> list[Any]:
    """A state of several columns, as records make one: a count, means, and centred moments; or
    what orders a value, and the value."""
    if aggregate.settled:
        by, kept = (value(one.type, chance) for one in partials)
        return [by, None if by is None else kept]
    count = chance.choice([0, 0, 1, 2, 1_000])
    if count == 0:
        return [0, *[None] * (aggregate.merge.width - 1)]
    if aggregate.merge is COVARIANCE:
        x, y = chance.randrange(-9, 9), chance.randrange(-9, 9)
        spread = chance.choice([0.0, 4.0])
        return [count, x, y, spread, spread, spread * chance.choice([-1, 0.5, 0])]
    variance = 0.0 if count == 1 else chance.choice([0.0, 0.25, 16.0])
    shape = (
        [chance.choice([-1.0, 0.0, 0.5]), chance.choice([0.0, 3.0])] if variance else [None, None]
    )
    return [count, chance.randrange(-9, 9), variance, *shape][: aggregate.merge.width]


Outcome = tuple[list[list[Any]], list[list[Any]]]


def are_alike(one: Outcome, other: Outcome) -> bool:
    """But for rounding."""
    rows = list(zip([*one[0], *one[1]], [*other[0], *other[1]], strict=True))
    return all(
        equal(left, right) or (isinstance(left, float) and abs(left - right) < 1e-6)
        for mine, theirs in rows
        for left, right in zip(mine, theirs, strict=True)
    )


def state(partial: Partial, chance: random.Random) -> Any:
    """Seldom one that leaves its type as soon as another is added."""
    if RULES[partial.merge].take is not None:
        family, _, lg_k = partial.merge.rpartition("_")
        return (theta if family == "theta" else sketch)(int(lg_k), chance)
    found = value(partial.type, chance)
    if isinstance(found, Decimal) and chance.random() < 0.95:
        return Decimal(int(found.scaleb(-9))).scaleb(0)
    return found


def sketch(lg_k: int, chance: random.Random) -> bytes | None:
    """Of so many values that two may be too many for coupons."""
    count = chance.choice([0, 1, 8, 9, coupons_max(lg_k) - 1, coupons_max(lg_k) + 1])
    drawn = [chance.randrange(1, 40) << 26 | chance.randrange(1 << 26) for _ in range(count)]
    coupons = np.unique(np.array(drawn, np.uint32))
    few = Decoded(np.zeros(0, int), np.zeros((0, 1 << lg_k), np.uint8), 0 * coupons, coupons)
    found: bytes = encoded(1, few._replace(owners=np.zeros(len(coupons), int)), lg_k)[0].as_py()
    return chance.choice([found, found, None])


def theta(lg_k: int, chance: random.Random) -> bytes | None:
    """Of so many values that two may be too many for exact ones."""
    count = chance.choice([0, 1, 2, (1 << lg_k) - 1, (1 << lg_k) + 1])
    drawn = np.random.default_rng(chance.randrange(1 << 32)).integers(1, ALL_HASHES, count)
    hashes = np.unique(drawn)
    owners = np.zeros(len(hashes), int)
    of_all = Hashes(np.array([ALL_HASHES]), owners, hashes)
    found: bytes = encoded_thetas(merged_thetas(of_all, np.array([0]), 1, lg_k))[0].as_py()
    return chance.choice([found, found, None])


def outcome(merger: ArrowMerger, rows: pa.Table) -> Outcome:
    """The groups, and the keys of those that overflow, which stay apart in as many rows as came."""
    found = merger.groups([rows])
    return bag(found.merged), bag(found.overflowing)


def bag(table: pa.Table) -> list[list[Any]]:
    """By key, which comes first."""
    return sorted((list(row.values()) for row in table.to_pylist()), key=lambda row: row[0])


def calls() -> Iterator[tuple[Aggregate, str, str, Split]]:
    """Every aggregate over every type that it takes, plain and filtered; by a synonym over one."""
    for name, aggregate in AGGREGATES.items():
        if aggregate in GROWING:
            continue
        for column, split in splits(aggregate):
            if split.hidden or (name != aggregate.name and column not in ("whole", "yes")):
                continue
            yield aggregate, f"{name}({column})", "", split
            if column in ("d2", "whole", "yes", "word", "d0, tiny"):
                yield aggregate, f"{name}({column})", " FILTER(WHERE small > 0)", split


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_finishing_merged_partials_is_what_spark_gives(dealt: "SparkSession") -> None:
    asked = list(calls())
    assert len(asked) > 100
    near = [one for one in asked if one[3].bound is not None]
    exact = [one for one in asked if one[3].bound is None]
    for some, at_once in ((exact, CALLS_AT_ONCE), (near, NEAR_AT_ONCE)):
        for first in range(0, len(some), at_once):
            assert _differences(dealt, some[first : first + at_once]) == []


def _differences(
    dealt: "SparkSession", asked: list[tuple[Aggregate, str, str, Split]]
) -> list[tuple[Any, ...]]:
    wanted_sql, site_sql, found_sql = [], [], []
    partials: list[Partial] = []
    for number, (aggregate, call, condition, split) in enumerate(asked):
        arguments = re.split(ARGUMENTS, call.partition("(")[2].removesuffix(")"))
        wanted = f"{call}{condition}"
        if split.bound is not None or aggregate.settled:  # held against the truth
            wanted = spelled(split.central or split.partials[0].site, arguments, condition)
        wanted_sql.append(f"{wanted} AS c{number}")
        merged = []
        for partial in split.partials:
            rule = split.merge or aggregate.merge
            partials.append(Partial(f"p{len(partials)}", partial.type, rule.name))
            text = spelled(partial.site, arguments, condition)
            site_sql.append(f"{text} AS {partials[-1].name}")
            merged.append(partials[-1].name)
        found_sql.append(f"{split.finish.format(*merged)} AS c{number}")
    wanted = dealt.sql(f"SELECT k, {', '.join(wanted_sql)} FROM dealt GROUP BY k ORDER BY k")
    merger = ArrowMerger(Layout(partials))
    sites = [
        dealt.sql(f"SELECT k, {', '.join(site_sql)} FROM dealt WHERE site = {site} GROUP BY k")
        for site in range(SITES)
    ]
    merged_rows = merger.merge([in_schema(rows.toArrow(), merger.schema) for rows in sites])
    assert merged_rows.num_rows == GROUPS
    dealt.createDataFrame(merged_rows).createOrReplaceTempView("merged")
    found = dealt.sql(f"SELECT k, {', '.join(found_sql)} FROM merged ORDER BY k")
    types = [field.dataType.simpleString() for field in wanted.schema.fields]
    assert types == ["bigint", *(split.type for *_, split in asked)]
    assert types == [field.dataType.simpleString() for field in found.schema.fields]
    bounds = [split.bound for *_, split in asked]
    differences = compared(found.toArrow(), wanted.toArrow(), bounds)
    dealt.catalog.dropTempView("merged")
    return [(asked[number][1:3], *rest) for number, *rest in differences]


def compared(
    found: pa.Table, wanted: pa.Table, bounds: list[Bound | None]
) -> list[tuple[Any, ...]]:
    assert found["k"].to_pylist() == wanted["k"].to_pylist()
    assert wanted.num_rows == GROUPS
    return [
        (index - 1, left, right)
        for index in range(1, found.num_columns)
        for left, right in zip(
            found.column(index).to_pylist(), wanted.column(index).to_pylist(), strict=True
        )
        if not is_so(bounds[index - 1], left, right)
    ][:5]


def is_so(bound: Bound | None, left: Any, right: Any) -> bool:
    """Certain bounds hold of every value, up to its rounding."""
    if bound is None:
        return equal(left, right)
    if isinstance(left, dict) and isinstance(right, dict):
        return all(is_so(bound, left[name], right[name]) for name in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(
            is_so(bound, *one) for one in zip(left, right, strict=True)
        )
    if bound.confidence < 1 or left is None or right is None:
        return is_near(left, right)
    if isinstance(right, float) and not math.isfinite(right):
        return equal(left, right)
    last = {int: 1, Decimal: 10.0 ** -decimal_places(left)}.get(type(left), 0)
    off = abs(float(left) - float(right))
    return type(left) is type(right) and off <= bound.size * abs(float(right)) + last / 2


def decimal_places(value: Any) -> int:
    return -value.as_tuple().exponent if isinstance(value, Decimal) else 0


def is_near(left: Any, right: Any) -> bool:
    """Of few values a sketch has all; how far it is off with many, ``test_hll`` looks at."""
    return (isinstance(left, bytes) and isinstance(right, bytes)) or equal(left, right)


def equal(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        both_nan = math.isnan(left) and math.isnan(right)
        return both_nan or left == right or math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)
    return type(left) is type(right) and left == right


# Growing states: the same laws, of rows with hidden keys.


FEW = {"d2", "tiny", "steady", "twice", "word", "ts"}
"""Arguments of growing states: Spark takes long for the distinct values of many columns."""


class GrowingCall(msgspec.Struct, frozen=True):
    aggregate: Aggregate
    arguments: tuple[str, ...]
    condition: str
    split: Split

    @property
    def text(self) -> str:
        distinct = "DISTINCT " if self.aggregate.is_distinct else ""
        own = f"{self.aggregate.name}({distinct}{{x}}){{filter}}"
        kept = f" FILTER(WHERE {self.condition})" if self.condition else ""
        return spelled(self.split.central or own, self.arguments, kept)

    @property
    def hidden(self) -> tuple[str, ...]:
        texts = [spelled(one.site, self.arguments) for one in self.split.hidden]
        if self.condition:
            texts = [f"CASE WHEN {self.condition} THEN {text} END" for text in texts]
        return tuple(texts)


def growing_calls() -> list[GrowingCall]:
    found = []
    for aggregate in GROW:
        for column, split in splits(aggregate):
            arguments = tuple(re.split(ARGUMENTS, column))
            if not split.hidden or not FEW.issuperset(arguments[:1]):
                continue
            found.append(GrowingCall(aggregate, arguments, "", split))
            if column == "word":
                found.append(GrowingCall(aggregate, arguments, "small > 0", split))
    return found


class GrowingLayout:
    """Rows of all growing states, each with its own grouping number."""

    def __init__(self, asked: list[GrowingCall]) -> None:
        self.states = list(dict.fromkeys(one.hidden for one in asked))
        texts = {
            text: p for one in asked for text, p in zip(one.hidden, one.split.hidden, strict=True)
        }
        self.hidden = list(texts)
        hidden = [Column(f"h{at}", one.type) for at, one in enumerate(texts.values())]
        self.keys = (Column("k", "bigint"), *hidden, Column("number", "bigint"))
        partials: list[Partial] = []
        self.partial_sql: list[str] = []
        folds: list[Folded] = []
        self.finishes: list[str] = []
        for call in asked:
            number = self.number(call.hidden)
            over = [f"h{self.hidden.index(text)}" for text in call.hidden]
            for partial in call.split.partials:
                rule = call.split.merge or call.aggregate.merge
                partials.append(Partial(f"p{len(partials)}", partial.type, rule.name))
                kept = f" FILTER(WHERE {call.condition})" if call.condition else ""
                self.partial_sql.append(spelled(partial.site, call.arguments, kept))
                over.append(partials[-1].name)
            names = [f"f{len(folds) + at}" for at in range(len(call.split.folds))]
            self.finishes.append(call.split.finish.format(*names))
            folds += [
                Folded(name, one.type, one.fold, tuple(over), number, one.values)
                for name, one in zip(names, call.split.folds, strict=True)
            ]
        self.partials = tuple(partials)
        self.folding = Folding(len(self.hidden) + 1, tuple(folds), is_numbered=True)

    def places(self, state: tuple[str, ...]) -> list[int]:
        return [self.hidden.index(text) for text in state]

    def number(self, state: tuple[str, ...]) -> int:
        return set_number(self.places(state), len(self.hidden))

    def site_sql(self, site: int) -> str:
        return " UNION ALL ".join(self._state_sql(state, site) for state in self.states)

    def _state_sql(self, state: tuple[str, ...], site: int) -> str:
        hidden = [
            text if text in state else f"CAST(NULL AS {column.type})"
            for text, column in zip(self.hidden, self.keys[1:], strict=False)
        ]
        columns = ["k", *hidden, f"{self.number(state)}L", *self.partial_sql]
        by = ", ".join(dict.fromkeys(["k", *state]))
        return f"SELECT {', '.join(columns)} FROM dealt WHERE site = {site} GROUP BY {by}"


@pytest.mark.spark
def test_folding_merged_rows_is_what_spark_gives(dealt: "SparkSession") -> None:
    asked = growing_calls()
    assert len(asked) > GROWING_AT_ONCE
    for first in range(0, len(asked), GROWING_AT_ONCE):
        assert _unlike_folds(dealt, asked[first : first + GROWING_AT_ONCE]) == []


def _unlike_folds(dealt: "SparkSession", asked: list[GrowingCall]) -> list[tuple[Any, ...]]:
    layout = GrowingLayout(asked)
    schema = summary_schema(layout)
    sites = [dealt.sql(layout.site_sql(site)).toArrow() for site in range(SITES)]
    sites = [rows.rename_columns(schema.names).cast(schema) for rows in sites]
    maker = GroupMaker(layout)
    groups = maker.groups([maker.merger.merge(sites[:2]), *sites[2:]])
    assert groups.overflowing_count == 0
    dealt.createDataFrame(groups.merged).createOrReplaceTempView("merged")
    finishes = [f"{text} AS c{at}" for at, text in enumerate(layout.finishes)]
    found = dealt.sql(f"SELECT k, {', '.join(finishes)} FROM merged ORDER BY k")
    own = [f"{call.text} AS c{at}" for at, call in enumerate(asked)]
    types = [field.dataType.simpleString() for field in found.schema.fields]
    assert types == ["bigint", *(call.split.type for call in asked)]
    wanted = dealt.sql(f"SELECT k, {', '.join(own)} FROM dealt GROUP BY k ORDER BY k")
    bounds = [call.split.bound for call in asked]
    unlike = compared(found.toArrow(), wanted.toArrow(), bounds)
    dealt.catalog.dropTempView("merged")
    return [(asked[number].text, *rest) for number, *rest in unlike]


OVER_VALUES = [one for one in GROW if one.name != "listagg"]
"""That one has the states of a list."""


@pytest.mark.parametrize("aggregate", OVER_VALUES, ids=lambda one: f"{one.name} {one.is_distinct}")
def test_rows_of_growing_states_fold_to_the_same_however_they_were_merged(
    aggregate: Aggregate,
) -> None:
    layout = GrowingLayout([one for one in growing_calls() if one.aggregate is aggregate])
    schema, maker = summary_schema(layout), GroupMaker(layout)

    def rows(chance: random.Random) -> pa.Table:
        made = []
        for state in chance.choices(layout.states, k=chance.randrange(6)):
            cells = [
                value(column.type, chance) if at in layout.places(state) else None
                for at, column in enumerate(layout.keys[1:-1])
            ]
            counts = [chance.randrange(1, 4) for _ in layout.partials]
            made.append([chance.randrange(2), *cells, layout.number(state), *counts])
        columns = [list(one) for one in zip(*made, strict=True)] or [[] for _ in schema]
        return maker.merger.merge([pa.table(columns, schema=schema).slice(n, 1) for n in range(6)])

    @settings(max_examples=30)
    @given(st.randoms(use_true_random=False))
    def check(chance: random.Random) -> None:
        a, b, c = rows(chance), rows(chance), rows(chance)
        merge = maker.merger.merge
        left = maker.groups([merge([merge([a, b]), c])])
        right = maker.groups([merge([c, merge([a, maker.merger.none()])]), b])
        assert are_alike((bag(left.merged), []), (bag(right.merged), []))
        assert bag(left.overflowing) == bag(right.overflowing)

    check()
