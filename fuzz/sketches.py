"""Cells of sketches from the wire: each rule's own reader.

An input is one cell. Whatever a rule takes in can be merged, and taking it in again changes
nothing.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.algebra.aggregates import RULES
from headwater.algebra.aggregates.sketches.kll_cells import KINDS, encoded, of_values
from headwater.algebra.aggregates.sketches.merge_kll import merged
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Column, Partial

TAKERS = {name: rule.take for name, rule in RULES.items() if rule.take is not None}
"""All rules whose cells have a form of their own."""


THETAS = (
    "01030300001e0000",
    "01030300003acc9315f97dcbbd86a105",
    "0104033e011acc930316861af72df7e4558fbe9c3477e9eaefb2e5966badaa3dc0",
    "02040330011acc9379cb0a24c0f70300103805c0378a9257f7e57be8b758fa7af75a3e0cc7614980171aa56f714e32"
    "1e135154207d06647705ccc34ddeccac076f0f3599cbb999171a01799a2555b8c0965dd0331cb63ef19d0d890ef880"
    "8f657ea4f8ad1e5f29d210de22d2a7453855ff",
)
"""Of no value, of one, of three, and of very many with room for sixteen: as Spark writes them."""


class _Layout:
    keys = (Column("k", "bigint"),)

    def __init__(self, rule: str) -> None:
        self.partials = (Partial("cell", "binary", rule),)


MERGERS = {name: ArrowMerger(_Layout(name)) for name in TAKERS}


def good() -> list[bytes]:
    """Of every form that Spark writes, small enough for mutations to reach what matters."""
    coupon = struct.Struct("<I")
    few = b"".join(coupon.pack(n << 26 | n * 7919) for n in range(1, 6))
    many = b"".join(coupon.pack((1 + n % 9) << 26 | n * 104_729) for n in range(20))
    registers = bytes(n % 12 for n in range(1 << 9))
    return [
        bytes((2, 1, 7, 9, 3, 4, 0, 8)) + bytes(32),
        bytes((2, 1, 7, 9, 3, 0, 5, 8)) + few + bytes(12),
        bytes((2, 1, 7, 4, 3, 8, 5, 8)) + few,
        bytes((3, 1, 7, 9, 5, 0, 0, 9)) + coupon.pack(20) + many + bytes(48),
        bytes((3, 1, 7, 12, 5, 8, 0, 9)) + coupon.pack(20) + many,
        bytes((10, 1, 7, 9, 0, 0, 0, 10)) + bytes(32) + registers,
        *map(bytes.fromhex, THETAS),
        *(_kll(count, kind) for kind in KINDS.values() for count in (0, 1, 6, 907)),
    ]


def _kll(count: int, kind: np.dtype[Any]) -> bytes:
    """A sketch of so many values, as if each had come by itself."""
    values = of_values(np.arange(count).astype(kind))
    cell: bytes = encoded(merged(values, np.zeros(count, int), 1, 200), 200)[0].as_py()
    return cell


def run(data: bytes) -> bool:
    column = pa.chunked_array([pa.array([data], pa.binary())])
    is_taken = False
    for name, take in TAKERS.items():
        try:
            (taken,) = take([column], [pa.binary()])
        except ValueError:
            continue
        (again,) = take([taken], [pa.binary()])
        assert again.equals(taken), f"{name}: taking it in again changes it"
        merger = MERGERS[name]
        rows = pa.table([pa.array([1]), taken], schema=merger.schema)
        raw = pa.table([pa.array([1]), column], schema=merger.schema)
        found = merger.groups([rows, raw, rows]).merged.column("cell")
        (merged,) = take([found], [pa.binary()])
        is_same = merged.equals(taken) or RULES[name].is_drawn
        assert is_same, f"{name}: merging a cell with itself changes it"
        is_taken = True
    return is_taken
