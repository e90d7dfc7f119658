"""The queries of a cube: their short numbers, their records, and which panes still take rows."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from headwater.algebra.site_state import FOREVER, Declined, Reason
from headwater.edge.record import RUNNING, EdgeRecord
from headwater.edge.report import QueryBatch
from headwater.store.manifest import Manifest


class CubeQueries:
    """Records are kept decoded; a failed transaction calls ``reload``."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._numbers: dict[str, int] = {}
        self._records: dict[str, EdgeRecord] = {}
        self._over: dict[str, dict[int, Reason]] = {}
        """Panes that are declined for good, though the record may not say so yet."""
        self.reload()

    def reload(self) -> None:
        self._numbers.clear()
        self._records.clear()
        self._over.clear()
        for number, name, record in self._manifest.all("SELECT id, name, record FROM queries"):
            self._numbers[name] = number
            self._records[name] = msgspec.msgpack.decode(record, type=EdgeRecord)
            self._over[name] = {}
        names = {number: name for name, number in self._numbers.items()}
        for number, pane, reason in self._manifest.all("SELECT query, pane, reason FROM expired"):
            self._over[names[number]][pane] = Reason(reason)

    def names(self) -> tuple[str, ...]:
        return tuple(self._numbers)

    def number(self, query: str) -> int | None:
        return self._numbers.get(query)

    def name(self, number: int) -> str:
        return next(name for name, known in self._numbers.items() if known == number)

    def record(self, query: str) -> EdgeRecord:
        """As it is to be restored: with all that is over, whatever the edge wrote last."""
        record = self._records[query]
        told = {(d.first, d.last) for d in record.declined}
        untold = tuple(
            Declined(pane, pane, reason)
            for pane, reason in sorted(self._over[query].items())
            if not any(first <= pane <= last for first, last in told)
        )
        return msgspec.structs.replace(record, declined=record.declined + untold)

    def done_through(self, query: str) -> int:
        return self._records[query].done_through

    def first_pane(self, query: str) -> int:
        """The first that it answers for; ``FOREVER``: none."""
        record = self._records.get(query)
        return FOREVER if record is None or record.first_pane is None else record.first_pane

    def takes(self, query: str) -> Callable[[int], bool]:
        """Whether rows of a pane are stored: not below the first, not sealed, not given up."""
        record = self._records.get(query)
        if record is None or record.first_pane is None:
            return lambda pane: False
        floor = max(record.first_pane, record.sealed_through, record.done_through)
        over = self._over[query]
        return lambda pane: pane >= floor and pane not in over

    def write_record(self, query: str, record: EdgeRecord) -> int:
        """Inside a transaction. Returns the query's number; a new query gets one.

        Failures that the record knows of are done with, in this same transaction.
        """
        (number,) = self._manifest.one(
            "INSERT INTO queries (name, record) VALUES (?, ?) "
            "ON CONFLICT (name) DO UPDATE SET record = excluded.record RETURNING id",
            (query, msgspec.msgpack.encode(record)),
        )
        former = self._records.get(query)
        if record.failure_heard > (0 if former is None else former.failure_heard):
            heard = (number, record.failure_heard)
            self._manifest.run("DELETE FROM failures WHERE query = ? AND id <= ?", heard)
        self._numbers[query] = number
        self._records[query] = record
        self._over.setdefault(query, {})
        return int(number)

    def add_failure(self, query: str, message: str, touched: tuple[int, int] | None) -> int:
        """Inside a transaction: the query failed on a batch. Returns the failure's number."""
        first, last = touched or (None, None)
        (number,) = self._manifest.one(
            "INSERT INTO failures (query, first_pane, last_pane, message) VALUES (?, ?, ?, ?) "
            "RETURNING id",
            (self._numbers[query], first, last, message),
        )
        return int(number)

    def failures(self, query: str) -> tuple[QueryBatch, ...]:
        """Those that the query's record does not know of yet."""
        rows = self._manifest.all(
            "SELECT id, first_pane, last_pane, message FROM failures WHERE query = ? ORDER BY id",
            (self._numbers[query],),
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
        """Up to which loss of the source all its running queries' records know; None: none runs."""
        heard = [
            record.loss_heard
            for record in self._records.values()
            if record.source == source and record.status == RUNNING
        ]
        return min(heard, default=None)

    def end_pane(self, query: str, pane: int, reason: Reason) -> None:
        """Inside a transaction: nothing more is taken for this pane, ever."""
        self._manifest.run(
            "INSERT OR REPLACE INTO expired VALUES (?, ?, ?)",
            (self._numbers[query], pane, reason.value),
        )
        self._over[query][pane] = reason

    def forget_over(self, query: str, *, below: int) -> None:
        """Inside a transaction: what is done needs no mark."""
        self._manifest.run(
            "DELETE FROM expired WHERE query = ? AND pane < ?", (self._numbers[query], below)
        )
        self._over[query] = {p: r for p, r in self._over[query].items() if p >= below}

    def forget(self, query: str) -> None:
        """Inside a transaction: the query and all that hangs on it."""
        number = self._numbers.pop(query, None)
        if number is not None:
            self._manifest.run("DELETE FROM queries WHERE id = ?", (number,))
            del self._records[query], self._over[query]
