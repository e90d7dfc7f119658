"""Rows for large worlds: how many records are in, and a sum that tells which ones.

A bag of thousands of sites has a bit for each of hundreds of thousands of records, and every merge
copies them. A tally is two numbers. Each record adds a hash of its number to ``digest``, so two
tallies are equal only if they hold the same records as often (but for one chance in 2^61); a
record that went in twice shows as soon as the tally is held against what should be in it.

Laws: merge is associative and commutative, ``Tally()`` is neutral.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

ROW_BYTES = 48
"""What one group of a count and a sum takes in a summary, whatever went into it."""
_MASK = (1 << 64) - 1
_SALT = 0x5EED


class Tally(msgspec.Struct, frozen=True):
    once: int = 0
    """How many records are in; named as in a bag."""
    digest: int = 0
    right: int = 0
    """How many of them were truly born in the pane that they are in."""

    @classmethod
    def of(cls, numbers: Sequence[int], *, right: int = 0) -> Tally:
        digest = sum([hash((number, _SALT)) for number in numbers]) & _MASK
        return cls(len(numbers), digest, right)

    def merge(self, other: Tally) -> Tally:
        digest = (self.digest + other.digest) & _MASK
        return Tally(self.once + other.once, digest, self.right + other.right)

    def split(self, records_max: int) -> list[Tally]:
        """A tally can't be taken apart."""
        return [self]

    def __len__(self) -> int:
        return self.once

    def __str__(self) -> str:
        return f"{self.once} records"


class TallyMerger:
    """``Merger`` for tallies; one serves all queries."""

    def none(self) -> Tally:
        return Tally()

    def merge(self, parts: Sequence[Tally]) -> Tally:
        digest = sum(part.digest for part in parts) & _MASK
        right = sum(part.right for part in parts)
        return Tally(sum(part.once for part in parts), digest, right)

    def size_bytes(self, rows: Tally) -> int:
        return ROW_BYTES
