"""What an answer says of sites that have given up some of its data, because of a narrow way.

A site says in its state from which pane on it is at which step of the degradation, and why. Of a
threshold that matters only where something was kept back by it, and until the rest of that is in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from headwater.algebra.sets import bitset, ranges
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.words.degraded import Degraded, Why, degraded_at
from headwater.plan.degrading.degradation import LEVEL_KINDS, Degradation, Level, OperatorKind
from headwater.root.pane_board import PaneBoard
from headwater.root.site_table import SiteTable

DEGRADED_LISTED_MAX = 50
KEEPING = (OperatorKind.THRESHOLD, OperatorKind.TOP)
"""Operators that matter only where something is kept back by them."""
WHY = "its way had no room for all of it"
"""Where a site has since said otherwise of the panes that lie there."""
WHY_TEXT = {
    Why.CAPACITY: "the way carries less than all of it",
    Why.BUDGET: "its budget is less than all of it takes",
    Why.QUEUE: "what was made waited",
    Why.BACKLOG: "its backlog was more than may wait",
    Why.RESTORED: "a finer step has room again",
}


Kinds = tuple[OperatorKind, ...]
_Key = tuple[int, int, Why, Kinds]
"""(ordinal, step, why, kinds of operators of which one is named)"""


class DegradedSite(msgspec.Struct, frozen=True):
    """What one site has given up of some panes of a window."""

    site: str
    panes: Ranges
    step: int
    """Of the stream's degradation, which has so many (``of``)."""
    of: int
    operator: str
    """As it was written: the one that came in last."""
    level: int
    """Of this operator, from 1 on."""
    why: str
    follows: bool = False
    """Whether the rest comes when there is room."""

    def text(self) -> str:
        """
        >>> DegradedSite("fra", ((5, 7),), 2, 4, "sample(url, 1/4)", 2, "why").text()
        'fra: degraded: sample(url, 1/4) at level 2 (step 2 of 4), panes 5 to 7: why; it stays so'
        """
        panes = ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in self.panes[:8])
        later = "the rest follows" if self.follows else "it stays so"
        return (
            f"{self.site}: degraded: {self.operator} at level {self.level} (step {self.step} of "
            f"{self.of}), panes {panes}: {self.why}; {later}"
        )


def degraded_sites(
    table: SiteTable, boards: Sequence[PaneBoard], *, sealed_through: int
) -> tuple[DegradedSite, ...]:
    """All of them; an envelope lists the first."""
    panes: dict[_Key, list[int]] = {}
    plans: dict[_Key, tuple[Degradation, bool]] = {}
    for board in boards:
        settings = table.settings.at(board.pane)
        plan = settings.degradation
        if plan is None:
            continue
        for ordinal, said, kinds in _said(
            table, board, plan, follows=settings.follows, is_sealed=board.pane < sealed_through
        ):
            key = (ordinal, said.step, said.why, kinds)
            panes.setdefault(key, []).append(board.pane)
            plans[key] = plan, settings.follows
    found = (
        _described(table.names[key[0]], key, of, *plans[key]) for key, of in sorted(panes.items())
    )
    return tuple(one for one in found if one is not None)


def _said(
    table: SiteTable, board: PaneBoard, plan: Degradation, *, follows: bool, is_sealed: bool
) -> Iterator[tuple[int, Degraded, Kinds]]:
    """With the ordinals of their sites, and what may have been given up by them."""
    kept_back = board.keeping_back(gives_back=follows, is_sealed=is_sealed)
    for ordinal in bitset.members(table.degraded & table.expected & ~board.undrawn):
        said = degraded_at(table.views[ordinal].state.degraded, board.pane)
        if said is None:
            continue
        used = [one.operator.kind for one in plan.levels_at(said.step) if one.at]
        is_coarse = table.views[ordinal].is_coarse(board.pane)
        if is_coarse and any(kind in LEVEL_KINDS for kind in used):
            yield ordinal, said, tuple(OperatorKind)
        elif kept_back >> ordinal & 1 and any(kind in KEEPING for kind in used):
            yield ordinal, said, KEEPING


def _described(
    site: str, key: _Key, panes: list[int], plan: Degradation, follows: bool
) -> DegradedSite | None:
    _, step, why, kinds = key
    newest = _newest(plan, step, kinds)
    if newest is None:
        return None
    return DegradedSite(
        site,
        ranges.normal((pane, pane) for pane in panes),
        min(step, plan.last_step),
        plan.last_step,
        newest.operator.text,
        newest.at,
        WHY_TEXT.get(why, str(why)),
        follows,
    )


def _newest(plan: Degradation, step: int, kinds: Kinds) -> Level | None:
    """Of these operators, the one that came in last."""
    levels = [one for one in plan.levels_at(step) if one.at and one.operator.kind in kinds]
    return levels[-1] if levels else None


def kept_back_at(
    site: str, pane: int, plan: Degradation, said: Degraded | None, *, follows: bool
) -> DegradedSite | None:
    """Of a pane of which a threshold keeps something back; None: the plan has none."""
    first = plan.step_of(OperatorKind.THRESHOLD, 1)
    step = first if said is None else min(max(first, said.step), plan.last_step)
    newest = _newest(plan, step, (OperatorKind.THRESHOLD,))
    if newest is None:
        return None
    why, text, count = WHY, newest.operator.text, plan.last_step
    why = why if said is None else WHY_TEXT.get(said.why, str(said.why))
    return DegradedSite(site, ((pane, pane),), step, count, text, newest.at, why, follows)
