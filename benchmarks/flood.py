"""What is left to members while strangers flood an agent's open port.

``python -m benchmarks.flood`` (or ``make flood``). One process is the agent: a network with its
port, as every agent has it. This process is a member with a link to it, whose heartbeats are sent
back; an operator who asks once in a while on a new connection; and a member that was away and dials
anew. A third process does what no member does: holds connections open, takes ever so long for a
handshake, or connects a thousand times a second, from one address or from many (of 127.0.0.0/8).

The check: of the heartbeats' round trips 99 in 100 take less than a second, the link stays up, and
operators and members get in, unless the flood comes from their own address: who is who is not known
there before the handshake, and all that is promised is that the links which are up work. Exit code
1: not so. All load is on loopback.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import json
import os
import resource
import selectors
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from headwater.errors import HeadwaterError
from headwater.net.control.control import Caller
from headwater.net.control.control_client import ControlClient
from headwater.net.identity.certs import CertFiles, create_authority, issue
from headwater.net.identity.identity import Role
from headwater.net.identity.tls import Credentials
from headwater.net.transport.tls_network import TlsNetwork
from headwater.net.values.codec import Codec
from headwater.overlay.links.link_load import LinkLoad
from headwater.overlay.messages import Heartbeat, Message
from headwater.overlay.outputs import CONTROL
from headwater.plan.roster import Roster, Site

HEARTBEAT_S_MAX = 1.0
"""Of 99 in 100."""
BEAT_EVERY_S = 0.05
ASK_EVERY_S = 0.5
SHARE_IN_MIN = 0.9
"""Of the operators' requests and of the dials of a member from an address that is known."""
OPEN_MAX = 10_000
CONNECTS_PER_S = 1_000
HELD_S = 2.0
"""How long an attacker keeps a connection of a flood, if it is let."""
ONE, KNOWN = "127.6.6.6", "127.0.0.1"


def attacks() -> dict[str, tuple[str, ...]]:
    """Each by the options of the attacker."""
    return {
        "nothing": (),
        "10,000 half-open, one address": ("--open", str(OPEN_MAX), "--from", ONE),
        "10,000 half-open, many": ("--open", str(OPEN_MAX), "--from", "many"),
        "slow handshakes, many": ("--open", "2000", "--from", "many", "--drip"),
        "1,000 connects/s, one address": ("--from", ONE),
        "1,000 connects/s, many": ("--from", "many"),
        "1,000 connects/s, a member's own": ("--from", KNOWN),
        "1,000 client hellos/s, one address": ("--from", ONE, "--hello"),
        "1,000 client hellos/s, many": ("--from", "many", "--hello"),
        "1,000 client hellos/s, a member's own": ("--from", KNOWN, "--hello"),
    }


class Measured:
    """Of one attack."""

    def __init__(self) -> None:
        self.round_trips_s: list[float] = []
        self.beats = self.asked = self.answered = self.dials = self.links = self.downs = 0
        self.ask_s: list[float] = []

    def line(self, name: str, *, cpu_share: float, refused: int, tried: int) -> str:
        trips = sorted(self.round_trips_s)
        return (
            f"{name:38} {1e3 * _at(trips, 0.5):8.1f} {1e3 * _at(trips, 0.99):8.1f} "
            f"{1e3 * (trips[-1] if trips else 0):8.1f} {self.answered:4}/{self.asked:<4}"
            f"{1e3 * _at(sorted(self.ask_s), 0.5):8.1f} {self.links:4}/{self.dials:<4} "
            f"{cpu_share:7.0%} {refused:8} {tried:8}"
        )

    def is_good(self, *, gets_in: bool) -> bool:
        trips = sorted(self.round_trips_s)
        works = self.downs == 0 and len(trips) >= SHARE_IN_MIN * self.beats
        has_time = _at(trips, 0.99) < HEARTBEAT_S_MAX
        is_in = (
            self.answered >= SHARE_IN_MIN * self.asked and self.links >= SHARE_IN_MIN * self.dials
        )
        return works and has_time and (is_in or not gets_in)


HEAD = (
    f"{'attack':38} {'beat ms':>8} {'99%':>8} {'most':>8} {'asked':>9}{'ms':>8} {'dials':>9} "
    f"{'agent':>7} {'refused':>8} {'tried':>8}"
)


class Member:
    """A handler that hears its own heartbeats back."""

    def __init__(self) -> None:
        self.up = asyncio.Event()
        self.measured = Measured()
        self.is_wanted = True

    def link_up(self, site: str) -> None:
        self.up.set()

    def link_down(self, site: str, unsent: Sequence[Message]) -> None:
        self.up.clear()
        self.measured.downs += self.is_wanted

    def link_load(self, site: str, load: LinkLoad) -> None:
        """What waits is of no interest here."""

    def message(self, sender: str, message: Message) -> None:
        assert isinstance(message, Heartbeat)
        self.measured.round_trips_s.append(time.monotonic() - message.sent_s)


