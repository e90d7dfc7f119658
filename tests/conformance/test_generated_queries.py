"""Sixty random queries: the split gives what one Spark gives. ``make fuzz-sql`` runs more."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from fuzz_sql.campaign import Campaign, run_campaign
from fuzz_sql.case import Case
from fuzz_sql.draw import CALLS, CASES_A_WORLD, DISTINCT_CALLS, SESSIONS, draw_case
from fuzz_sql.reduce import reduced
from fuzz_sql.run import BothWays

from headwater.algebra.aggregates import AGGREGATES, DISTINCT, RULES

FIRST = 20_261_118
CASES = 60
PART = 30
REFUSED_MAX = 0.05


def test_a_case_is_drawn_from_its_seed_alone() -> None:
    assert draw_case(7) == draw_case(7)
    assert str(draw_case(7)) == str(draw_case(7))
    assert draw_case(7).select != draw_case(8).select


def test_every_aggregate_is_drawn() -> None:
    assert {one.name for one in CALLS} == set(AGGREGATES)
    assert {one.name for one in DISTINCT_CALLS} == set(DISTINCT)


def test_clauses_of_every_kind_are_drawn() -> None:
    drawn = [draw_case(seed) for seed in range(200)]
    clauses = ("where", "having", "order", "limit", "keys", "rank", "of_rows", "is_distinct")
    kinds = Counter(name for one in drawn for name in clauses if getattr(one, name))
    assert min(kinds[name] for name in clauses) > 5
    assert sum(bool(one.of_rows and one.limit) for one in drawn) > 2
    assert any(" FILTER " in one.select for one in drawn)
    assert any("(DISTINCT " in one.select for one in drawn)
    assert any(" -> " in one.select for one in drawn)
    assert sum(one.window in SESSIONS for one in drawn) > 5
    assert len({one.window for one in drawn}) > 15


def test_a_case_that_fails_is_made_small() -> None:
    """Whatever has a bit_xor of a column fails, if two records are there."""

    def fails(case: Case) -> bool:
        return "bit_xor" in case.select and len(case.world.rows) >= 2

    case = next(one for one in map(draw_case, range(10_000)) if fails(one) and len(one.items) > 2)
    small = reduced(case, fails)
    assert len(small.world.rows) == 2
    assert len(small.items) == 1
    assert (small.where, small.having, small.limit, small.keys) == (None, None, None, ())
    assert set(small.world.parts) == {0}
    assert len(str(small)) < len(str(case)) / 4


@pytest.fixture(scope="module")
def campaigns() -> list[Campaign]:
    """What all parts came to, for the test after them."""
    return []


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", range(FIRST, FIRST + CASES, PART))
def test_the_split_of_random_queries_gives_what_one_spark_gives(
    spark, campaigns: list[Campaign], first: int
) -> None:
    campaigns.append(run_campaign(spark, range(first, first + PART)))
    assert not campaigns[-1].faults, "\n".join(campaigns[-1].faults)


@pytest.mark.spark
def test_they_had_rows_and_groups_that_fail_and_hardly_one_was_refused(
    campaigns: list[Campaign],
) -> None:
    cases = sum(one.cases for one in campaigns)
    if cases < CASES:
        pytest.skip(f"only {cases} cases were run; chance may have left something out")
    assert sum(one.rows for one in campaigns) > CASES
    assert any(one.with_groups_left_out for one in campaigns)
    assert sum(one.refusals.total() for one in campaigns) <= CASES * REFUSED_MAX


@pytest.mark.spark
def test_a_merge_that_is_wrong_is_found(spark, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever takes the least for the most."""
    wrong = msgspec.structs.replace(RULES["max"], function="min")
    monkeypatch.setitem(RULES, "max", wrong)
    ways, seeds = BothWays(spark), range(FIRST, FIRST + 10 * CASES_A_WORLD)
    cases = (one for one in map(draw_case, seeds) if "max(" in one.select)
    faults = (ways.run(one).fault for one in cases)
    assert next(fault for fault in faults if fault).startswith("differ")
