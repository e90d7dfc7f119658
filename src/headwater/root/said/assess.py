"""What can be said of a window now: who is in, who is missing and why, whether it is exact, final.

The assessment is read off the boards of the window's panes. It is the only place where the words
of an envelope are decided, for answers and for ``why`` alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import islice

import msgspec

from headwater.algebra.demand import Demand
from headwater.algebra.fidelity import Fidelity
from headwater.algebra.panes import WindowSpec
from headwater.algebra.remainders.remainder import Remainders, merge_remainders
from headwater.algebra.remainders.tolerance import Finally, Tolerance
from headwater.algebra.sets import bitset, ranges
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.words.site_state import PaneState, Reason
from headwater.plan.altered.settings_book import SettingsBook
from headwater.plan.needs import VERSION
from headwater.root.carriers.alarm_book import AlarmBook
from headwater.root.eviction import reached
from headwater.root.outputs import Pieces
from headwater.root.pane_board import PaneBoard
from headwater.root.said.degraded import DEGRADED_LISTED_MAX, DegradedSite, degraded_sites
from headwater.root.said.envelope import (
    ALARMS_LISTED_MAX,
    DisputedSite,
    Envelope,
    FinalBy,
    MissingSite,
    WindowAlarm,
)
from headwater.root.said.withheld import NONE_STATED, StatedErrors, stated_errors
from headwater.root.scoreboard import Scoreboard
from headwater.root.site_table import SiteView

AWAITED_NAMED_MAX = 4
"""Runs of updates that are named of those that a site owes."""
REFUSALS_TOLD_MAX = 16
"""Sites whose refusal is told in their own words; of further ones it is told that they refuse."""
REFUSAL_CHARACTERS_MAX = 600
ABSENT = "absent"
"""All its parents have lost it, as they have said since the window's end."""
NOTHING_SAID = Fidelity()
Cause = tuple[int, PaneState, str]
"""(ordinal, state, reason)"""


class Assessment(msgspec.Struct, frozen=True):
    panes: tuple[int, ...]
    """Those that have rows."""
    rows_number: int
    """The number of the newest kept summary with rows in it."""
    expected: int
    covered: int
    missing: tuple[MissingSite, ...]
    missing_count: int
    damaged: int
    disputed: tuple[DisputedSite, ...]
    is_exact: bool
    alarms: tuple[WindowAlarm, ...] = ()
    alarm_count: int = 0
    withheld: StatedErrors = NONE_STATED
    settings: tuple[int, ...] = (0,)
    fidelity: Fidelity = Fidelity()
    final_by: FinalBy | None = None
    degraded: tuple[DegradedSite, ...] = ()
    levels: tuple[int, ...] = ()
    """Of a level's window: the steps that it is made of."""
    pieces: tuple[Pieces, ...] = ()
    """And of which panes of which queries."""
    made_of: tuple[int, ...] = ()
    """As in ``Envelope``."""
    is_held: bool = False
    """What was published stands, whatever can be said now."""

    @property
    def is_final(self) -> bool:
        return self.final_by is not None

    def signature(self) -> int:
        """Equal when a new revision would say nothing new, but for rows."""
        return _signature(
            self.covered,
            self.missing,
            self.missing_count,
            self.is_exact,
            self.is_final,
            self.damaged,
            self.disputed,
            self.alarms,
            self.alarm_count,
            self.withheld,
            self.degraded,
        )


def signature_of(envelope: Envelope) -> int:
    """The signature of the assessment that this envelope was made from.

    Groups that were left out are a matter of rows, so they don't count, and bounded columns are one
    of the query: otherwise an answer that has such would be revised for ever, to say that it is
    exact.
    """
    is_exact = envelope.exact or envelope.left_out.exact_otherwise
    is_exact = is_exact or envelope.bounded.exact_otherwise
    return _signature(
        envelope.covered,
        envelope.missing,
        envelope.missing_count,
        is_exact,
        envelope.final,
        envelope.damaged,
        envelope.disputed,
        envelope.alarms,
        envelope.alarm_count,
        envelope.withheld,
        envelope.degraded,
    )


