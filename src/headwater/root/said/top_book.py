"""The root's part in looking for the largest groups of a pane: what it asks for, and what is sure.

Sites that are at the level ``top(k, column)`` send the k largest groups of a pane and keep the
others back (``algebra/top/steps``). When nothing more is awaited of the pane, or its window has
been answered, the root asks for all groups above a share of the k-th largest sum, and then by key
for those that may still be among the first. Requests stand in acknowledgements, and are told again
until all sites that keep something back have answered, for a while.

*Nothing of it is written.* A root that is started again has not the rows at hand of what it held,
so it asks for nothing more of these panes and calls no row exact; what is kept back is stated as
ever. The same holds of a pane whose pieces were replaced, or that has early updates, of which a
group may be sent in part, and where there is no room for rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from headwater.algebra.coverage import Coverage
from headwater.algebra.remainders.tolerance import Finally, Tolerance
from headwater.algebra.summary import Merger, Rows
from headwater.algebra.top.keyed import Keyed
from headwater.algebra.top.request import TOP_KEYS_MAX, TOP_REQUESTS_MAX, TopRequest
from headwater.algebra.top.steps import Found, Rest, found
from headwater.root.config import RootConfig
from headwater.root.pane_board import PaneBoard
from headwater.root.said.withheld import FirstRows, StatedErrors
from headwater.root.scoreboard import Scoreboard
from headwater.root.windows import WindowBook

ASKS_MAX = 6
"""Requests of one pane. Two do where no site fails in between and few groups are in question."""
KEYS_TOLD_MAX = 2 * TOP_KEYS_MAX
"""Groups that the requests of one acknowledgement name together."""
AGAIN_ACKS, WAIT_ACKS, GIVE_UP_ACKS = 3, 6, 25
"""After so many intervals of acknowledgements a request is told again; the next step is taken
without those who have not answered; and no more is asked of the pane. Sites hold its seal
longer."""

Wanted = tuple[float, tuple[int, ...]]
"""The value from which on groups are asked for, and those that are by key."""


@runtime_checkable
class KeyedMerger(Protocol):
    """A ``Merger`` that tells groups apart and what they are worth."""

    def keyed(self, parts: Sequence[Rows], partial: str) -> Keyed: ...


class _Pane:
    def __init__(self) -> None:
        self.parts: list[tuple[int, Rows]] = []
        """(sites, rows) of each kept summary."""
        self.size_bytes = 0
        self.request: TopRequest | None = None
        self.requests: list[TopRequest] = []
        """All of them, in their order: each asks for what the former did."""
        self.begun_s: float | None = None
        self.asked_s = 0.0
        self.told_s: float | None = None
        self.is_over = False
        self.seen: tuple[object, Found] | None = None
        """What was found of what was at hand then."""


class TopBook:
    """Of one query."""

    def __init__(
        self, scoreboard: Scoreboard, windows: WindowBook, config: RootConfig, merger: Merger
    ) -> None:
        self._scoreboard, self._windows, self._config = scoreboard, windows, config
        self._merger = merger
        self._panes: dict[int, _Pane | None] = {}
        """None: it is not followed."""
        self._size_bytes = 0

    # What comes in

    def add(self, pane: int, coverage: Coverage, rows: Rows) -> None:
        """Before it is entered on the board."""
        tolerance = self._tolerance(pane)
        if tolerance is None or rows is None or not isinstance(self._merger, KeyedMerger):
            return
        board = self._scoreboard.boards.get(pane)
        is_first = pane not in self._panes
        if coverage.is_early or (is_first and board is not None and board.rows_number):
            self.block(pane)
            return
        entry = self._panes.setdefault(pane, _Pane())
        if entry is None:
            return
        entry.is_over = entry.is_over and entry.begun_s is not None
        size = self._merger.size_bytes(rows)
        entry.parts.append((coverage.sites, rows))
        entry.size_bytes += size
        self._size_bytes += size
        while self._size_bytes > self._config.top_bytes_max:
            self.block(min(one for one, of in self._panes.items() if of is not None))

    def block(self, pane: int) -> None:
        """It is not followed, any more."""
        former = self._panes.get(pane)
        self._size_bytes -= 0 if former is None else former.size_bytes
        if self._tolerance(pane) is not None:
            self._panes[pane] = None

    def drop_below(self, pane: int) -> None:
        for one in [one for one in self._panes if one < pane]:
            self.block(one)
            self._panes.pop(one, None)

    def _tolerance(self, pane: int) -> Tolerance | None:
        """By which its sites may have sent the largest alone; None: they may not. What is the first
        of a pane need not be it of a window of several."""
        if self._windows.spec.panes_per_window != 1:
            return None
        tolerance = self._scoreboard.table.settings.at(pane).tolerance
        return tolerance if tolerance is not None and tolerance.top is not None else None

    # Asking

    def follow(self, *, number: int, now_s: float) -> list[int]:
        """Panes of which there is more to ask for, or of which no more is asked. ``number``: of the
        next acknowledgement."""
        return [
            pane
            for pane, entry in self._panes.items()
            if entry is not None
            and entry.parts
            and not entry.is_over
            and self._advance(pane, entry, number=number, now_s=now_s)
        ]

    def __bool__(self) -> bool:
        """Whether anybody is asked, so that acknowledgements are due."""
        asking = (one for one in self._panes.values() if one is not None and one.request)
        return any(not one.is_over for one in asking)

    def _advance(self, pane: int, entry: _Pane, *, number: int, now_s: float) -> bool:
        board = self._scoreboard.boards.get(pane)
        if board is None or board.is_frozen:
            entry.is_over = True
            return False
        rests, is_due = self._rests(pane, board), board.is_settled or self._is_answered(pane)
        if not rests:
            entry.is_over = is_due  # until more comes, if it does
            return False
        if entry.begun_s is None:
            if not is_due:
                return False
            entry.begun_s = now_s
        every_s = self._config.ack_every_s
        if now_s - entry.begun_s > GIVE_UP_ACKS * every_s:
            entry.is_over = True
            return True
        request = entry.request
        is_told = request is None or request.number < number
        if not is_told or self._is_enough(pane, entry, rests):
            return False
        left = 0 if request is None else sum(asked < request.number for _, _, asked in rests)
        if left and now_s - entry.asked_s < WAIT_ACKS * every_s:
            return False
        return self._ask(pane, entry, rests, is_all=not left, number=number, now_s=now_s)

    def _is_answered(self, pane: int) -> bool:
        windows = map(self._windows.windows.get, self._windows.windows_of(pane))
        return any(window is not None and bool(window.revision) for window in windows)

    def _ask(
        self,
        pane: int,
        entry: _Pane,
        rests: list[tuple[int, float, int]],
        *,
        is_all: bool,
        number: int,
        now_s: float,
    ) -> bool:
        """For more than before, if that can help. Who has not answered is left aside: what may be
        among the first over the others is asked for, and of all."""
        former = entry.request
        heard = [one for one in rests if former is None or one[2] >= former.number]
        seen = self._found(pane, entry, heard)
        share = seen.kth / max(1, self._scoreboard.expected.bit_count())
        wanted: Wanted = (share, ()) if former is None else _more(former, seen)
        is_more = former is None or wanted != (former.least, former.keys)
        if not is_more or len(entry.requests) >= ASKS_MAX:
            entry.is_over = is_all
            return is_all
        entry.request = TopRequest(pane, number, *wanted)
        entry.requests.append(entry.request)
        entry.asked_s, entry.told_s = now_s, None
        return True

    def requests(self, *, now_s: float) -> tuple[TopRequest, ...]:
        """What the acknowledgement that is made now asks for."""
        found: list[TopRequest] = []
        count = 0
        again_s = AGAIN_ACKS * self._config.ack_every_s
        waiting = ((pane, one) for pane, one in self._panes.items() if one is not None)
        for pane, entry in sorted(waiting, key=lambda one: (one[1].told_s is not None, one[0])):
            request = entry.request
            if request is None or not self._is_due(pane, entry, request, again_s, now_s):
                continue
            if len(found) >= TOP_REQUESTS_MAX or (found and count > KEYS_TOLD_MAX):
                break
            entry.told_s = now_s
            found.append(request)
            count += len(request.keys)
        return tuple(found)

    def _is_due(
        self, pane: int, entry: _Pane, request: TopRequest, again_s: float, now_s: float
    ) -> bool:
        board = self._scoreboard.boards.get(pane)
        if entry.is_over or board is None:
            return False
        if entry.told_s is not None and now_s - entry.told_s < again_s:
            return False
        return any(asked < request.number for _, _, asked in self._rests(pane, board))

    # What is sure

    def _rests(self, pane: int, board: PaneBoard) -> list[tuple[int, float, int]]:
        """(sites, the largest that they keep back, request answered) of each kept summary."""
        tolerance = self._tolerance(pane)
        if tolerance is None:
            return []
        names = [one.partial for one in tolerance.columns]
        at = names.index(tolerance.top_partial)
        table, agreed_through = self._scoreboard.table, self._scoreboard.agreed_through
        is_sealed = pane < min(table.sealed_through, agreed_through)
        is_sealed = is_sealed and tolerance.finally_ is Finally.EXACT
        return [
            (sites, rest.withheld[at].largest, rest.withheld[at].asked)
            for rest, sites in board.kept_back(gives_back=True, is_sealed=is_sealed)
            if len(rest.withheld) > at and rest.withheld[at]
        ]

    def _found(self, pane: int, entry: _Pane, rests: list[tuple[int, float, int]]) -> Found:
        tolerance = self._tolerance(pane)
        assert tolerance is not None, "it is followed"
        assert tolerance.top is not None, "it is followed"
        assert isinstance(self._merger, KeyedMerger), "who can't tell groups apart follows nothing"
        key = (len(entry.parts), tuple(rests))
        if entry.seen is None or entry.seen[0] != key:
            rows = self._merger.keyed([rows for _, rows in entry.parts], tolerance.top_partial)
            sites = [sites for sites, _ in entry.parts]
            known = [_rest(entry.requests, *one) for one in rests]
            entry.seen = key, found(rows, sites, known, tolerance.top.count)
        return entry.seen[1]

    def _exact(self, pane: int) -> int:
        """Where a site is in in part, or what it has read is, nothing is sure."""
        entry, board = self._panes.get(pane), self._scoreboard.boards.get(pane)
        if entry is None or board is None or not entry.parts:
            return 0
        unsure = ~board.in_whole | board.declined | board.damaged
        if board.has_rows_of & unsure or pane in self._scoreboard.disputed:
            return 0
        return self._found(pane, entry, self._rests(pane, board)).exact

    def is_under_way(self, pane: int) -> bool:
        """Whether more of it may be asked for, so that nothing of it is final."""
        entry, board = self._panes.get(pane), self._scoreboard.boards.get(pane)
        if entry is None or board is None or not entry.parts or entry.is_over:
            return False
        rests = self._rests(pane, board)
        return not board.is_frozen and bool(rests) and not self._is_enough(pane, entry, rests)

    def _is_enough(self, pane: int, entry: _Pane, rests: list[tuple[int, float, int]]) -> bool:
        """All of the first are sure already."""
        tolerance = self._tolerance(pane)
        top = None if tolerance is None else tolerance.top
        return top is not None and self._found(pane, entry, rests).exact >= top.count

    def stated(self, panes: range, withheld: StatedErrors) -> StatedErrors:
        """With how many of the first rows are exact, of a window of one pane."""
        tolerance = self._tolerance(panes.start)
        if tolerance is None or tolerance.top is None or not withheld or len(panes) > 1:
            return withheld
        first = FirstRows(tolerance.top.column, self._exact(panes.start), tolerance.top.count)
        return msgspec.structs.replace(withheld, first=first)

    def lines(self, pane: int) -> Iterator[str]:
        """Where it stands, for people."""
        entry = self._panes.get(pane)
        if entry is None or entry.request is None:
            return
        request = entry.request
        named = f" and {len(request.keys)} groups by key" if request.keys else ""
        state = "no more is asked for" if entry.is_over else "it is told until sites have answered"
        yield (
            f"request {len(entry.requests)} for the largest groups: all with at least "
            f"{request.least:g}{named}; {state}"
        )


def _more(former: TopRequest, seen: Found) -> Wanted:
    """What is to be asked for beside what was; where that are too many groups, all above half of
    the former value."""
    keys = {*former.keys, *seen.candidates.tolist()}
    if len(keys) > TOP_KEYS_MAX:
        return former.least / 2.0, former.keys
    return former.least, tuple(sorted(keys))


def _rest(requests: Sequence[TopRequest], sites: int, largest: float, asked: int) -> Rest:
    answered = [one for one in requests if one.number <= asked]
    if not answered:
        return Rest(sites, largest)
    newest = answered[-1]
    return Rest(sites, largest, newest.least, frozenset(newest.keys))
