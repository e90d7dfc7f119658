"""Members that break the rules: each is told or cut off alone, and nothing else changes."""

import asyncio
import os
import zlib
from typing import Any

import msgspec
import pytest
import zstandard

from headwater.net.network import NetLimits
from headwater.net.transport.connection import Connection
from headwater.net.transport.frames import HEADER, WAITED, Kind, Stream, encode_frame
from headwater.net.transport.greeting import dial_tls
from headwater.net.transport.hello import Channel, Hello
from headwater.net.transport.send_queue import SendQueue
from headwater.net.values.codec import Codec
from headwater.net.values.rows import FINGERPRINT_BYTES
from headwater.overlay.messages import Heartbeat
from headwater.overlay.outputs import CONTROL

BEAT = Heartbeat(sent_s=1.0, echo_s=None, echo_held_s=0.0, digest=7)


class _Guest:
    """A member's certificate in the hands of a program that does not keep the rules."""

    def __init__(self, federation: Any, name: str, port: int) -> None:
        self._federation = federation
        self._name = name
        self._port = port

    async def connect(self) -> Connection:
        credentials = self._federation.credentials(self._name)
        connection = await dial_tls("127.0.0.1", self._port, credentials, NetLimits())
        self._federation.guests.append(connection)
        return connection

    async def hello(self, channel: Channel, **changes: Any) -> Connection:
        connection = await self.connect()
        hello = Hello(self._name, "alpha", channel, life=1, dial=1)
        connection.say(msgspec.structs.replace(hello, **changes))
        return connection

    async def link(self) -> tuple[Connection, Connection]:
        pair = [await self.hello(channel) for channel in (Channel.CONTROL, Channel.BULK)]
        for connection in pair:
            assert (await connection.first_frame(timeout_s=10)).kind is Kind.HELLO
            _listen(connection)
        return pair[0], pair[1]


def _listen(connection: Connection) -> None:
    """Reads on behind the hello, so that the end of the connection is noticed."""
    queue: SendQueue[None] = SendQueue(bytes_max=0, streams=(Stream.CONTROL,), shares={})
    connection.attach(lambda frame: None, queue)


@pytest.mark.parametrize(
    ("name", "channel", "changes", "reason"),
    [
        ("stranger", Channel.CONTROL, {}, "not in roster"),
        ("alpha", Channel.CONTROL, {}, "not in roster"),
        ("olga", Channel.CONTROL, {}, "wrong role"),
        ("charlie", Channel.OPERATOR, {}, "wrong role"),
        ("charlie", Channel.CONTROL, {"name": "bravo"}, "wrong name"),
        ("charlie", Channel.CONTROL, {"to": "bravo"}, "wrong name"),
        ("charlie", Channel.BULK, {}, "superseded"),
        ("charlie", Channel.CONTROL, {"protocol": 99, "protocol_oldest": 98}, "protocol version"),
    ],
)
def test_a_member_who_may_not_is_told_why(
    live: Any, kit: Any, name: str, channel: Channel, changes: dict[str, Any], reason: str
) -> None:
    async def test(federation: Any) -> None:
        alpha, by_alpha, *_ = await federation.pair()
        connection = await _Guest(federation, name, alpha.port).hello(channel, **changes)
        answer = await connection.first_frame(timeout_s=10)
        assert answer.kind is Kind.GOODBYE
        assert msgspec.msgpack.decode(answer.payload)["reason"] == reason
        _listen(connection)
        await connection.lost
        assert alpha.stats().refused == {reason: 1}
        assert by_alpha.ups == ["bravo"]
        await federation.still_well()

    live(test)


