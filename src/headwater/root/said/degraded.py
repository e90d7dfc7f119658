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
from headwater.plan.degrading.degradation import LEVEL_KINDS, Degradation, OperatorKind
from headwater.root.pane_board import PaneBoard
from headwater.root.site_table import SiteTable

DEGRADED_LISTED_MAX = 50
KEEPING = ([OperatorKind.THRESHOLD], [OperatorKind.TOP])
"""Operators that matter only where something is kept back by them."""
WHY_TEXT = {
    Why.CAPACITY: "the way carries less than all of it",
    Why.BUDGET: "its budget is less than all of it takes",
    Why.QUEUE: "what was made waited",
    Why.BACKLOG: "its backlog was more than may wait",
    Why.RESTORED: "a finer step has room again",
}


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
    panes: dict[tuple[int, int, Why], list[int]] = {}
    plans: dict[tuple[int, int, Why], tuple[Degradation, bool]] = {}
    for board in boards:
        settings = table.settings.at(board.pane)
        plan = settings.degradation
        if plan is None:
            continue
        for ordinal, said in _said(
            table, board, plan, follows=settings.follows, is_sealed=board.pane < sealed_through
        ):
            key = (ordinal, said.step, said.why)
            panes.setdefault(key, []).append(board.pane)
            plans[key] = plan, settings.follows
    found = (
        _described(table.names[key[0]], key, of, *plans[key]) for key, of in sorted(panes.items())
    )
    return tuple(one for one in found if one is not None)


def _said(
    table: SiteTable, board: PaneBoard, plan: Degradation, *, follows: bool, is_sealed: bool
) -> Iterator[tuple[int, Degraded]]:
    """With the ordinals of their sites."""
    kept_back = board.keeping_back(gives_back=follows, is_sealed=is_sealed)
    for ordinal in bitset.members(table.degraded & table.expected & ~board.undrawn):
        said = degraded_at(table.views[ordinal].state.degraded, board.pane)
        if said is None:
            continue
        used = [one.operator.kind for one in plan.levels_at(said.step) if one.at]
        if used in KEEPING and not kept_back >> ordinal & 1:
            continue
        if used and used[-1] in LEVEL_KINDS and not table.views[ordinal].is_coarse(board.pane):
            continue
        yield ordinal, said


def _described(
    site: str, key: tuple[int, int, Why], panes: list[int], plan: Degradation, follows: bool
) -> DegradedSite | None:
    _, step, why = key
    newest = plan.newest_at(step)
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
