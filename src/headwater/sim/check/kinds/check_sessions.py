"""Sessions in answers: those of the records that are in them, and every record in one window's.

A site's rows are fragments, here as elsewhere: of each key and pane the first and the last time,
and which records they have. What the root makes of them (``SessionMerger``) is held against a
recount of the records in the answer. Windows overlap by the look-back, so at the end of a run each
record must be in the sessions of one window, or its session is too long for any.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import pyarrow as pa

from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.sets import bitset
from headwater.algebra.windows.sessions import SessionMerger, Sessions
from headwater.plan.query import Query
from headwater.plan.roster import Roster
from headwater.sim.check.truth import Truth
from headwater.sim.outcome import Violation
from headwater.sim.records.bag import Bag, numbers_text
from headwater.sim.transcript import Transcript

SESSIONS_SOMETIMES = (
    "a session was answered",
    "a session was too long",
    "a session went over sites and panes",
)
KEYS = 3
"""What is left of a position by it is the key of its record: a user, of whom all sites know."""

Found = frozenset[tuple[int, int, int, int, int]]
"""(key, first time, last time, count, sum of numbers)."""


class _Layout(msgspec.Struct, frozen=True):
    keys: tuple[Column, ...] = (Column("key", "bigint"),)
    partials: tuple[Partial, ...] = (
        Partial("first", "timestamp", "min"),
        Partial("last", "timestamp", "max"),
        Partial("count", "bigint", "sum"),
        Partial("sum", "bigint", "sum"),
    )


class SessionCheck:
    """Of all queries of a run that ask for sessions."""

    def __init__(self, roster: Roster, truth: Truth, transcript: Transcript) -> None:
        self._ordinals = [site.ordinal for site in roster.sites]
        self._truth = truth
        self._count = transcript.count
        self._answered: dict[tuple[str, int], int] = {}
        """By query and window: the records in its sessions, of the newest answer."""

    def published(self, query: Query, window: int, bag: Bag) -> None:
        sessions = query.sessions
        assert isinstance(sessions, Sessions), "only of sessions"
        if self._truth.is_forged(str(query.id), query.window.panes_of(window)):
            return
        end_us = query.window.window_end_us(window)
        made = self._made(query, sessions, bag, end_us=end_us)
        ended = [one for one in self._sessions(sessions, bag) if _ends(sessions, one, end_us)]
        short = [one for one in ended if one[-1][0] - one[0][0] <= sessions.longest_us]
        recount = frozenset(
            (number // len(self._ordinals) % KEYS, one[0][0], one[-1][0], len(one), _sum(one))
            for one in short
            for number in [one[0][1]]
        )
        if made != recount:
            raise Violation(
                "sessions are those of the records",
                f"{query.id} window {window}: {sorted(made - recount)} are none, "
                f"{sorted(recount - made)} are not answered",
            )
        self._answered[str(query.id), window] = bitset.of(n for one in short for _, n in one)
        self._count_sessions(query, short)
        if len(short) < len(ended):
            self._count("a session was too long")

    def _count_sessions(self, query: Query, found: list[list[tuple[int, int]]]) -> None:
        for one in found:
            panes = {query.window.pane_at(time_us) for time_us, _ in one}
            sites = {number % len(self._ordinals) for _, number in one}
            self._count("a session was answered")
            if len(panes) > 1 and len(sites) > 1:
                self._count("a session went over sites and panes")

    def _made(self, query: Query, sessions: Sessions, bag: Bag, *, end_us: int) -> Found:
        """As a root does it, of the fragments that sites and relays have made of these records."""
        merger = SessionMerger(_Layout(), sessions)
        fragments: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for key, records in self._by_key(bag).items():
            for time_us, number in records:
                pane = query.window.pane_at(time_us)
                fragments.setdefault((pane, key), []).append((time_us, number))
        tables = [
            pa.table(
                [[key], [one[0][0]], [one[-1][0]], [len(one)], [_sum(one)]],
                names=["key", "first", "last", "count", "sum"],
            )
            for (_, key), one in sorted(fragments.items())
        ]
        rows = merger.ended([table.cast(merger.schema) for table in tables], end_us=end_us)
        columns = [rows.merged.column(name).cast(pa.int64()) for name in merger.schema.names]
        return frozenset(zip(*(column.to_pylist() for column in columns), strict=True))

    def _sessions(self, sessions: Sessions, bag: Bag) -> list[list[tuple[int, int]]]:
        """All sessions of these records, by the definition: (time, number) of each."""
        found: list[list[tuple[int, int]]] = []
        for records in self._by_key(bag).values():
            for before, record in zip([None, *records], records, strict=False):
                if before is None or record[0] - before[0] > sessions.gap_us:
                    found.append([])
                found[-1].append(record)
        return found

    def _by_key(self, bag: Bag) -> Mapping[int, list[tuple[int, int]]]:
        """(time, number) of each key, in the order of time."""
        by_key: dict[int, list[tuple[int, int]]] = {}
        for number in bitset.members(bag.once):
            position, slot = divmod(number, len(self._ordinals))
            time_us = self._truth.sites[self._ordinals[slot]].log.times_us[position]
            by_key.setdefault(position % KEYS, []).append((time_us, number))
        return {key: sorted(records) for key, records in by_key.items()}

    def each_once(self, query: Query, windows: Iterable[int], bags: Mapping[int, Bag]) -> None:
        """At the end, of windows that are exact: no record is in the sessions of two, and a session
        that one of them has within is in the answer of the window in which it ends."""
        sessions, spec = query.sessions, query.window
        assert isinstance(sessions, Sessions), "only of sessions"
        forged = self._truth.is_forged
        exact = {w for w in windows if not forged(str(query.id), spec.panes_of(w))}
        seen = 0
        for window in sorted(exact):
            in_it = self._answered.get((str(query.id), window), 0)
            if seen & in_it:
                raise Violation(
                    "a record is in one session",
                    f"{query.id} window {window}: {numbers_text(seen & in_it)} were in another's",
                )
            seen |= in_it
        for window in sorted(exact):
            for one in self._within(query, sessions, bags[window], window):
                ends_in = (one[-1][0] + sessions.gap_us) // sessions.gap_us + 1
                answered_in = ends_in - spec.panes_per_window
                answered = self._answered.get((str(query.id), answered_in), 0)
                lacking = bitset.of(number for _, number in one) & ~answered
                if answered_in in exact and lacking:
                    raise Violation(
                        "a record is in one session",
                        f"{query.id} window {answered_in}: lacks {numbers_text(lacking)}, whose "
                        f"session window {window} has",
                    )

    def _within(
        self, query: Query, sessions: Sessions, bag: Bag, window: int
    ) -> list[list[tuple[int, int]]]:
        """The sessions of a window that it has wholly: none that may go on beyond its edges."""
        first_us = query.window.window_start_us(window) + sessions.gap_us
        last_us = query.window.window_end_us(window) - sessions.gap_us
        return [
            one
            for one in self._sessions(sessions, bag)
            if one[0][0] > first_us
            and one[-1][0] < last_us
            and one[-1][0] - one[0][0] <= sessions.longest_us
        ]


def _ends(sessions: Sessions, one: list[tuple[int, int]], end_us: int) -> bool:
    ends_us = one[-1][0] + sessions.gap_us
    return end_us - sessions.gap_us <= ends_us < end_us


def _sum(records: list[tuple[int, int]]) -> int:
    return sum(number for _, number in records)
