"""A dozen agents in two processes, two roots, and one of these in trouble: ``make crowd`` in small.

What depends on how busy the machine is (how soon things recover) is asked by ``make crowd`` alone.
The parts that judge a run are tried apart: a check that can't fail checks nothing.
"""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pytest
from chaos.truth import Truth
from crowd.answers import Answers
from crowd.checks import RSS_SLACK_BYTES, checked
from crowd.meter import DIALS, GREETINGS, HOSTS, LOST, REPAIRS, Level, Meter, Sample, read_samples
from crowd.outcome import Outcome, Phase
from crowd.parties import BESIDE, HOME, Crowd
from crowd.plain_root import PlainRoot
from crowd.run import Plan, Run
from crowd.slow_disk import SlowDisk

from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Lane
from headwater.node import effects as fx
from headwater.node.config import NodeConfig

SMALL = Plan(
    Crowd(relay_processes=1, generator_processes=1, agents_per_process=6),
    settle_s=2.0,
    calm_s=2.0,
    stop_s=7.0,
    slow_s=4.0,
    after_s=4.0,
    lateness_s=5.0,
)
"""The stop is longer than silence is borne, so that the root is dialled and detours are taken."""


@pytest.mark.processes
def test_a_root_that_stands_still_and_one_with_a_slow_disk_lose_and_double_nothing(
    tmp_path: Path,
) -> None:
    outcome = Run(SMALL, tmp_path / "federation", lambda text: print(text, flush=True)).run()
    print(outcome.text())
    failed = [one.line() for one in outcome.checks if one.trouble and not one.is_timed]
    assert not failed, outcome.text()
    assert outcome.answers[HOME].checker.verdict.windows >= 4
    assert outcome.counts(DIALS, outcome.phases[1]), "nobody missed the root that stood still"
    assert outcome.counts(LOST, outcome.phases[1]), "nobody noticed that it was lost"
    assert outcome.samples[HOME][-1].disk_waits, "the disk was never slow"


# Budgets


def test_a_level_is_over_when_more_was_spent_than_a_burst_and_the_rate() -> None:
    level = Level(2.0, 4.0)
    assert not level.is_over(4, now_s=100.0, since_s=100.0)
    assert not level.is_over(2, now_s=101.0, since_s=101.0)
    assert level.is_over(1, now_s=101.0, since_s=101.0)


def test_what_was_decided_over_a_while_and_comes_in_a_lump_is_no_storm() -> None:
    assert not Level(2.0, 4.0).is_over(14, now_s=105.0, since_s=100.0)
    assert Level(2.0, 4.0).is_over(15, now_s=105.0, since_s=100.0)


def repair(updates: tuple[tuple[int, int], ...] = ((1, 1),)) -> fx.LoadAndSend:
    coverage = Coverage.of_part(0, 1, updates=updates, closed_at=1)
    return fx.LoadAndSend("q", 0, updates, coverage, Lane.SPARE, 1)


@pytest.mark.parametrize(
    ("effect", "kind"),
    [(fx.Dial("home"), DIALS), (fx.Dial("home", as_host=True), HOSTS), (repair(), REPAIRS)],
)
def test_a_meter_tells_of_a_storm_of_each_kind(effect: fx.Effect, kind: str) -> None:
    meter = Meter(NodeConfig(), now_s=lambda: 100.0)
    meter.taken("a", [effect] * 10)
    calm = meter.sample([])
    assert calm.counts[kind] == 10
    assert calm.dialled == ("a>home",) * 10 * (kind is DIALS)
    assert not calm.storms
    meter.taken("a", [effect] * 500)
    assert [kind in text for text in meter.sample([]).storms] == [True]


def test_budgets_are_each_agents_own() -> None:
    meter = Meter(NodeConfig(), now_s=lambda: 100.0)
    for number in range(100):
        meter.taken(f"a{number}", [fx.Dial("home")] * 10)
    assert not meter.sample([]).storms


# What is held against a run


