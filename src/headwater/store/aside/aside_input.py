"""A stretch that was set aside, as an input: all of it was found when it was live."""

from __future__ import annotations

from headwater.store.follow.poll import Poll
from headwater.store.input.cuts import CutLog


class AsideInput:
    """The same verbs as a ``LogFollower``."""

    def __init__(self, cuts: CutLog, *, source: str) -> None:
        """``source`` is the name of the reading."""
        self.source = source
        self._cuts = cuts

    def poll(self, *, now_s: float) -> Poll:
        """There is nothing more to find; it says once that all is read, where it was read
        before."""
        state = self._cuts.state(self.source)
        report = self._cuts.polled(state, started_s=now_s, is_clean=True)
        return Poll(started_s=now_s, files=1, report=report)

    @property
    def is_quiet(self) -> bool:
        return True

    def close(self) -> None:
        """It holds nothing open."""
