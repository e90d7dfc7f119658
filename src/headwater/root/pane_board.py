"""One pane as the root knows it: of each site, what is in, what it has closed, what never comes.

Nearly every site closes a pane with exactly one update or none, so two bitmaps hold nearly
everything, as in a coverage. The rest (late updates, repairs under way, an incarnation that is
not the site's present one) is a ``Holding`` each.

``covered`` never loses a site: it says that a close of the site was in with all its updates at
some time. When news of a further update comes before the update, the site is ``lacking`` as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import msgspec

from headwater.algebra.coverage import Coverage
from headwater.algebra.remainders.remainder import Remainders, merge_remainders
from headwater.algebra.sets import bitset, ranges
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.words.acknowledgement import ExtraHeld

FIRST: Ranges = ((1, 1),)


class Holding:
    """One site's part of a pane, spelled out. ``closed_at`` None: still open."""

    __slots__ = ("closed_at", "incarnation", "updates")
    """A root has one for each site and pane that is not told in bulk."""

    def __init__(self, incarnation: int, updates: Ranges, closed_at: int | None) -> None:
        self.incarnation = incarnation
        self.updates = updates
        self.closed_at = closed_at

    @property
    def is_complete(self) -> bool:
        """All that the site closed is in, and nothing that it has not closed. An update beyond the
        close comes of a pane that can't be exact: only the site's state tells its close."""
        if self.closed_at is None or not ranges.covers(self.updates, 1, self.closed_at):
            return False
        return not self.updates or self.updates[-1][1] <= self.closed_at

    @property
    def is_bound(self) -> bool:
        """Whether this incarnation counts for the pane; a close of what is not in does not bind."""
        return bool(self.updates) or self.closed_at == 0

    def as_tuple(self) -> tuple[int, Ranges, int | None]:
        return self.incarnation, self.updates, self.closed_at


class Rest(msgspec.Struct, frozen=True):
    """What the sites of one kept summary had kept back when they closed the pane.

    A merged summary can't be taken apart, so it counts until each of them has sent its rest.
    """

    whole: int
    parts: tuple[tuple[int, int], ...]
    """(ordinal, the last of its updates that are in)"""
    withheld: Remainders

    @classmethod
    def of(cls, coverage: Coverage) -> Rest:
        parts = tuple(
            (part.ordinal, part.updates[-1][1]) for part in coverage.parts if part.updates
        )
        return cls(coverage.whole, parts, coverage.withheld)


