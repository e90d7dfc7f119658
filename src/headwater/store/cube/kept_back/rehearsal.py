"""What a cube would have kept back of queries whose input ends, and of which it sends everything.

In memory, an entry for each pane: one run makes them, and looks at them at its end.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from headwater.algebra.remainders.withhold import Rehearsed, Withheld


class Rehearsal:
    """By query and pane."""

    def __init__(self) -> None:
        self._panes: dict[str, dict[int, Rehearsed]] = {}

    def note(self, query: str, pane: int, rows: pa.Table, found: Withheld | None) -> None:
        """A pane that was looked at whole; one that is prepared again counts once."""
        told = Rehearsed(rows.num_rows)
        if found is not None:
            told = Rehearsed(rows.num_rows, found.rest.num_rows, found.remainders)
        self._panes.setdefault(query, {})[pane] = told

    def add(self, query: str, pane: int, rows: int, *, is_first: bool) -> None:
        """One portion of a pane that is merged in several: nothing of it would have stayed."""
        panes = self._panes.setdefault(query, {})
        former = 0 if is_first or pane not in panes else panes[pane].rows
        panes[pane] = Rehearsed(former + rows)

    def of(self, query: str) -> Mapping[int, Rehearsed]:
        return dict(self._panes.get(query, {}))
