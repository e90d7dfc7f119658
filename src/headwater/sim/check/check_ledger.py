"""What a root holds and says that it holds: checked at every write and every acknowledgement.

*Nothing acked is missing*: an acknowledgement is compared with the ledger in the moment it leaves,
and what a site believes to be acknowledged with the ledger in the moment the site writes it down.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from headwater.algebra.coverage import Coverage
from headwater.algebra.sets import bitset, ranges
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.edge.outputs import MarkAcked
from headwater.node.effects import Keep, Trim
from headwater.plan.query import Query
from headwater.root.outputs import KeptSummary, Replace
from headwater.sim.check.truth import Truth, check_rows
from headwater.sim.outcome import Violation
from headwater.sim.records.ledger_disk import LedgerDisk
from headwater.sim.world.disk import CubeDisk

PANES_CHECKED_MAX = 5_000
"""Of one range in an acknowledgement; a longer one is checked at its end, where news is."""


class LedgerCheck:
    """One ledger's content, indexed for questions; kept beside it, never inside."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._lives: dict[tuple[int, int], int] = {}
        """(pane, ordinal) -> the incarnation that it is counted from."""
        self._held: dict[tuple[int, int], set[int]] = {}
        """(pane, ordinal) -> updates held; 0 stands for a close without any."""
        self._said: set[tuple[int, int]] = set()
        """(pane, ordinal) that were acknowledged and found to be held."""
        self._closed: dict[tuple[int, int], int] = {}
        """(pane, ordinal) with a close of several updates -> how many it counts."""
        self._collapsed: set[int] = set()
        """Panes with such that were told in a range."""

    def keep(self, keep: Keep) -> bool:
        """A summary is accepted: true, new in every part, and of one life of each site."""
        kept = keep.kept
        check_rows(keep.query, kept.pane, kept.coverage, kept.rows, self._truth)
        lives = dict(self._truth.lives_of(_counted(kept.coverage)))
        for part in kept.coverage.parts:
            if part.updates or part.closed_at == 0:
                lives[part.ordinal] = part.incarnation
        for ordinal, life in lives.items():
            known = self._lives.setdefault((kept.pane, ordinal), life)
            if known != life:
                raise Violation(
                    "one incarnation",
                    f"{keep.query} pane {kept.pane}: site {ordinal} is counted from two lives",
                )
            self._held.setdefault((kept.pane, ordinal), set()).add(0)
        for ordinal, closed_at in closes_in(kept.coverage):
            if closed_at > 1:
                known = self._closed.get((kept.pane, ordinal), 0)
                self._closed[kept.pane, ordinal] = max(known, closed_at)
        is_late = False
        for ordinal, _, update in self._truth.updates_of(keep.query, kept.pane, kept.coverage):
            held = self._held[kept.pane, ordinal]
            if update in held:
                raise Violation(
                    "no double counting",
                    f"{keep.query} pane {kept.pane}: update {update} of site {ordinal} kept twice",
                )
            is_late = is_late or update > 1
            held.add(update)
        return is_late

    def replace(self, replace: Replace, disk: LedgerDisk) -> None:
        """Others take the place of some summaries of a pane: it is held as if they had been the
        only ones."""
        gone = set(replace.numbers)
        left = [k for n, k in disk.kept.items() if k.pane == replace.pane and n not in gone]
        for known in (self._lives, self._held, self._closed):
            for key in [key for key in known if key[0] == replace.pane]:
                del known[key]
        for kept in (*left, *replace.kept):
            self.keep(Keep(replace.query, kept))

    def presence(self, pane: int, ordinal: int) -> tuple[int | None, set[int]]:
        """(life, updates) that are held of this site's pane."""
        held = self._held.get((pane, ordinal), set()) - {0}
        return self._lives.get((pane, ordinal)), held

    def is_forged(self, query: str, pane: int) -> bool:
        return self._truth.is_forged(query, (pane,))

    def has_word(self, pane: int, ordinal: int) -> bool:
        """Whether anything is held of this site's pane, if only a close."""
        return (pane, ordinal) in self._held

    def holds(self, pane: int, ordinal: int, incarnation: int, updates: range) -> bool:
        if len(updates) == 0:
            return True
        held = self._held.get((pane, ordinal), set())
        return self._lives.get((pane, ordinal)) == incarnation and held.issuperset(updates)

    def is_counted_from_another(self, pane: int, ordinal: int, incarnation: int) -> bool:
        """A site that reads its finite input again finds its panes held from its former life."""
        return self._lives.get((pane, ordinal), incarnation) != incarnation

    def acknowledge(
        self, ack: Acknowledgement, query: Query, expected: int, disk: LedgerDisk
    ) -> int:
        """Everything that the acknowledgement says is in the ledger, now; how many panes of several
        updates are told in ranges that were not before."""
        for held in ack.panes:
            for ordinal in bitset.members(held.sites):
                self._check_said(query, held.pane, ordinal, ack, disk)
        for first, last in ack.held:
            for pane in range(max(first, last - PANES_CHECKED_MAX), last + 1):
                for ordinal in bitset.members(expected):
                    self._check_said(query, pane, ordinal, ack, disk)
        self._check_several(ack, expected, disk)
        for extra in ack.extra:
            if self.is_forged(ack.query, extra.pane):
                continue  # it may have been replaced since this was made
            for first, last in extra.updates:
                updates = range(first, last + 1)
                if not self.holds(extra.pane, extra.ordinal, extra.incarnation, updates):
                    raise Violation("nothing acked is missing", f"{ack.query}: extra {extra}")
        for rounds in ack.rounds:
            updates = range(rounds.first, rounds.last + 1)
            for ordinal in bitset.members(rounds.sites):
                key = rounds.pane, ordinal
                if self.is_forged(ack.query, rounds.pane) or len(updates) == 0:
                    continue
                if not self._held.get(key, set()).issuperset(updates):
                    raise Violation("nothing acked is missing", f"{ack.query}: rounds {rounds}")
        for greeting in ack.greetings:
            kept = disk.states.get((greeting.ordinal, greeting.incarnation))
            if kept is None or kept.state.number < greeting.number:
                raise Violation("nothing acked is missing", f"{ack.query}: greeting {greeting}")
        begin = query.begin_pane or 0
        if ack.done_through > (begin if disk.done_through is None else disk.done_through):
            raise Violation(
                "nothing acked is missing",
                f"{ack.query}: done through {ack.done_through}, ledger {disk.done_through}",
            )
        found = {pane for pane, _ in self._closed if ranges.contains(ack.held, pane)}
        news, self._collapsed = len(found - self._collapsed), self._collapsed | found
        return news

    def _check_several(self, ack: Acknowledgement, expected: int, disk: LedgerDisk) -> None:
        """Where all is said to be held, all is that the newest close counts which is held. One that
        was made before may not have known that close. Of a life that is over nothing more is
        awaited: who lives anew, by an earlier clock, has what can't count, and need not keep it."""
        if ack.age_s > 0.0:
            return
        spelled = {held.pane: held.sites for held in ack.panes}
        for (pane, ordinal), closed_at in self._closed.items():
            is_held = ranges.contains(ack.held, pane) and expected >> ordinal & 1
            if not is_held and not spelled.get(pane, 0) >> ordinal & 1:
                continue
            held = self._held.get((pane, ordinal), set())
            is_all = ack.tells_several and held.issuperset(range(1, closed_at + 1))
            is_over = self._is_of_former_life(pane, ordinal, disk) or _is_told(pane, ordinal, disk)
            if not (is_all or is_over or self.is_forged(ack.query, pane)):
                raise Violation(
                    "nothing acked is missing",
                    f"{ack.query} pane {pane}: site {ordinal} closed it with {closed_at} updates, "
                    f"of which {sorted(held - {0})} are held, and it is called held",
                )

    def _is_of_former_life(self, pane: int, ordinal: int, disk: LedgerDisk) -> bool:
        life = self._lives.get((pane, ordinal))
        return life is not None and any(o == ordinal and life < new for o, new in disk.states)

    def _check_said(
        self, query: Query, pane: int, ordinal: int, ack: Acknowledgement, disk: LedgerDisk
    ) -> None:
        site = self._truth.sites.get(ordinal)
        is_drawn = site is None or site.takes(query, pane)
        if query.stands_for is not None:
            return  # of a site that takes no pane nothing is awaited; see ``check_marked``
        if not is_drawn or (pane, ordinal) in self._said or self.is_forged(ack.query, pane):
            return
        held = self._held.get((pane, ordinal), ())
        if not (1 in held or 0 in held or _is_told(pane, ordinal, disk)):
            raise Violation(
                "nothing acked is missing",
                f"{ack.query} pane {pane}: site {ordinal} acknowledged, but not in the ledger",
            )
        self._said.add((pane, ordinal))


