"""Questions that were taken here and are over: whoever asked has the answer, or is gone.

A question carries the moment at which it ends, by the clock of the agent that took it, so neither
an asker that died nor a restart leaves one behind. That agent says so in its own count; nobody has
to sign it, for nothing ends but what was installed to end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headwater.algebra.panes import MICROS
from headwater.plan.command import Install

LOOK_EVERY_S = 1.0


class QuestionEnds:
    def __init__(self, site: str) -> None:
        self._site = site
        self._ended: set[str] = set()
        self._looked_s = 0.0

    def end(self, query_ids: Iterable[str]) -> None:
        """Whoever asked is done with them."""
        self._ended.update(query_ids)

    def due(self, live: Mapping[str, Install], *, now_s: float, wall_s: float) -> list[str]:
        """Those that are over, and live yet; looked for now and then."""
        if not self._ended and now_s < self._looked_s + LOOK_EVERY_S:
            return []
        self._looked_s = now_s
        ended, self._ended = self._ended, set()
        found = []
        for query_id, install in live.items():
            ask = install.query.asked
            if ask is None or install.query.id.installer != self._site:
                continue
            if query_id in ended or wall_s * MICROS > ask.until_us:
                found.append(query_id)
        return found
