"""How a connection begins, on either side: TCP, TLS, whose certificate it is, hello.

Everything that fails here comes out as ``Refused`` with a reason, for both sides: the one that
dials learns why it was not let in, the one that is dialled counts whom it turned away.
"""

import asyncio
import contextlib
import socket
from asyncio import sslproto
from typing import TypeVar

from headwater.net.identity.identity import Identity
from headwater.net.identity.tls import CLOSED_UNSAID, Credentials, handshake_refusal
from headwater.net.network import NetLimits
from headwater.net.refusal import Refusal, Refused
from headwater.net.transport.connection import Connection
from headwater.net.transport.hello import Goodbye, Hello, decode_hello
from headwater.net.transport.tcp import tune

Failure = TypeVar("Failure", bound=BaseException)

SHUTDOWN_TIMEOUT_S = 1.0
BUFFER_BYTES = 64 << 10
"""Of each connection, for what is received: four TLS records. asyncio takes 256 KiB, and a link is
two connections."""


def take_small_buffers() -> None:
    """All TLS connections of this process, from now on. asyncio has no argument for it."""
    assert hasattr(sslproto.SSLProtocol, "max_size"), "another asyncio: see where its buffers are"
    sslproto.SSLProtocol.max_size = BUFFER_BYTES


async def accept_tls(
    accepted: socket.socket, credentials: Credentials, limits: NetLimits
) -> Connection:
    with contextlib.suppress(OSError):  # It may be gone already; the handshake will say so.
        tune(accepted, user_timeout_s=limits.tcp_user_timeout_s)
    try:
        _, connection = await asyncio.get_running_loop().connect_accepted_socket(
            Connection,
            accepted,
            ssl=credentials.server,
            ssl_handshake_timeout=limits.handshake_timeout_s,
            ssl_shutdown_timeout=SHUTDOWN_TIMEOUT_S,
        )
    except OSError as error:
        raise handshake_refusal(bare(error)) from None
    return connection


async def dial_tls(host: str, port: int, credentials: Credentials, limits: NetLimits) -> Connection:
    try:
        async with asyncio.timeout(limits.connect_timeout_s + limits.handshake_timeout_s):
            _, connection = await asyncio.get_running_loop().create_connection(
                Connection,
                host,
                port,
                ssl=credentials.client,
                server_hostname=host,
                ssl_handshake_timeout=limits.handshake_timeout_s,
                ssl_shutdown_timeout=SHUTDOWN_TIMEOUT_S,
            )
    except (ConnectionRefusedError, TimeoutError, socket.gaierror) as error:
        raise Refused(
            Refusal.UNREACHABLE, f"{host}:{port}: {bare(error) or 'no answer in time'}"
        ) from None
    except OSError as error:
        raise handshake_refusal(bare(error)) from None
    with contextlib.suppress(OSError):
        tune(connection.extra("socket"), user_timeout_s=limits.tcp_user_timeout_s)
    return connection


def bare(error: Failure) -> Failure:
    """Without the frames in which it was raised. Those of asyncio hold the error in their turn, and
    with it a transport's buffers until the next full collection; ours hold the connection, which
    knows the error by which it ended. A connection that came to nothing must not cost that much."""
    one: BaseException | None = error
    while one is not None and one.__traceback__ is not None:
        one.__traceback__, one = None, one.__context__
    return error


def admit(connection: Connection, credentials: Credentials) -> Identity:
    """Who is at the other end, by the certificate that TLS has verified."""
    connection.identity = identity = credentials.admit(connection.extra("peercert"))
    return identity


async def hear_hello(connection: Connection, sender: Identity, limits: NetLimits) -> Hello:
    """The other side's hello, which must come from whom its certificate names."""
    try:
        frame = await connection.first_frame(timeout_s=limits.hello_timeout_s)
    except TimeoutError:
        raise Refused(
            Refusal.HELLO_TIMEOUT, f"{sender.name} said nothing for {limits.hello_timeout_s:g} s"
        ) from None
    except OSError as error:
        refusal = handshake_refusal(error)
        if refusal.reason is not Refusal.HANDSHAKE:
            raise refusal from None
        raise Refused(Refusal.REFUSED_US, f"{sender.name}: {CLOSED_UNSAID}") from None
    hello = decode_hello(frame, sender=sender.name)
    if hello.name != sender.name:
        raise Refused(Refusal.WRONG_NAME, f"{sender.uri} says that its name is {hello.name[:80]!r}")
    return hello


def turn_away(connection: Connection, refused: Refused, *, is_member: bool) -> None:
    """Ends it; a member is told why, a stranger nothing."""
    if is_member:
        connection.say(Goodbye(refused.reason.value, str(refused)[:1000]))
    connection.end(refused, flush=is_member)
