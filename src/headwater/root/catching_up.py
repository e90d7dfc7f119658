"""Who catches up on the past, and how far they have come: "No site runs ahead".

A site that catches up says so in its state, and speaks by states and by what it sends. Of those
that have spoken lately the root knows the lowest pane that it still awaits from one of them::

    board      0    1    2    3    4    5
    site A     in   in   in   in   in   in        far ahead
    site B     in   in   ·    ·    ·    ·         catches up, speaks
    site C     in   ·    ·    ·    ·    ·         silent for ahead_wait_s: nobody waits for it
                         ^ awaited from here

Nor does anybody wait for a site that all its parents have lost (``Absences``).
Acknowledgements name it, and sites close no more than ``ahead_panes_max`` panes with rows beyond.
Windows of history before it have their deadline from when it passed them.
"""

from __future__ import annotations

from collections.abc import Callable

from headwater.algebra.far_times import NEVER_DUE_S
from headwater.algebra.sets import bitset
from headwater.algebra.words.site_state import FOREVER
from headwater.root.config import RootConfig
from headwater.root.scoreboard import Scoreboard


class CatchingUp:
    """Of one query, as its root knows it."""

    def __init__(
        self,
        scoreboard: Scoreboard,
        config: RootConfig,
        *,
        absent: Callable[[], int] = lambda: bitset.EMPTY,
        now_s: float,
    ) -> None:
        """``absent``: sites whose parents have lost them."""
        self._absent = absent
        self._scoreboard = scoreboard
        self._table = scoreboard.table
        self._wait_s = config.ahead_wait_s
        self._begun_s = now_s
        self._heard_s: dict[int, float] = {}
        """By site, of those that catch up; who is not named has spoken when the root began."""
        self._awaited = 0
        """Sites that catch up and speak, as a bitset."""
        self._through = -FOREVER
        """All that lies below and has a board is passed by them."""

    def hear(self, sites: int, *, now_s: float) -> None:
        """They have spoken."""
        for ordinal in bitset.members(sites & self._table.behind):
            self._heard_s[ordinal] = now_s

    def opened(self, pane: int) -> None:
        """There is a board of this pane now."""
        self._through = min(self._through, pane)

    def follow(self, *, now_s: float) -> int:
        """The pane below which nobody who speaks catches up; ``FOREVER``: on nothing. Before
        anybody has spoken, nobody knows."""
        if not self._table.views:
            return -FOREVER
        speaking = self._speaking(now_s)
        if speaking & ~self._awaited:
            self._through = -FOREVER
        self._awaited = speaking
        if not speaking:
            return FOREVER
        for board in self._scoreboard.rising_from(self._through):
            if speaking & ~board.settled:
                self._through = board.pane
                break
            self._through = board.pane + 1
        return self._through

    def _speaking(self, now_s: float) -> int:
        if not self._table.behind:
            return bitset.EMPTY
        behind = bitset.members(self._table.behind & ~self._absent())
        return bitset.of(ordinal for ordinal in behind if now_s < self._silent_s(ordinal))

    def _silent_s(self, ordinal: int) -> float:
        """From when on it counts as silent."""
        return self._heard_s.get(ordinal, self._begun_s) + self._wait_s

    @property
    def awaited_from(self) -> int | None:
        """The lowest pane that is awaited from who catches up; None: none is."""
        return None if not self._awaited or self._through == -FOREVER else self._through

    def next_deadline_s(self) -> float:
        """When the next of them has been silent for too long."""
        awaited = bitset.members(self._awaited)
        return min((self._silent_s(ordinal) for ordinal in awaited), default=NEVER_DUE_S)
