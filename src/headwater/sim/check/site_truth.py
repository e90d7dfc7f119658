"""What is true of one site: what its log has, when it was polled, and what it must have read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import reduce
from operator import or_

from headwater.algebra.panes import MICROS
from headwater.algebra.remainders.error_bound import ErrorBound
from headwater.algebra.sets import bitset
from headwater.edge.closing.root_time import STEP_S
from headwater.plan.query import Query, TimeKind
from headwater.sim.check.number_truth import NOT_YET, NumberTruth, PaneIndex
from headwater.sim.check.past_truth import PastTruth
from headwater.sim.check.state_truth import StateTruth
from headwater.sim.outcome import Violation
from headwater.sim.records.bag import numbers_text
from headwater.sim.records.placements import Placements
from headwater.sim.world.log import Log


class SiteTruth:
    """One site's log as it was read, over all its lives."""

    def __init__(self, ordinal: int, log: Log) -> None:
        self.ordinal = ordinal
        self.log = log
        self.incarnations: list[int] = []
        self.born_s: list[float] = []
        """Wall clock when each of them was made."""
        self.lost_s: list[float] = []
        """What its node took the time of day to be whenever the disk was lost."""
        self.renamed: dict[int, int] = {}
        """Incarnations under which a disk went on, and what it was called before."""
        self._poll_highs_s: list[float] = []
        self._poll_positions: list[int] = []
        self._standing: list[tuple[float, int]] = []
        """(clock, position) of polls whose clock no later poll has contradicted."""
        self._kept_back: dict[tuple[str, int], int] = {}
        self._asked: dict[tuple[str, int], dict[ErrorBound, None]] = {}
        self._staying: dict[tuple[str, int], int] = {}
        self.wrongly_refused: dict[tuple[str, int], int] = {}
        """By query and pane: records that were refused because a clock had been ahead."""
        self._indexes: dict[str, PaneIndex] = {}
        self.states = StateTruth(ordinal, log)
        self._placements: dict[str, Placements] = {}
        self.of_numbers = NumberTruth(log)
        self.of_past = PastTruth()
        self._ahead_s: dict[str, float] = {}
        """By query: no offset to the root's clock that the site went by was larger."""

    # ---- records that go by their age

    def placements(self, query: Query) -> Placements:
        """Of a query that goes by age."""
        found = self._placements.get(str(query.id))
        if found is None:
            found = self._placements[str(query.id)] = Placements(query, self.log)
        return found

    def all_placements(self) -> Iterable[Placements]:
        return self._placements.values()

    def recorded(self, query_id: str, *, offset_s: float | None) -> None:
        """The site writes a record of the query while it knows this offset to the root's clock.
        What it closes and seals it writes, and the offset that it goes by is near the known one."""
        most_s = 0.0 if offset_s is None else offset_s + STEP_S
        self._ahead_s[query_id] = max(self._ahead_s.get(query_id, most_s), most_s)

    def ahead_s(self, query: Query) -> float:
        """By how much the time that panes are numbered by was ahead of the site's, at most: so
        much before a pane's end, by its own clock, it may have closed the pane, not earlier."""
        return self._ahead_s.get(str(query.id), 0.0) if query.time is TimeKind.AGE else 0.0

    # ---- what was read, and when

    def sealed_before(self, query: Query, pane: int) -> int:
        """Records below this position came before the pane could be sealed."""
        if query.ends:
            return NOT_YET
        if query.numbers is not None:
            grid = query.numbers
            return self.of_numbers.reaching(query, pane, grid.disorder + grid.lateness)
        timing = query.timing
        assert timing.lateness_s is not None, "simulated queries say their lateness"
        lateness_s = min(timing.lateness_s, timing.revise_for_s)
        end_s = query.window.pane_end_us(pane) / MICROS
        by_poll = bisect_left(self._poll_highs_s, end_s + lateness_s - self.ahead_s(query))
        return self._poll_positions[by_poll] if by_poll < len(self._poll_positions) else NOT_YET

    def refuse(
        self, query: Query, numbers: list[int], pane: int, *, slot_count: int, is_damaged: bool
    ) -> None:
        """The cube drops records of a sealed pane: they must really have come too late, by the
        clock as it was. By a clock that was set back since they may have come in time; then the
        pane must never be called exact, which answers are held to."""
        standing = self._standing_before(query, pane)
        early = [number for number in numbers if number // slot_count < standing]
        if early and not is_damaged:
            known = self.wrongly_refused.get((str(query.id), pane), 0)
            self.wrongly_refused[str(query.id), pane] = known | bitset.of(early)
        position = self.sealed_before(query, pane)
        for number in numbers:
            if number // slot_count < position:
                raise Violation(
                    "too late is late",
                    f"{query.id} pane {pane}: site {self.ordinal} refuses record {number}, "
                    "which was there before the pane could be sealed",
                )

    def _standing_before(self, query: Query, pane: int) -> int:
        """As ``sealed_before``, by polls whose clock still stands."""
        if query.numbers is not None:
            return -1
        timing = query.timing
        assert timing.lateness_s is not None, "simulated queries say their lateness"
        lateness_s = min(timing.lateness_s, timing.revise_for_s) - timing.disorder_s
        due_s = query.window.pane_end_us(pane) / MICROS + lateness_s - self.ahead_s(query)
        at = bisect_left(self._standing, (due_s, -1))
        return self._standing[at][1] if at < len(self._standing) else NOT_YET

    def polled(self, *, clock_s: float, position: int) -> None:
        """A poll began at ``clock_s`` and found the log that long."""
        while self._standing and self._standing[-1][0] >= clock_s:
            self._standing.pop()
        self._standing.append((clock_s, position))
        if not self._poll_highs_s or clock_s > self._poll_highs_s[-1]:
            self._poll_highs_s.append(clock_s)
            self._poll_positions.append(position)

    def records(self, query: Query, pane: int) -> list[tuple[int, int]]:
        """(position, number) of all records that the site's log holds for this pane, if it is any
        of the query's."""
        if not self.takes(query, pane):
            return []
        found = self._index(query).records(pane)
        if query.numbers is None:
            return found
        first = self.of_numbers.read_from(query)
        return [record for record in found if record[0] >= first]

    def takes(self, query: Query, pane: int) -> bool:
        """Whether a random demand has drawn it, where there is one."""
        return query.draw is None or query.draw.has(pane, self.ordinal)

    def panes_with_records(self, query: Query) -> list[int]:
        self.records(query, 0)
        panes = sorted(pane for pane in self._index(query).panes if self.takes(query, pane))
        if query.numbers is None:
            return panes
        return [pane for pane in panes if not self.of_numbers.begins_after(query, pane)]

    def _index(self, query: Query) -> PaneIndex | Placements:
        if query.time is TimeKind.AGE:
            return self.placements(query)
        index = self._indexes.get(str(query.id))
        if index is None:
            index = self._indexes[str(query.id)] = PaneIndex(query, self.log)
        return index

    def read_before(self, time_s: float) -> int:
        """Up to which position a site has read at least, once it may say "all up to this time".

        A read that began after that time has seen the log up to there, and a site that is behind
        has read up to a record of that time; whichever needs less.
        """
        by_poll = bisect_left(self._poll_highs_s, time_s)
        by_record = bisect_left(self.log.highs_us, int(time_s * MICROS))
        return min(
            self._poll_positions[by_poll] if by_poll < len(self._poll_positions) else NOT_YET,
            by_record if by_record < len(self.log.highs_us) else NOT_YET,
        )

    def lost_in(self, query: Query, pane: int, in_it: int) -> bool:
        """Whether bytes vanished that a close of the pane would have to include; of a state query:
        whether what is in an answer is not the last n."""
        if query.holds_states:
            lives = self.states.of(query, pane).values()
            return not any(made.bits == in_it and made.is_true for made in lives)
        position = self._must_read(query, pane)
        self.records(query, pane)
        return any(at < position for at in self._index(query).lost_in(pane))

    def due(self, query: Query, pane: int) -> int | None:
        """The records that a close of the pane must include; None: it can't be closed yet."""
        position = self._must_read(query, pane)
        if position == NOT_YET:
            return None
        return bits_of(self.records(query, pane), below=position)

    def keep_back(
        self, query: str, pane: int, bits: int, asked: ErrorBound, *, stays: bool
    ) -> None:
        """The site has closed the pane without these records, as the query allows."""
        self._kept_back[query, pane] = self.kept_back(query, pane) | bits
        self._asked[query, pane] = {**self.asked(query, pane), asked: None}
        self._staying[query, pane] = self.staying(query, pane) | (bits if stays else 0)

    def asked(self, query: str, pane: int) -> dict[ErrorBound, None]:
        """The errors by which it has kept back of the pane, in any of its lives."""
        return self._asked.get((query, pane), {})

    def staying(self, query: str, pane: int) -> int:
        """What of it never follows."""
        return self._staying.get((query, pane), 0)

    def kept_back(self, query: str, pane: int) -> int:
        """In any of its lives; it may have followed since."""
        return self._kept_back.get((query, pane), 0)

    # What an answer may have, and must have, of this site's pane; each says what is lacking

    def born(self, query: Query, pane: int) -> int:
        """All that could be in it."""
        if query.holds_states:
            return reduce(or_, (made.bits for made in self.states.of(query, pane).values()), 0)
        return bits_of(self.records(query, pane))

    def lack(self, query: Query, pane: int, in_it: int) -> str:
        """Why ``in_it`` is not what a close of the pane includes; empty: it is."""
        if query.holds_states:
            return self._lack_state(query, pane, in_it)
        due = self.due(query, pane)
        if due is None:
            return "it can't be closed yet"
        return f"lacks {numbers_text(due & ~in_it)}" if due & ~in_it else ""

    def lack_at_end(self, query: Query, pane: int, in_it: int) -> str:
        """The same of a final answer, which has all that was not too late."""
        if query.holds_states:
            return self._lack_state(query, pane, in_it)
        position = self.sealed_before(query, pane)
        in_it |= self.staying(str(query.id), pane)
        lost = bits_of(self.records(query, pane), below=position) & ~in_it
        return f"without {numbers_text(lost)}" if lost else ""

    def lack_closed(self, query: Query, pane: int, incarnation: int, made: int) -> str:
        """The same of a close of this life, with the records of the updates that it counts."""
        if query.holds_states:
            state = self.states.of(query, pane).get(incarnation)
            is_state = state is not None and state.bits == made
            return (
                self._lack_state(query, pane, made) if is_state else "it is not the state's close"
            )
        due = self.due(query, pane)
        if due is None:
            return "it has not read so far"
        return numbers_text(due & ~made & ~self.kept_back(str(query.id), pane))

    def _lack_state(self, query: Query, pane: int, in_it: int) -> str:
        """A state is in it whole, as one of the site's lives made it after reading far enough."""
        lives = self.states.of(query, pane).values()
        position = self._must_read(query, pane)
        if any(made.bits == in_it and made.below >= position for made in lives):
            return ""
        known = "; ".join(f"{numbers_text(made.bits)} below {made.below}" for made in lives)
        return f"{numbers_text(in_it)} is no state of below {position}; cut were: {known or '-'}"

    def _must_read(self, query: Query, pane: int) -> int:
        if query.ends:
            return self._poll_positions[0] if self._poll_positions else NOT_YET
        if query.numbers is not None:
            return self.of_numbers.reaching(query, pane, query.numbers.disorder)
        end_s = query.window.pane_end_us(pane) / MICROS
        return self.read_before(end_s + query.timing.disorder_s - self.ahead_s(query))


def bits_of(records: list[tuple[int, int]], *, below: int = NOT_YET) -> int:
    return bitset.of(number for position, number in records if position < below)
