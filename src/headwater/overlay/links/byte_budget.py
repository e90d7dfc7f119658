"""What one agent, or one of its links, may still send: a token bucket with control's share in it.

::

    bucket   ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇│▇▇▇▇      fills at the budget, never beyond the burst
             └ live, backlog ┘└ kept for heartbeats, which never wait
    control  ▇▇▇▇                       a bucket of its own, at its share of the budget

The driver asks ``room`` before every write and tells ``spend`` what it wrote. Heartbeats always
have room: what they take beyond the bucket is a debt that everything else waits for. So is what is
known only afterwards (handshakes, acknowledgements by TCP, what was sent again). Control beyond its
share waits behind live, and uses what nobody else wants; of that little is held against it later.
"""

from __future__ import annotations

from enum import IntEnum
from math import exp

from headwater.algebra.budget import Budget

BURST_S_MAX = 0.25
PACKET_BYTES = 1514
"""With its headers, on an Ethernet."""
BURST_BYTES_MIN = 2 * PACKET_BYTES
QUANTUM_S = 0.05
"""About what is written at once: less makes more writes, more holds the line longer."""
KEPT_SHARE = 0.2
"""Of the burst: what live and backlog leave for heartbeats."""
REFILL_S = 0.005
"""While there is plenty, the buckets are not looked at more often: writes come by the hundred."""
CONTROL_BURST_S = 1.0
"""Control comes in lumps: an acknowledgement with its leaves, states of many sites."""

LATELY_S = 10.0
DEBT_S_MAX = 5.0
"""What strangers at the door cost is never paid off for longer than this: it would keep the agent
silent as they like. Nor is what control took beyond its share: maybe nobody else wanted it for
hours. It is long enough for a lump of heartbeats, which come no more seldom."""


class Traffic(IntEnum):
    """What is sent, most urgent first. Transport is what nobody asked for by itself: handshakes,
    acknowledgements by TCP, what it sent again."""

    BEAT = 0
    CONTROL = 1
    LIVE = 2
    BACKLOG = 3
    TRANSPORT = 4


class ByteBudget:
    """Lives as long as its agent, over all links that come and go."""

    def __init__(
        self, bytes_per_s: float, *, control_share_max: float, debt_s_max: float = DEBT_S_MAX
    ) -> None:
        self.bytes_per_s = bytes_per_s
        self._debt_bytes = debt_s_max * bytes_per_s
        self.burst_bytes = max(BURST_S_MAX * bytes_per_s, BURST_BYTES_MIN)
        self.kept_bytes = KEPT_SHARE * self.burst_bytes
        self.quantum_bytes = min(
            self.burst_bytes - self.kept_bytes, max(QUANTUM_S * bytes_per_s, BURST_BYTES_MIN)
        )
        self._all = Budget.full(per_s=bytes_per_s, burst=self.burst_bytes)
        control_per_s = control_share_max * bytes_per_s
        self._control = Budget.full(
            per_s=control_per_s, burst=max(CONTROL_BURST_S * control_per_s, PACKET_BYTES)
        )
        self._control_debt_bytes = DEBT_S_MAX * control_per_s
        self.spent_bytes = [0.0] * len(Traffic)
        """By traffic."""
        self._owed_bytes = 0.0
        self._owed_control_bytes = 0.0
        """Spent since the buckets were last looked at."""
        self._lately_bytes = 0.0
        self._lately_s: float | None = None

    def room(self, traffic: Traffic, *, is_spare: bool = False, now_s: float) -> float:
        """Bytes that may be written now. ``is_spare``: nothing else waits."""
        if traffic > Traffic.CONTROL and 0.0 <= now_s - self._all.at_s < REFILL_S:
            ample_bytes = self._all.left - self._owed_bytes - self.kept_bytes
            if ample_bytes >= self.quantum_bytes:
                return ample_bytes
        self._at(now_s)
        if traffic is Traffic.BEAT:
            return max(self._all.left, self.quantum_bytes)
        if traffic is Traffic.CONTROL:
            return self._all.left if is_spare else min(self._all.left, self._control.left)
        return self._all.left - self.kept_bytes

    def most_bytes(self, traffic: Traffic) -> float:
        """More is not waited for at once."""
        return PACKET_BYTES if traffic is Traffic.CONTROL else self.quantum_bytes

    def ready_s(self, traffic: Traffic, byte_count: float, *, is_spare: bool = False) -> float:
        """When there will be room for so many, which must be at most ``most_bytes``, if nothing
        else is written until then."""
        self._at(self._all.at_s)
        if traffic is Traffic.BEAT:
            return self._all.at_s
        if traffic is not Traffic.CONTROL:
            return self._all.allows_at_s(byte_count + self.kept_bytes)
        ready_s = self._all.allows_at_s(byte_count)
        if is_spare:
            return ready_s
        return max(ready_s, self._control.allows_at_s(byte_count))

    def spend(self, traffic: Traffic, byte_count: float, *, now_s: float) -> None:
        """Written; less than nothing corrects an estimate."""
        if not 0.0 <= now_s - self._all.at_s < REFILL_S:
            self._at(now_s)
        self.spent_bytes[traffic] += byte_count
        self._owed_bytes += byte_count
        if traffic <= Traffic.CONTROL:
            self._owed_control_bytes += byte_count

    def used_bytes_per_s(self, *, now_s: float) -> float:
        """Over about the last ten seconds; older ones fade."""
        self._at(now_s)
        return max(0.0, self._lately(now_s)) / LATELY_S

    def _lately(self, now_s: float) -> float:
        past_s = 0.0 if self._lately_s is None else max(0.0, now_s - self._lately_s)
        return self._lately_bytes * exp(-past_s / LATELY_S)

    def _at(self, now_s: float) -> None:
        """Filled up to now, and then what was spent taken out: a bucket that was full gains
        nothing in between."""
        looked_s = self._all.at_s
        owed_bytes, control_bytes = self._owed_bytes, self._owed_control_bytes
        self._owed_bytes = self._owed_control_bytes = 0.0
        self._all, self._control = self._all.at(now_s), self._control.at(now_s)
        if owed_bytes:
            self._lately_bytes = self._lately(looked_s) + owed_bytes
            self._lately_s = looked_s
            most = max(0.0, self._all.left + self._debt_bytes)
            self._all = self._all.spend(min(owed_bytes, most))
        if control_bytes:
            most = max(0.0, self._control.left + self._control_debt_bytes)
            self._control = self._control.spend(min(control_bytes, most))
