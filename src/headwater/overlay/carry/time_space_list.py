"""The time-space list: summaries of one pane meet here, become one, and leave (Mortar, 4.2, 4.3).

Panes lie on one grid per query, so an index matches exactly or not at all, and an entry is found
by (query, lane, pane, plan version). Space is the other half: a summary joins the first entry
with its index whose sites are all others, for two summaries with a site in common are never
merged. Where there is none, or where both would be more than one message may hold, it becomes a
further entry, and both go on apart; only the root decides on overlap. But an entry that leaves
takes along what has other updates of the very same sites (``Coverage.merge``): only then, since
until then each may gain sites, and all gain the same ones where sites send several updates.
(Summaries of *states* stand for intervals of panes. They are split where they meet, and otherwise
treated alike: ``state_shelf``.)

::

    arrives      entries of pane 7                 then
    {a, b}       (none)                            7: {a, b}
    {c}          7: {a, b}                         7: {a, b, c}
    {b, d}       7: {a, b, c}                      7: {a, b, c}   7: {b, d}
    {a, b, c} 2  7: {a, b, c}   7: {b, d}          7: {a, b, c}   7: {b, d}   7: {a, b, c} 2
    the first is due                               7: {b, d};  {a, b, c} 1, 2 leaves

An entry leaves when it covers all data sites of the peer's subtree, or when its hold is over. For
backlog that is a short fixed time; for live panes netDist after the first send of its oldest part,
and always in time for the query's deadline: relays that learn from each other how long to wait
would else wait longer and longer, where detours make a ring of them. Spares and rows that can't be
merged here are entries of their own that leave at once. What should leave while there is no way
stays, and goes on merging, until the way opens or its life is over.

Updates that left before the close of their pane meet each other, never a close: sites make them in
rounds, at the same offsets of the pane. They teach nobody how long to wait for a close, and are
held from their own first send.

Rows are merged when an entry leaves, all in one call, since k tables at once cost what the last of
k - 1 pairwise merges does; earlier only where it has gathered ``parts_max``, to bound what is kept.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from headwater.algebra.sets.interval_set import IntervalSet
from headwater.algebra.summary import Summary
from headwater.overlay.carry.hold_times import HoldTimes
from headwater.overlay.carry.interval_shelf import IntervalShelf, ShelfKey
from headwater.overlay.carry.summary_entry import Key, SummaryEntry, can_merge, rows_bytes
from headwater.overlay.carry.thinning import Thinning
from headwater.overlay.commands.live_query import LiveQuery
from headwater.overlay.config import OverlayConfig
from headwater.overlay.tray import Tray
from headwater.overlay.ways.router import Router
from headwater.overlay.ways.staged_policy import Hop

Leaving = list[tuple[Hop, Summary]]

TIMERS_SPARE = 1_024
"""Timers of entries that have left are swept out when they outnumber the others by this many."""


class TimeSpaceList:
    """Returns what leaves, and to whom, from every call."""

    def __init__(
        self,
        config: OverlayConfig,
        router: Router,
        tray: Tray,
        on_died: Callable[[str, float], None] = lambda site, now_s: None,
        is_behind: Callable[[float], bool] = lambda now_s: False,
        let_go: Callable[[str, int, float], int] = lambda query_id, pane, now_s: 0,
        thinning: Thinning | None = None,
    ) -> None:
        """``on_died`` hears of whatever has waited for the link to a site until it was too old;
        ``is_behind``: this peer is short of CPU; ``let_go``: sites that nobody waits for."""
        self._let_go_of = let_go
        self._is_behind = is_behind
        self._on_died, self._thinning = on_died, thinning
        self.size_bytes = 0
        self._config = config
        self._router = router
        self._tray = tray
        self._entries: dict[int, SummaryEntry] = {}
        self._by_key: dict[Key, list[SummaryEntry]] = {}
        self._shelves: dict[ShelfKey, IntervalShelf] = {}
        self._timers: list[tuple[float, int]] = []
        self._times = HoldTimes(config)
        self._waiting_count = 0
        self._last_number = 0
        self._ticked_s = float("-inf")

    def __len__(self) -> int:
        return len(self._entries)

    def insert(
        self,
        summary: Summary,
        query: LiveQuery | None,
        *,
        birth_s: float,
        now_s: float,
        trains: bool = True,
    ) -> Leaving:
        """``trains`` is False for what comes back from a link and has been here before."""
        may_merge = can_merge(summary, query) and not self._goes_on_at_once(summary, now_s)
        size_bytes = rows_bytes(summary.rows, query)
        if summary.proof is not None and summary.rows is not summary.proof.packed:
            size_bytes += summary.proof.size_bytes
        if may_merge:
            trains = trains and not _is_early(summary, query)
            hold_until_s = self._times.until_s(summary, query, birth_s, now_s, trains=trains)
        else:
            hold_until_s = now_s
        if query is not None and query.holds_states and may_merge:
            left: Leaving = []
            for entry in self._interval_entries_for(summary, query, now_s):
                entry.add(summary, size_bytes=size_bytes, birth_s=birth_s)
                left += self._taken_in(entry, size_bytes, hold_until_s, now_s)
        else:
            entry = self._entry_for(summary, query, size_bytes, may_merge=may_merge)
            entry.add(summary, size_bytes=size_bytes, birth_s=birth_s)
            left = self._taken_in(entry, size_bytes, hold_until_s, now_s)
        if len(self._entries) > self._config.entries_max or (
            self.size_bytes > self._config.bytes_max
        ):
            left += self._make_room(now_s=now_s)
        return left

    def _goes_on_at_once(self, summary: Summary, now_s: float) -> bool:
        """A peer that is behind passes on unmerged what has a way ("fast-forward": iMR, section
        3.4): to hold and to merge is its largest part of the work, and those above it can. What has
        no way waits anyhow, and is merged meanwhile."""
        if not self._is_behind(now_s):
            return False
        of = summary.query, summary.route, summary.plan_version
        is_on = self._router.next_hop(*of, now_s=now_s) is not None
        if is_on:
            text = "this peer is behind: summaries are passed on unmerged"
            self._tray.note("unmerged", text, now_s=now_s)
        return is_on

    def _taken_in(
        self, entry: SummaryEntry, size_bytes: int, hold_until_s: float, now_s: float
    ) -> Leaving:
        """A summary of so many bytes was added."""
        left: Leaving = []
        self.size_bytes += size_bytes
        if hold_until_s <= now_s or entry.is_complete(self._unawaited(entry, now_s)):
            left = self._let_go(entry, now_s=now_s)
        elif len(entry.parts) == 1:
            self._set_timer(entry, hold_until_s)
        if len(entry.parts) >= self._config.parts_max and entry.may_merge and not entry.is_gone:
            self._compact(entry, now_s)
        return left

    def _unawaited(self, entry: SummaryEntry, now_s: float) -> int:
        first, last = (self._let_go_of(entry.key[0], p, now_s) for p in (entry.first, entry.last))
        return first & last

    def tick(self, *, now_s: float) -> Iterator[tuple[Hop, Summary]]:
        """Entries whose hold is over leave; those whose life is over are dropped. One by one: what
        has left fills the way of the next one."""
        if now_s < self._ticked_s:
            self._clock_set_back(self._ticked_s - now_s)
        self._ticked_s = now_s
        while self._timers and self._timers[0][0] <= now_s:
            _, number = heapq.heappop(self._timers)
            entry = self._entries.get(number)
            if entry is not None:
                yield from self._let_go(entry, now_s=now_s)

    def way_opened(self, *, now_s: float) -> Iterator[tuple[Hop, Summary]]:
        """A way may have opened: what waited for it leaves, the oldest first, one by one."""
        if not self._waiting_count:
            return
        for entry in [entry for entry in self._entries.values() if entry.is_due]:
            if not entry.is_gone:
                yield from self._let_go(entry, now_s=now_s)

    def discard_query(self, query_id: str) -> int:
        """The query was removed; how many entries went with it."""
        self._times.discard_query(query_id)
        return self.discard(query_id, lambda query, first, last: True)

    def discard(self, query_id: str, is_over: Callable[[str, int, int], bool]) -> int:
        """Let go of what waits of panes of the query that are over; how much it was."""
        gone = [
            entry
            for entry in self._entries.values()
            if entry.key[0] == query_id and is_over(query_id, entry.first, entry.last)
        ]
        for entry in gone:
            self._remove(entry)
        return len(gone)

    def next_deadline_s(self) -> float:
        return self._timers[0][0] if self._timers else float("inf")

    def net_dist_s(self, query_id: str) -> float:
        return self._times.net_dist_s(query_id)

    def entries(self) -> Iterable[SummaryEntry]:
        """The oldest first."""
        return self._entries.values()

    def _entry_for(
        self, summary: Summary, query: LiveQuery | None, size_bytes: int, *, may_merge: bool
    ) -> SummaryEntry:
        key = (summary.query, summary.lane, summary.pane, summary.plan_version)
        same_index, is_early = self._by_key.setdefault(key, []), _is_early(summary, query)
        if may_merge:
            left_bytes = self._config.merged_bytes_max - size_bytes
            for entry in same_index:
                fits = entry.may_merge and entry.size_bytes <= left_bytes
                if fits and entry.is_early == is_early and entry.has_place_for(summary.coverage):
                    return entry
        self._last_number += 1
        entry = SummaryEntry(self._last_number, key, query, may_merge=may_merge)
        entry.is_early = is_early
        self._entries[entry.number] = entry
        same_index.append(entry)
        return entry

    # States

    def _interval_entries_for(
        self, summary: Summary, query: LiveQuery, now_s: float
    ) -> list[SummaryEntry]:
        """Entries that together have each pane of the summary once, ready to take it in.

        What it has in common with an entry of other sites is split out of that entry; panes in
        which there is none get new ones.
        """
        shelf = self._shelf(summary)
        found: list[SummaryEntry] = []
        rest = IntervalSet([(summary.pane, summary.last)])
        met = deque(shelf.meeting(summary.pane, summary.last))
        while met:
            entry = met.popleft()
            common = next(rest.within(entry.first, entry.last), None)
            if common is None or not entry.has_place_for(summary.coverage):
                continue
            if not self._can_split(entry, *common, now_s):
                continue
            met.extend(self._split_out(shelf, entry, *common))
            rest.remove(*common)
            found.append(entry)
        key = (summary.query, summary.lane, summary.pane, summary.plan_version)
        for first, last in rest.ranges():
            self._last_number += 1
            entry = SummaryEntry(self._last_number, key, query, may_merge=True)
            self._entries[entry.number] = entry
            entry.narrow(first, last)
            shelf.put(entry)
            found.append(entry)
        return found

    def _shelf(self, summary: Summary) -> IntervalShelf:
        key = (summary.query, summary.lane, summary.plan_version)
        shelf = self._shelves.get(key)
        if shelf is None:
            shelf = self._shelves[key] = IntervalShelf(key)
        return shelf

    def _can_split(self, entry: SummaryEntry, first: int, last: int, now_s: float) -> bool:
        """Its rows are merged before a split, once, so that the parts share what came of it."""
        if entry.may_merge and (first, last) != (entry.first, entry.last):
            self._compact(entry, now_s)
        return entry.may_merge

    def _split_out(
        self, shelf: IntervalShelf, entry: SummaryEntry, first: int, last: int
    ) -> list[SummaryEntry]:
        """Narrow the entry to these panes; what it had before and after them, as entries that
        leave when it would have left."""
        if (first, last) == (entry.first, entry.last):
            return []
        parts = []
        for a, b in ((entry.first, first - 1), (last + 1, entry.last)):
            if a <= b:
                self._last_number += 1
                part = self._entries[self._last_number] = entry.part(self._last_number, a, b)
                self.size_bytes += part.size_bytes
                self._waiting_count += part.is_due
                self._set_timer(part, entry.due_s)
                parts.append(part)
        shelf.remove(entry)
        entry.narrow(first, last)
        for one in (entry, *parts):
            shelf.put(one)
        return parts

    def _let_go(self, entry: SummaryEntry, *, now_s: float) -> Leaving:
        if entry.is_gone:  # with another one, a moment ago
            return []
        if now_s - entry.birth_s > self._config.summary_life_s:
            self._died(entry, now_s)
            return []
        hop = self._hop_of(entry, now_s)
        if hop is not None:
            self._take_alike(entry)
            self._compact(entry, now_s)
            self._remove(entry)
            if self._thinning is not None:
                self._thinning.thin(entry, hop, now_s=now_s)
            return [(hop, summary) for summary in entry.leave(hop, now_s=now_s)]
        if not entry.is_due:
            entry.is_due = True
            self._waiting_count += 1
            self._set_timer(entry, entry.birth_s + self._config.summary_life_s)
        return []

    def _died(self, entry: SummaryEntry, now_s: float) -> None:
        """On a full link, where there was a way: then that is what has killed it."""
        hop = self._router.way_on(entry.key[0], entry.route, entry.key[3], now_s=now_s)
        kind = "died waiting" if entry.is_due and hop is not None else "expired"
        self._remove(entry)
        self._tray.note(kind, f"{entry}: older than summary_life_s, dropped", now_s=now_s)
        if hop is not None and kind != "expired":
            self._on_died(hop.site, now_s)

    def _take_alike(self, entry: SummaryEntry) -> None:
        """What has other updates of the sites of this one, which is about to leave."""
        if entry.interval_last is not None or not entry.may_merge:
            return
        for other in list(self._by_key[entry.key]):
            fits = other.size_bytes + entry.size_bytes <= self._config.merged_bytes_max
            if other is not entry and other.may_merge and fits and entry.is_alike(other):
                self._remove(other)
                entry.take(other)
                self.size_bytes += other.size_bytes

    def _hop_of(self, entry: SummaryEntry, now_s: float) -> Hop | None:
        query_id, _, _, version = entry.key
        return self._router.next_hop(query_id, entry.route, version, now_s=now_s)

    def _make_room(self, *, now_s: float) -> Leaving:
        """The oldest leave early; where they have no way, they are lost, and that is said."""
        config = self._config
        left: Leaving = []
        while self._entries and (
            len(self._entries) > config.entries_max or self.size_bytes > config.bytes_max
        ):
            oldest = next(iter(self._entries.values()))
            way = "forwarded early" if self._hop_of(oldest, now_s) else "dropped, no way"
            self._tray.note("full", f"time-space list at its limit: {oldest} {way}", now_s=now_s)
            left += self._let_go(oldest, now_s=now_s)
            if not oldest.is_gone:
                self._remove(oldest)
        return left

    def _compact(self, entry: SummaryEntry, now_s: float) -> None:
        """All parts as one; if their rows refuse to merge they stay apart, each as it came."""
        before_bytes = entry.size_bytes
        try:
            entry.compact()
        except Exception as error:  # rows come from the wire; whatever they break, we go on
            entry.may_merge = False
            text = f"{entry}: {type(error).__name__}: {error}"
            self._tray.note("merge-failed", text, now_s=now_s)
        self.size_bytes += entry.size_bytes - before_bytes

    def _remove(self, entry: SummaryEntry) -> None:
        entry.is_gone = True
        self._waiting_count -= entry.is_due
        self.size_bytes -= entry.size_bytes
        del self._entries[entry.number]
        if entry.interval_last is not None:
            self._take_off_shelf(entry)
            return
        same_index = self._by_key[entry.key]
        same_index.remove(entry)
        if not same_index:
            del self._by_key[entry.key]

    def _take_off_shelf(self, entry: SummaryEntry) -> None:
        query_id, lane, _, version = entry.key
        shelf = self._shelves[query_id, lane, version]
        shelf.remove(entry)
        if not shelf:
            del self._shelves[shelf.key]

    def _set_timer(self, entry: SummaryEntry, at_s: float) -> None:
        if len(self._timers) > 2 * len(self._entries) + TIMERS_SPARE:
            self._timers = [timer for timer in self._timers if timer[1] in self._entries]
            heapq.heapify(self._timers)
        entry.due_s = at_s
        heapq.heappush(self._timers, (at_s, entry.number))

    def _clock_set_back(self, by_s: float) -> None:
        """Holds and lives go on as if nothing had happened; else entries would be stuck."""
        for entry in self._entries.values():
            entry.birth_s -= by_s
            entry.due_s -= by_s
        self._timers = [(at_s - by_s, number) for at_s, number in self._timers]


def _is_early(summary: Summary, query: LiveQuery | None) -> bool:
    return query is not None and query.sends_early and summary.coverage.is_early
