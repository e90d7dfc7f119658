"""How awake this peer was: whether its own ticks came when they were due.

Whoever is late itself has not heard what came meanwhile; its words for others would be "silent"
and "lost", said of those who spoke in time. On a busy machine that feeds itself: links are called
silent, dialled anew, hosts are sought, and all of it is more work for the same machine. So silence
counts in the time in which this peer could have heard (rule "Trouble must shed, not multiply")::

    promised   ────────┬─────────┬──────────────────────┬──
    ticked     ────────┴─────────┴ ─ ─ ─ ─ ─┬───────────┴──
                awake                asleep   awake

A tick is promised for ``next_deadline_s``; from then until it comes the peer was *asleep*, whatever
the reason: a stopped process, a loop with too much to do, a disk that is waited for. Messages that
are handled meanwhile prove nothing, for others wait behind them.

``share`` is how much of the last while it was awake. Budgets of what makes work fall with it.
"""

from __future__ import annotations

from math import exp, inf

from headwater.overlay.config import OverlayConfig


class Wakefulness:
    """Zero cost while all ticks are in time: only late ones are written down."""

    def __init__(self, config: OverlayConfig) -> None:
        self._config = config
        self._is_begun = False
        """It has been ticked; before, nobody can have promised anything."""
        self._wanted_s = inf
        self._share = 1.0
        self._at_s = -inf
        """When ``_share`` was; it has grown since."""
        self._largest_s = 0.0
        self._until_s = -inf
        """Until when ``_largest_s`` counts as the lateness of late."""
        self.asleep_s = 0.0
        """In all."""

    @property
    def is_promised(self) -> bool:
        return self._wanted_s < inf

    def promise(self, due_s: float, *, now_s: float) -> None:
        """A tick is wanted at ``due_s``, or at once. One that is overdue stays so until it comes,
        though a message may have settled what it was wanted for: it stands in the same line."""
        if self._wanted_s >= now_s:
            self._wanted_s = max(due_s, now_s)

    def is_late(self, now_s: float) -> bool:
        """A tick was wanted, long enough ago, and has not come."""
        return now_s - self._wanted_s > self._config.late_after_s

    def wake(self, *, now_s: float) -> float:
        """The tick has come; for how long this peer slept, 0 where it is in time."""
        late_s, self._wanted_s = now_s - self._wanted_s, inf
        is_first, self._is_begun = not self._is_begun, True
        if is_first or late_s <= self._config.late_after_s:
            return 0.0
        self._share = self._share_at(now_s - late_s) * exp(-late_s / self._config.awake_over_s)
        self._at_s = now_s
        self.asleep_s += late_s
        if late_s >= self._largest_s or now_s > self._until_s:
            self._largest_s, self._until_s = late_s, now_s + self._config.summary_life_s
        return late_s

    def share(self, now_s: float) -> float:
        """Of the last while, in which it was awake; never below the least that a budget keeps."""
        return max(self._share_at(now_s), self._config.budget_share_min)

    def late_s(self, now_s: float) -> float:
        """How late it was at most, within the life of a summary. So long may something that has
        come still wait to be heard, and so much older is what this peer says of others."""
        return self._largest_s if now_s <= self._until_s else 0.0

    def _share_at(self, now_s: float) -> float:
        past_s = max(0.0, now_s - self._at_s)
        return 1.0 - (1.0 - self._share) * exp(-past_s / self._config.awake_over_s)
