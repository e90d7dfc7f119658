"""The queue of a connection: urgent first, backlog not starved, bounded, and honest at the end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.net.transport.frames import (
    CHUNK_BYTES,
    FrameSplitter,
    Kind,
    MessageAssembler,
    Stream,
)
from headwater.net.transport.send_queue import BACKLOG_SHARE, SendQueue

LIVE, BACKLOG = Stream.LIVE, Stream.BACKLOG


def _queue(bytes_max: int = 1 << 30) -> SendQueue[str]:
    return SendQueue(bytes_max=bytes_max, streams=(LIVE, BACKLOG), shares={BACKLOG: BACKLOG_SHARE})


def _taken(queue: SendQueue[str], count: int) -> list[Stream]:
    splitter = FrameSplitter()
    for _ in range(count):
        splitter.feed(queue.take_frame(now_s=0.0) or b"")
    return [frame.stream for frame in splitter.frames()]


@given(
    st.lists(st.tuples(st.sampled_from([LIVE, BACKLOG]), st.binary(max_size=70_000)), max_size=8)
)
def test_all_that_is_put_arrives_whole_and_in_the_order_of_its_stream(
    sent: list[tuple[Stream, bytes]],
) -> None:
    queue, splitter = _queue(), FrameSplitter()
    assembler = MessageAssembler(message_bytes_max=1 << 20)
    for stream, body in sent:
        assert queue.put(stream, body, "item", now_s=1.0)
    arrived: dict[Stream, list[bytes]] = {LIVE: [], BACKLOG: []}
    while (data := queue.take_frame(now_s=3.0)) is not None:
        assert len(data) <= CHUNK_BYTES + 9
        splitter.feed(data)
        for frame in splitter.frames():
            if (one := assembler.add(frame, now_s=0.0)) is not None:
                arrived[one.stream].append(one.body)
                assert one.delay_s == pytest.approx(2.0)
    assert queue.queued_bytes == 0
    for stream in arrived:
        assert arrived[stream] == [body for its, body in sent if its is stream]


def test_a_live_message_passes_a_half_sent_backlog() -> None:
    queue = _queue()
    queue.put(BACKLOG, bytes(10 * CHUNK_BYTES), "old", now_s=0.0)
    assert _taken(queue, 2) == [BACKLOG, BACKLOG]
    queue.put(LIVE, b"new", "new", now_s=0.0)
    assert _taken(queue, 2) == [LIVE, BACKLOG]


def test_backlog_gets_its_share_while_live_is_busy() -> None:
    queue = _queue()
    queue.put(LIVE, bytes(400 * CHUNK_BYTES), "live", now_s=0.0)
    queue.put(BACKLOG, bytes(400 * CHUNK_BYTES), "backlog", now_s=0.0)
    taken = _taken(queue, 300)
    assert taken.count(BACKLOG) == pytest.approx(300 * BACKLOG_SHARE, rel=0.1)


def test_what_is_not_written_to_its_last_byte_is_unsent_with_its_wait() -> None:
    queue = _queue()
    queue.put(LIVE, b"gone", "gone", now_s=0.0)
    queue.put(LIVE, bytes(3 * CHUNK_BYTES), "half", now_s=1.0)
    queue.put(LIVE, b"behind", "behind", now_s=2.0)
    queue.put(BACKLOG, b"later", "later", now_s=3.0)
    _taken(queue, 3)
    assert queue.unsent(now_s=5.0) == [("half", 4.0), ("behind", 3.0), ("later", 2.0)]


def test_a_full_queue_takes_nothing_more_and_says_so() -> None:
    queue = _queue(bytes_max=100)
    assert queue.put(LIVE, bytes(1000), "one of any size", now_s=0.0)
    assert not queue.put(LIVE, b"x", "no room", now_s=0.0)
    assert queue.room_bytes == 0
    assert [item for item, _ in queue.unsent(now_s=0.0)] == ["one of any size"]
    _taken(queue, 1)
    assert queue.put(LIVE, bytes(100), "room again", now_s=0.0)


def test_a_queue_that_has_something_never_grows_beyond_its_bytes() -> None:
    queue = _queue(bytes_max=100)
    assert queue.put(LIVE, bytes(60), "first", now_s=0.0)
    assert not queue.put(LIVE, bytes(41), "too much", now_s=0.0)
    assert queue.put(LIVE, bytes(40), "fits", now_s=0.0)


def test_the_last_frame_of_a_message_is_marked_as_such() -> None:
    queue, splitter = _queue(), FrameSplitter()
    queue.put(LIVE, bytes(CHUNK_BYTES), "a chunk and a wait stamp", now_s=0.0)
    while (data := queue.take_frame(now_s=0.0)) is not None:
        splitter.feed(data)
    assert [frame.kind for frame in splitter.frames()] == [Kind.PART, Kind.LAST]
