"""How many summaries a second pass through an inner peer, merged on the way.

``python -m benchmarks.merge``. Eight children send their summary of each pane, the peer merges
them and passes one on. Measured twice, in seconds of CPU (all of it: Arrow may use several
cores): the peer alone, with tables in memory; and as in an agent, from bytes to bytes.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec
import pyarrow as pa

from benchmarks.wire import KEYS, a_table
from headwater.algebra.coverage import Coverage
from headwater.algebra.panes import WindowSpec
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.rows.types import summary_schema
from headwater.algebra.summary import Summary
from headwater.net.values.codec import Codec
from headwater.overlay.config import OverlayConfig
from headwater.overlay.messages import Message, SummaryMessage
from headwater.overlay.outputs import Transmit
from headwater.overlay.peer import Peer
from headwater.plan.command import Install
from headwater.plan.program import Program
from headwater.plan.query import Query, QueryId
from headwater.plan.roster import Roster, Site
from headwater.plan.sources.source import Source, SourceFormat
from headwater.plan.tree import Tree

CHILDREN = 8
MEASURE_S = 2.0
AGE_S = 0.1
"""Of a summary when it arrives, as if it had come over the wide area."""

_COLUMNS = (Column("at", "timestamp"), Column("domain", "string"), Column("ms", "double"))
PROGRAM = Program(
    text="",
    source=Source("web", _COLUMNS, SourceFormat.CSV, "*.csv", "at"),
    keys=(Column("domain", "string"),),
    partials=(Partial("hits", "bigint", "sum"), Partial("ms", "double", "sum")),
    site_sql="",
    root_sql="",
    central_sql="",
    columns_used=("at", "domain", "ms"),
    output=(Column("hits", "bigint"),),
)
QUERY = Query(QueryId("bench", "root", 1), WindowSpec(10_000_000, 10_000_000), "root", PROGRAM)
SCHEMA = summary_schema(PROGRAM)


class Result(msgspec.Struct):
    keys: int
    merged_per_s: float
    """Summaries that arrive in a second of CPU, with the peer and its merger alone."""
    through_per_s: float
    """The same from bytes to bytes."""


def an_inner_peer() -> Peer:
    """The relay between the root and its children."""
    names = ("root", "relay", *(f"child{n}" for n in range(CHILDREN)))
    sites = tuple(Site(n, name, has_data=name != "relay") for n, name in enumerate(names))
    tree = Tree(0, ((1, 0), *((2 + n, 1) for n in range(CHILDREN))))
    peer = Peer(
        site="relay",
        roster=Roster(1, sites, home="root"),
        trees=(tree,),
        config=OverlayConfig(),
        merger_of=lambda query: ArrowMerger(query.program),
    )
    peer.restore([Install(query=QUERY, trees=(tree,), roster_version=1)], (), now_s=0.0)
    for site in sites:
        if site.name != "relay":
            peer.link_up(site.name, now_s=0.0)
    peer.take()
    return peer


def of_a_child(child: int, pane: int, rows: pa.Table) -> SummaryMessage:
    coverage = Coverage.of_whole(2 + child, 99)
    return SummaryMessage(
        Summary(query=str(QUERY.id), pane=pane, coverage=coverage, rows=rows, age_s=AGE_S)
    )


def rate(
    peer: Peer, arriving: Callable[[int, int], Message], leaving: Callable[[Message], object]
) -> float:
    """One pane for each second of the peer's clock, as fast as it goes, until time is over."""
    arrived = left = pane = 0
    started_s = time.process_time()
    while time.process_time() - started_s < MEASURE_S or pane < 3:
        for child in range(CHILDREN):
            peer.receive(f"child{child}", arriving(child, pane), now_s=float(pane))
            arrived += 1
        for output in peer.take():
            if isinstance(output, Transmit) and isinstance(output.message, SummaryMessage):
                leaving(output.message)
                left += 1
        pane += 1
    assert left == pane, f"wanted one merged summary for each of {pane} panes, got {left}"
    return arrived / (time.process_time() - started_s)


def measure(keys: int) -> Result:
    codec = Codec(lambda query: SCHEMA)
    rows = a_table(keys).cast(SCHEMA)
    alone = rate(
        an_inner_peer(), lambda child, pane: of_a_child(child, pane, rows), lambda message: None
    )
    packed = codec.rows.encode(str(QUERY.id), rows)

    def from_bytes(child: int, pane: int) -> Message:
        small = of_a_child(child, pane, packed)  # The rows are packed once, as children would.
        return codec.decode(codec.encode(small))

    through = rate(an_inner_peer(), from_bytes, codec.encode)
    return Result(keys, alone, through)


def main() -> None:
    print(f"{CHILDREN} children, one merged summary out for {CHILDREN} in")
    print(f"{'keys':>8}  {'in/CPU s':>12} {'bytes to bytes':>20}")
    for keys in KEYS:
        found = measure(keys)
        print(f"{keys:>8,}  {found.merged_per_s:>12,.0f} {found.through_per_s:>20,.0f}")


if __name__ == "__main__":
    main()
