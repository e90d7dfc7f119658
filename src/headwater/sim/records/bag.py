"""Rows in the simulator: a bag of numbered records, in which counting twice leaves a mark.

An agent's rows are partial aggregates, from which nobody can tell which records went in. Here a
record is a bit, so a summary knows exactly what it holds; ``twice`` keeps the records that went in
more than once, however often it is merged afterwards.

Laws: merge is associative and commutative, ``NOTHING`` is neutral.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from headwater.algebra.remainders.remainder import Remainder, Remainders
from headwater.algebra.remainders.tolerance import Tolerance
from headwater.algebra.sets import bitset
from headwater.algebra.top.keyed import Keyed
from headwater.sim.records.bag_keys import RECORD_BYTES, keyed


class Bag(msgspec.Struct, frozen=True):
    """Two sets of record numbers as bitsets."""

    once: int = 0
    """Records that are in, at least once."""
    twice: int = 0
    """Records that are in at least twice: never, if the protocol is right."""

    @classmethod
    def of(cls, numbers: Sequence[int]) -> Bag:
        """The bag of these records; a number that occurs twice is in twice."""
        once = twice = 0
        for number in numbers:
            bit = 1 << number
            twice |= once & bit
            once |= bit
        return cls(once, twice)

    def merge(self, other: Bag) -> Bag:
        return Bag(self.once | other.once, self.twice | other.twice | (self.once & other.once))

    def split(self, records_max: int) -> list[Bag]:
        """The same records in bags of at most so many, lowest numbers first."""
        rest, parts = self.once, []
        while rest.bit_count() > records_max:
            part = 0
            for _ in range(records_max):
                part |= rest & -rest
                rest &= rest - 1
            parts.append(Bag(part))
        return [*parts, Bag(rest, self.twice)]

    def __len__(self) -> int:
        return self.once.bit_count()

    def __str__(self) -> str:
        return numbers_text(self.once)


NOTHING = Bag()


def numbers_text(bits: int, *, shown_max: int = 12) -> str:
    """The members for a transcript, shortened."""
    members = list(bitset.members(bits))
    shown = ",".join(str(member) for member in members[:shown_max])
    return shown + (f",… ({len(members)})" if len(members) > shown_max else "")


class BagMerger:
    """``Merger`` for bags; one serves all queries, and all sites."""

    def __init__(self) -> None:
        self.dropped = 0
        """Records that some relay has dropped of some piece."""

    def told_dropped(self) -> int:
        return self.dropped

    def none(self) -> Bag:
        return NOTHING

    def merge(self, parts: Sequence[Bag]) -> Bag:
        merged = NOTHING
        for part in parts:
            merged = merged.merge(part)
        return merged

    def keyed(self, parts: Sequence[Bag], partial: str) -> Keyed:
        """Whatever the column, a key is worth its records."""
        return keyed([part.once for part in parts])

    def thinned(
        self, rows: Bag, tolerance: Tolerance, keys: tuple[str, ...]
    ) -> tuple[Bag, Remainders] | None:
        """Every second record is dropped, the highest first, as far as the bound goes: as if all
        were of one group, and one stays in any case."""
        size = tolerance.columns[0].size
        numbers = list(bitset.members(rows.once))
        most = min(int(size * len(numbers)), len(numbers) // 2)
        dropped = bitset.of(numbers[::-2][:most])
        if not dropped or rows.twice:
            return None
        self.dropped |= dropped
        count = float(dropped.bit_count())
        remainder = Remainder(count, count, int(count), float(len(numbers)))
        return Bag(rows.once & ~dropped, rows.twice), (remainder,)

    def size_bytes(self, rows: Bag) -> int:
        return rows.once.bit_count() * RECORD_BYTES
