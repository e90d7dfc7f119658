"""Which sites are absent, as their parents say of their own links: a hint that shortens waiting.

A site is absent for a window when each of its parents, on all trees of the plan, has said since the
window's end that the link with it is lost, and no word of the site is newer. A host that has taken
it in says so, too, and then it is not absent. What somebody has said lapses two heartbeats later,
so that a parent who falls silent keeps nobody away, and is dated by the older of two times: the
root's clock as it was signed, and what has passed on the way.

Nothing is kept of it: after a restart of the root, parents say it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from headwater.algebra.far_times import LONG_AGO_S
from headwater.algebra.sets import bitset
from headwater.algebra.words.absence import Absence
from headwater.root.config import RootConfig

ParentsOf = Callable[[int], Iterable[int]]
"""By ordinal: the parents of a site on the trees of the newest plan."""


class _Said(msgspec.Struct, frozen=True):
    said_s: float
    """On the root's clock."""
    lost: int
    guests: int


class Absences:
    """For one query."""

    def __init__(self, parents_of: ParentsOf, config: RootConfig) -> None:
        self._parents_of = parents_of
        self._life_s = config.absence_life_s
        self._said: dict[int, _Said] = {}
        """By speaker: its newest word."""
        self._heard_s: dict[int, float] = {}
        """When a site was heard last, of those that are said to be lost."""
        self._now_s = LONG_AGO_S
        self.has_news = False
        """A word has come since this was set back."""

    def follow(self, *, now_s: float) -> None:
        """It is so late: what was said too long ago is forgotten."""
        self._now_s = now_s
        since_s = now_s - self._life_s
        for speaker in [one for one, said in self._said.items() if said.said_s < since_s]:
            del self._said[speaker]
        if self._heard_s:
            lost = self._lost
            self._heard_s = {one: at for one, at in self._heard_s.items() if lost >> one & 1}

    def hear(self, absence: Absence, *, now_s: float) -> None:
        self.follow(now_s=now_s)
        said_s = min(now_s - absence.age_s, absence.clock_s)
        known = self._said.get(absence.speaker)
        if said_s < now_s - self._life_s or (known is not None and said_s <= known.said_s):
            return
        lost, guests = bitset.of(absence.lost), bitset.of(absence.guests)
        self._said[absence.speaker] = _Said(said_s, lost, guests)
        self.has_news = True

    def heard(self, sites: int, *, now_s: float) -> None:
        """They have spoken, whichever way that came."""
        for ordinal in bitset.members(sites & self._lost):
            self._heard_s[ordinal] = now_s

    def absent(self, *, since_s: float = LONG_AGO_S) -> int:
        """The sites of which all parents have said so since then, as a bitset."""
        if not self.is_told:
            return bitset.EMPTY
        named = self._lost & ~bitset.union(one.guests for one in self._said.values())
        return bitset.of(one for one in bitset.members(named) if self._is_absent(one, since_s))

    def said_of(self, ordinal: int) -> Iterator[tuple[int, float]]:
        """(parent, how long ago it has said so)"""
        for parent in self._parents_of(ordinal):
            said = self._said.get(parent)
            if said is not None and said.lost >> ordinal & 1:
                yield parent, self._now_s - said.said_s

    def _is_absent(self, ordinal: int, since_s: float) -> bool:
        since_s = max(since_s, self._heard_s.get(ordinal, LONG_AGO_S))
        words = [self._said.get(parent) for parent in self._parents_of(ordinal)]
        return bool(words) and all(
            said is not None and said.lost >> ordinal & 1 and said.said_s >= since_s
            for said in words
        )

    @property
    def is_told(self) -> bool:
        """Whether anybody has lost a site, or taken one in: nearly always nobody has."""
        return bool(self._said)

    @property
    def _lost(self) -> int:
        return bitset.union(one.lost for one in self._said.values())
