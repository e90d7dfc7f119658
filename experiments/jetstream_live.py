"""JetStream live: what a narrow link does to a site, over ``tc tbf`` in network namespaces.

Two processes, each with an agent's network and peer, in a namespace of their own, joined by a pair
of virtual Ethernets::

    site: a pane every two seconds ──► tbf (a rate, a queue) ──► root: when has each pane come?

There is no Spark here: what is measured is what a link does to panes and heartbeats, and what the
site knows of it. Bytes are those that the kernel counts on the interface. Without the right to make
namespaces it says so and ends.
"""

from __future__ import annotations

import asyncio
import ctypes
import multiprocessing
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from experiments.common import print_table, timed, write_csv
from headwater.algebra.coverage import Coverage
from headwater.algebra.panes import WindowSpec
from headwater.algebra.summary import Lane, Summary
from headwater.net.identity.certs import CertFiles, create_authority, issue
from headwater.net.identity.identity import Role
from headwater.net.identity.tls import Credentials
from headwater.net.transport.tls_network import TlsNetwork
from headwater.net.values.codec import Codec
from headwater.overlay.config import OverlayConfig
from headwater.overlay.links.link_budgets import NO_BUDGETS, LinkBudgets
from headwater.overlay.links.link_load import LinkLoad
from headwater.overlay.messages import Message, SummaryMessage
from headwater.overlay.outputs import Delivered, Dial, Hangup, Transmit
from headwater.overlay.peer import Peer
from headwater.plan.command import Install
from headwater.plan.program import Program
from headwater.plan.query import Query, QueryId
from headwater.plan.roster import Roster, Site
from headwater.plan.sources.source import Source, SourceFormat
from headwater.plan.tree import Tree

PANE_S = 2.0
LIVE_S = 10.0
"""After its close a pane is backlog."""
TURN_S = 0.1
ROOT, SITE = "root", "site"
ADDRESS = {ROOT: "10.99.0.1", SITE: "10.99.0.2"}
PORT = 7_400
CLONE_NEWNET = 0x40000000
SCHEMA = pa.schema([("key", pa.binary(16)), ("n", pa.int64())])
SOURCE = Source("web", (), SourceFormat.CSV, "*.log", "ts", ())
QUERY = Query(
    QueryId("live", ROOT, 1),
    WindowSpec(int(PANE_S * 1e6), int(PANE_S * 1e6)),
    ROOT,
    Program("", SOURCE, (), (), "", "", "", ("t",), ()),
)
QUERY_ID = str(QUERY.id)
TREE = Tree(0, ((1, 0),))
ROSTER = Roster(1, (Site(0, ROOT, ADDRESS[ROOT], PORT), Site(1, SITE, dialable=False)), ROOT)


class Step(NamedTuple):
    at_s: float
    kbit_s: float | None
    """None: the Ethernet's own."""


class Scenario(NamedTuple):
    name: str
    demand_kbit_s: float
    lasts_s: float
    steps: tuple[Step, ...] = ()
    budget_kbit_s: float | None = None


SCENARIOS = (
    Scenario("budget 200, demand 400", 400, 60, budget_kbit_s=200),
    Scenario("400 cut to 200, demand 250", 250, 120, (Step(0, 400), Step(40, 200), Step(80, 400))),
    Scenario("link 50, demand 100", 100, 90, (Step(0, 50),)),
    Scenario("link 50, budget 45, demand 100", 100, 90, (Step(0, 50),), budget_kbit_s=45),
)


class Rows:
    """The merger of the query: panes of one site never meet."""

    def none(self) -> Any:
        return None

    def merge(self, parts: Sequence[Any]) -> Any:
        return pa.concat_tables(parts)

    def size_bytes(self, rows: Any) -> int:
        return int(rows.nbytes)


class Agent:
    """A peer, and a network that does what it says."""

    def __init__(
        self,
        name: str,
        keys: CertFiles,
        budget_kbit_s: float | None,
        *,
        root_at: tuple[str, int] = (ADDRESS[ROOT], PORT),
    ) -> None:
        budget = None if budget_kbit_s is None else budget_kbit_s * 125.0
        budgets = NO_BUDGETS if budget is None else LinkBudgets(budget)
        self.name = name
        self.loop = asyncio.get_running_loop()
        self.network = TlsNetwork(
            site=name,
            roster=ROSTER,
            roster_digest=b"",
            credentials=Credentials(keys),
            codec=Codec(lambda query: SCHEMA),
            listen=root_at if name == ROOT else None,
            address_of=lambda site: root_at,
            budgets=budgets,
        )
        self.peer = Peer(
            site=name,
            roster=ROSTER,
            trees=(TREE,),
            config=OverlayConfig(),
            merger_of=lambda query: Rows(),
            signatures=self.network.signatures,
            budgets=budgets,
        )
        self.links_up = 0
        self.delivered: list[tuple[int, float]] = []

    async def start(self) -> None:
        self.network.share_by(self.peer.shares)
        self.peer.restore([Install(QUERY, (TREE,), 1)], (), now_s=self.loop.time())
        await self.network.start(self)

    def turn(self) -> None:
        now_s = self.loop.time()
        if self.peer.next_deadline_s() <= now_s:
            self.peer.tick(now_s=now_s)
        for output in self.peer.take():
            if isinstance(output, Transmit):
                self.network.send(output.to, output.message, output.lane_priority)
            elif isinstance(output, Dial):
                self.network.dial(output.site)
            elif isinstance(output, Hangup):
                self.network.close_link(output.site)
            elif isinstance(output, Delivered):
                self.delivered.append((output.summary.pane, time.monotonic()))

    def link_up(self, site: str) -> None:
        self.links_up += 1
        self.peer.link_up(site, now_s=self.loop.time())
        self.turn()

    def link_down(self, site: str, unsent: Sequence[Message]) -> None:
        self.peer.link_down(site, unsent=unsent, now_s=self.loop.time())
        self.turn()

    def link_load(self, site: str, load: LinkLoad) -> None:
        self.peer.link_load(site, load, now_s=self.loop.time())
        self.turn()

    def message(self, sender: str, message: Message) -> None:
        self.peer.receive(sender, message, now_s=self.loop.time())
        self.turn()


