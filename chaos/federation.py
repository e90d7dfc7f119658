"""The agents of a run: laid out, started, killed and started again, and gone at the end.

The layout is that of ``headwater up``, but for the roster, which names the proxies' ports and puts
the relay between the root and the other site, for periods that are short enough to see repairs
within a minute, and for certificates that were issued days ago, as they were in the field: a clock
that is set back a day must find them valid.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec

from chaos.clocks import Clocks
from chaos.links import Links
from chaos.places import AGENTS, ROOT
from chaos.processes import java_children, session_members
from chaos.steps import Trap
from headwater.agent.control import control_api as api
from headwater.agent.control.operator_client import remove_stream, run_statements
from headwater.errors import ConfigurationError
from headwater.local.up import OPERATOR, ROSTER, is_ready, lay_out, write_roster
from headwater.net.control.control_client import ControlClient
from headwater.net.identity import certs
from headwater.net.identity.certs import CertFiles
from headwater.plan.roster import Roster, Site

READY_S_MAX = 240.0
END_S_MAX = 30.0
ANOTHER_JVM_S_MAX = 90.0
"""The keeper pauses for up to a minute before it starts a JVM when several have died young."""
LOOK_EVERY_S = 0.1
ISSUED_BEFORE = timedelta(days=3)

TUNING = """poll_s = 0.5

[edge]
summary_life_s = 6.0
seal_every_s = 2.0
state_every_s = 2.0
tally_every_s = 2.0

[overlay]
summary_life_s = 6.0
net_dist_ceiling_s = 2.0
dial_last_s = 2.0

