"""How many steps a record takes: the functions on four ways through two agents, counted.

``python scripts/steps.py`` prints for each way its steps and the files that they are in, with
``--list`` also the functions, in the order in which they are first called.

A *step* is a function of ``src/headwater`` that runs because of the one thing that is handled: it
runs while that is under way, and not while the same agent stands still. Each counts once, however
often it is called. So what is asked in every turn of a loop (a poll that finds nothing) is none.
Neither are questions for the next deadline, with all that they ask, nor properties, dunder methods,
lambdas, comprehensions, and generators that were begun before.

Agents are real, on real disks, in one process, and one of them is at work at a time. Spark is the
stand-in of the recorded federation. The wire holds what is put on it until somebody lets it go,
time stands still but for the steps below, and what agents do on their own account (heartbeats,
states, digests) is put off. Everything has happened once before it is counted::

    log line           a line in a file ──► cut, batch, pane, update ──► frames on the wire
    bytes              those frames ──► decoded, kept ──► the answer is on the disk
    acknowledgement    made at the root ─► wire ──► read by the site, and on its disk
    install            a signed command at the root ──► wire ──► the site reads for it
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, cast

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "recorded"))

from counting_spark import AddingRoot, in_sparks_place
from log_lines import ORIGIN_S, line

import headwater
from headwater.agent.config import SourcesConfig
from headwater.agent.control.install import planned, prepare
from headwater.agent.runtime import SiteRuntime
from headwater.agent.settings import RuntimeSettings
from headwater.agent.stores import SiteStores
from headwater.agent.threads import SharedThreads
from headwater.edge.config import EdgeConfig
from headwater.net.memory.memory_link import Wire
from headwater.net.memory.memory_network import MemoryWorld
from headwater.net.values.codec import Codec
from headwater.node.config import NodeConfig
from headwater.overlay.config import OverlayConfig
from headwater.overlay.messages import Message
from headwater.plan.command import Install
from headwater.plan.roster import Roster, Site
from headwater.root.config import RootConfig
from headwater.spark.root.root_part import RootSpark
from headwater.spark.site.site_host import SiteHost
from headwater.store.recognise import recognition

SOURCE = str(Path(headwater.__file__).parent)
ROSTER = Roster(1, (Site(0, "home", "-", 1, has_data=False), Site(1, "north", "-", 2)), "home")
SOURCES = ("hits", "more")
BEGINS = {"hits": "09:01:00", "more": "10:00:00"}
"""None has passed when its stream is installed, so that nobody reads the past for it."""
TEXT = """
CREATE SOURCE {source} (ts TIMESTAMP, domain STRING, bytes BIGINT)
WITH (format = 'csv', path = '{source}.log', time = 'ts');
CREATE STREAM of_{source}
WITH (begin = '2026-11-17 {begin}', lateness = '1 hour', disorder = '1 second',
  deadline = '10 minutes') AS
