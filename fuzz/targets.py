"""What is fuzzed: each reader of others' bytes, with the errors that it may raise.

A target takes one input and returns whether it was accepted. Any error other than a refusal, a
crash, a hang, or something accepted that can't be used afterwards, is a find.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import pyarrow as pa
import zstandard

from fuzz import admission, examples, folds, lies, roster, site_sources, sketches, walks
from fuzz.mutate import mutated
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.sets.interval_set import IntervalSet
from headwater.algebra.words.acknowledgement import LEAF_SITES, Acknowledgement
from headwater.edge.acks.ack_view import AckView
from headwater.errors import QueryRefused
from headwater.net.control.control import REQUEST_BYTES_MAX, REQUESTS, Request, decode_message
from headwater.net.refusal import Refusal, Refused
from headwater.net.transport.frames import (
    WAITED,
    Frame,
    FrameSplitter,
    Kind,
    MessageAssembler,
    Stream,
    encode_frame,
)
from headwater.net.transport.hello import Channel, Goodbye, Hello, RosterHeld, decode_hello
from headwater.net.values.codec import Codec
from headwater.net.values.rows import FINGERPRINT_BYTES
from headwater.net.values.words import ack_on_its_way, leaf_word
from headwater.overlay.config import OverlayConfig
from headwater.overlay.messages import AckMessage
from headwater.overlay.outputs import Transmit
from headwater.overlay.peer import Peer
from headwater.plan.command import Count, Install
from headwater.plan.roster import Roster, Site
from headwater.plan.tree import Tree

merger = ArrowMerger(examples.a_query().program)
codec = Codec(lambda query: examples.SCHEMA if query == examples.QUERY else None)
ACKNOWLEDGEMENT = 4
"""Its kind on the wire."""
FINGERPRINT = codec.rows.encode(examples.QUERY, examples.a_table(0))[:FINGERPRINT_BYTES]


class Target(NamedTuple):
    good: Callable[[], list[bytes]]
    """Inputs that are accepted, to mutate."""
    run: Callable[[bytes], bool]
    draw: Callable[[Sequence[bytes], random.Random], bytes] = mutated
    """The next input, from the good ones."""


def _good_frames() -> list[bytes]:
    body = WAITED.pack(0.5) + b"y" * 100
    chunks = [encode_frame(kind, stream, body) for kind in Kind for stream in Stream]
    whole = encode_frame(Kind.PART, Stream.LIVE, body[:50])
    return [b"".join(chunks), whole + encode_frame(Kind.LAST, Stream.LIVE, body[50:])]


def _run_frames(data: bytes) -> bool:
    """Any split points give the same frames or the same refusal."""
    cuts = random.Random(len(data))
    whole, pieces = FrameSplitter(), FrameSplitter()
    whole.feed(data)
    one, one_refused = _split(whole)
    other: list[Frame] = []
    refused = False
    at = 0
    while at < len(data) and not refused:
        end = at + cuts.randint(1, 50)
        pieces.feed(data[at:end])
        found, refused = _split(pieces)
        other += found
        at = end
    assert (one, one_refused) == (other, refused), "split points changed what came out"
    return _assemble(one) and not one_refused


def _split(splitter: FrameSplitter) -> tuple[list[Frame], bool]:
    found: list[Frame] = []
    try:
        for frame in splitter.frames():
            found.append(frame)  # noqa: PERF402 - what came before a refusal counts
    except Refused:
        return found, True
    return found, False


def _assemble(frames: list[Frame]) -> bool:
    assembler = MessageAssembler(message_bytes_max=10_000)
    try:
        for frame in frames:
            if frame.kind in (Kind.PART, Kind.LAST):
                assembler.add(frame, now_s=1.0)
    except Refused:
        return False
    return True


def _good_messages() -> list[bytes]:
    return [codec.encode(message) for message in examples.messages()]


def _run_messages(data: bytes) -> bool:
    """Whatever is accepted can be sent on, and means the same there."""
    try:
        message = codec.decode(data)
    except Refused:
        return False
    again = codec.decode(codec.encode(message))
    assert again == message or repr(again) == repr(message), "it changed on the way"
    return True


def _good_leaves() -> list[bytes]:
    """By themselves, so that mutations reach them instead of ending at the lengths around them."""
    messages = [one for one in examples.messages() if isinstance(one, AckMessage)]
    return [leaf_word(leaf) for message in messages for leaf in message.ack.leaves]


def _run_leaves(data: bytes) -> bool:
    """Whatever is accepted can be handed on and be read by a site of it."""
    head = Acknowledgement(
        query=examples.QUERY,
        root_incarnation=8,
        number=3,
        done_through=100,
        listed=((0, 200),),
        filled=0b100,
    )
    way = msgspec.structs.replace(ack_on_its_way(head), leaves=((2, data),))
    body = bytes((ACKNOWLEDGEMENT,)) + msgspec.msgpack.encode(way)
    if not _run_messages(body):
        return False
    message = codec.decode(body)
    assert isinstance(message, AckMessage)
    for ordinal in (2 * LEAF_SITES, 3 * LEAF_SITES - 1):
        leaf = message.ack.leaf_of(ordinal)
        reader = AckView(message.ack, leaf, ordinal=ordinal, incarnation=77)
        reader.split_empty(IntervalSet([(0, 200)]))
    return len(message.ack.panes) <= len(data)


def _good_rows() -> list[bytes]:
    return [codec.rows.encode(examples.QUERY, examples.a_table(n)) for n in (0, 1, 20, 500)]


def _run_rows(data: bytes) -> bool:
    """Whatever is accepted can be looked at, every value of it."""
    try:
        table = codec.rows.decode(examples.QUERY, data)
    except Refused:
        return False
    for column in table.columns:
        if not pa.types.is_timestamp(column.type):
            column.to_pylist()
    merger.merge([table, table])
    return True


def _good_batches() -> list[bytes]:
    """Unpacked, so that mutations reach Arrow instead of ending at zstd."""
    unpack = zstandard.ZstdDecompressor().decompress
    return [unpack(data[FINGERPRINT_BYTES:]) for data in _good_rows()]


def _run_batches(data: bytes) -> bool:
    return _run_rows(FINGERPRINT + zstandard.compress(data, 1))


def _good_hellos() -> list[bytes]:
    held = RosterHeld(3, bytes(range(16)))
    hello = Hello("alpha", "bravo", Channel.BULK, life=5, dial=2, roster=held)
    goodbye = Goodbye("not in roster", "no")
    return [b"\x01" + msgspec.msgpack.encode(hello), b"\x02" + msgspec.msgpack.encode(goodbye)]


def _run_hellos(data: bytes) -> bool:
    kind = Kind.GOODBYE if data[:1] == b"\x02" else Kind.HELLO
    try:
        decode_hello(Frame(kind, Stream.CONTROL, data[1:]), sender="alpha")
    except Refused as refused:
        return refused.reason is Refusal.REFUSED_US  # A goodbye that was understood.
    return True


def _good_requests() -> list[bytes]:
    payload = {"text": "SELECT 1", "n": [1, None, 2.5, {"deep": [b"x"]}]}
    return [msgspec.msgpack.encode(Request(7, "run", payload))]


def _run_requests(data: bytes) -> bool:
    assembler = MessageAssembler(message_bytes_max=REQUEST_BYTES_MAX)
    frame = Frame(Kind.LAST, Stream.CONTROL, struct.pack(">f", 0.0) + data)
    try:
        decode_message(frame, assembler, REQUESTS)
    except Refused:
        return False
    return True


_SOURCE = b"""CREATE SOURCE web (at TIMESTAMP, domain STRING, ms DOUBLE)
WITH (format = 'csv', path = '*.csv', time = 'at');
"""
_STATEMENTS = (
    b"""CREATE STREAM hits AS SELECT window, domain, count(*) AS n, avg(ms) AS mean FROM web
