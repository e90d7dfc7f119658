"""The answer is never off by more than it states: every kind of bound, by rows as cubes have them.

Random sites and panes, some groups sent before the close, late records that follow whole, relays
that merge what they carry, sites that send their rest. The root merges rows and remainders; the
truth is all records, looked at one by one.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import chain
from random import Random
from typing import NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.algebra.remainders.early_rows import Taken, left_of
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.meaning import Meaning
from headwater.algebra.remainders.remainder import Remainder, Remainders, merge_remainders
from headwater.algebra.remainders.tolerance import Finally, Tolerance, ToleratedColumn
from headwater.algebra.remainders.withhold import Allowance, withhold
from headwater.root.said.withheld import StatedErrors, stated_errors

Row = tuple[str, int, int]
"""A group, a value among few, and a size."""
GROUPS = "abcdef"


def column(
    name: str,
    form: ErrorForm,
    size: float,
    *,
    is_largest: bool = False,
    meaning: Meaning = Meaning.ADDED,
    partial: str | None = None,
    among: str = "",
) -> ToleratedColumn:
    partial = name if partial is None else partial
    return ToleratedColumn(name, partial, form, size, is_largest, meaning, among)


HITS = column("n", ErrorForm.TOTAL, 0.2)
FIXED = {
    "a count of its total": (HITS,),
    "a sum by a number": (column("b", ErrorForm.ABSOLUTE, 60.0),),
    "a sum of each value": (column("b", ErrorForm.VALUE, 0.4),),
    "a maximum": (column("top", ErrorForm.ABSOLUTE, 12.0, is_largest=True),),
    "an average": (column("m", ErrorForm.VALUE, 0.3, meaning=Meaning.RECORDS, partial="n"),),
    "an average of those that are in": (
        HITS,
        column("m", ErrorForm.VALUE, 1.0, meaning=Meaning.RECORDS, partial="n"),
    ),
    "a sketch of different values": (
        column("users", ErrorForm.ABSOLUTE, 12.0, meaning=Meaning.MEMBERS, partial="n"),
    ),
    "all at once": (
        HITS,
        column("b", ErrorForm.TOTAL, 0.3),
        column("top", ErrorForm.ABSOLUTE, 12.0, is_largest=True),
    ),
}
GROWING = {
    "a distinct count": (
        column("users", ErrorForm.ABSOLUTE, 24.0, meaning=Meaning.MEMBERS, partial="", among="v"),
    ),
    "a percentile by slots": (
        column("p", ErrorForm.VALUE, 0.3, meaning=Meaning.RECORDS, partial="n", among="v"),
    ),
    "counts that ride on it": (
        HITS,
        column("b", ErrorForm.ABSOLUTE, 200.0),
        column("top", ErrorForm.ABSOLUTE, 15.0, is_largest=True),
        column("users", ErrorForm.ABSOLUTE, 40.0, meaning=Meaning.MEMBERS, partial="", among="v"),
    ),
}


class Kind(NamedTuple):
    columns: tuple[ToleratedColumn, ...]
    keys: tuple[str, ...]
    """Of rows; the first is the group."""


KINDS = {name: Kind(columns, ("k",)) for name, columns in FIXED.items()}
KINDS |= {name: Kind(columns, ("k", "v")) for name, columns in GROWING.items()}


def rows_of(records: Iterable[Row], kind: Kind) -> pa.Table:
    """What a site part makes of records. A value of 0 is NULL."""
    made: dict[tuple[object, ...], list[int]] = {}
    for group, value, size in records:
        key = (group, value or None)[: len(kind.keys)]
        row = made.setdefault(key, [0, 0, 0])
        row[:] = [row[0] + 1, row[1] + size, max(row[2], size)]
    columns = {name: [key[n] for key in made] for n, name in enumerate(kind.keys)}
    columns |= {name: [row[n] for row in made.values()] for n, name in enumerate(("n", "b", "top"))}
    types = {"k": pa.string(), "v": pa.int64(), "n": pa.int64(), "b": pa.int64(), "top": pa.int64()}
    fields = [(name, types[name]) for name in columns]
    return pa.table([pa.array(columns[name], type_) for name, type_ in fields], names=list(columns))


def records_in(rows: pa.Table, records: Iterable[Row], kind: Kind) -> list[Row]:
    """Those of records that these rows were made of."""
    names = set(zip(*(rows.column(key).to_pylist() for key in kind.keys), strict=True))
    return [one for one in records if (one[0], one[1] or None)[: len(kind.keys)] in names]


class SitePane(NamedTuple):
    sent: list[Row]
    late: list[Row]
    rest: list[Row]
    told: Remainders


def site_pane(kind: Kind, allowance: Allowance, random: Random) -> SitePane:
    """Batches come, of some groups what is there leaves early, and the pane is closed."""
    batches = [draw(random, random.randint(0, 14)) for _ in range(random.randint(1, 3))]
    sent: list[Row] = []
    taken: list[Taken] = []
    for batch in range(len(batches) - 1 if len(kind.keys) == 1 else 0):
        chosen = {group for group in GROUPS if random.random() < 0.5}
        left = [
            one
            for n, records in enumerate(batches[: batch + 1])
            for one in left_records(records, kind, taken, batch=n)
        ]
        leaving = [one for one in left if one[0] in chosen]
        taken.append(Taken(batch, rows_of(leaving, kind)))
        sent += leaving
    left = [
        one
        for n, records in enumerate(batches)
        for one in left_records(records, kind, taken, batch=n)
    ]
    early = [one.rows for one in taken if one.rows is not None and one.rows.num_rows]
    found = withhold(rows_of(left, kind), allowance, early=early)
    late = draw(random, random.choice((0, 0, 3)))
    if found is None:
        return SitePane(sent + left, late, [], ())
    closing, rest = (records_in(one, left, kind) for one in (found.sent, found.rest))
    assert Counter(closing + rest) == Counter(left)
    return SitePane(sent + closing, late, rest, found.remainders)


def left_records(records: list[Row], kind: Kind, taken: list[Taken], *, batch: int) -> list[Row]:
    return records_in(left_of(rows_of(records, kind), kind.keys, taken, batch=batch), records, kind)


def draw(random: Random, count: int) -> list[Row]:
    """Few groups have most of the records."""
    return [
        (GROUPS[min(5, int(random.expovariate(0.9)))], random.randint(0, 9), random.randint(0, 20))
        for _ in range(count)
    ]


def values(one: ToleratedColumn, records: Iterable[Row]) -> dict[str, list[float]]:
    """What the truth is computed of, by group."""
    found: dict[str, list[float]] = defaultdict(list)
    for group, value, size in records:
        if not one.among or value:
            found[group].append(value if one.among or one.column == "users" else size)
    return found


def off_by(one: ToleratedColumn, truth: list[float], seen: list[float]) -> float:
    """In the column's unit, or in records."""
    if one.partial == "n" and one.meaning is not Meaning.MEMBERS:
        return len(truth) - len(seen)
    if one.meaning is Meaning.MEMBERS:
        return len(set(truth)) - len(set(seen))
    if one.is_largest:
        return max(truth, default=0) - max(seen, default=0)
    return sum(truth) - sum(seen)