def assess(
    scoreboard: Scoreboard,
    book: AlarmBook,
    spec: WindowSpec,
    window: int,
    *,
    missing_max: int,
    demand: Demand | None = None,
    published: Fidelity = NOTHING_SAID,
    goes_by_demand: bool = True,
    absent: int = bitset.EMPTY,
) -> Assessment:
    """``published``: what the newest answer of the window had; ``goes_by_demand``: whether answers
    do; ``absent``: sites that all their parents have lost."""
    boards = [scoreboard.peek(pane) for pane in spec.panes_of(window)]
    expected = scoreboard.table.expected
    covered, damaged, lacking, is_settled = expected, 0, 0, True
    for board in boards:
        drawn = expected & ~board.undrawn
        covered &= board.covered | board.undrawn
        damaged |= board.damaged & drawn
        lacking |= drawn & ~(board.in_whole & ~board.declined)
        is_settled = is_settled and not expected & ~board.settled
    sealed_through = min(scoreboard.table.sealed_through, scoreboard.agreed_through)
    is_sealed = sealed_through >= boards[-1].pane + 1
    disputed = _disputed(scoreboard, boards, missing_max) if scoreboard.disputed else ()
    is_doubted = any(board.pane in scoreboard.doubted for board in boards)
    alarms = alarms_of(scoreboard, book, spec, window)
    table, withheld = scoreboard.table, NONE_STATED
    used = [table.settings_at(board.pane, board.covered) for board in boards]
    if table.settings.tolerances:
        withheld = _stated(table.settings, boards, used, sealed_through=sealed_through)
    fidelity = reached(scoreboard, spec.panes_of(window), demand).at_least(published)
    has_enough = demand is not None and goes_by_demand and demand.is_final
    has_enough = has_enough and demand is not None and demand.is_met_by(fidelity)
    final_by = FinalBy.ENOUGH if has_enough else None
    if is_settled and is_sealed:
        stays = bool(withheld) and not withheld.follows
        stays = stays or any(board.thinned for board in boards)
        final_by = FinalBy.DRAWN if fidelity.undrawn else FinalBy.SEALED
        final_by = FinalBy.BOUNDED if stays else final_by
    is_awaited = any(map(scoreboard.wants_whole, boards))
    final_by = None if disputed or is_doubted or is_awaited else final_by
    degraded: tuple[DegradedSite, ...] = ()
    if table.degraded:
        degraded = degraded_sites(table, boards, spec, sealed_through=sealed_through)
    if final_by is not None:
        withheld = withheld.for_good()
        degraded = tuple(msgspec.structs.replace(one, follows=False) for one in degraded)
    return Assessment(
        panes=tuple(board.pane for board in boards if board.rows_number),
        rows_number=max(board.rows_number for board in boards),
        expected=expected.bit_count(),
        covered=covered.bit_count(),
        missing=(
            _missing(scoreboard, boards, lacking, missing_max, has_enough, absent)
            if lacking
            else ()
        ),
        missing_count=lacking.bit_count(),
        damaged=damaged.bit_count(),
        disputed=disputed,
        is_exact=not (lacking or damaged or disputed or alarms or withheld or fidelity.undrawn),
        alarms=alarms[:ALARMS_LISTED_MAX],
        alarm_count=len(alarms),
        withheld=withheld,
        settings=tuple(sorted(set().union(*used))),
        fidelity=fidelity,
        final_by=final_by,
        degraded=degraded,
    )


def _stated(
    book: SettingsBook, boards: list[PaneBoard], used: list[set[int]], *, sealed_through: int
) -> StatedErrors:
    """What is kept back, and dropped, of all panes together."""
    asked, withheld = kept_back_of(book, boards, used, sealed_through=sealed_through)
    if not withheld and not asked:
        return NONE_STATED
    return stated_errors(asked or book.tolerances[:1], withheld)


def kept_back_of(
    book: SettingsBook, boards: list[PaneBoard], used: list[set[int]], *, sealed_through: int
) -> tuple[list[Tolerance], Remainders]:
    """By the settings that each pane was made by."""
    by_pane = [[one for n in numbers if (one := _tolerance(book, n))] for numbers in used]
    nothing: Remainders = ()
    found = (_withheld(*one, sealed_through) for one in zip(boards, by_pane, strict=True))
    withheld = reduce(merge_remainders, found, nothing)
    return [one for tolerances in by_pane for one in tolerances], withheld


