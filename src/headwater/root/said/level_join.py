"""What a coarse window is made of: a level's own pieces, and finer panes of the other sites.

The rules are "Coarse time is a window of its own" and "A piece is replaced whole". A window of a
level has one pane of it, and the panes of the full query, and of finer levels, that lie in it. Of
each of these *series* the root holds what it holds, each for itself. An answer is made of a set of
them in which no site has rows twice, of such sets the one that covers most, the finer ones first::

    level 10 s    |  a     b                       |      own pieces of a and b
    level 5 s     |      c      |      c           |
    full          | d | d | d | d | d | d | d | d  |      rolled up: a, b, c and d are in

Later the own panes of ``a`` follow, in the full query. A merged piece can't be taken apart, so from
then on that set has ``a`` twice and can't be used. What was published stands until all series are
sealed, when nothing is under way any more; then it is answered for the last time, of whatever set
covers most. So nothing is counted twice and no revision has less than the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from headwater.algebra.fidelity import measure
from headwater.algebra.remainders.remainder import Remainders, merge_remainders
from headwater.algebra.remainders.tolerance import Tolerance
from headwater.algebra.sets import bitset
from headwater.algebra.windows.coarsening import Coarsening
from headwater.algebra.words.degraded import Why, degraded_at
from headwater.algebra.words.site_state import PaneState, Reason
from headwater.plan.degrading.companion import fine_panes
from headwater.root.outputs import Pieces
from headwater.root.pane_board import PaneBoard
from headwater.root.said.assess import Assessment, alarms_of, causes_of, kept_back_of
from headwater.root.said.degraded import WHY_TEXT, DegradedSite, Rests, kept_back_at, word_of
from headwater.root.said.envelope import (
    ALARMS_LISTED_MAX,
    DisputedSite,
    FinalBy,
    MissingSite,
    WindowAlarm,
)
from headwater.root.said.withheld import NONE_STATED, StatedErrors, as_level, stated_errors
from headwater.root.windows import Window

if TYPE_CHECKING:
    from headwater.root.books import Books

WHY = "its way had no room for finer panes"
FULL = 0
"""The step of the full query."""


class Series:
    """One of those that a window of the level can be made of."""

    def __init__(self, books: Books, panes: range) -> None:
        level = books.query.stands_for
        self.books = books
        self.step = FULL if level is None else level.step
        self.panes = panes
        self.boards = [books.scoreboard.peek(pane) for pane in panes]
        every = [board.taking for board in self.boards]
        self.taking = bitset.union(every)
        """Sites of which anything is known."""
        self.rows = bitset.union(board.has_rows_of for board in self.boards)
        self.covered = self._all_of(board.covered & board.taking for board in self.boards)
        self.in_whole = self._all_of(
            board.in_whole & board.taking & ~board.declined for board in self.boards
        )
        self.done = self._all_of(self._done(board) for board in self.boards)
        """Sites of which nothing more is awaited, as far as is known."""
        self.damaged = bitset.union(board.damaged for board in self.boards)

    @property
    def coarsening(self) -> Coarsening:
        level = self.books.query.stands_for
        return Coarsening() if level is None else level.coarsening

    def kept_back(self) -> tuple[list[Tolerance], Remainders]:
        """What is kept back of its panes, and the settings by which that was."""
        table = self.books.table
        used = [table.settings_at(board.pane, board.covered) for board in self.boards]
        through = min(table.sealed_through, self.books.scoreboard.agreed_through)
        return kept_back_of(table.settings, self.boards, used, sealed_through=through)

    def _all_of(self, sets: Iterator[int]) -> int:
        found = self.books.table.expected
        for one in sets:
            found &= one
        return found

    def _done(self, board: PaneBoard) -> int:
        """Sites of which nothing more comes, but for those that are in at a coarser level."""
        views = self.books.table.views
        declined = (o for o in bitset.members(board.declined & ~board.owed) if o in views)
        coarse = bitset.of(o for o in declined if views[o].reason(board.pane) is Reason.COARSE)
        return board.taking & board.in_whole | board.declined & ~board.owed & ~coarse

    @property
    def is_sealed(self) -> bool:
        """Nothing more comes of it, and all that was said of it agrees."""
        scoreboard = self.books.scoreboard
        through = min(self.books.table.sealed_through, scoreboard.agreed_through)
        is_settled = all(scoreboard.is_settled(board) for board in self.boards)
        is_doubted = any(pane in scoreboard.doubted for pane in self.panes)
        return is_settled and through >= self.panes.stop and not is_doubted

    @property
    def disputed(self) -> dict[int, None]:
        """Sites that contradict what is held of them."""
        found = (self.books.scoreboard.disputed.get(pane, {}) for pane in self.panes)
        return {ordinal: None for of_pane in found for ordinal in of_pane}

    def alarms(self) -> Iterator[WindowAlarm]:
        """Those that stand of windows that these panes make."""
        books, spec = self.books, self.books.windows.spec
        windows = dict.fromkeys(w for pane in self.panes for w in spec.windows_of(pane))
        for window in windows:
            yield from alarms_of(books.scoreboard, books.alarms, spec, window)


class LevelJoin:
    """Of the root of one level."""

    def __init__(self, own: Books, finer: Callable[[], Sequence[Books]]) -> None:
        """``finer``: the full query's and those of its finer levels, as they are answered here."""
        self._own = own
        self._finer = finer

    def series(self, window: int) -> list[Series]:
        """The level's own first."""
        (pane,) = self._own.windows.spec.panes_of(window)
        finer = (
            Series(books, fine_panes(books.query, self._own.query, pane)) for books in self._finer()
        )
        return [Series(self._own, range(pane, pane + 1)), *finer]

    def is_any(self, window: int) -> bool:
        """Whether some site takes it: what nobody takes is no window of the level."""
        (pane,) = self._own.windows.spec.panes_of(window)
        return bool(self._own.scoreboard.peek(pane).taking)

    def is_complete(self, window: int) -> bool:
        """Nothing more is awaited for a first answer: of each site some series has come to an end
        of its own."""
        done = bitset.union(one.done for one in self.series(window))
        return not self._own.table.expected & ~done

    def needs_from(self, books: Books) -> int:
        """The first pane of this finer series that a window of the level may still be made of."""
        own = self._own
        first = max(own.windows.done_through, own.table.begin)
        return fine_panes(books.query, own.query, first).start

    def finer_changed(self, books: Books, pane: int) -> None:
        """News of a pane of a finer series."""
        start_us = books.query.window.pane_start_us(pane)
        self._mark(self._own.query.window.pane_at(start_us))

    def finer_sealed(self) -> None:
        for window in self._own.windows.windows:
            self._mark(window)

    @property
    def is_answering(self) -> bool:
        """Panes of finer series are being read."""
        return self._own.answers.under_way is not None

    def _mark(self, window: int) -> None:
        known = self._own.windows.windows.get(window)
        if known is not None and not known.is_final and self.is_any(window):
            self._own.answers.mark(window)

    # What an answer would be

    def assess(self, window: int, known: Window | None, *, missing_max: int) -> Assessment:
        """What would be said of it now; held where what was published stands."""
        series = self.series(window)
        is_over = all(one.is_sealed for one in series)
        former = () if known is None or not known.revision else known.levels
        chosen = _best(series, former, is_over=is_over)
        if chosen is None:
            return _nothing(self._own)
        return self._said(window, series, chosen, is_over=is_over, missing_max=missing_max)

    def _said(
        self,
        window: int,
        series: Sequence[Series],
        chosen: Sequence[Series],
        *,
        is_over: bool,
        missing_max: int,
    ) -> Assessment:
        own, expected = self._own, self._own.table.expected
        covered, in_whole = _union(chosen, "covered"), _union(chosen, "in_whole")
        absent = expected & ~in_whole
        damaged = _union(series, "damaged") & expected
        disputed = tuple(
            DisputedSite(own.table.names[ordinal], ((window, window),))
            for ordinal in sorted({site for one in series for site in one.disputed})
        )
        alarms = tuple(alarm for one in chosen for alarm in one.alarms())
        full = next((one for one in series if one.step == FULL), None)
        withheld = self._withheld(chosen)
        degraded = [_degraded(one, full) for one in chosen if one.step != FULL]
        level = series[0].coarsening
        degraded += [_keeping_back(one, full, level) for one in chosen if withheld]
        named = tuple(entry for entries in degraded for entry in entries)
        is_clear = not (absent or damaged or disputed or alarms or withheld)
        final_by = FinalBy.SEALED if is_over and not disputed else None
        if final_by is not None:
            stays = bool(withheld) and not withheld.follows
            final_by, withheld = FinalBy.BOUNDED if stays else final_by, withheld.for_good()
        pieces = tuple(
            Pieces(one.books.id, tuple(b.pane for b in one.boards if b.rows_number), one.books.kept)
            for one in chosen
        )
        return Assessment(
            panes=tuple(pane for one in pieces for pane in one.panes),
            rows_number=max((b.rows_number for b in series[0].boards), default=0),
            expected=expected.bit_count(),
            covered=covered.bit_count(),
            missing=tuple(self._missing(window, series, absent, missing_max)),
            missing_count=absent.bit_count(),
            damaged=damaged.bit_count(),
            disputed=disputed,
            is_exact=is_clear,
            alarms=alarms[:ALARMS_LISTED_MAX],
            alarm_count=len(alarms),
            fidelity=measure([covered], expected),
            withheld=withheld,
            final_by=final_by,
            levels=tuple(sorted(one.step for one in chosen)),
            degraded=named,
            pieces=pieces,
            made_of=tuple(b.rows_number for one in chosen for b in one.boards),
        )

    def _withheld(self, chosen: Sequence[Series]) -> StatedErrors:
        """What is kept back of all that the window is made of, as the level has it."""
        level, settings = self._own.query.stands_for, self._own.table.settings
        if level is None or not settings.tolerances:
            return NONE_STATED
        asked = list[Tolerance]()
        found: Remainders = ()
        for one in chosen:
            tolerances, remainders = one.kept_back()
            asked += tolerances
            mine = as_level(remainders, finer=one.coarsening, level=level.coarsening)
            found = merge_remainders(found, mine)
        return stated_errors(asked or settings.tolerances[:1], found)

    def _missing(
        self, window: int, series: Sequence[Series], absent: int, missing_max: int
    ) -> Iterator[MissingSite]:
        """Each with the first cause that any series knows, the level's own before the others."""
        names = self._own.table.names
        for ordinal in list(bitset.members(absent))[:missing_max]:
            bit = 1 << ordinal
            taking = [one for one in series if one.taking & bit] or list(series[1:]) or list(series)
            causes = (
                (state, reason)
                for one in taking
                for board in one.boards
                for _, state, reason in causes_of(one.books.scoreboard, board, bit)
            )
            found = next(causes, (PaneState.UNKNOWN, "no word of this pane yet"))
            yield MissingSite(names[ordinal], *found, ((window, window),))


