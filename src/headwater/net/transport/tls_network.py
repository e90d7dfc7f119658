"""The network over sockets: one port, mutual TLS, one link with each neighbour.

It keeps the contract of ``Network``. A link is formed by whichever side dials (``hello.py`` says
who wins when both do), served by one task from its first byte to its last, and reported exactly
once up and once down. Peers must be in the roster; operators are handed to ``control.py``.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

from headwater.errors import ConfigurationError, WireError
from headwater.net.control.control import ControlHandler, serve_operator
from headwater.net.identity.identity import AGENTS, PEOPLE, Identity, Role
from headwater.net.identity.keyring import Keyring
from headwater.net.identity.signing import KeySignatures
from headwater.net.identity.tls import Credentials
from headwater.net.network import (
    DEFAULT_LIMITS,
    LinkCounters,
    NetLimits,
    NetworkHandler,
    NetworkStats,
    Notify,
    RefusalCounts,
)
from headwater.net.notices import Notices
from headwater.net.refusal import Refusal, Refused
from headwater.net.transport.attempts import Attempts, Dialling
from headwater.net.transport.connection import Connection
from headwater.net.transport.given_back import OPEN, OpenConnections
from headwater.net.transport.greeting import (
    accept_tls,
    admit,
    bare,
    dial_tls,
    hear_hello,
    take_small_buffers,
    turn_away,
)
from headwater.net.transport.hello import Channel, Hello, RosterHeld, decide_roster
from headwater.net.transport.link import Link
from headwater.net.transport.listener import Listener
from headwater.net.transport.pacer import Pacer
from headwater.net.values.codec import Codec
from headwater.overlay.links.link_budgets import NO_BUDGETS, LinkBudgets
from headwater.overlay.links.query_shares import QueryShares
from headwater.overlay.messages import Message
from headwater.plan.roster import Roster

OLDER_ROSTER = "older roster"
GIVEN_BACK = "memory given back"
HELD_BACK = "budget holds back"
HELD_BACK_S = 5.0
"""Live panes that wait longer for the budget are worth a notice."""
LINK_CONNECTIONS = 2
AddressOf = Callable[[str], tuple[str, int]]


class TlsNetwork:
    def __init__(
        self,
        *,
        site: str,
        roster: Roster,
        roster_digest: bytes,
        credentials: Credentials,
        codec: Codec,
        listen: tuple[str, int] | None,
        limits: NetLimits = DEFAULT_LIMITS,
        control: ControlHandler | None = None,
        notify: Notify | None = None,
        address_of: AddressOf | None = None,
        open_connections: OpenConnections = OPEN,
        budgets: LinkBudgets = NO_BUDGETS,
    ) -> None:
        """``roster_digest`` stands for the signed word that the roster was read from; neighbours
        must have the same. ``listen`` is None at a site that can't be dialled. Without ``control``
        operators are refused. ``address_of`` replaces the roster's addresses, where they are not
        the real ones. ``open_connections`` counts those of the whole process. ``budgets`` are for
        what is sent over links; operators' requests do not count."""
        credentials.require_site(site)
        self.site = site
        self._roster = roster
        self._credentials = credentials
        self._codec = codec
        self._listen = listen
        self._limits = limits
        self._control = control
        self._address_of = address_of or self._roster_address
        self._open_connections = open_connections
        self._pacer = Pacer(budgets)
        self._refused: RefusalCounts = Counter()
        self._notices = Notices(notify)
        self._counters: dict[str, LinkCounters] = {}
        self._links: dict[str, _Kept] = {}
        self._held = RosterHeld(roster.version, roster_digest)
        self._attempts = Attempts(site, self._held)
        self._operators: dict[Connection, Identity] = {}
        self._peer_names = {peer.name for peer in roster.sites} - {site}
        federation = credentials.identity.federation
        self._keyring = Keyring(
            federation,
            {peer.name for peer in roster.sites},
            relays={peer.name for peer in roster.sites if not peer.has_data},
            authorities=lambda: credentials.authorities,
            denied=lambda: credentials.denied,
            wall_s=time.time,
        )
        self._keyring.learn(credentials.der)
        self.signatures = KeySignatures(
            federation, own=lambda: credentials.own, others=self._keyring, pack=codec.rows.encode
        )
        self.operator = None
        self._serve = {
            Channel.CONTROL: self._serve_control,
            Channel.BULK: self._serve_bulk,
            Channel.OPERATOR: self._serve_operator,
        }
        self._tasks: set[asyncio.Task[None]] = set()
        self._listener = Listener(
            self._greet_counted,
            limits=limits,
            refused=self._refused,
            notify=self._notices.say,
            known=frozenset(peer.host for peer in roster.sites if peer.host),
        )

    # The contract of ``Network``.

    async def start(self, handler: NetworkHandler) -> None:
        self._handler = handler
        take_small_buffers()
        if self._listen is not None:
            self._listener.open(*self._listen)
        self._spawn(self._watch())

    @property
    def port(self) -> int:
        """Where it listens; useful when it was asked to choose (port 0)."""
        return self._listener.port

    def share_by(self, shares: QueryShares) -> None:
        self._pacer.spending.shares = shares

    def use_budgets(self, budgets: LinkBudgets) -> None:
        if budgets != self._pacer.budgets:
            self._pacer.use(budgets)
            for kept in self._links.values():
                kept.link.use_gates(self._pacer)

    def dial(self, site: str) -> None:
        if site in self._links or site in self._attempts:
            return
        dialling = self._attempts.begin(site)
        dialling.task = self._spawn(self._dial_counted(site, dialling))

    def send(self, to: str, message: Message, priority: int) -> bool:
        kept = self._links.get(to)
        if kept is None or not kept.link.is_open:
            self._refused[Refusal.NO_LINK] += 1
            self._return(to, message, priority)
            return False
        try:
            if kept.link.send(message, priority):
                return True
            self._refuse(Refused(Refusal.QUEUE_FULL, f"a message to {to} has no room"))
        except WireError as error:
            self._refuse(Refused(Refusal.UNSENDABLE, f"to {to}: {error}"))
        return False

    def queued_bytes(self, to: str) -> int:
        kept = self._links.get(to)
        return 0 if kept is None else kept.link.queued_bytes

    def close_link(self, site: str) -> None:
        if (kept := self._links.get(site)) is not None:
            kept.link.close()
        self._attempts.give_up(site)

    def stats(self) -> NetworkStats:
        links = {}
        for site, counters in list(self._counters.items()):
            links[site] = counters.stats()
            if (kept := self._links.get(site)) is not None:
                kept.link.sample()
                links[site] = kept.link.stats(links[site])
            links[site] = self._pacer.told_of(site, links[site])
        refused = {str(reason): n for reason, n in list(self._refused.items())}
        own = self._pacer.stats(links.values())
        return NetworkStats(links, refused, own, self._pacer.spent())

    async def stop(self) -> None:
        """Ends every connection without reporting: the agent is going, too."""
        await self._listener.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def reload(self) -> None:
        """Reads certificates and deny list again; connections of those denied by now are closed.

        On the event loop. Raises ``ConfigurationError``, and all stays as it was, when the files
        can't be used.
        """
        self._credentials.reload()
        self._keyring.learn(self._credentials.der)
        for kept in list(self._links.values()):
            if any(one.serial in self._credentials.denied for one in kept.link.identities):
                self._end(kept.link, Refusal.DENIED_CERTIFICATE)
        for connection, identity in list(self._operators.items()):
            if identity.serial in self._credentials.denied:
                reason = f"{identity.uri} is denied by now"
                connection.end(Refused(Refusal.DENIED_CERTIFICATE, reason))

    # Dialling.

    async def _dial_counted(self, site: str, dialling: Dialling) -> None:
        with self._open_connections.held(LINK_CONNECTIONS):
            await self._dial(site, dialling)

    async def _dial(self, site: str, dialling: Dialling) -> None:
        """One attempt, and then the link for as long as it lasts."""
        opened: list[Connection] = []
        try:
            identity, control = await self._open(site, Channel.CONTROL, dialling, opened)
            _, bulk = await self._open(site, Channel.BULK, dialling, opened)
            self._attempts.done(site, dialling)
            await self._keep(identity, control, bulk)
        except (Refused, ConfigurationError) as error:
            self._pacer.failed()
            self._refuse(error, to=site)
        finally:
            self._attempts.done(site, dialling)
            await _end_all(opened)

    async def _open(
        self, site: str, channel: Channel, dialling: Dialling, opened: list[Connection]
    ) -> tuple[Identity, Connection]:
        host, port = self._address_of(site)
        connection = await dial_tls(host, port, self._credentials, self._limits)
        opened.append(connection)
        identity = admit(connection, self._credentials)
        if identity.role not in AGENTS or identity.name != site:
            raise Refused(
                Refusal.WRONG_NAME, f"wanted {site} at {host}:{port}, {identity.uri} is there"
            )
        self._require_peer(identity)
        self._listener.know(connection.extra("peername")[0])
        connection.say(self._attempts.hello(site, channel))
        dialling.is_hello_out = True
        hello = await hear_hello(connection, identity, self._limits)
        self._attempts.answered(site, hello)
        self._decide_roster(hello)
        return identity, connection

    # Being dialled.

    async def _greet_counted(self, accepted: socket.socket, is_known: Callable[[], None]) -> None:
        with self._open_connections.held(1):
            await self._greet(accepted, is_known)

    async def _greet(self, accepted: socket.socket, is_known: Callable[[], None]) -> None:
        """One accepted connection, from its first byte to its last."""
        connection: Connection | None = None
        identity: Identity | None = None
        try:
            connection = await accept_tls(accepted, self._credentials, self._limits)
            identity = admit(connection, self._credentials)
            hello = await hear_hello(connection, identity, self._limits)
            is_known()
            self._require_welcome(identity, hello)
            await self._serve[hello.channel](connection, identity, hello)
        except Refused as refused:
            self._pacer.failed()
            self._refuse(refused)
            if connection is not None:
                turn_away(connection, refused, is_member=identity is not None)
        finally:
            await _end_all([] if connection is None else [connection])

    def _require_welcome(self, identity: Identity, hello: Hello) -> None:
        """A peer must be in the roster, a person have the role, and both mean this site."""
        wanted = PEOPLE if hello.channel is Channel.OPERATOR else AGENTS
        if identity.role not in wanted:
            who = " and ".join(f"{role}s" for role in wanted)
            raise Refused(
                Refusal.WRONG_ROLE, f"{identity.uri}: the {hello.channel} channel is for {who}"
            )
        if hello.to != self.site and not (wanted is PEOPLE and hello.to == ""):
            raise Refused(Refusal.WRONG_NAME, f"this is {self.site}, not {hello.to[:80]!r}")
        if wanted is AGENTS:
            self._require_peer(identity)
            self._decide_roster(hello)

    def _require_peer(self, identity: Identity) -> None:
        """Also of whom we have dialled. For a site with data a relay's certificate won't do."""
        if identity.name not in self._peer_names:
            raise Refused(Refusal.NOT_IN_ROSTER, f"{identity.uri} is not a peer of this roster")
        if identity.role is Role.RELAY and self._roster.site(identity.name).has_data:
            raise Refused(
                Refusal.WRONG_ROLE,
                f"{identity.uri}: a relay originates nothing, and the roster gives it data",
            )

    def _decide_roster(self, hello: Hello) -> None:
        told = decide_roster(hello, self._held)
        if told and hello.channel is Channel.CONTROL:
            self._notices.say(OLDER_ROSTER, told)

    async def _serve_control(self, control: Connection, identity: Identity, hello: Hello) -> None:
        site = identity.name
        half = self._attempts.welcome(hello)
        try:
            control.say(self._attempts.hello(site, Channel.CONTROL))
            bulk = await half.bulk(timeout_s=self._limits.hello_timeout_s)
        finally:
            self._attempts.forget_half(site, half)
        await self._keep(identity, control, bulk)

    async def _serve_bulk(self, bulk: Connection, identity: Identity, hello: Hello) -> None:
        half = self._attempts.half_of(identity.name)
        if half is None or not half.complete(hello, bulk):
            raise Refused(Refusal.SUPERSEDED, f"{identity.name}: its control connection is gone")
        bulk.say(self._attempts.hello(identity.name, Channel.BULK))
        await asyncio.shield(bulk.lost)

    async def _serve_operator(
        self, connection: Connection, identity: Identity, hello: Hello
    ) -> None:
        if self._control is None:
            raise Refused(Refusal.WRONG_ROLE, f"{self.site} takes no operators' requests")
        self._require_room(identity)
        self._operators[connection] = identity
        try:
            connection.say(self._attempts.hello(identity.name, Channel.OPERATOR))
            await serve_operator(
                connection,
                identity,
                self._control,
                notify=self._notices.say,
                idle_s_max=self._limits.operator_idle_s_max,
            )
        finally:
            del self._operators[connection]

    def _require_room(self, identity: Identity) -> None:
        here = len(self._operators)
        if here >= self._limits.operators_max:
            raise Refused(Refusal.TOO_MANY_CONNECTIONS, f"{here} operators are here")
        own = sum(one.name == identity.name for one in self._operators.values())
        if own >= self._limits.operators_each_max:
            raise Refused(
                Refusal.TOO_MANY_CONNECTIONS, f"{identity.name} has {own} connections here already"
            )

    # Links.

    async def _keep(self, identity: Identity, control: Connection, bulk: Connection) -> None:
        """Reports the link up, carries messages until it ends, and reports it down."""
        site = identity.name
        while (older := self._links.get(site)) is not None:
            older.link.close(Refused(Refusal.SUPERSEDED, f"{site} has dialled anew"))
            await older.ended.wait()
        counters = self._counters.setdefault(site, LinkCounters())
        counters.links += 1
        link = Link(
            identity,
            control,
            bulk,
            codec=self._codec,
            limits=self._limits,
            counters=counters,
            refused=self._refused,
            handler=self._handler,
            keyring=self._keyring,
            pacer=self._pacer,
        )
        kept = self._links[site] = _Kept(link)
        self._handler.link_up(site)
        try:
            error = await link.run()
        finally:
            del self._links[site]
            kept.ended.set()
        if isinstance(error, Refused):
            self._refuse(error)
        self._handler.link_down(site, link.unsent() + kept.too_late)

    async def _watch(self) -> None:
        """Looks at every connection now and then."""
        while True:
            await asyncio.sleep(self._limits.sample_every_s)
            now_s = asyncio.get_running_loop().time()
            for kept in list(self._links.values()):
                kept.link.sample()
                if (waits_s := kept.link.live_waits_s) > HELD_BACK_S:
                    text = f"live panes for {kept.link.site} wait {waits_s:.0f} s for the budget"
                    self._notices.say(HELD_BACK, text)
                if now_s - kept.link.heard_s > self._limits.silence_s_max:
                    self._end(kept.link, Refusal.SILENT)
                elif min(one.expires_s for one in kept.link.identities) < time.time():
                    self._end(kept.link, Refusal.EXPIRED_CERTIFICATE)
            for connection, identity in list(self._operators.items()):
                if identity.expires_s < time.time():
                    ended = Refused(Refusal.EXPIRED_CERTIFICATE, f"{identity.uri} has expired")
                    connection.end(ended)
            if left := await self._open_connections.give_back():
                self._notices.say(GIVEN_BACK, f"what {left} ended connections had taken")

    def _end(self, link: Link, reason: Refusal) -> None:
        link.close(Refused(reason, f"the link with {link.site} is closed"))

    # Small matters.

    def _return(self, to: str, message: Message, priority: int) -> None:
        """The link ended while the message was on its way here."""
        if (kept := self._links.get(to)) is not None:
            kept.too_late.append(message)
        else:
            asyncio.get_running_loop().call_soon(self._report_unsent, to, message, priority)

    def _report_unsent(self, to: str, message: Message, priority: int) -> None:
        """Unless there is a link again by now: a link that is up is not reported down."""
        if to in self._links:
            self.send(to, message, priority)
        else:
            self._handler.link_down(to, [message])

    def _refuse(self, error: Refused | ConfigurationError, *, to: str = "") -> None:
        reason = error.reason if isinstance(error, Refused) else Refusal.UNREACHABLE
        self._refused[reason] += 1
        self._notices.say(reason, f"dial {to}: {error}" if to else str(error))
        bare(error)

    def _roster_address(self, name: str) -> tuple[str, int]:
        site = self._roster.site(name)
        return site.host, site.port

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


class _Kept:
    """A link that was reported up, and the moment at which it has been reported down."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.ended = asyncio.Event()
        self.too_late: list[Message] = []
        """Sent in the few turns of the loop between closing and reporting it."""


async def _end_all(connections: list[Connection]) -> None:
    for connection in connections:
        connection.end()
    for connection in connections:
        await asyncio.shield(connection.lost)
