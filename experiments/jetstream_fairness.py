"""Three queries on one full link, with weights 1, 2 and 4, and what an idle one costs the others.

Two of the product's networks over loopback, with mutual TLS and all that a link sends. The sender
may send 400 kbit/s, as the interface counts it; each query has as much waiting as fits. What a
query got is what the link has spent for it. Summaries of the three have unlike sizes.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from experiments.common import draw_lines, print_table, timed, write_csv
from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Summary
from headwater.net.identity.certs import create_authority, issue
from headwater.net.identity.identity import Role
from headwater.net.identity.tls import Credentials
from headwater.net.transport.tls_network import TlsNetwork
from headwater.net.values.codec import Codec
from headwater.overlay.links.link_budgets import NO_BUDGETS, LinkBudgets
from headwater.overlay.links.link_load import LinkLoad
from headwater.overlay.links.query_shares import QueryShares
from headwater.overlay.messages import Message, SummaryMessage
from headwater.overlay.outputs import LIVE
from headwater.plan.altered.link_share import LinkShare
from headwater.plan.roster import Roster, Site

BYTES_PER_S = 50_000.0
WEIGHTS = {"light@alpha#1": 1.0, "middle@alpha#2": 2.0, "heavy@alpha#3": 4.0}
SUMMARY_BYTES = {"light@alpha#1": 3_000, "middle@alpha#2": 1_200, "heavy@alpha#3": 2_000}
AHEAD_BYTES = 40_000
"""Of a query that wait: more than the link sends of it in a turn."""
TURN_S = 0.02
WARM_S = 2.0
"""The bucket is full at the start."""
SECONDS = 30
SCHEMA = pa.schema([("key", pa.binary(16)), ("n", pa.int64())])
TRIES = 3


class Row(NamedTuple):
    busy: str
    query: str
    weight: float
    kbit_per_s: float
    share: float
    wanted: float
    off: float
    """Of what was wanted."""


class Ear:
    def __init__(self) -> None:
        self.is_up = asyncio.Event()

    def link_up(self, site: str) -> None:
        self.is_up.set()

    def link_down(self, site: str, unsent: Sequence[Message]) -> None:
        return None

    def link_load(self, site: str, load: LinkLoad) -> None:
        return None

    def message(self, sender: str, message: Message) -> None:
        return None


def a_summary(query: str, pane: int) -> SummaryMessage:
    """Of keys that no compression makes smaller."""
    count = SUMMARY_BYTES[query] // 20
    rows = pa.table({"key": [os.urandom(16) for _ in range(count)], "n": [1] * count}, SCHEMA)
    coverage = Coverage.of_whole(1, 99)
    return SummaryMessage(Summary(query=query, pane=pane, coverage=coverage, rows=rows))


async def run(busy: Collection[str], known: Collection[str], directory: Path) -> list[Counts]:
    """Each second: what was spent for each query so far."""
    authority = create_authority(directory, "fair")
    sites = ("alpha", "bravo")
    roster = Roster(1, tuple(Site(n, s, "127.0.0.1") for n, s in enumerate(sites)), home="alpha")
    ports: dict[str, int] = {}
    networks = {
        site: TlsNetwork(
            site=site,
            roster=roster,
            roster_digest=b"",
            credentials=Credentials(issue(authority, Role.SITE, site)),
            codec=Codec(lambda query: SCHEMA),
            listen=("127.0.0.1", 0),
            address_of=lambda other: ("127.0.0.1", ports[other]),
            budgets=LinkBudgets(agent=BYTES_PER_S) if site == "bravo" else NO_BUDGETS,
        )
        for site in sites
    }
    alpha, bravo = networks["alpha"], networks["bravo"]
    shares = QueryShares()
    for query in known:
        shares.know(query, LinkShare(WEIGHTS[query]), ())
    bravo.share_by(shares)
    ears = Ear(), Ear()
    await alpha.start(ears[0])
    await bravo.start(ears[1])
    ports.update({site: network.port for site, network in networks.items()})
    bravo.dial("alpha")
    await asyncio.wait_for(asyncio.gather(*(ear.is_up.wait() for ear in ears)), 10)
    found = await _fill(bravo, busy)
    await bravo.stop()
    await alpha.stop()
    return found


Counts = Mapping[str, float]


async def _fill(bravo: TlsNetwork, busy: Collection[str]) -> list[Counts]:
    put, found = dict.fromkeys(busy, 0.0), list[Counts]()
    begin_s = time.monotonic()
    while len(found) <= SECONDS + WARM_S:
        spent = _spent(bravo, busy)
        for query in busy:
            while put[query] - spent[query] < AHEAD_BYTES:
                bravo.send("alpha", a_summary(query, int(put[query])), LIVE)
                put[query] += SUMMARY_BYTES[query]
        if time.monotonic() - begin_s >= len(found):
            found.append(spent)
        await asyncio.sleep(TURN_S)
    return found


def _spent(network: TlsNetwork, busy: Collection[str]) -> dict[str, float]:
    told = network.stats().queries
    return {q: float(told[q].spent_bytes.get("live", 0)) if q in told else 0.0 for q in busy}


def rows_of(busy: str, found: Sequence[Counts]) -> list[Row]:
    first, last = found[int(WARM_S)], found[-1]
    got = {query: last[query] - first[query] for query in last}
    seconds = len(found) - 1 - WARM_S
    rows = []
    for query, size in got.items():
        share = size / sum(got.values())
        wanted = WEIGHTS[query] / sum(WEIGHTS[one] for one in got)
        name = query.partition("@")[0]
        off = share / wanted - 1.0
        rows.append(Row(busy, name, WEIGHTS[query], size * 8e-3 / seconds, share, wanted, off))
    return rows


def measured(busy: Collection[str], known: Collection[str]) -> list[Counts]:
    with tempfile.TemporaryDirectory() as directory:
        return asyncio.run(run(busy, known, Path(directory)))


def main() -> None:
    every, two = list(WEIGHTS), list(WEIGHTS)[:2]
    rows: list[Row] = []
    lines: dict[str, tuple[Sequence[float], Sequence[float]]] = {}
    with timed("all"):
        for turn in range(TRIES):
            found = measured(every, every)
            rows += rows_of("all three", found)
            if not turn:
                for query in every:
                    seen = [one[query] * 8e-3 for one in found]
                    rate = [b - a for a, b in pairwise(seen)]
                    label = f"{query.partition('@')[0]}, weight {WEIGHTS[query]:g}"
                    lines[label] = ([float(n) for n in range(1, len(seen))], rate)
            rows += rows_of("two, heavy is idle", measured(two, every))
            rows += rows_of("two, no third", measured(two, two))
    shown = [(*row[:3], *(f"{value:.4g}" for value in row[3:])) for row in rows]
    print_table(Row._fields, shown)
    write_csv("jetstream_fairness", Row._fields, shown)
    draw_lines(
        "jetstream_fairness",
        lines,
        title="Three queries on a link of 400 kbit/s",
        x="seconds",
        y="kbit/s that the link spent",
    )


if __name__ == "__main__":
    main()
