"""Signs of life of the roots, and their clocks, passed on from neighbour to neighbour.

Every heartbeat says of each root how old the newest sign of it is that the sender has by the way
that it would send summaries, who is on that way, and what it takes the root's clock to show. A
root's own sign is new; everybody else repeats one that they have heard, grown older. Three things
come of it:

*A way.* Of the ways that its summaries may take, a peer tells the shortest. Whoever is on it can't
go by this peer that way; where that is one of its children, it tells a second way without them.
Who has no way left says so at once, and those behind it turn elsewhere: a parent can be up and
prompt and yet cut off from the root.

*Progress.* Signs only ever grow older on the way, so no ring of peers, however long, can keep
itself believing in a root that is gone.

*Time.* Own clock plus ``offset_s`` is the root's clock, within half a round trip for each hop. Both
are the steady clocks of their processes: that a wall clock is set changes nothing here. Of all
samples the one with the smallest such *spread* counts (the minimum filter), until drift may have
made it worse than a newer one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

ROOTS_MAX = 16
"""Roots that one heartbeat speaks of; where there are more, they take turns (``sign_turns``)."""
SIGNS_MAX = 2 * ROOTS_MAX
"""Signs in a heartbeat: a way to each root, and another one where it needs that."""
WORDS_AWAITED = 8
"""So often nothing is said of a root that there never was a way to; where roots take turns, that
there is none is said then, for silence would be taken for a turn that has not come."""
DRIFT_MAX = 200e-6
"""How far clocks run apart, in seconds a second: twice what quartz is allowed (100 ppm)."""
STEP_MIN_S = 0.001
VIA_MAX = 8
"""Peers that a sign names: more than trees are high, so that a ring is seen for what it is."""
SEED_SPREAD_S = 0.1
"""An installer does not know the root's clock better than this."""
LOST_S = 1e9
"""The age of a sign that says: I have no way to this root."""


class RootSign(msgspec.Struct, frozen=True, array_like=True):
    root: int
    """Its ordinal."""
    age_s: float
    """Of the newest sign of life, or ``LOST_S``."""
    clock_s: float | None = None
    """What the root's clock shows now; None: not known."""
    spread_s: float = 0.0
    """By how much that may be wrong."""
    via: tuple[int, ...] = ()
    """Through whom the sender has the sign, the nearest first: nobody shall take heart from an
    echo of itself, however many have passed it on."""
    by_host: bool = False
    """Somebody on the way goes by a last resort."""
    clock_age_s: float = 0.0
    """Since the root itself told the clock: of two that contradict each other, the one that was
    told later counts. A root that starts anew may have another clock, and what others remember of
    the former one would go round among them for ever."""


class RootWay(msgspec.Struct, frozen=True, order=True):
    """What a neighbour said of a root, as it counts here."""

    seen_s: float
    """When the sign was given, on our clock; minus infinity: no way, or one through ourselves."""
    via: tuple[int, ...] = ()
    by_host: bool = False


NO_WAY = RootWay(float("-inf"))


class RootClock(msgspec.Struct, frozen=True):
    """The root's clock is ours plus ``offset_s``, give or take ``spread_s`` at ``at_s``."""

    offset_s: float
    spread_s: float
    at_s: float
    told_s: float = float("-inf")
    """When the root last told what agrees with it, on our clock."""

    def spread_at(self, now_s: float) -> float:
        past_s = now_s - self.at_s
        return self.spread_s + DRIFT_MAX * past_s if past_s > 0.0 else self.spread_s


