"""Whoever holds a site's key: a member for all others, and no agent.

It has heard what passed it by, signs what it likes with its own key, and sends any bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import zstandard

from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.close_digest import BlockDigest, digest_of
from headwater.algebra.words.site_state import FOREVER, SiteState
from headwater.local.up import OPERATOR
from headwater.net.identity.signing import Kind, Signer
from headwater.net.identity.tls import Credentials
from headwater.net.transport.tls_network import TlsNetwork
from headwater.net.values.codec import COMPRESSED, Codec
from headwater.net.values.wire import CertificateTold
from headwater.net.values.words import command_word, count_word, plan_word
from headwater.overlay.links.link_load import LinkLoad
from headwater.overlay.messages import (
    AckMessage,
    AlterMessage,
    AskInstall,
    CommandMessage,
    CommandsKnown,
    Heartbeat,
    Message,
    StatesMessage,
)
from headwater.overlay.outputs import CONTROL
from headwater.placement.plan_trees import plan_trees
from headwater.plan.command import Alter, Count, Install
from headwater.plan.query import Query
from headwater.sql.compile import compile_statements
from hostile.federation import Agents

LINKED_S_MAX = 20.0
COMMAND = 5
BEAT_EVERY_S = 0.5


class Raw(msgspec.Struct, frozen=True):
    """A message that is nothing but bytes."""

    data: bytes


class AnyCodec(Codec):
    def encode(self, message: Message | CertificateTold) -> bytes:
        return message.data if isinstance(message, Raw) else super().encode(message)


class Thief:
    """Opened before it lies; its port is that of the site whose key it has."""

    def __init__(self, agents: Agents) -> None:
        self.name = agents.thief
        self.ordinal = agents.roster.site(self.name).ordinal
        self.states: list[SiteState] = []
        self.acks: list[Acknowledgement] = []
        self.installs: dict[str, Install] = {}
        self.alters: list[Alter] = []
        self.beats: dict[str, Heartbeat] = {}
        self._agents = agents
        self._up: set[str] = set()
        self._number = 0
        self._revision = 0
        self._live: list[str] = []
        credentials = Credentials(agents.certificate(self.name))
        self._operator = Credentials(agents.certificate(OPERATOR)).own
        roster = agents.roster
        self.network = TlsNetwork(
            site=self.name,
            roster=roster,
            roster_digest=agents.signed.digest,
            credentials=credentials,
            codec=AnyCodec(lambda query: None, ordinals_max=roster.ordinals),
            listen=("127.0.0.1", agents.port(self.name)),
        )

    async def open(self) -> None:
        await self.network.start(self)

    async def close(self) -> None:
        await self.network.stop()

    # What it hears

    def link_up(self, site: str) -> None:
        self._up.add(site)

    def link_down(self, site: str, unsent: Sequence[Message]) -> None:
        self._up.discard(site)

    def link_load(self, site: str, load: LinkLoad) -> None:
        """It does not care."""

    def message(self, sender: str, message: Message) -> None:
        match message:
            case Heartbeat():
                self.beats[sender] = message
            case StatesMessage(states):
                self.states += [one for one in states if one.ordinal != self.ordinal]
            case AckMessage(ack):
                self.acks.append(ack)
            case CommandMessage(command, _) if isinstance(command, Install):
                self.installs[str(command.query.id)] = command
            case AlterMessage(alter, _):
                self.alters.append(alter)
            case CommandsKnown(_, live):
                asked = AskInstall(tuple(one for one in live if one not in self.installs))
                self.network.send(sender, asked, CONTROL)

    # What it says

    async def say(self, to: str, *messages: Any) -> None:
        """Over a link that is up; one that was taken from it is dialled anew."""
        for message in messages:
            await self.linked(to)
            self.network.send(to, message, CONTROL)
            await asyncio.sleep(0)

    async def linked(self, to: str) -> None:
        deadline_s = time.monotonic() + LINKED_S_MAX
        while to not in self._up and time.monotonic() < deadline_s:
            self.network.dial(to)
            await asyncio.sleep(0.05)

    async def beat(self, *, seconds: float, change: Callable[[Heartbeat], Heartbeat]) -> None:
        """Like a neighbour, with something changed in each."""
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s:
            for site in tuple(self._up):
                heard = self.beats.get(site)
                now_s = time.monotonic()
                beat = Heartbeat(
                    sent_s=now_s, echo_s=heard.sent_s if heard else None, echo_held_s=0.0, digest=1
                )
                with contextlib.suppress(KeyError):
                    self.network.send(site, change(beat), CONTROL)
            await asyncio.sleep(BEAT_EVERY_S)

    def own_state(self, query: Query) -> SiteState:
        """The truth of its site: nobody reads there, and no record ever comes."""
        first = query.begin_pane
        assert first is not None
        state = SiteState(
            query=str(query.id),
            ordinal=self.ordinal,
            incarnation=1,
            number=1,
            first_pane=first,
            sealed_through=FOREVER,
            empty=((first, FOREVER),),
            digests=(BlockDigest(first=first, last=FOREVER - 1, digest=digest_of(1, ())),),
        )
        return self.network.signatures.sign_state(state)

    # Commands with a stolen operator's key beside its own

    def compiled(self, sql: str) -> Query:
        """As it would be installed through its site, answered at the root."""
        self._number += 1
        (query,) = compile_statements(
            sql,
            root=self._agents.sites[0],
            installer=self.name,
            next_counter=self._number,
            now_us=int(time.time() * 1e6),
        )
        return query

    def install(self, query: Query, change: Callable[[Any], None]) -> Raw:
        """Signed by an operator whatever it has become, planned and counted by the thief."""
        roster = self._agents.roster
        trees = plan_trees(roster, root=query.root, branching=2, count=2)
        install = Install(
            query=query, trees=trees, roster_version=roster.version, operator=OPERATOR
        )
        word = msgspec.msgpack.decode(command_word(install))
        change(word)
        self._live.append(str(query.id))
        return self.command(
            [
                "install",
                self._signed(self._operator, Kind.COMMAND, msgspec.msgpack.encode(word)),
                self._own(Kind.PLAN, plan_word(install)),
                0.0,
                None,
            ]
        )

    def command(self, command: list[Any]) -> Raw:
        return Raw(bytes((COMMAND,)) + msgspec.msgpack.encode([command, self._own_count()]))

    def compressed(self, body: Any) -> Raw:
        packed = zstandard.compress(msgspec.msgpack.encode(body), 19)
        return Raw(bytes((COMMAND | COMPRESSED,)) + packed)

    def end_own(self) -> Message:
        """Its own streams end by its own word, and nobody else's."""
        self._live.clear()
        self._revision += 1
        count = Count(installer=self.name, number=self._number, revision=self._revision)
        return CommandsKnown((self.network.signatures.sign_count(count),), ())

    def _own_count(self) -> list[bytes]:
        self._revision += 1
        count = Count(
            installer=self.name,
            number=self._number,
            revision=self._revision,
            live=tuple(self._live),
        )
        return self._own(Kind.COUNT, count_word(count))

    def _own(self, kind: Kind, word: bytes) -> list[bytes]:
        return self._signed(self.network._credentials.own, kind, word)

    def _signed(self, own: Any, kind: Kind, word: bytes) -> list[bytes]:
        proof = Signer(self._agents.federation, lambda: own).sign(
            kind, word, shows_certificate=True
        )
        return [proof.word, proof.signature, proof.key, proof.certificate]
