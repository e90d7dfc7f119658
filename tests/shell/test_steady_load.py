"""A steady load in virtual time: how often Spark is woken, and how soon panes are answered.

The real shell runs, with a Spark that takes time for each batch and for each line. Every number
here is counted or read off the virtual clock.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import schedules.site
from schedules.plan import Operation, Plan
from schedules.queries import DISORDER_S, PANE_S
from schedules.run import World, arrow_alone
from schedules.stand_ins import StandInRunner
from schedules.story import Story

from headwater.agent.config import SourcesConfig
from headwater.agent.input.feeder import Feeder
from headwater.edge.batches.batch_times import BatchLimits
from headwater.reading.outcome import SiteOutcome
from headwater.spark.site import source_stream
from headwater.spark.site.inbox import SiteBatch

WRITE_EVERY_S = 0.2
LENGTH_S = 60.0
POLL_S = 0.97
"""So that polls that come whenever they do are at all distances from the ends of panes."""
BATCH_S, LINE_S = 0.2, 0.001
"""What the stand-in takes."""


class Run(msgspec.Struct):
    batch_count: int
    staleness_s: list[float]
    """Of the first answers."""
    violations: list[Any]


def run(monkeypatch: pytest.MonkeyPatch, *, lines_each: int = 2, range_s: int = 4) -> Run:
    """A log that grows by some lines every ``WRITE_EVERY_S``."""
    batches: list[int] = []
    real = StandInRunner.run

    def run_batch(self: StandInRunner, batches_: Sequence[SiteBatch]) -> list[SiteOutcome]:
        outcomes = real(self, batches_)
        batches.append(sum(one.records for one in outcomes))
        self._spark.turns.sleep(BATCH_S + LINE_S * batches[-1])
        return outcomes

    append = Operation(WRITE_EVERY_S, "append", amount=(lines_each - 1) / 6)
    plan = Plan(
        seed=1,
        kinds=(),
        operations=(append,) * round(LENGTH_S / WRITE_EVERY_S),
        switch_share=0.0,
        slow_share=0.0,
        cache_bytes_max=None,
        range_s=range_s,
        is_small=False,
    )
    with monkeypatch.context() as patch, arrow_alone(), tempfile.TemporaryDirectory() as scratch:
        patch.setattr(StandInRunner, "run", run_batch)
        patch.setattr(schedules.site, "SourcesConfig", partial(SourcesConfig, poll_s=POLL_S))
        world = World(plan, Path(scratch), Story())
        try:
            outcome = world.run()
            first = [one.envelope for one in world.published.answers if one.envelope.revision == 1]
        finally:
            world.close()
    # What came before the load, and after it, is not the steady state.
    began_s, ended_s = world._healed_s - LENGTH_S + 10.0, world._healed_s - 5.0
    steady = [one for one in first if began_s <= one.end_us / 1e6 <= ended_s]
    return Run(len(batches), [one.staleness_s for one in steady], outcome.violations)


def test_a_light_load_takes_about_one_batch_a_pane(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(monkeypatch)
    panes = LENGTH_S / PANE_S
    assert not found.violations
    assert panes <= found.batch_count <= 1.6 * panes


def test_and_its_panes_are_answered_as_soon_as_they_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the disorder, a batch with all that is left, and what the root takes to decide."""
    found = run(monkeypatch)
    assert len(found.staleness_s) > 8
    lines = PANE_S / WRITE_EVERY_S * 2
    assert max(found.staleness_s) < DISORDER_S + BATCH_S + LINE_S * lines + 0.5


def test_a_batch_a_poll_answers_no_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was once: polls come whenever they do, and what one has found is read at once."""
    aligned = run(monkeypatch)
    monkeypatch.setattr(Feeder, "_find_due", lambda self, followed: None)
    monkeypatch.setattr(
        source_stream,
        "is_batch_wanted",
        lambda sites, pace, limits: any(one.byte_count for one in sites),
    )
    eager = run(monkeypatch)
    assert eager.batch_count > 3 * aligned.batch_count
    assert sum(aligned.staleness_s) <= sum(eager.staleness_s)


def test_a_heavy_load_is_read_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a close would find all of its pane to be read."""
    monkeypatch.setattr("headwater.edge.batches.reading_pace.USUAL_S_PER_MB", 1_000.0)
    found = run(monkeypatch)
    assert found.batch_count > 3 * LENGTH_S / PANE_S
    assert not found.violations


def test_defaults_of_the_limits_are_those_of_the_configuration() -> None:
    assert SourcesConfig().batch_limits == BatchLimits()
