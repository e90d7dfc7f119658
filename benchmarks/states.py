"""What states cost where they are merged: groups a second, against sums in the same run.

``python -m benchmarks.states``. Eight children send a state for each of 1,000 groups, and a relay
takes them in, which checks the bytes of sketches, and merges them to one each; in seconds of CPU.
Then histograms and registers in both forms that they could have, rows of hidden keys and one packed
cell for each group, with what they take in bytes (zstd, as on the wire).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

import msgspec
import numpy as np
import pyarrow as pa

from headwater.algebra.aggregates.sketches.histogram import MIDDLE, width
from headwater.algebra.aggregates.sketches.hll_cells import (
    Decoded,
    bytes_of,
    cells_of,
    coupons_max,
    encoded,
)
from headwater.algebra.aggregates.sketches.kll_cells import encoded as encoded_klls
from headwater.algebra.aggregates.sketches.kll_cells import of_values
from headwater.algebra.aggregates.sketches.merge_kll import merged
from headwater.algebra.aggregates.sketches.merge_theta import merged as merged_thetas
from headwater.algebra.aggregates.sketches.theta_cells import ALL, Hashes
from headwater.algebra.aggregates.sketches.theta_cells import encoded as encoded_thetas
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.rows.taken_rows import taker

GROUPS, CHILDREN, TURNS = 1_000, 8, 5
POOL = 20
"""So many different sketches are made; more would take longer to make than to measure."""
RATIO_MIN = 1 / 50
PAIR = np.dtype([("slot", "<i4"), ("count", "<i8")])
Rows = Callable[[np.random.Generator], list[pa.Array]]


class Layout(msgspec.Struct, frozen=True):
    keys: tuple[Column, ...]
    partials: tuple[Partial, ...]
    folding: msgspec.UnsetType = msgspec.UNSET


def layout(*partials: tuple[str, str], hidden: str = "") -> Layout:
    keys = [Column("k", "bigint"), *([Column("h", hidden)] if hidden else [])]
    found = [Partial(f"p{n}", type_, rule) for n, (type_, rule) in enumerate(partials)]
    return Layout(tuple(keys), tuple(found))


class Measured(msgspec.Struct, frozen=True):
    cpu_s: float
    bytes_per_group: float


def relay(of: Layout, rows: Rows) -> Measured:
    """The best of several turns."""
    merger, take = ArrowMerger(of), taker(of)
    parts = [
        pa.table(rows(np.random.default_rng(n)), schema=merger.schema) for n in range(CHILDREN)
    ]
    best = float("inf")
    for _ in range(TURNS):
        begin = time.process_time()
        merger.merge([part if take is None else take(part) for part in parts])
        best = min(best, time.process_time() - begin)
    return Measured(best, packed_bytes(parts[0]))


def packed_bytes(rows: pa.Table) -> float:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=ipc_options()) as writer:
        writer.write_table(rows)
    return sink.getvalue().size / GROUPS


def ipc_options() -> pa.ipc.IpcWriteOptions:
    return pa.ipc.IpcWriteOptions(compression="zstd")


KEYS = np.arange(GROUPS)


def sums(chance: np.random.Generator) -> list[pa.Array]:
    return [pa.array(KEYS), pa.array(chance.integers(0, 1 << 40, GROUPS))]


def moments(chance: np.random.Generator) -> list[pa.Array]:
    means = chance.normal(1e3, 10, GROUPS)
    return [pa.array(KEYS), pa.array(np.full(GROUPS, 100)), pa.array(means), pa.array(means / 7)]


def registers(lg_k: int, values: int) -> Rows:
    def rows(chance: np.random.Generator) -> list[pa.Array]:
        pool = [hll(lg_k, values, chance) for _ in range(POOL)]
        return [pa.array(KEYS), pa.array([pool[k % POOL] for k in KEYS], pa.binary())]

    return rows


def hll(lg_k: int, values: int, chance: np.random.Generator) -> bytes:
    slots = chance.integers(0, 1 << 26, values)
    coupons = np.unique(chance.geometric(0.5, values).clip(1, 40) << 26 | slots).astype(np.uint32)
    none, few = np.zeros(0, np.int64), np.zeros((0, 1 << lg_k), np.uint8)
    if len(coupons) <= coupons_max(lg_k):
        found = Decoded(none, few, np.zeros(len(coupons), np.int64), coupons)
    else:
        dense = np.zeros((1, 1 << lg_k), np.uint8)
        np.maximum.at(dense[0], coupons & ((1 << lg_k) - 1), (coupons >> 26).astype(np.uint8))
        found = Decoded(np.zeros(1, np.int64), dense, none, none.astype(np.uint32))
    cell: bytes = encoded(1, found, lg_k)[0].as_py()
    return cell


def register_rows(lg_k: int, values: int) -> Rows:
    """The same as rows: which register, and its greatest rank."""

    def rows(chance: np.random.Generator) -> list[pa.Array]:
        keys, slots = np.repeat(KEYS, values), chance.integers(0, 1 << lg_k, GROUPS * values)
        ranks = chance.geometric(0.5, len(keys)).clip(1, 40)
        pairs, at = np.unique(keys << 32 | slots, return_index=True)
        return [
            pa.array(pairs >> 32),
            pa.array((pairs & 0xFFFFFFFF).astype(np.int32)),
            pa.array(ranks[at].astype(np.int32)),
        ]

    return rows


def klls(values: int, kind: str) -> Rows:
    def rows(chance: np.random.Generator) -> list[pa.Array]:
        drawn = chance.lognormal(5, 1, values * POOL).astype(kind)
        found = merged(of_values(drawn), np.repeat(np.arange(POOL), values), POOL, 200)
        return [pa.array(KEYS), encoded_klls(found, 200).take(pa.array(KEYS % POOL))]

    return rows


def thetas(lg_k: int, values: int) -> Rows:
    def rows(chance: np.random.Generator) -> list[pa.Array]:
        hashes = np.sort(chance.integers(1, 1 << 62, (POOL, values)), axis=1).reshape(-1)
        owners = np.repeat(np.arange(POOL), values)
        found = merged_thetas(
            Hashes(np.full(POOL, ALL), owners, hashes), np.arange(POOL), POOL, lg_k
        )
        return [pa.array(KEYS), encoded_thetas(found).take(pa.array(KEYS % POOL))]

    return rows


def slots_of(values: int, chance: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(group and slot, count) of latencies."""
    drawn = chance.lognormal(5, 1, GROUPS * values)
    slots = MIDDLE + np.ceil(np.log(drawn) / width(0.01)).astype(np.int64)
    return np.unique(np.repeat(KEYS, values) << 32 | slots, return_counts=True)


