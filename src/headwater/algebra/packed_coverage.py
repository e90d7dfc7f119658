"""A coverage as it travels and lies on disk: its bitmaps, integers of any length, as bytes.

The bounds are looked at by whoever decodes it, before anything is made of what it says.

Groups stand beside ``whole``, in its place, and not behind all else, where an agent of before would
pass over them: it would merge the rows of sites that its coverage lacks, and these would count
twice. As it is, it refuses the message, and its sites' updates come as repairs, which have none.
What relays have dropped of merged rows stands beside ``empty`` for the same reason: who passed over
it would take them for all that there is.
"""

from __future__ import annotations

from typing import Annotated, cast

import msgspec
from msgspec import Meta

from headwater.algebra.bounds import ORDINALS_MAX, Bits, Number, SixtyFourBits
from headwater.algebra.coverage import (
    COVERAGE_GROUPS_MAX,
    GROUP_RANGES_MAX,
    Coverage,
    Group,
    SitePart,
)
from headwater.algebra.remainders.remainder import Remainder, Remainders
from headwater.algebra.remainders.tolerance import WITHHELD_COLUMNS_MAX
from headwater.algebra.sets import bitset


class _PackedGroup(msgspec.Struct, frozen=True, array_like=True):
    updates: Annotated[tuple[tuple[Number, Number], ...], Meta(max_length=GROUP_RANGES_MAX)]
    closed_at: Number | None
    sites: Bits
    tag: SixtyFourBits

    @classmethod
    def of(cls, group: Group) -> _PackedGroup:
        return cls(group.updates, group.closed_at, bitset.to_bytes(group.sites), group.tag)

    def group(self) -> Group:
        return Group(self.updates, self.closed_at, bitset.from_bytes(self.sites), self.tag)


class _WithGroups(msgspec.Struct, frozen=True, array_like=True):
    whole: Bits
    groups: Annotated[tuple[_PackedGroup, ...], Meta(min_length=1, max_length=COVERAGE_GROUPS_MAX)]


class _WithThinned(msgspec.Struct, frozen=True, array_like=True):
    empty: Bits
    thinned: Annotated[Remainders, Meta(min_length=1, max_length=WITHHELD_COLUMNS_MAX)]


class _WithoutShare(msgspec.Struct, frozen=True, array_like=True):
    """A remainder without a share of anything."""

    largest: float
    total: float
    keys: int
    of: float
    is_worst: bool


class _WithoutRequest(_WithoutShare, frozen=True, array_like=True):
    """One that answers nothing: as agents of before write it, and sign it."""

    share: float


def _short(said: Remainder) -> Remainder:
    """The same, as it is written."""
    if said.asked:
        return said
    alike = said.largest, said.total, said.keys, said.of, said.is_worst
    if said.share:
        return cast(Remainder, _WithoutRequest(*alike, said.share))
    return cast(Remainder, _WithoutShare(*alike))  # as read, and nine bytes shorter


class _WithoutRemainders(msgspec.Struct, frozen=True, array_like=True):
    """As agents of 0.4 write it, and sign it; and all others where nothing is withheld."""

    whole: Bits | _WithGroups
    """Without groups the bitmap alone."""
    empty: Bits | _WithThinned
    """As relays left the rows the bitmap alone."""
    tag: SixtyFourBits
    parts: Annotated[tuple[SitePart, ...], Meta(max_length=ORDINALS_MAX)] = ()


class PackedCoverage(_WithoutRemainders, frozen=True, array_like=True):
    withheld: Annotated[Remainders, Meta(max_length=WITHHELD_COLUMNS_MAX)] = ()

    @classmethod
    def of(cls, coverage: Coverage) -> PackedCoverage:
        whole = bitset.to_bytes(coverage.whole)
        groups = tuple(map(_PackedGroup.of, coverage.groups))
        first = _WithGroups(whole, groups) if groups else whole
        bits = bitset.to_bytes(coverage.empty)
        thinned = tuple(map(_short, coverage.thinned))
        empty = _WithThinned(bits, thinned) if thinned else bits
        said = first, empty, coverage.tag, coverage.parts
        if not coverage.withheld:
            return cast(PackedCoverage, _WithoutRemainders(*said))  # as read, and a byte shorter
        return cls(*said, tuple(map(_short, coverage.withheld)))

    def coverage(self) -> Coverage:
        """As it was packed; what a stranger has packed is still to be checked."""
        whole, groups = self.whole, tuple[Group, ...]()
        empty, thinned = self.empty, tuple[Remainder, ...]()
        if isinstance(whole, _WithGroups):
            groups = tuple(packed.group() for packed in whole.groups)
            whole = whole.whole
        if isinstance(empty, _WithThinned):
            thinned = empty.thinned
            empty = empty.empty
        return Coverage(
            whole=bitset.from_bytes(whole),
            empty=bitset.from_bytes(empty),
            tag=self.tag,
            parts=self.parts,
            withheld=self.withheld,
            groups=groups,
            thinned=thinned,
        )
