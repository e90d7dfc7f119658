"""Which sites' updates are in a summary: the set that makes counting twice impossible.

A summary belongs to one pane, so its coverage is a set of (site, incarnation, update number) plus
what those sites said about closing. By default a pane leaves a site in one update, at its close,
or with no update at all; so two bitmaps over roster ordinals say nearly everything:

``whole``
    sites that closed the pane with exactly one update, and that update is in;
``empty``
    sites that closed the pane with no update at all;
``groups``
    a bitmap more for each (updates that are in, close) that other sites have: several updates,
    early ones, late ones;
``parts``
    what bitmaps can't say, site by site: repairs, and sites whose life the root does not know yet.

The bitmaps have no room for incarnations (a number for each site would make 10,000 sites cost
40 kB instead of 2.5). Instead ``tag`` is the exclusive-or of ``incarnation_tag`` over all sites in
``whole`` and ``empty``, and each group has one of its own: it merges with one operation, and the
root, which knows each site's incarnation, recomputes it. A site uses the bitmaps only once the root
has said that it knows the site's incarnation; before that, and in every repair, it is spelled out
in ``parts``.

Laws: merge is associative and commutative, ``Coverage()`` is neutral, and merge of two coverages
with a site in common raises ``OverlapError``. That a *site* in common is refused, not only an
update, is on purpose: a relay can't see incarnations inside a bitmap, and forwarding apart is
always safe. One exception is as safe: where all bitmaps of both are of the same sites in the same
lives, as their tags show, disjoint updates become one set. Otherwise it would take a look into a
bitmap to tell which of its sites have what. Both are refused alike where what comes of it would
have more than ``COVERAGE_GROUPS_MAX`` groups.

``withheld`` says what its sites have kept back of their closes, where a query allows it: one
remainder for each bounded column. It belongs to the updates that are in, and comes with them.

``thinned`` marks rows that are not as these sites cut them: a relay has dropped groups of what it
had merged (``remainders/thin``), and this is what they came to. What is covered, and so overlap and
what is acknowledged, goes by the cut.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache

import msgspec

from headwater.algebra.bounds import BoundedRanges, Number, Ordinal, SixtyFourBits
from headwater.algebra.remainders.remainder import Remainders, merge_remainders
from headwater.algebra.sets import bitset, ranges
from headwater.algebra.sets.ranges import Ranges
from headwater.errors import OverlapError

TAGS_KEPT = 1 << 14
"""A site needs the tag of its own life for every pane, and a simulator those of all its sites."""


EARLY_UPDATES_MAX = 32
"""Of one pane of a site, one for each round at most; what is open in a bitmap has no others."""
COVERAGE_GROUPS_MAX = EARLY_UPDATES_MAX + 4
"""Groups in a coverage: of early updates, their closes, and some late ones. All members must
agree on it; what would need more is forwarded apart."""
GROUP_RANGES_MAX = 64
"""Ranges of updates in a group. Sites number them without gaps, so more come of losses alone."""
FIRST: Ranges = ((1, 1),)


class SitePart(msgspec.Struct, frozen=True, array_like=True):
    """One site's share of a summary, spelled out."""

    ordinal: Ordinal
    incarnation: SixtyFourBits
    updates: BoundedRanges
    """The update numbers that are in; ``()`` when only the close is news."""
    closed_at: Number | None
    """The close that came with it: "updates 1 … n are all I have read"; None: still open."""


GroupKey = tuple[Ranges, int]
"""(updates that are in, close): what tells two groups of a coverage apart, and orders them."""
OPEN = -1
"""In a key: not closed."""
WHOLE: GroupKey = (FIRST, 1)
"""Of most sites: one update, which is in, and closed with it."""
EMPTY: GroupKey = ((), 0)
"""Closed, and there was nothing."""


def group_key(updates: Ranges, closed_at: int | None) -> GroupKey:
    return updates, OPEN if closed_at is None else closed_at


class Group(msgspec.Struct, frozen=True):
    """The sites of which these updates are in, and that have said this of closing."""

    updates: Ranges
    closed_at: int | None
    """"Updates 1 … n are all I have read"; None: still open."""
    sites: int
    tag: int

    @property
    def key(self) -> GroupKey:
        return group_key(self.updates, self.closed_at)

    @property
    def is_possible(self) -> bool:
        """Of some site, and no update that there can't be; what has a bitmap of its own is in
        that."""
        last = self.updates[-1][1] if self.updates else 0
        is_closed_so = last <= (EARLY_UPDATES_MAX if self.closed_at is None else self.closed_at)
        is_numbered = not self.updates or self.updates[0][0] >= 1
        is_one = self.sites > 0 and self.key not in (WHOLE, EMPTY)
        return is_one and is_numbered and is_closed_so and len(self.updates) <= GROUP_RANGES_MAX

    def with_updates(self, other: Group) -> Group | None:
        """The same sites in the same lives, with what either has of them; None: they have
        something in common."""
        if self.tag != other.tag or ranges.intersects(self.updates, other.updates):
            return None
        closes = [one for one in (self.closed_at, other.closed_at) if one is not None]
        updates = ranges.union(self.updates, other.updates)
        return Group(updates, max(closes, default=None), self.sites, self.tag)


