"""Which groups a site keeps back under an error, and what it says of them."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.coverage import Coverage
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.remainder import Remainder, merge_remainders
from headwater.algebra.remainders.tolerance import Finally, Tolerance, ToleratedColumn
from headwater.algebra.remainders.withhold import Allowance, Withheld, withhold


def allowance(*columns: tuple[str, ErrorForm, float], sites: int = 4, panes: int = 1) -> Allowance:
    tolerated = tuple(ToleratedColumn(name, name, form, size) for name, form, size in columns)
    return Allowance(Tolerance(tolerated, Finally.BOUNDED, sites), panes)


def pages(**columns: list[object]) -> pa.Table:
    keys = [f"/{number}" for number in range(len(next(iter(columns.values()))))]
    return pa.table({"page": keys, **columns})


def names(rows: pa.Table) -> list[str]:
    return rows.column("page").to_pylist()


def split(rows: pa.Table, asked: Allowance) -> Withheld:
    found = withhold(rows, asked)
    assert found is not None
    return found


def test_groups_within_a_share_of_the_total_stay_and_the_largest_leave_first() -> None:
    found = split(pages(n=[2, 50, 5, 43]), allowance(("n", ErrorForm.TOTAL, 0.05)))
    assert names(found.sent) == ["/1", "/3"]
    assert names(found.rest) == ["/0", "/2"]
    assert found.remainders == (Remainder(largest=5.0, total=7.0, keys=2, of=100.0),)


def test_a_group_stays_only_if_every_column_allows_it() -> None:
    asked = allowance(("n", ErrorForm.TOTAL, 0.05), ("b", ErrorForm.TOTAL, 0.05))
    found = split(pages(n=[1, 1, 98], b=[900, 10, 90]), asked)
    assert names(found.rest) == ["/1"]
    assert [one.largest for one in found.remainders] == [1.0, 10.0]


def test_an_absolute_bound_is_dealt_out_to_sites_and_panes() -> None:
    asked = allowance(("n", ErrorForm.ABSOLUTE, 80.0), sites=4, panes=2)
    found = split(pages(n=[-10, 11, 10, 40]), asked)
    assert names(found.rest) == ["/0", "/2"]
    assert found.remainders[0].largest == 10.0
    assert found.remainders[0].total == 0.0


def largest(size: float) -> Allowance:
    column = ToleratedColumn("n", "n", ErrorForm.ABSOLUTE, size, is_largest=True)
    return Allowance(Tolerance((column,), Finally.BOUNDED, 4), 2)


def test_of_a_maximum_every_site_and_pane_has_the_whole_bound_and_the_worst_counts() -> None:
    found = split(pages(n=[30, 81, 80, 90]), largest(80.0))
    assert names(found.rest) == ["/0", "/2"]
    (kept,) = found.remainders
    assert kept == Remainder(largest=80.0, keys=2, is_worst=True)
    assert kept.merged(Remainder(largest=70.0, keys=1, is_worst=True)).largest == 80.0


@given(st.lists(st.lists(st.integers(0, 99), min_size=2, max_size=6), min_size=1, max_size=5))
def test_an_answer_of_maxima_is_never_off_by_more_than_it_states(sites: list[list[int]]) -> None:
    """A list for each site or pane, with the maximum of each key in it."""
    stated: tuple[Remainder, ...] = ()
    seen: dict[str, int] = {}
    truth: dict[str, int] = {}
    for values in sites:
        rows = pages(n=values)
        found = withhold(rows, largest(40.0))
        stated = merge_remainders(stated, () if found is None else found.remainders)
        for which, table in ((truth, rows), (seen, rows if found is None else found.sent)):
            for key, value in zip(names(table), table.column("n").to_pylist(), strict=True):
                which[key] = max(which.get(key, 0), value)
    off = max(value - seen.get(key, 0) for key, value in truth.items())
    assert off <= (stated[0].largest if stated else 0.0) <= 40.0


def test_what_a_site_says_of_a_maximum_is_believed_as_the_worst_alone() -> None:
    """Added up it would be too large, and of a sum the worst alone too small."""
    worst, added = Remainder(keys=1, is_worst=True), Remainder(keys=1)
    assert largest(8.0).tolerance.is_stated_by((worst,))
    assert not largest(8.0).tolerance.is_stated_by((added,))
    assert not allowance(("n", ErrorForm.ABSOLUTE, 8.0)).tolerance.is_stated_by((worst,))


@pytest.mark.parametrize(
    ("rows", "asked"),
    [
        pytest.param(pages(n=[-1, 2, 3]), largest(9.0), id="a maximum below nothing"),
        pytest.param(
            pages(n=[1, 99]), allowance(("n", ErrorForm.VALUE, 0.5)), id="each value needs all"
        ),
        pytest.param(
            pages(n=[1, -50, 99]), allowance(("n", ErrorForm.TOTAL, 0.5)), id="a negative one"
        ),
        pytest.param(
            pages(n=[1.0, float("nan"), 99.0]), allowance(("n", ErrorForm.TOTAL, 0.5)), id="nan"
        ),
        pytest.param(
            pages(n=[1.0, float("inf")]), allowance(("n", ErrorForm.ABSOLUTE, 9.0)), id="infinite"
        ),
        pytest.param(pages(n=[0, 0]), allowance(("n", ErrorForm.TOTAL, 0.5)), id="no total"),
        pytest.param(pages(n=[]), allowance(("n", ErrorForm.TOTAL, 1.0)), id="no group"),
        pytest.param(
            pages(n=[1, 2]), allowance(("n", ErrorForm.ABSOLUTE, 9.0), sites=0), id="sites unknown"
        ),
    ],
)
def test_all_are_sent_where_nothing_can_be_promised(rows: pa.Table, asked: Allowance) -> None:
    assert withhold(rows, asked) is None


def test_where_none_must_go_all_stay() -> None:
    found = split(pages(n=[1, 3, 2]), allowance(("n", ErrorForm.ABSOLUTE, 400.0)))
    assert names(found.sent) == []
    assert found.remainders == (Remainder(largest=3.0, total=6.0, keys=3, of=6.0),)


def test_a_single_group_stays_like_any_other() -> None:
    found = split(pages(n=[3]), allowance(("n", ErrorForm.TOTAL, 1.0)))
    assert names(found.rest) == ["/0"]


def test_nulls_are_nothing_and_decimals_are_numbers() -> None:
    column = pa.array([Decimal(5), None, Decimal(95)], pa.decimal128(38, 0))
    rows = pa.table({"page": ["/0", "/1", "/2"], "n": column})
    found = split(rows, allowance(("n", ErrorForm.TOTAL, 0.1)))
    assert names(found.rest) == ["/0", "/1"]
    assert found.remainders[0].largest == 5.0


def test_what_was_rounded_is_stated_larger() -> None:
    found = split(pages(n=[0.1, 0.2, 99.0]), allowance(("n", ErrorForm.TOTAL, 0.1)))
    assert 0.2 < found.remainders[0].largest < 0.2 * (1 + 1e-8)


values = st.lists(st.integers(0, 1_000), min_size=3, max_size=3)


@given(
    sites=st.lists(st.lists(values, min_size=1, max_size=2), min_size=1, max_size=4),
    share=st.floats(0.01, 0.6),
)
def test_no_answer_is_off_by_more_than_it_states_nor_than_was_asked(
    sites: list[list[list[int]]], share: float
) -> None:
    """Sites of some panes each, with the same three pages."""
    asked = allowance(("n", ErrorForm.TOTAL, share), panes=2)
    truth, answer, stated = [0, 0, 0], [0, 0, 0], ()
    for panes in sites:
        for counts in panes:
            found = withhold(pages(n=counts), asked)
            sent = pages(n=counts) if found is None else found.sent
            for page, count in zip(names(sent), sent.column("n").to_pylist(), strict=True):
                answer[int(page[1:])] += count
            truth = [one + more for one, more in zip(truth, counts, strict=True)]
            stated = merge_remainders(stated, () if found is None else found.remainders)
    off = max(one - seen for one, seen in zip(truth, answer, strict=True))
    largest = stated[0].largest if stated else 0.0
    assert off <= largest <= share * sum(truth) * (1 + 1e-9)
    assert sum(truth) - sum(answer) == (stated[0].total if stated else 0.0)


def test_a_merged_coverage_has_what_both_have_kept_back() -> None:
    one = Coverage(whole=1, withheld=(Remainder(2.0, 3.0, 2, 50.0),))
    other = Coverage(whole=2, withheld=(Remainder(1.0, 1.0, 1, 10.0),))
    third = Coverage(whole=4)
    merged = one.merge(other).merge(third)
    assert merged.withheld == (Remainder(3.0, 4.0, 3, 60.0),)
    assert merged == third.merge(other.merge(one))
