"""The clock of one root, voted by the neighbours: no single one of them moves it.

Whoever passes on what a root's clock shows can lie, by a day or by a little, with a spread of
zero. So each neighbour has one vote, its own best sample, and the middle of all votes counts. Among
three or more of whom one lies, the middle lies between two honest ones::

    votes   ●      ●●●  ●                                                ●
            ┊      └─ these agree: confirmed if three are confirmed      └─ set aside, and shown
            └─ set aside

The root itself needs no vote: what it says on its own link is its own word, and confirmed. Whoever
else is confirmed has heard so of three that are. So a wrong clock can only be confirmed where three
lie: those who have few neighbours believe one liar and pass on what it says, and without that rule
its one lie would come back with many votes. Votes that the root's
signature contradicts (``clock_proof.py``) do not count. Nor do votes that no word of the root has
renewed for long: when a root starts anew with another clock, those who remember the former one
must not outvote those who have heard of it.

A small change of the middle is followed at once (the edge slews), a large one only if three agree
on it, if the root's signature says so, or if nobody speaks for the known one any more. With fewer
than three neighbours there is nobody to outvote a liar: what they say counts and is unconfirmed.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from headwater.overlay.clocks.clock_proof import ClockBounds
from headwater.overlay.clocks.root_clock import RootClock, learned

VOTERS_MIN = 3
"""That must agree: with fewer, one who lies can't be told from one who does not."""
VOTERS_MAX = 64
"""Neighbours whose votes are kept; beyond, the one that was renewed the longest ago goes."""
COUNT_EVERY_S = 1.0
"""Votes grow old without a word from anybody, so they are counted anew now and then."""
DISAGREE_WAITS = 5.0
"""Two who disagree are waited for so much longer: a third one may tell who lies."""
ASIDE_MIN_S = 30.0
"""A vote that has been far off for so long is a lie, or a machine that needs looking after: while
a root starts anew, votes differ for a few heartbeats."""

INSTALL = ""
"""In the place of a neighbour: what came with an install."""

Votes = list[tuple[str, RootClock]]


