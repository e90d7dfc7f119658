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

After a restart nothing is known of the time that has passed. Until an acknowledgement has come, or
the clock has stood for a while, it is in doubt, and nothing is closed by it.
"""

from __future__ import annotations

from headwater.edge.config import EdgeConfig
from headwater.edge.root_time import RootTime

NEVER_S = -1e18


class Belief:
    """Of one query, whose root tells the sites' clocks. By age all clocks are the root's."""

    __slots__ = ("_config", "_time", "doubt_until_s", "others_s")

    def __init__(self, time: RootTime, config: EdgeConfig) -> None:
        self._time = time
        self._config = config
        self.others_s: float | None = None
        """How far the others' clocks are ahead of our steady one; None: not told."""
        self.doubt_until_s = NEVER_S

    def doubt(self, *, now_s: float) -> None:
        """A new process takes up what a former one left."""
        self.doubt_until_s = now_s + self._config.clock_settle_s

    def hear(self, others_s: float | None, *, now_s: float) -> None:
        """An acknowledgement has come; this is what the others' clocks show now, if it is known.
        If not, what was known is better than nothing: it was measured by our steady clock."""
        self.doubt_until_s = NEVER_S
        if others_s is not None:
            self.others_s = others_s - now_s

    def closing_s(self, now_s: float) -> float | None:
        """The time by which panes are closed; None: none is."""
        return self._limited(now_s, self._config.clock_tolerance_s)

    def sealing_s(self, now_s: float) -> float | None:
        """The time by which panes are sealed; None: none is."""
        return self._limited(now_s, 0.0)

    def _limited(self, now_s: float, tolerance_s: float) -> float | None:
        if now_s < self.doubt_until_s:
            return None
        own_s = self._time.of(now_s)
        if self._time.is_used or self.others_s is None:
            return own_s
        return min(own_s, now_s + self.others_s + tolerance_s)