def _tolerance(book: SettingsBook, number: int) -> Tolerance | None:
    settings = book.of(number)
    return None if settings is None else settings.tolerance


def _withheld(board: PaneBoard, tolerances: list[Tolerance], sealed_through: int) -> Remainders:
    """It is given back only where all who made the pane do; and who has sealed it with all of it in
    keeps nothing back only where all of it follows."""
    is_exact = bool(tolerances) and all(one.finally_ is Finally.EXACT for one in tolerances)
    gives_back = bool(tolerances) and all(map(_gives_back, tolerances))
    is_sealed = is_exact and board.pane < sealed_through
    return board.withheld(gives_back=gives_back, is_sealed=is_sealed)


def _gives_back(tolerance: Tolerance) -> bool:
    """Whether what a further update says of what is kept back takes the former's place. Of the
    largest groups alone it does, whatever becomes of the rest."""
    return tolerance.finally_ is Finally.EXACT or tolerance.top is not None


def _disputed(
    scoreboard: Scoreboard, boards: list[PaneBoard], named_max: int
) -> tuple[DisputedSite, ...]:
    """Sites that have signed other closes than those that are held of them."""
    panes: dict[int, list[int]] = {}
    for board in boards:
        for ordinal in scoreboard.disputed.get(board.pane, ()):
            panes.setdefault(ordinal, []).append(board.pane)
    names = scoreboard.table.names
    return tuple(
        DisputedSite(names[ordinal], _as_ranges(found))
        for ordinal, found in sorted(panes.items())[:named_max]
    )


def alarms_of(
    scoreboard: Scoreboard, book: AlarmBook, spec: WindowSpec, window: int
) -> tuple[WindowAlarm, ...]:
    """Also of a window that is final: there they stand beside the answer."""
    panes, names = spec.panes_of(window), scoreboard.table.names
    found = [
        WindowAlarm(
            names.get(alarm.ordinal, ""),
            alarm.kind,
            (max(alarm.first, panes.start), min(alarm.last, panes.stop - 1)),
            alarm.text,
            alarm.carriers,
        )
        for alarm in book.of(panes.start, panes.stop - 1)
    ]
    return tuple(sorted(found, key=lambda one: (one.site, one.kind, one.panes)))


def _missing(
    scoreboard: Scoreboard,
    boards: list[PaneBoard],
    lacking: int,
    missing_max: int,
    has_enough: bool,
    absent: int,
) -> tuple[MissingSite, ...]:
    """``has_enough``: what is not declined is not wanted, whatever else is to be said of it."""
    listed = bitset.of(islice(bitset.members(lacking), missing_max))
    panes: dict[Cause, list[int]] = {}
    for board in boards:
        for ordinal, state, reason in causes_of(scoreboard, board, listed, absent):
            is_left = has_enough and state is not PaneState.DECLINED
            cause = ordinal, PaneState.NOT_WANTED if is_left else state, reason
            panes.setdefault(cause, []).append(board.pane)
    names = scoreboard.table.names
    return tuple(
        MissingSite(names[ordinal], state, reason, _as_ranges(found))
        for (ordinal, state, reason), found in sorted(panes.items())
    )


