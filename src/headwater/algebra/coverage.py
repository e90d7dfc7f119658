"""Which sites' updates are in a summary: the set that makes counting twice impossible.

A summary belongs to one pane, so its coverage is a set of (site, incarnation, update number) plus
what those sites said about closing. By default a pane leaves a site in one update, at its close,
or with no update at all; so two bitmaps over roster ordinals say nearly everything:

``whole``
    sites that closed the pane with exactly one update, and that update is in;
``empty``
    sites that closed the pane with no update at all;
``parts``
    everything else, spelled out: late updates, early ones, repairs, closes with another count.

The bitmaps have no room for incarnations (a number for each site would make 10,000 sites cost
40 kB instead of 2.5). Instead ``tag`` is the exclusive-or of ``incarnation_tag`` over all sites in
the bitmaps: it merges with one operation, and the root, which knows each site's incarnation,
recomputes it. A site uses the bitmap form only once the root has said that it knows the site's
incarnation; before that, and in every repair, it is spelled out in ``parts``.

Laws: merge is associative and commutative, ``Coverage()`` is neutral, and merge of two coverages
with a site in common raises ``OverlapError``. That a *site* in common is refused, not only an
update, is on purpose: a relay can't see incarnations inside a bitmap, and forwarding apart is
always safe.

``withheld`` says what its sites have kept back of their closes, where a query allows it: one
remainder for each bounded column. It belongs to the updates that are in, and comes with them.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

import msgspec

from headwater.algebra.bounds import BoundedRanges, Number, Ordinal, SixtyFourBits
from headwater.algebra.remainders.remainder import Remainders, merge_remainders
from headwater.algebra.sets import bitset, ranges
from headwater.algebra.sets.ranges import Ranges
from headwater.errors import OverlapError

TAGS_KEPT = 1 << 14
"""A site needs the tag of its own life for every pane, and a simulator those of all its sites."""


class SitePart(msgspec.Struct, frozen=True, array_like=True):
    """One site's share of a summary, spelled out."""

    ordinal: Ordinal
    incarnation: SixtyFourBits
    updates: BoundedRanges
    """The update numbers that are in; ``()`` when only the close is news."""
    closed_at: Number | None
    """The close that came with it: "updates 1 … n are all I have read"; None: still open."""


class Coverage(msgspec.Struct, frozen=True):
    """Use the class methods to make one; equal sets are equal values."""

    whole: int = 0
    empty: int = 0
    tag: int = 0
    parts: tuple[SitePart, ...] = ()
    withheld: Remainders = ()

    @classmethod
    def of_whole(cls, ordinal: int, incarnation: int) -> Coverage:
        return cls(whole=1 << ordinal, tag=incarnation_tag(ordinal, incarnation))

    @classmethod
    def of_empty(cls, ordinal: int, incarnation: int) -> Coverage:
        return cls(empty=1 << ordinal, tag=incarnation_tag(ordinal, incarnation))

    @classmethod
    def of_part(
        cls, ordinal: int, incarnation: int, *, updates: Ranges, closed_at: int | None
    ) -> Coverage:
        return cls(
            parts=(
                SitePart(
                    ordinal=ordinal,
                    incarnation=incarnation,
                    updates=ranges.normal(updates),
                    closed_at=closed_at,
                ),
            )
        )

    @property
    def sites(self) -> int:
        """All ordinals that are mentioned, as a bitset."""
        compact = self.whole | self.empty
        if not self.parts:
            return compact
        return compact | bitset.of(part.ordinal for part in self.parts)

    @property
    def has_rows(self) -> bool:
        return self.whole != 0 or any(part.updates for part in self.parts)

    @property
    def is_early(self) -> bool:
        """Whether none of its sites has closed the pane: these are updates that left before."""
        return not self.whole | self.empty and all(part.closed_at is None for part in self.parts)

    def intersects(self, other: Coverage) -> bool:
        return self.sites & other.sites != 0

    def merge(self, other: Coverage) -> Coverage:
        common = self.sites & other.sites
        if common:
            raise OverlapError(
                "merge of summaries: wanted disjoint sites, both cover ordinals "
                f"{list(bitset.members(common))[:8]}; forward them apart"
            )
        parts = self.parts + other.parts
        if parts:
            parts = tuple(sorted(parts, key=lambda part: part.ordinal))
        return Coverage(
            whole=self.whole | other.whole,
            empty=self.empty | other.empty,
            tag=self.tag ^ other.tag,
            parts=parts,
            withheld=merge_remainders(self.withheld, other.withheld),
        )


@lru_cache(maxsize=TAGS_KEPT)
def incarnation_tag(ordinal: int, incarnation: int) -> int:
    """64 bits that stand for "this site in this life"."""
    digest = hashlib.blake2b(b"%d:%d" % (ordinal, incarnation), digest_size=8).digest()
    return int.from_bytes(digest, "little")
