"""Records of windows in a row, from measured logs where they are there, and one that is made here.

A window has for each record when it came (as a share of the window, rising), its key, its value,
and a member, which is what distinct counts count. Keys are numbers.
"""

from __future__ import annotations

import csv
import gzip
import json
import lzma
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from experiments.common import DATA

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Raw: TypeAlias = tuple[float, str, float, str]
"""Seconds, key, value, member."""

DAY_S = 86_400.0
WARM_UP = 3
"""Windows before those that are measured: pasts and thresholds are learned."""
MEASURED = 25


class Window(NamedTuple):
    at: Floats
    keys: Ints
    values: Floats
    members: Ints

    @property
    def key_count(self) -> int:
        return len(np.unique(self.keys))


class Trace(NamedTuple):
    name: str
    windows: tuple[Window, ...]

    @property
    def keys_per_window(self) -> float:
        return float(np.mean([window.key_count for window in self.windows]))


def _epoch(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def _flights() -> Iterator[Raw]:
    with lzma.open(DATA / "events_flights_3m_2001H1.csv.xz", "rt") as file:
        for row in csv.DictReader(file):
            late = max(0.0, float(row["delay"]))
            route = f"{row['origin']}-{row['destination']}"
            yield _epoch(row["date"]), route, late, row["distance"]


def _honeypots() -> Iterator[Raw]:
    with gzip.open(DATA / "sec_aws_honeypots_9regions_2013.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            key = f"{row['site']} {row['country']} {row['dst_port']}"
            yield float(row["unix_ts"]), key, 1.0, row["src_id"]


def _honeypots_by_site() -> Iterator[Raw]:
    """Keys that sites have in common; the site as the member."""
    with gzip.open(DATA / "sec_aws_honeypots_9regions_2013.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            yield float(row["unix_ts"]), f"{row['country']} {row['dst_port']}", 1.0, row["site"]


def _reddit() -> Iterator[Raw]:
    with lzma.open(DATA / "feeds_reddit_all_domains_2.1M.tsv.xz", "rt") as file:
        next(file)
        for line in file:
            at, feed, domain, ups, _ = line.rstrip("\n").split("\t")
            yield float(at), domain, max(0.0, float(ups)), feed


def _downloads() -> Iterator[Raw]:
    with gzip.open(DATA / "web_cran_downloads_2012.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            at = _epoch(f"{row['date']}T{row['time']}")
            yield at, row["package"], float(row["size"]), row["ip_id"]


def _wiki() -> Iterator[Raw]:
    with gzip.open(DATA / "wiki_edits_20150912_sampled.json.gz", "rt") as file:
        for line in file:
            row = json.loads(line)
            at = _epoch(row["time"].rstrip("Z"))
            yield at, row["user"], float(row["added"] or 0), row["page"]


class Measured(NamedTuple):
    file: str
    read: Callable[[], Iterator[Raw]]
    begin: str
    window_s: float
    windows: int = WARM_UP + MEASURED


MEASURED_TRACES = {
    "flights": Measured("events_flights_3m_2001H1.csv.xz", _flights, "2001-01-02", DAY_S),
    "honeypots": Measured(
        "sec_aws_honeypots_9regions_2013.csv.gz", _honeypots, "2013-04-01", DAY_S
    ),
    "reddit": Measured("feeds_reddit_all_domains_2.1M.tsv.xz", _reddit, "2013-03-01", DAY_S),
    "downloads": Measured("web_cran_downloads_2012.csv.gz", _downloads, "2012-12-26", 7_200.0, 24),
    "flights later": Measured("events_flights_3m_2001H1.csv.xz", _flights, "2001-05-01", DAY_S),
    "reddit earlier": Measured(
        "feeds_reddit_all_domains_2.1M.tsv.xz", _reddit, "2013-01-20", DAY_S
    ),
    "wiki edits": Measured(
        "wiki_edits_20150912_sampled.json.gz", _wiki, "2015-09-12T01:00", 3_000.0, 27
    ),
}
"""Sum of: minutes late by route; connections by site, country and port; ups by domain; bytes by
package; characters added by user. Distinct: distances, sources, feeds, clients, pages."""
SITED_TRACES = {
    "honeypots by site": Measured(
        "sec_aws_honeypots_9regions_2013.csv.gz", _honeypots_by_site, "2013-03-04", 7 * DAY_S, 21
    ),
    "reddit by feed": MEASURED_TRACES["reddit"],
}
"""The member says at which site a record is."""
KEPT_FOR_LAST = ("flights later", "reddit earlier", "wiki edits")
"""Nothing is tuned on these."""


def traces(names: tuple[str, ...] = (*MEASURED_TRACES, "synthetic")) -> Iterator[Trace]:
    """Those that are there; what is missing is said."""
    for name in names:
        if name == "synthetic":
            yield synthetic()
        elif is_there(MEASURED_TRACES[name]):
            yield measured(name, MEASURED_TRACES[name])
        else:
            print(f"NOT MEASURED: {DATA / MEASURED_TRACES[name].file} is not there; left out.")


def is_there(of: Measured) -> bool:
    return (DATA / of.file).exists()


def measured(name: str, of: Measured) -> Trace:
    begin_s = _epoch(of.begin)
    end_s = begin_s + of.windows * of.window_s
    found = [raw for raw in of.read() if begin_s <= raw[0] < end_s]
    at = np.array([raw[0] for raw in found])
    # Stamps of a minute or a second would all fall on the same moment of it.
    at += np.random.default_rng(1).random(len(at)) * (60.0 if name in _BY_MINUTE else 1.0)
    keys, members = _numbers([raw[1] for raw in found]), _numbers([raw[3] for raw in found])
    values = np.array([raw[2] for raw in found])
    return Trace(name, _windows((at - begin_s) / of.window_s, keys, values, members, of.windows))


_BY_MINUTE = {"flights", "flights later", "honeypots", "honeypots by site"}


def synthetic(
    *,
    records: int = 12_000,
    windows: int = WARM_UP + MEASURED,
    seed: int = 1,
    heavier_from: int | None = None,
    times: float = 2.0,
) -> Trace:
    """Downloads in the paper's spirit: 200,000 keys of provider, country and URL, of which few are
    asked for often; bytes with a long tail; keys that are in fashion for a part of a window, and a
    popularity that drifts from window to window. From a window on there may be more records."""
    chance = np.random.default_rng(seed)
    count = 200_000
    weights = 1.0 / np.arange(1, count + 1) ** 0.9
    sizes = np.exp(chance.normal(13.0, 1.2, count))
    centre, width = chance.random(count), np.exp(chance.normal(-0.5, 1.0, count))
    order = np.arange(count)
    parts = []
    for number in range(windows):
        moved = chance.integers(0, count, count // 50)
        order[moved] = order[chance.permutation(moved)]
        heavier = heavier_from is not None and number >= heavier_from
        n = int(records * (times if heavier else 1.0))
        keys = order[chance.choice(count, n, p=weights / weights.sum())]
        at = (centre[keys] + width[keys] * chance.normal(0.0, 0.5, n)) % 1.0
        values = sizes[keys] * chance.random(n)
        sort = np.argsort(at)
        members = chance.integers(0, 5_000, n)
        parts.append(Window(at[sort], keys[sort], values[sort], members[sort]))
    return Trace("synthetic", tuple(parts))


def _numbers(texts: list[str]) -> Ints:
    known: dict[str, int] = {}
    return np.array([known.setdefault(text, len(known)) for text in texts], dtype=np.int64)


def _windows(
    at: Floats, keys: Ints, values: Floats, members: Ints, count: int
) -> tuple[Window, ...]:
    order = np.argsort(at, kind="stable")
    at, keys, values, members = at[order], keys[order], values[order], members[order]
    cuts = np.searchsorted(at, np.arange(count + 1))
    return tuple(
        Window(at[a:b] - n, keys[a:b], values[a:b], members[a:b])
        for n, (a, b) in enumerate(pairwise(cuts))
    )
