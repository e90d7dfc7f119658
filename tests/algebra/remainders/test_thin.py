"""Sites keep back by their part of a bound, relays drop by theirs: no answer is off by more.

Random sites, panes and ways in which relays merge; pieces that are thinned and such that are not.
The truth is all records.
"""

from __future__ import annotations

from collections import Counter
from functools import reduce
from random import Random

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.meaning import Meaning
from headwater.algebra.remainders.remainder import Remainder, Remainders, merge_remainders
from headwater.algebra.remainders.thin import joined, thinned, thinned_table
from headwater.algebra.remainders.tolerance import (
    Finally,
    Largest,
    Threshold,
    Tolerance,
    ToleratedColumn,
    may_thin,
)
from headwater.algebra.remainders.withhold import Allowance, withhold
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Column, Partial
from headwater.root.said.withheld import stated_errors

HITS = ToleratedColumn("n", "n", ErrorForm.TOTAL, 0.3)
MOST = ToleratedColumn("m", "m", ErrorForm.ABSOLUTE, 12.0, is_largest=True)
KEYS = "abcdefghij"


class Layout(msgspec.Struct, frozen=True):
    keys: tuple[Column, ...] = (Column("k", "string"),)
    partials: tuple[Partial, ...] = (Partial("n", "bigint", "sum"), Partial("m", "bigint", "max"))


MERGER = ArrowMerger(Layout())


def made(random: Random) -> pa.Table:
    keys = sorted(random.sample(KEYS, random.randint(1, len(KEYS))))
    sizes = [random.choice((1, 2, 3, 20)) for _ in keys]
    rows = {"k": keys, "n": sizes, "m": [random.randint(0, 30) for _ in keys]}
    return pa.table(rows, schema=MERGER.schema)


def sums(tables: list[pa.Table]) -> Counter[str]:
    found: Counter[str] = Counter()
    for table in tables:
        found.update(dict(zip(table["k"].to_pylist(), table["n"].to_pylist(), strict=True)))
    return found


def most(tables: list[pa.Table]) -> dict[str, int]:
    found: dict[str, int] = {}
    for table in tables:
        for key, value in zip(table["k"].to_pylist(), table["m"].to_pylist(), strict=True):
            found[key] = max(found.get(key, 0), value)
    return found


def in_all(told: list[Remainders]) -> Remainders:
    return reduce(merge_remainders, told, ())


@pytest.mark.parametrize("columns", [(HITS,), (HITS, MOST)])
@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    sites=st.integers(2, 6),
    panes=st.integers(1, 3),
    relays=st.sampled_from((0.1, 0.5, 0.9)),
)
def test_no_column_is_off_by_more_than_is_stated_nor_than_was_asked(
    columns: tuple[ToleratedColumn, ...], seed: int, sites: int, panes: int, relays: float
) -> None:
    random = Random(seed)
    asked = Tolerance(columns, Finally.EXACT, sites, relays=relays)
    by_relay = asked.at_relays()
    assert by_relay is not None
    truth: list[pa.Table] = []
    seen: list[pa.Table] = []
    told: list[Remainders] = []
    for _ in range(panes):
        pieces: dict[int, list[pa.Table]] = {}
        kept: list[Remainders] = []
        dropped: list[Remainders] = []
        for _ in range(sites):
            rows = made(random)
            truth.append(rows)
            found = withhold(rows, Allowance(asked.at_sites(), panes, keys=("k",)))
            kept += [] if found is None else [found.remainders]
            rest = rows if found is None else found.sent
            pieces.setdefault(random.randint(0, 1), []).append(rest)
        for parts in pieces.values():
            piece = MERGER.merge(parts)
            found_in = thinned_table(piece, by_relay, ("k",)) if random.random() < 0.8 else None
            if found_in is not None:
                piece, remainders = found_in
                assert asked.is_thinned_by(remainders)
                assert all(one.checked() for one in remainders)
                dropped.append(remainders)
            seen.append(piece)
        told.append(joined(in_all(kept), dropped))
    said = stated_errors([asked], in_all(told))
    whole, there = sums(truth), sums(seen)
    off = max(whole[key] - there[key] for key in whole)
    hits = said.columns[0]
    assert off <= hits.largest * (1 + 1e-6)
    assert hits.share is not None
    assert off / whole.total() <= hits.share * (1 + 1e-6)
    assert hits.is_kept
    assert whole.total() == pytest.approx(there.total() + hits.total)
    if len(columns) > 1:
        largest, those = most(truth), most(seen)
        assert max(largest[key] - those.get(key, 0) for key in largest) <= said.columns[1].largest
        assert said.columns[1].is_kept