def closes_in(coverage: Coverage) -> Iterator[tuple[int, int]]:
    """(ordinal, updates) of all closes."""
    bitmaps = [(coverage.whole, 1), (coverage.empty, 0)]
    bitmaps += [(one.sites, one.closed_at) for one in coverage.groups if one.closed_at is not None]
    for sites, closed_at in bitmaps:
        yield from ((ordinal, closed_at) for ordinal in bitset.members(sites))
    yield from ((p.ordinal, p.closed_at) for p in coverage.parts if p.closed_at is not None)


def _is_told(pane: int, ordinal: int, disk: LedgerDisk) -> bool:
    """Whether a state of the site, in any life, says that the pane is empty or never comes."""
    for (of, _), kept in disk.states.items():
        state = kept.state
        if of == ordinal and (
            ranges.contains(state.empty, pane)
            or any(d.first <= pane <= d.last for d in state.declined)
            or state.first_pane is None
            or pane < state.first_pane
        ):
            return True
    return False


def check_marked(
    acked: MarkAcked,
    ordinal: int,
    incarnation: int,
    cube: CubeDisk,
    root: LedgerCheck,
    disk: LedgerDisk,
) -> None:
    """A site writes down what it need not send again: the root must have all of it, or know that
    the site has declined it."""
    done_through = disk.done_through if disk.done_through is not None else acked.done_through
    if acked.done_through > done_through:
        raise Violation(
            "nothing acked is missing",
            f"{acked.query}: site {ordinal} believes in done through {acked.done_through}, "
            f"the root in {disk.done_through}",
        )
    for pane, at in cube.held(acked.query).items():
        if pane < done_through or not ranges.contains(acked.panes, pane):
            continue
        if root.is_counted_from_another(pane, ordinal, incarnation):
            continue
        if any(one.first <= pane <= one.last for one in cube.records[acked.query].declined):
            continue
        if root.is_forged(acked.query, pane):
            continue
        if not root.holds(pane, ordinal, incarnation, range(1, len(at.updates) + 1)):
            raise Violation(
                "nothing acked is missing",
                f"{acked.query} pane {pane}: site {ordinal} believes its {len(at.updates)} "
                "updates are acknowledged; the root lacks one",
            )


def trimmed_early(trim: Trim, disk: LedgerDisk, query: Query, *, now_s: float) -> list[int]:
    """The windows below ``done_through`` that are neither final nor past the horizon."""
    return [
        window
        for window, answered in disk.answers.items()
        if query.window.panes_of(window)[-1] < trim.done_through
        and not answered.envelope.final
        and (
            query.numbers is not None
            or query.window.window_end_us(window) / 1e6 + query.timing.revise_for_s > now_s
        )
    ]


def rows_of(kept: KeptSummary) -> int:
    return 0 if kept.rows is None else kept.rows.once


def _counted(coverage: Coverage) -> Coverage:
    """Without groups of which nothing is in, and that only say how many updates there are: as
    such a part, they count nobody."""
    groups = tuple(one for one in coverage.groups if one.updates or one.closed_at == 0)
    return msgspec.structs.replace(coverage, groups=groups)
