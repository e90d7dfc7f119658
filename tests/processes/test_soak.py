"""The soak: its verdict, and a few rounds of it on the tests' own JVM."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from soak.measure import Growth, growth, measure
from soak.rounds import RESTART_EVERY, Soak

if TYPE_CHECKING:
    from headwater.spark.jvm.session import RunningSpark

SAMPLES = [(n, {"leak": 100 + n, "flat": 100 + n % 3}) for n in range(0, 60, 10)]


def test_what_grows_is_told_from_what_wavers() -> None:
    found = {one.name: one for one in growth(SAMPLES, settled=10, points=2)}
    assert found["leak"] == Growth("leak", 120.0, 150.0)
    assert found["leak"].share == 0.25
    assert found["flat"].share < 0.02


def test_what_was_not_there_at_first_has_grown() -> None:
    assert Growth("streams", 0.0, 0.0).share == 0.0
    assert Growth("streams", 0.0, 1.0).share == 1.0


@pytest.mark.spark
def test_queries_that_come_and_go_leave_nothing_behind(
    running_spark: RunningSpark, tmp_path: Path
) -> None:
    """Ten rounds each with an installed, a failing and a removed query, and a stopped stream."""
    from headwater.spark.jvm.lease import StandingSpark

    soak = Soak(StandingSpark(running_spark.session), tmp_path, seed=7)
    try:
        counts = []
        for number in range(1, 2 * RESTART_EVERY + 1):
            soak.round(number)
            if number % RESTART_EVERY == 0:
                counts.append(measure(running_spark))
    finally:
        soak.stop()
    assert soak.failures >= 2 * RESTART_EVERY
    assert soak.answers >= RESTART_EVERY
    before, after = counts
    assert growth([(1, before), (2, after)], settled=1, points=1), "all of it can be judged"
    assert all(type(value) is int for value in after.values())
    for name in ("sessions", "temporary views", "streams", "cached_plans", "listeners"):
        assert after[name] <= before[name] + 1, (name, before[name], after[name])
