"""JetStream's global threshold: what the largest groups over all sites cost, in three steps.

Real values at 9, 16 and 64 sites under relays; the steps are the product's (``algebra/top``), links
and losses a model. Bytes are those of packed Arrow batches of a key (64 bits) and a value, with the
requests on the way down, and of whatever relays could merge. Each answer is held against all that
the covered sites have, also where a tenth of the sites and a relay fail between two steps.

Beside it, what relays could save by thinning what they have merged, which they do not do: a bound
of a share of the total, at the sites by their own totals, and at the last relay.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from statistics import median
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from experiments.common import draw_lines, print_table, timed, write_csv
from experiments.heintz.sites import Sited, sited, values_of
from experiments.heintz.traces import WARM_UP, Floats, Ints, Window
from headwater.algebra.capacity.packed_size import packed_size
from headwater.algebra.top.keyed import Keyed
from headwater.algebra.top.request import NAME_BYTES
from headwater.algebra.top.steps import Rest, asked_for, found, largest

COUNTS = (10, 100)
FAIL_SHARE = 0.1
FAILS = ("none", "before step 2", "before step 3", "for step 2")
"""When a tenth of the sites and those under a relay are lost: for good, or for a step."""
REQUEST_BYTES = 30
"""Of a request beside the head that carries it, and the groups that it names."""
BOUNDS = (0.001, 0.01)
THINNED_SITES, THINNED_PER_RELAY = 16, 16
TRACES = (
    ("honeypots by site", 9, 9, (1, 3)),
    ("reddit by feed", 16, 4, (1, 25)),
    ("reddit by feed", 64, 8, (1, 5, 25)),
)
"""(trace, sites, sites under a relay, of how many windows of the trace one is made)"""


class Row(NamedTuple):
    """Medians over windows, but for the counts."""

    trace: str
    sites: int
    windows_joined: int
    k: int
    fails: str
    windows: int
    groups: float
    """Over all sites."""
    of_sites: float
    """Bytes that leave the sites ÷ those of all groups."""
    at_root: float
    """The same on the root's links, behind relays."""
    requests: float
    """Bytes of requests to all sites ÷ those of all groups: they go the other way."""
    steps: str
    """Rows that sites send in each step."""
    exact_rows: float
    """Of the first k, called exact: the mean share."""
    untrue: int
    """Answers that call a row exact that is not, or lacks one that is larger."""


class Site:
    """The groups of one window at one site."""

    def __init__(self, keys: Ints, values: Floats) -> None:
        self.keys, self.values = keys, values
        self.is_left = np.ones(len(keys), dtype=bool)

    def send(self, mask: NDArray[np.bool_]) -> tuple[Ints, Floats]:
        """``mask`` is over what was not sent."""
        at = np.flatnonzero(self.is_left)[mask]
        self.is_left[at] = False
        return self.keys[at], self.values[at]

    @property
    def left(self) -> Floats:
        return self.values[self.is_left]

    @property
    def hashes(self) -> NDArray[np.uint64]:
        return self.keys[self.is_left].astype(np.uint64)

    @property
    def rest(self) -> float:
        return float(self.left.max(initial=0.0))


def size_of(keys: Ints, values: Floats) -> int:
    return int(packed_size(pa.table({"key": keys, "n": values}))) if len(keys) else 0


