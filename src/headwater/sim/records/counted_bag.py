"""Rows for large worlds: how many records are in, and a sum that tells which ones.

A bag of thousands of sites has a bit for each of hundreds of thousands of records, and every merge
copies them. A counted bag is two numbers. Each record adds a hash of its number to ``digest``, so
two counted bags are equal only if they hold the same records as often (but for one chance in 2^61);
a record that went in twice shows as soon as it is held against what should be in it.

Laws: merge is associative and commutative, ``CountedBag()`` is neutral.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

ROW_BYTES = 48
"""What one group of a count and a sum takes in a summary, whatever went into it."""
_MASK = (1 << 64) - 1
_SALT = 0x5EED


class CountedBag(msgspec.Struct, frozen=True):
    once: int = 0
    """How many records are in; named as in a bag."""
    digest: int = 0
    right: int = 0
    """How many of them were truly born in the pane that they are in."""

    @classmethod
    def of(cls, numbers: Sequence[int], *, right: int = 0) -> CountedBag:
        digest = sum([hash((number, _SALT)) for number in numbers]) & _MASK
        return cls(len(numbers), digest, right)

    def merge(self, other: CountedBag) -> CountedBag:
        digest = (self.digest + other.digest) & _MASK
        return CountedBag(self.once + other.once, digest, self.right + other.right)

    def split(self, records_max: int) -> list[CountedBag]:
        """It can't be taken apart."""
        return [self]

    def __len__(self) -> int:
        return self.once

    def __str__(self) -> str:
        return f"{self.once} records"


class CountedBagMerger:
    """``Merger`` for counted bags; one serves all queries."""

    def none(self) -> CountedBag:
        return CountedBag()

    def merge(self, parts: Sequence[CountedBag]) -> CountedBag:
        digest = sum(part.digest for part in parts) & _MASK
        right = sum(part.right for part in parts)
        return CountedBag(sum(part.once for part in parts), digest, right)

    def size_bytes(self, rows: CountedBag) -> int:
        return ROW_BYTES
