"""A coverage as it travels and lies on disk: its bitmaps, integers of any length, as bytes.

The bounds are looked at by whoever decodes it, before anything is made of what it says.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.bounds import ORDINALS_MAX, Bits, SixtyFourBits
from headwater.algebra.coverage import Coverage, SitePart
from headwater.algebra.sets import bitset


class PackedCoverage(msgspec.Struct, frozen=True, array_like=True):
    whole: Bits
    empty: Bits
    tag: SixtyFourBits
    parts: Annotated[tuple[SitePart, ...], Meta(max_length=ORDINALS_MAX)] = ()

    @classmethod
    def of(cls, coverage: Coverage) -> PackedCoverage:
        bits = bitset.to_bytes(coverage.whole), bitset.to_bytes(coverage.empty)
        return cls(*bits, coverage.tag, coverage.parts)

    def coverage(self) -> Coverage:
        """As it was packed; what a stranger has packed is still to be checked."""
        bits = bitset.from_bytes(self.whole), bitset.from_bytes(self.empty)
        return Coverage(*bits, self.tag, self.parts)