class Search:
    """Of the largest groups of one window, by one root."""

    def __init__(self, sites: Sequence[Site], *, per_relay: int, count: int) -> None:
        self.sites, self.count = sites, count
        self.relays = [
            list(range(n, min(n + per_relay, len(sites)))) for n in range(0, len(sites), per_relay)
        ]
        self.parts: list[tuple[int, Ints, Floats]] = []
        self.rests: dict[int, tuple[int, float, int]] = {}
        """By site: the sites of its newest piece, what they keep back, the request answered."""
        self.asked: list[tuple[float, tuple[int, ...]]] = []
        self.of_sites = self.at_root = self.requests = 0
        self.rows: list[int] = []

    def step(self, missing: set[int]) -> None:
        """All but these are heard: they send what the newest request asks for, or the first."""
        self.rows.append(0)
        for relay in self.relays:
            members = [n for n in relay if n not in missing and (not self.asked or n in self.rests)]
            if not members:
                continue
            sent = [self._of(self.sites[n]) for n in members]
            self.of_sites += sum(size_of(*one) for one in sent)
            self.rows[-1] += sum(len(keys) for keys, _ in sent)
            keys = np.concatenate([keys for keys, _ in sent])
            values = np.concatenate([values for _, values in sent])
            merged, places = np.unique(keys, return_inverse=True)
            sums = np.bincount(places, values, minlength=len(merged))
            self.at_root += size_of(merged, sums)
            bits = sum(1 << n for n in members)
            self.parts.append((bits, merged, sums))
            told = bits, sum(self.sites[n].rest for n in members), len(self.asked)
            self.rests.update(dict.fromkeys(members, told))

    def _of(self, site: Site) -> tuple[Ints, Floats]:
        if not self.asked:
            return site.send(largest(site.left, self.count))
        least, keys = self.asked[-1]
        return site.send(asked_for(site.left, site.hashes, least=least, keys=keys))

    def look(self) -> tuple[float, int, tuple[int, ...]]:
        """The k-th sum, how many of the first rows are exact, and who may be among them."""
        keys = np.unique(np.concatenate([part for _, part, _ in self.parts]))
        numbers = tuple(np.searchsorted(keys, part) for _, part, _ in self.parts)
        values = tuple(values for *_, values in self.parts)
        rows = Keyed(numbers, values, keys.astype(np.uint64))
        rests = [self._rest(*one) for one in set(self.rests.values()) if one[1] > 0.0]
        seen = found(rows, [bits for bits, *_ in self.parts], rests, self.count)
        return seen.kth, seen.exact, tuple(seen.candidates.tolist())

    def _rest(self, sites: int, most: float, asked: int) -> Rest:
        if not asked:
            return Rest(sites, most)
        least, keys = self.asked[asked - 1]
        return Rest(sites, most, least, frozenset(keys))

    def ask(self) -> bool:
        """For more than before; False: the first are sure, and nothing is."""
        kth, exact, candidates = self.look()
        if exact >= self.count:
            return False
        if not self.asked:
            self.asked.append((kth / len(self.sites), ()))
        else:
            least, keys = self.asked[-1]
            self.asked.append((least, tuple(sorted({*keys, *candidates}))))
        told = REQUEST_BYTES + NAME_BYTES * len(self.asked[-1][1])
        self.requests += told * len(self.sites)
        return True


def is_untrue(search: Search) -> bool:
    """Whether what is called exact is not, over the sites that are in."""
    _, exact, _ = search.look()
    covered = [search.sites[n] for n in search.rests]
    whole_keys, places = np.unique(np.concatenate([s.keys for s in covered]), return_inverse=True)
    whole = np.bincount(places, np.concatenate([s.values for s in covered]))
    keys, places = np.unique(np.concatenate([p for _, p, _ in search.parts]), return_inverse=True)
    sums = np.bincount(places, np.concatenate([v for *_, v in search.parts]))
    order = np.argsort(-sums, kind="stable")[:exact]
    if not len(order):
        return False
    truth = whole[np.searchsorted(whole_keys, keys[order])]
    others = whole[~np.isin(whole_keys, keys[order])]
    is_off = not np.allclose(truth, sums[order])
    return bool(is_off or others.max(initial=0.0) > sums[order].min() * (1.0 + 1e-9))


def joined(of: Sited, count: int) -> list[list[Window]]:
    """Windows of a trace, so many as one; by site."""
    first = range(WARM_UP, of.window_count - count + 1, count)
    return [[_join(windows[n : n + count]) for windows in of.windows] for n in first]


def _join(windows: Sequence[Window]) -> Window:
    return Window(*(np.concatenate(columns) for columns in zip(*windows, strict=True)))


def sites_of(window: Sequence[Window]) -> list[Site]:
    found_of = (values_of([one]) for one in window)
    return [Site(keys[values > 0.0], values[values > 0.0]) for keys, values in found_of]


