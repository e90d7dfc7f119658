"""What waits to be written to a connection: bounded, most urgent first, backlog never starved.

Bytes that a socket has accepted can't be taken back or overtaken, so as little as possible is
given to it and the rest waits here. Frames are taken one chunk at a time, always of the most
urgent stream that has something; a stream with a reserved share gets that part of the bytes even
while more urgent ones are busy ("Live, backlog, and their shares"). Within a stream queries share
by weight, and one whose own budget is used up is passed over.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Generic, TypeVar

from headwater.net.transport.frames import CHUNK_BYTES, HEADER, WAITED, Kind, Stream, encode_frame
from headwater.net.transport.wire_cost import wire_bytes
from headwater.overlay.links.byte_budget import Traffic
from headwater.overlay.links.fair_queue import NOBODY, FairQueue
from headwater.overlay.links.query_spending import QuerySpending

Item = TypeVar("Item")

BACKLOG_SHARE = 0.1
"""Of the bytes of a busy connection, what backlog and repairs get at least."""

PIECE_BYTES_MIN = 512
"""Of a message that does not fit into a write behind others: less would be mostly headers."""

OWED_BYTES_MAX = 4 * CHUNK_BYTES
"""What a reserved share saves up at most, so that it never turns into a burst."""
TRAFFIC = (Traffic.BEAT, Traffic.CONTROL, Traffic.LIVE, Traffic.BACKLOG)
"""By ``Stream``."""


class SendQueue(Generic[Item]):
    """Items are what comes back from ``unsent`` when the connection ends."""

    def __init__(
        self,
        *,
        bytes_max: int,
        streams: Sequence[Stream],
        shares: Mapping[Stream, float],
        spending: QuerySpending | None = None,
    ) -> None:
        self._bytes_max = bytes_max
        self._spending = spending = spending or QuerySpending()
        self._waiting: dict[Stream, FairQueue[_Waiting[Item]]] = {
            stream: FairQueue(lambda query: spending.shares.of(query)) for stream in sorted(streams)
        }
        self._shares = dict(shares)
        self._owed_bytes: dict[Stream, float] = dict.fromkeys(shares, 0.0)
        self.queued_bytes = 0
        self.queued_by: Counter[str] = Counter()
        """The same by the query on whose account it is."""
        self.taken_bytes: dict[Stream, int] = dict.fromkeys(self._waiting, 0)
        """By stream, as frames."""

    def put(
        self, stream: Stream, body: bytes, item: Item, *, now_s: float, query: str = NOBODY
    ) -> bool:
        """False: there is no room and nothing was taken. An empty queue takes any one message."""
        if self.queued_bytes and self.queued_bytes + len(body) > self._bytes_max:
            return False
        account = self._spending.shares.account(query)
        turn = account if stream >= Stream.LIVE else NOBODY  # control keeps its order
        self._waiting[stream].put(turn, _Waiting(item, body, now_s, query))
        self.queued_bytes += len(body)
        if turn:
            self.queued_by[turn] += len(body)
        return True

    @property
    def room_bytes(self) -> int:
        return max(0, self._bytes_max - self.queued_bytes)

    def next_stream(self, *, now_s: float) -> Stream | None:
        """Whose frame is the next one; None: nothing waits that may leave."""
        found = self._next(now_s)
        return None if found is None else found[0]

    def next_bytes(self, *, now_s: float) -> int:
        """What is left of the message whose frame is the next one."""
        found = self._next(now_s)
        return 0 if found is None else self._waiting[found[0]].head(found[1]).left_bytes

    def held_bytes(self, *, now_s: float) -> int:
        """Of queries of which nothing may leave now: they wait for their own budgets."""
        may_leave = {
            query
            for stream, queue in self._waiting.items()
            for query in queue.queries()
            if self._may_leave(stream, now_s, query)
        }
        return sum(count for query, count in self.queued_by.items() if query not in may_leave)

    def ready_s(self) -> float:
        """Where something waits and none of it may leave: when to look again."""
        return min(
            self._spending.ready_s(query, TRAFFIC[stream], queue.head(query).left_bytes)
            for stream, queue in self._waiting.items()
            for query in queue.queries()
        )

    def waits_s(self, stream: Stream, *, now_s: float) -> float:
        """How long the first of a stream has been waiting."""
        since_s = min((one.since_s for one in self._waiting[stream]), default=now_s)
        return max(0.0, now_s - since_s)

    def take_frame(self, *, now_s: float, chunk_bytes: int = CHUNK_BYTES) -> bytes | None:
        """The next frame to write, or None. Once the LAST frame of a message is taken here, the
        other side may get it, and the item is forgotten."""
        found = self._next(now_s)
        if found is None:
            return None
        stream, turn = found
        queue = self._waiting[stream]
        waiting, traffic = queue.head(turn), TRAFFIC[stream]
        room = self._spending.room(turn, traffic, waiting.left_bytes, now_s=now_s)
        if 0.0 < room < chunk_bytes:
            chunk_bytes = max(PIECE_BYTES_MIN, int(room))
        chunk, body_bytes, is_last = waiting.take_chunk(chunk_bytes, now_s=now_s)
        frame_bytes = HEADER.size + len(chunk)
        queue.serve(turn, frame_bytes, is_last=is_last)
        self.queued_bytes -= body_bytes
        if turn:
            self.queued_by[turn] -= body_bytes
            if self.queued_by[turn] <= 0:
                del self.queued_by[turn]
        if waiting.query:
            self._spending.spend(waiting.query, traffic, wire_bytes(frame_bytes), now_s=now_s)
        self._charge(stream, len(chunk))
        self.taken_bytes[stream] += frame_bytes
        return encode_frame(Kind.LAST if is_last else Kind.PART, stream, chunk)

    def take_frames(
        self, about_bytes: int, *, now_s: float, chunk_bytes: int = CHUNK_BYTES
    ) -> bytes:
        """As many as make up so many bytes: many small messages cost one write."""
        frames: list[bytes] = []
        size_bytes = 0
        while size_bytes < about_bytes:
            frame = self.take_frame(now_s=now_s, chunk_bytes=chunk_bytes)
            if frame is None:
                break
            frames.append(frame)
            size_bytes += len(frame)
        return b"".join(frames)

    def take_within(self, limit_bytes: int, *, now_s: float) -> bytes:
        """No more than so many bytes. What is cut short is the last of them, and only where a
        piece of some length fits."""
        frames: list[bytes] = []
        left_bytes = limit_bytes
        while (room := left_bytes - HEADER.size) > WAITED.size and self:
            next_bytes = self.next_bytes(now_s=now_s) + WAITED.size
            if frames and room < min(PIECE_BYTES_MIN, next_bytes):
                break
            frame = self.take_frame(now_s=now_s, chunk_bytes=min(CHUNK_BYTES, room))
            if frame is None:
                break
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

    def _next(self, now_s: float) -> tuple[Stream, str] | None:
        """The stream whose turn it is, and the query."""
        first: tuple[Stream, str] | None = None
        for stream, queue in self._waiting.items():
            is_owed = self._owed_bytes.get(stream, 0.0) >= CHUNK_BYTES
            if not queue or (first is not None and not is_owed):
                continue
            query = queue.turn(partial(self._may_leave, stream, now_s))
            if query is None:
                continue
            if is_owed:
                return stream, query
            first = stream, query
        return first

    def _may_leave(self, stream: Stream, now_s: float, query: str) -> bool:
        queue = self._waiting[stream]
        head = queue.head(query)
        if head.has_begun and queue.has_others:
            return True
        return self._spending.room(query, TRAFFIC[stream], head.left_bytes, now_s=now_s) > 0.0

    def _charge(self, served: Stream, sent_bytes: int) -> None:
        """Others' bytes put a waiting stream with a share in credit, its own bytes use it up."""
        for stream, share in self._shares.items():
            if stream == served:
                self._owed_bytes[stream] = max(0.0, self._owed_bytes[stream] - sent_bytes)
            elif self._waiting[stream]:
                owed = self._owed_bytes[stream] + sent_bytes * share / (1 - share)
                self._owed_bytes[stream] = min(owed, OWED_BYTES_MAX)


class _Waiting(Generic[Item]):
    def __init__(self, item: Item, body: bytes, since_s: float, query: str) -> None:
        self.item = item
        self.query = query
        self._body = body
        self.since_s = since_s
        self._offset: int | None = None

    @property
    def has_begun(self) -> bool:
        return self._offset is not None

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
