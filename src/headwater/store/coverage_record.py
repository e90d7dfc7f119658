"""Coverage as bytes for the disk.

The bitmaps of a coverage are integers of any length, which msgpack does not have: they are written
as the bytes of the set.
"""

from __future__ import annotations

import msgspec

from headwater.algebra.coverage import Coverage, SitePart
from headwater.algebra.sets import bitset


class _Record(msgspec.Struct, frozen=True, array_like=True):
    whole: bytes
    empty: bytes
    tag: int
    parts: tuple[SitePart, ...]


def encode_coverage(coverage: Coverage) -> bytes:
    return msgspec.msgpack.encode(
        _Record(
            bitset.to_bytes(coverage.whole),
            bitset.to_bytes(coverage.empty),
            coverage.tag,
            coverage.parts,
        )
    )


def decode_coverage(data: bytes) -> Coverage:
    record = msgspec.msgpack.decode(data, type=_Record)
    return Coverage(
        bitset.from_bytes(record.whole), bitset.from_bytes(record.empty), record.tag, record.parts
    )