def histogram(values: int) -> Rows:
    def rows(chance: np.random.Generator) -> list[pa.Array]:
        pairs, counts = slots_of(values, chance)
        slots = (pairs & 0xFFFFFFFF).astype(np.int32)
        return [pa.array(pairs >> 32), pa.array(slots), pa.array(counts)]

    return rows


def distinct(values: int) -> Rows:
    def rows(chance: np.random.Generator) -> list[pa.Array]:
        drawn = np.unique(
            np.repeat(KEYS, values) << 32 | chance.integers(0, 1 << 20, GROUPS * values)
        )
        return [pa.array(drawn >> 32), pa.array(drawn & 0xFFFFFFFF)]

    return rows


def packed_histograms(values: int) -> Measured:
    """One cell for each group: its slots with their counts, checked and merged as the rows are."""
    parts = [pack(*slots_of(values, np.random.default_rng(n))) for n in range(CHILDREN)]
    best = float("inf")
    for _ in range(TURNS):
        begin = time.process_time()
        found = [unpack(part) for part in parts]
        pairs = np.concatenate([one[0] for one in found])
        order = np.argsort(pairs, kind="stable")
        pairs, counts = pairs[order], np.concatenate([one[1] for one in found])[order]
        firsts = np.flatnonzero(np.append(True, pairs[1:] != pairs[:-1]))
        pack(pairs[firsts], np.add.reduceat(counts, firsts))
        best = min(best, time.process_time() - begin)
    return Measured(best, packed_bytes(pa.table({"k": KEYS, "cell": parts[0]})))


