"""What an answer says of sites that have given up some of its data, because of a narrow way.

A site says in its state from which pane on it is at which step of the degradation, and why. Of a
threshold that matters only where something was kept back by it, and until the rest of that is in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import NamedTuple

import msgspec

from headwater.algebra.panes import MICROS, WindowSpec
from headwater.algebra.remainders.remainder import Remainders, merge_remainders
from headwater.algebra.sets import bitset, ranges
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.words.degraded import Degraded, Why, begun_at, degraded_at
from headwater.plan.altered.settings import Settings
from headwater.plan.degrading.degradation import LEVEL_KINDS, Degradation, Level, OperatorKind
from headwater.plan.timestamps import timestamp_text
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
    since_us: int | None = None
    """From when on it has given something up without a break; None: nobody knows any more."""
    error: float | None = None
    """By how much a row may be off by what this site keeps back, in the column that the operator
    names; None: by nothing, or that can't be told from what others do (they are merged)."""

    def text(self) -> str:
        """
        >>> DegradedSite("fra", ((5, 7),), 2, 4, "sample(url, 1/4)", 2, "why").text()
        'fra: degraded: sample(url, 1/4) at level 2 (step 2 of 4), panes 5 to 7: why; it stays so'
        >>> DegradedSite("a", ((5, 5),), 1, 1, "top", 1, "why", since_us=5, error=3.0).text()
        'a: degraded: top at level 1 (step 1 of 1), panes 5, since 1970-01-01 00:00:00 UTC: why, \
off by at most 3; it stays so'
        """
        panes = ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in self.panes[:8])
        later = "the rest follows" if self.follows else "it stays so"
        off = "" if self.error is None else f", off by at most {self.error:g}"
        return (
            f"{self.site}: degraded: {self.operator} at level {self.level} (step {self.step} of "
            f"{self.of}), panes {panes}{_since_text(self.since_us)}: {self.why}{off}; {later}"
        )


def _since_text(since_us: int | None) -> str:
    if since_us is None:
        return ""
    return f", since {timestamp_text(since_us - since_us % MICROS)}"


class Word(NamedTuple):
    """What a site has said of a pane."""

    said: Degraded | None
    since_us: int | None


def word_of(table: SiteTable, ordinal: int, pane: int, spec: WindowSpec) -> Word:
    view = table.views.get(ordinal)
    if view is None:
        return Word(None, None)
    begun = begun_at(view.state.degraded, pane)
    since_us = None if begun is None else spec.pane_start_us(begun)
    return Word(degraded_at(view.state.degraded, pane), since_us)


class Rests:
    """What sites keep back of one pane."""

    def __init__(self, board: PaneBoard, settings: Settings, *, sealed_through: int) -> None:
        self.pane = board.pane
        self.follows = settings.follows or settings.owes_rest
        is_sealed = board.pane < sealed_through
        rests = board.kept_back(gives_back=self.follows, is_sealed=is_sealed)
        self._parts = [
            (bitset.union(sites for sites, _ in rest.sites), rest.withheld)
            for rest, _ in rests
            if rest.withheld
        ]
        self.sites = bitset.union(sites for sites, _ in self._parts)
        """Of whom something is kept back; of a piece of several all."""
        self._column = 0 if settings.tolerance is None else settings.tolerance.named_column

    def of(self, ordinal: int) -> Remainders | None:
        """What one site keeps back; None: it is merged with what others do."""
        mine = [(sites, found) for sites, found in self._parts if sites >> ordinal & 1]
        nothing: Remainders = ()
        is_alone = all(sites == 1 << ordinal for sites, _ in mine)
        return reduce(merge_remainders, (one for _, one in mine), nothing) if is_alone else None

    def error_of(self, mine: Remainders | None) -> float | None:
        return mine[self._column].largest if mine and self._column < len(mine) else None


def degraded_sites(
    table: SiteTable, boards: Sequence[PaneBoard], spec: WindowSpec, *, sealed_through: int
) -> tuple[DegradedSite, ...]:
    """All of them; an envelope lists the first."""
    panes: dict[_Key, list[int]] = {}
    errors: dict[_Key, list[float | None]] = {}
    plans: dict[_Key, tuple[Degradation, bool]] = {}
    for board in boards:
        settings = table.settings.at(board.pane)
        plan = settings.degradation
        if plan is None:
            continue
        rests = Rests(board, settings, sealed_through=sealed_through)
        for ordinal, said, kinds in _said(table, board, plan, rests.sites):
            key = (ordinal, said.step, said.why, kinds)
            panes.setdefault(key, []).append(board.pane)
            plans[key] = plan, settings.follows
            is_kept = bool(rests.sites >> ordinal & 1)
            errors.setdefault(key, []).append(rests.error_of(rests.of(ordinal)) if is_kept else 0.0)
    found = []
    for key, of in sorted(panes.items()):
        one = _described(table.names[key[0]], key, of, *plans[key])
        known = [error for error in errors[key] if error is not None]
        error = sum(known) if len(known) == len(of) and any(known) else None
        since_us = word_of(table, key[0], of[0], spec).since_us
        if one is not None:
            found.append(msgspec.structs.replace(one, since_us=since_us, error=error))
    return tuple(found)


def _said(
    table: SiteTable, board: PaneBoard, plan: Degradation, kept_back: int
) -> Iterator[tuple[int, Degraded, Kinds]]:
    """With the ordinals of their sites, and what may have been given up by them. ``kept_back``:
    the sites of which something is."""
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
    site: str, rests: Rests, plan: Degradation, word: Word, mine: Remainders | None
) -> DegradedSite | None:
    """Of a pane of which a threshold keeps something back; None: the plan has none."""
    said = word.said
    first = plan.step_of(OperatorKind.THRESHOLD, 1)
    step = first if said is None else min(max(first, said.step), plan.last_step)
    newest = _newest(plan, step, (OperatorKind.THRESHOLD,))
    if newest is None:
        return None
    why, text, count = WHY, newest.operator.text, plan.last_step
    why = why if said is None else WHY_TEXT.get(said.why, str(said.why))
    panes = ((rests.pane, rests.pane),)
    return DegradedSite(
        site,
        panes,
        step,
        count,
        text,
        newest.at,
        why,
        rests.follows,
        word.since_us,
        rests.error_of(mine),
    )
