"""What `sites` says of budgets."""

from __future__ import annotations

import pytest

from headwater.agent.view.capacity_shown import link_text, way_text
from headwater.agent.view.site_lines import sending_text
from headwater.algebra.capacity.way_capacity import UNKNOWN, WayCapacity
from headwater.net.network import NO_BUDGET, BudgetStats


@pytest.mark.parametrize(
    ("used", "allowed", "said"),
    [
        (23_400.0, 25_000.0, "187 of 200 kbit/s"),
        (100.0, 25_000.0, "800 bit/s of 200 kbit/s"),
        (None, 187_500.0, "0 bit/s of 1.5 Mbit/s"),
    ],
)
def test_what_is_used_stands_beside_what_is_allowed(
    used: float | None, allowed: float, said: str
) -> None:
    assert sending_text(BudgetStats(allowed, used)) == said


def test_without_a_budget_nothing_is_said() -> None:
    assert sending_text(NO_BUDGET) == ""


def test_what_a_way_carries_is_said_with_where_that_is_least():
    assert way_text(WayCapacity(8_000.0, "beyond oslo")) == "64 kbit/s (beyond oslo)"
    assert way_text(WayCapacity(0.0, "oslo")) == "0 bit/s (oslo)"
    assert way_text(UNKNOWN) == ""
    assert link_text(None) == ""