def row_of(
    of: Sited, windows: Sequence[Sequence[Window]], per_relay: int, k: int, *, join: int, fails: str
) -> Row:
    ratios, at_root, groups = list[float](), list[float](), list[float]()
    requests = list[float]()
    exact, untrue, steps = list[float](), 0, list[list[int]]()
    for number, window in enumerate(windows):
        whole = Search(sites_of(window), per_relay=per_relay, count=1 << 40)
        whole.step(set())
        search = Search(sites_of(window), per_relay=per_relay, count=k)
        search.step(set())
        for missing in _missing(search, fails, Random(f"{of.name} {number}")):
            if not search.ask():
                break
            search.step(missing)
        ratios.append(search.of_sites / whole.of_sites)
        at_root.append(search.at_root / whole.at_root)
        requests.append(search.requests / whole.of_sites)
        groups.append(len(np.unique(np.concatenate([one.keys for one in search.sites]))))
        exact.append(search.look()[1] / min(k, groups[-1]))
        untrue += is_untrue(search)
        steps.append([*search.rows, 0, 0][:3])
    middle = " ".join(f"{median(one):.0f}" for one in zip(*steps, strict=True))
    found_rows = (*map(median, (groups, ratios, at_root, requests)), middle)
    counts = (float(np.mean(exact)), untrue)
    return Row(of.name, of.site_count, join, k, fails, len(windows), *found_rows, *counts)


def _missing(search: Search, fails: str, random: Random) -> list[set[int]]:
    """Who is not heard in the second step, and in the third."""
    count = max(1, round(FAIL_SHARE * len(search.sites)))
    lost = set(random.sample(range(len(search.sites)), count)) | set(random.choice(search.relays))
    gone = {
        "none": (set[int](), set[int]()),
        "before step 2": (lost, lost),
        "before step 3": (set[int](), lost),
        "for step 2": (lost, set[int]()),
    }
    return list(gone[fails])


def thinned(of: Sited, share: float) -> tuple[float, float, float]:
    """Key-updates on the root's link in a window: all groups; what sites leave that keep back by
    their own totals; and what a relay leaves that keeps back by all of theirs."""
    whole, own, relay = list[int](), list[int](), list[int]()
    for window in joined(of, 1):
        sites = sites_of(window)
        left = [site.keys[site.values > share * site.values.sum()] for site in sites]
        keys, places = np.unique(np.concatenate([s.keys for s in sites]), return_inverse=True)
        sums = np.bincount(places, np.concatenate([s.values for s in sites]))
        whole.append(len(keys))
        own.append(len(np.unique(np.concatenate(left))))
        relay.append(int((sums > share * sums.sum()).sum()))
    return median(whole), median(own), median(relay)


def main() -> None:
    rows: list[Row] = []
    for name, site_count, per_relay, joins in TRACES:
        with timed(f"{name}, {site_count} sites"):
            of = sited(name, site_count)
            for join in joins:
                windows = joined(of, join)
                rows += [
                    row_of(of, windows, per_relay, k, join=join, fails=fails)
                    for k in COUNTS
                    for fails in FAILS
                ]
    cells = [[f"{one:.4g}" if isinstance(one, float) else one for one in row] for row in rows]
    write_csv("jetstream_top", Row._fields, cells)
    print_table(Row._fields, rows)
    plain = [row for row in rows if row.fails == "none"]
    lines = {
        f"{trace}, {sites} sites, top({k})": (
            [row.groups for row in alike],
            [row.of_sites for row in alike],
        )
        for trace, sites, k in dict.fromkeys((row.trace, row.sites, row.k) for row in plain)
        if (alike := [row for row in plain if (row.trace, row.sites, row.k) == (trace, sites, k)])
    }
    draw_lines(
        "jetstream_top",
        lines,
        title="The largest groups in three steps",
        x="groups of a window over all sites",
        y="bytes that leave sites ÷ those of all groups",
        x_is_log=True,
    )
    of = sited("reddit by feed", THINNED_SITES)
    table = [(f"{share:.1%}", *thinned(of, share)) for share in BOUNDS]
    header = ("of total", "all groups", "kept back by sites", "thinned by a relay")
    write_csv("jetstream_thinned", header, table)
    print_table(header, table)


if __name__ == "__main__":
    main()