class ClockVotes:
    def __init__(self, root: str, *, apart_s: float, vote_s: float) -> None:
        """``apart_s``: what two may differ by, beside their spreads, and agree. ``vote_s``: how
        long three are waited for."""
        self._root = root
        self._apart_s = apart_s
        self._vote_s = vote_s
        self._votes: dict[str, RootClock] = {}
        self._known: RootClock | None = None
        self._first_s: float | None = None
        """When the first vote came."""
        self._counted_s = float("-inf")
        self._is_new = False
        self.parents: Collection[str] = ()
        """Whose votes may be expected."""
        self.proof: ClockBounds | None = None
        self.aside: dict[str, float] = {}
        """Who is far off the others, and by how much."""
        self._aside_since_s: dict[str, float] = {}

    def hear(self, voter: str, heard: RootClock) -> None:
        if self._first_s is None:
            self._first_s = heard.at_s
        self._votes.pop(INSTALL, None)
        self._votes[voter] = learned(self._votes.get(voter), heard)
        self._is_new = True
        if len(self._votes) > VOTERS_MAX:
            del self._votes[min(self._votes, key=lambda one: self._votes[one].told_s)]

    def seed(self, heard: RootClock) -> None:
        """What came with an install. It counts until anybody has spoken for itself: all installs
        repeat one word, and how long that was on its way is known badly, also from the root."""
        if not self._votes:
            self.hear(INSTALL, heard)

    @property
    def is_hearsay(self) -> bool:
        """Nobody has spoken for itself: all that is known came with an install."""
        return self._votes.keys() <= {INSTALL}

    def set_parents(self, parents: Collection[str]) -> None:
        self._is_new |= parents != self.parents
        self.parents = parents

    def prove(self, bounds: ClockBounds | None) -> None:
        self._is_new |= bounds != self.proof
        self.proof = bounds

    def count(self, *, patience_s: float, now_s: float) -> RootClock | None:
        """What the root's clock is taken to be. A vote is out of date if the root has not renewed
        it for ``patience_s``."""
        if self._is_new or abs(now_s - self._counted_s) >= COUNT_EVERY_S:
            self._is_new, self._counted_s = False, now_s
            self._known = self._elect(patience_s, now_s)
        return self._known

    def long_aside(self, *, now_s: float) -> dict[str, float]:
        """Who has been far off for so long that somebody should look."""
        since_s = self._aside_since_s
        return {
            one: off_s for one, off_s in self.aside.items() if now_s - since_s[one] >= ASIDE_MIN_S
        }

    def _elect(self, patience_s: float, now_s: float) -> RootClock | None:
        known = self._known
        fresh = {
            voter: vote for voter, vote in self._votes.items() if now_s - vote.told_s <= patience_s
        }
        if not fresh and known is None:
            fresh = self._votes
        own = fresh.pop(self._root, None)
        votes = sorted(fresh.items(), key=lambda one: (one[1].offset_s, one[0]))
        sound = [one for one in votes if not self._is_disproved(one[1].offset_s, now_s)]
        chosen: RootClock | None
        if own is not None:
            chosen = RootClock(own.offset_s, own.spread_at(now_s), now_s, own.told_s, True, True)
        elif sound:
            chosen = self._chosen(sound, now_s)
        else:
            chosen = None if known is None else self._bounded(known, now_s)
        self._set_aside(votes if chosen is not None else [], chosen, now_s)
        return chosen

    def _chosen(self, votes: Votes, now_s: float) -> RootClock:
        """The middle of these, or what is known, if that is not to be given up for it."""
        known, middle = self._known, self._middle(votes, now_s)
        near = [vote for _, vote in votes if self._is_near(vote, middle, now_s)]
        confirming = sum(vote.is_confirmed for vote in near)
        is_confirmed = confirming >= VOTERS_MIN and 2 * len(near) > len(votes)
        elected = RootClock(
            middle.offset_s,
            _middle_of([vote.spread_at(now_s) for vote in near]),
            now_s,
            _middle_of([vote.told_s for vote in near]),
            is_confirmed,
            self._is_ready(is_confirmed, len(near) == len(votes), now_s),
        )
        if known is None or is_confirmed or len(self.parents) < VOTERS_MIN:
            return elected
        is_step = not self._is_near(known, elected, now_s)
        is_held = any(self._is_near(vote, known, now_s) for _, vote in votes)
        if is_step and is_held and not self._is_disproved(known.offset_s, now_s):
            return _unconfirmed(known)
        return elected

    def _middle(self, votes: Votes, now_s: float) -> RootClock:
        """Of an even number, where the two disagree, that which is nearer to what is known; else
        that which knows it better: a vague one that is taken once would be nearer ever after."""
        lower, upper = votes[(len(votes) - 1) // 2][1], votes[len(votes) // 2][1]
        if self._known is not None and not self._is_near(lower, upper, now_s):
            known_s = self._known.offset_s
            return min(lower, upper, key=lambda one: abs(one.offset_s - known_s))
        return min(lower, upper, key=lambda one: one.spread_at(now_s))

    def _is_near(self, one: RootClock, other: RootClock, now_s: float) -> bool:
        """Claiming a large spread helps nobody: of the two the smaller counts twice."""
        spread_s = 2.0 * min(one.spread_at(now_s), other.spread_at(now_s))
        return abs(one.offset_s - other.offset_s) <= spread_s + self._apart_s

    def _is_ready(self, is_confirmed: bool, is_agreed: bool, now_s: float) -> bool:
        """Asked anew each time: before a query came there may have been no parents to wait for."""
        waited_s = 0.0 if self._first_s is None else now_s - self._first_s
        is_alone = len(self.parents) < VOTERS_MIN
        patience_s = self._vote_s if is_agreed else DISAGREE_WAITS * self._vote_s
        return is_confirmed or is_alone or waited_s >= patience_s

    def _is_disproved(self, offset_s: float, now_s: float) -> bool:
        proof = self.proof
        return proof is not None and proof.contradicts(
            offset_s, within_s=self._apart_s, now_s=now_s
        )

    def _bounded(self, known: RootClock, now_s: float) -> RootClock:
        """Nobody says what can be true: the nearest to what is known that can."""
        if self.proof is None or not self._is_disproved(known.offset_s, now_s):
            is_ready = known.is_ready or self._is_ready(False, False, now_s)
            return msgspec.structs.replace(known, is_ready=is_ready)
        offset_s = self.proof.clamped(known.offset_s, now_s=now_s)
        return RootClock(offset_s, self._apart_s, now_s, known.told_s, False, known.is_ready)

    def _set_aside(self, votes: Votes, chosen: RootClock | None, now_s: float) -> None:
        self.aside = {
            voter: vote.offset_s - chosen.offset_s
            for voter, vote in votes
            if chosen is not None and not self._is_near(vote, chosen, now_s)
        }
        since_s = self._aside_since_s
        self._aside_since_s = {voter: since_s.get(voter, now_s) for voter in self.aside}


def _middle_of(values: list[float]) -> float:
    return sorted(values)[(len(values) - 1) // 2]


def _unconfirmed(clock: RootClock) -> RootClock:
    return RootClock(
        clock.offset_s, clock.spread_s, clock.at_s, clock.told_s, False, clock.is_ready
    )
