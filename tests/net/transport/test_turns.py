"""One connection with much to say holds up no other: signatures are looked at as messages come."""

from __future__ import annotations

import asyncio

import pytest

from headwater.net.transport import connection as connection_module
from headwater.net.transport.connection import Connection
from headwater.net.transport.frames import Frame, Kind, Stream, encode_frame
from headwater.net.transport.send_queue import SendQueue

FRAMES = 5


class Transport:
    """What a connection needs of one, and whether it is read."""

    def __init__(self) -> None:
        self.is_read = True

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True

    def set_write_buffer_limits(self, **_: int) -> None:
        """Nothing is written here."""


def test_a_turn_that_is_over_lets_others_go_on_and_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection_module, "TURN_S_MAX", 0.0)

    async def run() -> None:
        connection, transport = Connection(), Transport()
        came: list[bytes] = []

        def receive(frame: Frame) -> None:
            came.append(frame.payload)

        connection.connection_made(transport)
        connection.data_received(encode_frame(Kind.HELLO, Stream.CONTROL, b"hello"))
        await connection.first_frame(timeout_s=10.0)
        connection.attach(receive, SendQueue(bytes_max=1, streams=(), shares={}))
        await asyncio.sleep(0)
        bodies = [bytes((number,)) for number in range(FRAMES)]
        connection.data_received(
            b"".join(encode_frame(Kind.LAST, Stream.CONTROL, body) for body in bodies)
        )
        for number in range(1, FRAMES):
            assert came == bodies[:number], "one in each turn of the loop"
            assert not transport.is_read
            await asyncio.sleep(0)
        assert came == bodies
        await asyncio.sleep(0)
        assert transport.is_read

    asyncio.run(run())
