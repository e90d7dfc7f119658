"""One pane as the root knows it: of each site, what is in, what it has closed, what never comes.

Sites in their present life are told by bitmaps, as in a coverage: one for each (updates that are
in, close) that some site has, which are a few however many sites there are. A life that is not the
site's present one, or that the root has not heard of, is a ``Holding`` each.

``covered`` never loses a site: it says that a close of the site was in with all its updates at
some time. When news of a further update comes before the update, the site is ``lacking`` as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import chain

import msgspec

from headwater.algebra.coverage import EMPTY, OPEN, WHOLE, Coverage, GroupKey, group_key
from headwater.algebra.remainders.remainder import Remainders, merge_remainders
from headwater.algebra.sets import bitset, ranges
from headwater.algebra.sets.ranges import Ranges


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
        return _is_complete(self.key)

    @property
    def key(self) -> GroupKey:
        return group_key(self.updates, self.closed_at)

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

    sites: tuple[tuple[int, int], ...]
    """(sites, the last of their updates that are in)"""
    withheld: Remainders

    @classmethod
    def of(cls, coverage: Coverage) -> Rest:
        found = [(coverage.whole, 1)] if coverage.whole else []
        found += [(one.sites, one.updates[-1][1]) for one in coverage.groups if one.updates]
        found += [(1 << one.ordinal, one.updates[-1][1]) for one in coverage.parts if one.updates]
        return cls(tuple(found), coverage.withheld)


class PaneBoard:
    """All bitmaps are over roster ordinals."""

    def __init__(self, pane: int, *, undrawn: int = bitset.EMPTY, free: int = bitset.EMPTY) -> None:
        """``undrawn``: sites of which a random demand has not drawn it. What they say of it is
        neither awaited nor in. ``free``: of a level, the sites that take the pane if they say so;
        while they don't, nothing is awaited of them."""
        self.pane = pane
        self._undrawn = undrawn
        self._free = free
        self.whole = 0
        """Closed with one update, which is in; of the site's present incarnation."""
        self.empty = 0
        """Closed with no update; of the site's present incarnation."""
        self.groups: dict[GroupKey, int] = {}
        """All other sites of which something is known of the present incarnation."""
        self.holdings: dict[int, Holding] = {}
        """Of other incarnations."""
        self.former = 0
        """Those of them that are over: nothing more comes of these."""
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
    def undrawn(self) -> int:
        """Sites that have no part in it."""
        return self._undrawn | self._free & ~self.taking

    @property
    def taking(self) -> int:
        """Sites of which anything is known but that they decline it: of a level, those that take
        the pane."""
        of_lives = bitset.of(self.holdings) if self.holdings else 0
        return self.whole | self.empty | of_lives | bitset.union(self.groups.values())

    @property
    def has_rows_of(self) -> int:
        """Sites of which some update is in."""
        found = self.whole
        for (updates, _), sites in self.known_of_lives():
            found |= sites if updates else 0
        return found

    @property
    def in_whole(self) -> int:
        """Sites of which all that they closed is in."""
        return self.covered & ~self.lacking

    @property
    def settled(self) -> int:
        return self.in_whole | (self.declined & ~self.owed) | self.undrawn

    @property
    def known(self) -> bool:
        held = self.whole or self.empty or self.groups or self.holdings
        return bool(held or self.declined or self.damaged)

    def forms(self) -> Iterator[tuple[GroupKey, int]]:
        """What is known of present incarnations, and of which sites; each site once."""
        if self.whole:
            yield WHOLE, self.whole
        if self.empty:
            yield EMPTY, self.empty
        yield from self.groups.items()

    def holding_of(self, ordinal: int, present: int | None) -> Holding | None:
        """What is known of one site; ``present`` is its present incarnation."""
        for key, sites in self.forms():
            if sites >> ordinal & 1:
                return _holding(present or 0, key)
        return self.holdings.get(ordinal)

    def withheld(self, *, gives_back: bool, is_sealed: bool) -> Remainders:
        """All that is kept back. ``gives_back``: a further update of a site has all of its rest;
        otherwise it never comes. ``is_sealed``: every site has sealed the pane."""
        rests = self.kept_back(gives_back=gives_back, is_sealed=is_sealed)
        return reduce(merge_remainders, (one.withheld for one, _ in rests), ())

    def kept_back(self, *, gives_back: bool, is_sealed: bool) -> Iterator[tuple[Rest, int]]:
        """What counts, with the sites that have sent no more since, as a bitset. Who has sealed the
        pane, and of whom all is in, owes nothing more, whoever of a merged piece has kept something
        back, and whatever it was merged with."""
        sure = self.in_whole & ~(self.declined | self.damaged) if is_sealed else 0
        for rest in self.rests:
            left = (sites & ~(sure | self._beyond(update)) for sites, update in rest.sites)
            owed = bitset.union(left)
            if not gives_back or owed:
                yield rest, owed

    def _beyond(self, update: int) -> int:
        """The sites of which all is in, and that is more than up to this update."""
        apart = ((holding.key, 1 << ordinal) for ordinal, holding in self.holdings.items())
        known = chain(self.groups.items(), apart)
        found = 0
        for key, sites in known:
            if _is_complete(key) and key[1] > update:
                found |= sites
        return found

    # Changes: what returns a bool says whether anything is new

    def add(self, key: GroupKey, sites: int) -> None:
        """Join this to what is known of sites in their present life, of which no other counts."""
        rest = sites
        for known, of in list(self.forms()):
            common = of & rest
            rest &= ~common
            joined = _joined(known, key)
            if common and _closes(key, joined):
                self.covered |= common
            if common and joined != known:
                self._move(joined, common)
        if rest:
            self._move(key, rest)

    def add_part(self, ordinal: int, part: Holding, present: int | None) -> bool:
        """Join a part to what is known of the site; closes merge by maximum.

        A part of another incarnation than the one that is bound changes nothing.
        """
        former = self.holding_of(ordinal, present)
        if former is not None and former.incarnation != part.incarnation:
            if former.is_bound:
                return False
            former = None
        joined = part.key if former is None else _joined(former.key, part.key)
        if _closes(part.key, joined):
            self.covered |= 1 << ordinal
        if former is not None and joined == former.key:
            return False
        self._put(ordinal, _holding(part.incarnation, joined), present)
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
        self._clear(bit)
        self.holdings[ordinal], self.former = holding, self.former | bit
        if not holding.is_bound:
            self._clear(bit)
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
        if holding is not None:
            self._put(ordinal, holding, present)

    def _set_declined(self, bit: int) -> bool:
        before, self.declined = self.declined, self.declined | bit
        return self.declined != before

    def _put(self, ordinal: int, holding: Holding, present: int | None) -> None:
        bit = 1 << ordinal
        if holding.incarnation == present:
            self._move(holding.key, bit)
            return
        self._clear(bit)
        self.holdings[ordinal] = holding
        if present is not None and holding.incarnation < present:
            self.former |= bit
        self._placed(holding.key, bit)

    def _move(self, key: GroupKey, sites: int) -> None:
        """This is what is known of these sites, all in their present life, from now on."""
        self._clear(sites)
        if key == WHOLE:
            self.whole |= sites
        elif key == EMPTY:
            self.empty |= sites
        else:
            self.groups[key] = self.groups.get(key, 0) | sites
        self._placed(key, sites)

    def _placed(self, key: GroupKey, sites: int) -> None:
        for ordinal in bitset.members(sites & self.owed):
            if not ranges.difference(self._owed_updates[ordinal], key[0]):
                self.owe_nothing(ordinal)
        if _is_complete(key):
            self.covered |= sites
            self.lacking &= ~sites
        else:
            self.lacking |= sites

    def _clear(self, sites: int) -> None:
        """Nothing is known of these sites."""
        self.whole &= ~sites
        self.empty &= ~sites
        self.former &= ~sites
        for key in [key for key, of in self.groups.items() if of & sites]:
            self.groups[key] &= ~sites
            if not self.groups[key]:
                del self.groups[key]
        if self.holdings:
            for ordinal in [one for one in self.holdings if sites >> one & 1]:
                del self.holdings[ordinal]

    # What an acknowledgement says of it

    def first_held(self) -> int:
        """Sites of which all that they have closed, as far as is known, is in, or that decline
        what lacks. Of a former life nothing more is awaited."""
        held, awaited = 0, 0
        for (updates, closed_at), sites in self.known_of_lives():
            if closed_at != OPEN and ranges.covers(updates, 1, closed_at):
                held |= sites
            elif updates or closed_at > 0:
                awaited |= sites & ~self.former
        return held | (self.declined & ~awaited) | self.undrawn

    def known_of_lives(self) -> Iterator[tuple[GroupKey, int]]:
        """As ``forms``, and of other incarnations as well."""
        apart = ((holding.key, 1 << ordinal) for ordinal, holding in self.holdings.items())
        return chain(self.forms(), apart)

    def snapshot(self) -> tuple[object, ...]:
        """All that a restart must bring back, as a value."""
        holdings = tuple(sorted((o, holding.as_tuple()) for o, holding in self.holdings.items()))
        return (
            self.pane,
            self.whole,
            self.empty,
            tuple(sorted(self.groups.items())),
            holdings,
            self.covered,
            self.lacking,
            self.declined,
            self.damaged,
            self.rows_number,
            tuple(self.rests),
        )


def _holding(incarnation: int, key: GroupKey) -> Holding:
    updates, closed_at = key
    return Holding(incarnation, updates, None if closed_at == OPEN else closed_at)


def _is_complete(key: GroupKey) -> bool:
    """All that was closed is in, and nothing that was not. An update beyond the close comes of a
    pane that can't be exact: only the site's state tells its close."""
    updates, closed_at = key
    if closed_at == OPEN or not ranges.covers(updates, 1, closed_at):
        return False
    return not updates or updates[-1][1] <= closed_at


def _closes(part: GroupKey, joined: GroupKey) -> bool:
    """Whether all that this close counts is in, of what is known with it."""
    return part[1] != OPEN and ranges.covers(joined[0], 1, part[1])


def _joined(former: GroupKey, part: GroupKey) -> GroupKey:
    """Closes merge by maximum; open is below all."""
    return ranges.union(former[0], part[0]), max(former[1], part[1])