class RootSigns:
    """``ways_to`` finds the ways to a root that are to be told, the best one first."""

    __slots__ = ("_clocks", "_has_way", "_ordinal", "_own", "_unsaid", "_ways_to")

    def __init__(self, ordinal: int, *, ways_to: Callable[[int], list[RootWay]]) -> None:
        self._ordinal = ordinal
        self._ways_to = ways_to
        self._has_way: dict[int, bool | None] = {}
        """By root: what was last said of it; None: nothing yet."""
        self._unsaid: dict[int, int] = {}
        """By root: how often nothing was said of it."""
        self._clocks: dict[int, RootClock] = {}
        self._own: frozenset[int] = frozenset()

    def set_roots(self, roots: Iterable[int]) -> None:
        """The roots of the queries that are live here: at most as many as there are queries."""
        wanted = sorted(set(roots))
        self._own = frozenset(wanted) & {self._ordinal}
        self._has_way = {root: self._has_way.get(root) for root in wanted}
        self._unsaid = {root: count for root, count in self._unsaid.items() if root in wanted}
        self._clocks = {root: clock for root, clock in self._clocks.items() if root in wanted}

    def hear_clocks(self, signs: Iterable[RootSign], *, rtt_s: float | None, now_s: float) -> None:
        """A clock may be learned from anybody, whether or not summaries go there."""
        if rtt_s is None:
            return
        for sign in signs:
            is_known = sign.root in self._has_way and sign.root not in self._own
            if is_known and sign.clock_s is not None:
                offset_s = sign.clock_s + rtt_s / 2 - now_s
                told_s = now_s - rtt_s / 2 - sign.clock_age_s
                clock = RootClock(offset_s, sign.spread_s + rtt_s / 2, now_s, told_s)
                self._learn(sign.root, clock)

    def seed(self, root: int, clock_s: float, *, age_s: float, now_s: float) -> None:
        """A message of this age told what the root's clock showed when it left. Its age is made of
        half round trips, so that is about as far as it can be trusted."""
        if root in self._has_way and root not in self._own:
            offset_s = clock_s + age_s - now_s
            self._learn(root, RootClock(offset_s, SEED_SPREAD_S + age_s, now_s, now_s - age_s))

    def say(self, *, now_s: float) -> tuple[RootSign, ...]:
        """All that there is to say; roots to which there never was a way are left out. Signs of
        one root stand together. Which of them a heartbeat takes is up to ``SignTurns``."""
        signs: list[RootSign] = []
        for root in self._has_way:
            ways = self._find(root, now_s)
            if ways or self._has_way[root] is not None or self._is_given_up(root):
                self._has_way[root] = bool(ways)
                signs.append(self._sign_of(root, ways[0] if ways else None, now_s))
                signs += [_sign(root, way, now_s) for way in ways[1:]]
        return tuple(signs)

    def _is_given_up(self, root: int) -> bool:
        self._unsaid[root] = self._unsaid.get(root, 0) + 1
        return len(self._has_way) > ROOTS_MAX and self._unsaid[root] > WORDS_AWAITED

    def has_news(self, *, now_s: float) -> bool:
        """A way was lost or found since something was said: others should not wait for it."""
        return any(
            had_way is not None and had_way != bool(self._find(root, now_s))
            for root, had_way in self._has_way.items()
        )

    def _find(self, root: int, now_s: float) -> list[RootWay]:
        return [RootWay(now_s)] if root in self._own else self._ways_to(root)

    def clock_of(self, root: int, *, now_s: float) -> RootClock | None:
        if root in self._own:
            return RootClock(0.0, 0.0, now_s, now_s)
        return self._clocks.get(root)

    def _sign_of(self, root: int, way: RootWay | None, now_s: float) -> RootSign:
        sign = RootSign(root, LOST_S) if way is None else _sign(root, way, now_s)
        clock = self.clock_of(root, now_s=now_s)
        if clock is None:
            return sign
        return RootSign(
            root, sign.age_s, now_s + clock.offset_s, clock.spread_at(now_s), sign.via,
            sign.by_host, min(max(0.0, now_s - clock.told_s), LOST_S),
        )  # fmt: skip

    def _learn(self, root: int, heard: RootClock) -> None:
        """A sample that can't be true beside the known one means that a clock was set, if the root
        told it later."""
        known = self._clocks.get(root)
        if known is not None:
            known_spread_s = known.spread_at(heard.at_s)
            apart_s = abs(known.offset_s - heard.offset_s)
            if apart_s > known_spread_s + heard.spread_s + STEP_MIN_S:
                heard = heard if heard.told_s > known.told_s else known
            else:
                best = known if known_spread_s < heard.spread_s else heard
                told_s = max(known.told_s, heard.told_s)
                heard = msgspec.structs.replace(best, told_s=told_s)
        self._clocks[root] = heard


def _sign(root: int, way: RootWay, now_s: float) -> RootSign:
    age_s = max(0.0, now_s - way.seen_s)
    return RootSign(root, age_s, via=way.via[:VIA_MAX], by_host=way.by_host)