class Coverage(msgspec.Struct, frozen=True):
    """Use the class methods to make one; equal sets are equal values."""

    whole: int = 0
    empty: int = 0
    tag: int = 0
    parts: tuple[SitePart, ...] = ()
    withheld: Remainders = ()
    groups: tuple[Group, ...] = ()
    """By key, rising."""
    thinned: Remainders = ()

    @classmethod
    def of_whole(cls, ordinal: int, incarnation: int) -> Coverage:
        return cls(whole=1 << ordinal, tag=incarnation_tag(ordinal, incarnation))

    @classmethod
    def of_empty(cls, ordinal: int, incarnation: int) -> Coverage:
        return cls(empty=1 << ordinal, tag=incarnation_tag(ordinal, incarnation))

    @classmethod
    def of_group(
        cls, ordinal: int, incarnation: int, *, updates: Ranges, closed_at: int | None
    ) -> Coverage:
        """In the bitmaps, whatever it has."""
        site, tag = 1 << ordinal, incarnation_tag(ordinal, incarnation)
        group = Group(ranges.normal(updates), closed_at, site, tag)
        if group.key == WHOLE:
            return cls(whole=site, tag=tag)
        return cls(empty=site, tag=tag) if group.key == EMPTY else cls(groups=(group,))

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
        found = self.whole | self.empty
        for group in self.groups:
            found |= group.sites
        if not self.parts:
            return found
        return found | bitset.of(part.ordinal for part in self.parts)

    @property
    def mentioned(self) -> int:
        """How many times a site is mentioned: of a sound one as often as there are sites."""
        count = self.whole.bit_count() + self.empty.bit_count() + len(self.parts)
        return count + sum(group.sites.bit_count() for group in self.groups)

    @property
    def is_merged(self) -> bool:
        """Whether several sites are in it: of one alone its site has signed what there is."""
        return self.sites & (self.sites - 1) != 0

    @property
    def has_rows(self) -> bool:
        is_in_bitmaps = self.whole != 0 or any(group.updates for group in self.groups)
        return is_in_bitmaps or any(part.updates for part in self.parts)

    @property
    def has_close(self) -> bool:
        """Whether some site says in it that it has closed the pane."""
        if self.whole | self.empty or any(one.closed_at is not None for one in self.groups):
            return True
        return any(part.closed_at is not None for part in self.parts)

    @property
    def is_early(self) -> bool:
        """Whether none of its sites has closed the pane: these are updates that left before."""
        return not self.has_close

    def intersects(self, other: Coverage) -> bool:
        return self.sites & other.sites != 0

    def merge(self, other: Coverage) -> Coverage:
        merged = self.merged(other)
        if merged is None:
            common = list(bitset.members(self.sites & other.sites))[:8]
            raise OverlapError(
                "merge of summaries: wanted disjoint sites, or other updates of the same ones, and "
                f"at most {COVERAGE_GROUPS_MAX} groups; both cover ordinals {common}; forward "
                "them apart"
            )
        return merged

    def merged(self, other: Coverage) -> Coverage | None:
        """Both as one; None: they must stay apart."""
        common = self.sites & other.sites
        if common:
            return self._with_updates(other) if self.sites == other.sites == common else None
        parts = self.parts + other.parts
        if parts:
            parts = tuple(sorted(parts, key=lambda part: part.ordinal))
        groups = self.groups or other.groups
        if self.groups and other.groups:
            groups = _united((*self.groups, *other.groups))
        if len(groups) > COVERAGE_GROUPS_MAX:
            return None
        return Coverage(
            whole=self.whole | other.whole,
            empty=self.empty | other.empty,
            tag=self.tag ^ other.tag,
            parts=parts,
            withheld=merge_remainders(self.withheld, other.withheld),
            groups=groups,
            thinned=merge_remainders(self.thinned, other.thinned),
        )

    def _with_updates(self, other: Coverage) -> Coverage | None:
        """Of the same sites in the same lives, with other updates."""
        if self.parts or other.parts or self.empty or other.empty:
            return None
        mine = {group.sites: group for group in self._in_groups()}
        joined: list[Group] = []
        for group in other._in_groups():
            one = mine.get(group.sites)
            both = None if one is None else one.with_updates(group)
            if both is None or len(both.updates) > GROUP_RANGES_MAX:
                return None
            joined.append(both)
        found = _of_groups(joined)
        if len(joined) != len(mine) or len(found.groups) > COVERAGE_GROUPS_MAX:
            return None
        withheld = merge_remainders(self.withheld, other.withheld)
        thinned = merge_remainders(self.thinned, other.thinned)
        return msgspec.structs.replace(found, withheld=withheld, thinned=thinned)

    def _in_groups(self) -> Iterator[Group]:
        """Without ``empty``: those that have updates are a group like others."""
        if self.whole:
            yield Group(FIRST, 1, self.whole, self.tag)
        yield from self.groups


def _united(groups: Iterable[Group]) -> tuple[Group, ...]:
    """Those with the same key as one, by key; their sites are all others."""
    found: dict[GroupKey, Group] = {}
    for group in groups:
        known = found.get(group.key)
        if known is not None:
            sites, tag = known.sites | group.sites, known.tag ^ group.tag
            group = Group(known.updates, known.closed_at, sites, tag)
        found[group.key] = group
    return tuple(found[key] for key in sorted(found))


def _of_groups(groups: Iterable[Group]) -> Coverage:
    """With those that have a bitmap of their own in it."""
    found = {group.key: group for group in _united(groups)}
    whole, empty = found.pop(WHOLE, None), found.pop(EMPTY, None)
    return Coverage(
        whole=0 if whole is None else whole.sites,
        empty=0 if empty is None else empty.sites,
        tag=(0 if whole is None else whole.tag) ^ (0 if empty is None else empty.tag),
        groups=tuple(found.values()),
    )


@lru_cache(maxsize=TAGS_KEPT)
def incarnation_tag(ordinal: int, incarnation: int) -> int:
    """64 bits that stand for "this site in this life"."""
    digest = hashlib.blake2b(b"%d:%d" % (ordinal, incarnation), digest_size=8).digest()
    return int.from_bytes(digest, "little")
