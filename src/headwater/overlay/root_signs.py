"""Signs of life of the roots, and their clocks, passed on from neighbour to neighbour.

Every heartbeat says of each root how old the newest sign of it is that the sender knows, and what
the sender takes the root's clock to show. A root's own sign is new; everybody else repeats the
newest one they have heard, grown older. Two things come of it:

*Progress.* A parent can be up and prompt and yet cut off from the root, together with others that
tell each other how well they are. Its signs of the root grow old, whoever it hears them from, so
no ring of peers can keep itself alive, and its children turn elsewhere.

*Time.* Own clock plus ``offset_s`` is the root's clock, within half a round trip for each hop. Of
all samples the one with the smallest such *spread* counts (the minimum filter), until drift may
have made it worse than a newer one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

ROOTS_MAX = 16
"""Roots that a heartbeat speaks of; a federation has few."""
DRIFT_MAX = 200e-6
"""How far clocks run apart, in seconds a second: twice what quartz is allowed (100 ppm)."""
STEP_MIN_S = 0.001
VIA_MAX = 8
"""Peers that a sign names: more than trees are high, so that a ring is seen for what it is."""
SEED_SPREAD_S = 0.1
"""An installer does not know the root's clock better than this."""


class RootSign(msgspec.Struct, frozen=True, array_like=True):
    root: int
    """Its ordinal."""
    age_s: float
    """Of the newest sign of life."""
    clock_s: float | None = None
    """What the root's clock shows now; None: not known."""
    spread_s: float = 0.0
    """By how much that may be wrong."""
    via: tuple[int, ...] = ()
    """Through whom the sender has the sign, the nearest first: nobody shall take heart from an
    echo of itself, however many have passed it on."""


class RootClock(msgspec.Struct, frozen=True):
    """The root's clock is ours plus ``offset_s``, give or take ``spread_s`` at ``at_s``."""

    offset_s: float
    spread_s: float
    at_s: float

    def spread_at(self, now_s: float) -> float:
        return self.spread_s + DRIFT_MAX * max(0.0, now_s - self.at_s)


class RootSigns:
    def __init__(self, ordinal: int) -> None:
        self._ordinal = ordinal
        self._seen_s: dict[int, float] = {}
        """By root: when the newest sign was given, on our clock."""
        self._clocks: dict[int, RootClock] = {}
        self._own: frozenset[int] = frozenset()
        self._via: dict[int, tuple[int, ...]] = {}

    def set_roots(self, roots: Iterable[int]) -> None:
        """The roots of the queries that are live here."""
        wanted = sorted(set(roots))[:ROOTS_MAX]
        self._own = frozenset(wanted) & {self._ordinal}
        self._seen_s = {root: self._seen_s.get(root, float("-inf")) for root in wanted}
        self._clocks = {root: clock for root, clock in self._clocks.items() if root in self._seen_s}

    def hear(
        self,
        signs: Iterable[RootSign],
        *,
        sender: int,
        is_onward: Callable[[int], bool],
        rtt_s: float | None,
        now_s: float,
    ) -> None:
        """``is_onward``: of a root, whether the sender is one to whom we would hand summaries for
        it. Only such a one's news count as signs of life; a clock may be learned from anybody."""
        one_way_s = 0.0 if rtt_s is None else rtt_s / 2
        for sign in signs:
            if sign.root not in self._seen_s or sign.root in self._own:
                continue
            seen_s = now_s - sign.age_s - one_way_s
            is_echo = self._ordinal in sign.via
            is_newer = seen_s > self._seen_s[sign.root] and not is_echo
            if is_newer and is_onward(sign.root):
                self._seen_s[sign.root] = seen_s
                self._via[sign.root] = (sender, *sign.via)[:VIA_MAX]
            if sign.clock_s is not None and rtt_s is not None:
                offset_s = sign.clock_s + one_way_s - now_s
                self._learn(sign.root, RootClock(offset_s, sign.spread_s + one_way_s, now_s))

    def seed(self, root: int, clock_s: float, *, age_s: float, now_s: float) -> None:
        """A message of this age told what the root's clock showed when it left. Its age is made of
        half round trips, so that is about as far as it can be trusted."""
        if root in self._seen_s and root not in self._own:
            self._learn(root, RootClock(clock_s + age_s - now_s, SEED_SPREAD_S + age_s, now_s))

    def say(self, *, now_s: float) -> tuple[RootSign, ...]:
        """For the next heartbeat; roots of which nothing was ever heard are left out."""
        return tuple(
            self._sign_of(root, now_s)
            for root, seen_s in self._seen_s.items()
            if root in self._own or seen_s > float("-inf")
        )

    def clock_of(self, root: int, *, now_s: float) -> RootClock | None:
        if root in self._own:
            return RootClock(0.0, 0.0, now_s)
        return self._clocks.get(root)

    def _sign_of(self, root: int, now_s: float) -> RootSign:
        clock = self.clock_of(root, now_s=now_s)
        age_s = 0.0 if root in self._own else max(0.0, now_s - self._seen_s[root])
        via = self._via.get(root, ())
        if clock is None:
            return RootSign(root, age_s, via=via)
        return RootSign(root, age_s, now_s + clock.offset_s, clock.spread_at(now_s), via)

    def _learn(self, root: int, sample: RootClock) -> None:
        """A sample that can't be true beside the known one means that a clock was set."""
        known = self._clocks.get(root)
        if known is not None and known.spread_at(sample.at_s) < sample.spread_s:
            apart_s = abs(known.offset_s - sample.offset_s)
            if apart_s <= known.spread_at(sample.at_s) + sample.spread_s + STEP_MIN_S:
                return
        self._clocks[root] = sample
