"""What is known of a root's clock: a sample, and how a newer one of the same speaker changes it."""

from __future__ import annotations

import msgspec

DRIFT_MAX = 200e-6
"""How far clocks run apart, in seconds a second: twice what quartz is allowed (100 ppm)."""
STEP_MIN_S = 0.001


class RootClock(msgspec.Struct, frozen=True):
    """The root's clock is ours plus ``offset_s``, give or take ``spread_s`` at ``at_s``."""

    offset_s: float
    spread_s: float
    at_s: float
    told_s: float = float("-inf")
    """When the root last told what agrees with it, on our clock."""
    is_confirmed: bool = False
    """The root has said it itself, or three neighbours at least confirm it. Of a vote: its voter
    says so of what it goes by."""
    is_ready: bool = False
    """Enough has been heard to place records by it, or been waited for."""

    def spread_at(self, now_s: float) -> float:
        past_s = now_s - self.at_s
        return self.spread_s + DRIFT_MAX * past_s if past_s > 0.0 else self.spread_s


def learned(known: RootClock | None, heard: RootClock) -> RootClock:
    """Of what one neighbour says, the sample with the smallest spread counts (the minimum filter),
    until drift may have made it worse than a newer one. A sample that can't be true beside the
    known one means that a clock was set, if the root told it later."""
    if known is None:
        return heard
    known_spread_s = known.spread_at(heard.at_s)
    apart_s = abs(known.offset_s - heard.offset_s)
    if apart_s > known_spread_s + heard.spread_s + STEP_MIN_S:
        return heard if heard.told_s > known.told_s else known
    best = known if known_spread_s < heard.spread_s else heard
    told_s = max(known.told_s, heard.told_s)
    return msgspec.structs.replace(best, told_s=told_s, is_confirmed=heard.is_confirmed)
