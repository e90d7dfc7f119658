"""Sizes are estimated; the real codec says how well."""

from random import Random

import pyarrow as pa
import pytest

from headwater.algebra.coordinate import Coordinate
from headwater.algebra.coverage import Coverage
from headwater.algebra.panes import WindowSpec
from headwater.algebra.route import Route
from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.summary import Summary
from headwater.algebra.words.acknowledgement import Acknowledgement, Greeting, PaneHeld, with_leaves
from headwater.algebra.words.close_digest import BlockDigest
from headwater.algebra.words.site_state import SiteState
from headwater.net.identity.signing import KeySignatures, MemoryKeys
from headwater.net.values.codec import Codec
from headwater.overlay.messages import (
    AckMessage,
    CommandMessage,
    Heartbeat,
    Message,
    StatesMessage,
    SummaryMessage,
)
from headwater.overlay.ways.root_pulses import RootPulse
from headwater.plan.command import Install
from headwater.plan.program import Program
from headwater.plan.query import Query, QueryId
from headwater.plan.sources.source import Source, SourceFormat
from headwater.plan.tree import Tree
from headwater.sim.measure.wire_size import PACKET_BYTES, wire_bytes

SCHEMA = pa.schema([("count", pa.int64()), ("sum", pa.float64())])
ROWS = pa.table({"count": [680], "sum": [1234.5]}, schema=SCHEMA)
QUERY = "simulated@s0#1"
DIGESTS = tuple(
    BlockDigest(n, n + 63, bytes(range(n % 64, n % 64 + 16))) for n in (10**6, 10**6 + 64)
)


def summary(sites: int) -> Message:
    coverage = Coverage(whole=(1 << sites) - 1, tag=2**63 + 5)
    return SummaryMessage(
        Summary(QUERY, 1_000_012, coverage, rows=ROWS, age_s=1.2345, route=Route(1, (2, 1), 0))
    )


def acknowledgement(panes: int, greetings: int, *, bitmaps: int = 1) -> Message:
    random = Random(1)
    drawn = [random.getrandbits(680) for _ in range(bitmaps)]
    whole = with_leaves(
        Acknowledgement(QUERY, 2**60, 5, 100),
        panes=[PaneHeld(1_000_012 + n, drawn[n % bitmaps]) for n in range(panes)],
        greetings=[Greeting(n, 2**62, 1) for n in range(greetings)],
    )
    return AckMessage(whole)


def install() -> Message:
    """680 sites on four trees that branch by 16, of which none is like the others."""
    random = Random(2)
    trees = []
    for _ in range(4):
        order = list(range(1, 680))
        random.shuffle(order)
        order.insert(0, 0)
        pairs = ((order[n], order[(n - 1) // 16]) for n in range(1, 680))
        trees.append(Tree(0, tuple(sorted(pairs))))
    columns = (Column("at", "timestamp"), Column("domain", "string"))
    source = Source("web", columns, SourceFormat.JSON, "*.json", "at")
    partials = (Partial("p0", "bigint", "sum"),)
    program = Program("", source, (columns[1],), partials, "", "", "", ("at",), ())
    query = Query(QueryId("simulated", "s0", 1), WindowSpec(1, 1), "s0", program)
    return CommandMessage(Install(query, tuple(trees), 1))


def signed(message: Message) -> Message:
    """As its speaker sends it."""
    keys = MemoryKeys()
    own = keys.make("s0")
    codec = Codec(lambda _: SCHEMA)
    signatures = KeySignatures("acme", own=lambda: own, others=keys, pack=codec.rows.encode)
    if isinstance(message, SummaryMessage) and message.summary.coverage.sites.bit_count() == 1:
        return SummaryMessage(signatures.sign_update(message.summary))
    if isinstance(message, StatesMessage):
        return StatesMessage(tuple(signatures.sign_state(state) for state in message.states))
    return (
        AckMessage(signatures.sign_ack(message.ack)) if isinstance(message, AckMessage) else message
    )


@pytest.mark.parametrize(
    "message",
    [
        summary(1),
        summary(680),
        acknowledgement(0, 0),
        acknowledgement(5, 0),
        acknowledgement(0, 10),
        acknowledgement(64, 0),
        acknowledgement(64, 0, bitmaps=3),
        acknowledgement(64, 0, bitmaps=64),
        install(),
        StatesMessage((SiteState(QUERY, 1, 2**63 + 1, 1, 1_000_012),)),
        StatesMessage((SiteState(QUERY, 1, 2**63 + 1, 1, 1_000_012, digests=DIGESTS),)),
        Heartbeat(
            1e6, 1e6, 0.33, 2**63 + 1, (RootPulse(0, 1.2, 1e6, 0.05),), Coordinate(1, 2, 3, 4, 0.5)
        ),
    ],
    ids=[
        "summary 1", "summary 680", "ack", "ack 5", "ack greets", "ack 64", "ack 64 by 3",
        "ack 64 by 64", "install", "state", "state with digests", "heartbeat",
    ],
)  # fmt: skip
def test_an_estimate_is_within_a_fifth_of_what_the_codec_makes(message: Message) -> None:
    sent = signed(message)
    encoded = len(Codec(lambda _: SCHEMA).encode(sent)) + PACKET_BYTES
    assert wire_bytes(sent) == pytest.approx(encoded, rel=0.2)
