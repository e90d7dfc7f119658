"""One run from layout to verdict."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from chaos.checker import Answer, Checker, Verdict
from chaos.federation import Agents, LivenessFailure
from chaos.nemesis import Act, Nemesis
from chaos.places import AGENTS, DATA_SITES, ROOT
from chaos.small_disk import SmallDisk
from chaos.truth import WINDOW_US, Truth
from chaos.workload import LOG, Writer
from headwater.store.results import ResultsReader

DISORDER_S, LATENESS_S = 2.0, 20.0
STREAM = "numbered"
SQL = f"""
CREATE SOURCE log (id BIGINT, ts TIMESTAMP, site STRING)
  WITH (format = 'csv', path = '{LOG}*', time = 'ts');

CREATE STREAM {STREAM} WITH (
  deadline = '4s', disorder = '{DISORDER_S:g}s', lateness = '{LATENESS_S:g}s', revise_every = '1s'
) AS SELECT id, count(*) AS n FROM log GROUP BY window(ts, '{WINDOW_US // 1_000_000} seconds'), id;
"""
"""The answer's rows are the set of the window's records."""
GRACE_S = 120.0
"""After the last fault every window must be final within this time, and ``LATENESS_S``."""
LOOK_EVERY_S = 1.0
FIRST_ANSWER_S_MAX = 120.0


@dataclass(frozen=True)
class Plan:
    """What a run does."""

    acts: Callable[[Sequence[str]], Sequence[Act]]
    """The nemesis' acts, told whose disks can be filled."""
    seed: int
    lines_per_s: float = 20.0
    """At each site."""
    wants_small_disks: bool = True
    keeps_state: bool = False
    """Small disks are copied before they are gone."""


@dataclass
class Outcome:
    verdict: Verdict = field(default_factory=Verdict)
    kills: int = 0
    killed_at_work: int = 0
    """Kills that met an agent that was ready."""
    faults: dict[str, int] = field(default_factory=dict)
    records: int = 0
    lives: dict[str, int] = field(default_factory=dict)
    recovered_s: float | None = None
    """From the last fault to the last window's final answer; the lateness is part of it."""
    failures: list[str] = field(default_factory=list)
    """Beyond the verdict: agents that did not end or come up, processes left behind."""
    skipped: str = ""
    """Faults that this machine can't have, and why."""
    evidence: str = ""
    """What the root and the agents said, where something failed."""

    @property
    def is_good(self) -> bool:
        return self.verdict.is_safe and self.verdict.is_live and not self.failures

    def text(self) -> str:
        faults = ", ".join(f"{kind} {count}" for kind, count in sorted(self.faults.items()))
        took = "never" if self.recovered_s is None else f"{self.recovered_s:.0f} s"
        lines = [
            f"{self.records} records; {self.kills} kills, {self.killed_at_work} of agents at work",
            f"faults: {faults}; agents started: {self.lives}",
            f"all final after the last fault: {took}",
            self.verdict.text(),
            *(f"failure: {text}" for text in self.failures),
            *([f"skipped: {self.skipped}"] if self.skipped else []),
            *([self.evidence] if self.evidence else []),
        ]
        return "\n".join(lines)


def run(plan: Plan, directory: Path, *, say: Callable[[str], None] = print) -> Outcome:
    """Everything that was started has ended when this returns."""
    outcome = Outcome()
    agents = Agents(directory)
    agents.lay_out()
    with _small_disks(plan, agents, outcome) as disks:
        try:
            _Run(plan, agents, disks, outcome, say).perform()
        except LivenessFailure as failure:
            outcome.failures.append(str(failure))
        finally:
            if not outcome.is_good:
                outcome.evidence = "\n".join(
                    f"--- {name}\n{agents.log_tail(name)}" for name in AGENTS
                )
            outcome.failures += agents.close()
    return outcome


