"""Frames: whole ones come out whatever the split points, broken ones never do."""

import contextlib
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.net.refusal import Refused
from headwater.net.transport.frames import (
    FRAME_BYTES_MAX,
    HEADER,
    WAITED,
    Frame,
    FrameSplitter,
    Kind,
    MessageAssembler,
    Stream,
    encode_frame,
)

frames = st.builds(Frame, st.sampled_from(Kind), st.sampled_from(Stream), st.binary(max_size=2000))


def _encoded(sent: list[Frame]) -> bytes:
    return b"".join(encode_frame(*frame) for frame in sent)


@given(st.lists(frames, max_size=8), st.lists(st.integers(0, 20_000), max_size=20))
def test_frames_come_out_as_they_went_in_whatever_the_split_points(
    sent: list[Frame], cuts: list[int]
) -> None:
    data = _encoded(sent)
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    splitter = FrameSplitter()
    received: list[Frame] = []
    for start, end in pairwise(edges):
        splitter.feed(data[start:end])
        received += splitter.frames()
    assert received == sent
    assert splitter.waiting_bytes == 0


@given(st.lists(frames, min_size=1, max_size=4), st.data())
def test_a_flipped_bit_never_comes_out_as_a_frame(sent: list[Frame], data: st.DataObject) -> None:
    whole = bytearray(_encoded(sent))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= 1 << data.draw(st.integers(0, 7))
    splitter = FrameSplitter()
    splitter.feed(bytes(whole))
    received: list[Frame] = []
    with contextlib.suppress(Refused):
        received.extend(splitter.frames())
    assert all(frame in sent for frame in received)
    assert len(received) < len(sent)


def test_a_frame_that_says_it_is_too_long_is_refused_by_its_first_four_bytes() -> None:
    splitter = FrameSplitter()
    splitter.feed((FRAME_BYTES_MAX + 1).to_bytes(4, "big"))
    with pytest.raises(Refused, match="frame too long"):
        list(splitter.frames())


def test_an_unknown_type_with_a_right_checksum_is_refused() -> None:
    splitter = FrameSplitter()
    splitter.feed(HEADER.pack(2, 0xFF, zlib.crc32(b"hi", zlib.crc32(b"\xff"))) + b"hi")
    with pytest.raises(Refused, match="frame kind"):
        list(splitter.frames())


def test_messages_of_two_streams_may_be_interleaved() -> None:
    assembler = MessageAssembler(message_bytes_max=100)
    live = [WAITED.pack(0.5) + b"li", b"ve"]
    backlog = [WAITED.pack(0.0) + b"back", b"log"]
    assert assembler.add(Frame(Kind.PART, Stream.BACKLOG, backlog[0]), now_s=1.0) is None
    assert assembler.add(Frame(Kind.PART, Stream.LIVE, live[0]), now_s=2.0) is None
    done = assembler.add(Frame(Kind.LAST, Stream.LIVE, live[1]), now_s=2.25)
    assert done == (Stream.LIVE, b"live", 0.75)
    done = assembler.add(Frame(Kind.LAST, Stream.BACKLOG, backlog[1]), now_s=4.0)
    assert done == (Stream.BACKLOG, b"backlog", 3.0)


def test_a_message_that_never_ends_is_refused_at_its_limit() -> None:
    assembler = MessageAssembler(message_bytes_max=1000)
    part = Frame(Kind.PART, Stream.LIVE, bytes(300))
    for _ in range(3):
        assembler.add(part, now_s=0.0)
    with pytest.raises(Refused, match="message too long"):
        assembler.add(part, now_s=0.0)


@pytest.mark.parametrize("waited", [float("nan"), float("inf"), -1.0, 1e9])
def test_a_wait_that_makes_no_sense_is_refused(waited: float) -> None:
    assembler = MessageAssembler(message_bytes_max=100)
    with pytest.raises(Refused, match="waited"):
        assembler.add(Frame(Kind.LAST, Stream.LIVE, WAITED.pack(waited)), now_s=0.0)
