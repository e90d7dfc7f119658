"""The groups of windows, from the panes that a root's ledger has.

A window of few panes is merged from all of them. Of windows that slide something is kept for the
next one (``algebra.windows``), in memory up to a limit: what is dropped, or was never there after a
restart, is made anew from the ledger and has the same bits.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from headwater.agent.answers.bag_groups import BagGroups
from headwater.agent.answers.merge_in_shares import MERGE_BYTES_MAX, GroupsMaker
from headwater.algebra.rows.arrow_rows import Groups
from headwater.algebra.windows.pane_source import Stamps
from headwater.algebra.windows.sessions import EndedSessions, SessionMerger, Sessions
from headwater.algebra.windows.sliding_window import SlidingWindow, slides
from headwater.plan.query import Query
from headwater.root.outputs import Pieces
from headwater.store.ledger.root_ledger import RootLedger
from headwater.store.table_cache import TableCache

MERGES_BYTES_MAX = 128 << 20
"""Merges of some panes, over all queries."""
RUNNING_BYTES_MAX = 64 << 20
"""Windows that move, over all queries; the least recently used begins anew."""


class LedgerPanes:
    """A ``PaneSource``: the panes of a query as they are in one answer."""

    def __init__(self, ledger: RootLedger, query: str, *, kept_through: int) -> None:
        self._ledger = ledger
        self._query = query
        self._kept_through = kept_through

    def stamps(self, panes: range) -> Stamps:
        return self._ledger.rows.pane_stamps(self._query, panes, kept_through=self._kept_through)

    def rows(self, pane: int) -> pa.Table:
        """Raises ``PaneIsLarge``."""
        rows = self._ledger.rows.pane_rows(
            self._query, pane, kept_through=self._kept_through, bytes_max=MERGE_BYTES_MAX
        )
        assert rows is not None, "a pane that has a stamp has rows"
        return rows


def is_built_up(query: Query) -> bool:
    """Whether something of one window is kept for the next."""
    return slides(query.window) or isinstance(query.sessions, Sessions)


def sessions_of(query: Query) -> SessionMerger | None:
    if not isinstance(query.sessions, Sessions):
        return None
    return SessionMerger(query.program, query.sessions)


def groups_maker(query: Query, window: int) -> GroupsMaker:
    """What makes the groups of a window of the rows of its panes."""
    sessions = sessions_of(query)
    if sessions is None:
        return BagGroups(query)
    return EndedSessions(sessions, query.window.window_end_us(window))


def at_level_of(query: Query, of: Pieces, rows: pa.Table) -> pa.Table:
    """Rows of a finer series as the level has them."""
    level = query.stands_for
    return rows if level is None or of.query == str(query.id) else level.coarsening.rows(rows)


class WindowGroups:
    """Safe to use from several threads, for different queries."""

    def __init__(self, ledger: RootLedger, *, differs: Callable[[Query, str], None]) -> None:
        """``differs`` is told where two ways of building a window do not agree."""
        self._ledger = ledger
        self._differs = differs
        self._merges = TableCache(MERGES_BYTES_MAX)
        self._sliding: OrderedDict[str, SlidingWindow] = OrderedDict()
        self._lock = threading.Lock()

    def stamps(
        self, query: Query, window: int, *, kept_through: int, pieces: Sequence[Pieces] = ()
    ) -> Stamps:
        """By which one knows whether a window has changed. ``pieces``: of which panes of which
        queries a level's window is made."""
        stamps_of = self._ledger.rows.pane_stamps
        if not pieces:
            panes = query.window.panes_of(window)
            return stamps_of(str(query.id), panes, kept_through=kept_through)
        found: list[tuple[str, int, object]] = []
        for one in pieces:
            for pane in one.panes:
                only = range(pane, pane + 1)
                stamps = stamps_of(one.query, only, kept_through=one.kept_through)
                found += [(one.query, pane, stamp) for stamp in stamps.values()]
        return dict(enumerate(found))

    def of(
        self,
        query: Query,
        window: int,
        stamps: Stamps,
        *,
        kept_through: int,
        pieces: Sequence[Pieces] = (),
    ) -> Groups:
        """Raises ``PaneIsLarge`` where it takes more memory than it may."""
        if pieces:
            return BagGroups(query).groups(list(self._rows_of(query, pieces)))
        panes = LedgerPanes(self._ledger, str(query.id), kept_through=kept_through)
        if not is_built_up(query):
            return BagGroups(query).groups([panes.rows(pane) for pane in sorted(stamps)])
        built = self._sliding_of(query).build(window, stamps, panes)
        self._make_room()
        if built.difference:
            self._differs(query, built.difference)
        return BagGroups(query).folded(built.groups)

    def _rows_of(self, query: Query, pieces: Sequence[Pieces]) -> Iterator[pa.Table]:
        for one in pieces:
            panes = LedgerPanes(self._ledger, one.query, kept_through=one.kept_through)
            yield from (at_level_of(query, one, panes.rows(pane)) for pane in one.panes)

    def forget(self, query: str) -> None:
        """It was removed."""
        with self._lock:
            known = self._sliding.pop(query, None)
        if known is not None:
            known.forget()

    def _sliding_of(self, query: Query) -> SlidingWindow:
        name = str(query.id)
        with self._lock:
            if name not in self._sliding:
                sliding = SlidingWindow(
                    name, query.window, query.program, self._merges, sessions=sessions_of(query)
                )
                self._sliding[name] = sliding
            self._sliding.move_to_end(name)
            return self._sliding[name]

    def _make_room(self) -> None:
        """Whose window leaves is put together from panes the next time."""
        with self._lock:
            held = sum(one.bytes for one in self._sliding.values())
            for name, sliding in list(self._sliding.items()):
                if held <= RUNNING_BYTES_MAX:
                    return
                held -= sliding.bytes
                del self._sliding[name]