def _why(ordinal: int, full: Series | None) -> str:
    """In the words of the site: whether the panes were rolled up later, or never made finer."""
    if full is None or ordinal not in full.books.table.views:
        return WHY
    said = degraded_at(full.books.table.views[ordinal].state.degraded, full.panes[0])
    return WHY_TEXT[Why.BACKLOG] if said is not None and said.why is Why.BACKLOG else WHY


def _since_us(ordinal: int, full: Series | None) -> int | None:
    if full is None:
        return None
    return word_of(full.books.table, ordinal, full.panes[0], full.books.windows.spec).since_us


def _degraded(one: Series, full: Series | None) -> list[DegradedSite]:
    level = one.books.query.stands_for
    assert level is not None, "the full query is no level"
    names = one.books.table.names
    panes = ((one.panes[0], one.panes[-1]),)
    return [
        DegradedSite(
            site=names[ordinal],
            panes=panes,
            step=level.step,
            of=level.count,
            operator=str(level),
            level=level.step,
            why=_why(ordinal, full),
            follows=not level.stays,
            since_us=_since_us(ordinal, full),
        )
        for ordinal in bitset.members(one.taking & one.covered)
    ]


def _keeping_back(one: Series, full: Series | None, level: Coarsening) -> list[DegradedSite]:
    """Sites of which a threshold keeps something back that is not in."""
    if full is None:
        return []
    table, spec = one.books.table, full.books.windows.spec
    plan = full.books.table.settings.at(full.panes[0]).degradation
    found = list[DegradedSite]()
    if plan is None:
        return found
    for board in one.boards:
        rests = Rests(board, table.settings.at(board.pane), sealed_through=table.sealed_through)
        for ordinal in bitset.members(rests.sites & one.covered & one.taking):
            mine = rests.of(ordinal)
            mine = None if mine is None else as_level(mine, finer=one.coarsening, level=level)
            word = word_of(full.books.table, ordinal, full.panes[-1], spec)
            entry = kept_back_at(table.names[ordinal], rests, plan, word, mine)
            found += [] if entry is None else [entry]
    return found


