"""iMR, figure 12: histograms of block writes by server, and which of them look like others.

The Kolmogorov-Smirnov test compares the durations of a server's block writes that are in an answer
with all of its window: a test that fails at 5 % says that the histogram shows another distribution.
The real writes are few and cover some minutes here and there, so they are put side by side in the
order of their times, and panes have equally many. Made ones stand beside them, as many for each
server as in a busy cluster, whose durations drift during the window (a node that slows down).
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from itertools import pairwise
from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray

from experiments.common import DATA, draw_lines, print_table, timed, write_csv
from experiments.imr_bed import PANES, PERCENTS, POLICIES, Policy

FILE = "logs_hdfs2_10k_tokens.jsonl.gz"
LEVEL = 0.05
TERMS = 100
MADE_SERVERS, MADE_WRITES = 20, 4_000
DRIFT = 1.0
"""By how much the logarithm of a made duration grows over a window, at the servers that slow down,
at the most."""
DRAWS = 20
"""Windows of each policy: random panes and left out sites are others in each."""
Values = NDArray[np.float64]
Server = tuple[NDArray[np.int64], Values]
"""(pane of each write, its duration)"""


def read() -> list[Server]:
    """By data node, of those that have enough writes for twenty panes."""
    found: dict[str, list[tuple[int, float]]] = {}
    with gzip.open(DATA / FILE, "rt") as file:
        for line in file:
            entry = json.loads(line)
            tokens = entry["body"]
            fields = dict(pairwise(tokens))
            if fields.get("op:") != "HDFS_WRITE," or "duration:" not in fields:
                continue
            node = fields["dest:"].strip("/,").rpartition(":")[0]
            found.setdefault(node, []).append((entry["timestamp"], float(fields["duration:"])))
    whole = sorted(at for writes in found.values() for at, _ in writes)
    bounds = [whole[len(whole) * n // PANES] for n in range(1, PANES)]
    return [
        (
            np.searchsorted(bounds, [at for at, _ in writes], side="right"),
            np.array([duration for _, duration in writes]),
        )
        for writes in found.values()
        if len(writes) >= PANES
    ]


def made() -> list[Server]:
    chance = np.random.default_rng(12)
    servers = []
    for number in range(MADE_SERVERS):
        panes = np.sort(chance.integers(0, PANES, MADE_WRITES))
        drift = DRIFT * number / MADE_SERVERS
        logs = chance.normal(15.0, 1.0, MADE_WRITES) + drift * panes / PANES
        servers.append((panes, np.exp(logs)))
    return servers


def p_value(left: Values, right: Values) -> float:
    """Of the two-sample test, by the limit of its distribution.

    >>> round(p_value(np.arange(100.0), np.arange(100.0)), 3)
    1.0
    >>> p_value(np.arange(100.0), np.arange(100.0) + 50.0) < 1e-6
    True
    """
    left, right = np.sort(left), np.sort(right)
    every = np.concatenate([left, right])
    steps = [np.searchsorted(one, every, side="right") / len(one) for one in (left, right)]
    distance = float(np.abs(steps[0] - steps[1]).max())
    root = sqrt(len(left) * len(right) / (len(left) + len(right)))
    scaled = (root + 0.12 + 0.11 / root) * distance
    if scaled < 0.2:
        return 1.0
    terms = ((-1) ** (n - 1) * exp(-2.0 * (n * scaled) ** 2) for n in range(1, TERMS))
    return min(1.0, max(0.0, 2.0 * sum(terms)))


def rejected(servers: Sequence[Server], name: str, percent: int) -> tuple[float, float]:
    """Of the histograms that are answered, the share that looks like another distribution; and
    the share of servers that have one."""
    policy = Policy(name, percent, sites=len(servers))
    tested = failed = 0
    for window in range(DRAWS):
        mask = policy.mask(window)
        for site, (panes, durations) in enumerate(servers):
            found = durations[mask[site, panes]]
            if len(found):
                tested += 1
                failed += p_value(found, durations) < LEVEL
    return failed / max(tested, 1), tested / (DRAWS * len(servers))


def main() -> None:
    sources = {"made": made()}
    if (DATA / FILE).exists():
        sources["real"] = read()
    else:
        print(f"NOT MEASURED: {DATA / FILE} is not there; made writes alone.")
    rows = []
    with timed("tests"):
        for source, servers in sources.items():
            for name in POLICIES:
                for percent in PERCENTS:
                    found = rejected(servers, name, percent)
                    writes = round(float(np.median([len(one) for _, one in servers])))
                    shares = (round(one, 4) for one in found)
                    rows.append((source, len(servers), writes, name, percent, *shares))
    header = ("writes", "servers", "by_server", "policy", "percent", "rejected", "servers_answered")
    print_table(header, rows)
    write_csv("imr_12", header, rows)
    draw_lines(
        "imr_12",
        {
            f"{name}, {source}": (
                [row[4] for row in rows if (row[0], row[3]) == (source, name)],
                [100.0 * row[5] for row in rows if (row[0], row[3]) == (source, name)],
            )
            for source in sources
            for name in POLICIES
        },
        title="Histograms that look like others (KS test at 5 %)",
        x="data in the answer (%)",
        y="rejected (%)",
    )


if __name__ == "__main__":
    main()
