"""When something that failed is tried again: soon at first, then ever more seldom, and shown.

Everything that an agent does again and again (reading a source, writing, planning) goes by the
same rule: what fails is tried until it works, and meanwhile people can see that it does not, and
why. Pauses are measured by a steady clock.
"""

from __future__ import annotations

from dataclasses import dataclass

PAUSE_S_MIN = 1.0
PAUSE_S_MAX = 30.0


@dataclass
class Patience:
    """With one thing that is tried again and again. ``now_s`` is of a steady clock."""

    trouble: str = ""
    """Why it fails, for people; empty while it does not."""
    tries: int = 0
    """Since it last worked."""
    _due_s: float = float("-inf")

    def failed(self, why: str, *, now_s: float) -> float:
        """Returns for how long it is left alone now."""
        pause_s = min(PAUSE_S_MIN * 2.0 ** min(self.tries, 16), PAUSE_S_MAX)
        self.tries += 1
        self.trouble = why
        self._due_s = now_s + pause_s
        return pause_s

    def worked(self) -> None:
        self.trouble, self.tries, self._due_s = "", 0, float("-inf")

    def is_due(self, *, now_s: float) -> bool:
        return now_s >= self._due_s
