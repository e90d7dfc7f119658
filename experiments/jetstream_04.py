"""JetStream, figure 4: how many groups there are for each record, by the length of the window.

What is left of records after they are aggregated over a window is a row for each group of it, so
groups ÷ records is the share that has to travel. Each trace has a fine key, where it has one, such
as the address of a page, and a coarse one above it, such as what stands for its domain.
"""

from __future__ import annotations

import csv
import gzip
import lzma
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from experiments.common import DATA, draw_lines, print_table, timed, write_csv

WINDOWS_S = (1, 5, 30, 60, 300, 1_800, 3_600, 21_600, 86_400, 604_800)
WHOLE_MIN = 2
"""A trace is cut only into windows of which it spans so many."""
Floats: TypeAlias = NDArray[np.float64]
Raw: TypeAlias = tuple[float, str, str]
"""Seconds, fine key, coarse key."""


class Trace(NamedTuple):
    name: str
    file: str
    fine: str
    """What the fine key is; empty: there is none."""
    coarse: str
    read: Callable[[], Iterator[Raw]]


class Row(NamedTuple):
    trace: str
    key: str
    window_s: int
    windows: int
    """Those with a record."""
    records: int
    groups: int
    """Of all windows together."""

    @property
    def share(self) -> float:
        return self.groups / self.records


def _epoch(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def _nasa() -> Iterator[Raw]:
    with gzip.open(DATA / "web_nasa_19950801.tsv.gz", "rt", errors="replace") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            path = urlsplit(row["url"]).path
            yield float(row["time"]), row["url"], path.strip("/").partition("/")[0]


def _edgar() -> Iterator[Raw]:
    with gzip.open(DATA / "web_edgar_20170630_25k.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            document = f"{row['cik']} {row['accession']} {row['extention']}"
            yield _epoch(f"{row['date']}T{row['time']}"), document, row["cik"]


def _downloads() -> Iterator[Raw]:
    with gzip.open(DATA / "web_cran_downloads_2012.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            archive = f"{row['package']} {row['version']} {row['r_os']}"
            yield _epoch(f"{row['date']}T{row['time']}"), archive, row["package"]


def _reddit() -> Iterator[Raw]:
    with lzma.open(DATA / "feeds_reddit_all_domains_2.1M.tsv.xz", "rt") as file:
        next(file)
        for line in file:
            at, _, domain, *_ = line.split("\t")
            yield float(at), "", domain


def _git() -> Iterator[Raw]:
    with lzma.open(DATA / "clicks_git_activity_17sites_2010_2025.tsv.xz", "rt") as file:
        next(file)
        for line in file:
            at, site, _, _, _, path = line.rstrip("\n").split("\t", 5)
            yield float(at), f"{site} {path}", site


TRACES = (
    Trace("NASA", "web_nasa_19950801.tsv.gz", "URL", "top folder", _nasa),
    Trace("EDGAR", "web_edgar_20170630_25k.csv.gz", "document", "company", _edgar),
    Trace("CRAN", "web_cran_downloads_2012.csv.gz", "archive", "package", _downloads),
    Trace("git", "clicks_git_activity_17sites_2010_2025.tsv.xz", "path", "repository", _git),
    Trace("reddit", "feeds_reddit_all_domains_2.1M.tsv.xz", "", "domain", _reddit),
)


def rows_of(trace: Trace, found: Sequence[Raw]) -> list[Row]:
    at = np.array([raw[0] for raw in found])
    spans_s = float(at.max() - at.min()) + 1.0
    keys = [(trace.fine, 1), (trace.coarse, 2)] if trace.fine else [(trace.coarse, 2)]
    return [
        _row(trace.name, key, window_s, at, [raw[place] for raw in found])
        for key, place in keys
        for window_s in WINDOWS_S
        if WHOLE_MIN * window_s <= spans_s
    ]


def _row(trace: str, key: str, window_s: int, at: Floats, values: Iterable[str]) -> Row:
    known: dict[str, int] = {}
    numbers = np.array([known.setdefault(value, len(known)) for value in values])
    windows = (at // window_s).astype(np.int64)
    groups = np.unique(windows * len(known) + numbers)
    return Row(trace, key, window_s, len(np.unique(windows)), len(at), len(groups))


def main() -> None:
    rows: list[Row] = []
    for trace in TRACES:
        if not (DATA / trace.file).exists():
            print(f"NOT MEASURED: {DATA / trace.file} is not there; left out.")
            continue
        with timed(trace.name):
            rows += rows_of(trace, list(trace.read()))
    if not rows:
        print("nothing to measure, so what is there stays")
        return
    header = ("trace", "key", "window_s", "windows", "records", "groups", "groups_per_record")
    table = [
        (r.trace, r.key, r.window_s, r.windows, r.records, r.groups, round(r.share, 5))
        for r in rows
    ]
    print_table(header, table)
    write_csv("jetstream_04", header, table)
    draw_lines(
        "jetstream_04",
        {
            f"{trace}, by {key}": (
                [r.window_s for r in rows if (r.trace, r.key) == (trace, key)],
                [r.share for r in rows if (r.trace, r.key) == (trace, key)],
            )
            for trace, key in dict.fromkeys((r.trace, r.key) for r in rows)
        },
        title="Aggregated over a window",
        x="window (s)",
        y="groups ÷ records",
        x_is_log=True,
    )


if __name__ == "__main__":
    main()
