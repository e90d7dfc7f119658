"""Requests for URLs, second by second: how many, and of which."""

from __future__ import annotations

import gzip
import tarfile
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from experiments.common import DATA
from headwater.algebra.capacity.packed_size import packed_size

Counts = NDArray[np.int64]
URLS = 20_000
"""Of those that are there, the first."""
SKEW = 0.9
"""Of how popular they are: the n-th has 1 ÷ n to the power of this. (The file has no counts.)"""
DAY_S = 86_400
CURVE_FILE, URL_FILE = "rate_nasa_per_second.tbz2", "web_worldcup98_object_urls.txt.gz"
SAMPLED = (50, 200, 800, 3_000)


@cache
def urls() -> list[str]:
    """Of the World Cup's web server; made up where the file is not there."""
    if not (DATA / URL_FILE).exists():
        print(f"NOT MEASURED DATA: {DATA / URL_FILE} is not there; URLs are made up.")
        return [f"/made/up/page{n}.html" for n in range(URLS)]
    with gzip.open(DATA / URL_FILE, "rt", errors="replace") as file:
        lines = (line.split() for line, _ in zip(file, range(URLS), strict=False))
        return [line[1] if len(line) > 1 else "/" for line in lines]


def day_curve(seconds: int) -> NDArray[np.float64]:
    """A day of NASA's requests in so many seconds, as shares of their mean."""
    if not (DATA / CURVE_FILE).exists():
        print(f"NOT MEASURED DATA: {DATA / CURVE_FILE} is not there; the day is a sine.")
        return 1.0 + 0.6 * np.sin(np.linspace(0.0, 2.0 * np.pi, seconds))
    with tarfile.open(DATA / CURVE_FILE) as archive:
        member = archive.extractfile("workload.txt")
        assert member is not None
        text = member.read(40 * DAY_S * 3).split()[: 40 * DAY_S]
    whole = np.array(text, dtype=np.float64).reshape(40, DAY_S).sum(axis=0)
    parts = np.array([part.sum() for part in np.array_split(whole, seconds)])
    curve: NDArray[np.float64] = parts / parts.mean()
    return curve


class Requests:
    """Of one source: each second some of all URLs, by their popularity."""

    def __init__(self, per_s: NDArray[np.float64], *, seed: int) -> None:
        self._per_s = per_s
        self._random = np.random.default_rng(seed)
        weights = 1.0 / np.arange(1, URLS + 1) ** SKEW
        self._edges = np.cumsum(weights) / weights.sum()

    def of(self, second: int) -> Counts:
        """How often each URL was asked for."""
        count = self._random.poisson(self._per_s[second])
        asked = np.searchsorted(self._edges, self._random.random(count))
        return np.bincount(asked, minlength=URLS).astype(np.int64)


@cache
def bytes_per_row() -> tuple[float, float]:
    """What a pane of so many URLs takes packed: (beside its rows, for each of them), measured on
    tables of these URLs and fitted by a line."""
    random, known = np.random.default_rng(1), urls()
    sizes = []
    for count in SAMPLED:
        chosen = random.choice(URLS, count, replace=False)
        counts = random.zipf(2.0, count).clip(max=1_000)
        rows = pa.table({"url": [known[n % len(known)] for n in chosen], "hits": counts})
        sizes.append(packed_size(rows))
    slope, base = np.polyfit(SAMPLED, sizes, 1)
    return max(0.0, float(base)), float(slope)
