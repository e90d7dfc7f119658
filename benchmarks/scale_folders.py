"""Folders of sites for the measurements of growth: so many sites, files, groups and queries.

Rows are drawn by Arrow and written as csv: a time, a key, a number. ``groups`` keys occur in every
window, each of them at least once where there are enough rows.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

START_S = 1_777_636_800
WINDOW_S = 600
SOURCE = """CREATE SOURCE sales (sold_at TIMESTAMP, product STRING, quantity BIGINT)
WITH (format = 'csv', path = '*.csv', time = 'sold_at');
"""


class Size(msgspec.Struct, frozen=True):
    """What one question is asked about."""

    sites: int = 5
    files: int = 5
    """Over all sites; at least one each."""
    rows: int = 300_000
    """Over all files."""
    groups: int = 100
    """In each window."""
    queries: int = 1
    windows: int = 6


def write_folder(directory: Path, size: Size) -> tuple[Path, Path]:
    """(file of statements, folder of sites)."""
    sites = directory / "sites"
    names = [f"s{number:04d}" for number in range(size.sites)]
    for name in names:
        (sites / name).mkdir(parents=True)
    files = max(size.files, size.sites)
    for number, part in enumerate(np.array_split(np.arange(size.rows), files)):
        path = sites / names[number % size.sites] / f"sales-{number // size.sites:05d}.csv"
        path.write_bytes(_lines(part, size))
    sql = directory / "sales.sql"
    sql.write_text(SOURCE + "".join(statement(number) for number in range(size.queries)))
    return sql, sites


def statement(number: int) -> str:
    """Each has a condition of its own, so that no two are one plan; the upper bound leaves nothing
    out."""
    return (
        f"CREATE STREAM q{number:02d} WITH (begin = 'earliest') AS "
        "SELECT window.start, product, count(*) AS n, sum(quantity) AS pieces FROM sales "
        f"WHERE quantity >= {number % 7} AND quantity < {10 + number // 7} "
        f"GROUP BY window(sold_at, '{WINDOW_S} seconds'), product;\n"
    )


def _lines(numbers: np.ndarray, size: Size) -> bytes:
    """Row n lies in window n modulo windows; the keys of a window come in turn, scattered."""
    window, turn = numbers % size.windows, numbers // size.windows
    key = (turn * 7_919) % size.groups
    at_s = START_S + window * WINDOW_S + turn % WINDOW_S
    times = pc.strftime(pa.array(at_s * 1_000_000, pa.timestamp("us")), format="%Y-%m-%dT%H:%M:%SZ")
    lines = pc.binary_join_element_wise(
        times,
        pc.binary_join_element_wise("product", pc.cast(pa.array(key), pa.string()), "-"),
        pc.cast(pa.array(numbers % 10), pa.string()),
        ",",
    )
    return "\n".join(lines.to_pylist()).encode() + b"\n"
