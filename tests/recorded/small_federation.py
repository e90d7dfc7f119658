"""Two sites with data, a relay and a root: agents in one process, on real disks and real sockets.

All that an agent process opens is opened here, but for Spark (``counting_spark``) and the clock,
which begins where it is told to and may go faster. Paths are relative to the working directory, so
that a source's files are found again wherever the recording is copied to.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec
from counting_spark import AddingRoot
from derived_keys import FEDERATION, Certificates

from headwater.agent.admission import admit_with
from headwater.agent.config import PolicyConfig, SourcesConfig
from headwater.agent.control.audit import AuditLog
from headwater.agent.control.control import ControlDesk
from headwater.agent.control.front_desk import FrontDesk
from headwater.agent.control.rights import Rights
from headwater.agent.runtime import SiteRuntime
from headwater.agent.settings import RuntimeSettings
from headwater.agent.stores import SiteStores
from headwater.edge.config import EdgeConfig
from headwater.net.identity.roster_text import roster_toml
from headwater.net.identity.signed_roster import RosterTrust, issue_roster, load_signed_roster
from headwater.net.identity.tls import Credentials
from headwater.net.transport.tls_network import TlsNetwork
from headwater.net.values.codec import Codec
from headwater.node.config import NodeConfig
from headwater.overlay.config import OverlayConfig
from headwater.plan.roster import Roster, Site
from headwater.root.config import RootConfig
from headwater.spark.root.root_part import RootSpark
from headwater.spark.site.site_host import SiteHost

ROSTER = Roster(
    7,
    (
        Site(0, "home", "127.0.0.1", 1, has_data=False),
        Site(1, "hub", "127.0.0.1", 2, has_data=False),
        Site(2, "north", "127.0.0.1", 3),
        Site(4, "south", "127.0.0.1", 4),
    ),
    "home",
)
"""Ports are those that the system gives; nobody dials these."""
ROSTER_FILE = Path("roster.signed")
SITES, DATA = Path("sites"), Path("data")
LIFE_S = 5.0
NODE = NodeConfig(
    overlay=OverlayConfig(
        summary_life_s=LIFE_S,
        net_dist_ceiling_s=2.0,
        heartbeat_every_s=1.0,
        silent_floor_s=20.0,
        silent_ceiling_s=40.0,
        coordinates_every_s=5.0,
        dial_last_s=1.0,
    ),
    edge=EdgeConfig(
        summary_life_s=LIFE_S,
        live_for_s=LIFE_S,
        state_every_s=1.0,
        seal_every_s=2.0,
        clock_settle_s=1.0,
        tally_every_s=2.0,
    ),
    root=RootConfig(
        summary_life_s=LIFE_S,
        ack_every_s=0.5,
        ack_idle_s=2.0,
        clock_settle_s=1.0,
        answer_retry_last_s=2.0,
    ),
)
"""Everything sooner than in an agent. A busy machine is not to be taken for a silent neighbour."""
LOOK_S = 0.05
STEP_S = 0.02
NOBODY = 1
"""A port at which nobody listens."""


class Clock:
    """Of all agents. It goes on with the turns of the event loop: where the machine is too busy for
    those it stands still, and nobody is late."""

    def __init__(self, begins_s: float, *, speed: float = 1.0) -> None:
        self._now_s = begins_s
        self._speed = speed

    def now_s(self) -> float:
        return self._now_s

    async def run(self) -> None:
        while True:
            await asyncio.sleep(STEP_S)
            self._now_s += self._speed * STEP_S


def sign_the_roster(certificates: Certificates, operator: str) -> None:
    text = certificates.directory / "roster.toml"
    text.write_text(roster_toml(FEDERATION, ROSTER))
    issue_roster(text, ROSTER_FILE, certificates.files(operator), at_s=time.time())


class SmallFederation:
    """Made on a running event loop, in the working directory."""

    def __init__(
        self,
        certificates: Certificates,
        clock: Clock,
        *,
        spark: Any,
        codec: Callable[..., Codec] = Codec,
    ) -> None:
        self.certificates = certificates
        self.clock = clock
        self.runtimes: dict[str, SiteRuntime] = {}
        self.ports: dict[str, int] = {}
        self._codec = codec
        self._spark = spark
        self._hosts: list[SiteHost] = []
        self._ticking = asyncio.create_task(clock.run())
        self._settings = RuntimeSettings(node=NODE, branching=2, trees=1, tick_s_max=LOOK_S)

    async def start(self, name: str) -> SiteRuntime:
        credentials = Credentials(self.certificates.files(name))
        signed = load_signed_roster(ROSTER_FILE, RosterTrust.of_agent(credentials))
        site = signed.roster.site(name)
        sources = SourcesConfig(data=str(DATA / name), poll_s=0.25, batch_wait_s_max=1.0)
        stores = SiteStores(SITES / name, site=name, clock=self.clock.now_s)
        desk = ControlDesk()
        network = TlsNetwork(
            site=name,
            roster=signed.roster,
            roster_digest=signed.digest,
            credentials=credentials,
            codec=self._codec(stores.book.schema, ordinals_max=signed.roster.ordinals),
            listen=("127.0.0.1", 0),
            address_of=lambda other: ("127.0.0.1", self.ports.get(other, NOBODY)),
            control=_front_desk(desk, SITES / name, self.clock),
        )
        runtime = self.runtimes[name] = SiteRuntime(
            site=name,
            roster=signed.roster,
            settings=_with_sources(self._settings, sources),
            stores=stores,
            network=network,
            now_s=self.clock.now_s,
            admit=admit_with(PolicyConfig(), sources),
            host=self._host(name, sources) if site.has_data else None,
            root_spark=cast(RootSpark, AddingRoot()) if name == signed.roster.home else None,
        )
        desk.open(runtime)
        await runtime.start()
        self.ports[name] = network.port
        return runtime

    async def until(self, is_so: Callable[[], Any], *, within_s: float) -> None:
        """Raises ``TimeoutError`` after so many real seconds, and what an agent ended with."""
        async with asyncio.timeout(within_s):
            while not is_so():
                self._raise_if_ended()
                await asyncio.sleep(LOOK_S)

    async def at(self, second_s: float) -> None:
        """When the clock shows it."""
        while self.clock.now_s() < second_s:
            self._raise_if_ended()
            await asyncio.sleep(LOOK_S)

    async def kill(self, name: str) -> None:
        del self.ports[name]
        await self.runtimes.pop(name).kill()

    async def stop(self) -> None:
        self._ticking.cancel()
        for runtime in self.runtimes.values():
            await runtime.stop()
        for host in self._hosts:
            await asyncio.to_thread(host.stop)

    def _host(self, name: str, sources: SourcesConfig) -> SiteHost:
        host = SiteHost(self._spark, SITES / name / "spark", limits=sources.batch_limits)
        self._hosts.append(host)
        return host

    def _raise_if_ended(self) -> None:
        for runtime in self.runtimes.values():
            if runtime.failure:
                raise RuntimeError(runtime.failure)


def _with_sources(settings: RuntimeSettings, sources: SourcesConfig) -> RuntimeSettings:
    return msgspec.structs.replace(settings, sources=sources)


def _front_desk(desk: ControlDesk, directory: Path, clock: Clock) -> Any:
    return FrontDesk(
        desk.handle,
        Rights(()),
        AuditLog(directory),
        compiled=desk.compiled,
        live=desk.live,
        now_s=clock.now_s,
    ).handle