async def main(seconds: float, only: str) -> int:
    is_good = True
    print(HEAD)
    with tempfile.TemporaryDirectory(prefix="headwater-flood-") as scratch, _lay(Path(scratch)):
        for name, options in attacks().items():
            if only in name:
                good = await _under(Path(scratch), name, options, seconds=seconds)
                is_good = is_good and good
    return 0 if is_good else 1


async def _under(directory: Path, name: str, options: tuple[str, ...], *, seconds: float) -> bool:
    with _process("agent", str(directory)) as agent:
        port = int(agent.stdout.readline())
        bravo, member = await _member(directory, "bravo", port)
        charlie, away = await _member(directory, "charlie", port)
        charlie.close_link("alpha")
        away.is_wanted = False
        member.measured = found = Measured()
        command = ("attacker", str(port), "--seconds", str(seconds), *options)
        began_s = _cpu_s(agent.pid)
        with _process(*command) as attacker:
            await asyncio.gather(
                _beat(bravo, found, seconds),
                _ask(directory, port, found, seconds),
                _dial(charlie, away, found, seconds),
            )
            share = (_cpu_s(agent.pid) - began_s) / seconds
            tried = int(json.loads(attacker.stdout.readline() or b"0"))
        member.is_wanted = False
        await bravo.stop()
        await charlie.stop()
        agent.stdin.close()
        refused = sum(json.loads(agent.stdout.readline()).values())
    print(found.line(name, cpu_share=share, refused=refused, tried=tried), flush=True)
    return found.is_good(gets_in=KNOWN not in options)


async def _beat(network: TlsNetwork, found: Measured, seconds: float) -> None:
    for _ in range(int(seconds / BEAT_EVERY_S)):
        network.send(
            "alpha",
            Heartbeat(sent_s=time.monotonic(), echo_s=None, echo_held_s=0.0, digest=7),
            CONTROL,
        )
        found.beats += 1
        await asyncio.sleep(BEAT_EVERY_S)
    await asyncio.sleep(HEARTBEAT_S_MAX)


async def _ask(directory: Path, port: int, found: Measured, seconds: float) -> None:
    for _ in range(int(seconds / ASK_EVERY_S)):
        began_s = time.monotonic()
        found.asked += 1
        with contextlib.suppress(HeadwaterError):
            async with ControlClient("127.0.0.1", port, _files(directory, "olga")) as client:
                await client.request("echo")
            found.answered += 1
            found.ask_s.append(time.monotonic() - began_s)
        await asyncio.sleep(max(0.0, ASK_EVERY_S - (time.monotonic() - began_s)))


async def _dial(network: TlsNetwork, away: Member, found: Measured, seconds: float) -> None:
    """Again and again: up, and away."""
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        found.dials += 1
        network.dial("alpha")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(HELD_S):
                await away.up.wait()
            found.links += 1
        network.close_link("alpha")
        await asyncio.sleep(ASK_EVERY_S)


# The agent, in a process of its own.


