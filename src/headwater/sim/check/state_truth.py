"""What is true of states: which records each site's state of a pane must have been made of.

The rule is in ``state_book``; here it is recounted from the log, from what the shells tell of the
reading, and apart from what a cube remembers.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import NamedTuple

from headwater.plan.query import Query
from headwater.sim.outcome import Violation
from headwater.sim.records.admits import admits
from headwater.sim.records.bag import numbers_text
from headwater.sim.world.log import Log


class StateMade(NamedTuple):
    """One site's state of one pane, as it was made."""

    bits: int
    below: int
    """The records below this position of the log were committed."""
    is_true: bool
    """It is the last n of all these records: nothing was missed that belongs to it."""


class StateTruth:
    """All state queries at one site, over all its lives."""

    def __init__(self, ordinal: int, log: Log) -> None:
        self._ordinal = ordinal
        self._log = log
        self._made: dict[tuple[str, int], dict[int, StateMade]] = {}
        """(query, pane) -> incarnation -> the state that it made."""
        self._read_from: dict[tuple[str, int], int] = {}
        self._missed: dict[str, set[int]] = {}

    def read(self, queries: Iterable[Query], incarnation: int, position: int) -> None:
        """A batch that begins at this position has these queries."""
        for query in queries:
            if query.holds_states:
                self._read_from.setdefault((str(query.id), incarnation), position)

    def missed(self, query: Query, positions: Iterable[int]) -> None:
        """The query failed on these."""
        self._missed.setdefault(str(query.id), set()).update(positions)

    def made(self, query: Query, pane: int, incarnation: int, bits: int, *, below: int) -> None:
        """A site writes the state of a pane, having committed all below this position."""
        first = self._read_from.get((str(query.id), incarnation), below)
        gone = self._log.lost | self._missed.get(str(query.id), set())
        wanted = self._last_n(query, pane, range(first, below), gone)
        if bits != wanted:
            raise Violation(
                "a state is the last n",
                f"{query.id} pane {pane}: site {self._ordinal} cuts {numbers_text(bits)}, of what "
                f"it has read {numbers_text(wanted)} are the last {query.last_n}",
            )
        is_true = bits == self._last_n(query, pane, range(below), set())
        lives = self._made.setdefault((str(query.id), pane), {})
        lives[incarnation] = StateMade(bits, below, is_true)

    def _last_n(self, query: Query, pane: int, positions: range, gone: Set[int]) -> int:
        """The last n of these records that lie in panes from the begin to this one."""
        log, bits, begin = self._log, 0, query.begin_pane
        assert isinstance(query.last_n, int), "only of a state query"
        assert begin is not None, "a state query has a begin"
        for position in reversed(positions):
            if bits.bit_count() == query.last_n:
                break
            number = log.numbers[position]
            if position in gone or not admits(query, number):
                continue
            if begin <= query.window.pane_at(log.times_us[position]) <= pane:
                bits |= 1 << number
        return bits

    def lives_anew(self, former: int, incarnation: int) -> None:
        """What a site made under one incarnation it has made under the other."""
        for lives in self._made.values():
            if former in lives:
                lives[incarnation] = lives[former]
        for (query, life), position in list(self._read_from.items()):
            if life == former:
                self._read_from[query, incarnation] = position

    def of(self, query: Query, pane: int) -> dict[int, StateMade]:
        """By incarnation: what the site's lives made for this pane."""
        return self._made.get((str(query.id), pane), {})
