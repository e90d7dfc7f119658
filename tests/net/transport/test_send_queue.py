"""The queue of a connection: urgent first, backlog not starved, bounded, and honest at the end."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.net.network import CLASS_OF
from headwater.net.transport.frames import (
    CHUNK_BYTES,
    HEADER,
    WAITED,
    FrameSplitter,
    Kind,
    MessageAssembler,
    Stream,
)
from headwater.net.transport.send_queue import BACKLOG_SHARE, SendQueue
from headwater.net.transport.wire_cost import wire_bytes
from headwater.overlay.links.query_spending import QuerySpending
from headwater.plan.altered.link_share import LinkShare

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


def _by_query(queue: SendQueue[str], byte_count: int, *, now_s: float = 0.0) -> Counter[str]:
    """Bytes of frames that were taken, by query, until there are so many."""
    taken: Counter[str] = Counter()
    while sum(taken.values()) < byte_count:
        before = Counter(queue.queued_by)
        if queue.take_frame(now_s=now_s) is None:
            break
        taken += before - queue.queued_by
    return taken


def _spending(**shares: LinkShare) -> QuerySpending:
    spending = QuerySpending()
    for query, share in shares.items():
        spending.shares.know(query, share, ())
    return spending


def _shared_queue(spending: QuerySpending) -> SendQueue[str]:
    return SendQueue(
        bytes_max=1 << 30,
        streams=(LIVE, BACKLOG),
        shares={BACKLOG: BACKLOG_SHARE},
        spending=spending,
    )


def test_queries_share_a_stream_by_weight() -> None:
    queue = _shared_queue(_spending(a=LinkShare(), b=LinkShare(2.0), c=LinkShare(4.0)))
    for query, size in (("a", 20_000), ("b", 700), ("c", 5_000)):
        for _ in range(3_000_000 // size):
            queue.put(LIVE, bytes(size), query, now_s=0.0, query=query)
    taken = _by_query(queue, 4_000_000)
    for query, weight in (("a", 1), ("b", 2), ("c", 4)):
        assert taken[query] / taken.total() == pytest.approx(weight / 7, rel=0.05)
    assert queue.queued_by.total() == queue.queued_bytes


def test_a_query_with_a_budget_waits_for_it_and_holds_up_nobody() -> None:
    rate = 10_000.0
    spending = _spending(slow=LinkShare(1.0, rate), free=LinkShare())
    queue = _shared_queue(spending)
    for _ in range(400):
        queue.put(LIVE, bytes(1_000), "slow", now_s=0.0, query="slow")
        queue.put(LIVE, bytes(1_000), "free", now_s=0.0, query="free")
    assert _by_query(queue, 500_000)["free"] == 400_000, "nothing else was in its way"
    at_s = 0.0
    while at_s < 20.0:
        _by_query(queue, 1 << 30, now_s=at_s)
        if queue:
            assert queue.next_stream(now_s=at_s) is None
        at_s = max(queue.ready_s(), at_s + 0.001)
    told = spending.spent(CLASS_OF, now_s=20.0)["slow"]
    assert 0.9 * rate * 20 < told.spent_bytes["live"] < 1.02 * rate * 20
    assert told.held_count > 10


def test_a_long_message_of_a_query_with_a_budget_is_cut_unless_others_wait_behind_it() -> None:
    spending = _spending(slow=LinkShare(1.0, 10_000.0), free=LinkShare())
    queue = _shared_queue(spending)
    queue.put(LIVE, bytes(200_000), "slow", now_s=0.0, query="slow")
    assert _by_query(queue, 1 << 30)["slow"] < 5_000
    queue.put(LIVE, bytes(1_000), "free", now_s=0.0, query="free")
    assert _by_query(queue, 1 << 30)["free"] == 1_000, "it waits for no budget but the link's"
    queue.put(LIVE, bytes(1_000), "slow", now_s=0.0, query="slow")
    assert queue.next_stream(now_s=15.0) is None, "what went before its time is made up for"
    assert queue.next_stream(now_s=25.0) is LIVE


def test_what_is_sent_is_counted_by_query_and_class() -> None:
    spending = _spending(known=LinkShare())
    queue = _shared_queue(spending)
    for stream, query in ((LIVE, "known"), (BACKLOG, "known"), (LIVE, "another")):
        queue.put(stream, bytes(1_000), query, now_s=0.0, query=query)
    while queue.take_frame(now_s=0.0) is not None:
        pass
    told = spending.spent(CLASS_OF, now_s=0.0)
    one = wire_bytes(HEADER.size + WAITED.size + 1_000)
    assert told["known"].spent_bytes == {"live": one, "backlog": one}
    assert told[""].spent_bytes == {"live": one}
    spending.shares.forget("known")
    assert list(spending.spent(CLASS_OF, now_s=0.0)) == [""]


def test_what_waits_for_a_budget_is_told_from_what_waits_for_the_link() -> None:
    queue = _shared_queue(_spending(slow=LinkShare(1.0, 10_000.0), free=LinkShare()))
    queue.put(LIVE, bytes(2_000), "free", now_s=0.0, query="free")
    for _ in range(20):
        queue.put(LIVE, bytes(1_000), "slow", now_s=0.0, query="slow")
    assert queue.held_bytes(now_s=0.0) == 0, "the budget has been saved up"
    _by_query(queue, 1 << 30)
    assert queue.held_bytes(now_s=0.0) == queue.queued_bytes > 10_000
    queue.put(LIVE, bytes(2_000), "free", now_s=0.0, query="free")
    assert queue.held_bytes(now_s=0.0) == queue.queued_bytes - 2_000
    assert queue.held_bytes(now_s=9.0) == 0