GROUP BY window(at, '10 seconds'), domain;""",
    b"""CREATE STREAM top WITH (deadline = '5 s') AS SELECT domain, max(ms) AS worst FROM web
WHERE ms > 0 AND domain LIKE 'a%' GROUP BY window(at, '1 minute', '10 seconds'), domain
HAVING count(*) > 3 ORDER BY worst DESC LIMIT 10""",
)


def _run_statements(data: bytes) -> bool:
    from headwater.sql.compile import compile_statements

    try:
        compile_statements(
            data.decode(errors="replace"), root="alpha", installer="alpha", next_counter=1
        )
    except QueryRefused:
        return False
    return True


def _run_peer(data: bytes) -> bool:
    """Whatever is accepted from the wire makes a peer raise nothing, from either neighbour."""
    try:
        message = codec.decode(data)
    except Refused:
        return False
    for sender in ("alpha", "charlie", "nobody"):
        peer = _a_peer()
        peer.receive(sender, message, now_s=11.0)
        peer.tick(now_s=12.0)
        peer.tick(now_s=100.0)
        assert peer.next_deadline_s() > 0
        for output in peer.take():
            if isinstance(output, Transmit):
                codec.encode(output.message)
    return True


def _a_peer() -> Peer:
    """bravo, in the middle between its parent alpha and its child charlie, both linked."""
    sites = tuple(Site(n, name) for n, name in enumerate(("alpha", "bravo", "charlie")))
    tree = Tree(0, ((1, 0), (2, 1)))
    peer = Peer(
        site="bravo",
        roster=Roster(1, sites, home="alpha"),
        trees=(tree,),
        config=OverlayConfig(),
        merger_of=lambda query: ArrowMerger(query.program),
    )
    query = examples.a_query()
    peer.restore(
        [Install(query=query, trees=(tree,), roster_version=1)],
        [Count(installer="alpha", number=1, revision=1, live=(str(query.id),))],
        now_s=0.0,
    )
    for site in ("alpha", "charlie"):
        peer.link_up(site, now_s=10.0)
    peer.take()
    return peer


TARGETS: dict[str, Target] = {
    "frames": Target(_good_frames, _run_frames),
    "messages": Target(_good_messages, _run_messages),
    "leaves": Target(_good_leaves, _run_leaves),
    "rows": Target(_good_rows, _run_rows),
    "batches": Target(_good_batches, _run_batches),
    "hellos": Target(_good_hellos, _run_hellos),
    "requests": Target(_good_requests, _run_requests),
    "peer": Target(_good_messages, _run_peer),
    "admission": Target(admission.good, admission.run, admission.changed),
    "configuration": Target(site_sources.good_configurations, site_sources.run_configuration),
    "globs": Target(site_sources.good_globs, site_sources.run_globs),
    "states": Target(lies.good_states, lies.run, lies.changed),
    "acks": Target(lies.good_acks, lies.run_acks, lies.changed),
    "envelopes": Target(lies.good, lies.run, lies.changed),
    "walks": Target(walks.good, walks.run, walks.drawn),
    "roster": Target(roster.good, roster.run),
    "sketches": Target(sketches.good, sketches.run),
    "folds": Target(folds.good, folds.run),
    "statements": Target(lambda: [_SOURCE + text for text in _STATEMENTS], _run_statements),
}
