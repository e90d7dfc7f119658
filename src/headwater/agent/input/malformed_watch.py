"""Whether a source has too many malformed lines at a site, judged over what was read lately.

Judged over all that was ever read, a format that changed today would stay unseen for days behind a
million good lines of before. Judged by each batch, a small one with a bad line would give a notice,
and the next one take it back. So lines are counted over the last ten minutes, in slices, and once
there were too many it is said until there is not half as much any more.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from headwater.plan.sources.malformed_max import MalformedMax

SLICE_S = 60.0
SLICES_MAX = 10


@dataclass
class MalformedWatch:
    limit: MalformedMax
    is_exceeded: bool = False
    _slices: deque[list[float]] = field(default_factory=deque)
    """(when it began, lines, malformed ones among them), oldest first."""

    def read(self, lines: int, malformed: int, *, now_s: float) -> bool:
        """A batch was read, or time has passed; whether that changes what is to be said."""
        self._forget(now_s)
        if lines:
            if not self._slices or now_s - self._slices[-1][0] >= SLICE_S:
                self._slices.append([now_s, 0, 0])
            self._slices[-1][1] += lines
            self._slices[-1][2] += malformed
        before = self.is_exceeded
        found = self.malformed * 2 if before else self.malformed
        self.is_exceeded = self.limit.is_exceeded(min(found, self.lines), lines=self.lines)
        return self.is_exceeded != before

    @property
    def lines(self) -> int:
        """Of the last minutes."""
        return int(sum(one[1] for one in self._slices))

    @property
    def malformed(self) -> int:
        return int(sum(one[2] for one in self._slices))

    def _forget(self, now_s: float) -> None:
        """A clock that was set back is no reason to keep them for ever."""
        while self._slices and not 0.0 <= now_s - self._slices[0][0] < SLICE_S * SLICES_MAX:
            self._slices.popleft()