def test_a_member_that_never_says_hello_is_let_go(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        limits = NetLimits(hello_timeout_s=0.2)
        alpha, *_ = await federation.pair(limits=limits)
        connection = await _Guest(federation, "charlie", alpha.port).connect()
        await connection.lost
        assert alpha.stats().refused == {"hello timeout": 1}
        await federation.still_well()

    live(test)


def test_a_member_that_opens_half_a_link_is_let_go(live: Any) -> None:
    async def test(federation: Any) -> None:
        limits = NetLimits(hello_timeout_s=0.2)
        alpha, by_alpha, *_ = await federation.pair(limits=limits)
        control = await _Guest(federation, "charlie", alpha.port).hello(Channel.CONTROL)
        await control.first_frame(timeout_s=10)
        _listen(control)
        await control.lost
        assert alpha.stats().refused == {"hello timeout": 1}
        assert by_alpha.ups == ["bravo"]
        await federation.still_well()

    live(test)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ((1 << 31).to_bytes(4, "big"), "frame too long"),
        (HEADER.pack(3, Kind.LAST | Stream.CONTROL << 4, 0) + b"abc", "frame checksum"),
        (HEADER.pack(0, 0xEE, zlib.crc32(b"\xee")), "frame kind"),
        (encode_frame(Kind.HELLO, Stream.CONTROL, b"again"), "frame kind"),
        (encode_frame(Kind.LAST, Stream.LIVE, bytes(20)), "frame kind"),
        (encode_frame(Kind.PART, Stream.CONTROL, bytes(16_000)) * 600, "message too long"),
    ],
    ids=["length bomb", "checksum", "unknown kind", "second hello", "wrong lane", "endless"],
)
def test_a_linked_member_that_breaks_the_frame_format_loses_its_link_alone(
    live: Any, kit: Any, data: bytes, reason: str
) -> None:
    async def test(federation: Any) -> None:
        alpha, by_alpha, *_ = await federation.pair()
        control, bulk = await _Guest(federation, "charlie", alpha.port).link()
        await by_alpha.until(lambda ear: ear.ups == ["bravo", "charlie"])
        control._transport.write(data)
        await by_alpha.until(lambda ear: [site for site, _ in ear.downs] == ["charlie"])
        await control.lost
        await bulk.lost
        assert alpha.stats().refused == {reason: 1}
        assert by_alpha.messages == []
        bravo = federation.networks["bravo"]
        bravo.send("alpha", BEAT, CONTROL)
        await by_alpha.until(lambda ear: ear.messages == [("bravo", BEAT)])

    live(test)


def _message(body: bytes) -> bytes:
    return encode_frame(Kind.LAST, Stream.LIVE, WAITED.pack(0.0) + body)


def _summary_with(kit: Any, rows: bytes) -> bytes:
    good = Codec(kit.schema_of).encode(kit.a_summary())
    values = msgspec.msgpack.decode(good[1:])
    values[3] = values[3][:FINGERPRINT_BYTES] + rows
    return good[:1] + msgspec.msgpack.encode(values)


def test_a_linked_member_that_sends_bad_messages_changes_nothing(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        alpha, by_alpha, *_ = await federation.pair()
        _, bulk = await _Guest(federation, "charlie", alpha.port).link()
        await by_alpha.until(lambda ear: ear.ups == ["bravo", "charlie"])
        good = Codec(kit.schema_of).encode(kit.a_summary())
        other = Codec(lambda query: kit.schema.remove(0)).encode
        message = kit.a_summary()
        wrong = msgspec.structs.replace(message.summary, rows=message.summary.rows.select(["hits"]))
        for body in (
            os.urandom(300),
            b"\x02" + os.urandom(300),
            _summary_with(kit, zstandard.compress(bytes(1 << 27))),
            _summary_with(kit, zstandard.compress(os.urandom(1000))),
            _summary_with(kit, os.urandom(1000)),
            other(type(message)(wrong)),
            good[: len(good) // 2],
            good,
        ):
            bulk._transport.write(_message(body))
        await by_alpha.until(lambda ear: bool(ear.messages))
        assert [sender for sender, _ in by_alpha.messages] == ["charlie"]
        assert by_alpha.messages[0][1].summary.rows.equals(kit.a_summary().summary.rows)
        refused = alpha.stats().refused
        assert sum(refused.values()) == 7
        assert refused["decompression bomb"] == 1
        assert refused["wrong schema"] == 1
        assert refused["bad compression"] >= 1
        assert refused["invalid rows"] == 1
        assert by_alpha.downs == []

    live(test)


def test_one_byte_at_a_time_is_slow_but_harms_nobody(live: Any) -> None:
    """A slow member holds its own link only, and its message arrives in the end."""

    async def test(federation: Any) -> None:
        alpha, by_alpha, *_ = await federation.pair()
        control, _ = await _Guest(federation, "charlie", alpha.port).link()
        await by_alpha.until(lambda ear: ear.ups == ["bravo", "charlie"])
        body = Codec(lambda query: None).encode(BEAT)
        frame = encode_frame(Kind.LAST, Stream.HEARTBEAT, WAITED.pack(0.0) + body)
        for at in range(len(frame) - 1):
            control._transport.write(frame[at : at + 1])
            await asyncio.sleep(0)
        federation.networks["bravo"].send("alpha", BEAT, CONTROL)
        await by_alpha.until(lambda ear: ear.messages == [("bravo", BEAT)])
        control._transport.write(frame[-1:])
        await by_alpha.until(lambda ear: ear.messages[1:] == [("charlie", BEAT)])

    live(test)