def causes_of(
    scoreboard: Scoreboard, board: PaneBoard, listed: int, absent: int = bitset.EMPTY
) -> Iterator[Cause]:
    """Why each of the listed sites is missing from this pane, if it is."""
    table = scoreboard.table
    listed &= ~board.undrawn
    declined, told = listed & board.declined, REFUSALS_TOLD_MAX
    for ordinal in bitset.members(declined):
        view = table.views.get(ordinal)
        reason = Reason.LOST if view is None else view.reason(board.pane)
        if view is not None and board.pane not in view.declined:
            reason = Reason.LOST
        text = str(reason)
        has_said_why = reason in (Reason.REFUSED, Reason.VERSION)
        if view is not None and has_said_why and view.state.message and told:
            said = view.state.message.removeprefix(VERSION)
            text, told = f"{reason}: {said[:REFUSAL_CHARACTERS_MAX]}", told - 1
        yield ordinal, PaneState.DECLINED, text
    for ordinal in bitset.members(listed & board.lacking & ~declined):
        holding = board.holding_of(ordinal, table.present(ordinal))
        is_closed = holding is not None and holding.closed_at is not None
        if is_closed and _is_paused(table.views.get(ordinal), board.pane):
            yield ordinal, PaneState.DEFERRED, str(Reason.PAUSED)
        elif holding is None or holding.closed_at is None:
            early = 0 if holding is None else ranges.count(holding.updates)
            yield ordinal, PaneState.OPEN, _open_text(early)
        else:
            lacking = ranges.difference(((1, holding.closed_at),), holding.updates)
            yield ordinal, PaneState.CLOSED, _awaited_text(lacking, holding.closed_at)
    for ordinal in bitset.members(listed & ~board.covered & ~board.lacking & ~declined):
        view = table.views.get(ordinal)
        if absent >> ordinal & 1:
            yield ordinal, PaneState.UNKNOWN, ABSENT
        elif view is None:
            yield ordinal, PaneState.UNKNOWN, "no word from this site yet"
        elif ranges.contains(view.state.deferred, board.pane):
            yield ordinal, PaneState.DEFERRED, str(table.defers_for)
        elif _is_paused(view, board.pane):
            yield ordinal, PaneState.DEFERRED, str(Reason.PAUSED)
        elif view.state.catching_up:
            yield ordinal, PaneState.DEFERRED, str(Reason.CATCHING_UP)
        else:
            yield ordinal, PaneState.UNKNOWN, "no word of this pane yet"


def _is_paused(view: SiteView | None, pane: int) -> bool:
    """Whether the site says that it waits with sending it."""
    paused_from = None if view is None else view.state.paused_from
    return paused_from is not None and pane >= paused_from


def _open_text(early: int) -> str:
    """
    >>> _open_text(0), _open_text(1)
    ('it has not closed this pane yet', 'it has not closed this pane yet; 1 early update is in')
    """
    said = "it has not closed this pane yet"
    if not early:
        return said
    return f"{said}; {early} early update{' is' if early == 1 else 's are'} in"


def _awaited_text(lacking: Ranges, closed_at: int) -> str:
    """
    >>> _awaited_text(((2, 2),), 3), _awaited_text(((1, 2), (4, 4)), 4)
    ('1 of 3 updates is awaited: 2', '3 of 4 updates are awaited: 1-2, 4')
    """
    count = ranges.count(lacking)
    which = ", ".join(f"{a}-{b}" if a < b else f"{a}" for a, b in lacking[:AWAITED_NAMED_MAX])
    more = ", …" if len(lacking) > AWAITED_NAMED_MAX else ""
    return f"{count} of {closed_at} updates {'is' if count == 1 else 'are'} awaited: {which}{more}"


def _as_ranges(panes: list[int]) -> Ranges:
    return ranges.normal((pane, pane) for pane in panes)


def _signature(
    covered: int,
    missing: tuple[MissingSite, ...],
    missing_count: int,
    is_exact: bool,
    is_final: bool,
    damaged: int,
    disputed: tuple[DisputedSite, ...],
    alarms: tuple[WindowAlarm, ...],
    alarm_count: int,
    withheld: StatedErrors,
    degraded: tuple[DegradedSite, ...],
) -> int:
    """States and reasons are left out: that a silent site turns out to be behind is no revision.
    Nor is an alarm that is raised again, in other words. Which rows are uncertain is a matter of
    rows; where nothing was kept back, what was asked changes nothing."""
    panes: dict[str, Ranges] = {}
    for one in missing:
        panes[one.site] = ranges.union(panes.get(one.site, ()), one.panes)
    named = tuple(sorted(panes.items()))
    raised = (alarm_count, *((one.site, one.kind, one.panes) for one in alarms))
    doubts = tuple((one.site, one.panes) for one in disputed)
    stated = (withheld.columns, withheld.keys, withheld.follows) if withheld else ()
    stated = (*stated, withheld.first) if withheld and withheld.first is not None else stated
    given_up = tuple((one.site, one.panes, one.step) for one in degraded[:DEGRADED_LISTED_MAX])
    said = covered, named, missing_count, is_exact, is_final, damaged, doubts, raised, stated
    return hash((*said, given_up))