@contextmanager
def _small_disks(plan: Plan, agents: Agents, outcome: Outcome) -> Iterator[dict[str, SmallDisk]]:
    """Under the state of each site with data, where this machine lets us."""
    disks: dict[str, SmallDisk] = {}
    try:
        for name in DATA_SITES if plan.wants_small_disks else ():
            disk = SmallDisk.mount(agents.state(name))
            if isinstance(disk, str):
                outcome.skipped = f"filling a disk: {disk}"
            else:
                disks[name] = disk
        yield disks
    finally:
        for name, disk in disks.items():
            if plan.keeps_state:
                copy = agents.state(name).with_name("state-at-the-end")
                shutil.copytree(agents.state(name), copy, ignore_dangling_symlinks=True)
            disk.unmount()


class _Run:
    """The parts of a run, in the order in which they are called."""

    def __init__(
        self, plan: Plan, agents: Agents, disks: dict[str, SmallDisk], outcome: Outcome,
        say: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._plan = plan
        self._agents = agents
        self._disks = disks
        self._outcome = outcome
        self._say = say
        self._truth = Truth()
        self._checker = Checker(self._truth, DATA_SITES, disorder_s=DISORDER_S)
        self._reader = ResultsReader(agents.state(ROOT) / "results" / STREAM)
        self._heard = 0
        self._first_us = 0

    def perform(self) -> None:
        self._outcome.verdict = self._checker.verdict
        self._agents.start_all()
        self._say("all agents are ready")
        writers = [
            Writer(
                site, self._agents.directory / site / "data", self._truth,
                lines_per_s=self._plan.lines_per_s, seed=self._plan.seed,
            )
            for site in DATA_SITES
        ]  # fmt: skip
        for writer in writers:
            writer.start()
        try:
            self._install()
            self._trouble()
        finally:
            for writer in writers:
                writer.stop()
        self._outcome.records = len(self._truth.records)
        self._settle(until_us=int(time.time() * 1e6) // WINDOW_US * WINDOW_US)

    def _install(self) -> None:
        """And wait for the first answer, so that the faults meet a stream at work."""
        begin = self._agents.run(SQL).installed[0].begin
        self._first_us = round(datetime.fromisoformat(begin).timestamp() * 1e6)
        self._say(f"installed; the first window begins at {begin}")
        deadline_s = time.monotonic() + FIRST_ANSWER_S_MAX
        while not self._heard:
            if time.monotonic() > deadline_s:
                raise LivenessFailure(f"no answer within {FIRST_ANSWER_S_MAX:.0f} s")
            time.sleep(LOOK_EVERY_S)
            self._hear()

    def _trouble(self) -> None:
        nemesis = Nemesis(self._agents, self._disks, self._say)
        acts = self._plan.acts(sorted(self._disks))
        try:
            nemesis.perform(acts, between=self._hear)
        finally:
            self._outcome.kills = nemesis.kill_count
            self._outcome.killed_at_work = nemesis.killed_at_work
            self._outcome.faults = {str(kind): n for kind, n in nemesis.struck.items()}
            self._outcome.failures += nemesis.failures
            self._outcome.lives = self._agents.lives
        self._agents.await_all_ready()
        self._say("the faults are over, all agents are ready")

    def _settle(self, *, until_us: int) -> None:
        healed_s = time.monotonic()
        span = {"first_us": self._first_us, "until_us": until_us}
        while time.monotonic() < healed_s + LATENESS_S + GRACE_S:
            self._hear()
            if self._checker.is_settled(**span):
                self._outcome.recovered_s = time.monotonic() - healed_s
                break
            time.sleep(LOOK_EVERY_S)
        verdict = self._checker.settle(**span)
        for text in verdict.unsettled[:3]:
            start_us = int(text.split()[1].rstrip(":"))
            self._say(self._agents.why(STREAM, str(start_us // WINDOW_US)))

    def _hear(self) -> None:
        """What was published since the last look."""
        for seq in self._reader.publications(after=self._heard):
            for envelope in self._reader.envelopes(seq):
                rows = self._reader.answer(seq, envelope)
                numbers = [] if rows is None else rows.select(["id", "n"]).to_pylist()
                found = [(row["id"], row["n"]) for row in numbers]
                self._checker.hear(Answer(envelope, found))
            self._heard = seq
