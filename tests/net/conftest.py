"""A small federation with real certificates, and ears that remember what they heard."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings

from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Lane, Summary
from headwater.net.identity.certs import Authority, CertFiles, create_authority, issue
from headwater.net.identity.identity import Role
from headwater.net.identity.tls import Credentials
from headwater.net.network import NetLimits
from headwater.net.transport.connection import Connection
from headwater.net.transport.tls_network import TlsNetwork
from headwater.net.values.codec import Codec
from headwater.overlay.links.link_load import LinkLoad
from headwater.overlay.messages import Heartbeat, Message, SummaryMessage
from headwater.overlay.outputs import CONTROL
from headwater.plan.roster import Roster, Site

settings.register_profile("headwater", deadline=None, derandomize=True)
settings.load_profile("headwater")

SITES = ("alpha", "bravo", "charlie")
SCHEMA = pa.schema([("domain", pa.string()), ("hits", pa.int64())])
WAIT_S_MAX = 120.0


def schema_of(query: str) -> Any:
    return SCHEMA if query.startswith("hits@") else None


class Ear:
    """A handler that writes down everything, and wakes whoever waits for it."""

    def __init__(self) -> None:
        self.ups: list[str] = []
        self.downs: list[tuple[str, list[Message]]] = []
        self.messages: list[tuple[str, Message]] = []
        self.loads: list[int] = []
        self.log: list[str] = []
        self._news = asyncio.Event()

    def link_up(self, site: str) -> None:
        self.ups.append(site)
        self._note(f"up {site}")

    def link_down(self, site: str, unsent: Sequence[Message]) -> None:
        self.downs.append((site, list(unsent)))
        self._note(f"down {site}")

    def link_load(self, site: str, load: LinkLoad) -> None:
        self.loads.append(load.queued_bytes)
        self._news.set()

    def message(self, sender: str, message: Message) -> None:
        self.messages.append((sender, message))
        self._note(type(message).__name__)

    async def until(self, is_so: Callable[["Ear"], bool]) -> None:
        async with asyncio.timeout(WAIT_S_MAX):
            while not is_so(self):
                self._news.clear()
                await self._news.wait()

    def _note(self, line: str) -> None:
        self.log.append(line)
        self._news.set()


class Federation:
    """Certificates for three sites and an operator, and networks that are stopped in the end."""

    def __init__(self, directory: Path, authority: Authority) -> None:
        self.directory = directory
        self.authority = authority
        self.networks: dict[str, TlsNetwork] = {}
        self.guests: list[Connection] = []
        self.notices: list[tuple[str, str]] = []

    def files(self, name: str) -> CertFiles:
        at = self.directory
        return CertFiles(at / "ca.pem", at / f"{name}.pem", at / f"{name}.key")

    def credentials(self, name: str, **options: Any) -> Credentials:
        return Credentials(self.files(name), **options)

    async def start(self, name: str, **options: Any) -> tuple[TlsNetwork, Ear]:
        options.setdefault("limits", NetLimits(sample_every_s=0.05))
        options.setdefault("credentials", self.credentials(name))
        options.setdefault("roster", roster())
        options.setdefault("roster_digest", b"signed")
        network = TlsNetwork(
            site=name,
            codec=Codec(schema_of),
            listen=("127.0.0.1", 0),
            address_of=lambda site: ("127.0.0.1", self.networks[site].port),
            notify=lambda kind, text: self.notices.append((kind, text)),
            **options,
        )
        ear = Ear()
        await network.start(ear)
        self.networks[name] = network
        return network, ear

    async def pair(self, **options: Any) -> tuple[TlsNetwork, Ear, TlsNetwork, Ear]:
        """alpha and bravo with a link between them, dialled by bravo."""
        alpha, heard_by_alpha = await self.start("alpha", **options)
        bravo, heard_by_bravo = await self.start("bravo", **options)
        bravo.dial("alpha")
        await heard_by_alpha.until(lambda ear: ear.ups == ["bravo"])
        await heard_by_bravo.until(lambda ear: ear.ups == ["alpha"])
        return alpha, heard_by_alpha, bravo, heard_by_bravo

    async def still_well(self) -> None:
        """The good pair exchanges a message, whatever happened before, and has one link only."""
        alpha, bravo = self.networks["alpha"], self.networks["bravo"]
        ear: Any = alpha._handler
        seen = len(ear.messages)
        assert bravo.send(
            "alpha", Heartbeat(sent_s=1.0, echo_s=None, echo_held_s=0.0, digest=7), CONTROL
        )
        await ear.until(lambda ear: len(ear.messages) == seen + 1)
        assert ear.log.count("up bravo") == 1
        assert ear.downs == []
        assert alpha.stats().links.keys() == {"bravo"}

    async def stop(self) -> None:
        for network in self.networks.values():
            await network.stop()
        for guest in self.guests:
            guest.end()
            await guest.lost


def roster() -> Roster:
    sites = tuple(Site(n, name, "127.0.0.1", 1) for n, name in enumerate(SITES))
    return Roster(1, sites, home=SITES[0])


def a_summary(pane: int = 7, *, keys: int = 3, lane: Lane = Lane.LIVE, **more: Any) -> Message:
    coverage = Coverage.of_whole(1, 99)
    return SummaryMessage(
        Summary(
            query="hits@alpha#1", pane=pane, coverage=coverage, rows=_rows(keys), lane=lane, **more
        )
    )


@cache
def _rows(keys: int) -> Any:
    return pa.table(
        {"domain": [f"d{n}.example" for n in range(keys)], "hits": list(range(keys))}, schema=SCHEMA
    )


async def eventually(is_so: Callable[[], bool]) -> None:
    """For what nobody announces, such as a counter."""
    async with asyncio.timeout(WAIT_S_MAX):
        while not is_so():
            await asyncio.sleep(0.005)


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    directory = tmp_path_factory.mktemp("certs")
    authority = create_authority(directory, "testland")
    for site in SITES:
        issue(authority, Role.SITE, site)
    issue(authority, Role.SITE, "stranger")
    issue(authority, Role.OPERATOR, "olga")
    return authority


@pytest.fixture
def live(authority: Authority) -> Callable[[Callable[[Federation], Awaitable[None]]], None]:
    """Runs one asynchronous test with a federation, and stops what it has started."""

    def run(test: Callable[[Federation], Coroutine[Any, Any, None]]) -> None:
        async def bounded() -> None:
            federation = Federation(authority.directory, authority)
            try:
                async with asyncio.timeout(2 * WAIT_S_MAX):
                    await test(federation)
            finally:
                await federation.stop()

        asyncio.run(bounded())

    return run


@pytest.fixture
def kit() -> Any:
    """What tests share beside fixtures: ``kit.a_summary``, ``kit.eventually``, ``kit.Ear``, …"""

    class Kit:
        schema = SCHEMA

    kit = Kit()
    for shared in (a_summary, eventually, Ear, schema_of, roster):
        setattr(kit, shared.__name__, shared)
    return kit
