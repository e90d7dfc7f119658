"""By which clock a root tells that windows are over: the middle of its sites' wall clocks.

By age there is only one clock, the root's steady one, and none of this counts.
"""

from __future__ import annotations

from headwater.algebra.words.site_state import SiteState
from headwater.root.config import RootConfig
from headwater.root.site_table import SiteTable
from headwater.root.windows import WindowBook

FOLLOW_CLOCKS_EVERY_S = 0.5
"""How often the median of the sites' clocks is taken."""
MAJORITY_SITES_MIN = 3
"""Of fewer sites none is outvoted by the others."""


class SiteClocks:
    """What sites tell goes to ``table``, deadlines are those of ``windows``."""

    def __init__(
        self, table: SiteTable, windows: WindowBook, config: RootConfig, *, now_s: float
    ) -> None:
        self.table = table
        self.windows = windows
        self._awaits_clocks_until_s = now_s + config.clock_settle_s
        self._is_restored = False
        self._followed_s = float("-inf")
        self.follow(now_s=now_s)

    def set_clock(self, ahead_s: float) -> None:
        """The root's wall clock is so far ahead of steady time from now on."""
        self.windows.ahead_s = ahead_s
        self._followed_s = float("-inf")

    def doubt(self, *, now_s: float) -> None:
        """They were told to a former process, whose clock may have been another one."""
        self._is_restored = True
        self.windows.doubt_clocks(now_s=now_s)

    def hear(self, state: SiteState, *, now_s: float) -> None:
        if state.offset_s is None or self.table.is_older(state):
            return
        self.table.hear_offset(state)
        self.follow_at_times(now_s=now_s)

    def follow_at_times(self, *, now_s: float) -> None:
        """Now and then: in a large federation the median takes a while."""
        if now_s - self._followed_s >= FOLLOW_CLOCKS_EVERY_S:
            self.follow(now_s=now_s)

    def follow(self, *, now_s: float) -> None:
        """Deadlines go by the sites' clocks. By age these are the root's steady one."""
        self._followed_s, lag_s = now_s, 0.0
        if self.table.goes_by_site_clocks:
            awaits_all = now_s < self._awaits_clocks_until_s
            lag_s = self.table.lag_s(-self.windows.ahead_s, awaits_all=awaits_all)
        self.windows.follow(lag_s)

    def shown_s(self, now_s: float) -> float | None:
        """What the sites' clocks show now, in the middle; None: most have not told, or may have
        told of a former process's clock. Of one or two there is no middle that is worth the wait:
        until they have told, it is the root's own."""
        if not self.table.goes_by_site_clocks:
            return None
        is_new = now_s < self._awaits_clocks_until_s
        is_doubted = is_new and (self._is_restored or not self.table.knows_most_clocks)
        if self.table.knows_clocks and not is_doubted:
            return now_s - self.windows.lag_s
        return now_s + self.windows.ahead_s if len(self.table.names) < MAJORITY_SITES_MIN else None
