"""Which share of its links each query has at this agent: by the settings that hold for its panes.

A share is altered from a pane on, as all settings are. Panes of both kinds may wait for one link at
a time, and a link has no pane: so a query has the former share until the first summary of a pane
for which the later one holds is put on a link. It never goes back, however old a pane may come.

The levels of a query go on its account: what stands for it is sent in its place, so one weight and
one budget are for all of them together.
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.algebra.panes import WindowSpec
from headwater.plan.altered.link_share import EVEN, LinkShare

Changes = tuple[tuple[int, LinkShare], ...]
"""From which pane on which one holds, by number; the first from any pane on."""


class QueryShares:
    """Of one agent. Whoever drives its links reads them."""

    def __init__(self) -> None:
        self._present: dict[str, LinkShare] = {}
        self._to_come: dict[str, Changes] = {}
        self._accounts: dict[str, str] = {}
        """By level: the query that it stands for."""
        self._windows: dict[str, WindowSpec] = {}
        self._seen: dict[str, int] = {}
        """The newest pane that was put on a link."""

    def know(
        self,
        query: str,
        first: LinkShare,
        changes: Changes,
        *,
        window: WindowSpec | None = None,
        stands_for: str = "",
    ) -> None:
        """It was installed, or its settings were altered. ``stands_for``: of which it is a level;
        then both say what their windows are."""
        if window is not None:
            self._windows[query] = window
        if stands_for:
            self._accounts[query] = stands_for
        self._present[query] = first
        self._to_come[query] = changes
        self._advance(query)

    def forget(self, query: str) -> None:
        of_query = (self._present, self._to_come, self._seen, self._accounts, self._windows)
        for known in of_query:
            known.pop(query, None)

    def passes(self, query: str, pane: int) -> None:
        """A summary of this pane is put on a link."""
        account = self.account(query)
        if account != query and {account, query} <= self._windows.keys():
            start_us = self._windows[query].pane_start_us(pane)
            query, pane = account, self._windows[account].pane_at(start_us)
        if query in self._present and pane > self._seen.get(query, pane - 1):
            self._seen[query] = pane
            if self._to_come[query]:
                self._advance(query)

    def account(self, query: str) -> str:
        """On whose it goes: its own, or that of the query which it stands for, while that is known
        here."""
        of = self._accounts.get(query, query)
        return of if of in self._present else query

    def of(self, query: str) -> LinkShare:
        """A query that is not known here has what is usual."""
        return self._present.get(self.account(query), EVEN)

    def all(self) -> Iterable[tuple[str, LinkShare]]:
        return self._present.items()

    def __contains__(self, query: str) -> bool:
        return query in self._present

    def _advance(self, query: str) -> None:
        """The one with the highest number whose pane has come holds."""
        seen = self._seen.get(query)
        if seen is None:
            return
        come = [number for number, (pane, _) in enumerate(self._to_come[query]) if pane <= seen]
        if come:
            newest = come[-1]
            self._present[query] = self._to_come[query][newest][1]
            self._to_come[query] = self._to_come[query][newest + 1 :]
