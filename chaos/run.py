"""One run from layout to verdict."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from chaos import failing_disk
from chaos.acts import CLOCK_TROUBLES, Act, Kind
from chaos.checker import Checker, ClockSteps
from chaos.clocks import Clocks
from chaos.federation import Agents, LivenessFailure
from chaos.listener import Listener
from chaos.nemesis import Nemesis
from chaos.outcome import Outcome
from chaos.places import AGENTS, CHURNED, DATA_SITES, ROOT
from chaos.small_disk import SmallDisk
from chaos.truth import WINDOW_US, Truth
from chaos.workload import LOG, Writer
from headwater.agent.control import control_api as api
from headwater.errors import HeadwaterError

DISORDER_S, LATENESS_S = 2.0, 20.0
STREAM = "numbered"
STATEMENTS = """
CREATE SOURCE {source} (id BIGINT, ts TIMESTAMP, site STRING)
  WITH (format = 'csv', path = '{log}*', time = 'ts');

CREATE STREAM {stream} WITH (
  deadline = '4s', disorder = '{disorder_s:g}s', lateness = '{lateness_s:g}s', revise_every = '1s'
) AS SELECT id, count(*) AS n FROM {source} GROUP BY window(ts, '{window_s} seconds'), id;
"""
"""The answer's rows are the set of the window's records."""
GRACE_S = 120.0
"""After the last fault every window must be final within this time, and ``LATENESS_S``."""
LOOK_EVERY_S = 1.0
EXPLAINED_MAX = 3
"""Unsettled windows of which the root is asked why."""
FIRST_ANSWER_S_MAX = 120.0
INSTALL_TRIES_MAX = 5
BEGIN_S_MAX = 60.0
"""A stream that is installed now begins within this time."""
CHURNED_WINDOWS = 2
"""Windows that the stream which comes and goes must have in the end."""


@dataclass(frozen=True)
class Plan:
    """What a run does."""

    acts: Callable[[Collection[Kind]], Sequence[Act]]
    """The nemesis' acts, told which kinds this machine can't have."""
    seed: int
    lines_per_s: float = 20.0
    """At each site."""
    wants: Collection[Kind] = tuple(Kind)
    """Kinds that may be among the acts; what they need is made ready."""
    keeps_state: bool = False
    """Small disks are copied before they are gone."""


def run(plan: Plan, directory: Path, *, say: Callable[[str], None] = print) -> Outcome:
    """Everything that was started has ended when this returns."""
    outcome = Outcome()
    agents = Agents(directory, _clocks(plan, directory, outcome))
    agents.lay_out()
    with _small_disks(plan, agents, outcome) as disks:
        _look_for_strace(plan, outcome)
        try:
            _Run(plan, agents, disks, outcome, say).perform()
        except LivenessFailure as failure:
            outcome.failures.append(str(failure))
        finally:
            if not outcome.is_good:
                outcome.evidence = "\n".join(
                    f"--- {name}\n{agents.log_tail(name)}" for name in AGENTS
                )
            outcome.failures += [*agents.close(), *agents.ended]
    return outcome


def _clocks(plan: Plan, directory: Path, outcome: Outcome) -> Clocks | None:
    if not set(CLOCK_TROUBLES) & set(plan.wants):
        return None
    clocks = Clocks.find(directory / "clocks")
    if isinstance(clocks, str):
        outcome.skipped.update(dict.fromkeys(CLOCK_TROUBLES, clocks))
        return None
    return clocks


def _look_for_strace(plan: Plan, outcome: Outcome) -> None:
    trouble = failing_disk.why_not() if Kind.FAIL_DISK in plan.wants else ""
    if trouble:
        outcome.skipped[Kind.FAIL_DISK] = trouble


@contextmanager
def _small_disks(plan: Plan, agents: Agents, outcome: Outcome) -> Iterator[dict[str, SmallDisk]]:
    """Under the state of each site with data, where this machine lets us."""
    disks: dict[str, SmallDisk] = {}
    try:
        for name in DATA_SITES if Kind.FILL_DISK in plan.wants else ():
            disk = SmallDisk.mount(agents.state(name))
            if isinstance(disk, str):
                outcome.skipped[Kind.FILL_DISK] = disk
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
        self,
        plan: Plan,
        agents: Agents,
        disks: dict[str, SmallDisk],
        outcome: Outcome,
        say: Callable[[str], None],
    ) -> None:
        self._plan = plan
        self._agents = agents
        self._disks = disks
        self._outcome = outcome
        self._say = say
        self._truth = Truth()
        self._clocks = ClockSteps()
        if agents.clocks is not None:
            agents.clocks.heard = self._clocks.note
        self._streams = {name: self._listener(name) for name in (STREAM, CHURNED)}
        self._installed: dict[str, api.Installed] = {}

    def _listener(self, stream: str) -> Listener:
        def new_checker() -> Checker:
            return Checker(
                self._truth,
                DATA_SITES,
                disorder_s=DISORDER_S,
                root=ROOT,
                clocks=self._clocks,
                verdict=self._outcome.verdict,
            )

        return Listener(self._agents.state(ROOT) / "results" / stream, new_checker)

    def perform(self) -> None:
        acts = self._plan.acts(tuple(self._outcome.skipped))
        self._agents.start_all()
        self._say("all agents are ready")
        writers = [
            Writer(
                site,
                self._agents.directory / site / "data",
                self._truth,
                lines_per_s=self._plan.lines_per_s,
                seed=self._plan.seed,
            )
            for site in DATA_SITES
        ]
        for writer in writers:
            writer.start()
        try:
            self._install(STREAM)
            if any(fault.kind is Kind.REINSTALL for act in acts for fault in act.faults):
                self._install(CHURNED)
            self._await_first_answer()
            self._trouble(acts)
            self._await_churned()
        finally:
            for writer in writers:
                writer.stop()
        self._outcome.records = len(self._truth.records)
        self._settle(until_us=int(time.time() * 1e6) // WINDOW_US * WINDOW_US)

    def _install(self, stream: str) -> None:
        self._note_installed(self._agents.run(_sql(stream)))

    def _note_installed(self, reply: api.RunReply) -> None:
        (installed,) = reply.installed
        self._installed[installed.stream] = installed
        self._say(f"installed {installed.id}; the first window begins at {installed.begin}")

    def _await_first_answer(self) -> None:
        """So that the faults meet streams at work."""
        deadline_s = time.monotonic() + FIRST_ANSWER_S_MAX
        while not all(self._streams[name].heard for name in self._installed):
            if time.monotonic() > deadline_s:
                raise LivenessFailure(f"no answer within {FIRST_ANSWER_S_MAX:.0f} s")
            time.sleep(LOOK_EVERY_S)
            self._hear()

    def _trouble(self, acts: Sequence[Act]) -> None:
        nemesis = Nemesis(self._agents, self._disks, self._say, self._reinstall)
        try:
            nemesis.perform(acts, between=self._hear)
        finally:
            self._outcome.kills = nemesis.kill_count
            self._outcome.killed_at_work = nemesis.killed_at_work
            self._outcome.faults = {str(kind): n for kind, n in nemesis.struck.items() if n}
            self._outcome.steps = {str(step): n for step, n in nemesis.steps.items()}
            self._outcome.missed = nemesis.missed
            self._outcome.failures += nemesis.failures
            self._outcome.lives = self._agents.lives
        self._agents.await_all_ready()
        self._say("the faults are over, all agents are ready")

    def _reinstall(self, gap_s: float) -> None:
        """Tried again where the root is in trouble, as an operator would."""
        for _ in range(INSTALL_TRIES_MAX):
            try:
                reply = self._agents.reinstall(CHURNED, _sql(CHURNED), gap_s=gap_s)
            except HeadwaterError as error:
                self._say(f"not installed: {error}")
                time.sleep(LOOK_EVERY_S)
                self._agents.await_all_ready()
            else:
                self._note_installed(reply)
                return
        raise LivenessFailure(f"{CHURNED} can't be installed")

    def _await_churned(self) -> None:
        """Records go on until its last query has some windows, so that it can be seen at work."""
        if CHURNED not in self._installed:
            return
        enough_s = _begin_us(self._installed[CHURNED]) / 1e6 + CHURNED_WINDOWS * WINDOW_US / 1e6
        deadline_s = time.monotonic() + BEGIN_S_MAX
        while time.time() < enough_s:
            if time.monotonic() > deadline_s:
                begin = self._installed[CHURNED].begin
                raise LivenessFailure(f"{CHURNED} begins at {begin}: too far from now")
            time.sleep(LOOK_EVERY_S)
            self._hear()

    def _settle(self, *, until_us: int) -> None:
        healed_s = time.monotonic()
        while time.monotonic() < healed_s + LATENESS_S + GRACE_S:
            self._hear()
            if all(
                self._checker(one).is_settled(first_us=_begin_us(one), until_us=until_us)
                for one in self._installed.values()
            ):
                self._outcome.recovered_s = time.monotonic() - healed_s
                break
            time.sleep(LOOK_EVERY_S)
        for one in self._installed.values():
            self._judge(one, until_us)
        for listener in self._streams.values():
            listener.end()

    def _checker(self, installed: api.Installed) -> Checker:
        return self._streams[installed.stream].checker(installed.id)

    def _judge(self, installed: api.Installed, until_us: int) -> None:
        checker, first_us = self._checker(installed), _begin_us(installed)
        checker.settle(first_us=first_us, until_us=until_us)
        unsettled = checker.unsettled(first_us=first_us, until_us=until_us)
        for start_us in list(unsettled)[:EXPLAINED_MAX]:
            self._say(self._agents.why(installed.stream, str(start_us // WINDOW_US)))

    def _hear(self) -> None:
        for listener in self._streams.values():
            listener.hear()


def _sql(stream: str) -> str:
    return STATEMENTS.format(
        source=f"log_of_{stream}",
        log=LOG,
        stream=stream,
        disorder_s=DISORDER_S,
        lateness_s=LATENESS_S,
        window_s=WINDOW_US // 1_000_000,
    )


def _begin_us(installed: api.Installed) -> int:
    return round(datetime.fromisoformat(installed.begin).timestamp() * 1e6)
