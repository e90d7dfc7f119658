"""Bringing a scoreboard back from what the ledger has kept.

Kept summaries are entered again in the order of their numbers. Their bitmaps speak of the
incarnations that sites had at that time, so a site's next life begins again at the number at which
it began (``since``). What states say of panes is order-free and is entered last, with the newest
state; of a life that is over just before the next one begins.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from headwater.algebra.words.site_state import SiteState
from headwater.root.outputs import KeepState, KeptSummary, RootKept
from headwater.root.scoreboard import Scoreboard


def replay(scoreboard: Scoreboard, kept: RootKept) -> int:
    """Enter all summaries, and of each state only whose life it was; the newest number.

    Summaries may have been trimmed or lost since, so the ledger's count, answers and lives have a
    say in the number too: one that is used again would pass for what an answer has already.
    """
    number = max([kept.last_number, *(one.kept_through for one in kept.answers)])
    number = max(number, max((one.since - 1 for one in kept.states), default=0))
    lives = sorted(kept.states, key=lambda one: (one.since, one.state.incarnation))
    told: dict[int, SiteState] = {}
    for event in _in_order(lives, kept.summaries):
        if isinstance(event, KeepState):
            _begin_life(scoreboard, event, told)
        else:
            number = max(number, event.number)
            scoreboard.accept(
                event.pane, event.coverage, number=event.number, has_rows=event.has_rows
            )
    return number


def newest_states(kept: RootKept) -> list[KeepState]:
    """One for each site: of its newest life."""
    newest: dict[int, KeepState] = {}
    for one in kept.states:
        known = newest.get(one.state.ordinal)
        if known is None or known.state.incarnation < one.state.incarnation:
            newest[one.state.ordinal] = one
    return list(newest.values())


def _begin_life(scoreboard: Scoreboard, life: KeepState, told: dict[int, SiteState]) -> None:
    """``told`` has what each site's present life said last."""
    ordinal = life.state.ordinal
    former = told.get(ordinal)
    if former is not None and former.incarnation >= life.state.incarnation:
        return
    if former is not None:
        scoreboard.hear(former, since=scoreboard.table.views[ordinal].since)
    told[ordinal] = life.state
    scoreboard.hear(_bare(life.state), since=life.since)
    scoreboard.table.views[ordinal].agreed_through = life.agreed_through


def _bare(state: SiteState) -> SiteState:
    return msgspec.structs.replace(
        state, empty=(), declined=(), damaged=(), counts=(), digests=(), closes=()
    )


def _in_order(
    lives: list[KeepState], summaries: tuple[KeptSummary, ...]
) -> Iterator[KeepState | KeptSummary]:
    """A life that counts from number n on comes before summary n."""
    at = 0
    for summary in summaries:
        while at < len(lives) and lives[at].since <= summary.number:
            yield lives[at]
            at += 1
        yield summary
    yield from lives[at:]
