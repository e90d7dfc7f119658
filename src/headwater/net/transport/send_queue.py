"""What waits to be written to a connection: bounded, most urgent first, backlog never starved.

Bytes that a socket has accepted can't be taken back or overtaken, so as little as possible is
given to it and the rest waits here. Frames are taken one chunk at a time, always of the most
urgent stream that has something; a stream with a reserved share gets that part of the bytes even
while more urgent ones are busy ("Live, backlog, and their shares").
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from headwater.net.transport.frames import CHUNK_BYTES, HEADER, WAITED, Kind, Stream, encode_frame

Item = TypeVar("Item")

BACKLOG_SHARE = 0.1
"""Of the bytes of a busy connection, what backlog and repairs get at least."""

PIECE_BYTES_MIN = 512
"""Of a message that does not fit into a write behind others: less would be mostly headers."""

OWED_BYTES_MAX = 4 * CHUNK_BYTES
"""What a reserved share saves up at most, so that it never turns into a burst."""


class SendQueue(Generic[Item]):
    """Items are what comes back from ``unsent`` when the connection ends."""

    def __init__(
        self, *, bytes_max: int, streams: Sequence[Stream], shares: Mapping[Stream, float]
    ) -> None:
        self._bytes_max = bytes_max
        self._waiting: dict[Stream, deque[_Waiting[Item]]] = {s: deque() for s in sorted(streams)}
        self._shares = dict(shares)
        self._owed_bytes: dict[Stream, float] = dict.fromkeys(shares, 0.0)
        self.queued_bytes = 0
        self.taken_bytes: dict[Stream, int] = dict.fromkeys(self._waiting, 0)
        """By stream, as frames."""

    def put(self, stream: Stream, body: bytes, item: Item, *, now_s: float) -> bool:
        """False: there is no room and nothing was taken. An empty queue takes any one message."""
        if self.queued_bytes and self.queued_bytes + len(body) > self._bytes_max:
            return False
        self._waiting[stream].append(_Waiting(item, body, now_s))
        self.queued_bytes += len(body)
        return True

    @property
    def room_bytes(self) -> int:
        return max(0, self._bytes_max - self.queued_bytes)

    def next_stream(self) -> Stream | None:
        """Whose frame is the next one; None: nothing waits."""
        busy = [stream for stream, queue in self._waiting.items() if queue]
        owed = [one for one in busy if self._owed_bytes.get(one, 0.0) >= CHUNK_BYTES]
        return next(iter(owed or busy), None)

    def next_bytes(self) -> int:
        """What is left of the message whose frame is the next one."""
        stream = self.next_stream()
        return 0 if stream is None else self._waiting[stream][0].left_bytes

    def waits_s(self, stream: Stream, *, now_s: float) -> float:
        """How long the first of a stream has been waiting."""
        queue = self._waiting[stream]
        return max(0.0, now_s - queue[0].since_s) if queue else 0.0

    def take_frame(self, *, now_s: float, chunk_bytes: int = CHUNK_BYTES) -> bytes | None:
        """The next frame to write, or None. Once the LAST frame of a message is taken here, the
        other side may get it, and the item is forgotten."""
        stream = self.next_stream()
        if stream is None:
            return None
        queue = self._waiting[stream]
        chunk, body_bytes, is_last = queue[0].take_chunk(chunk_bytes, now_s=now_s)
        self.queued_bytes -= body_bytes
        if is_last:
            queue.popleft()
        self._charge(stream, len(chunk))
        self.taken_bytes[stream] += HEADER.size + len(chunk)
        return encode_frame(Kind.LAST if is_last else Kind.PART, stream, chunk)

    def take_frames(self, about_bytes: int, *, now_s: float) -> bytes:
        """As many as make up so many bytes: many small messages cost one write."""
        frames: list[bytes] = []
        size_bytes = 0
        while size_bytes < about_bytes and (frame := self.take_frame(now_s=now_s)) is not None:
            frames.append(frame)
            size_bytes += len(frame)
        return b"".join(frames)

    def take_within(self, limit_bytes: int, *, now_s: float) -> bytes:
        """No more than so many bytes. What is cut short is the last of them, and only where a
        piece of some length fits."""
        frames: list[bytes] = []
        left_bytes = limit_bytes
        while (room := left_bytes - HEADER.size) > WAITED.size and self:
            if frames and room < min(PIECE_BYTES_MIN, self.next_bytes() + WAITED.size):
                break
            frame = self.take_frame(now_s=now_s, chunk_bytes=min(CHUNK_BYTES, room)) or b""
            frames.append(frame)
            left_bytes -= len(frame)
        return b"".join(frames)

    def take_counts(self) -> dict[Stream, int]:
        """Bytes of frames by stream, since this was last asked."""
        taken, self.taken_bytes = self.taken_bytes, dict.fromkeys(self._waiting, 0)
        return taken

    def unsent(self, *, now_s: float) -> list[tuple[Item, float]]:
        """What surely was not taken, most urgent first, and how long each has waited."""
        return [
            (waiting.item, max(0.0, now_s - waiting.since_s))
            for queue in self._waiting.values()
            for waiting in queue
        ]

    def __bool__(self) -> bool:
        return any(self._waiting.values())

    def _charge(self, served: Stream, sent_bytes: int) -> None:
        """Others' bytes put a waiting stream with a share in credit, its own bytes use it up."""
        for stream, share in self._shares.items():
            if stream == served:
                self._owed_bytes[stream] = max(0.0, self._owed_bytes[stream] - sent_bytes)
            elif self._waiting[stream]:
                owed = self._owed_bytes[stream] + sent_bytes * share / (1 - share)
                self._owed_bytes[stream] = min(owed, OWED_BYTES_MAX)


class _Waiting(Generic[Item]):
    def __init__(self, item: Item, body: bytes, since_s: float) -> None:
        self.item = item
        self._body = body
        self.since_s = since_s
        self._offset: int | None = None

    @property
    def left_bytes(self) -> int:
        return len(self._body) - (self._offset or 0)

    def take_chunk(self, chunk_bytes: int, *, now_s: float) -> tuple[bytes, int, bool]:
        """The chunk, how many bytes of the body are in it, whether it is the last."""
        prefix = b""
        if self._offset is None:
            self._offset, prefix = 0, WAITED.pack(max(0.0, now_s - self.since_s))
        end = self._offset + chunk_bytes - len(prefix)
        piece = self._body[self._offset : end]
        self._offset = end
        return prefix + piece, len(piece), end >= len(self._body)
