"""The sites of a query as its root knows them: incarnations, states, and the check of tags.

The higher incarnation of a site wins; within it, the higher number of its states. A site's seal,
its tally and whether it catches up are wanted as sums over all sites, so those are kept up to
date here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from statistics import median

import msgspec

from headwater.algebra.coverage import incarnation_tag
from headwater.algebra.sets import bitset, ranges
from headwater.algebra.sets.interval_set import IntervalSet
from headwater.algebra.sets.ranges import Range
from headwater.algebra.words.as_of import AsOf, grouped
from headwater.algebra.words.remark import SiteRemark
from headwater.algebra.words.site_state import FOREVER, Reason, SiteState, Tally
from headwater.plan.altered.settings import Settings
from headwater.plan.altered.settings_book import SettingsBook
from headwater.plan.node_sets import is_asked
from headwater.plan.query import Query, TimeKind
from headwater.plan.roster import Roster

ROWS_GONE = (Reason.LOST, Reason.EXPIRED)
"""Of what a site declines for one of these it has no rows any more."""


class SiteView:
    """The newest state of one site, with its ranges ready to be asked."""

    def __init__(self, state: SiteState, since: int, agreed_through: int = -FOREVER) -> None:
        self.state = state
        self.since = since
        """From which number of kept summaries on its incarnation counts."""
        self.agreed_through = agreed_through
        """Panes below are compared with this life's digests; see ``Agreements``."""
        self.empty = IntervalSet(state.empty)
        self.damaged = IntervalSet(state.damaged)
        self.counts = dict(state.counts)
        self._declined = [(d.first, d.last, d.reason) for d in state.declined]
        self.declined = IntervalSet((d.first, d.last) for d in state.declined)
        first = state.first_pane
        self.declined.add(-FOREVER, FOREVER if first is None else first - 1)

    def reason(self, pane: int) -> Reason:
        found = (reason for first, last, reason in self._declined if first <= pane <= last)
        return next(found, Reason.NOT_INSTALLED)

    def is_coarse(self, pane: int) -> bool:
        """Whether the site has sent it at a level, and not by itself."""
        is_coarse = pane in self.declined and self.reason(pane) is Reason.COARSE
        return is_coarse or ranges.contains(self.state.deferred, pane)

    def has_rows_of(self, pane: int, *, incarnation: int) -> bool:
        """Whether the site may still have what this life of it has sent of the pane."""
        first = self.state.first_pane
        is_gone = pane in self.declined and self.reason(pane) in ROWS_GONE
        is_its_own = first is not None and pane >= first and self.state.incarnation == incarnation
        return is_its_own and not is_gone

    def is_plain(self, begin: int) -> bool:
        """It says nothing about any pane from ``begin`` on."""
        state = self.state
        late = state.first_pane is None or state.first_pane > begin
        return not (late or state.empty or state.declined or state.damaged or state.counts)


