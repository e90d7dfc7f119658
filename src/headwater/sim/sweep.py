"""Many seeds, one verdict: all runs good, and everything that should happen sometimes did.

A sweep in which no spare was ever used proves nothing about spares; so it fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from multiprocessing import get_context

import msgspec

from headwater.overlay.lie_book import LieKind
from headwater.sim.check.check_answers import WITHHELD_SOMETIMES
from headwater.sim.check.check_fidelity import DEMANDS_SOMETIMES
from headwater.sim.check.check_past import PAST_SOMETIMES
from headwater.sim.check.kinds.check_absence import ABSENCE_SOMETIMES
from headwater.sim.check.kinds.check_growing import GROWING_SOMETIMES
from headwater.sim.check.kinds.check_levels import LEVELS_SOMETIMES
from headwater.sim.check.kinds.check_questions import QUESTIONS_SOMETIMES
from headwater.sim.check.kinds.check_sessions import SESSIONS_SOMETIMES
from headwater.sim.faults.clock_lies import BENT
from headwater.sim.faults.faults import WEIGHTS, Fault, Kind
from headwater.sim.faults.liar import FLOOD, LIES
from headwater.sim.outcome import Outcome
from headwater.sim.scenario import FAULT_S, SITE_COUNT, Scenario, draw_scenario
from headwater.sim.world.world import World

SOMETIMES = (
    "a budget held something back",
    "a disputed piece was replaced",
    "a late update was kept",
    "a message came twice",
    "a message was lost on a link",
    "a name was taken by a second query",
    "a pane expired",
    "a pane of several updates was told in a range",
    "a query was installed while others ran",
    "a query's budget held it back",
    "a query was removed at a site",
    "a root took an incarnation above a former one",
    "a site lost its disk",
    "a site took an incarnation above a former one",
    "a site was missing: closed",
    "a site was missing: declined",
    "a site was missing: unknown",
    "a spare was sent",
    "a spare was used",
    "a state was sent for several panes",
    "a state was split on the way",
    "a summary came back unsent",
    "an answer was final",
    "an answer was final, not exact",
    "an empty pane was closed",
    "an exact answer was revised",
    "an incomplete answer became exact",
    "a further update was sent",
    "backlog was merged on the way",
    "empty panes were told in bulk",
    "live was merged on the way",
    "panes of an age query were cut",
    "several updates of the same sites were merged",
    "sites with several updates became a group",
    "the offset of an age query was taken in one step",
    "updates were told by bitmaps",
    "notice: edge clock is off",
    "notice: edge clock is right",
    "notice: edge refused",
    "notice: edge root began anew",
    "notice: node clock steps",
    "notice: node clock was set",
    "notice: edge paused",
    "notice: edge pause is over",
    "notice: edge repairs wait",
    "notice: overlay dials wait",
    "notice: overlay expired",
    "notice: overlay full",
    "notice: overlay hosts wait",
    "notice: overlay late",
    "notice: overlay paused",
    "notice: overlay silent",
    "notice: overlay unmerged",
    "root: answer failed",
    "root: contained",
    "root: mistagged",
    "root: disputed",
    "root: parked",
    "the root crashed in the midst of an answer",
    *ABSENCE_SOMETIMES,
    *DEMANDS_SOMETIMES,
    *GROWING_SOMETIMES,
    *LEVELS_SOMETIMES,
    *PAST_SOMETIMES,
    *QUESTIONS_SOMETIMES,
    *SESSIONS_SOMETIMES,
    *WITHHELD_SOMETIMES,
    *(f"fault: {kind.value}" for kind in (*WEIGHTS, Kind.SLOW_MACHINE, Kind.LIES)),
    *(f"a lie was told: {what}" for what in (*LIES, *BENT, FLOOD)),
    *(f"a lie was written down: {kind}" for kind in LieKind),
    "notice: overlay clock set aside",
    "the clock of a root was confirmed",
    "the clock of a root was proven",
    "the clock of a root was unconfirmed",
)
"""What must have happened at least once in a sweep that is to prove anything."""
SEEDS_FOR_SOMETIMES = 200
"""A shorter sweep may miss some of them by chance."""
SHRINK_RUNS_MAX = 200
Make = Callable[[Scenario], World]


class Sweep(msgspec.Struct):
    """What a number of runs came to."""

    seeds: int = 0
    virtual_s: float = 0.0
    event_count: int = 0
    fault_count: int = 0
    counts: Counter[str] = msgspec.field(default_factory=Counter)
    failures: list[Outcome] = msgspec.field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        self.seeds += 1
        self.virtual_s += outcome.virtual_s
        self.event_count += outcome.event_count
        self.fault_count += len(outcome.faults)
        self.counts.update(outcome.counts)
        if not outcome.is_good:
            self.failures.append(outcome)

    @property
    def never(self) -> list[str]:
        """What should have happened sometimes and did not."""
        if self.seeds < SEEDS_FOR_SOMETIMES:
            return []
        return [what for what in SOMETIMES if not self.counts[what]]

    def summary(self) -> str:
        return (
            f"{self.seeds} seeds, {self.virtual_s / 3600:.1f} virtual hours, "
            f"{self.event_count} events, {self.fault_count} faults, "
            f"{len(self.failures)} failures"
        )


class Size(msgspec.Struct, frozen=True):
    """How large the worlds of a sweep are, and how long they are troubled."""

    site_count: int = SITE_COUNT
    fault_s: float = FAULT_S

    def draw(self, seed: int) -> Scenario:
        return draw_scenario(seed, site_count=self.site_count, fault_s=self.fault_s)

    @property
    def options(self) -> str:
        """What the command line needs to make the same worlds again."""
        if self == Size():
            return ""
        return f" --sites {self.site_count} --fault-seconds {self.fault_s:g}"


USUAL = Size()


def run_seed(seed: int, size: Size = USUAL) -> Outcome:
    return World(size.draw(seed)).run()


def run_seeds(seeds: Iterable[int], *, size: Size = USUAL, jobs: int = 1) -> Iterator[Outcome]:
    """The outcomes in the order of the seeds."""
    run = partial(run_seed, size=size)
    if jobs == 1:
        yield from map(run, seeds)
        return
    with get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(run, seeds, chunksize=4)


def shrink(outcome: Outcome, scenario: Scenario, *, make: Make = World) -> Outcome:
    """The same failure with as few faults as it takes: leave one out while it still fails."""
    best, runs = outcome, 0
    is_shorter = True
    while is_shorter:
        is_shorter = False
        for fault in best.faults:
            if runs >= SHRINK_RUNS_MAX:
                return best
            runs += 1
            tried = make(with_faults(scenario, without(best.faults, fault))).run()
            if tried.rule == outcome.rule:
                best, is_shorter = tried, True
                break
    return best


def without(faults: tuple[Fault, ...], left_out: Fault) -> tuple[Fault, ...]:
    return tuple(fault for fault in faults if fault is not left_out)


def with_faults(scenario: Scenario, faults: tuple[Fault, ...]) -> Scenario:
    return msgspec.structs.replace(scenario, faults=faults)
