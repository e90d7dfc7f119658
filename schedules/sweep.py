"""Many schedules, one verdict: all good, and everything that should happen sometimes did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from multiprocessing import get_context

import msgspec

from schedules.plan import ACTS, COMMON, Kind
from schedules.run import Outcome, run_schedule

SOMETIMES = (
    *(f"operation: {act}" for acts in (COMMON, *ACTS.values()) for act in acts),
    *(f"fault: {code}" for code in ("EIO", "ENOSPC", "EMFILE", "EACCES")),
    "fault: a segment is damaged",
    "fault: a summary is damaged",
    "spark: a batch comes again",
    "spark: a batch fails",
    "spark: a stream dies after its batch",
    "spark: a stream dies before its batch",
    "spark: an answer fails",
    "the agent ended by itself",
)
"""What must have happened at least once in a sweep that is to prove anything."""
SEEDS_FOR_SOMETIMES = 200
"""A shorter sweep may miss some of them by chance."""


class Sweep(msgspec.Struct):
    """What a number of schedules came to."""

    schedules: int = 0
    operations: int = 0
    faults: int = 0
    kills: int = 0
    lives: int = 0
    calls: int = 0
    answers: int = 0
    lines: int = 0
    virtual_s: float = 0.0
    counts: Counter[str] = msgspec.field(default_factory=Counter)
    failures: list[Outcome] = msgspec.field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        self.schedules += 1
        for name in ("operations", "faults", "kills", "lives", "calls", "answers", "lines"):
            setattr(self, name, getattr(self, name) + getattr(outcome, name))
        self.virtual_s += outcome.virtual_s
        self.counts.update(outcome.counts)
        if not outcome.is_good:
            self.failures.append(outcome)

    @property
    def never(self) -> list[str]:
        """What should have happened sometimes and did not."""
        if self.schedules < SEEDS_FOR_SOMETIMES:
            return []
        return [what for what in SOMETIMES if not self.counts[what]]

    def summary(self) -> str:
        return (
            f"{self.schedules} schedules, {self.virtual_s / 3600:.1f} virtual hours, "
            f"{self.operations} operations, {self.faults} faults, {self.kills} kills in "
            f"{self.lives} lives, {self.calls} calls of the disk, {self.lines} lines, "
            f"{self.answers} answers, {len(self.failures)} failures"
        )


def run_seeds(
    seeds: Iterable[int], *, kinds: Sequence[Kind] | None = None, jobs: int = 1
) -> Iterator[Outcome]:
    """The outcomes in the order of the seeds."""
    run = partial(run_schedule, kinds=kinds)
    if jobs == 1:
        yield from map(run, seeds)
        return
    with get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(run, seeds, chunksize=4)