class SiteTable:
    """Who is expected, and what each of them has said."""

    def __init__(self, query: Query, roster: Roster) -> None:
        members = [site for site in roster.sites if is_asked(query, site)]
        self.names = {site.ordinal: site.name for site in members}
        self.expected = bitset.of(self.names)
        self.settings = SettingsBook(Settings.of(query))
        self._going_by: dict[tuple[tuple[int, int], ...], int] = {}
        """By what sites say of the settings that they go by: those that say so, as a bitset."""
        self.degraded = bitset.EMPTY
        """Sites that say that they give, or gave, something up."""
        self._draw = query.draw
        self.defers_for = Reason.COARSE if query.sheds is None else Reason.SHED
        """Why sites put panes off that they have closed."""
        self._shedding: set[int] = set()
        """Sites that say that they have."""
        self.free = bitset.EMPTY if query.stands_for is None else self.expected
        """Of a level: sites take a pane, or they don't."""
        demand = query.awaited_demand
        self.takes_enough = demand is not None and demand.is_final
        """Panes may be final before they are sealed: more may be told of them, and is not taken."""
        self.begin = -FOREVER if query.begin_pane is None else query.begin_pane
        self.views: dict[int, SiteView] = {}
        self.tally = Tally()
        self.behind = 0
        """Sites that say that they catch up, as a bitset."""
        self.readers = 0
        """Sites that have sent groups, as a bitset: they know what a bit says of them."""
        self._sealed = Counter({-FOREVER: len(members)})
        self._ended: set[int] = set()
        self._unconfirmed: set[int] = set()
        self._remarking: set[int] = set()
        self._greet: dict[int, None] = {}
        self._spoken = 0
        self._offsets_s: dict[int, float] = {}
        """How far the root's steady clock is ahead of each site's wall clock."""
        self._former_offsets_s: dict[int, float] = {}
        """The same of their former lives."""
        self.is_restoring = False
        self._doubted: set[int] = set()
        """Sites that have told it to a former process of the root alone, whose clock may have been
        another one."""
        self.goes_by_site_clocks = query.time is TimeKind.EVENT and query.numbers is None
        self._tags: dict[int, int] = {}
        self._byte_tags: dict[int, dict[int, int]] = {}

    def undrawn(self, pane: int) -> int:
        """The expected sites that have no part in it, since a random demand has not drawn it."""
        if self._draw is None:
            return bitset.EMPTY
        return self.expected & ~self._draw.sites(pane, self.expected)

    def shed(self, pane: int) -> int:
        """The sites that have said that they read it later, for want of CPU."""
        return bitset.of(
            one for one in self._shedding if ranges.contains(self.views[one].state.deferred, pane)
        )

    def lag_s(self, own_s: float, *, awaits_all: bool) -> float:
        """By how much the wall clocks of the sites are behind the root's steady one, in the middle.
        Of an even number of them, or none, the root's own wall clock is one more; and while
        ``awaits_all``, it stands for each site that has not told: the first to speak may be the
        one that is wrong."""
        known = list(self._offsets_s.values())
        if awaits_all:
            known += [own_s] * (len(self.names) - len(known))
        return median(known if len(known) % 2 else [*known, own_s])

    @property
    def knows_clocks(self) -> bool:
        return bool(self._offsets_s)

    @property
    def knows_most_clocks(self) -> bool:
        return 2 * len(self._offsets_s) > len(self.names)

    def offsets_s(self) -> dict[int, float]:
        """By ordinal: how far the root's steady clock is ahead of the site's wall clock."""
        return dict(self._offsets_s)

    def remarks(self) -> tuple[SiteRemark, ...]:
        """What sites remark about their input, as they last told."""
        return tuple(
            SiteRemark(site=self.names[ordinal], kind=remark.kind, text=remark.text)
            for ordinal in sorted(self._remarking)
            for remark in self.views[ordinal].state.remarks
        )

    def as_of(self) -> tuple[AsOf, ...]:
        """Of a question: as of when those answered that have."""
        told = ((self.names[view], one.state.as_of) for view, one in self.views.items())
        return grouped((site, one) for site, one in told if one is not None)

    def unconfirmed(self) -> tuple[str, ...]:
        """By age: the sites that say that their idea of the root's clock is unconfirmed."""
        return tuple(self.names[ordinal] for ordinal in sorted(self._unconfirmed))

    def hear_offset(self, state: SiteState) -> None:
        """Also from a state that is no news."""
        if state.offset_s is not None:
            self._offsets_s[state.ordinal] = state.offset_s
            self._doubted.discard(state.ordinal)
            if self.is_restoring:
                self._doubted.add(state.ordinal)

    # States

    def hear(self, state: SiteState, *, since: int) -> SiteView | None:
        """Take the state as the site's newest; the former one. It must be ``is_news``."""
        former = self.views.get(state.ordinal)
        agreed_through = -FOREVER
        if former is not None:
            self._count(former.state, -1)
            if former.state.incarnation == state.incarnation:
                since, agreed_through = former.since, former.agreed_through
        if former is None or former.state.incarnation != state.incarnation:
            if former is not None:
                self._bury(former.state)
            self._meet(state)
        self.hear_offset(state)
        self.views[state.ordinal] = SiteView(state, since, agreed_through)
        self._count(state, 1)
        return former

    def _bury(self, former: SiteState) -> None:
        """Remember the clock of a life that is over; of several, the one that was furthest."""
        offset_s = self._offsets_s.get(former.ordinal)
        if offset_s is not None and former.ordinal not in self._doubted:
            known_s = self._former_offsets_s.get(former.ordinal, offset_s)
            self._former_offsets_s[former.ordinal] = min(known_s, offset_s)

    def former_clock_s(self, ordinal: int, *, now_s: float) -> float | None:
        """What the clock of the site's former life would show; None: it had none, or never said."""
        offset_s = self._former_offsets_s.get(ordinal)
        return None if offset_s is None or not self.goes_by_site_clocks else now_s - offset_s

    def _meet(self, state: SiteState) -> None:
        self._spoken |= 1 << state.ordinal
        self._tags[state.ordinal] = incarnation_tag(state.ordinal, state.incarnation)
        self._byte_tags.pop(state.ordinal >> 3, None)

    def is_news(self, state: SiteState) -> bool:
        former = self.views.get(state.ordinal)
        if former is None:
            return True
        known = former.state
        return (state.incarnation, state.number) > (known.incarnation, known.number)

    def is_older(self, state: SiteState) -> bool:
        """It was overtaken by a newer one, or is of a former life."""
        former = self.views.get(state.ordinal)
        if former is None:
            return False
        known = former.state
        return (state.incarnation, state.number) < (known.incarnation, known.number)

    def greet(self, ordinal: int) -> None:
        self._greet[ordinal] = None

    @property
    def owes_greetings(self) -> bool:
        return bool(self._greet)

    def take_greeted(self, count_max: int) -> list[SiteState]:
        """The newest states of those who are owed a greeting."""
        ordinals = list(self._greet)[:count_max]
        for ordinal in ordinals:
            del self._greet[ordinal]
        return [self.views[ordinal].state for ordinal in ordinals]

    def present(self, ordinal: int) -> int | None:
        """The incarnation that the site lives in, as far as it is known."""
        view = self.views.get(ordinal)
        return None if view is None else view.state.incarnation

    # Sums over all sites

    @property
    def sealed_through(self) -> int:
        """Panes below are sealed by every site."""
        return min(self._sealed, default=FOREVER)

    @property
    def all_ended(self) -> bool:
        return len(self._ended) == len(self.names)

    def _count(self, state: SiteState, by: int) -> None:
        if state.ended and by > 0:
            self._ended.add(state.ordinal)
        else:
            self._ended.discard(state.ordinal)
        if state.is_clock_unconfirmed and by > 0:
            self._unconfirmed.add(state.ordinal)
        else:
            self._unconfirmed.discard(state.ordinal)
        if state.deferred and self.defers_for is Reason.SHED and by > 0:
            self._shedding.add(state.ordinal)
        else:
            self._shedding.discard(state.ordinal)
        if state.remarks and by > 0:
            self._remarking.add(state.ordinal)
        else:
            self._remarking.discard(state.ordinal)
        sealed = _sealed_through(state)
        former, later = (-FOREVER, sealed) if by > 0 else (sealed, -FOREVER)
        self._sealed[former] -= 1
        self._sealed[later] += 1
        if not self._sealed[former]:
            del self._sealed[former]
        bit = 1 << state.ordinal
        self._count_settings(state.settings, bit, is_more=by > 0)
        if state.degraded:
            self.degraded = self.degraded | bit if by > 0 else self.degraded & ~bit
        self.behind = self.behind | bit if state.catching_up and by > 0 else self.behind & ~bit
        sums = zip(_counts(self.tally), _counts(state.tally), strict=True)
        self.tally = Tally(*(a + by * b for a, b in sums))

    def _count_settings(
        self, said: tuple[tuple[int, int], ...], bit: int, *, is_more: bool
    ) -> None:
        sites = self._going_by.get(said, 0)
        self._going_by[said] = sites | bit if is_more else sites & ~bit
        if not self._going_by[said]:
            del self._going_by[said]

    def settings_at(self, pane: int, sites: int) -> set[int]:
        """The numbers of the settings by which any of these sites may have made the pane. One that
        has not said that it knows of settings may go by them all the same: what it says of them
        and what it makes come by different ways."""
        if not self.settings.changes and len(self._going_by) <= 1:
            said = next(iter(self._going_by), ())
            if not said:
                return {0}  # nearly always
        found = set[int]()
        for said, of_sites in self._going_by.items():
            if of_sites & sites:
                known = max((number for number, _ in said), default=0)
                found.add(max((number for number, first in said if first <= pane), default=0))
                found |= {
                    one.number
                    for one in self.settings.changes
                    if one.number > known and one.pane <= pane
                }
        return found or {self.settings.number_at(pane)}

    # Tags

    def tag_matches(self, sites: int, tag: int) -> bool:
        """Whether a coverage's bitmaps speak of the incarnations known here.

        Byte by byte, each combination remembered: ten thousand sites are 1,250 look-ups.
        """
        if sites & ~self._spoken:
            return False
        found = 0
        for at, value in enumerate(bitset.to_bytes(sites)):
            if value:
                found ^= self._byte_tag(at, value)
        return found == tag

    def _byte_tag(self, at: int, value: int) -> int:
        known = self._byte_tags.setdefault(at, {})
        if value not in known:
            tag = 0
            for member in bitset.members(value):
                tag ^= self._tags[8 * at + member]
            known[value] = tag
        return known[value]


def _sealed_through(state: SiteState) -> int:
    """Panes before a site's first are declined, and nothing can come of them either."""
    first = FOREVER if state.first_pane is None else state.first_pane
    return max(state.sealed_through, first)


def changed_ranges(former: tuple[Range, ...], now: tuple[Range, ...]) -> Iterator[Range]:
    """What is in ``now`` and may not have been in ``former``; a range that grew counts from there.

    >>> list(changed_ranges(((0, 9), (20, 21)), ((0, 12), (20, 21), (30, 30))))
    [(10, 12), (30, 30)]
    """
    lasts = dict(former)
    for first, last in now:
        known = lasts.get(first)
        if known is None:
            yield first, last
        elif known < last:
            yield known + 1, last


def _counts(tally: Tally) -> tuple[int, ...]:
    return tuple(msgspec.structs.astuple(tally))
