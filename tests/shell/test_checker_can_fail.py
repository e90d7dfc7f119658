"""A checker that finds nothing proves nothing: each mistake here must break a rule."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest
from schedules.checker import Violation
from schedules.plan import Kind
from schedules.run import Outcome, run_schedule
from schedules.stand_ins import StandInRoot, StandInRunner

from headwater.agent.effects import EffectRunner
from headwater.agent.input.site_inbox import SiteInbox
from headwater.agent.threads import done_by
from headwater.errors import StoreError
from headwater.store.input.source_state import SourceState
from headwater.store.results.results import ResultsWriter
from headwater.store.segments import SegmentStore

SEEDS = range(1, 25)


def rules_broken(*kinds: Kind) -> set[str]:
    """Over seeds until something breaks: that is what the mistake is found by."""
    for seed in SEEDS:
        outcome: Outcome = run_schedule(seed, kinds)
        broken = {violation.rule for violation in outcome.violations} - {"a full disk ends nobody"}
        if broken:
            return broken
    return set()


def test_a_record_that_a_site_part_leaves_out_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = StandInRunner._result
    monkeypatch.setattr(
        StandInRunner, "_result", lambda self, query, records: real(self, query, records[1:])
    )
    assert {"true coverage", "no silent loss"} <= rules_broken()


def test_a_record_that_is_counted_twice_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = StandInRunner._result
    monkeypatch.setattr(
        StandInRunner,
        "_result",
        lambda self, query, records: real(self, query, [*records, *records[-1:]]),
    )
    assert "no double counting" in rules_broken()


def test_an_answer_of_another_window_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = StandInRoot.finish

    def finish(self: StandInRoot, query: Any, windows: Any) -> Any:
        rows = real(self, query, windows)
        return dict.fromkeys(rows, next(iter(rows.values()))) if rows else rows

    monkeypatch.setattr(StandInRoot, "finish", finish)
    assert "no strangers" in rules_broken(Kind.SPARK)


def test_a_poll_that_is_called_clean_without_reading_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real: Callable[..., Any] = SourceState.polled
    monkeypatch.setattr(
        SourceState,
        "polled",
        lambda self, *, started_s, **_: real(self, started_s=started_s + 60.0, is_clean=True),
    )
    assert "true coverage" in rules_broken()


def test_a_feeder_that_never_tells_spark_stalls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SiteInbox, "sources", lambda self: [])
    assert "every window becomes final" in rules_broken()


def test_a_write_that_is_given_up_on_a_full_disk_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def given_up(self: EffectRunner, write: partial[Any]) -> Any:
        try:
            return await done_by(self._writer, write)
        except StoreError:
            (effects,) = write.args
            return [() for _ in effects]

    monkeypatch.setattr(EffectRunner, "write", given_up)
    assert rules_broken(Kind.FULL)


def test_segments_that_are_not_synced_are_missed_after_a_power_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real: Callable[..., Any] = SegmentStore._finish

    def finish(self: SegmentStore, segments: Any) -> None:
        disk, self._disk = self._disk, Unsyncing(self._disk)
        try:
            real(self, segments)
        finally:
            self._disk = disk

    monkeypatch.setattr(SegmentStore, "_finish", finish)
    assert rules_broken(Kind.POWER)


def test_a_publication_that_is_recovered_wrongly_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real: Callable[..., Any] = ResultsWriter.recover
    monkeypatch.setattr(ResultsWriter, "recover", lambda self, seq=None: real(self, None))
    assert rules_broken(Kind.DISK)


class Unsyncing:
    """A disk on which nothing is ever synced."""

    def __init__(self, disk: Any) -> None:
        self._disk = disk

    def sync_file(self, path: Any) -> None: ...

    def sync_files(self, paths: Any) -> None: ...

    def sync_directory(self, path: Any) -> None: ...

    def __getattr__(self, name: str) -> Any:
        return getattr(self._disk, name)


def test_the_outcome_of_a_bad_schedule_says_how_to_see_it_again() -> None:
    outcome = run_schedule(3, ())
    bad = msgspec.structs.replace(outcome, violations=[Violation("a rule", "a text")])
    assert "--from 3 --seeds 1 --story" in bad.report()
