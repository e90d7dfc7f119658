"""The agents of a run in namespaces: laid out, started in theirs, killed, and asked.

One has Spark and answers; relays carry; generators originate without Spark. Trees branch by two, so
that eight agents are three deep and most of them are somebody's parent in some tree.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from chaos.federation import LivenessFailure
from chaos.namespaces import Namespaces
from chaos.packet_switch import Line
from headwater.agent.config import AgentConfig
from headwater.local.up import OPERATOR, is_ready, write_roster
from headwater.net.identity.certs import create_authority, issue
from headwater.net.identity.identity import Role
from headwater.placement.plan_trees import plan_trees
from headwater.plan.command import Install
from headwater.plan.roster import Roster, Site
from headwater.store.commands import CommandStore

HOME = "home"
RELAYS = ("relay1", "relay2", "relay3")
GENERATORS = ("gen1", "gen2", "gen3", "gen4")
DATA_SITES = (HOME, *GENERATORS)
REGIONS = {
    "home": (HOME, "relay1"),
    "north": ("relay2", "gen1", "gen2"),
    "south": ("relay3", "gen3", "gen4"),
}
LINES = {
    HOME: Line(delay_s=0.005, rate_bits_s=8e6),
    "relay1": Line(delay_s=0.005, rate_bits_s=4e6),
    "relay2": Line(delay_s=0.020, rate_bits_s=4e6),
    "gen1": Line(delay_s=0.025, rate_bits_s=1e6),
    "gen2": Line(delay_s=0.030, rate_bits_s=1e6),
    "relay3": Line(delay_s=0.040, rate_bits_s=4e6),
    "gen3": Line(delay_s=0.045, rate_bits_s=1e6),
    "gen4": Line(delay_s=0.050, rate_bits_s=1e6),
}
"""Each way: from gen4 to home and back takes 110 ms. The order is that of the ordinals."""
PORT, METRICS_PORT = 7400, 9464
BRANCHING = 2
READY_S_MAX = 120.0
COMMAND_S_MAX = 60.0
END_S_MAX = 30.0
LOOK_EVERY_S = 0.1
SENT = re.compile(r'^headwater_summaries_sent_total{.*stage="([^"]+)".*} (\S+)$', re.MULTILINE)

CONFIGURATION = """
site = "{name}"
roster = "../roster.signed"
branching = {branching}
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

[edge]
summary_life_s = 8.0
seal_every_s = 2.0
state_every_s = 2.0

[overlay]
summary_life_s = 8.0
net_dist_ceiling_s = 2.0
dial_last_s = 4.0

