"""The agents under attack: laid out as ``headwater up`` does it, started, asked, started again."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from chaos.processes import java_children, session_members

from headwater.agent.config import SourcesConfig
from headwater.agent.control import control_api as api
from headwater.agent.control.operator_client import remove_stream, run_statements
from headwater.errors import HeadwaterError
from headwater.local.up import (
    OPERATOR,
    _free_ports,
    is_ready,
    laid_out_roster,
    lay_out,
    spawn_agent,
)
from headwater.net.control.control_client import ControlClient
from headwater.net.identity.certs import CertFiles, issue, load_authority
from headwater.net.identity.identity import Role
from hostile import honest

READY_S_MAX = 240.0
END_S_MAX = 30.0
LOOK_EVERY_S = 0.1
ASKED_S_MAX = 20.0
"""For an answer to an operator, whatever goes on meanwhile."""
HAS_DECLARED = "declared" in SourcesConfig.__struct_fields__
"""Whether sites of this version declare their sources."""
REFUSED = "headwater_refused_total{"
SECOND = "second"
"""Another operator."""
ROOT = "site1"
TUNING = """query_batch_s_max = 5.0

[sources]
data = "data"
poll_s = 0.5

[edge]
summary_life_s = 6.0
seal_every_s = 2.0
state_every_s = 2.0

[overlay]
summary_life_s = 6.0
net_dist_ceiling_s = 2.0
dial_last_s = 2.0

[root]
summary_life_s = 6.0
ack_every_s = 1.0
"""
"""Shorter than in the field, so that what an attack held up is repaired within a run."""


class Agents:
    """The processes of one run."""

    def __init__(self, directory: Path, *, site_count: int, has_spark: bool = True) -> None:
        """The last of the sites is the thief's, and nobody runs it."""
        self.directory = directory
        self.has_spark = has_spark
        self.roster = lay_out(directory, site_count=site_count, relays=1)
        self.signed = laid_out_roster(directory)
        self.federation = self.signed.federation
        self.thief = f"site{site_count}"
        self.sites = tuple(f"site{n}" for n in range(1, site_count))
        self.names = (*self.sites, "relay1")
        self._metrics = dict(zip(self.names, _free_ports(len(self.names)), strict=True))
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._sessions: set[int] = set()
        issue(load_authority(directory / "certs"), Role.OPERATOR, SECOND)
        for name in self.names:
            path = directory / name / "agent.toml"
            text = path.read_text().replace('\n[sources]\ndata = "data"\n', TUNING)
            text = text if has_spark else text.replace('mode = "local"', 'mode = "none"')
            path.write_text(f"metrics_port = {self._metrics[name]}\n{text}{self._declared()}")

    @staticmethod
    def _declared() -> str:
        return honest.DECLARED if HAS_DECLARED else ""

    def start(self) -> None:
        for name in self.names:
            self._processes[name] = spawn_agent(self.directory, name)
            self._sessions.add(self._processes[name].pid)
        for name in self.names:
            self._await_ready(name)

    def _await_ready(self, name: str) -> None:
        deadline_s = time.monotonic() + READY_S_MAX
        while not is_ready(self.directory, name, self.pid(name)):
            if not self.is_alive(name) or time.monotonic() > deadline_s:
                raise HeadwaterError(f"{name} did not become ready:\n{self.log(name)[-2000:]}")
            time.sleep(LOOK_EVERY_S)
        self._sessions.update(java_children(self.pid(name)))

    def stop(self) -> None:
        """End all of them, as a supervisor does; their JVMs with them."""
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_S_MAX)
            process.kill()
            process.wait()
        deadline_s = time.monotonic() + END_S_MAX
        while session_members(self._sessions) and time.monotonic() < deadline_s:
            time.sleep(LOOK_EVERY_S)
        for pid in session_members(self._sessions):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._processes.clear()

    def pid(self, name: str) -> int:
        return self._processes[name].pid

    def jvm(self, name: str) -> int:
        (pid,) = java_children(self.pid(name))
        return pid

    def is_alive(self, name: str) -> bool:
        return self._processes[name].poll() is None

    def port(self, name: str) -> int:
        return self.roster.site(name).port

    def log(self, name: str) -> str:
        return (self.directory / name / "agent.log").read_text(errors="replace")

    def refused_frames(self) -> int:
        """What agents count of messages that they dropped, by their metrics."""
        found = 0.0
        for port in self._metrics.values():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as reply:
                lines = reply.read().decode().splitlines()
            found += sum(float(one.split()[-1]) for one in lines if one.startswith(REFUSED))
        return int(found)

    def certificate(self, name: str) -> CertFiles:
        held = self.directory / "certs"
        return CertFiles(held / "ca.pem", held / f"{name}.pem", held / f"{name}.key")

    # What operators ask

    @contextmanager
    def client(self, at: str = ROOT, operator: str = OPERATOR) -> Iterator[ControlClient]:
        yield ControlClient("127.0.0.1", self.port(at), self.certificate(operator), site=at)

    async def ask(
        self,
        request: str,
        payload: dict[str, Any] | None = None,
        *,
        at: str = ROOT,
        operator: str = OPERATOR,
    ) -> Any:
        with self.client(at, operator) as client:
            async with client:
                return await client.request(request, payload or {}, timeout_s=ASKED_S_MAX)

    async def streams(self, at: str = ROOT) -> dict[str, api.StreamLine]:
        reply = msgspec.convert(await self.ask(api.STREAMS, at=at), api.StreamsReply)
        return {line.stream: line for line in reply.streams}

    async def run(self, sql: str) -> str:
        """What came of installing it: empty, or the reason why not."""
        with self.client() as client:
            async with client:
                try:
                    await run_statements(client.request, sql, client.signature)
                except HeadwaterError as error:
                    return str(error)
        return ""

    async def remove(self, stream: str) -> None:
        with self.client() as client:
            async with client:
                await remove_stream(client.request, stream, client.signature)

    def command(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        """As a person types it, with what the terminal would get."""
        return self._typed(*words, "--federation", str(self.directory))

    def doctor(self, config: Path) -> subprocess.CompletedProcess[bytes]:
        return self._typed("doctor", "--config", str(config), "--output", "json")

    @staticmethod
    def _typed(*words: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "headwater.cli", *words],
            capture_output=True,
            timeout=60,
            check=False,
            env={**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color"},
        )
