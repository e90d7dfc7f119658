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
    BlockDigest(first=n, last=n + 63, digest=bytes(range(n % 64, n % 64 + 16)))
    for n in (10**6, 10**6 + 64)
)


def summary(sites: int) -> Message:
    coverage = Coverage(whole=(1 << sites) - 1, tag=2**63 + 5)
    return SummaryMessage(
        Summary(
            query=QUERY,
            pane=1_000_012,
            coverage=coverage,
            rows=ROWS,
            age_s=1.2345,
            route=Route(tree=1, levels=(2, 1), downs=0),
        )
    )


def acknowledgement(panes: int, greetings: int, *, bitmaps: int = 1) -> Message:
    random = Random(1)
    drawn = [random.getrandbits(680) for _ in range(bitmaps)]
    whole = with_leaves(
        Acknowledgement(query=QUERY, root_incarnation=2**60, number=5, done_through=100),
        panes=[PaneHeld(1_000_012 + n, drawn[n % bitmaps]) for n in range(panes)],
        greetings=[Greeting(ordinal=n, incarnation=2**62, number=1) for n in range(greetings)],
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
    return CommandMessage(Install(query=query, trees=tuple(trees), roster_version=1))


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
        StatesMessage(
            (
                SiteState(
                    query=QUERY, ordinal=1, incarnation=2**63 + 1, number=1, first_pane=1_000_012
                ),
            )
        ),
        StatesMessage(
            (
                SiteState(
                    query=QUERY,
                    ordinal=1,
                    incarnation=2**63 + 1,
                    number=1,
                    first_pane=1_000_012,
                    digests=DIGESTS,
                ),
            )
        ),
        Heartbeat(
            sent_s=1e6,
            echo_s=1e6,
            echo_held_s=0.33,
            digest=2**63 + 1,
            roots=(RootPulse(root=0, age_s=1.2, clock_s=1e6, spread_s=0.05),),
            coordinate=Coordinate(x=1, y=2, z=3, height=4, error=0.5),
        ),
    ],
    ids=[
        "summary 1",
        "summary 680",
        "ack",
        "ack 5",
        "ack greets",
        "ack 64",
        "ack 64 by 3",
        "ack 64 by 64",
        "install",
        "state",
        "state with digests",
        "heartbeat",
    ],
)
def test_an_estimate_is_within_a_fifth_of_what_the_codec_makes(message: Message) -> None:
    sent = signed(message)
    encoded = len(Codec(lambda _: SCHEMA).encode(sent)) + PACKET_BYTES
    assert wire_bytes(sent) == pytest.approx(encoded, rel=0.2)
