"""The queries of a cube: their short numbers, their records, and which panes still take rows.

All of it is on the disk, and mirrored here decoded; see ``Mirror``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from headwater.algebra.remainders.early_rows import EarlyRows
from headwater.algebra.remainders.withhold import AllowanceOf
from headwater.algebra.sets import ranges
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.summary import Merger
from headwater.algebra.windows.last_rows import LastRows
from headwater.algebra.words.site_state import FOREVER, RUNNING, Declined, Reason
from headwater.edge.record import EdgeRecord
from headwater.edge.report import QueryBatch
from headwater.errors import UnreadableRow
from headwater.plan.readings import is_aside
from headwater.store.cube.row_limit import RowLimit
from headwater.store.cube.state_ring import StateRing
from headwater.store.level_rows import LevelsOf
from headwater.store.manifest import Manifest
from headwater.store.mirror import Mirror
from headwater.store.row_value import row_value

RESUME = "; headwater resume begins the stream anew"
FORGOTTEN_MAX = 1_000
"""Removed queries that are remembered until the process ends: a batch that was under way when its
query was removed may still bring rows of it. Batches last minutes at most."""


@dataclass
class _Known:
    """What the manifest has, decoded. Changed only while it is one transaction's own copy."""

    numbers: dict[str, int] = field(default_factory=dict)
    records: dict[str, EdgeRecord] = field(default_factory=dict)
    over: dict[str, dict[int, Reason]] = field(default_factory=dict)
    """Panes that are declined for good, though the record may not say so yet."""
    forgotten: dict[str, None] = field(default_factory=dict)
    """Queries that this process saw removed, oldest first."""
    unread: dict[str, str] = field(default_factory=dict)
    """Queries whose record can't be read, and why; nothing else is known of them here."""
    own_over: set[str] = field(default_factory=set)
    """Queries whose ``over`` is this copy's own already; those of others are shared."""

    def copied(self) -> _Known:
        return _Known(
            dict(self.numbers),
            dict(self.records),
            dict(self.over),
            dict(self.forgotten),
            dict(self.unread),
        )

    def over_to_change(self, query: str) -> dict[int, Reason]:
        if query not in self.own_over:
            self.own_over.add(query)
            self.over[query] = dict(self.over[query])
        return self.over[query]


class QueryFacts(NamedTuple):
    """What a cube asks of queries, by their ids: whoever installs them knows it."""

    merger_of: Callable[[str], Merger]
    limit_of: Callable[[str], RowLimit | None] = lambda query: None
    allowance_of: AllowanceOf = lambda query, pane: None
    early_of: Callable[[str], EarlyRows | None] = lambda query: None
    levels_of: LevelsOf = lambda query: ()
    last_rows_of: Callable[[str], LastRows | None] = lambda query: None
    keep_s_of: Callable[[str], float] = lambda query: 0.0


