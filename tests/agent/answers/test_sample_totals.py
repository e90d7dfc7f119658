"""Totals of all groups, estimated from those of a sample."""

from __future__ import annotations

from math import sqrt

import pyarrow as pa
import pytest

from headwater.agent.answers.sample_totals import SampleTotals
from headwater.algebra.windows.coarsening import Coarsening
from headwater.plan.degrading.companion import Companion, Totalled

HALF = Companion(
    "hits@a#1",
    1,
    coarsening=Coarsening(survives="survives_url", halvings=1),
    sampled="url",
    totals=(Totalled("hits", "count_1"), Totalled("ms", "sum_2")),
)
ROWS = pa.table({"url": ["x", "x", "y"], "count_1": [1, 2, 4], "sum_2": [None, 0.5, 1.5]})


def test_a_total_is_that_of_the_sample_by_its_share_and_what_scatters_are_keys() -> None:
    totals = SampleTotals(HALF)
    totals.add(ROWS)
    hits, ms = totals.estimates()
    assert (hits.column, hits.total) == ("hits", 14.0)
    assert hits.error == pytest.approx(sqrt(0.5) / 0.5 * sqrt(3**2 + 4**2))
    assert (ms.total, ms.error) == (4.0, pytest.approx(sqrt(0.5) / 0.5 * sqrt(0.5**2 + 1.5**2)))


def test_groups_may_come_in_any_number_of_tables() -> None:
    whole, parts = SampleTotals(HALF), SampleTotals(HALF)
    whole.add(ROWS)
    for row in range(ROWS.num_rows):
        parts.add(ROWS.slice(row, 1))
    assert parts.estimates() == whole.estimates()


def test_a_sample_without_groups_estimates_nothing() -> None:
    (hits, _) = SampleTotals(HALF).estimates()
    assert (hits.total, hits.error) == (0.0, 0.0)
