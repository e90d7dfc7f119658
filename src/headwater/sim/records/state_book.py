"""What a simulated cube keeps of a state query: the records from which states are made.

The state of pane *p* is the last *n* records of the site, in the order in which they were read, of
those that lie in panes from the query's begin to *p* and were committed when *p* was closed. So a
record that comes late counts for the panes that are still open and for no other::

    n = 2                read:  10 (pane 0)  11 (pane 1)  | closes 0, 1 |  12 (pane 0)  13 (pane 2)
    pane 0: {10}         pane 1: {10, 11}                    pane 2: {12, 13}

What was missed (lost bytes, a failed batch) has a place in that order too: a state in which it
could be among the last *n* is not whole. Nor is one with fewer than *n* records at a site that
began after the query did.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from headwater.plan.query import Query


class StateBook:
    def __init__(self, query: Query) -> None:
        assert isinstance(query.last_n, int), "only of a state query"
        assert query.begin_pane is not None, "a state query has a begin"
        self.query = query
        self._last_n = query.last_n
        self._begin = query.begin_pane
        self._read: list[tuple[int, int | None]] = []
        """(pane, record) in the order of reading; None: something was missed there."""

    def __len__(self) -> int:
        return len(self._read)

    def add(self, pane: int, number: int) -> bool:
        """False where it lies before the begin and is none of the query's."""
        if pane < self._begin:
            return False
        self._read.append((pane, number))
        return True

    def miss(self, pane: int) -> None:
        """From this pane on a record may be missing here."""
        self._read.append((pane, None))

    def state(self, pane: int, *, first_pane: int) -> tuple[list[int], bool]:
        """The records of the pane's state, and whether it is whole."""
        numbers: list[int] = []
        is_whole = True
        for of, number in reversed(self._read):
            if of > pane:
                continue
            if number is None:
                is_whole = False
            else:
                numbers.append(number)
                if len(numbers) == self._last_n:
                    return numbers, is_whole
        return numbers, is_whole and first_pane <= self._begin

    def closed_below(self, pane: int) -> None:
        """No pane below is asked for any more: of their records only the last n still count."""
        kept: list[tuple[int, int | None]] = []
        count = 0
        for of, number in reversed(self._read):
            if of >= pane or count < self._last_n:
                kept.append((of, number))
            count += of < pane and number is not None
        self._read = kept[::-1]


class StateBooks:
    """Of all state queries of one cube."""

    def __init__(self) -> None:
        self._books: dict[str, StateBook] = {}

    def begin(self, query: Query) -> None:
        """The query is read from now on, if it was not already; nothing of one of records."""
        if query.holds_states and str(query.id) not in self._books:
            self._books[str(query.id)] = StateBook(query)

    def of(self, query_id: str) -> StateBook | None:
        return self._books.get(query_id)

    def forget(self, query_id: str) -> None:
        self._books.pop(query_id, None)

    def store(
        self, query: Query, records: Iterable[tuple[int, int]]
    ) -> tuple[tuple[tuple[int, int], ...], int]:
        """Add a batch's (number, time); (pane, records) stored, and how many before its begin."""
        book, counts, before = self._books[str(query.id)], Counter[int](), 0
        for number, time_us in records:
            pane = query.window.pane_at(time_us)
            if book.add(pane, number):
                counts[pane] += 1
            else:
                before += 1
        return tuple(sorted(counts.items())), before

    def miss(self, time_us: int, query_id: str | None = None) -> None:
        """Records from this time on are missing: of this query, or of all."""
        for known, book in self._books.items():
            if query_id in (None, known):
                book.miss(book.query.window.pane_at(time_us))
