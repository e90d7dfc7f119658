"""The groups of windows that slide: moved where that is exact, else put together from blocks.

::

    counts, sums of integers and decimals, slide < range / 2:  the last window moves
    everything else, and where a pane was revised:             blocks of panes are merged

A window of few panes is merged from all of them at once, which is neither.

Both ways give the same rows, to the bit. One in ``COMPARED_EVERY`` windows that moved is put
together from blocks as well; if the two differ, the latter counts, and whoever asked is told.
"""

from __future__ import annotations

import msgspec
import pyarrow as pa

from headwater.algebra.panes import WindowSpec
from headwater.algebra.rows.arrow_rows import ArrowMerger, Groups
from headwater.algebra.rows.columns import RowLayout
from headwater.algebra.rows.nested_keys import nested_key
from headwater.algebra.windows.counted_rows import CountedRows
from headwater.algebra.windows.pane_source import PaneSource, Stamps, TableStore
from headwater.algebra.windows.partial_merges import PartialMerges
from headwater.algebra.windows.running_window import RunningWindow
from headwater.algebra.windows.sessions import SessionMerger

SLIDING_PANES_MIN = 8
"""A window of fewer panes is merged from all of them at once."""
COMPARED_EVERY = 128
"""Of the windows that moved, the first and then each so many is built both ways."""


def slides(window: WindowSpec) -> bool:
    """Whether it is worth to keep something of one window for the next."""
    return window.panes_per_window >= SLIDING_PANES_MIN and window.slide_us < window.range_us


def can_move(window: WindowSpec, layout: RowLayout) -> bool:
    """Whether windows are built by removal: exact, and less work than by combining."""
    is_short = 2 * window.slide_us < window.range_us
    return slides(window) and is_short and ArrowMerger(layout).can_take_back


class Built(msgspec.Struct, frozen=True):
    groups: Groups
    difference: str = ""
    """What came of building it both ways, in words, where they differ."""


class SlidingWindow:
    """The windows of one query, one after the other."""

    def __init__(
        self,
        name: str,
        window: WindowSpec,
        layout: RowLayout,
        kept: TableStore,
        *,
        sessions: SessionMerger | None = None,
    ) -> None:
        """With ``sessions``, the groups of a window are the sessions that it answers."""
        self._window = window
        self._merger = ArrowMerger(layout)
        self._sessions = sessions
        moves = sessions is None and can_move(window, layout)
        self._moving = RunningWindow(CountedRows(layout)) if moves else None
        merger = sessions or self._merger if self._moving is None else self._moving.rows.merger
        self._merges = PartialMerges(name, merger, kept)
        self._moves = 0

    @property
    def bytes(self) -> int:
        """Of what is held beside the place for tables."""
        return 0 if self._moving is None else self._moving.bytes

    def forget(self) -> None:
        self._merges.forget()
        if self._moving is not None:
            self._moving.forget()

    def build(self, number: int, stamps: Stamps, source: PaneSource) -> Built:
        """The groups of a window whose panes with rows have these stamps.

        Raises ``PaneIsLarge`` where it does not fit into memory, and whatever the source raises.
        """
        panes = self._window.panes_of(number)
        if self._sessions is not None:
            parts = self._merges.parts(panes, stamps, source)
            end_us = self._window.window_end_us(number)
            return Built(self._sessions.ended(parts, end_us=end_us))
        if self._moving is None:
            return Built(self._merger.groups(self._merges.parts(panes, stamps, source)))
        moved = self._moving.moved(stamps, source)
        self._moves += moved is not None
        if moved is not None and self._moves % COMPARED_EVERY != 1:
            return Built(moved)
        parts = self._merges.parts(panes, stamps, CountedPanes(self._moving.rows, source))
        combined = self._moving.begun(parts, stamps)
        if moved is None or are_same(moved, combined):
            return Built(combined)
        return Built(combined, f"window {number} by removal differs from the one by combining")


class CountedPanes:
    """The panes of a source, so that they can be taken out again."""

    def __init__(self, counted: CountedRows, source: PaneSource) -> None:
        self._counted = counted
        self._source = source

    def stamps(self, panes: range) -> Stamps:
        return self._source.stamps(panes)

    def rows(self, pane: int) -> pa.Table:
        return self._counted.counted(self._source.rows(pane))


def are_same(left: Groups, right: Groups) -> bool:
    """Bit for bit, in whatever order."""
    mine, theirs = left.merged, right.merged
    if (mine.num_rows, left.overflowing_count) != (theirs.num_rows, right.overflowing_count):
        return False
    names = [str(place) for place in range(mine.num_columns)]
    both = pa.concat_tables([mine.rename_columns(names), theirs.rename_columns(names)])
    numbers = pa.table([nested_key(column) for column in both.columns], names=names)
    counted = numbers.group_by(names, use_threads=False).aggregate([([], "count_all")])
    return bool(counted.num_rows == mine.num_rows)
