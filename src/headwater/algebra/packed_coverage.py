"""A coverage as it travels and lies on disk: its bitmaps, integers of any length, as bytes.

The bounds are looked at by whoever decodes it, before anything is made of what it says.
"""

from __future__ import annotations

from typing import Annotated, cast

import msgspec
from msgspec import Meta

from headwater.algebra.bounds import ORDINALS_MAX, Bits, SixtyFourBits
from headwater.algebra.coverage import Coverage, SitePart
from headwater.algebra.remainders.remainder import Remainders
from headwater.algebra.remainders.tolerance import WITHHELD_COLUMNS_MAX
from headwater.algebra.sets import bitset


class _WithoutRemainders(msgspec.Struct, frozen=True, array_like=True):
    """As agents of 0.4 write it, and sign it; and all others where nothing is withheld."""

    whole: Bits
    empty: Bits
    tag: SixtyFourBits
    parts: Annotated[tuple[SitePart, ...], Meta(max_length=ORDINALS_MAX)] = ()


class PackedCoverage(_WithoutRemainders, frozen=True, array_like=True):
    withheld: Annotated[Remainders, Meta(max_length=WITHHELD_COLUMNS_MAX)] = ()

    @classmethod
    def of(cls, coverage: Coverage) -> PackedCoverage:
        bits = bitset.to_bytes(coverage.whole), bitset.to_bytes(coverage.empty)
        if not coverage.withheld:
            bare = _WithoutRemainders(*bits, coverage.tag, coverage.parts)
            return cast(PackedCoverage, bare)  # as it is read, and a byte shorter
        return cls(*bits, coverage.tag, coverage.parts, coverage.withheld)

    def coverage(self) -> Coverage:
        """As it was packed; what a stranger has packed is still to be checked."""
        bits = bitset.from_bytes(self.whole), bitset.from_bytes(self.empty)
        return Coverage(*bits, self.tag, self.parts, self.withheld)
