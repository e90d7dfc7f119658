"""Markers on the bulk stream of one link: when one goes, and what its acknowledgement shows.

A marker joins the data of a query and is read behind all of it. The neighbour's next heartbeat
names the newest marker that it has read, and how long ago: no message more, at a time when the link
may be full. One is under way at a time.

Who has never named a marker does not know them (agents of 0.3) and gets none. Who does not answer
is asked ever more seldom.
"""

from __future__ import annotations

from headwater.algebra.capacity.marked import AHEAD_BYTES_MIN, Marked
from headwater.overlay.messages import Heartbeat, StreamMarker

EVERY_S_MAX = 5.0
"""Where little is sent, that little is marked so often."""
ANSWERED_WITHIN_S = 10.0
"""Two heartbeats at their longest, about: then it counts as unanswered."""
PAUSE_S_MAX = 60.0
"""Before somebody who does not answer is asked again."""
NUMBER_MAX = 1 << 31


class Markers:
    def __init__(self) -> None:
        self._number = 0
        self._is_known = False
        """The neighbour knows markers."""
        self._sent_s: float | None = None
        """When the one under way was; None: none is."""
        self._ahead_bytes = 0
        """Before it, encoded: what waited, and what was handed over just before."""
        self._k_s = 0.0
        self._handed_bytes = 0
        self._since_s: float | None = None
        """When the marker before left, behind which they are; None: there was none."""
        self._pause_s = 0.0
        self._next_s = float("-inf")
        self._seen = 0
        self._seen_s = 0.0

    def forget(self) -> None:
        """The link is new: what was under way is gone."""
        self._is_known, self._sent_s, self._since_s = False, None, None
        self._handed_bytes, self._seen = 0, 0

    def handed(self, byte_count: int, *, now_s: float) -> None:
        """So many bytes are to go over the link."""
        if self._since_s is None:
            self._since_s = now_s
        self._handed_bytes += byte_count

    def due(self, query: str, *, ahead_bytes: int, now_s: float) -> StreamMarker | None:
        """What is to join data of this query, which were handed over just now; with them so many
        bytes go before it. What the kernel has taken of former ones is not known: a marker tells a
        little too little then, which TCP corrects."""
        self._give_up(now_s)
        since_s = now_s if self._since_s is None else self._since_s
        is_enough = self._handed_bytes >= AHEAD_BYTES_MIN or now_s - since_s >= EVERY_S_MAX
        if not is_enough or not self._is_known or self._sent_s is not None or now_s < self._next_s:
            return None
        self._number = self._number % NUMBER_MAX + 1
        self._sent_s, self._ahead_bytes = now_s, ahead_bytes
        self._k_s = max(0.0, now_s - since_s)
        self._handed_bytes, self._since_s = 0, now_s
        return StreamMarker(self._number, query)

    def hear(self, beat: Heartbeat, *, now_s: float) -> Marked | None:
        """What the neighbour's word on the one that is under way shows."""
        self._is_known = beat.marker >= 0
        sent_s = self._sent_s
        if sent_s is None or beat.marker != self._number:
            return None
        self._sent_s, self._pause_s = None, 0.0
        t_s = max(0.0, now_s - sent_s - beat.marker_held_s)
        return Marked(self._ahead_bytes, self._k_s, t_s)

    def read(self, marker: StreamMarker, *, now_s: float) -> None:
        """One of the neighbour's has come, behind its data."""
        self._seen, self._seen_s = marker.number, now_s

    def answer(self, *, now_s: float) -> tuple[int, float]:
        """For the next heartbeat: the newest that was read, and how long ago; 0: none."""
        return self._seen, max(0.0, now_s - self._seen_s) if self._seen else 0.0

    def _give_up(self, now_s: float) -> None:
        within_s = ANSWERED_WITHIN_S + min(self._k_s, EVERY_S_MAX)
        if self._sent_s is None or 0.0 <= now_s - self._sent_s <= within_s:
            return
        self._sent_s = None
        self._pause_s = min(PAUSE_S_MAX, 2.0 * self._pause_s + 1.0)
        self._next_s = now_s + self._pause_s
