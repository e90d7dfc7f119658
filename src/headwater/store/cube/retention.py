"""What a cube lets go of: by age and by bytes, acknowledged panes first.

A pane that the root holds goes without a word; only the count of its updates stays, so that a
late record gets the next number. A pane that goes before the root has it is *declined (expired)*
in the same transaction: from then on no rows are taken for it, and a restart finds the decline
though the edge may not have written it yet.

A pane that a question reads is passed over for as long as it does. A stream may have its panes
kept longer than others (``keep``): they stay for as long as there are bytes for them.

A segment is freed with the last pane in it, so dropping a pane may free nothing. The search goes
on until enough *files* are free.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import msgspec

from headwater.algebra.sets import ranges
from headwater.algebra.words.site_state import Reason
from headwater.store.cube.asked.pins import Pins
from headwater.store.cube.cube_queries import CubeQueries
from headwater.store.cube.cube_schema import OWED
from headwater.store.cube.cube_writes import CubeWriter
from headwater.store.manifest import Manifest

PANES_PER_RUN_MAX = 10_000
"""Panes that one run drops at most; the next one goes on."""


class RetentionConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    retention_s: float = 7 * 86_400.0
    """Counts from a pane's last write."""
    retention_bytes: int = 10 << 30
    """Of all segments together."""


class Retained(msgspec.Struct, frozen=True):
    """What a run did."""

    dropped: int = 0
    """Panes, acknowledged or not."""
    freed_bytes: int = 0
    declined: tuple[tuple[str, int], ...] = ()
    """(query, pane) that went unacknowledged, for the edge to say so."""
    pinned: int = 0
    """Panes that it passed over, because a question reads them."""


class _Candidate(msgspec.Struct, frozen=True, array_like=True):
    query: int
    pane: int
    written_s: float
    is_acked: bool
    is_old: bool

    @property
    def place(self) -> tuple[bool, bool, float]:
        """In the order in which they go."""
        return not self.is_acked, not self.is_old, self.written_s


class Retention:
    """One run, inside one transaction."""

    def __init__(
        self,
        manifest: Manifest,
        queries: CubeQueries,
        writer: CubeWriter,
        config: RetentionConfig,
        *,
        pins: Pins,
    ) -> None:
        self._manifest = manifest
        self._queries = queries
        self._writer = writer
        self._config = config
        self._pins = pins
        self._keep_s_of = queries.facts.keep_s_of
        self._passed_over = 0
        self._freed_bytes = 0
        self._dropped = 0
        self._declined: list[tuple[str, int]] = []

    def run(self, *, now_s: float) -> Retained:
        own, values = self._queries.own_rows()
        (used,) = self._manifest.one(
            f"SELECT coalesce(sum(bytes), 0) FROM segments WHERE TRUE{own}", values
        )
        excess = used - self._config.retention_bytes
        before_s = now_s - self._config.retention_s
        (oldest_s,) = self._manifest.one(
            f"SELECT min(written_s) FROM panes WHERE is_dropped = 0{own}", values
        )
        if excess <= 0 and (oldest_s is None or oldest_s >= before_s):
            return Retained()
        for candidate in self._candidates(now_s=now_s):
            if self._dropped >= PANES_PER_RUN_MAX:
                break
            if not (candidate.is_old or self._freed_bytes < excess):
                continue
            if self._pins.holds(candidate.query, candidate.pane, now_s=now_s):
                self._passed_over += 1
                continue
            self._drop(candidate)
        return Retained(self._dropped, self._freed_bytes, tuple(self._declined), self._passed_over)

    def _candidates(self, *, now_s: float) -> Iterator[_Candidate]:
        """Acknowledged panes first, of them those whose time is over, oldest first. Rows in no
        update, or owed, are not acknowledged; what the root wants no more may go as if it had
        it."""
        own, values = self._queries.own_rows()
        rows = self._manifest.all(
            "SELECT query, pane, written_s, is_acked AND NOT EXISTS "
            "(SELECT 1 FROM parts WHERE parts.query = panes.query AND parts.pane = panes.pane) "
            "AND NOT EXISTS (SELECT 1 FROM updates WHERE updates.query = panes.query "
            f"AND updates.pane = panes.pane AND number = {OWED}) "
            f"FROM panes WHERE is_dropped = 0{own}",
            values,
        )
        unwanted, before_s = self._queries.unwanted(), self._before_s(now_s)
        found = (
            _Candidate(
                query,
                pane,
                written_s,
                bool(is_safe) or ranges.contains(unwanted.get(query, ()), pane),
                written_s < before_s[query],
            )
            for query, pane, written_s, is_safe in rows
        )
        return iter(sorted(found, key=lambda one: one.place))

    def _before_s(self, now_s: float) -> Mapping[int, float]:
        """By query: what was last written before is over."""
        usual_s = self._config.retention_s
        found = defaultdict[int, float](lambda: now_s - usual_s)
        for name in self._queries.names():
            number, keep_s = self._queries.number(name), self._keep_s_of(name)
            if number is not None and keep_s > usual_s:
                found[number] = now_s - keep_s
        return found

    def _drop(self, candidate: _Candidate) -> None:
        query = self._queries.name(candidate.query)
        if query is None:  # set aside, for whoever can read it
            return
        key = (candidate.query, candidate.pane)
        self._writer.drop_rows(*key)
        self._manifest.run(
            "UPDATE queries SET kept_from = max(kept_from, ?) WHERE id = ?",
            (candidate.pane + 1, candidate.query),
        )
        self._freed_bytes += self._free()
        self._dropped += 1
        is_done = candidate.pane < self._queries.done_through(query)
        if is_done or not candidate.is_acked:
            self._manifest.run("DELETE FROM panes WHERE query = ? AND pane = ?", key)
        else:
            self._manifest.run(
                "UPDATE panes SET is_dropped = 1, row_bytes = 0 WHERE query = ? AND pane = ?", key
            )
        if not is_done and not candidate.is_acked:
            self._queries.end_pane(query, candidate.pane, Reason.EXPIRED)
            self._declined.append((query, candidate.pane))

    def _free(self) -> int:
        """The bytes of segments that the pane was the last in."""
        freed = 0
        for segment in self._writer.loosened:
            rows = self._manifest.all(
                "DELETE FROM segments WHERE id = ? "
                "AND NOT EXISTS (SELECT 1 FROM parts WHERE segment = segments.id) "
                "AND NOT EXISTS (SELECT 1 FROM updates WHERE segment = segments.id) "
                "AND NOT EXISTS (SELECT 1 FROM ring WHERE segment = segments.id) "
                "RETURNING name, bytes, is_damaged",
                (segment,),
            )
            for name, count, is_damaged in rows:
                freed += count
                if not is_damaged:
                    self._writer.removed.append(name)
        self._writer.loosened.clear()
        return freed
