"""The story of a run: its last events as text, and all of them as one number.

Text is made only when somebody reads it, because nearly all runs are good. The number takes in
every event, so two runs with the same number did the same, in the same order.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

from headwater.sim.describe import describe

TAIL_LENGTH = 60
"""Events of a failing run that its report shows; older ones have rarely been the cause."""
_TRACE_MASK = (1 << 61) - 1


class Transcript:
    def __init__(self, start_s: float, *, tail_length: int = TAIL_LENGTH) -> None:
        self.counts: Counter[str] = Counter()
        self.trace = 0
        self._start_s = start_s
        self._tail: deque[tuple[float, str, Any]] = deque(maxlen=tail_length)

    def note(self, at_s: float, site: str, what: Any, *, mark: int = 0) -> None:
        """``what`` prints itself; ``mark`` is what of it goes into the trace."""
        self._tail.append((at_s, site, what))
        self.trace = hash((self.trace, at_s, mark)) & _TRACE_MASK

    def count(self, what: str) -> None:
        self.counts[what] += 1

    def lines(self) -> tuple[str, ...]:
        return tuple(
            f"{at_s - self._start_s:9.3f}  {site:<4} {describe(what)}"
            for at_s, site, what in self._tail
        )
