"""The first frame on every connection, and who wins when two sites dial each other at once.

A link is two connections, control and bulk, that one side dials one after the other. Each dial
to a neighbour has a number, and each life of a process has a random number of its own, so
(life, dial) names a pair of connections and tells a new attempt from an old one.

Both sides may dial at the same moment, and both must then keep the same pair:

- a dial that is not newer than what we have heard from that life is an echo of an attempt that
  its sender has given up, and is refused;
- while a hello of ours is out, the dial of the site with the smaller name wins; a hello that has
  not left yet binds nobody, so the one that has arrived wins;
- a newer dial while a link is up means that the other side has lost it: the new one replaces it.

Agents also say which roster they have. Two rosters of one version are a mistake, for the numbers of
sites may mean different ones: no link comes of it. Different versions are what a change looks like
while it is on its way; the older one is told of.
"""

from enum import StrEnum
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from headwater.algebra.bounds import Name, Number
from headwater.net.refusal import Refusal, Refused
from headwater.net.transport.frames import Frame, Kind
from headwater.net.values.wire import Text

PROTOCOL = 2
PROTOCOL_OLDEST = 2
"""The oldest version that this one still understands."""
DIGEST_BYTES_MAX = 64


class Channel(StrEnum):
    CONTROL = "control"
    BULK = "bulk"
    OPERATOR = "operator"


class RosterHeld(msgspec.Struct, frozen=True):
    """Which roster an agent has taken."""

    version: Number = 0
    digest: Annotated[bytes, Meta(max_length=DIGEST_BYTES_MAX)] = b""
    """Of the signed word."""


class Hello(msgspec.Struct, frozen=True):
    """A map, not an array: this struct must stay readable across all versions."""

    name: Name
    to: Name
    """Whom the sender means to talk to; empty from an operator who takes whoever answers."""
    channel: Channel
    life: Number
    dial: Number
    """From the side that dials: the number of this dial. In the answer: how often the answering
    side has dialled so far, so that its given-up attempts are known to be old."""
    protocol: int = PROTOCOL
    protocol_oldest: int = PROTOCOL_OLDEST
    roster: RosterHeld = RosterHeld()
    """Of an agent; operators say nothing of theirs."""


class Goodbye(msgspec.Struct, frozen=True):
    """Why a connection is refused; said only to members of the federation."""

    reason: Name
    text: Text


Opening = TypeVar("Opening", Hello, Goodbye)


class Heard(msgspec.Struct, frozen=True):
    """The newest dial that is known of a neighbour."""

    life: int
    dial: int


def decode_hello(frame: Frame, *, sender: str) -> Hello:
    """The other side's hello. Raises ``Refused`` for its goodbye, and for anything else."""
    if frame.kind is Kind.GOODBYE:
        goodbye = _decode(frame.payload, Goodbye)
        raise Refused(Refusal.REFUSED_US, f"{sender} says: {goodbye.text}")
    if frame.kind is not Kind.HELLO:
        raise Refused(Refusal.FRAME_KIND, f"wanted a hello from {sender}, got {frame.kind.name}")
    hello = _decode(frame.payload, Hello)
    if hello.protocol < PROTOCOL_OLDEST or hello.protocol_oldest > PROTOCOL:
        raise Refused(
            Refusal.PROTOCOL_VERSION,
            f"{sender} speaks protocol {hello.protocol_oldest} to {hello.protocol}, we speak "
            f"{PROTOCOL_OLDEST} to {PROTOCOL}: run the same version of headwater at both",
        )
    return hello


def decide_dial(hello: Hello, *, me: str, hello_is_out: bool, heard: Heard | None) -> None:
    """Returns when the incoming dial is the one to keep; raises ``Refused`` when it is not."""
    if heard is not None and hello.life == heard.life and hello.dial <= heard.dial:
        raise Refused(Refusal.SUPERSEDED, f"dial {hello.dial} of {hello.name} is an old one")
    if hello_is_out and me < hello.name:
        raise Refused(Refusal.SUPERSEDED, f"{me} is dialling {hello.name} and wins by its name")


def decide_roster(hello: Hello, own: RosterHeld) -> str:
    """What to tell of an older roster at either side, or nothing. Raises ``Refused`` when both have
    the same version of different rosters."""
    theirs = hello.roster
    if theirs.version == own.version and theirs.digest != own.digest:
        raise Refused(
            Refusal.OTHER_ROSTER,
            f"{hello.name} has another roster of version {own.version} ({theirs.digest.hex()[:8]}, "
            f"ours is {own.digest.hex()[:8]}): give all agents the same file, or sign one with a "
            "higher version",
        )
    if theirs.version > own.version:
        return (
            f"{hello.name} has version {theirs.version} of the roster, and this agent "
            f"{own.version}: give it the newer file and start it again"
        )
    if theirs.version < own.version:
        return (
            f"{hello.name} has version {theirs.version} of the roster, which is older than "
            f"{own.version} here: give it the newer file and start it again"
        )
    return ""


def _decode(payload: bytes, wanted: type[Opening]) -> Opening:
    try:
        return msgspec.msgpack.decode(payload, type=wanted)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Refused(Refusal.MALFORMED, f"{wanted.__name__}: {str(error)[:200]}") from None