class CubeQueries:
    """What changes it is called inside a transaction, and counts when that is committed."""

    def __init__(self, manifest: Manifest, ring: StateRing, facts: QueryFacts) -> None:
        self._manifest = manifest
        self._ring = ring
        self.facts = facts
        self.last_rows_of = facts.last_rows_of
        self._mirror = Mirror(manifest, self._read(), _Known.copied)

    def _read(self) -> _Known:
        known = _Known()
        if self._manifest.is_untouched:
            return known
        path = self._manifest.path
        for number, name, record in self._manifest.all("SELECT id, name, record FROM queries"):
            try:
                known.records[name] = row_value(
                    record, EdgeRecord, where=f"its record in {path}", hint=RESUME
                )
            except UnreadableRow as error:
                known.unread[name] = str(error)
                continue
            known.numbers[name] = number
            known.over[name] = {}
        names = {number: name for name, number in known.numbers.items()}
        for number, pane, reason in self._manifest.all("SELECT query, pane, reason FROM expired"):
            if number in names:
                known.over[names[number]][pane] = Reason(reason)
        return known

    @property
    def _known(self) -> _Known:
        return self._mirror.value

    def names(self) -> tuple[str, ...]:
        return tuple(self._known.numbers)

    def number(self, query: str) -> int | None:
        return self._known.numbers.get(query)

    def name(self, number: int) -> str | None:
        """None: its record can't be read."""
        return next((name for name, known in self._known.numbers.items() if known == number), None)

    def unread(self) -> dict[str, str]:
        """Queries whose record can't be read, and why."""
        return dict(self._known.unread)

    def is_forgotten(self, query: str) -> bool:
        """It was removed in this life: rows that a batch still brings are nobody's."""
        return query in self._known.forgotten

    def record(self, query: str) -> EdgeRecord:
        """As it is to be restored: with all that is over, whatever the edge wrote last."""
        known = self._known
        record = known.records[query]
        told = {(d.first, d.last) for d in record.declined}
        untold = tuple(
            Declined(first=pane, last=pane, reason=reason)
            for pane, reason in sorted(known.over[query].items())
            if not any(first <= pane <= last for first, last in told)
        )
        return msgspec.structs.replace(record, declined=record.declined + untold)

    def unwanted(self) -> dict[int, Ranges]:
        """By query, the panes that its root wants no more."""
        known = self._known
        found = ((number, known.records[name].unwanted) for name, number in known.numbers.items())
        return {number: unwanted for number, unwanted in found if unwanted}

    def done_through(self, query: str) -> int:
        return self._known.records[query].done_through

    def first_pane(self, query: str) -> int:
        """The first that it answers for; ``FOREVER``: none."""
        record = self._known.records.get(query)
        return FOREVER if record is None or record.first_pane is None else record.first_pane

    def end_of(self, query: str) -> int:
        """The first pane that is none of the query's any more; ``FOREVER``: it has no end."""
        record = self._known.records.get(query)
        return FOREVER if record is None or record.end_pane is None else record.end_pane

    def taken(self, query: str) -> Ranges:
        """Of a level: the panes that it has taken, as is written."""
        record = self._known.records.get(query)
        return () if record is None else record.taken

    def past_of(self, query: str) -> str | None:
        """Which reading of the past it awaits, as is written; empty: none. None: nothing is written
        of it."""
        record = self._known.records.get(query)
        return None if record is None else record.past

    def set_aside_of(self, query: str) -> tuple[int, int, frozenset[str]] | None:
        """Up to which number, and which cut, its record knows of what was set aside, and what of
        that is still to be read. None: nothing is written of it."""
        record = self._known.records.get(query)
        if record is None:
            return None
        readings = frozenset(one.reading for one in record.set_aside)
        return record.aside_heard, record.aside_cut, readings

    def takes(self, query: str) -> Callable[[int], bool]:
        """Whether rows of a pane are stored: not below the first, not sealed, not given up.

        A pane that takes no rows never takes any again. Of a state query a record that comes late
        is one of its later states.
        """
        known = self._known
        record = known.records.get(query)
        if record is None or record.first_pane is None:
            return lambda pane: False
        of = self.last_rows_of(query)
        if of is not None:
            end = self.end_of(query)
            return lambda pane: of.begin_pane <= pane < end
        floor = max(record.first_pane, record.sealed_through, record.done_through)
        end, over = self.end_of(query), known.over[query]
        return lambda pane: floor <= pane < end and pane not in over

    def write_record(self, query: str, record: EdgeRecord) -> int:
        """Inside a transaction. Returns the query's number; a new query gets one.

        Failures that the record knows of are done with, in this same transaction. What a batch has
        damaged stays so, and what it has counted, whether or not the edge has heard of it yet.
        """
        known = self._mirror.change()
        former = known.records.get(query)
        if former is not None and former.counted > record.counted:
            record = msgspec.structs.replace(record, counted=former.counted)
        if former is not None and former.damaged != record.damaged:
            damaged = former.drop_below(record.done_through).damaged
            damaged = ranges.union(damaged, record.damaged)
            record = msgspec.structs.replace(record, damaged=damaged)
        number = known.numbers.get(query)
        if number is None or self._manifest.is_kept:  # this life has the record in memory
            (number,) = self._manifest.one(
                "INSERT INTO queries (name, record) VALUES (?, ?) "
                "ON CONFLICT (name) DO UPDATE SET record = excluded.record RETURNING id",
                (self._manifest.name_prefix + query, msgspec.msgpack.encode(record)),
            )
            number = int(number)
        if record.failure_heard > (0 if former is None else former.failure_heard):
            heard = (number, record.failure_heard)
            self._manifest.run("DELETE FROM failures WHERE query = ? AND id <= ?", heard)
        if former is not None and record.loss_heard > former.loss_heard:
            self.miss(query)
        known.numbers[query] = number
        known.records[query] = record
        known.over.setdefault(query, {})
        known.forgotten.pop(query, None)
        return number

    def own_rows(self) -> tuple[str, tuple[str, ...]]:
        """A condition, after others, and its values: which rows of a table with a ``query`` are
        this cube's. All are, unless cubes share their tables."""
        if not self._manifest.is_shared:
            return "", ()
        numbers = list(self._known.numbers.values())
        return " AND query IN (SELECT value FROM json_each(?))", (str(numbers),)

    def counted(self, query: str) -> int:
        """How much was read for a query that goes by the site's own count."""
        record = self._known.records.get(query)
        return 0 if record is None else record.counted

    def count(self, query: str, through: int) -> None:
        """Inside a transaction: so much was read for it with the cut that is committed here."""
        record = self._known.records[query]
        self.write_record(query, msgspec.structs.replace(record, counted=through))

    def miss(self, query: str, *, pane: int = -FOREVER) -> None:
        """Inside a transaction: from this pane on, states may lack a record that would be the next
        to be counted here, or be of those before."""
        number = self._known.numbers.get(query)
        if number is not None and self.last_rows_of(query) is not None:
            self._ring.miss(number, at_row=self.counted(query), pane=pane)

    def damage(self, query: str, panes: Iterable[int]) -> None:
        """Inside a transaction: these panes can't be exact, and its record says so."""
        record = self._known.records[query]
        damaged = ranges.normal([*record.damaged, *((pane, pane) for pane in panes)])
        if damaged != record.damaged:
            self.write_record(query, msgspec.structs.replace(record, damaged=damaged))

    def add_failure(self, query: str, message: str, touched: tuple[int, int] | None) -> int:
        """Inside a transaction: the query failed on a batch. Returns the failure's number."""
        first, last = touched or (None, None)
        self.miss(query, pane=-FOREVER if first is None else first)
        (number,) = self._manifest.one(
            "INSERT INTO failures (query, first_pane, last_pane, message) VALUES (?, ?, ?, ?) "
            "RETURNING id",
            (self._known.numbers[query], first, last, message),
        )
        return int(number)

    def failures(self, query: str) -> tuple[QueryBatch, ...]:
        """Those that the query's record does not know of yet."""
        rows = self._manifest.all(
            "SELECT id, first_pane, last_pane, message FROM failures WHERE query = ? ORDER BY id",
            (self._known.numbers[query],),
        )
        return tuple(
            QueryBatch(
                query,
                failed=message,
                touched=None if first is None else (first, last),
                failure=number,
            )
            for number, first, last, message in rows
        )

    def loss_heard(self, source: str) -> int | None:
        """Up to which loss of the source all its running queries' records know; None: none runs.
        What is lost of a stretch that was set aside is told as long as that is there."""
        if is_aside(source):
            return 0
        heard = [
            record.past_loss_heard if record.past == source else record.loss_heard
            for record in self._known.records.values()
            if source in (record.source, record.past) and record.status == RUNNING
        ]
        return min(heard, default=None)

    def end_pane(self, query: str, pane: int, reason: Reason) -> None:
        """Inside a transaction: nothing more is taken for this pane, ever."""
        known = self._mirror.change()
        self._manifest.run(
            "INSERT OR REPLACE INTO expired VALUES (?, ?, ?)",
            (known.numbers[query], pane, reason.value),
        )
        known.over_to_change(query)[pane] = reason

    def forget_over(self, query: str, *, below: int) -> None:
        """Inside a transaction: what is done needs no mark."""
        known = self._mirror.change()
        self._manifest.run(
            "DELETE FROM expired WHERE query = ? AND pane < ?", (known.numbers[query], below)
        )
        known.over[query] = {p: r for p, r in known.over[query].items() if p >= below}
        known.own_over.add(query)

    def forget(self, query: str) -> None:
        """Inside a transaction: the query and all that hangs on it."""
        known = self._mirror.change()
        number = known.numbers.pop(query, None)
        if number is not None:
            self._manifest.run("DELETE FROM queries WHERE id = ?", (number,))
            del known.records[query], known.over[query]
        if known.unread.pop(query, None) is not None:
            name = self._manifest.name_prefix + query
            self._manifest.run("DELETE FROM queries WHERE name = ?", (name,))
        known.own_over.discard(query)
        known.forgotten[query] = None
        if len(known.forgotten) > FORGOTTEN_MAX:
            del known.forgotten[next(iter(known.forgotten))]
