"""What is true, kept apart from every machine: the logs, and what each site made of them.

Machines are believed nothing here. The sites' shells tell what was born, when it was polled, and
the content of each update in the moment it is written; from that the truth tells which records a
coverage stands for, and which ones a site must have read before it may call a pane closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

from headwater.algebra.coverage import Coverage, incarnation_tag
from headwater.algebra.sets import bitset
from headwater.algebra.summary import Summary
from headwater.sim.check.site_truth import SiteTruth
from headwater.sim.outcome import Violation
from headwater.sim.records.bag import Bag, numbers_text

UpdateId = tuple[str, int, int, int, int]
"""(query, pane, ordinal, incarnation, update)."""


class Truth:
    """The federation's logs and every update that was ever made."""

    def __init__(self) -> None:
        self.forged: dict[tuple[str, int], set[tuple[int, int, int]]] = {}
        """(query, pane) -> (ordinal, incarnation, update) that a liar claimed in what it merged of
        nothing."""
        self.sites: dict[int, SiteTruth] = {}
        self._updates: dict[UpdateId, Any] = {}
        self._counts: dict[tuple[str, int, int, int], int] = {}
        self._contents: dict[tuple[str, int, Coverage], Bag] = {}
        self._dealt: dict[tuple[str, int], dict[int, float]] = {}
        """By query and pane: the part of the bound that each site has used."""
        self.dropped: Callable[[], int] = lambda: 0
        """Records that some relay has left out of some piece that it had merged."""
        self.moved = 0
        """Panes that sites have closed with a share that was not the even one."""

    def deal(self, query: str, pane: int, ordinal: int, part: float | None, *, of: int) -> None:
        """A site closes the pane by this part of a bound; None: an even one of so many. Of several
        lives the largest counts: nobody knows which the root has."""
        used = self._dealt.setdefault((query, pane), {})
        used[ordinal] = max(used.get(ordinal, 0.0), 1.0 / of if part is None else part)
        self.moved += part is not None and 0.0 < part != 1.0 / of
        if sum(used.values()) > 1.0 + 1e-9:
            raise Violation(
                "shares come to the whole at most", f"{query} pane {pane}: sites use {used}"
            )

    def add_update(self, query: str, pane: int, ordinal: int, incarnation: int, bag: Any) -> int:
        """A site writes a further update; its number."""
        key = (query, pane, ordinal, incarnation)
        number = self._counts.get(key, 0) + 1
        self._counts[key] = number
        self._updates[(*key, number)] = bag
        return number

    def lives_anew(self, ordinal: int, former: int, incarnation: int, *, born_s: float) -> None:
        """A site goes on with the same disk under another incarnation."""
        for (query, pane, of, life), count in list(self._counts.items()):
            if of == ordinal and life == former:
                self._counts[query, pane, of, incarnation] = count
                for number in range(1, count + 1):
                    bag = self._updates[query, pane, of, life, number]
                    self._updates[query, pane, of, incarnation, number] = bag
        site = self.sites[ordinal]
        site.incarnations.append(incarnation)
        site.born_s.append(born_s)
        site.renamed[incarnation] = former
        site.states.lives_anew(former, incarnation)
        for placements in site.all_placements():
            placements.lives_anew(former, incarnation)

    def forge(self, summary: Summary) -> None:
        """A liar has made this of nothing. What it claims is not true of the pane's answers until
        sites' own words have replaced it."""
        for one in summary.by_pane():
            claims = self.forged.setdefault((one.query, one.pane), set())
            claims.update(self.updates_of(one.query, one.pane, one.coverage))

    def is_forged(self, query: str, panes: Iterable[int]) -> bool:
        return bool(self.forged) and any((query, pane) in self.forged for pane in panes)

    def has_false_values(self, query: str, pane: int) -> bool:
        """Whether a liar has claimed an update that its site did make: its presence is true, and
        its rows are the carriers' word."""
        claims = self.forged.get((query, pane), ())
        return any(self.update(query, pane, *claim) is not None for claim in claims)

    def update(self, query: str, pane: int, ordinal: int, incarnation: int, number: int) -> Any:
        """What that update holds; None: it was never made."""
        return self._updates.get((query, pane, ordinal, incarnation, number))

    def update_count(self, query: str, pane: int, ordinal: int, incarnation: int) -> int:
        return self._counts.get((query, pane, ordinal, incarnation), 0)

    def records_in_updates(
        self, query: str, pane: int, ordinal: int, incarnation: int, through: int
    ) -> int:
        """The records in updates 1 … ``through`` of one site."""
        key = (query, pane, ordinal, incarnation)
        bits = 0
        for number in range(1, min(through, self._counts.get(key, 0)) + 1):
            bits |= self._updates[(*key, number)].once
        return bits

    def content(self, query: str, pane: int, coverage: Coverage) -> Bag:
        """The records that this coverage stands for."""
        key = (query, pane, coverage)
        found = self._contents.get(key)
        if found is None:
            found = self._contents[key] = self._content(query, pane, coverage)
        return found

    def updates_of(self, query: str, pane: int, coverage: Coverage) -> list[tuple[int, int, int]]:
        """(ordinal, incarnation, update) of everything that is in."""
        found = [
            (part.ordinal, part.incarnation, update)
            for part in coverage.parts
            for first, last in part.updates
            for update in range(first, last + 1)
        ]
        lives = self.lives_of(coverage)
        found += [(o, lives[o], 1) for o in bitset.members(coverage.whole)]
        for group in coverage.groups:
            updates = [n for a, b in group.updates for n in range(a, b + 1)]
            found += [(o, lives[o], n) for o in bitset.members(group.sites) for n in updates]
        return found

    def lives_of(self, coverage: Coverage) -> dict[int, int]:
        """Which incarnation of each site in the bitmaps it is, found by the tags."""
        bits = (coverage.whole | coverage.empty, coverage.tag)
        tagged = [bits, *((group.sites, group.tag) for group in coverage.groups)]
        return {o: life for one in tagged for o, life in self._lives_by(*one).items()}

    def _lives_by(self, sites: int, wanted: int) -> dict[int, int]:
        ordinals = list(bitset.members(sites))
        for lives in product(*(reversed(self.sites[o].incarnations) for o in ordinals)):
            tag = 0
            for ordinal, life in zip(ordinals, lives, strict=True):
                tag ^= incarnation_tag(ordinal, life)
            if tag == wanted:
                return dict(zip(ordinals, lives, strict=True))
        raise Violation("true coverage", f"no incarnations of {ordinals} have tag {wanted}")

    def _content(self, query: str, pane: int, coverage: Coverage) -> Bag:
        bag = Bag()
        for ordinal, incarnation, update in self.updates_of(query, pane, coverage):
            made = self._updates.get((query, pane, ordinal, incarnation, update))
            if made is None:
                raise Violation(
                    "true coverage",
                    f"{query} pane {pane}: site {ordinal} never cut update {update}",
                )
            bag = bag.merge(made)
        return bag