async def _agent(directory: Path) -> None:
    async def echo(name: str, payload: dict[str, Any], caller: Caller) -> Any:
        return payload

    class Echo(Member):
        def message(self, sender: str, message: Message) -> None:
            network.send(sender, message, CONTROL)

    network = _network(directory, "alpha", 0, control=echo)
    await network.start(Echo())
    print(network.port, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    print(json.dumps(network.stats().refused), flush=True)
    await network.stop()


# The attacker, in a process of its own.


class Attacker:
    """As many connections as it may have; the oldest go first."""

    def __init__(self, port: int, origin: str, word: bytes) -> None:
        self.tried = 0
        self._port = port
        self._word = word
        self._origins = _addresses(origin)
        self._open: list[tuple[float, socket.socket]] = []
        self._selector = selectors.DefaultSelector()

    def connect(self) -> None:
        one = socket.socket()
        one.setblocking(False)
        self.tried += 1
        try:
            one.bind((next(self._origins), 0))
            one.connect(("127.0.0.1", self._port))
        except BlockingIOError:
            self._selector.register(one, selectors.EVENT_WRITE)
            self._open.append((time.monotonic(), one))
        except OSError as error:
            one.close()
            if error.errno not in (errno.EADDRNOTAVAIL, errno.EMFILE, errno.EADDRINUSE):
                raise

    def drop(self, *, older_than_s: float, count_max: int) -> None:
        limit_s = time.monotonic() - older_than_s
        while self._open and (self._open[0][0] < limit_s or len(self._open) > count_max):
            self._close(self._open.pop(0)[1])

    def speak(self) -> None:
        """Those that are connected say the next of what they say."""
        for key, _ in self._selector.select(0):
            with contextlib.suppress(OSError):
                if self._word:
                    key.fileobj.send(self._word)  # type: ignore[union-attr]
            self._selector.unregister(key.fileobj)

    def drip(self) -> None:
        """One byte more on each connection."""
        for _, one in self._open:
            with contextlib.suppress(OSError):
                one.send(b"\x01")

    @property
    def open_count(self) -> int:
        return len(self._open)

    def forget_closed(self) -> None:
        """Those that the agent has closed are opened again."""
        kept = []
        for since_s, one in self._open:
            with contextlib.suppress(BlockingIOError):
                try:
                    if one.recv(64, socket.MSG_PEEK) != b"":
                        kept.append((since_s, one))
                    else:
                        self._close(one)
                    continue
                except ConnectionError:
                    self._close(one)
                    continue
            kept.append((since_s, one))
        self._open = kept

    def _close(self, one: socket.socket) -> None:
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(one)
        one.close()


def _attack(options: argparse.Namespace) -> None:
    if options.origin is None:
        time.sleep(options.seconds)
        print(0, flush=True)
        return
    word = _client_hello() if options.hello else (b"\x16" if options.drip else b"")
    attacker = Attacker(options.port, options.origin, word)
    end_s = time.monotonic() + options.seconds
    began_s = swept_s = time.monotonic()
    while (now_s := time.monotonic()) < end_s:
        if options.open:
            for _ in range(min(200, options.open - attacker.open_count)):
                attacker.connect()
        else:
            while attacker.tried < (now_s - began_s) * CONNECTS_PER_S:
                attacker.connect()
            attacker.drop(older_than_s=HELD_S, count_max=OPEN_MAX)
        attacker.speak()
        if options.open and now_s - swept_s > 0.5:
            attacker.forget_closed()
            if options.drip:
                attacker.drip()
            swept_s = now_s
        time.sleep(0.005)
    print(attacker.tried, flush=True)


def _addresses(origin: str) -> Iterator[str]:
    for n in count():
        yield origin if origin != "many" else f"127.{7 + n % 99}.{n // 99 % 250}.{n % 240 + 1}"


def _client_hello() -> bytes:
    """What a real client says first, so that the agent has to answer with all its cryptography."""
    outgoing = ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    return outgoing.read()


# What all of them need.


@contextmanager
def _lay(directory: Path) -> Iterator[None]:
    authority = create_authority(directory / "certs", "flood")
    for name in ("alpha", "bravo", "charlie"):
        issue(authority, Role.SITE, name)
    issue(authority, Role.OPERATOR, "olga")
    yield


def _files(directory: Path, name: str) -> CertFiles:
    at = directory / "certs"
    return CertFiles(at / "ca.pem", at / f"{name}.pem", at / f"{name}.key")


def _network(directory: Path, name: str, port: int, **more: Any) -> TlsNetwork:
    sites = tuple(
        Site(n, one, "127.0.0.1", 1) for n, one in enumerate(("alpha", "bravo", "charlie"))
    )
    return TlsNetwork(
        site=name,
        roster=Roster(1, sites, home="alpha"),
        roster_digest=b"",
        codec=Codec(lambda _: None),
        credentials=Credentials(_files(directory, name)),
        address_of=lambda _: ("127.0.0.1", port),
        listen=None if port else ("127.0.0.1", 0),
        **more,
    )


async def _member(directory: Path, name: str, port: int) -> tuple[TlsNetwork, Member]:
    network, member = _network(directory, name, port), Member()
    await network.start(member)
    network.dial("alpha")
    async with asyncio.timeout(20.0):
        await member.up.wait()
    return network, member


@contextmanager
def _process(*words: str) -> Iterator[Any]:
    command = [sys.executable, "-m", "benchmarks.flood", *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _at(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))] if values else float("nan")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parts = parser.add_subparsers(dest="part")
    agent = parts.add_parser("agent")
    agent.add_argument("directory", type=Path)
    attacker = parts.add_parser("attacker")
    attacker.add_argument("port", type=int)
    attacker.add_argument("--open", type=int, default=0)
    attacker.add_argument("--from", dest="origin")
    attacker.add_argument("--drip", action="store_true")
    attacker.add_argument("--hello", action="store_true")
    attacker.add_argument("--seconds", type=float)
    parser.add_argument("--seconds", type=float, default=15.0, help="of each attack")
    parser.add_argument("--only", default="", help="attacks in whose name this stands")
    return parser.parse_args()


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    chosen = _options()
    if chosen.part == "agent":
        asyncio.run(_agent(chosen.directory))
    elif chosen.part == "attacker":
        _attack(chosen)
    else:
        sys.exit(asyncio.run(main(chosen.seconds, chosen.only)))