SELECT domain, count(*) AS n, sum(bytes) AS total FROM {source}
GROUP BY window(ts, '1 minute'), domain;
"""
PANE_S, DISORDER_S = 60.0, 1.0
POLL_S = 0.25
ACK_S = 1.5 * PANE_S
"""The first pane is acknowledged at once, and the one after it when this has passed since."""
LONG_S = 10_000.0
"""Put off until after the end."""
NODE = NodeConfig(
    overlay=OverlayConfig(
        heartbeat_every_s=LONG_S,
        silent_floor_s=LONG_S,
        silent_ceiling_s=LONG_S,
        late_after_s=LONG_S,
        coordinates_every_s=LONG_S,
    ),
    edge=EdgeConfig(state_every_s=LONG_S, seal_every_s=LONG_S, tally_every_s=LONG_S),
    root=RootConfig(ack_every_s=ACK_S, ack_idle_s=LONG_S),
)
WIRE = Wire(bytes_per_s=1e9)
"""One with a rate: it carries each frame by itself."""
TURN_S, TURNS = 0.002, 60
"""Of the loop, in which an agent does what there is to do at this time."""
WAIT_S_MAX = 60.0
TIMERS, BY_TIME = frozenset(("next_deadline_s", "_retain")), frozenset(("tick",))
NO_STEPS = ("<", "__")
"""How the names of functions begin that are no steps."""

Codes = dict[CodeType, None]


class Ran:
    """The functions that ran between ``begin`` and ``end``, in the order of their first call."""

    def __init__(self) -> None:
        self._ran: Codes | None = None
        self._without: frozenset[str] = TIMERS
        self._below = threading.local()
        """How deep each thread is in what is left out."""

    def hook(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if self._ran is None or event.startswith("c_") or not code.co_filename.startswith(SOURCE):
            return
        depth = getattr(self._below, "depth", 0)
        if code.co_name in self._without:
            self._below.depth = depth + (1 if event == "call" else -1)
        elif event == "call" and not depth:
            self._ran.setdefault(code)

    def begin(self, *, without: frozenset[str] = frozenset()) -> None:
        """``without``: names of functions that are left out with all that they call."""
        self._ran, self._without = {}, TIMERS | without

    def end(self) -> Codes:
        assert self._ran is not None, "nothing has begun"
        ran, self._ran = self._ran, None
        return ran


class HeldWorld(MemoryWorld):
    """What is on its wires stays there while ``is_held``."""

    def __init__(self) -> None:
        super().__init__(lambda _from, _to: WIRE)
        self.is_held = False
        self.held: list[tuple[str, str, object, bytes | Message]] = []

    def deliver(self, sender: str, to: str, pair: object, data: bytes | Message) -> None:
        if self.is_held:
            self.held.append((sender, to, pair, data))
        else:
            super().deliver(sender, to, pair, data)

    def release(self) -> None:
        """The first of what is held; a marker behind it is lost, and nobody misses it."""
        super().deliver(*self.held.pop(0))
        self.held.clear()


class TwoAgents:
    """A site with two logs, and the root."""

    def __init__(self, directory: Path, spark: Any) -> None:
        self.now_s = ORIGIN_S
        self.world = HeldWorld()
        self.data = directory / "data"
        self.data.mkdir()
        for source in SOURCES:
            (self.data / f"{source}.log").touch()
            os.utime(self.data / f"{source}.log", (0, 0))
        self._threads = SharedThreads()
        self._host = SiteHost(spark, directory / "spark")
        root = cast(RootSpark, AddingRoot())
        self.home = self._agent("home", directory / "home", root_spark=root)
        self.north = self._agent("north", directory / "north", host=self._host)

    def _agent(self, name: str, directory: Path, **spark: Any) -> SiteRuntime:
        stores = SiteStores(directory, site=name, clock=lambda: self.now_s)
        codec = Codec(stores.book.schema, ordinals_max=ROSTER.ordinals)
        sources = SourcesConfig(data=str(self.data), poll_s=POLL_S, batch_wait_s_max=POLL_S)
        return SiteRuntime(
            site=name,
            roster=ROSTER,
            settings=RuntimeSettings(
                sources=sources, node=NODE, branching=2, trees=1, tick_s_max=TURN_S
            ),
            stores=stores,
            network=self.world.network(name, codec),
            now_s=lambda: self.now_s,
            admit=lambda query, duty, operator: None,
            threads=self._threads,
            **spark,
        )

    async def stop(self) -> None:
        for one in (self.home, self.north):
            await one.stop()
        self._threads.end()
        await asyncio.to_thread(self._host.stop)

    def command(self, source: str) -> Install:
        (query,) = prepare(self.home, TEXT.format(source=source, begin=BEGINS[source]))
        return planned(self.home, query)

    async def live_once(self) -> None:
        """All that happens later, for the first time."""
        await self.home.start()
        await self.north.start()
        await self.pass_s(1.0)
        self.home.command(self.command(SOURCES[0]))
        await self.pass_s(1.0)
        await self.pass_s(PANE_S)
        await self.write_line()
        await self.pass_s(POLL_S)
        await self.until(lambda: self.home.answer_count)
        await self.pass_s(POLL_S)
        for one in (self.home, self.north):
            await one.rest()
        self.world.is_held = True

    async def write_line(self) -> None:
        """And so much time passes that its pane may be closed."""
        with (self.data / f"{SOURCES[0]}.log").open("a") as log:
            log.write(line(self.now_s - ORIGIN_S, "docs", 100))
        await self.pass_s(POLL_S)
        await self.pass_s(PANE_S + DISORDER_S)

    async def pass_s(self, seconds: float) -> None:
        """The clock goes on, and who is at work does what is to be done at that time."""
        self.now_s += seconds
        for _ in range(TURNS):
            await asyncio.sleep(TURN_S)

    async def until(self, is_so: Callable[[], object]) -> None:
        async with asyncio.timeout(WAIT_S_MAX):
            while not is_so():
                for one in (self.home, self.north):
                    if one.failure:
                        raise RuntimeError(one.failure)
                await asyncio.sleep(TURN_S)


class Ways:
    """Each, as what has run on it and not while the agent stood still."""

    def __init__(self, agents: TwoAgents) -> None:
        self._agents = agents
        self._ran = Ran()
        threading.setprofile(self._ran.hook)
        sys.setprofile(self._ran.hook)

    async def walk(self) -> dict[str, Codes]:
        agents = self._agents
        await agents.live_once()
        command = agents.command(SOURCES[1])
        found = {
            "log line": await self._at(agents.north, self._log_line),
            "bytes": await self._at(agents.home, self._bytes),
            "acknowledgement": await self._at(agents.home, self._wait_for_ack)
            | await self._at(agents.north, self._ack),
            "install": await self._at(agents.home, partial(self._command, command), BY_TIME)
            | await self._at(agents.north, self._installed, BY_TIME),
        }
        sys.setprofile(None)
        threading.setprofile(None)
        return found

    async def _at(
        self,
        agent: SiteRuntime,
        work: Callable[[], Awaitable[None]],
        without: frozenset[str] = frozenset(),
    ) -> Codes:
        """While this agent is at work, and the other one is not."""
        agent.begin()
        self._ran.begin(without=without)
        for _ in range(2):
            await self._agents.pass_s(POLL_S)
        still = self._ran.end()
        self._ran.begin(without=without)
        await work()
        ran = self._ran.end()
        await self._agents.pass_s(0.0)
        await agent.rest()
        return {code: None for code in ran if code not in still}

    async def _log_line(self) -> None:
        await self._agents.write_line()
        await self._agents.pass_s(POLL_S)
        await self._held()

    async def _held(self) -> None:
        await self._agents.until(lambda: self._agents.world.held)

    async def _bytes(self) -> None:
        before = self._agents.home.answer_count
        self._agents.world.release()
        await self._agents.until(lambda: self._agents.home.answer_count > before)

    async def _wait_for_ack(self) -> None:
        await self._agents.pass_s(ACK_S - PANE_S)
        await self._held()

    async def _ack(self) -> None:
        self._agents.world.release()
        await self._agents.pass_s(0.0)

    async def _command(self, command: Install) -> None:
        self._agents.home.command(command)
        await self._held()

    async def _installed(self) -> None:
        self._agents.world.release()
        await self._agents.until(lambda: SOURCES[1] in self._agents.north.feeder.followed)
        await self._agents.pass_s(0.0)


def walked_alone() -> dict[str, list[tuple[str, str]]]:
    """By way: (file, function), as a process finds them that has done nothing before: what others
    have left in caches is not called again."""
    listed = subprocess.run(
        [sys.executable, __file__, "--list"], capture_output=True, text=True, check=False
    )
    assert listed.returncode == 0, listed.stderr
    ways = re.split(r"^(\S.*?)  +.*\n", listed.stdout, flags=re.M)[1:]
    return {
        name: [(file, function) for file, function in map(str.split, steps.splitlines())]
        for name, steps in zip(ways[::2], ways[1::2], strict=True)
    }


async def walked() -> dict[str, Codes]:
    # However long it takes, what was written since the start was just written, and nothing else.
    recognition.QUIET_NS = 3_600_000_000_000
    with tempfile.TemporaryDirectory(prefix="steps-") as scratch, in_sparks_place() as spark:
        agents = TwoAgents(Path(scratch), spark)
        try:
            return await Ways(agents).walk()
        finally:
            await agents.stop()


def steps_in(ran: Codes) -> list[CodeType]:
    none = _properties()
    return [code for code in ran if not code.co_name.startswith(NO_STEPS) and code not in none]


def _properties() -> set[CodeType]:
    """Of all classes that are loaded."""
    found: set[CodeType] = set()
    for name, module in list(sys.modules.items()):
        if name.startswith("headwater"):
            for one in vars(module).values():
                members = vars(one).values() if isinstance(one, type) else ()
                getters = (getattr(each, "fget", getattr(each, "func", None)) for each in members)
                found.update(get.__code__ for get in getters if hasattr(get, "__code__"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="also the functions")
    is_listed = parser.parse_args().list
    found = asyncio.run(walked())
    for name, ran in found.items():
        steps = steps_in(ran)
        files = {code.co_filename for code in steps}
        print(f"{name:16} {len(steps):4} steps in {len(files):3} files")
        for code in steps if is_listed else ():
            print(f"    {Path(code.co_filename).relative_to(SOURCE)}  {code.co_qualname}")


if __name__ == "__main__":
    main()
