"""The real shell under faults: seeded schedules of threads, disk, kills, logs and Spark.

A failure names its seed; ``python -m schedules --from SEED --seeds 1 --story`` tells what happened.
``make sim`` runs thousands.
"""

from __future__ import annotations

import pytest
from schedules.plan import Kind
from schedules.run import run_schedule
from schedules.sweep import Sweep

MIXED = range(1, 21)
"""Seeds whose kinds of trouble are drawn."""
BLOCK = 10
ALONE = range(1, 4)
"""Seeds for each kind of trouble alone."""


@pytest.mark.parametrize("first", MIXED[::BLOCK])
def test_no_schedule_breaks_a_promise(first: int) -> None:
    sweep = Sweep()
    for seed in range(first, first + BLOCK):
        sweep.add(run_schedule(seed))
    assert not sweep.failures, "\n".join(one.report() for one in sweep.failures)
    assert sweep.answers > BLOCK, sweep.summary()


@pytest.mark.parametrize("kind", Kind)
def test_one_kind_of_trouble_breaks_no_promise(kind: Kind) -> None:
    for seed in ALONE:
        outcome = run_schedule(seed, (kind,))
        assert outcome.is_good, outcome.report()


def test_without_trouble_every_answer_is_exact() -> None:
    for seed in ALONE:
        outcome = run_schedule(seed, (), is_told=True)
        assert outcome.is_good, outcome.report()
        assert outcome.lives == 1
        assert outcome.answers > 5
        assert not outcome.faults


@pytest.mark.parametrize(
    ("seed", "kinds"),
    [
        (90050, (Kind.DISK, Kind.FULL, Kind.INPUT, Kind.REPLACING)),
        (90188, (Kind.INPUT, Kind.REPLACING, Kind.RETENTION, Kind.SQL)),
        (90289, (Kind.INPUT, Kind.RETENTION)),
    ],
    ids=("replaced", "replaced again", "renamed"),
)
def test_a_file_that_nobody_could_open_before_it_left_is_not_lost(
    seed: int, kinds: tuple[Kind, ...]
) -> None:
    """A link keeps it, or it is found beside the glob."""
    outcome = run_schedule(seed, kinds)
    assert outcome.is_good, outcome.report()


def test_an_answer_with_lines_that_were_read_twice_says_so_itself() -> None:
    """A short log was replaced and renamed at once: too little tells that it is not another."""
    outcome = run_schedule(90230, (Kind.DISK, Kind.EMPTYING, Kind.FULL, Kind.REPLACING))
    assert outcome.is_good, outcome.report()


@pytest.mark.parametrize(
    ("seed", "kinds"),
    [
        (90226, (Kind.INPUT, Kind.KILL)),
        (90393, (Kind.DAMAGE, Kind.INPUT, Kind.RETENTION, Kind.SPARK)),
        (90396, (Kind.EMPTYING, Kind.INPUT)),
    ],
)
def test_no_answer_is_called_exact_while_a_file_cant_be_opened(
    seed: int, kinds: tuple[Kind, ...]
) -> None:
    outcome = run_schedule(seed, kinds)
    assert outcome.is_good, outcome.report()


@pytest.mark.parametrize(
    ("seed", "kinds"),
    [
        (90086, (Kind.COPIES, Kind.DAMAGE, Kind.EMPTYING, Kind.POWER)),
        (90163, (Kind.DISK, Kind.EMPTYING, Kind.INPUT, Kind.KILL)),
        (95155, (Kind.INPUT, Kind.ROTATION, Kind.REPLACING, Kind.KILL)),
        (95297, (Kind.INPUT, Kind.ROTATION, Kind.REPLACING, Kind.KILL)),
        (95366, (Kind.INPUT, Kind.ROTATION, Kind.REPLACING, Kind.KILL)),
    ],
)
def test_what_was_listed_and_is_gone_is_said_by_the_answer_that_lacks_it(
    seed: int, kinds: tuple[Kind, ...]
) -> None:
    outcome = run_schedule(seed, kinds)
    assert outcome.is_good, outcome.report()


def test_a_seed_tells_the_same_story_again() -> None:
    kinds = (Kind.DISK, Kind.KILL, Kind.SPARK)
    first, second = (run_schedule(7, kinds, is_told=True) for _ in range(2))
    assert [_plain(line) for line in first.story] == [_plain(line) for line in second.story]
    assert first.calls == second.calls
    assert first.lives > 1, "a story with several lives"


def _plain(line: str) -> str:
    """Without the name of the scratch directory."""
    return " ".join(word for word in line.split() if "schedule-" not in word)