class Seen(NamedTuple):
    """What the site saw in one second."""

    at_s: float
    sent_bytes: int
    carries: float | None
    rtt_s: float | None
    links_up: int


def rows_for(demand_kbit_s: float) -> int:
    """So that a pane takes what the demand is, as it travels."""
    codec = Codec(lambda query: SCHEMA)
    few = len(codec.encode(SummaryMessage(a_summary(0, 1_000))))
    return max(1, int(1_000 * demand_kbit_s * 125.0 * PANE_S / few))


def a_summary(pane: int, count: int) -> Summary:
    keys = pa.array([os.urandom(16) for _ in range(count)], type=pa.binary(16))
    rows = pa.table({"key": keys, "n": pa.array(range(count), type=pa.int64())}, schema=SCHEMA)
    return Summary(query=QUERY_ID, pane=pane, coverage=Coverage.of_whole(1, 7), rows=rows)


def sent_bytes() -> int:
    """Of this namespace's interface."""
    for line in Path("/proc/self/net/dev").read_text("ascii").splitlines():
        if line.strip().startswith("eth"):
            return int(line.split(":")[1].split()[8])
    raise OSError("there is no eth here")


async def be_root(keys: CertFiles, scenario: Scenario, told: Queue[Any]) -> None:
    agent = Agent(ROOT, keys, None)
    await agent.start()
    until_s = time.monotonic() + scenario.lasts_s + 1.0
    while time.monotonic() < until_s:
        agent.turn()
        await asyncio.sleep(TURN_S)
    told.put((ROOT, agent.delivered, agent.links_up))


async def be_site(keys: CertFiles, scenario: Scenario, told: Queue[Any]) -> None:
    agent = Agent(SITE, keys, scenario.budget_kbit_s)
    await agent.start()
    count = rows_for(scenario.demand_kbit_s)
    began_s = time.monotonic()
    closed: dict[int, float] = {}
    waiting: list[int] = []
    seen: list[Seen] = []
    while (past_s := time.monotonic() - began_s) < scenario.lasts_s:
        if past_s >= (len(closed) + 1) * PANE_S:
            waiting.append(len(closed))
            closed[len(closed)] = time.monotonic()
        originate(agent, waiting, closed, count)
        agent.turn()
        if past_s >= len(seen):
            carries = agent.peer.way_capacity(QUERY_ID).bytes_per_s
            rtt_s = agent.peer.rtt_s(ROOT)
            seen.append(Seen(past_s, sent_bytes(), carries, rtt_s, agent.links_up))
        await asyncio.sleep(TURN_S)
    told.put((SITE, closed, seen))


def originate(agent: Agent, waiting: list[int], closed: dict[int, float], count: int) -> None:
    """As an edge does: live panes first, then backlog, each only into room."""
    now_s = time.monotonic()
    order = sorted(waiting, key=lambda pane: (now_s - closed[pane] > LIVE_S, pane))
    for pane in order:
        if agent.peer.room_bytes(QUERY_ID) <= 0:
            return
        waiting.remove(pane)
        age_s = now_s - closed[pane]
        lane = Lane.BACKLOG if age_s > LIVE_S else Lane.LIVE
        summary = a_summary(pane, count)
        told = Summary(
            query=QUERY_ID, pane=pane, coverage=summary.coverage, rows=summary.rows, lane=lane
        )
        agent.peer.originate(told, now_s=agent.loop.time())
        agent.turn()


def _in_namespace(name: str, work: Any, *arguments: Any) -> None:
    with open(f"/run/netns/{name}") as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {name}")
    asyncio.run(work(*arguments))