def sample(
    at_s: float, *, rss: int = 100, dialled: tuple[str, ...] = (), missing: int = 0, **counts: int
) -> Sample:
    named = {kind.replace("_", " "): count for kind, count in counts.items()}
    return Sample(at_s, 0.0, rss << 20, named, 0, 0, 0, dialled=dialled, missing=missing)


def outcome_of(tmp_path: Path, *samples: Sample) -> Outcome:
    """Calm until 100, stopped until 110, and after that until 160."""
    outcome = Outcome(Crowd(1, 1, 1).parties())
    outcome.samples = {party.name: samples for party in outcome.parties[:1]}
    outcome.phases = [Phase("calm", 80, 100), Phase("stopped", 100, 110), Phase("after", 110, 160)]
    outcome.answers = {
        root: Answers(tmp_path / root, Truth(), [], root=root, disorder_s=1.0)
        for root in (HOME, BESIDE)
    }
    outcome.first_us = dict.fromkeys(outcome.answers, 160_000_000)
    return outcome


def troubles(outcome: Outcome) -> list[str]:
    found = checked(outcome, settled_s=1.0, forced=())
    return [check.line() for check in found if check.trouble]


def test_a_run_in_which_nothing_happened_is_good(tmp_path: Path) -> None:
    assert troubles(outcome_of(tmp_path, sample(90.0), sample(155.0))) == []


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (sample(155.0, dials=1), "quiet"),
        (sample(155.0, dials=2, dialled=("a>b", "a>b")), "dialled again and again: a>b"),
        (sample(155.0, missing=1), "1 neighbours without a link, after dials none"),
        (sample(155.0, neighbours_lost=1), "quiet"),
        (sample(155.0, repairs=1), "quiet"),
        (sample(120.0, greetings=10), "greetings"),
        (sample(155.0, rss=126 + (RSS_SLACK_BYTES >> 20)), "memory"),
    ],
)
def test_each_trouble_is_found(tmp_path: Path, bad: Sample, text: str) -> None:
    (found,) = troubles(outcome_of(tmp_path, sample(90.0), bad))
    assert text in found


def test_a_late_dial_that_mends_its_link_is_no_trouble(tmp_path: Path) -> None:
    """The pauses between dials grow up to half a minute."""
    mended = sample(155.0, dials=2, dialled=("a>b", "a>c"))
    assert troubles(outcome_of(tmp_path, sample(90.0), mended)) == []


def test_greetings_are_two_for_a_dial_at_most(tmp_path: Path) -> None:
    fine = sample(120.0, dials=3, hosts_sought=1, greetings=9)
    assert troubles(outcome_of(tmp_path, sample(90.0), fine, sample(155.0))) == []
    assert GREETINGS in fine.counts


def test_a_window_that_is_not_exact_in_time_is_found(tmp_path: Path) -> None:
    outcome = outcome_of(tmp_path, sample(90.0), sample(155.0))
    outcome.first_us = {HOME: 95_000_000, BESIDE: 160_000_000}
    found = troubles(outcome)
    assert any("exact within" in line for line in found)


def test_a_sample_that_is_half_written_is_left_for_later(tmp_path: Path) -> None:
    file = tmp_path / "a.samples"
    file.write_bytes(b'{"at_s": 1.0, "cpu_s": 0, "rss_bytes": 1, "counts": {}, "asleep_s": 0, ')
    assert read_samples(file) == []


# Stand-ins


def test_a_slow_disk_waits_for_each_sync_while_it_is_slow(tmp_path: Path) -> None:
    disk = SlowDisk(0.01)
    disk.sync_directory(tmp_path)
    assert disk.waits == 0
    disk.is_slow = True
    began_s = time.monotonic()
    disk.sync_directory(tmp_path)
    assert disk.waits == 1
    assert time.monotonic() - began_s >= 0.01


def test_the_root_without_spark_shows_groups_as_they_are() -> None:
    table = pa.table({"id": [1, 2], "count_1": [1, 1], "sum_2": [1, 2]})
    rows = PlainRoot().finish(None, {7: table})[7]  # type: ignore[arg-type]
    assert rows.to_pylist() == [{"id": 1, "n": 1, "total": 1}, {"id": 2, "n": 1, "total": 2}]
