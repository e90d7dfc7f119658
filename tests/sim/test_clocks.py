"""Whole federations whose clocks are set, by hours and days: nothing untrue is said, and no alarm.

What each wrong clock cost in the past is told beside its test. The sweeps draw all of this at
random; here each stands alone, so that it can't be missed.
"""

from __future__ import annotations

from functools import cache

import msgspec
import pytest

from headwater.plan.query import TimeKind
from headwater.sim.faults.faults import Fault, Kind
from headwater.sim.outcome import Outcome
from headwater.sim.scenario import Scenario, draw_scenario
from headwater.sim.sweep import with_faults
from headwater.sim.world.world import World

HOUR_S, DAY_S = 3_600.0, 86_400.0


def scenario() -> Scenario:
    """A world by timestamps, whose clocks are good, and whose root has no part in the query: a site
    that is set back can't seal what it said to come, which is its right."""
    for seed in range(1, 100):
        drawn = draw_scenario(seed)
        query = drawn.first_query
        if query.time is TimeKind.EVENT and not (query.holds_states or drawn.is_finite):
            break
    data = tuple(s.name for s in drawn.roster.sites if s.has_data and s.name != query.root)
    return msgspec.structs.replace(
        drawn,
        first_query=msgspec.structs.replace(query, sites=data),
        offsets_s=(0.0,) * len(drawn.roster.sites),
        refusals=(),
    )


PLAIN = scenario()
ROOT = PLAIN.first_query.root
SITE = next(name for name in PLAIN.first_query.sites if name != "s0")


def run(*faults: Fault) -> Outcome:
    outcome = World(with_faults(PLAIN, faults)).run()
    assert outcome.is_good, outcome.failure
    return outcome


@cache
def calm() -> Outcome:
    """The same without any fault: a seed makes it what it is, whoever asks."""
    return run()


def step(site: str, value: float, *, at_s: float = 40.0, for_s: float = 0.0) -> Fault:
    return Fault(Kind.CLOCK_STEP, at_s, for_s, (site,), value)


@pytest.mark.parametrize("value", [-DAY_S, -HOUR_S, HOUR_S, DAY_S])
def test_a_roots_clock_that_is_set_costs_no_answer(value: float) -> None:
    """Set back by an hour, a root acknowledged nothing for an hour."""
    struck = run(step(ROOT, value))
    finals = "an answer was final"
    assert struck.counts[finals] >= calm().counts[finals] - 1
    assert struck.counts["notice: node clock was set"] == 1


@pytest.mark.parametrize("value", [-DAY_S, -HOUR_S, -8.0, HOUR_S, DAY_S])
def test_a_root_that_restarts_with_another_clock_is_heard(value: float) -> None:
    """With an earlier clock it was unheard for the length of the step."""
    struck = run(Fault(Kind.CRASH, 40.0, 4.0, (ROOT,)), step(ROOT, value, at_s=42.0))
    assert struck.counts["an answer was final"] > 3


@pytest.mark.parametrize("value", [25 * HOUR_S, -25 * HOUR_S])
def test_a_clock_that_is_a_day_off_for_three_polls_costs_nothing(value: float) -> None:
    """It sealed the next hour, whose records were then too late."""
    struck = run(step(SITE, value, for_s=5.5))
    assert struck.counts["notice: node clock was set"] == 0
    for finals in ("an answer was final", "an answer was final, not exact"):
        assert struck.counts[finals] == calm().counts[finals]


@pytest.mark.parametrize("value", [3.0, HOUR_S, DAY_S])
def test_a_site_that_reads_nothing_closes_nothing_when_its_clock_is_set(value: float) -> None:
    """Its last read counted by the new clock: panes were closed whose records lay unread."""
    stall = Fault(Kind.STALL, 40.0, 45.0, (SITE,))
    assert run(stall, step(SITE, value, at_s=60.0)).counts["notice: node clock was set"] == 1


def test_a_site_that_stays_a_day_ahead_is_told_and_the_others_are_answered() -> None:
    struck = run(step(SITE, DAY_S))
    assert struck.counts["notice: edge clock is off"] == 1
    assert struck.counts["an answer was final"] > 3


@pytest.mark.parametrize("value", [-DAY_S, -HOUR_S, -60.0])
def test_a_disk_that_is_lost_with_an_early_clock_is_healed_without_an_alarm(value: float) -> None:
    """The new life's number was the lower one, and nobody told it: one coverage was untrue, and
    relays were called hostile. ``run`` fails on every alarm."""
    struck = run(Fault(Kind.DISK_LOSS, 60.0, 4.0, (SITE,)), step(SITE, value - 100.0, at_s=61.0))
    assert struck.counts["a site took an incarnation above a former one"] >= 1


def test_a_ledger_that_is_lost_with_an_early_clock_is_heard_again() -> None:
    struck = run(Fault(Kind.DISK_LOSS, 60.0, 4.0, (ROOT,)), step(ROOT, -HOUR_S, at_s=61.0))
    assert struck.counts["a root took an incarnation above a former one"] >= 1
    assert struck.counts["notice: edge root began anew"] >= 1