def test_relays_are_seen_to_drop_something() -> None:
    """Otherwise nothing is tested above."""
    asked = Tolerance((HITS,), relays=0.5).at_relays()
    random = Random(7)
    assert asked is not None
    pieces = [MERGER.merge([made(random), made(random)]) for _ in range(50)]
    found = [thinned_table(piece, asked, ("k",)) for piece in pieces]
    assert sum(one is not None for one in found) > 40


def test_totals_of_sites_and_of_pieces_are_about_the_same_records() -> None:
    """Were they added up, twice as much would be known of the total, and half the share stated."""
    kept = Remainder(10.0, 30.0, 3, 1_000.0)
    dropped = Remainder(10.0, 40.0, 4, 970.0)
    (found,) = joined((kept,), [(dropped,)])
    assert found == Remainder(20.0, 70.0, 7, 1_000.0)
    assert joined((), [(dropped,)]) == (dropped,)
    assert joined((kept,), []) == (kept,)


def test_what_a_relay_may_drop_by_is_said_of_each_column() -> None:
    by_number = msgspec.structs.replace(HITS, form=ErrorForm.ABSOLUTE, size=500.0)
    by_value = msgspec.structs.replace(HITS, form=ErrorForm.VALUE, size=0.1)
    records = ToleratedColumn("p", "n", ErrorForm.VALUE, 1.0, meaning=Meaning.RECORDS)
    members = ToleratedColumn("d", "n", ErrorForm.ABSOLUTE, 9.0, meaning=Meaning.MEMBERS)
    assert [may_thin(one) for one in (HITS, MOST, records)] == [True] * 3
    assert [may_thin(one) for one in (by_number, by_value, members)] == [False] * 3
    partials = {"n": "sum", "m": "max"}
    assert Tolerance((HITS, MOST), relays=0.5).fault(partials) is None
    assert "no group may be dropped" in str(Tolerance((by_number,), relays=0.5).fault(partials))


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, float("nan"), float("inf")])
def test_a_part_that_is_none_is_refused(share: float) -> None:
    assert "above 0 and below 1" in str(Tolerance((HITS,), relays=share).fault({"n": "sum"}))


def test_the_largest_groups_are_left_whole() -> None:
    top = Tolerance((HITS,), largest=Largest("n", 3), relays=0.5)
    assert "relays" in str(top.fault({"n": "sum"}))


def test_a_threshold_and_its_least_bound_are_divided_alike() -> None:
    tolerance = Tolerance((HITS,), threshold=Threshold("n", least=0.1), relays=0.25)
    at_sites = tolerance.at_sites()
    assert at_sites.columns[0].size == pytest.approx(0.3 * 0.75)
    assert isinstance(at_sites.threshold, Threshold)
    assert at_sites.threshold.least == pytest.approx(0.1 * 0.75)
    at_relays = tolerance.at_relays()
    assert at_relays is not None
    assert at_relays.columns[0].size == pytest.approx(0.3 * 0.25)
    assert not at_relays.keeps_nothing


def test_who_leaves_relays_nothing_is_as_before() -> None:
    tolerance = Tolerance((HITS,))
    assert tolerance.at_sites() is tolerance
    assert tolerance.at_relays() is None
    assert b"relays" not in msgspec.json.encode(tolerance)


def test_rows_that_are_no_table_stay_as_they_are() -> None:
    asked = Tolerance((HITS,), relays=0.5).at_relays()
    assert asked is not None
    assert thinned((1, 2, 3), MERGER, asked, ("k",)) is None
