"""What the root holds, pane by pane, and what it lets in.

The rule is "Only the root decides on overlap". For each pane the root keeps what it has first. A
summary whose updates are all new is merged, one whose updates are all held is dropped, one that is
partly new is refused whole: it can't be taken apart, and what only it carried is asked for again.
A pane of a site counts from one incarnation only, the first that was let in.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from enum import StrEnum

from headwater.algebra.coverage import FIRST, OPEN, Coverage, Group, GroupKey, SitePart
from headwater.algebra.remainders.remainder import Remainders
from headwater.algebra.remainders.tolerance import Finally
from headwater.algebra.sets import bitset, ranges
from headwater.algebra.sets.ranges import Range
from headwater.algebra.words.acknowledgement import Greeting
from headwater.algebra.words.site_state import FOREVER, SiteState
from headwater.root.pane_board import Holding, PaneBoard, Rest
from headwater.root.said.held_in_part import HeldUpdates, held_in_part
from headwater.root.site_table import SiteTable, SiteView, changed_ranges

FORMER_LIVES_MAX = 10_000
"""Lives that are over and of which the last words are kept; beyond, the oldest are forgotten."""
UPDATES_MAX = 1_000_000
"""A close that counts more updates than this is malformed."""


class Verdict(StrEnum):
    """What became of a summary."""

    ACCEPTED = "accepted"
    """All its updates are new."""
    CLOSES = "closes"
    """No update in it is new, but a close is."""
    CONTAINED = "contained"
    """All of it is held already."""
    OVERLAPPING = "overlapping"
    """Partly held, or of an incarnation that does not count: refused whole."""
    MISTAGGED = "mistagged"
    """Its bitmaps speak of incarnations that are not known here."""
    STRANGER = "stranger"
    """It names sites that are not expected, or is malformed."""
    NOT_DRAWN = "not drawn"
    """It has a part of a site in a pane that was not drawn of it."""
    AFTER_FINAL = "after final"
    """It would change a pane of which a final answer was made."""


class Scoreboard:
    """Boards of panes and the table of sites; no windows, no time."""

    def __init__(self, table: SiteTable) -> None:
        self.table = table
        self.boards: dict[int, PaneBoard] = {}
        self._order: list[int] = []
        self._talkative: dict[int, SiteView] = {}
        """Present views that say something of panes."""
        self._former: list[tuple[int, SiteView]] = []
        """The last words of sites' former lives, in the order in which they ended."""
        self.agreed_through = -FOREVER
        """Panes below are compared with the word of every expected site; see ``Agreements``."""
        self.disputed: dict[int, dict[int, int]] = {}
        """Pane -> site -> how many updates it has signed, which is not what is held of it."""
        self.doubted: dict[int, int] = {}
        """Pane -> sites of which carriers have brought more since it was compared."""
        self.lacked: dict[int, dict[int, int]] = {}
        """Pane -> site -> how many updates it has signed, of which some never came."""
        self.thinned: dict[int, None] = {}
        """Panes with rows of which relays have dropped some."""

    @property
    def expected(self) -> int:
        return self.table.expected

    # Boards

    def open(self, pane: int) -> PaneBoard:
        """The board of the pane; a new one begins with what states have said of it."""
        board = self.boards.get(pane)
        if board is None:
            board = self.boards[pane] = self.peek(pane)
            insort(self._order, pane)
        return board

    def peek(self, pane: int) -> PaneBoard:
        """As ``open``, but a new board is not kept."""
        board = self.boards.get(pane)
        if board is None:
            free = self.table.free
            board = PaneBoard(pane, undrawn=self.table.undrawn(pane), free=free)
            for ordinal, view in self._former:
                self._apply_view(board, ordinal, view)
                self._retire_on(board, view)
            for ordinal, view in self._talkative.items():
                self._apply_view(board, ordinal, view)
            board.is_settled = self.is_settled(board)
        return board

    def between(self, first: int, last: int) -> Iterator[PaneBoard]:
        """The boards of the closed range, rising."""
        start, end = bisect_left(self._order, first), bisect_left(self._order, last + 1)
        return (self.boards[pane] for pane in self._order[start:end])

    def rising_from(self, first: int) -> Iterator[PaneBoard]:
        """The boards from there on, while none is opened."""
        start = bisect_left(self._order, first)
        return (self.boards[self._order[at]] for at in range(start, len(self._order)))

    def drop_below(self, pane: int) -> list[int]:
        end = bisect_left(self._order, pane)
        gone, self._order = self._order[:end], self._order[end:]
        for one in gone:
            del self.boards[one]
            self.thinned.pop(one, None)
        return gone

    def is_settled(self, board: PaneBoard) -> bool:
        return not self.table.expected & ~board.settled

    def take_greetings(self, count_max: int, *, now_s: float) -> tuple[Greeting, ...]:
        """Who is owed one, with the highest life that is known of each site."""
        return tuple(
            Greeting(
                ordinal=s.ordinal,
                incarnation=s.incarnation,
                number=s.number,
                former_through=self.former_through(s.ordinal),
                former_clock_s=self.table.former_clock_s(s.ordinal, now_s=now_s),
            )
            for s in self.table.take_greeted(count_max)
        )

    def former_through(self, ordinal: int) -> int:
        """Panes from here on are not held from a former life of the site."""
        views = [view for of, view in self._former if of == ordinal]
        if not views:
            return -FOREVER
        present = self.table.present(ordinal)
        last = max(last for view in views for last in _last_told(view))
        for board in self.boards.values():
            holding = board.holdings.get(ordinal)
            if holding is not None and holding.incarnation != present:
                last = max(last, board.pane)
        return min(last + 1, FOREVER)

    # Summaries

    def judge(self, pane: int, coverage: Coverage) -> Verdict:
        """What is to become of it; nothing is changed."""
        if not self._is_well_formed(coverage):
            return Verdict.STRANGER
        bits = coverage.whole | coverage.empty
        tagged = [(bits, coverage.tag), *((one.sites, one.tag) for one in coverage.groups)]
        if not all(self.table.tag_matches(*one) for one in tagged if one[0]):
            return Verdict.MISTAGGED
        board = self.peek(pane)
        if coverage.sites & self.table.undrawn(pane):
            return Verdict.NOT_DRAWN
        fresh, held = self._compare(board, coverage)
        if fresh is None or (fresh and held):
            return Verdict.OVERLAPPING
        if not fresh and not self._closes(board, coverage):
            return Verdict.CONTAINED
        if board.is_frozen:
            return Verdict.AFTER_FINAL
        return Verdict.ACCEPTED if fresh else Verdict.CLOSES

    def accept(self, pane: int, coverage: Coverage, *, number: int, has_rows: bool) -> None:
        """Enter it. Rows that are held already must have been taken out of it before."""
        board = self.open(pane)
        if has_rows:
            board.rows_number = number
        apart = bitset.of(board.holdings)
        for key, sites in _bitmaps(coverage):
            board.add(key, sites & ~apart)
            for part in self._as_parts(key, sites & apart):
                self._add(board, part.ordinal, part)
        self.table.readers |= bitset.union(group.sites for group in coverage.groups)
        for part in coverage.parts:
            self._add(board, part.ordinal, part)
        if coverage.withheld and has_rows:
            board.rests.append(Rest.of(coverage))
        if coverage.thinned and has_rows:
            board.thinned.append(coverage.thinned)
            self.thinned[pane] = None

    def make_anew(self, pane: int) -> PaneBoard:
        """The board of the pane without any summary, to enter those that are left. What was
        covered stays so, if only as declined."""
        former = self.boards.pop(pane, None)
        self.thinned.pop(pane, None)
        if former is None:
            return self.open(pane)
        board = self.boards[pane] = self.peek(pane)
        board.is_settled, board.covered = former.is_settled, board.covered | former.covered
        board.is_frozen = former.is_frozen
        return board

    def keep_open(self, pane: int, ordinal: int, incarnation: int) -> None:
        """The site has not closed the pane, whatever was said of it: it is awaited."""
        holding = Holding(incarnation, (), None)
        self.open(pane).add_part(ordinal, holding, self.table.present(ordinal))

    def owe(self, pane: int, coverage: Coverage) -> PaneBoard:
        """The ledger has lost a summary: its updates are owed by the sites that still have them."""
        board = self.open(pane)
        lost = [(p.ordinal, p.incarnation, p.updates) for p in coverage.parts if p.updates]
        for (updates, _), sites in _bitmaps(coverage):
            members = bitset.members(sites if updates else 0)
            lost += [(ordinal, self.table.present(ordinal) or 0, updates) for ordinal in members]
        for ordinal, incarnation, updates in lost:
            view = self.table.views.get(ordinal)
            if view is not None and view.has_rows_of(pane, incarnation=incarnation):
                board.owe(ordinal, updates)
        return board

    def closes_of(self, pane: int, coverage: Coverage) -> Coverage:
        """What is to be kept of a summary that has no news but closes: all of it, if it is nothing
        else and all of it counts; otherwise each that is new, without the rows, which are held."""
        board = self.open(pane)
        if not coverage.has_rows and all(self._may_close(board, part) for part in coverage.parts):
            return coverage
        news = [part for part in self._closing(board, coverage) if self._is_news(board, part)]
        return Coverage(parts=tuple(sorted(news, key=lambda part: part.ordinal)))

    def _is_well_formed(self, coverage: Coverage) -> bool:
        sites = coverage.sites
        return (
            sites.bit_count() == coverage.mentioned
            and not sites & ~self.table.expected
            and all(one.is_possible and _is_possible(one) for one in coverage.groups)
            and all(map(_is_possible, coverage.parts))
            and self._is_tolerated(coverage.withheld)
            and self._may_be_thinned(coverage)
        )

    def _may_be_thinned(self, coverage: Coverage) -> bool:
        """Whether a relay may have dropped so much: of what it had merged, and by some settings."""
        if not coverage.thinned:
            return True
        tolerances = self.table.settings.tolerances
        return coverage.is_merged and any(one.is_thinned_by(coverage.thinned) for one in tolerances)

    def wants_whole(self, board: PaneBoard) -> bool:
        """Whether what relays have dropped of the pane is still to come from its sites: where all
        that was kept back follows, and while nothing final was said of it."""
        if not board.thinned or board.is_frozen or board.stays_thinned:
            return False
        used = map(self.table.settings.of, self.table.settings_at(board.pane, board.covered))
        asked = [one.tolerance for one in used if one is not None and one.tolerance is not None]
        return all(one.finally_ is Finally.EXACT for one in asked)

    def _is_tolerated(self, withheld: Remainders) -> bool:
        """Whether sites may say so of what they keep back."""
        tolerances = self.table.settings.tolerances if withheld else ()
        return not withheld or any(one.is_stated_by(withheld) for one in tolerances)

    def _compare(self, board: PaneBoard, coverage: Coverage) -> tuple[bool | None, bool]:
        """Whether it carries updates that are new, and such as are held; None: it can't count."""
        apart = bitset.of(board.holdings)
        fresh, held = False, False
        parts = list(coverage.parts)
        for key, sites in _bitmaps(coverage):
            updates, rest = key[0], sites & ~apart
            parts += self._as_parts(key, sites & apart)
            if not updates:
                continue
            for (known, _), of in board.forms():
                if of & rest and ranges.intersects(updates, known):
                    if ranges.difference(updates, known):
                        return None, False
                    held, rest = True, rest & ~of
            fresh = fresh or rest != 0
        for part in parts:
            if not part.updates:
                continue
            is_new, is_held = self._compare_part(board, part)
            if not is_new and not is_held:
                return None, False
            fresh, held = fresh or is_new, held or is_held
        return fresh, held

    def _as_parts(self, key: GroupKey, sites: int) -> list[SitePart]:
        """The same of each of these sites, spelled out."""
        updates, closed_at = key[0], None if key[1] == OPEN else key[1]
        return [
            SitePart(
                ordinal=ordinal,
                incarnation=self._present(ordinal),
                updates=updates,
                closed_at=closed_at,
            )
            for ordinal in bitset.members(sites)
        ]

    def _compare_part(self, board: PaneBoard, part: SitePart) -> tuple[bool, bool]:
        """(new, held); both false when it is partly held or of the wrong incarnation."""
        holding = board.holding_of(part.ordinal, self.table.present(part.ordinal))
        if not self._may_count(board, holding, part):
            return False, False
        updates = () if holding is None else holding.updates
        if not ranges.intersects(part.updates, updates):
            return True, False
        return False, not ranges.difference(part.updates, updates)

    def _is_outlived(self, pane: int, part: SitePart) -> bool:
        """A former incarnation counts only for panes that the present one does not answer for."""
        view = self.table.views.get(part.ordinal)
        if view is None or part.incarnation >= view.state.incarnation:
            return False
        first = view.state.first_pane
        return first is not None and pane >= first

    def _closes(self, board: PaneBoard, coverage: Coverage) -> bool:
        """Whether a coverage without new rows has a close that is news."""
        return any(self._is_news(board, part) for part in self._closing(board, coverage))

    def _closing(self, board: PaneBoard, coverage: Coverage) -> Iterator[SitePart]:
        """The closes in a coverage that may be news, without updates."""
        for (_, closed_at), sites in _bitmaps(coverage):
            knowing = bitset.union(of for (_, known), of in board.forms() if known >= closed_at)
            yield from self._as_parts(((), closed_at), sites & ~knowing)
        for part in coverage.parts:
            yield SitePart(
                ordinal=part.ordinal,
                incarnation=part.incarnation,
                updates=(),
                closed_at=part.closed_at,
            )

    def _is_news(self, board: PaneBoard, part: SitePart) -> bool:
        """Whether this close says more than is known of the site."""
        if part.closed_at is None or not self._may_close(board, part):
            return False
        holding = board.holding_of(part.ordinal, self.table.present(part.ordinal))
        former = None if holding is None else holding.closed_at
        return former is None or former < part.closed_at

    def _may_close(self, board: PaneBoard, part: SitePart) -> bool:
        holding = board.holding_of(part.ordinal, self.table.present(part.ordinal))
        return self._may_count(board, holding, part)

    def _may_count(self, board: PaneBoard, holding: Holding | None, part: SitePart) -> bool:
        """One incarnation counts for a site's pane: the first that was let in."""
        if holding is not None and holding.is_bound:
            return holding.incarnation == part.incarnation
        return not self._is_outlived(board.pane, part)

    def _add(self, board: PaneBoard, ordinal: int, part: SitePart) -> None:
        present = self.table.present(ordinal)
        if not self._may_count(board, board.holding_of(ordinal, present), part):
            return
        holding = Holding(part.incarnation, part.updates, part.closed_at)
        board.add_part(ordinal, holding, present)
        if present is not None and part.incarnation < present:
            board.decline_rest(ordinal)

    def _present(self, ordinal: int) -> int:
        present = self.table.present(ordinal)
        assert present is not None, "bitmaps are only compared after their tag matched"
        return present

    def held_in_part(self, board: PaneBoard) -> HeldUpdates:
        """What an acknowledgement says of the pane beyond a bit for each site."""
        return held_in_part(board, self.table)

    # States

    def hear(self, state: SiteState, *, since: int) -> list[PaneBoard]:
        """Take a state that is news; the boards on which it changed something."""
        former = self.table.hear(state, since=since)
        touched: list[PaneBoard] = []
        if former is not None and former.state.incarnation != state.incarnation:
            touched += [b for b in self.boards.values() if self._retire_on(b, former)]
            self._former = [*self._former[1 - FORMER_LIVES_MAX :], (state.ordinal, former)]
            former = None
        if former is None:
            first = self._answers_from(state.ordinal)
            for board in self.boards.values():
                board.settle_in(state.ordinal, state.incarnation)
                if board.pane >= first and board.retire_others(state.ordinal, state.incarnation):
                    touched.append(board)
        view = self.table.views[state.ordinal]
        self._talkative.pop(state.ordinal, None)
        if not view.is_plain(self.table.begin):
            self._talkative[state.ordinal] = view
            touched += self._apply_changes(view, former)
        return touched

    def reopened_by(self, state: SiteState) -> list[int]:
        """Panes that the site closed empty and that this state says have an update now."""
        bit = 1 << state.ordinal
        boards = (self.boards.get(pane) for pane, updates in state.counts if updates)
        return [board.pane for board in boards if board is not None and board.empty & bit]

    def _retire_on(self, board: PaneBoard, former: SiteView) -> bool:
        """What that life had sealed is sure to be all if it had agreed to it, too."""
        ended = former.state
        sure_through = min(ended.sealed_through, former.agreed_through)
        is_sealed = board.pane < min(sure_through, self._answers_from(ended.ordinal))
        return board.retire(ended.ordinal, ended.incarnation, is_sealed=is_sealed)

    def _answers_from(self, ordinal: int) -> int:
        """From where on the site's present life answers for panes. One that does so for panes that
        a former life had sealed has an earlier clock, and records for them that can't count. Of a
        finite input each life reads the same again."""
        view = self.table.views.get(ordinal)
        first = None if view is None else view.state.first_pane
        return FOREVER if first in (None, -FOREVER) else first

    def _apply_changes(self, view: SiteView, former: SiteView | None) -> list[PaneBoard]:
        """Only on boards in ranges that are new or have grown."""
        panes: set[int] = set()
        old = former and former.state
        pairs = [
            (former.empty.ranges() if former else (), view.empty.ranges()),
            (former.declined.ranges() if former else (), view.declined.ranges()),
            (old.damaged if old else (), view.state.damaged),
        ]
        for before, now in pairs:
            for first, last in changed_ranges(before, now):
                panes.update(board.pane for board in self.between(first, last))
        known = former.counts if former else {}
        panes.update(p for p, n in view.counts.items() if known.get(p) != n and p in self.boards)
        boards = [self.boards[pane] for pane in sorted(panes)]
        return [b for b in boards if self._apply_view(b, view.state.ordinal, view)]

    def _apply_view(self, board: PaneBoard, ordinal: int, view: SiteView) -> bool:
        """Enter what the state says of this pane."""
        incarnation, pane = view.state.incarnation, board.pane
        changed = False
        if pane in view.empty and pane not in view.counts and not board.is_frozen:
            changed |= board.add_part(ordinal, Holding(incarnation, (), 0), incarnation)
        if pane in view.counts and (not board.is_frozen or self.table.takes_enough):
            holding = Holding(incarnation, (), view.counts[pane])
            changed |= board.add_part(ordinal, holding, incarnation)
        if pane in view.declined:
            changed |= board.decline(ordinal, incarnation)
            if not view.has_rows_of(pane, incarnation=incarnation):
                changed |= board.owe_nothing(ordinal)
        if pane in view.damaged:
            changed |= board.damage(ordinal)
        return changed

    def awaited_of(self, state: SiteState, *, first: int, last: int) -> Iterator[Range]:
        """Ranges in which the site must have rows: sealed, and neither empty nor declined."""
        view = self.table.views[state.ordinal]
        for a, b in view.empty.gaps(first, last):
            yield from view.declined.gaps(a, b)


def _last_told(view: SiteView) -> Iterator[int]:
    """The last panes of which a state said something."""
    yield -FOREVER - 1
    yield from (panes.ranges()[-1][1] for panes in (view.empty, view.declined) if panes)
    yield from view.counts


def _bitmaps(coverage: Coverage) -> Iterator[tuple[GroupKey, int]]:
    """All sites that are not spelled out, each once."""
    if coverage.whole:
        yield (FIRST, 1), coverage.whole
    if coverage.empty:
        yield ((), 0), coverage.empty
    yield from ((group.key, group.sites) for group in coverage.groups)


def _is_possible(part: SitePart | Group) -> bool:
    last = max((b for _, b in part.updates), default=0)
    first = min((a for a, _ in part.updates), default=1)
    closed_at = last if part.closed_at is None else part.closed_at
    return first >= 1 and last <= closed_at <= UPDATES_MAX
