"""What a stream without a bound sends is as long as it was before there were early updates.

The numbers are those of the same messages by the codec of commit 80adc729, the last one before.
"""

from __future__ import annotations

from functools import reduce

import msgspec
import pyarrow as pa

from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Summary
from headwater.algebra.words.acknowledgement import Acknowledgement, PaneHeld, with_leaves
from headwater.algebra.words.site_state import SiteState
from headwater.net.values.codec import Codec
from headwater.overlay.messages import AckMessage, Message, StatesMessage, SummaryMessage

QUERY = "q@home#1"
SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64())])
ROWS = pa.table({"k": [f"/a/{n}" for n in range(100)], "n": range(100)}, schema=SCHEMA)
RATIO_MAX = 1.01
STATE_BYTES_MORE = 8
"""A field that is empty takes a byte."""


def summary(coverage: Coverage, rows: pa.Table | None = ROWS) -> SummaryMessage:
    return SummaryMessage(Summary(QUERY, 5, coverage, rows))


def of_all(sites: int, *, empty: bool = False) -> Coverage:
    make = Coverage.of_empty if empty else Coverage.of_whole
    return reduce(Coverage.merge, [make(site, 7) for site in range(sites)])


def acknowledgement(sites: int) -> AckMessage:
    spans = {"held": ((101, 140),), "listed": ((101, 160),)}
    head = Acknowledgement(QUERY, 1, 9, done_through=100, age_s=0.5, clock_s=1e9, **spans)
    panes = tuple(PaneHeld(pane, (1 << sites) - 1) for pane in range(141, 145))
    return AckMessage(with_leaves(head, panes=panes, extra=(), greetings=()))


STATE = SiteState(query=QUERY, ordinal=3, incarnation=7, number=12, first_pane=0)
LATE = msgspec.structs.replace(STATE, counts=((0, 2), (1, 2), (2, 2)))
EIGHT = tuple(msgspec.structs.replace(STATE, ordinal=ordinal) for ordinal in range(8))
BEFORE: list[tuple[Message, int]] = [
    (summary(of_all(1)), 863),
    (summary(of_all(16)), 864),
    (summary(of_all(680)), 947),
    (summary(of_all(680, empty=True), None), 133),
    (summary(Coverage.of_part(3, 7, updates=((2, 2),), closed_at=2)), 862),
    (StatesMessage((LATE,)), 82),
    (StatesMessage(EIGHT), 106),
    (acknowledgement(12), 95),
    (acknowledgement(600), 417),
]


def test_summaries_and_acknowledgements_are_as_long_as_before_and_states_hardly_longer() -> None:
    codec = Codec(lambda query: SCHEMA, ordinals_max=700)
    sizes = [len(codec.encode(message)) for message, _ in BEFORE]
    for (message, before), size in zip(BEFORE, sizes, strict=True):
        assert size <= before + STATE_BYTES_MORE * isinstance(message, StatesMessage)
    assert sum(sizes) <= RATIO_MAX * sum(before for _, before in BEFORE)
