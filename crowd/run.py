"""One run from layout to verdict: calm, the root stopped, after it, its disk slow, after that."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import msgspec
from chaos.federation import LivenessFailure
from chaos.fleet import await_that
from chaos.truth import Truth
from chaos.workload import LOG

from crowd.answers import Answers
from crowd.checks import checked
from crowd.meter import read_samples
from crowd.outcome import Outcome, Phase
from crowd.parties import BESIDE, HOME, HOST, Crowd, Party, data, lay_out, operator_files, results
from crowd.process import ready_file, sample_file
from crowd.writer import Writer
from headwater.agent.control import control_api as api
from headwater.agent.control.operator_client import run_statements
from headwater.net.control.control_client import ControlClient
from headwater.plan.roster import Roster

DISORDER_S, DEADLINE_S = 1.0, 5.0
STATEMENTS = """
CREATE SOURCE log (id BIGINT, ts TIMESTAMP, site STRING)
  WITH (format = 'csv', path = '{log}*', time = 'ts');
{streams}
"""
STREAM = """
CREATE STREAM {stream} WITH (
  root = '{root}', deadline = '{deadline_s:g}s', disorder = '{disorder_s:g}s',
  lateness = '{lateness_s:g}s', revise_every = '1s'
) AS SELECT id, count(*) AS n, sum(id) AS total FROM log
GROUP BY window(ts, '{window_s:g} seconds'), id;
"""
WINDOWS_S = {HOME: 5.0, BESIDE: 10.0}
READY_S_MAX = 120.0
LINKED_S_MAX = 120.0
END_S_MAX = 60.0
LOOK_EVERY_S = 0.5
SETTLED_S_MAX = 120.0
"""From the last record: every window is final and exact by then. The lateness is part of it."""


@dataclass(frozen=True)
class Plan:
    """How many agents, and how long each phase is; 0: it is left out."""

    crowd: Crowd = field(default_factory=Crowd)
    lines_per_s: float = 2.0
    """At each generator."""
    settle_s: float = 15.0
    """From the first window to the calm that is measured."""
    calm_s: float = 30.0
    stop_s: float = 10.0
    slow_s: float = 30.0
    after_s: float = 45.0
    """After each trouble."""
    lateness_s: float = 20.0
    """Of the streams; so long after its end a window becomes final at the earliest."""
    seed: int = 1


class Processes:
    """Those of a run, from ``start`` to ``end``."""

    def __init__(self, directory: Path, crowd: Crowd) -> None:
        self._directory = directory
        self._crowd = crowd
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, parties: Sequence[Party]) -> None:
        """And wait until each is ready."""
        for party in parties:
            with (self._directory / f"{party.name}.log").open("ab") as log:
                self._running[party.name] = subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "crowd.process",
                        self._directory,
                        party.name,
                        msgspec.json.encode(self._crowd).decode(),
                    ],
                    cwd=Path(__file__).parents[1],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )

        def are_ready() -> bool:
            self.refuse_ended()
            return all(ready_file(self._directory, one.name).exists() for one in parties)

        await_that(are_ready, READY_S_MAX, why_not=lambda: "not all processes are ready")

    def refuse_ended(self) -> None:
        """Raises ``LivenessFailure`` where one has ended by itself."""
        for name, process in self._running.items():
            if process.poll() is not None:
                log = (self._directory / f"{name}.log").read_text(errors="replace")
                raise LivenessFailure(f"{name} ended ({process.returncode}):\n{log[-2000:]}")

    def tell(self, name: str, which: signal.Signals) -> None:
        os.kill(self._running[name].pid, which)

    def end(self) -> list[str]:
        """In order; those that had to be ended by force."""
        for process in self._running.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        forced = []
        deadline_s = time.monotonic() + END_S_MAX
        for name, process in self._running.items():
            try:
                process.wait(max(0.1, deadline_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                forced.append(name)
                process.kill()
                process.wait()
        return forced


class Run:
    def __init__(self, plan: Plan, directory: Path, say: Callable[[str], None]) -> None:
        self._plan = plan
        self._directory = directory
        self._say = say
        self._crowd = plan.crowd
        self._processes = Processes(directory, plan.crowd)
        truths = {root: Truth(window_us=round(s * 1e6)) for root, s in WINDOWS_S.items()}
        generators = plan.crowd.generators
        self._writer = Writer(
            {name: data(directory, name) for name in generators},
            list(truths.values()),
            lines_per_s=plan.lines_per_s,
            seed=plan.seed,
        )
        self.outcome = Outcome(plan.crowd.parties())
        self.outcome.answers = {
            root: Answers(
                results(directory, root, stream_of(root)),
                truth,
                generators,
                root=root,
                disorder_s=DISORDER_S,
            )
            for root, truth in truths.items()
        }

    def run(self) -> Outcome:
        roster = lay_out(self._directory, self._crowd)
        self._say(f"{self._crowd.agents} agents and two roots are laid out")
        forced: list[str] = []
        try:
            self._processes.start(self._crowd.parties())
            self._say("all processes are ready")
            self._await_links()
            with self._writing():
                self._install(roster)
                self._phases()
            settled_s = self._await_settled()
        finally:
            forced = self._processes.end()
            self._read_samples()
        self.outcome.checks += checked(self.outcome, settled_s=settled_s, forced=forced)
        return self.outcome

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        self._writer.start()
        try:
            yield
        finally:
            self._writer.stop()

    def _await_links(self) -> None:
        """Until nobody dials any more: what a start costs is not what is measured."""

        def are_linked() -> bool:
            self._read_samples()
            newest = [samples[-5:] for samples in self.outcome.samples.values()]
            calm = all(len(five) == 5 for five in newest)
            return calm and not any(one.counts.get("dials") for five in newest for one in five)

        took_s = await_that(are_linked, LINKED_S_MAX, why_not=lambda: "links are still dialled")
        links = sum(samples[-1].links for samples in self.outcome.samples.values())
        self._say(f"{links // 2} links are up, {took_s:.0f} s after the start")

    def _install(self, roster: Roster) -> None:
        streams = "".join(
            STREAM.format(
                stream=stream_of(root),
                root=root,
                window_s=window_s,
                deadline_s=DEADLINE_S,
                disorder_s=DISORDER_S,
                lateness_s=self._plan.lateness_s,
            )
            for root, window_s in WINDOWS_S.items()
        )
        text = STATEMENTS.format(log=LOG, streams=streams)
        installed = asyncio.run(self._command(roster, text)).installed
        self.outcome.first_us = {
            one.root: round(datetime.fromisoformat(one.begin).timestamp() * 1e6)
            for one in installed
        }
        self._say(f"installed; windows begin in {self._first_s() - time.time():.0f} s")

    async def _command(self, roster: Roster, text: str) -> api.RunReply:
        files = operator_files(self._directory)
        port = roster.site(HOME).port
        async with ControlClient(HOST, port, files, site=HOME) as agent:
            return await run_statements(agent.request, text, agent.signature)

    def _first_s(self) -> float:
        return min(self.outcome.first_us.values()) / 1e6

    def _phases(self) -> None:
        plan = self._plan
        self._listen_until(self._first_s() + plan.settle_s)
        self._phase("calm", plan.calm_s)
        if plan.stop_s:
            self._processes.tell(HOME, signal.SIGSTOP)
            self._phase("stopped", plan.stop_s)
            self._processes.tell(HOME, signal.SIGCONT)
            self._phase("after the stop", plan.after_s)
        if plan.slow_s:
            self._processes.tell(HOME, signal.SIGUSR1)
            self._phase("slow disk", plan.slow_s)
            self._processes.tell(HOME, signal.SIGUSR2)
            self._phase("after that", plan.after_s)

    def _phase(self, name: str, seconds: float) -> None:
        self._say(name)
        began_s = time.time()
        self._listen_until(began_s + seconds)
        self.outcome.phases.append(Phase(name, began_s, time.time()))

    def _listen_until(self, until_s: float) -> None:
        while time.time() < until_s:
            self._hear()
            time.sleep(max(0.0, min(LOOK_EVERY_S, until_s - time.time())))

    def _hear(self) -> None:
        self._processes.refuse_ended()
        for answers in self.outcome.answers.values():
            answers.hear()

    def _await_settled(self) -> float | None:
        """How long after the last record all windows were final; None: not in time."""
        ended_s = time.time()
        while time.time() < ended_s + SETTLED_S_MAX:
            self._hear()
            if all(self._is_settled(root, ended_s) for root in WINDOWS_S):
                took_s = time.time() - ended_s
                self._say(f"all windows are final {took_s:.0f} s after the last record")
                break
            time.sleep(LOOK_EVERY_S)
        else:
            took_s = None
        for root, answers in self.outcome.answers.items():
            first_us = self.outcome.first_us[root]
            answers.checker.settle(first_us=first_us, until_us=int(ended_s * 1e6))
        return took_s

    def _is_settled(self, root: str, ended_s: float) -> bool:
        checker = self.outcome.answers[root].checker
        first_us = self.outcome.first_us[root]
        return checker.is_settled(first_us=first_us, until_us=int(ended_s * 1e6))

    def _read_samples(self) -> None:
        self.outcome.samples = {
            party.name: read_samples(sample_file(self._directory, party.name))
            for party in self._crowd.parties()
        }


def stream_of(root: str) -> str:
    return f"numbers_{root}"
