"""Members with a budget: kept in every ten seconds, and all is exact in the end."""

from __future__ import annotations

import pytest

from headwater.overlay.links.byte_budget import Traffic
from headwater.overlay.links.link_budgets import LinkBudgets
from headwater.sim.faults.sending_budgets import SendingBudgets
from headwater.sim.outcome import Violation
from headwater.sim.scenario import draw_scenario
from headwater.sim.world.world import World

RATE = 3_000.0


@pytest.mark.parametrize("seed", [25, 28, 46])
def test_where_budgets_hold_something_back_all_becomes_exact(seed: int) -> None:
    """Control in messages longer than a bucket once waited for ever."""
    scenario = draw_scenario(seed)
    assert scenario.budgets
    outcome = World(scenario).run()
    assert outcome.is_good, outcome.report()
    assert outcome.counts["a budget held something back"] > 0


def test_a_bucket_that_lets_too_much_through_is_found() -> None:
    budgets = SendingBudgets({"a": LinkBudgets(RATE)})
    told = ""
    for step in range(100):
        try:
            budgets.left(("a", "b"), Traffic.LIVE, 1_000, now_s=step / 10)
        except Violation as violation:
            told = str(violation)
            break
    assert "a has sent" in told


def test_who_waits_is_let_go_when_it_was_said() -> None:
    budgets = SendingBudgets({"a": LinkBudgets(RATE)})
    now_s, sent = 0.0, 0
    while now_s < 60.0:
        wait_s = budgets.wait_s(("a", "b"), Traffic.LIVE, 1_000, is_spare=True, now_s=now_s)
        if wait_s == 0.0:
            budgets.left(("a", "b"), Traffic.LIVE, 1_000, now_s=now_s)
            sent += 1_000
        now_s += wait_s
    assert sent >= 0.95 * 60 * RATE
    assert not budgets.counts_on("b", "a")
