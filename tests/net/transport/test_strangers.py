"""Strangers get no byte in: each is refused and counted, nothing changes, good peers go on."""

import asyncio
import os
import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headwater.net.identity.certs import Authority, CertFiles, create_authority, issue
from headwater.net.identity.identity import Role
from headwater.net.identity.tls import Credentials, handshake_refusal
from headwater.net.network import NetLimits
from headwater.net.refusal import Refusal
from headwater.net.transport.frames import Kind, Stream, encode_frame
from headwater.net.transport.greeting import dial_tls
from headwater.overlay.messages import Heartbeat

BEAT = Heartbeat(sent_s=1.0, echo_s=None, echo_held_s=0.0, digest=7)


def _loose_context(files: CertFiles | None = None) -> ssl.SSLContext:
    """A client that takes any server, with or without a certificate of its own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if files is not None:
        context.load_cert_chain(files.cert, files.key)
    return context


async def _knock(port: int, context: ssl.SSLContext) -> bytes:
    """What a client gets from the port before it is closed; nothing, if it is a stranger."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    except OSError:
        return b""
    try:
        writer.write(b"let me in")
        return await reader.read(1000)
    except OSError:
        return b""
    finally:
        writer.transport.abort()


def _foreign(tmp_path: Path) -> CertFiles:
    """A certificate with the right names in it, of another federation's CA."""
    return issue(create_authority(tmp_path, "testland"), Role.SITE, "bravo")


def _expired(authority: Authority, tmp_path: Path) -> CertFiles:
    past = datetime.now(UTC) - timedelta(days=9)
    return issue(authority, Role.SITE, "bravo", into=tmp_path, days=1, now=past)


@pytest.mark.parametrize(
    ("who", "reason"),
    [
        ("without a certificate", "no certificate"),
        ("of another federation", "foreign certificate"),
        ("with an expired certificate", "expired certificate"),
        ("with an older tls", "not tls"),
    ],
)
def test_a_client_is_refused_by_its_certificate(
    live: Any, kit: Any, authority: Authority, tmp_path: Path, who: str, reason: str
) -> None:
    async def test(federation: Any) -> None:
        alpha, *_ = await federation.pair()
        files = {
            "of another federation": lambda: _foreign(tmp_path),
            "with an expired certificate": lambda: _expired(authority, tmp_path),
        }.get(who, lambda: None)()
        context = _loose_context(files)
        if who == "with an older tls":
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        assert await _knock(alpha.port, context) == b""
        await kit.eventually(lambda: alpha.stats().refused == {reason: 1})
        await federation.still_well()

    live(test)


def test_a_member_refuses_a_server_of_another_federation_and_says_so(
    live: Any, kit: Any, tmp_path: Path
) -> None:
    async def test(federation: Any) -> None:
        await federation.pair()
        charlie, _ = await federation.start("charlie")
        other = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        files = _foreign(tmp_path)
        other.load_cert_chain(files.cert, files.key)
        server = await asyncio.start_server(
            lambda reader, writer: writer.close(), "127.0.0.1", 0, ssl=other
        )
        charlie._address_of = lambda site: server.sockets[0].getsockname()
        charlie.dial("bravo")
        await kit.eventually(lambda: charlie.stats().refused == {"foreign certificate": 1})
        server.close()
        await federation.still_well()

    live(test)


def test_a_member_whose_certificate_is_not_accepted_learns_why_it_may_be(
    live: Any, kit: Any, tmp_path: Path
) -> None:
    """The server's certificate is fine, ours is of another CA: TLS 1.3 tells us late."""

    async def test(federation: Any) -> None:
        alpha, *_ = await federation.pair()
        ours = _foreign(tmp_path)
        trusting = CertFiles(federation.files("alpha").ca, ours.cert, ours.key)
        connection = await dial_tls("127.0.0.1", alpha.port, Credentials(trusting), NetLimits())
        with pytest.raises(OSError):  # noqa: PT011 - the words are mapped by hear_hello
            await connection.first_frame(timeout_s=10)
        charlie, _ = await federation.start("charlie")
        charlie._credentials = Credentials(trusting)
        charlie.dial("alpha")
        await kit.eventually(lambda: charlie.stats().refused == {"refused us": 1})
        kind, text = federation.notices[-1]
        assert kind == "refused us"
        assert "our CA" in text or "certificate" in text
        await federation.still_well()

    live(test)


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: alpha\r\n\r\n",
        bytes(range(256)) * 40,
        encode_frame(Kind.HELLO, Stream.CONTROL, b"plain"),
        b"\x16\x03\x01\xff\xff" + os.urandom(100),
    ],
    ids=["http", "garbage", "plain hello", "half a handshake"],
)
def test_what_is_not_tls_is_refused(live: Any, kit: Any, data: bytes) -> None:
    async def test(federation: Any) -> None:
        limits = NetLimits(handshake_timeout_s=0.3)
        alpha, *_ = await federation.pair(limits=limits)
        reader, writer = await asyncio.open_connection("127.0.0.1", alpha.port)
        writer.write(data)
        came = await reader.read(1000)
        assert b"alpha" not in came, "at most a TLS alert"
        writer.close()
        await kit.eventually(lambda: sum(alpha.stats().refused.values()) == 1)
        reason = next(iter(alpha.stats().refused))
        assert reason in ("not tls", "handshake failed", "handshake timeout")
        await federation.still_well()

    live(test)


def test_a_flood_of_connections_that_say_nothing_does_not_keep_members_out(
    live: Any, kit: Any
) -> None:
    async def test(federation: Any) -> None:
        limits = NetLimits(greetings_max=16, handshake_timeout_s=1.0)
        alpha, by_alpha, *_ = await federation.pair(limits=limits)
        strangers = [socket.create_connection(("127.0.0.1", alpha.port)) for _ in range(200)]
        await kit.eventually(
            lambda: alpha.stats().refused.get("too many connections", 0) >= 200 - 16
        )
        charlie, _ = await federation.start("charlie")
        charlie.dial("alpha")
        await by_alpha.until(lambda ear: ear.ups == ["bravo", "charlie"])
        await kit.eventually(
            lambda: (
                alpha.stats().refused.get("handshake timeout", 0)
                + alpha.stats().refused["too many connections"]
                >= 200
            )
        )
        for stranger in strangers:
            stranger.close()
        charlie.close_link("alpha")
        await by_alpha.until(lambda ear: [site for site, _ in ear.downs] == ["charlie"])

    live(test)


def test_the_certificate_of_a_link_that_has_expired_meanwhile_ends_it(
    live: Any, authority: Authority, tmp_path: Path
) -> None:
    async def test(federation: Any) -> None:
        soon = issue(authority, Role.SITE, "bravo", into=tmp_path, days=2 / 86_400)
        alpha, by_alpha = await federation.start("alpha")
        bravo, _ = await federation.start("bravo", credentials=Credentials(soon))
        bravo.dial("alpha")
        await by_alpha.until(lambda ear: ear.ups == ["bravo"])
        await by_alpha.until(lambda ear: bool(ear.downs))
        assert alpha.stats().refused == {"expired certificate": 1}

    live(test)


def test_who_stands_still_in_a_handshake_is_told_with_what_to_look_at() -> None:
    refused = handshake_refusal(TimeoutError())
    assert refused.reason is Refusal.HANDSHAKE_TIMEOUT
    assert "it stands still" in str(refused)
    assert "look at its process and its log" in str(refused)
