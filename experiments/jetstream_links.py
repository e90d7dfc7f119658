"""Links as they were measured: Puffer's, 3G and LTE, scaled to carry half of what a source needs.

A source counts requests by URL every second, as in ``jetstream_07``, and may give something up:
URLs by halves (a sample), or small URLs first (a threshold, then a sample). The rule by which steps
change, what they are estimated to save and the measure of the link are the product's; the rest is
the model of ``jetstream/source.py``. A window is in time if it is there within 5 s of its end.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.common import DATA, draw_lines, print_table, timed, write_csv
from experiments.jetstream.requests import Requests
from experiments.jetstream.source import Source, bytes_of
from headwater.plan.degrading.degradation import Degradation, Operator, OperatorKind

SECONDS = 300
TRACES = 20
"""Of each kind, the first that are long enough."""
PER_S = 1_000.0
PART = 0.5
"""Of what a source needs, that its link carries on average."""
IN_TIME_S = 5.0
LIMIT = 0.01
SLOT_BYTES = 1_500.0
SHARES = (1 / 2, 1 / 4, 1 / 8, 1 / 16)
SAMPLE = Operator(OperatorKind.SAMPLE, SHARES, "url")
THRESHOLD = Operator(OperatorKind.THRESHOLD, (1 / 64, 1 / 16, 1 / 4, 1.0), "hits")
PLANS = {
    "nothing": None,
    "sample to 1/16": Degradation((SAMPLE,)),
    "threshold, then sample": Degradation((THRESHOLD, SAMPLE)),
}
KINDS = {
    "Puffer": "bw_puffer_20211017_test500.tar.xz",
    "3G": "bw_3g_hsdpa_norway_cooked.tar.xz",
    "LTE": "bw_mahimahi_lte_umts_evdo.tar.xz",
}
Rates = NDArray[np.float64]


class Row(NamedTuple):
    links: str
    plan: str
    traces: int
    in_time: float
    """Of all windows."""
    in_time_worst: float
    """Of the trace with the least."""
    mean_step: float
    used: float
    """Bytes carried ÷ bytes that the links could carry."""
    changes_a_minute: float
    """Of steps: the median over the traces."""
    changes_most: float


@cache
def traces(kind: str) -> tuple[Rates, ...]:
    """What each second carries, as a share of the trace's mean."""
    found = []
    with tarfile.open(DATA / KINDS[kind]) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is None or "README" in member.name or "Makefile" in member.name:
                continue
            rates = _slots(file.read()) if kind == "LTE" else _steps(file.read())
            if len(rates) >= SECONDS and rates[:SECONDS].mean() > 0:
                found.append(rates[:SECONDS] / rates[:SECONDS].mean())
            if len(found) == TRACES:
                break
    return tuple(found)


def _steps(content: bytes) -> Rates:
    """Lines of seconds and Mbit/s: the mean of each second."""
    at_s, rate = np.loadtxt(io.BytesIO(content), unpack=True)
    seconds = np.arange(0.0, at_s[-1] - at_s[0], 0.1)
    each = np.interp(seconds, at_s - at_s[0], rate)
    whole: Rates = each[: len(each) // 10 * 10].reshape(-1, 10).mean(axis=1)
    return whole


def _slots(content: bytes) -> Rates:
    """Milliseconds at which a packet may leave."""
    at_ms = np.loadtxt(io.BytesIO(content))
    return np.bincount((at_ms / 1e3).astype(np.int64)).astype(np.float64) * SLOT_BYTES


def link(rates: Rates, mean_bytes: float) -> Callable[[float], float]:
    def rate(now_s: float) -> float:
        return max(1.0, float(rates[min(int(now_s), SECONDS - 1)]) * mean_bytes)

    return rate


def need() -> float:
    """Bytes a second at full fidelity."""
    rows = [np.count_nonzero(Requests(np.full(1, PER_S), seed=n).of(0)) for n in range(5)]
    return bytes_of(round(float(np.mean(rows))))


def sources(kind: str, plan: Degradation | None) -> Iterator[tuple[Source, float]]:
    """Each with what its link could have carried."""
    mean_bytes = PART * need()
    for seed, rates in enumerate(traces(kind)):
        requests = Requests(np.full(SECONDS, PER_S), seed=seed)
        source = Source(requests, plan, LIMIT, link(rates, mean_bytes)).run(SECONDS)
        yield source, float(rates.sum() * mean_bytes)


def row_of(kind: str, name: str, plan: Degradation | None) -> tuple[Row, list[float]]:
    """Beside it the windows in time of each trace, the worst first."""
    in_time, steps, used, allowed, changes = [], [], 0.0, 0.0, []
    for source, could in sources(kind, plan):
        over = [one for one in source.sent if one.end_s <= SECONDS - IN_TIME_S]
        in_time.append(float(np.mean([one.latency_s <= IN_TIME_S for one in over])))
        steps.append(float(np.mean(source.steps)))
        used, allowed = used + sum(source.carried), allowed + could
        changed = np.count_nonzero(np.diff(source.steps))
        changes.append(60.0 * float(changed) / SECONDS)
    row = Row(
        kind,
        name,
        len(in_time),
        float(np.mean(in_time)),
        min(in_time),
        float(np.mean(steps)),
        used / allowed,
        float(np.median(changes)),
        max(changes),
    )
    return row, sorted(in_time)


def main() -> None:
    missing = [name for name in KINDS.values() if not (DATA / name).exists()]
    if missing:
        print(f"left out: {', '.join(missing)} in {DATA} wanted, got none of them")
        return
    with timed("all"):
        found = [row_of(kind, name, plan) for kind in KINDS for name, plan in PLANS.items()]
    rows = [row for row, _ in found]
    shown = [(*row[:3], *(f"{value:.3g}" for value in row[3:])) for row in rows]
    print_table(Row._fields, shown)
    write_csv("jetstream_links", Row._fields, shown)
    draw_lines(
        "jetstream_links",
        {
            f"{row.links}: {row.plan}": (np.arange(1, len(each) + 1) / len(each), each)
            for row, each in found
            if row.plan != "nothing" or row.links == "Puffer"
        },
        title="Links as they are: windows that are there within 5 s",
        x="share of the traces, the worst first",
        y="share of windows in time",
    )


if __name__ == "__main__":
    main()