def size_of(one: ToleratedColumn, truth: list[float]) -> float:
    """What a share is one of."""
    return len(truth) if one.partial == "n" else sum(truth)


def check(one: ToleratedColumn, truth: list[Row], seen: list[Row], said: StatedErrors) -> None:
    stated = next((each for each in said.columns if each.column == one.column), None)
    largest = 0.0 if stated is None else stated.largest
    share = 0.0 if stated is None or stated.share is None else stated.share
    all_values, seen_values = values(one, truth), values(one, seen)
    total = sum(size_of(one, each) for each in all_values.values())
    for group, each in all_values.items():
        off = off_by(one, each, seen_values.get(group, []))
        assert 0 <= off <= largest, (group, off, stated)
        if one.form is ErrorForm.VALUE and off:
            assert off <= share * size_of(one, each) * (1 + 1e-9)
        if one.meaning is Meaning.RECORDS and seen_values.get(group):
            check_computed(each, seen_values[group], share)
    if stated is None:
        return
    assert stated.is_kept, stated
    if one.form is ErrorForm.TOTAL:
        assert largest <= one.size * total * (1 + 1e-9)
    else:
        reached = share if one.form is ErrorForm.VALUE else largest
        assert reached <= one.size * (1 + 1e-9)


def check_computed(truth: list[float], seen: list[float], share: float) -> None:
    """An average and a median of what is in, by the share of records that may be missing."""
    mean_off = abs(sum(truth) / len(truth) - sum(seen) / len(seen))
    assert mean_off <= share * (max(truth) - min(truth)) + 1e-9
    median = sorted(seen)[(len(seen) - 1) // 2]
    low = sum(one < median for one in truth) / len(truth)
    high = sum(one <= median for one in truth) / len(truth)
    near = share + 1 / len(seen)
    assert low <= 0.5 + near
    assert high >= 0.5 - near


def merged(told: Iterable[Remainders]) -> Remainders:
    nothing: Remainders = ()
    return reduce(merge_remainders, told, nothing)


def owed(pieces: list[list[tuple[int, Remainders]]], sent_rest: set[int]) -> Iterator[Remainders]:
    """As relays have merged them, and as the root gives them back: whole."""
    for piece in pieces:
        sites = {site for site, _ in piece}
        for told in [merged(one for _, one in piece)]:
            if told and not sites <= sent_rest:
                yield told


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), sites=st.integers(1, 4), panes=st.integers(1, 3))
def test_no_column_is_off_by_more_than_is_stated_nor_than_was_asked(
    name: str, seed: int, sites: int, panes: int
) -> None:
    kind, random = KINDS[name], Random(seed)
    tolerance = Tolerance(kind.columns, Finally.EXACT, sites)
    allowance = Allowance(tolerance, panes, keys=kind.keys[:1], is_growing=len(kind.keys) > 1)
    sent_rest = {site for site in range(sites) if random.random() < 0.3}
    truth: list[Row] = []
    seen: list[Row] = []
    pieces: list[list[tuple[int, Remainders]]] = []
    for _ in range(panes):
        groups: dict[int, list[tuple[int, Remainders]]] = defaultdict(list)
        for site in range(sites):
            made = site_pane(kind, allowance, random)
            truth += [*made.sent, *made.late, *made.rest]
            seen += [*made.sent, *made.late, *(made.rest if site in sent_rest else ())]
            groups[random.randint(0, 1)].append((site, made.told))
            assert not made.told or tolerance.is_stated_by(made.told)
            assert all(one.checked() for one in made.told)
        pieces += groups.values()
    told = merged(owed(pieces, sent_rest))
    said = stated_errors([tolerance], told)
    for one in kind.columns:
        check(one, truth, seen, said)
    if not sent_rest and told and not kind.columns[0].among:
        first = kind.columns[0]
        lacks = off_by(first, *(list(chain(*values(first, one).values())) for one in (truth, seen)))
        assert not first.has_total or told[0].total == lacks


def test_each_kind_is_seen_to_keep_something_back() -> None:
    """Otherwise nothing is tested above."""
    for name, kind in KINDS.items():
        allowance = Allowance(
            Tolerance(kind.columns, Finally.EXACT, 2),
            1,
            keys=kind.keys[:1],
            is_growing=len(kind.keys) > 1,
        )
        random = Random(7)
        kept = sum(bool(site_pane(kind, allowance, random).rest) for _ in range(200))
        assert kept > 20, name


def test_shares_of_several_sites_are_the_worst_and_sizes_add_up() -> None:
    one, other = Remainder(largest=3.0, keys=1, share=0.2), Remainder(2.0, keys=1, share=0.3)
    found = one.merged(other)
    assert (found.largest, found.share) == (5.0, 0.3)
    assert math.isclose(other.merged(one).share, 0.3)