@contextmanager
def namespaces(number: int) -> Iterator[dict[str, str]]:
    """Both, joined; by what is in them."""
    names = {one: f"hwl{os.getpid()}-{number}-{one}" for one in (ROOT, SITE)}
    made: list[str] = []
    try:
        for name in names.values():
            _run("ip", "netns", "add", name)
            made.append(name)
        ends = ("type", "veth", "peer", "name", "eth1", "netns", names[ROOT])
        _run("ip", "link", "add", "eth0", "netns", names[SITE], *ends)
        for one, device in ((SITE, "eth0"), (ROOT, "eth1")):
            _within(names[one], "ip", "addr", "add", f"{ADDRESS[one]}/24", "dev", device)
            _within(names[one], "ip", "link", "set", device, "up")
        yield names
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "del", name], check=False)


def narrow(name: str, kbit_s: float | None, *, is_first: bool) -> None:
    """A queue of up to two seconds, as a modem has it."""
    if kbit_s is None:
        return
    what = ("rate", f"{kbit_s:g}kbit", "burst", "3200", "latency", "2000ms")
    way = "add" if is_first else "change"
    _within(name, "tc", "qdisc", way, "dev", "eth0", "root", "tbf", *what)


def _within(name: str, *command: str) -> None:
    _run("ip", "netns", "exec", name, *command)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")


class Result(NamedTuple):
    scenario: Scenario
    closed: dict[int, float]
    came: dict[int, float]
    seen: list[Seen]
    links_up: int

    def latency_s(self, from_s: float, until_s: float) -> list[float]:
        """Of panes that closed in this stretch and have come."""
        first_s = min(self.closed.values()) - PANE_S
        return [
            self.came[pane] - closed_s
            for pane, closed_s in self.closed.items()
            if pane in self.came and from_s <= closed_s - first_s < until_s
        ]

    def most_kbit_s(self, over_s: int = 10) -> float:
        """The largest rate on the interface over any so many seconds."""
        sent = [one.sent_bytes for one in self.seen]
        at_s = [one.at_s for one in self.seen]
        rates = [
            (sent[n + over_s] - sent[n]) / (at_s[n + over_s] - at_s[n])
            for n in range(len(sent) - over_s)
        ]
        return max(rates) / 125.0

    def carries_kbit_s(self, at_s: float) -> float:
        known = [one.carries for one in self.seen if one.at_s <= at_s and one.carries is not None]
        return known[-1] / 125.0 if known else float("nan")


def run(number: int, scenario: Scenario, keys: Mapping[str, CertFiles]) -> Result:
    context = multiprocessing.get_context("fork")
    told: Queue[Any] = context.Queue()
    with namespaces(number) as names:
        steps = list(scenario.steps)
        if steps:
            narrow(names[SITE], steps.pop(0).kbit_s, is_first=True)
        agents = [
            context.Process(
                target=_in_namespace, args=(names[one], work, keys[one], scenario, told)
            )
            for one, work in ((ROOT, be_root), (SITE, be_site))
        ]
        began_s = time.monotonic()
        for agent in agents:
            agent.start()
        for step in steps:
            time.sleep(max(0.0, began_s + step.at_s - time.monotonic()))
            narrow(names[SITE], step.kbit_s, is_first=False)
        words = {word[0]: word for word in (told.get(timeout=300), told.get(timeout=300))}
        for agent in agents:
            agent.join(30)
    came: dict[int, float] = {}
    for pane, at_s in words[ROOT][1]:
        came.setdefault(pane, at_s)
    return Result(scenario, words[SITE][1], came, words[SITE][2], words[ROOT][2])


def table(results: Sequence[Result]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for one in results:
        edges = [step.at_s for step in one.scenario.steps] or [0.0]
        for begin_s, end_s in zip(edges, [*edges[1:], one.scenario.lasts_s], strict=True):
            waits = one.latency_s(max(begin_s, 4.0), end_s)
            p50, p95 = np.percentile(waits, (50, 95)) if waits else (float("nan"),) * 2
            round_trips = [s.rtt_s for s in one.seen if s.rtt_s and begin_s <= s.at_s < end_s]
            rows.append(
                (
                    one.scenario.name,
                    f"{begin_s:g} to {end_s:g} s",
                    len(waits),
                    round(float(p50), 2),
                    round(float(p95), 2),
                    round(one.carries_kbit_s(end_s)),
                    round(max(round_trips, default=0.0), 2),
                    round(one.most_kbit_s(), 1),
                    one.links_up,
                )
            )
    return rows


HEADINGS = (
    "link",
    "stretch",
    "panes that came",
    "latency p50 s",
    "latency p95 s",
    "known kbit/s",
    "round trip max s",
    "most kbit/s in 10 s",
    "links opened",
)


def main() -> None:
    results = []
    with tempfile.TemporaryDirectory() as place:
        authority = create_authority(Path(place), "live")
        keys = {name: issue(authority, Role.SITE, name) for name in (ROOT, SITE)}
        for number, scenario in enumerate(SCENARIOS):
            try:
                results.append(run(number, scenario, keys))
            except (OSError, FileNotFoundError) as error:
                print(f"NOT MEASURED: this machine has no namespaces or no tc for us: {error}")
                return
    rows = table(results)
    print_table(HEADINGS, rows)
    write_csv("jetstream_live", HEADINGS, rows)


if __name__ == "__main__":
    with timed("jetstream_live"):
        main()