def check_rows(query: str, pane: int, coverage: Coverage, rows: Bag | None, truth: Truth) -> None:
    """A summary holds exactly what its coverage says, and nothing twice; but for panes of which a
    liar has said something."""
    bag = rows or Bag()
    if bag.twice:
        raise Violation("no double counting", f"{query} pane {pane}: {numbers_text(bag.twice)}")
    if truth.is_forged(query, (pane,)):
        return
    stated = truth.content(query, pane, coverage)
    if coverage.thinned:
        bag = _with_dropped(query, pane, coverage, bag, stated, truth)
    if stated.once != bag.once:
        raise Violation(
            "true coverage",
            f"{query} pane {pane}: stated but not in: {numbers_text(stated.once & ~bag.once)}; "
            f"in but not stated: {numbers_text(bag.once & ~stated.once)}",
        )


def _with_dropped(
    query: str, pane: int, coverage: Coverage, bag: Bag, stated: Bag, truth: Truth
) -> Bag:
    """With what relays have left out of it, which is as much as it says."""
    dropped = stated.once & ~bag.once
    said = coverage.thinned[0]
    if said.total != dropped.bit_count() or dropped & ~truth.dropped() or not coverage.is_merged:
        raise Violation(
            "what relays leave out is told",
            f"{query} pane {pane}: {said}, and it lacks {numbers_text(dropped)}",
        )
    return Bag(bag.once | dropped, bag.twice)
