"""Two agents on Spark and a relay between them, as processes: laid out, started, asked, ended.

``home`` answers and has data, ``relay`` only carries, ``far`` has data and dials the relay alone.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from experiments.heintz.shaped_link import ShapedLink
from headwater.local.up import OPERATOR, is_ready, write_roster
from headwater.net.identity.certs import create_authority, issue
from headwater.net.identity.identity import Role
from headwater.plan.query import Query
from headwater.plan.roster import Roster, Site
from headwater.root.said.envelope import Envelope
from headwater.store.commands import CommandStore
from headwater.store.results.results import ResultsReader

HOME, RELAY, FAR = NAMES = ("home", "relay", "far")
PORT, METRICS_PORT = 7400, 7401
METRICS_URL = f"http://127.0.0.1:{METRICS_PORT}/metrics"
EARLY = "headwater_early_keys_total"
READY_S_MAX, COMMAND_S_MAX, END_S_MAX = 120.0, 60.0, 30.0
CONFIGURATION = """
site = "{name}"
roster = "../roster.signed"
branching = 2
metrics_port = {metrics_port}

[listen]
host = "{host}"
port = {port}

[tls]
ca = "../certs/ca.pem"
certificate = "../certs/{name}.pem"
key = "../certs/{name}.key"

[spark]
mode = "{mode}"
master = "local[1]"

[sources]
poll_s = 0.25
"""


class LiveAgents:
    def __init__(self, directory: Path, link: ShapedLink) -> None:
        self.directory = directory
        self._link = link
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.roster = Roster(
            version=1,
            home=HOME,
            sites=tuple(
                Site(
                    ordinal=n,
                    name=name,
                    host=str(link.address[name]),
                    port=PORT,
                    dialable=name != FAR,
                    has_data=name != RELAY,
                    region=HOME if name == HOME else FAR,
                )
                for n, name in enumerate(NAMES)
            ),
        )

    def lay_out(self) -> None:
        self.directory.mkdir(parents=True)
        authority = create_authority(self.directory / "certs", "live")
        issue(authority, Role.OPERATOR, OPERATOR)
        for site in self.roster.sites:
            role = Role.SITE if site.has_data else Role.RELAY
            issue(authority, role, site.name, hosts=(site.host,))
            self.data(site.name).mkdir(parents=True)
            mode = "local" if site.has_data else "none"
            text = CONFIGURATION.format(
                name=site.name, host=site.host, port=PORT, metrics_port=METRICS_PORT, mode=mode
            )
            (self.directory / site.name / "agent.toml").write_text(text)
        write_roster(self.directory, "live", self.roster)

    def data(self, name: str) -> Path:
        return self.directory / name / "data"

    def start(self) -> None:
        for name in NAMES:
            agent = [sys.executable, "-m", "headwater.cli", "agent", "--config"]
            configuration = self.directory / name / "agent.toml"
            with (self.directory / name / "agent.log").open("ab") as log:
                self._processes[name] = subprocess.Popen(
                    self._link.command(name, [*agent, configuration]),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
        await_that(self._are_ready, READY_S_MAX, "the agents are not ready")

    def pid(self, name: str) -> int:
        return self._processes[name].pid

    def keys_early(self, name: str) -> int:
        """Of all streams so far, by its metrics; its loopback is that of its namespace."""
        read = f"import urllib.request as r; print(r.urlopen('{METRICS_URL}').read().decode())"
        done = subprocess.run(
            self._link.command(name, [sys.executable, "-c", read]),
            capture_output=True,
            text=True,
            timeout=COMMAND_S_MAX,
            check=True,
        )
        counts = (line.split()[-1] for line in done.stdout.splitlines() if line.startswith(EARLY))
        return round(float(next(counts)))

    def _are_ready(self) -> bool:
        for name, process in self._processes.items():
            if process.poll() is not None:
                log = (self.directory / name / "agent.log").read_text(errors="replace")
                raise RuntimeError(f"{name} ended:\n{log[-2_000:]}")
        return all(is_ready(self.directory, n, one.pid) for n, one in self._processes.items())

    def run(self, statements: str) -> None:
        path = self.directory / "streams.sql"
        path.write_text(statements)
        command = [sys.executable, "-m", "headwater.cli", "run", path, "-f", self.directory]
        done = subprocess.run(
            self._link.command(HOME, command),
            capture_output=True,
            text=True,
            timeout=COMMAND_S_MAX,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"headwater run: {done.stderr}")

    def queries(self) -> dict[str, Query]:
        """As they were installed, by stream."""
        store = CommandStore(self.directory / HOME / "state" / "commands")
        try:
            return {one.query.stream: one.query for one in store.live()}
        finally:
            store.close()

    def results(self, stream: str) -> ResultsReader:
        return ResultsReader(self.directory / HOME / "state" / "results" / stream)

    def envelopes(self, stream: str) -> Iterator[tuple[int, Envelope]]:
        """All revisions, with the publication that each is in."""
        reader = self.results(stream)
        for seq in reader.publications(after=0):
            for envelope in reader.envelopes(seq):
                yield seq, envelope

    def stop(self) -> None:
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_S_MAX)


def await_that(condition: Callable[[], bool], bound_s: float, what: str) -> None:
    deadline_s = time.monotonic() + bound_s
    while not condition():
        if time.monotonic() > deadline_s:
            raise RuntimeError(f"after {bound_s:.0f} s: {what}")
        time.sleep(0.2)
