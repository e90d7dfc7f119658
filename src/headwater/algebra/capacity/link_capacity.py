"""What one link carries, made of all that is measured of it: markers, TCP, the own queue, delay.

Each measure tells a part of it:

- the *queue*: how fast it empties while something waits. True of the socket, which may swallow all
  of a pane at once: so the others bound it;
- *TCP*: what the other kernel has acknowledged. Where the sender had no more it tells nothing: the
  rate is that of some packets then, of a link of 400 kbit/s 480 Mbit/s at times;
- a *marker*: what the neighbour itself has read. That is its word, so our own figures bound it: it
  counts for no less than TCP has delivered, and for no more than anything else has shown;
- *delay*: that packets wait on the way, beyond our own queue. It takes a share off (``eased``).

Where nothing new is measured, what was known last stays, through a lost link as well; while some
data passes without any delay it grows slowly, as far as whoever sends may want it soon, until
something shows better. A link that got wider would else never be found out by those who send less
because it was narrow.
"""

from __future__ import annotations

from headwater.algebra.capacity.delivery import Delivery
from headwater.algebra.capacity.eased import Eased
from headwater.algebra.capacity.least_delay import LeastDelay
from headwater.algebra.capacity.marked import Marked
from headwater.algebra.capacity.smoothed import Smoothed

FOLLOWS_OVER_S = 1.0
"""A change shows in what is known within some of these: what is measured is a mean already."""
FRESH_S = 5.0
"""A figure of the queue or of TCP bounds what a neighbour says for so long."""
DELAY_S_MAX = 2.0
"""Of packets on the way: as long as the own queue may be."""
MARKED_S = 15.0
"""What a marker has shown bounds the own queue for so long: the next one comes within that."""
OWN_PART_MIN = 0.25
"""Of what the own queue shows, where no TCP is asked: a neighbour can't say less."""
GROWS_BY = 0.05
"""A second, while nothing is delayed."""
GROWS_TO = 8.0
"""Times what is sent: about what a level finer would take."""
GROWS_DELAY_S_MAX = 0.25
USED_OVER_S = 10.0


