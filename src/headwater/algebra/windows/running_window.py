"""A window that moves: what is new is merged in, what has left is taken out again.

It moves in either direction, as long as that is less work than to build the window. It can't take
out a pane whose rows have changed since they were merged in: who asks then puts the window together
from its panes, and this goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from headwater.algebra.rows.arrow_rows import Groups
from headwater.algebra.windows.counted_rows import CountedRows
from headwater.algebra.windows.pane_source import PaneSource, Stamps
from headwater.errors import PaneIsLarge

STEP_BYTES_MAX = 32 << 20
"""Of the panes that come and go in one move."""


class RunningWindow:
    """Of one query, all of whose columns can be taken back."""

    def __init__(self, rows: CountedRows) -> None:
        self.rows = rows
        self._counted: pa.Table | None = None
        """The rows of the last window."""
        self._stamps: Stamps = {}

    @property
    def bytes(self) -> int:
        return 0 if self._counted is None else int(self._counted.nbytes)

    def forget(self) -> None:
        self._counted, self._stamps = None, {}

    def begun(self, parts: Sequence[pa.Table], stamps: Stamps) -> Groups:
        """The window that is merged from these counted rows; the next may move from here."""
        merged = self.rows.merger.groups(parts)
        self.forget()
        if not merged.overflowing_count:
            self._counted, self._stamps = merged.merged, dict(stamps)
        return self.rows.groups(merged)

    def moved(self, stamps: Stamps, source: PaneSource) -> Groups | None:
        """The window of these panes; None: it is better built, or can't be had by moving."""
        if self._counted is None or not self._is_near(stamps):
            return None
        leaving = sorted(self._stamps.keys() - stamps.keys())
        if not self._are_as_they_were(leaving, source):
            return None
        try:
            parts = [self._counted, *self._changes(stamps, leaving, source)]
        except pa.ArrowInvalid:  # the least bigint has no counterpart
            return None
        merged = self.rows.merger.groups(parts)
        if merged.overflowing_count:
            return None
        self._counted, self._stamps = self.rows.there(merged.merged), dict(stamps)
        return self.rows.groups(self.rows.merger.fitting(self._counted))

    def _is_near(self, stamps: Stamps) -> bool:
        """Whether fewer panes come and go than half of those that the window has."""
        own = self._stamps
        common = [pane for pane in own if pane in stamps]
        is_same = all(own[pane] == stamps[pane] for pane in common)
        return is_same and 2 * (len(own) + len(stamps) - 2 * len(common)) <= len(stamps)

    def _are_as_they_were(self, panes: Sequence[int], source: PaneSource) -> bool:
        if not panes:
            return True
        now = source.stamps(range(panes[0], panes[-1] + 1))
        return all(now.get(pane) == self._stamps[pane] for pane in panes)

    def _changes(
        self, stamps: Stamps, leaving: Sequence[int], source: PaneSource
    ) -> Iterator[pa.Table]:
        byte_count = 0
        for pane in (*sorted(stamps.keys() - self._stamps.keys()), *leaving):
            rows = source.rows(pane)
            byte_count += rows.nbytes
            if byte_count > STEP_BYTES_MAX:
                raise PaneIsLarge(f"panes of one step: over {STEP_BYTES_MAX} bytes")
            yield self.rows.counted(rows) if pane in stamps else self.rows.taken_back(rows)
