"""The rows of the summaries that a ledger keeps, read and merged for answers.

The rows of a pane are merged when an answer needs them, and the merge is kept in memory with the
number up to which it goes, so that the next revision adds only what is new. That holds because
numbers only rise: a lower one is refused, also when the summary that had it is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

from headwater.algebra.summary import Merger
from headwater.algebra.words.site_state import FOREVER
from headwater.errors import PaneIsLarge, RowsGone, SegmentDamaged
from headwater.root.outputs import KeptSummary
from headwater.store.manifest import Manifest
from headwater.store.segments import checksum_of
from headwater.store.table_cache import TableCache

ENDED_MAX = 10_000
"""Removed queries that are remembered until the process ends: an answer that was under way when its
query was removed may still ask for rows. Answers last minutes at most."""


class KeptRows:
    """Of one ledger, which says after each commit what has changed. Safe to use from several
    threads."""

    def __init__(
        self, manifest: Manifest, *, merger_of: Callable[[str], Merger], cache: TableCache
    ) -> None:
        self._manifest = manifest
        self._merger_of = merger_of
        self._cache = cache
        """Summaries by (query, number), merges by (query, pane, number through which they go): a
        table can't be taken for a merge that goes further."""
        self._merged_through: dict[tuple[str, int], int] = {}
        """Up to which number the merge of a pane in the cache goes."""
        self._losses = 0
        """How often summaries were taken away that were not done: merges made meanwhile go."""
        self._damaged: dict[str, set[int]] = {}
        """By query: the numbers of summaries that turned out to be damaged."""
        self._ended: dict[str, None] = {}
        """Queries that this process saw removed, oldest first."""

    # For answers

    def pane_rows(
        self, query: str, pane: int, *, kept_through: int, bytes_max: int = FOREVER
    ) -> pa.Table | None:
        """The rows of all summaries of a pane up to this number, as one; None: there are none.

        Raises ``SegmentDamaged`` when a checksum does not match; ``mend`` takes it out. Raises
        ``PaneIsLarge`` when more than ``bytes_max`` would be in memory to merge them.
        """
        with self._manifest.lock:
            losses = self._losses
            parts = []
            byte_count = 0
            for part in self.pane_parts(query, pane, kept_through=kept_through):
                parts.append(part)
                byte_count += part.nbytes
                if byte_count > bytes_max:
                    raise PaneIsLarge(f"{query}, pane {pane}: its rows are over {bytes_max} bytes")
        if not parts:
            return None
        merged = parts[0] if len(parts) == 1 else self._merger_of(query).merge(parts)
        with self._manifest.lock:
            if losses == self._losses:
                self._drop_merge(query, pane)
                self._cache.put((query, pane, kept_through), merged)
                self._merged_through[query, pane] = kept_through
        return merged

    def pane_stamps(
        self, query: str, panes: range, *, kept_through: int
    ) -> dict[int, tuple[int, int]]:
        """By pane that has rows: equal as long as these are the same. (A number is never used
        again, and higher ones come later: how many there are and the highest tell them all.)"""
        self.refuse_ended(query)
        found = self._manifest.all(
            "SELECT pane, COUNT(*), MAX(number) FROM summaries WHERE query = ? AND pane >= ? "
            "AND pane < ? AND has_rows = 1 AND number <= ? GROUP BY pane",
            (query, panes.start, panes.stop, kept_through),
        )
        return {pane: (count, last) for pane, count, last in found}

    def pane_parts(self, query: str, pane: int, *, kept_through: int) -> Iterator[pa.Table]:
        """The same rows as they were accepted, a summary at a time and unmerged.

        Raises ``SegmentDamaged`` after the last one if one of them does not match its checksum.
        """
        with self._manifest.lock:
            self.refuse_ended(query)
            start, merged = self._merged_part(query, pane, kept_through)
            numbers = self._manifest.all(
                "SELECT number FROM summaries WHERE query = ? AND pane = ? AND has_rows = 1 "
                "AND number > ? AND number <= ? ORDER BY number",
                (query, pane, start, kept_through),
            )
        yield from merged
        is_damaged = False
        for (number,) in numbers:
            with self._manifest.lock:
                self.refuse_ended(query)
                table = self._load(query, number)
            if table is not None:
                yield table
            is_damaged |= table is None
        if is_damaged:
            raise SegmentDamaged(self._damage_text(query, pane))

    def _merged_part(self, query: str, pane: int, kept_through: int) -> tuple[int, list[pa.Table]]:
        """The merge that is in memory, if it holds nothing beyond what is asked for."""
        through = self._merged_through.get((query, pane))
        if through is None or through > kept_through:
            return -1, []
        merged = self._cache.get((query, pane, through))
        return (-1, []) if merged is None else (through, [merged])

    def _load(self, query: str, number: int) -> pa.Table | None:
        """None: it is damaged."""
        cached = self._cache.get((query, number))
        if cached is not None:
            return cached
        row = self._manifest.first(
            "SELECT checksum, data FROM summaries WHERE query = ? AND number = ?", (query, number)
        )
        if row is None:
            raise RowsGone(f"summary {number} of {query}: its pane is done, or it was set aside")
        checksum, data = row
        if checksum_of(data) != checksum:
            self._damaged.setdefault(query, set()).add(number)
            return None
        return pa.ipc.open_stream(pa.BufferReader(data)).read_all()

    def _damage_text(self, query: str, pane: int) -> str:
        numbers = self.damaged(query)
        return (
            f"{self._manifest.path}: summaries {numbers} of {query}, the last of them of pane "
            f"{pane}: their bytes do not match their checksums; they are asked for again"
        )

    # What the ledger has committed

    def kept(self, query: str, kept: KeptSummary) -> None:
        if kept.rows is not None:
            self._cache.put((query, kept.number), kept.rows)

    def taken_out(self, query: str, numbers: Iterable[int], pane: int) -> None:
        """Others came in their place: who reads the pane meanwhile must not keep its merge."""
        self._losses += 1
        for number in numbers:
            self._cache.drop((query, number))
        self._drop_merge(query, pane)

    def mended(self, query: str) -> None:
        """What was damaged is set aside."""
        self._losses += 1
        for number in self._damaged.pop(query):
            self._cache.drop((query, number))
        self.drop_merges(query)

    def damaged(self, query: str) -> list[int]:
        """The numbers of its summaries that turned out to be damaged, rising."""
        return sorted(self._damaged.get(query, ()))

    def begun(self, query: str) -> None:
        """It has summaries, again if it had been removed."""
        self._ended.pop(query, None)

    def ended(self, query: str) -> None:
        self._ended[query] = None
        if len(self._ended) > ENDED_MAX:
            del self._ended[next(iter(self._ended))]
        self._losses += 1
        self._damaged.pop(query, None)
        self.drop_merges(query)

    def refuse_ended(self, query: str) -> None:
        """Without its summaries an answer of it would have no rows, and say that it is exact."""
        if query in self._ended:
            raise RowsGone(f"query {query}: it was removed; nothing more of it is answered")

    def drop_merges(self, query: str, *, below: int = FOREVER) -> None:
        for known, pane in list(self._merged_through):
            if known == query and pane < below:
                self._drop_merge(query, pane)

    def _drop_merge(self, query: str, pane: int) -> None:
        through = self._merged_through.pop((query, pane), None)
        if through is not None:
            self._cache.drop((query, pane, through))