[root]
summary_life_s = 6.0
ack_every_s = 1.0
answer_retry_last_s = 4.0
"""
"""Shorter than in the field, so that repairs happen within a run. It follows ``[sources]``."""


class LivenessFailure(Exception):
    """An agent did not do in time what it should have done."""


class Agents:
    """The processes of one run, and the links between them."""

    def __init__(self, directory: Path, clocks: Clocks | None = None) -> None:
        """Without ``clocks`` all agents have the machine's."""
        self.directory = directory
        self.clocks = clocks
        self.links = Links()
        self.lives = dict.fromkeys(AGENTS, 0)
        """How often each was started."""
        self.may_end: set[str] = set()
        """Agents that may end by themselves now: what they can't do without was taken from them."""
        self.ended: list[str] = []
        """Agents that ended by themselves all the same."""
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._sessions: set[int] = set()
        self._ports: dict[str, int] = {}

    # Their life as a whole

    def lay_out(self) -> None:
        with mock.patch.object(certs, "BACKDATED", ISSUED_BEFORE):
            roster = lay_out(self.directory, site_count=2, relays=1)
        self._ports = {site.name: site.port for site in roster.sites}
        sites = tuple(
            self._behind_proxy(roster.site(name), ordinal) for ordinal, name in enumerate(AGENTS)
        )
        proxied = Roster(version=roster.version, sites=sites, home=ROOT)
        (self.directory / ROSTER).unlink()
        write_roster(self.directory, self.directory.name, proxied)
        for name in AGENTS:
            with (self.directory / name / "agent.toml").open("a") as file:
                file.write(TUNING)

    def _behind_proxy(self, site: Site, ordinal: int) -> Site:
        """The first of a region heads it: the relay, since its ordinal is lower than the site's."""
        port = self.links.open(site.name, target_port=site.port)
        region = "home" if site.name == ROOT else "away"
        return msgspec.structs.replace(site, ordinal=ordinal, port=port, region=region)

    def start_all(self) -> None:
        for name in AGENTS:
            self.start(name)
        self.await_all_ready()

    def await_all_ready(self) -> None:
        for name in AGENTS:
            self.await_ready(name)

    def close(self) -> list[str]:
        """End everything that was started; returns what outlived its agent."""
        for name, process in self._processes.items():
            self._note_end(name)
            self._note_jvms(name)
            self.unpause(name)
            process.terminate()
        for process in self._processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_S_MAX)
            process.kill()
            process.wait()
        self.links.close()
        return list(self._end_left_behind())

    def _end_left_behind(self) -> Iterator[str]:
        """A JVM ends soon after its agent, by itself; whoever does not is named and ended."""
        deadline_s = time.monotonic() + END_S_MAX
        while (left := session_members(self._sessions)) and time.monotonic() < deadline_s:
            time.sleep(LOOK_EVERY_S)
        for pid, command in left.items():
            yield f"process {pid} was left behind: {command[:200]}"
            _signal(pid, signal.SIGKILL)

    # One of them

    def start(self, name: str) -> None:
        assert not self.is_running(name), f"{name} runs already"
        self._note_end(name)
        process = self._spawn(name)
        self._processes[name] = process
        self._sessions.add(process.pid)
        self.lives[name] += 1

    def _note_end(self, name: str) -> None:
        """Of a process that ended and was not killed: a supervisor hides it, so we must not."""
        process = self._processes.get(name)
        code = None if process is None else process.poll()
        if code is None or code == -signal.SIGKILL:
            return
        if name in self.may_end:
            self.may_end.discard(name)
        else:
            words = self.log_tail(name, lines=1)
            self.ended.append(f"{name} ended by itself (exit {code}): {words}")

    def _spawn(self, name: str) -> subprocess.Popen[bytes]:
        """As ``up`` does it, with a clock of its own and traps on its way."""
        here = Path(__file__).parents[1]
        clock = {} if self.clocks is None else self.clocks.environment(name)
        paths = (str(here), os.environ.get("PYTHONPATH", ""))
        with (self.directory / name / "agent.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "chaos.agent", str(self.directory / name / "agent.toml")],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **clock},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def pid(self, name: str) -> int:
        return self._processes[name].pid

    def trap(self, name: str) -> Trap:
        return Trap(self.directory / name)

    def is_running(self, name: str) -> bool:
        return name in self._processes and self._processes[name].poll() is None

    def is_ready(self, name: str) -> bool:
        process = self._processes[name]
        return process.poll() is None and is_ready(self.directory, name, process.pid)

    def await_ready(self, name: str) -> None:
        """Wait for it; an agent that ended instead is started again, as a supervisor would."""
        deadline_s = time.monotonic() + READY_S_MAX
        while not self.is_ready(name):
            if time.monotonic() > deadline_s:
                raise LivenessFailure(f"{name} is not ready after {READY_S_MAX:.0f} s")
            if not self.is_running(name):
                self.start(name)
            time.sleep(LOOK_EVERY_S)
        self._note_jvms(name)

    def kill(self, name: str, *, with_jvm: bool = False) -> None:
        """SIGKILL; its JVM ends by itself a moment later, or is killed as well."""
        jvms = self._note_jvms(name)
        process = self._processes[name]
        process.kill()
        process.wait()
        for pid in jvms if with_jvm else ():
            _signal(pid, signal.SIGKILL)

    def kill_jvm(self, name: str) -> list[int]:
        """SIGKILL for the JVM alone, also for one that is starting; which it was, if any."""
        jvms = self._note_jvms(name)
        for pid in jvms:
            _signal(pid, signal.SIGKILL)
        return jvms

    def await_end(self, name: str) -> bool:
        """Whether the agent ended by itself within ``END_S_MAX``."""
        try:
            self._processes[name].wait(END_S_MAX)
        except subprocess.TimeoutExpired:
            return False
        return True

    def jvms(self, name: str) -> list[int]:
        """The JVM that it has now, if any."""
        return java_children(self.pid(name))

    def await_another_jvm(self, name: str, before: Sequence[int]) -> bool:
        """Whether in time the agent has another JVM than before, or has ended."""
        deadline_s = time.monotonic() + ANOTHER_JVM_S_MAX
        while self.is_running(name) and not set(self.jvms(name)) - set(before):
            if time.monotonic() > deadline_s:
                return False
            time.sleep(LOOK_EVERY_S)
        return True

    def pause(self, name: str, *, is_agent: bool = True, is_jvm: bool = False) -> None:
        """The agent first: it shall not see its JVM stand still."""
        if is_agent:
            self._processes[name].send_signal(signal.SIGSTOP)
        for pid in self.jvms(name) if is_jvm else ():
            _signal(pid, signal.SIGSTOP)

    def unpause(self, name: str) -> None:
        for pid in self.jvms(name):
            _signal(pid, signal.SIGCONT)
        self._processes[name].send_signal(signal.SIGCONT)

    def forget_checkpoint(self, name: str) -> None:
        """While it is down."""
        shutil.rmtree(self.state(name) / "spark", ignore_errors=True)

    def state(self, name: str) -> Path:
        return self.directory / name / "state"

    def log_tail(self, name: str, *, lines: int = 15) -> str:
        text = (self.directory / name / "agent.log").read_text(errors="replace")
        return "\n".join(line[:400] for line in text.splitlines()[-lines:])

    def _note_jvms(self, name: str) -> list[int]:
        """The JVMs that it has now; none of them may be left in the end."""
        found = self.jvms(name)
        self._sessions.update(found)
        return found

    # What an operator asks

    def run(self, sql: str) -> api.RunReply:
        return asyncio.run(self._run(sql))

    async def _run(self, sql: str) -> api.RunReply:
        async with self._client(ROOT) as client:
            return await run_statements(client.request, sql, client.signature)

    def reinstall(self, stream: str, sql: str, *, gap_s: float) -> api.RunReply:
        """Remove a stream and install it again after so long, over one connection."""
        return asyncio.run(self._reinstall(stream, sql, gap_s))

    async def _reinstall(self, stream: str, sql: str, gap_s: float) -> api.RunReply:
        async with self._client(ROOT) as client:
            with contextlib.suppress(ConfigurationError):  # an earlier try may have removed it
                await remove_stream(client.request, stream, client.signature)
            await asyncio.sleep(gap_s)
            return await run_statements(client.request, sql, client.signature)

    def why(self, stream: str, window: str) -> str:
        """What the root says of a window, for the report of a failure."""
        request = {"stream": stream, "window": window}
        try:
            return str(asyncio.run(self._ask(ROOT, api.WHY, request))["text"])
        except Exception as error:
            return f"no word from the root: {error!r}"

    async def _ask(self, name: str, request: str, payload: dict[str, Any]) -> Any:
        async with self._client(name) as client:
            return await client.request(request, payload)

    def _client(self, name: str) -> ControlClient:
        """Past the proxy, so that a cut link is no obstacle."""
        held = self.directory / "certs"
        files = CertFiles(held / "ca.pem", held / f"{OPERATOR}.pem", held / f"{OPERATOR}.key")
        return ControlClient("127.0.0.1", self._ports[name], files, site=name)


def _signal(pid: int, which: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, which)