def pack(pairs: np.ndarray, counts: np.ndarray) -> pa.Array:
    cells = np.empty(len(pairs), PAIR)
    cells["slot"], cells["count"] = pairs & 0xFFFFFFFF, counts
    sizes = np.bincount(pairs >> 32, minlength=GROUPS) * PAIR.itemsize
    return cells_of(sizes, cells.view(np.uint8))


def unpack(cells: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    sizes, data = bytes_of(cells)
    assert (sizes % PAIR.itemsize == 0).all(), "whole pairs"
    found = data.view(PAIR)
    assert (found["count"] > 0).all(), "counts"
    assert (found["slot"] >= 0).all(), "slots"
    owners = np.repeat(np.arange(len(cells)), sizes // PAIR.itemsize)
    return owners << 32 | found["slot"], found["count"]


def main() -> int:
    print(f"load {os.getloadavg()[0]:.1f}; {GROUPS:,} groups, {CHILDREN} children, CPU time")
    base = relay(layout(("bigint", "sum")), sums)
    print(f"{'sums':34} {GROUPS / base.cpu_s:12,.0f} groups/s {base.bytes_per_group:8,.0f} B/group")
    variance = [("bigint", "variance"), ("double", "variance"), ("double", "variance")]
    asked = {
        "moments (variance)": relay(layout(*variance), moments),
        "HLL of 512, 50 values": relay(layout(("binary", "hll_9")), registers(9, 50)),
        "HLL of 512, full": relay(layout(("binary", "hll_9")), registers(9, 5_000)),
        "HLL of 4,096, 50 values": relay(layout(("binary", "hll_12")), registers(12, 50)),
        "HLL of 4,096, full": relay(layout(("binary", "hll_12")), registers(12, 5_000)),
        "histogram 1%, 50 values": relay(layout(("bigint", "sum"), hidden="int"), histogram(50)),
        "histogram 1%, 2,000 values": relay(
            layout(("bigint", "sum"), hidden="int"), histogram(2_000)
        ),
        "distinct values, 50": relay(layout(hidden="bigint"), distinct(50)),
        "KLL of 200, 50 bigints": relay(layout(("binary", "kll_bigint_200")), klls(50, "i8")),
        "KLL of 200, 2,000 bigints": relay(layout(("binary", "kll_bigint_200")), klls(2_000, "i8")),
        "KLL of 200, 50 doubles": relay(layout(("binary", "kll_double_200")), klls(50, "f8")),
        "KLL of 200, 2,000 doubles": relay(layout(("binary", "kll_double_200")), klls(2_000, "f8")),
        "theta of 512, 50 values": relay(layout(("binary", "theta_9")), thetas(9, 50)),
        "theta of 512, full": relay(layout(("binary", "theta_9")), thetas(9, 5_000)),
        "packed: histogram 1%, 50 values": packed_histograms(50),
        "packed: histogram 1%, 2,000 values": packed_histograms(2_000),
        "rows: HLL of 512, 50 values": relay(
            layout(("int", "max"), hidden="int"), register_rows(9, 50)
        ),
        "rows: HLL of 512, full": relay(
            layout(("int", "max"), hidden="int"), register_rows(9, 5_000)
        ),
    }
    for name, one in asked.items():
        ratio = base.cpu_s / one.cpu_s
        print(
            f"{name:34} {GROUPS / one.cpu_s:12,.0f} groups/s {one.bytes_per_group:8,.0f} B/group  "
            f"1/{1 / ratio:,.0f} of sums{'' if ratio >= RATIO_MIN else ', below 1/50'}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