def _union(series: Sequence[Series], of: str) -> int:
    return bitset.union(getattr(one, of) for one in series)


def _best(
    series: Sequence[Series], former: Sequence[int], *, is_over: bool
) -> Sequence[Series] | None:
    """Of the sets in which no site has rows twice that which covers most, if more than one does the
    finer one; or the one that was published before (``former``), if it still is such a set. When
    nothing more comes, any that has all of what was published, if there is one."""
    finest_first = sorted(series, key=lambda one: one.step)
    before = [one for one in finest_first if one.step in former]
    if before and not is_over:
        return before if len(before) == len(former) and _are_disjoint(before) else None
    sets = [
        found
        for count in range(1, len(series) + 1)
        for found in combinations(finest_first, count)
        if _are_disjoint(found) and _has_all_of(before, found)
    ]
    most = max((_union(found, "covered").bit_count() for found in sets), default=0)
    return next((one for one in sets if _union(one, "covered").bit_count() == most), None)


def _has_all_of(before: Sequence[Series], chosen: Sequence[Series]) -> bool:
    """A site that has rows in a series which is given up is in by another one."""
    left = bitset.union(one.rows for one in before if one not in chosen)
    return not left & ~_union(chosen, "covered")


def _are_disjoint(series: Sequence[Series]) -> bool:
    seen = 0
    for one in series:
        if one.rows & seen:
            return False
        seen |= one.rows
    return True


def _nothing(own: Books) -> Assessment:
    return Assessment(
        panes=(),
        rows_number=0,
        expected=own.table.expected.bit_count(),
        covered=0,
        missing=(),
        missing_count=0,
        damaged=0,
        disputed=(),
        is_exact=False,
        is_held=True,
    )
