"""What the root's own signature proves of its clock.

Heartbeats are nobody's signed word, and whoever passes one on can say anything of the root's clock.
But a site signs its states, and the root signs acknowledgements, each with what its clock showed;
one that greets a state was made after the state was sent, and before it came here::

    our clock      sent state 7 ────────────────────────► acknowledged
                        │                                      ▲
    the root's          └──────► came ──► made at ``clock_s`` ─┘

So the root's clock is ahead of ours by at least ``clock_s`` less when it came, and by at most
``clock_s`` less when the state was sent: no carrier can change that by a second, however few
parents there are. It is coarse, some seconds wide, where neighbours are right to milliseconds; so
it says whose word can't be true, and nothing more. A relay, which has no states, knows the lower
bound alone.

Both hold for one life of the root's process: a signed word of a later one ends them.
"""

from __future__ import annotations

import msgspec

from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.site_state import SiteState
from headwater.overlay.clocks.root_clock import DRIFT_MAX

STATES_MAX = 64
"""States of a query of which it is known when they were first sent; more await no greeting."""
ACK_LATE_MAX_S = 60.0
"""No acknowledgement is so late. One that says so much less than a former one did comes from a
machine that was suspended: its steady clock stood still, and what was proven before is void."""

Life = tuple[int, int]


class ClockBounds(msgspec.Struct, frozen=True):
    """By how much the clock of a root is ahead of ours, in one life of its process."""

    life: Life
    low_s: float
    low_at_s: float
    high_s: float = float("inf")
    high_at_s: float = 0.0

    def contradicts(self, offset_s: float, *, within_s: float, now_s: float) -> bool:
        low_s, high_s = self._at(now_s)
        return not low_s - within_s <= offset_s <= high_s + within_s

    def clamped(self, offset_s: float, *, now_s: float) -> float:
        """The nearest that can be true."""
        low_s, high_s = self._at(now_s)
        return min(max(offset_s, low_s), high_s)

    def joined(self, newer: ClockBounds) -> ClockBounds:
        """What both prove. If both can't be true, a clock stood still in between."""
        now_s = newer.low_at_s
        low_s, high_s = self._at(now_s)
        is_void = newer.low_s > high_s or newer.high_s < low_s
        if newer.life != self.life or is_void or newer.low_s < low_s - ACK_LATE_MAX_S:
            return newer
        low = (self.low_s, self.low_at_s) if low_s > newer.low_s else (newer.low_s, now_s)
        is_higher = newer.high_s >= high_s
        high = (self.high_s, self.high_at_s) if is_higher else (newer.high_s, newer.high_at_s)
        return ClockBounds(self.life, *low, *high)

    def _at(self, now_s: float) -> tuple[float, float]:
        """Clocks drift apart, and bounds with them."""
        low_s = self.low_s - DRIFT_MAX * max(0.0, now_s - self.low_at_s)
        return low_s, self.high_s + DRIFT_MAX * max(0.0, now_s - self.high_at_s)


class ClockProofs:
    """Of all roots, as one peer knows them. Everything that is handed in has been verified."""

    def __init__(self, ordinal: int) -> None:
        self._ordinal = ordinal
        self._bounds: dict[str, ClockBounds] = {}
        """By root."""
        self._sent_s: dict[str, dict[tuple[int, int], float]] = {}
        """By query, and incarnation and number of our own state: when it was first sent."""

    def sent(self, state: SiteState, *, now_s: float) -> None:
        """Our own word leaves; what is repeated was sent before."""
        if state.ordinal != self._ordinal:
            return
        sent_s = self._sent_s.setdefault(state.query, {})
        sent_s.setdefault((state.incarnation, state.number), now_s)
        if len(sent_s) > STATES_MAX:
            del sent_s[min(sent_s)]

    def heard(self, ack: Acknowledgement, *, root: str, now_s: float) -> ClockBounds | None:
        """The root's own word has come; what is proven now."""
        known = self._bounds.get(root)
        if ack.clock_s is None or (known is not None and ack.life < known.life):
            return known
        low_s, sent_s = ack.clock_s - now_s, self._greeted_s(ack)
        high_s = float("inf") if sent_s is None else ack.clock_s - sent_s
        newer = ClockBounds(ack.life, low_s, now_s, high_s, now_s)
        self._bounds[root] = newer if known is None else known.joined(newer)
        return self._bounds[root]

    def _greeted_s(self, ack: Acknowledgement) -> float | None:
        """When the newest of our states that the root has was sent, if this process sent it."""
        sent_s = self._sent_s.get(ack.query)
        if not sent_s:
            return None
        greeted = [one for one in ack.greetings if one.ordinal == self._ordinal]
        return max(
            (
                at_s
                for hail in greeted
                for (incarnation, number), at_s in sent_s.items()
                if incarnation == hail.incarnation and number <= hail.number
            ),
            default=None,
        )

    def of(self, root: str) -> ClockBounds | None:
        return self._bounds.get(root)

    def keep_roots(self, roots: set[str]) -> None:
        """Of others nothing is signed any more, and what was proven would grow old unseen."""
        self._bounds = {root: one for root, one in self._bounds.items() if root in roots}

    def discard_query(self, query_id: str) -> None:
        self._sent_s.pop(query_id, None)