[root]
summary_life_s = 8.0
ack_every_s = 1.0
"""
"""Repairs come sooner than in the field, so that a run sees them. What finds failures and ways
around them, heartbeats, silence and the last resort, is as in the field."""


class Fleet:
    def __init__(self, directory: Path, namespaces: Namespaces) -> None:
        self.directory = directory
        self._namespaces = namespaces
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        region_of = {name: region for region, names in REGIONS.items() for name in names}
        self.roster = Roster(
            version=1,
            home=HOME,
            sites=tuple(
                Site(
                    ordinal=ordinal,
                    name=name,
                    host=str(namespaces.address[name]),
                    port=PORT,
                    region=region_of[name],
                    has_data=name in DATA_SITES,
                )
                for ordinal, name in enumerate(LINES)
            ),
        )

    def lay_out(self) -> None:
        self.directory.mkdir(parents=True)
        authority = create_authority(self.directory / "certs", self.directory.name)
        issue(authority, Role.OPERATOR, OPERATOR)
        for site in self.roster.sites:
            issue(authority, Role.SITE, site.name, hosts=(site.host,))
            self.data(site.name).mkdir(parents=True)
            text = CONFIGURATION.format(
                name=site.name,
                host=site.host,
                port=site.port,
                metrics_port=METRICS_PORT,
                branching=BRANCHING,
                mode="local" if site.name == HOME else "none",
            )
            (self.directory / site.name / "agent.toml").write_text(text)
        write_roster(self.directory, self.directory.name, self.roster)

    def data(self, name: str) -> Path:
        return self.directory / name / "data"

    def state(self, name: str) -> Path:
        return self.directory / name / "state"

    def start(self, *names: str) -> None:
        """And wait until each is ready."""
        for name in names:
            agent = ["-m", "headwater.cli", "agent", "--config"]
            arguments = ["-m", "chaos.generator"] if name in GENERATORS else agent
            configuration = self.directory / name / "agent.toml"
            with (self.directory / name / "agent.log").open("ab") as log:
                self._processes[name] = subprocess.Popen(
                    self._namespaces.command(name, [sys.executable, *arguments, configuration]),
                    cwd=Path(__file__).parents[1],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
        await_that(
            lambda: all(map(self._is_ready, names)),
            READY_S_MAX,
            why_not=lambda: "not ready: " + " ".join(n for n in names if not self._is_ready(n)),
        )

    def _is_ready(self, name: str) -> bool:
        process = self._processes[name]
        if process.poll() is not None:
            raise LivenessFailure(f"{name} ended:\n{self.log_tail(name)}")
        return is_ready(self.directory, name, process.pid)

    def kill(self, name: str) -> None:
        """SIGKILL. The kernel of its namespace still closes its connections."""
        self._processes[name].kill()
        self._processes[name].wait()

    def close(self) -> None:
        """In order; what does not end is ended with its namespace."""
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_S_MAX)

    def headwater(self, *arguments: object) -> list[dict[str, Any]]:
        """``headwater …`` beside the home agent: the objects that it prints."""
        done = subprocess.run(
            self._namespaces.command(
                HOME, [sys.executable, "-m", "headwater.cli", *arguments, "-f", self.directory]
            ),
            capture_output=True,
            text=True,
            timeout=COMMAND_S_MAX,
            check=False,
        )
        if done.returncode:
            raise LivenessFailure(f"headwater {arguments}: {done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def neighbours_of(self, name: str) -> set[str]:
        """On the trees that all agents plan, on which commands travel."""
        count = AgentConfig(site=name).trees
        trees = plan_trees(self.roster, root=HOME, branching=BRANCHING, count=count)
        name_of = {site.ordinal: site.name for site in self.roster.sites}
        pairs = [{name_of[one], name_of[other]} for tree in trees for one, other in tree.parents]
        return {one for pair in pairs if name in pair for one in pair} - {name}

    def installed(self, name: str) -> list[Install]:
        """The commands that an agent has on its disk."""
        store = CommandStore(self.state(name) / "commands")
        try:
            return store.live()
        finally:
            store.close()

    def sent_by(self, name: str) -> dict[str, int]:
        """How many summaries an agent has sent, by the stage of the routing policy."""
        page = f"http://127.0.0.1:{METRICS_PORT}/metrics"
        code = f"import urllib.request as r; print(r.urlopen({page!r}, timeout=10).read().decode())"
        done = subprocess.run(
            self._namespaces.command(name, [sys.executable, "-c", code]),
            capture_output=True,
            text=True,
            timeout=COMMAND_S_MAX,
            check=True,
        )
        return {stage: int(float(count)) for stage, count in SENT.findall(done.stdout)}

    def log_tail(self, name: str, *, lines: int = 15) -> str:
        text = (self.directory / name / "agent.log").read_text(errors="replace")
        return "\n".join(line[:400] for line in text.splitlines()[-lines:])

    def evidence(self, names: Sequence[str] = tuple(LINES)) -> str:
        return "\n".join(f"--- {name}\n{self.log_tail(name)}" for name in names)


def await_that(
    condition: Callable[[], bool], bound_s: float, *, why_not: Callable[[], str]
) -> float:
    """Poll until it holds; returns how long that took. Raises ``LivenessFailure``."""
    began_s = time.monotonic()
    while not condition():
        if time.monotonic() - began_s > bound_s:
            raise LivenessFailure(f"after {bound_s:.0f} s: {why_not()}")
        time.sleep(LOOK_EVERY_S)
    return time.monotonic() - began_s