class LinkCapacity:
    def __init__(self) -> None:
        self.ratio: float | None = None
        """k/t of the newest marker; None: none has shown anything."""
        self.queueing_s = 0.0
        """How long packets wait on the way, as it was last seen."""
        self.died_count = 0
        """Summaries that have waited for this link until their life was over."""
        self._known = Smoothed()
        self._eased = Eased()
        self._least = LeastDelay()
        self._delivery: tuple[Delivery, float] | None = None
        self._drained: tuple[float, float] | None = None
        self._marked: tuple[float, float] | None = None
        """All with when they were told."""
        self._is_waiting = False
        self._used = Smoothed()
        self._used_bytes = 0
        self._looked_s: float | None = None

    @property
    def bytes_per_s(self) -> float | None:
        """None: nothing was ever measured."""
        known = self._known.value
        return None if known is None else known * self._eased.share

    @property
    def share(self) -> float:
        """What delay leaves of what was measured."""
        return self._eased.share

    def used(self, byte_count: int) -> None:
        """So many more were handed over for it."""
        self._used_bytes += byte_count

    def drained(self, bytes_per_s: float | None, *, queued_bytes: int, now_s: float) -> None:
        """The own queue; None: nothing has shown how fast it empties."""
        self._is_waiting = queued_bytes > 0
        if bytes_per_s is not None:
            self._drained = bytes_per_s, now_s
            self._follow(min(bytes_per_s, self._most_beyond(now_s)), now_s=now_s)

    def delivered(self, delivery: Delivery, *, now_s: float) -> None:
        """TCP, as its kernel was asked."""
        was = self._delivery
        self._delivery = delivery, now_s
        self._look(delivery.queueing_s, now_s=now_s)
        if was is not None and was[0].bytes_per_s == delivery.bytes_per_s:
            return  # the kernel keeps the last one until there is another
        if delivery.bytes_per_s > 0.0 and not delivery.is_limited:
            past_s = 0.0 if was is None else min(now_s - was[1], FRESH_S)
            self._follow(delivery.bytes_per_s, now_s=now_s, past_s=past_s)

    def marked(self, marked: Marked, *, now_s: float) -> None:
        """A neighbour has acknowledged a marker."""
        self.ratio = marked.ratio
        if not marked.is_limited:
            rate = self._bounded(marked, now_s)
            if rate is not None:
                self._marked = rate, now_s
                self._follow(rate, now_s=now_s)

    def round_trip(self, rtt_s: float, *, now_s: float) -> None:
        """Of a heartbeat: the only delay that is seen where no TCP is asked."""
        self._least = self._least.add(rtt_s, now_s=now_s)
        if self._fresh_delivery(now_s) is None:
            self._look(rtt_s - (self._least.least_s or 0.0), now_s=now_s)

    def died(self, *, now_s: float) -> None:
        """A summary's life was over while it waited for this link."""
        self.died_count += 1
        self._eased = self._eased.look(is_delayed=True, now_s=now_s)

    def _look(self, queueing_s: float, *, now_s: float) -> None:
        """About once a second: is there delay, and if there is none, may what is known grow?"""
        self.queueing_s = max(0.0, queueing_s)
        self._eased = self._eased.look(is_delayed=queueing_s > DELAY_S_MAX, now_s=now_s)
        looked_s, self._looked_s = self._looked_s, now_s
        past_s = 0.0 if looked_s is None else min(max(0.0, now_s - looked_s), FRESH_S)
        if past_s <= 0.0:
            return
        used = self._used_bytes / past_s
        self._used = self._used.add(used, over_s=USED_OVER_S, now_s=now_s)
        has_sent, self._used_bytes = self._used_bytes > 0, 0
        if has_sent and self._is_easy:
            self._grow(past_s, now_s=now_s)

    @property
    def _is_easy(self) -> bool:
        """Nothing waits, here or on the way, and the neighbour keeps up."""
        is_quick = self.queueing_s <= GROWS_DELAY_S_MAX and (self.ratio is None or self.ratio > 1.0)
        return is_quick and not self._is_waiting and self._eased.share >= 1.0

    def _grow(self, past_s: float, *, now_s: float) -> None:
        known = self._known.value
        if known is not None:
            most = GROWS_TO * (self._used.value or 0.0)
            self._raise_to(min(known * (1.0 + GROWS_BY * past_s), most), now_s=now_s)

    def _bounded(self, marked: Marked, now_s: float) -> float | None:
        """What a marker shows, within what we have seen ourselves. None: that is nothing, and it
        would be the neighbour's word alone."""
        delivery = self._fresh_delivery(now_s)
        drained = self._drained
        shown = drained[0] if drained is not None and _is_fresh(drained[1], now_s) else None
        least_s = self._least.least_s or 0.0
        lowest, highest = OWN_PART_MIN * (shown or 0.0), shown or self._known.value
        if delivery is not None:
            least_s, lowest = max(least_s, delivery.rtt_least_s), delivery.bytes_per_s
            if delivery.is_limited:
                lowest = min(lowest, self._known.value or 0.0)
            else:
                highest = delivery.bytes_per_s
        if highest is None:
            return None
        return max(lowest, min(marked.bytes_per_s(rtt_least_s=least_s), highest))

    def _most_beyond(self, now_s: float) -> float:
        """What was shown of the way behind the socket bounds what the socket has taken."""
        delivery, marked = self._fresh_delivery(now_s), self._marked
        most = float("inf")
        if delivery is not None and delivery.bytes_per_s > 0.0 and not delivery.is_limited:
            most = delivery.bytes_per_s
        if marked is not None and 0.0 <= now_s - marked[1] <= MARKED_S:
            most = min(most, marked[0])
        return most

    def _fresh_delivery(self, now_s: float) -> Delivery | None:
        known = self._delivery
        return known[0] if known is not None and _is_fresh(known[1], now_s) else None

    def _raise_to(self, rate: float, *, now_s: float) -> None:
        """By what may be less than the link carries. Of a link of which nothing is known it tells
        nothing: somebody would take it for all that there is."""
        if self._known.value is not None and rate > self._known.value:
            self._known = Smoothed(rate, now_s)

    def _follow(self, rate: float, *, now_s: float, past_s: float = 0.0) -> None:
        self._known = self._known.add(rate, over_s=FOLLOWS_OVER_S, now_s=now_s, past_s=past_s)


def _is_fresh(at_s: float, now_s: float) -> bool:
    return 0.0 <= now_s - at_s <= FRESH_S
