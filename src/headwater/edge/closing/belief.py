"""How far a site's clock is believed: enough to close panes, and enough to seal them.

A wall clock may be wrong by any amount at any time. Closing by a wrong one costs lateness: what
comes afterwards is a late update. Sealing by it would cost records, for a seal is never taken back.
So both are held against what the other sites' clocks show in the middle, which every
acknowledgement tells::

    others (median)            ┊──────── tolerance ────────►┊
    ───────────────────────────●────────────────────────────●──────────► time of day
                         seal up to here            close up to here
                         less the lateness          less the disorder

A clock that is behind the others' goes by itself: its records are stamped by it, and come later.
A clock that is a day ahead for good closes a day later than it could, which is when the root's
windows end: nobody waits for it.

After a restart nothing is known of the time that has passed: the clock is in doubt until an
acknowledgement has told the others' clocks, or until it has stood for long. One that tells none
says nothing of ours: a root on the same machine, which began anew with it, has the same clock, and
waits for the sites' words itself. Until then the clock by which the former process closed stands
for the others', as if we had not been away at all: after a short absence nobody waits.
"""

from __future__ import annotations

from headwater.algebra.far_times import LONG_AGO_S
from headwater.edge.closing.root_time import RootTime
from headwater.edge.config import EdgeConfig

DOUBT_SETTLES = 3.0
"""Settling times after which a clock is believed of which nobody has told anything."""


class Belief:
    """Of one query, whose root tells the sites' clocks. By age all clocks are the root's."""

    def __init__(
        self, time: RootTime, config: EdgeConfig, *, others_s: float | None = None
    ) -> None:
        self._time = time
        self._config = config
        self.others_s = others_s
        """How far the others' clocks are ahead of our steady one; None: not told."""
        self.behind_s = 0.0
        """By how much the wall clock shows less than it is believed to, as yet."""
        self.doubt_until_s = LONG_AGO_S
        self._left_s: float | None = None
        """The same of the clock by which the former process closed, had it gone on without a
        pause; None: the root has not been heard since the start, or nothing was closed before."""

    def doubt(self, *, now_s: float) -> None:
        """A new process takes up what a former one left."""
        self.doubt_until_s = now_s + DOUBT_SETTLES * self._config.clock_settle_s

    def hear(self, others_s: float | None, *, left_s: float | None, now_s: float) -> None:
        """An acknowledgement has come; this is what the others' clocks show now, if it is known.
        If not, what was known is better than nothing: it was measured by our steady clock. Panes
        are closed up to ``left_s`` so far."""
        if others_s is not None:
            self.others_s = others_s - now_s
        if others_s is not None or self._time.is_used:
            self.doubt_until_s = LONG_AGO_S
        elif self._left_s is None and left_s is not None:
            self._left_s = left_s - now_s

    def closing_s(self, now_s: float) -> float | None:
        """The time by which panes are closed; None: none is."""
        return self._limited(self._time.of(now_s), now_s, self._config.clock_tolerance_s)

    def sealing_s(self, now_s: float) -> float | None:
        """The time by which panes are sealed; None: none is. What the wall clock shows counts
        before it is believed, where it is less: records may come that are in time by it."""
        behind_s = 0.0 if self._time.is_used else self.behind_s
        return self._limited(self._time.of(now_s) - behind_s, now_s, 0.0)

    def _limited(self, own_s: float, now_s: float, tolerance_s: float) -> float | None:
        is_doubted = now_s < self.doubt_until_s
        known_s = self._left_s if is_doubted else self.others_s
        if is_doubted and known_s is None:
            return None
        if self._time.is_used or known_s is None:
            return own_s
        return min(own_s, now_s + known_s + tolerance_s)