class PaneBoard:
    """All bitmaps are over roster ordinals."""

    def __init__(self, pane: int) -> None:
        self.pane = pane
        self.whole = 0
        """Closed with one update, which is in; of the site's present incarnation."""
        self.empty = 0
        """Closed with no update; of the site's present incarnation."""
        self.holdings: dict[int, Holding] = {}
        self.covered = 0
        self.lacking = 0
        self.declined = 0
        self.damaged = 0
        self.rows_number = 0
        """The number of the newest kept summary with rows; 0: there are no rows."""
        self.is_settled = False
        """Nothing more is awaited; kept up to date by the scoreboard."""
        self.is_frozen = False
        """A final answer has been made of it."""
        self.owed = 0
        """Sites that have what the ledger lost after it was in answers. Though they decline the
        rest of the pane, that much of it is awaited."""
        self._owed_updates: dict[int, Ranges] = {}
        self.rests: list[Rest] = []
        """What came with kept summaries of what sites have kept back."""

    @property
    def in_whole(self) -> int:
        """Sites of which all that they closed is in."""
        return self.covered & ~self.lacking

    @property
    def settled(self) -> int:
        return self.in_whole | (self.declined & ~self.owed)

    @property
    def known(self) -> bool:
        return bool(self.whole or self.empty or self.holdings or self.declined or self.damaged)

    def holding_of(self, ordinal: int, present: int | None) -> Holding | None:
        """What is known of one site; ``present`` is its present incarnation."""
        bit = 1 << ordinal
        if self.whole & bit:
            return Holding(present or 0, FIRST, 1)
        if self.empty & bit:
            return Holding(present or 0, (), 0)
        return self.holdings.get(ordinal)

    def withheld(self, *, gives_back: bool) -> Remainders:
        """All that is kept back. ``gives_back``: a further update of a site has all of its rest;
        otherwise it never comes."""
        owed = (one.withheld for one in self.rests if not (gives_back and self._is_given_back(one)))
        return reduce(merge_remainders, owed, ())

    def _is_given_back(self, rest: Rest) -> bool:
        firsts = ((ordinal, 1) for ordinal in bitset.members(rest.whole))
        return all(self._has_beyond(*one) for one in (*firsts, *rest.parts))

    def _has_beyond(self, ordinal: int, update: int) -> bool:
        """Whether all of the site is in, and that is more than up to this update."""
        holding = self.holdings.get(ordinal)
        return holding is not None and holding.is_complete and (holding.closed_at or 0) > update

    # Changes: what returns a bool says whether anything is new

    def add_closed(self, whole: int, empty: int) -> None:
        """Sites of which nothing was known here: closed with one update, and it is in; or closed
        with none."""
        self.whole |= whole
        self.empty |= empty
        self.covered |= whole | empty

    def add_part(self, ordinal: int, part: Holding, present: int | None) -> bool:
        """Join a part to what is known of the site; closes merge by maximum.

        A part of another incarnation than the one that is bound changes nothing.
        """
        former = self.holding_of(ordinal, present)
        if former is not None and former.incarnation != part.incarnation:
            if former.is_bound:
                return False
            former = None
        joined = part if former is None else _joined(former, part)
        if part.closed_at is not None and ranges.covers(joined.updates, 1, part.closed_at):
            self.covered |= 1 << ordinal
        if former is not None and joined.as_tuple() == former.as_tuple():
            return False
        self._put(ordinal, joined, present)
        return True

    def decline(self, ordinal: int, present: int | None) -> bool:
        """The present incarnation gives up the pane, or the rest of it.

        It says nothing of what a former incarnation of the site had sealed and sent wholly.
        """
        holding = self.holding_of(ordinal, present)
        if holding is not None and holding.is_complete and holding.incarnation != (present or 0):
            return False
        return self._set_declined(1 << ordinal)

    def decline_rest(self, ordinal: int) -> None:
        """What is here came from a life of the site that is over: no more of it comes."""
        self._set_declined(1 << ordinal)

    def owe(self, ordinal: int, updates: Ranges) -> None:
        """The ledger has lost these updates of the site's present life."""
        self.owed |= 1 << ordinal
        self._owed_updates[ordinal] = ranges.union(self._owed_updates.get(ordinal, ()), updates)

    def owe_nothing(self, ordinal: int) -> bool:
        """It is here again, or can't come again."""
        before, self.owed = self.owed, self.owed & ~(1 << ordinal)
        self._owed_updates.pop(ordinal, None)
        return self.owed != before

    def damage(self, ordinal: int) -> bool:
        before, self.damaged = self.damaged, self.damaged | 1 << ordinal
        return self.damaged != before

    def retire(self, ordinal: int, former: int, *, is_sealed: bool) -> bool:
        """The site lives anew: what is here is of its ``former`` incarnation, and no more comes.

        Only what that life had sealed and sent wholly is sure to be all: a late update may have
        been lost with its cube, also of a pane that was closed.
        """
        bit = 1 << ordinal
        self.owe_nothing(ordinal)
        holding = self.holding_of(ordinal, former)
        if holding is None or holding.incarnation != former:
            return False
        self.whole &= ~bit
        self.empty &= ~bit
        self.holdings[ordinal] = holding
        if not holding.is_bound:
            del self.holdings[ordinal]
            self.lacking &= ~bit
            return True
        is_all = is_sealed and holding.is_complete
        return not is_all and self._set_declined(bit)

    def retire_others(self, ordinal: int, present: int) -> bool:
        """The site's present life answers for this pane, which counts from another one of its
        lives: what the present one has for it never comes in."""
        holding = self.holding_of(ordinal, present)
        is_another = holding is not None and holding.is_bound and holding.incarnation != present
        return is_another and self._set_declined(1 << ordinal)

    def settle_in(self, ordinal: int, present: int) -> None:
        """The site's incarnation has become known: a holding of it may fit the bitmaps now."""
        holding = self.holdings.get(ordinal)
        if holding is not None and holding.incarnation == present:
            self._put(ordinal, holding, present)

    def _set_declined(self, bit: int) -> bool:
        before, self.declined = self.declined, self.declined | bit
        return self.declined != before

    def _put(self, ordinal: int, holding: Holding, present: int | None) -> None:
        bit = 1 << ordinal
        if self.owed & bit and not ranges.difference(self._owed_updates[ordinal], holding.updates):
            self.owe_nothing(ordinal)
        self.whole &= ~bit
        self.empty &= ~bit
        self.holdings.pop(ordinal, None)
        if holding.incarnation == present and holding.updates == FIRST and holding.closed_at == 1:
            self.whole |= bit
        elif holding.incarnation == present and holding.closed_at == 0 and not holding.updates:
            self.empty |= bit
        else:
            self.holdings[ordinal] = holding
        if holding.is_complete:
            self.covered |= bit
            self.lacking &= ~bit
        else:
            self.lacking |= bit

    # What an acknowledgement says of it

    def first_held(self) -> int:
        """Sites whose first update or empty close is in, or that are known to decline."""
        held = self.whole | self.empty
        awaited = 0
        for ordinal, holding in self.holdings.items():
            if ranges.contains(holding.updates, 1) or holding.closed_at == 0:
                held |= 1 << ordinal
            elif holding.closed_at:
                awaited |= 1 << ordinal
        return held | (self.declined & ~awaited)

    def extras(self) -> Iterator[ExtraHeld]:
        for ordinal, holding in self.holdings.items():
            if any(last > 1 for _, last in holding.updates):
                yield ExtraHeld(
                    pane=self.pane,
                    ordinal=ordinal,
                    incarnation=holding.incarnation,
                    updates=holding.updates,
                )

    def has_extras(self) -> bool:
        return any(last > 1 for holding in self.holdings.values() for _, last in holding.updates)

    def snapshot(self) -> tuple[object, ...]:
        """All that a restart must bring back, as a value."""
        holdings = tuple(sorted((o, holding.as_tuple()) for o, holding in self.holdings.items()))
        return (
            self.pane,
            self.whole,
            self.empty,
            holdings,
            self.covered,
            self.lacking,
            self.declined,
            self.damaged,
            self.rows_number,
            tuple(self.rests),
        )


def _joined(former: Holding, part: Holding) -> Holding:
    closes = [at for at in (former.closed_at, part.closed_at) if at is not None]
    updates = ranges.union(former.updates, part.updates)
    return Holding(part.incarnation, updates, max(closes, default=None))
