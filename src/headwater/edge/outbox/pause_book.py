"""What root and relays have said of the panes that they take now: one query at one site.

The root says it to all, with its acknowledgements; a relay to those below it on one tree, and of
this tree's panes alone. What was said lapses unless it is repeated, so a site holds back for nobody
who has gone. However little is taken, panes of the oldest window without an answer leave; and where
no window is without an answer, the oldest pane that waits does, for it makes one.
"""

from __future__ import annotations

from headwater.algebra.far_times import NEVER_DUE_S
from headwater.algebra.words.pause import NO_PANE, Pause, PauseHeard
from headwater.algebra.words.site_state import FOREVER

ROOT = -1
"""In place of a tree."""
Said = tuple[int, float]
"""(youngest pane, until when that counts)"""


class PauseBook:
    def __init__(self) -> None:
        self._said: dict[int, Said] = {}
        """By tree, or ``ROOT``."""
        self._trees = 1
        self._told_through = FOREVER
        self._exempt_through = FOREVER
        self.told_from: int | None = None
        """``held_from``, as the newest state says."""
        self.closes_told: set[int] = set()
        """Panes that are held back, and whose close a state has told."""

    def __bool__(self) -> bool:
        """Whether anybody has asked to wait."""
        return bool(self._said)

    def hear_root(
        self, pause: Pause | None, *, exempt_through: int, age_s: float, now_s: float
    ) -> bool:
        """With an acknowledgement so old; whether anything is another now."""
        former = self._told_through
        self._told_through = self._exempt_through = exempt_through
        return self._hear(ROOT, pause, now_s - age_s) or (bool(self) and former != exempt_through)

    def hear_relay(self, heard: PauseHeard, *, now_s: float) -> bool:
        """From a parent; whether anything is another now."""
        self._trees = max(1, heard.trees)
        return self._hear(heard.tree, heard.pause, now_s)

    def _hear(self, who: int, pause: Pause | None, said_s: float) -> bool:
        former = self._said.pop(who, None)
        if pause is not None:
            self._said[who] = (pause.youngest, said_s + pause.lasts_s)
        return (None if former is None else former[0]) != (pause and pause.youngest)

    def follow(self, *, oldest: int | None, now_s: float) -> None:
        """It is so late: what was not repeated counts no more. ``oldest``: the first pane that
        waits to be sent."""
        for who in [who for who, (_, until_s) in self._said.items() if until_s <= now_s]:
            del self._said[who]
        self._exempt_through = self._told_through
        if self._told_through == NO_PANE and oldest is not None:
            self._exempt_through = oldest

    def holds(self, pane: int) -> bool:
        """Whether its updates wait; as of the last ``follow``."""
        if not self._said or pane <= self._exempt_through:
            return False
        youngest = (self._said.get(who, (FOREVER, 0.0))[0] for who in (ROOT, pane % self._trees))
        return pane > min(youngest)

    @property
    def held_from(self) -> int | None:
        """The first pane that anybody wants to wait; None: nobody does."""
        if not self._said:
            return None
        return min(FOREVER, min(youngest for youngest, _ in self._said.values()) + 1)

    def next_lapse_s(self) -> float:
        return min((until_s for _, until_s in self._said.values()), default=NEVER_DUE_S)
