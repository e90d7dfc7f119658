"""Frames: how messages lie in a byte stream, cut small so that nothing urgent waits behind them.

::

    frame      u32 length | u8 type | u32 crc | payload          (big endian; crc of type, payload)
    type       kind in the low four bits, stream in the high four
    message    f32 waited seconds | body     cut into PART … PART LAST frames of one stream

A receiver refuses a length above the cap as soon as it has read four bytes, so nobody makes it
reserve memory, and it looks at no payload whose checksum is wrong. After either, nothing behind
can be trusted and the connection ends.

Messages of different streams may be interleaved chunk by chunk: a live summary passes a half-sent
backlog. A message counts as arrived only with its LAST frame, so one whose LAST was never
written was surely not taken, however much of it was.

``waited`` is how long the message stood in the sender's queue. On a full link that is tens of
seconds, and ages must grow by it, or a summary would look younger than it is.
"""

import struct
import zlib
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from headwater.net.refusal import Refusal, Refused

HEADER = struct.Struct(">IBI")
WAITED = struct.Struct(">f")

CHUNK_BYTES = 16 * 1024
"""One TLS record. At 8 Mbit/s it holds the line for 16 ms, which a heartbeat can wait."""

FRAME_BYTES_MAX = 2 * CHUNK_BYTES
"""Room for a neighbouring version with larger chunks; a longer frame is refused unread."""

WAITED_S_MAX = 1e6


class Kind(IntEnum):
    HELLO = 1
    GOODBYE = 2
    PART = 3
    LAST = 4


class Stream(IntEnum):
    """Classes of urgency, most urgent first; each keeps its order, they overtake each other."""

    HEARTBEAT = 0
    CONTROL = 1
    LIVE = 2
    BACKLOG = 3


_TYPES = {kind | stream << 4: (kind, stream) for kind in Kind for stream in Stream}
"""By the byte that says them."""


class Frame(NamedTuple):
    kind: Kind
    stream: Stream
    payload: bytes


def encode_frame(kind: Kind, stream: Stream, payload: bytes) -> bytes:
    assert len(payload) <= FRAME_BYTES_MAX, "a sender cuts messages before framing them"
    kind_byte = kind | stream << 4
    crc = zlib.crc32(payload, zlib.crc32(bytes((kind_byte,))))
    return HEADER.pack(len(payload), kind_byte, crc) + payload


class FrameSplitter:
    """Bytes in at any split points, whole frames out in order. Raises ``Refused`` and is then
    spent: the caller closes the connection."""

    def __init__(self, *, frame_bytes_max: int = FRAME_BYTES_MAX) -> None:
        self._buffer = bytearray()
        self._frame_bytes_max = frame_bytes_max

    def feed(self, data: bytes) -> None:
        self._buffer += data

    @property
    def waiting_bytes(self) -> int:
        return len(self._buffer)

    def frames(self) -> Iterator[Frame]:
        """The frames that are complete. Stop when you like; the rest comes with the next call."""
        while len(self._buffer) >= 4:
            length = int.from_bytes(self._buffer[:4], "big")
            if length > self._frame_bytes_max:
                raise Refused(
                    Refusal.FRAME_TOO_LONG,
                    f"wanted at most {self._frame_bytes_max} bytes, the header says {length}",
                )
            end = HEADER.size + length
            if len(self._buffer) < end:
                return
            _, kind_byte, crc = HEADER.unpack_from(self._buffer)
            payload = bytes(self._buffer[HEADER.size : end])
            if zlib.crc32(payload, zlib.crc32(bytes((kind_byte,)))) != crc:
                raise Refused(Refusal.FRAME_CHECKSUM, f"a frame of {length} bytes does not match")
            if kind_byte not in _TYPES:
                raise Refused(Refusal.FRAME_KIND, f"no frame has type {kind_byte}")
            del self._buffer[:end]
            yield Frame(*_TYPES[kind_byte], payload)


class Arrived(NamedTuple):
    """A whole message. ``delay_s`` is what it waited at the sender and took to arrive in parts."""

    stream: Stream
    body: bytes
    delay_s: float


class MessageAssembler:
    """Chunks in, whole messages out, for the streams of one connection."""

    def __init__(self, *, message_bytes_max: int) -> None:
        self._message_bytes_max = message_bytes_max
        self._open: dict[Stream, _Opened] = {}

    def add(self, frame: Frame, *, now_s: float) -> Arrived | None:
        """Called with each PART and LAST. Raises ``Refused`` when a message grows too long."""
        opened = self._open.get(frame.stream)
        if opened is None:
            opened = self._open[frame.stream] = _Opened(since_s=now_s)
        opened.parts.append(frame.payload)
        opened.size_bytes += len(frame.payload)
        if opened.size_bytes > self._message_bytes_max + WAITED.size:
            raise Refused(
                Refusal.MESSAGE_TOO_LONG, f"wanted at most {self._message_bytes_max} bytes"
            )
        if frame.kind is Kind.PART:
            return None
        del self._open[frame.stream]
        return opened.arrived(frame.stream, now_s=now_s)


class _Opened:
    def __init__(self, *, since_s: float) -> None:
        self.since_s = since_s
        self.size_bytes = 0
        self.parts: list[bytes] = []

    def arrived(self, stream: Stream, *, now_s: float) -> Arrived:
        whole = b"".join(self.parts) if len(self.parts) > 1 else self.parts[0]
        if len(whole) < WAITED.size:
            raise Refused(Refusal.MALFORMED, f"a message of {len(whole)} bytes")
        (waited_s,) = WAITED.unpack_from(whole)
        if not 0 <= waited_s <= WAITED_S_MAX:
            raise Refused(Refusal.MALFORMED, f"a message that waited {waited_s} s")
        return Arrived(stream, whole[WAITED.size :], waited_s + max(0.0, now_s - self.since_s))
