"""What outlives a certificate: connections that were open when it ended or was denied, and a deny
list that nobody reads because its path was mistyped."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from headwater.agent.control import control_api as api
from headwater.errors import HeadwaterError
from headwater.net.control.control_client import ControlClient
from headwater.net.identity.certs import CertFiles, issue, load_authority
from headwater.net.identity.identity import Role
from headwater.net.identity.tls import Credentials
from headwater.net.network import DEFAULT_LIMITS
from headwater.net.transport.attempts import Attempts
from headwater.net.transport.connection import Connection
from headwater.net.transport.greeting import admit, dial_tls, hear_hello
from headwater.net.transport.hello import Channel, RosterHeld
from headwater.net.transport.send_queue import SendQueue
from hostile.federation import Agents

BRIEF = "brief"
"""An operator whose certificate ends soon."""
BRIEF_S = 4.0
CLOSED_S_MAX = 15.0
MISTYPED = "certs/denyed"


async def operator_outlives(agents: Agents) -> str | None:
    """A connection that an operator opened in time, and goes on using: what it got by that."""
    files = issue(
        load_authority(agents.directory / "certs"),
        Role.OPERATOR,
        BRIEF,
        force=True,
        days=BRIEF_S / 86_400,
    )
    async with ControlClient("127.0.0.1", agents.port(agents.sites[0]), files) as client:
        await client.request(api.STREAMS, {})
        connection = client._connection
        assert connection is not None
        if not await _ended(connection):
            return "an operator's connection outlived its certificate"
        try:
            await client.request(api.STREAMS, {})
        except HeadwaterError:
            return None
    return "an operator was let in again with a certificate that has ended"


async def bulk_half_outlives(agents: Agents) -> str | None:
    """A link whose two connections show two certificates of one site, of which the bulk half's is
    denied while it is up."""
    other = _second_certificate(agents)
    control, bulk = await _two_faced(agents, agents.sites[0], other)
    listed = agents.directory / "certs" / "denied"
    before = listed.read_text()
    try:
        listed.write_text(f"{before}\n{Credentials(other).identity.serial:x}\n")
        os.kill(agents.pid(agents.sites[0]), signal.SIGHUP)
        if not (await _ended(bulk) and await _ended(control)):
            return "the bulk half of a link outlived the denial of its certificate"
    finally:
        for one in (control, bulk):
            one.end()
        listed.write_text(before)
        os.kill(agents.pid(agents.sites[0]), signal.SIGHUP)
    return None


def mistyped_deny_path(agents: Agents) -> str | None:
    """Whether anybody would notice; looked at with a copy of the relay's configuration."""
    name = agents.names[-1]
    config = agents.directory / name / "mistyped.toml"
    text = (agents.directory / name / "agent.toml").read_text()
    assert 'deny = "../certs/denied"' in text
    config.write_text(text.replace('deny = "../certs/denied"', f'deny = "{MISTYPED}"'))
    try:
        done = agents.doctor(config)
    finally:
        config.unlink()
    shown = done.stdout.decode()
    if "no deny list" not in shown or "doubtful" not in shown:
        return f"doctor finds nothing wrong with a deny list that is not there: {shown[:200]}"
    return None


def _second_certificate(agents: Agents) -> CertFiles:
    """Of the thief's site, as where a key was renewed and the former one is still valid."""
    into = Path(agents.directory) / "renewed"
    into.mkdir(exist_ok=True)
    authority = load_authority(agents.directory / "certs")
    return issue(authority, Role.SITE, agents.thief, into=into, force=True)


async def _two_faced(agents: Agents, to: str, other: CertFiles) -> tuple[Connection, Connection]:
    held = RosterHeld(agents.roster.version, agents.signed.digest)
    attempts = Attempts(agents.thief, held)
    attempts.begin(to)
    opened = []
    faces = {Channel.CONTROL: agents.certificate(agents.thief), Channel.BULK: other}
    for channel, files in faces.items():
        credentials = Credentials(files)
        connection = await dial_tls("127.0.0.1", agents.port(to), credentials, DEFAULT_LIMITS)
        identity = admit(connection, credentials)
        connection.say(attempts.hello(to, channel))
        attempts.answered(to, await hear_hello(connection, identity, DEFAULT_LIMITS))
        connection.attach(lambda frame: None, SendQueue(bytes_max=1, streams=(), shares={}))
        opened.append(connection)
    return opened[0], opened[1]


async def _ended(connection: Connection) -> bool:
    try:
        async with asyncio.timeout(CLOSED_S_MAX):
            await asyncio.shield(connection.lost)
    except TimeoutError:
        return False
    return True
