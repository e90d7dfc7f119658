"""What the wall clock showed when a source was read: the clock that stamps the records.

A read has all that was stamped before it began, and records that come later are stamped later: by
the clock as it was then, or as it was set since. So a read proves that panes are over only up to
what the clock showed when it began, and if the clock was set back since, up to what that one makes
of it. A clock that is set *forward* tells the time of the next read; of the ones before it proves
nothing, for what was written between them and the setting has stamps of the former clock::

    wall clock      10   20   30         set to 70   80
    ─────────────────●────●────●───────────────●──────●────►
                         read                        read
                         has all up to 20            has all up to 80
                         (up to 60, had the clock been right: but a record of 25 is still to come)

Only rises are remembered, the newest of them: the lowest that the clock was since a time decides.
"""

from __future__ import annotations

RISES_MAX = 16
"""Beyond, the two oldest count as one, at which the clock was as low as before the first."""


class WallPast:
    """How far the wall clock is ahead of the steady one, and was."""

    def __init__(self, ahead_s: float = 0.0) -> None:
        self.ahead_s = ahead_s
        self._rises: list[tuple[float, float]] = []
        """(until when, in steady time; how far ahead it was), both rising."""

    def set(self, ahead_s: float, *, now_s: float) -> None:
        """The clock is so far ahead from now on."""
        while self._rises and self._rises[-1][1] >= ahead_s:
            self._rises.pop()
        if ahead_s > self.ahead_s:
            self._rises.append((now_s, self.ahead_s))
        self.ahead_s = ahead_s
        if len(self._rises) > RISES_MAX:
            (_, least_s), (until_s, _) = self._rises[:2]
            self._rises[:2] = [(until_s, least_s)]

    def of_read(self, steady_s: float) -> float:
        """Up to which time of the wall clock a read that began then has everything."""
        since = (ahead_s for until_s, ahead_s in self._rises if steady_s < until_s)
        return steady_s + next(since, self.ahead_s)
