"""Finding the own coordinate from the round trips that heartbeats measure anyway.

Each site imagines a spring to each neighbour, as long as the measured round trip, and lets it push
or pull a little at every heartbeat (Dabek et al., "Vivaldi", SIGCOMM 2004). Nobody sees the whole,
and yet all coordinates come to rest where they predict round trips well. How far a spring moves us
depends on how sure both ends are of themselves, which lets newcomers settle quickly among those
who know, without disturbing them (section 3.4: the adaptive timestep).

In the wild, four things go wrong, and each has its answer here:

- A round trip is measured long while a queue is full or a process sleeps: of the last round trips
  to a neighbour a low percentile counts (Ledlie et al., "Network coordinates in the wild", NSDI
  2007, section 4.1).
- Everyone drifts together, which predicts well and makes old coordinates useless: gravity pulls
  weakly towards the origin (the same, section 5).
- A neighbour lies, or its path obeys no geometry: a spring pushes at most a few times harder than
  springs usually do. One bad neighbour among many then moves us no more than an honest one.
- A neighbour talks more than the others, to be believed more: beyond twice its fair share it is
  not listened to. And nobody is trusted much more than we trust ourselves, so that claiming to
  make no errors gains little.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict, deque
from math import ceil, hypot
from typing import Protocol

from headwater.algebra.coordinate import (
    ERROR_MAX,
    HEIGHT_MIN_MS,
    ORIGIN,
    POSITION_MAX_MS,
    Coordinate,
    problem_with_coordinate,
)

STEP_SHARE = 0.25
"""c_c of Vivaldi: the share of a spring's excess by which we move, were we wholly unsure."""
ERROR_SHARE = 0.25
"""c_e of Vivaldi: the weight of one sample in our own error, were we wholly unsure."""
TRUST_MAX = 2.0
"""A neighbour counts as at best this many times surer than we are, whatever it says."""
ERROR_FLOOR = 0.05
"""Nobody is surer than this: measured round trips differ by more from day to day."""

FILTER_SAMPLES = 8
FILTER_RANK = 4
"""Of the last eight round trips, one at the lower quarter: a path can't be faster than it is, but
one sample too low (a wrong echo) must not count either."""
NEIGHBOURS_MAX = 512
"""Of whom round trips are kept; beyond, the one heard least recently is forgotten."""
SHARE_MAX = 2.0
"""Times its fair share that a neighbour may move us."""
MOVES_MAX = 4_096
"""Moves counted for the shares, before all counts are halved."""

USUAL_SAMPLES = 63
"""Springs from which the usual strength is taken (their median)."""
USUAL_TIMES_MAX = 3.0
"""Times the usual strength that one spring may push: Huber's bound, which is 95% as efficient as
none at all when errors are normal."""
EXCESS_MS_MAX = 250.0
"""And never harder than this: half a round trip around the world."""
EXCESS_MS_MIN = 1.0
"""Springs may always push this hard, or a perfect world would freeze."""
GRAVITY_MS = 256.0
"""Ledlie's rho: at this distance from the origin, gravity moves us by a millisecond a step, times
the weight of the spring, so that those who are sure of themselves stay where they are."""
TOGETHER_MS = 1e-6
"""Nearer than this, two sites stand in one place."""
RTT_MAX_S = 60.0
"""A longer round trip is a clock that was set, not a network."""
RTT_MIN_MS = 0.02
"""Below, the measure is the clock's, not the network's."""


Point = tuple[float, float, float]


class Chance(Protocol):
    """What is needed of a random generator; Python's own has it."""

    def random(self) -> float: ...


class Vivaldi:
    """One site's coordinate over time."""

    def __init__(self, *, random: Chance) -> None:
        self._chance = random
        self._position: Point = (ORIGIN.x, ORIGIN.y, ORIGIN.z)
        self._height = ORIGIN.height
        self._error = ORIGIN.error
        self._neighbours: OrderedDict[str, _Neighbour] = OrderedDict()
        self._moves = 0
        self._strengths: deque[float] = deque()
        """Of the last springs, as they came; ``_ranked`` has the same by size."""
        self._ranked: list[float] = []

    @property
    def coordinate(self) -> Coordinate:
        x, y, z = self._position
        return Coordinate(x=x, y=y, z=z, height=self._height, error=self._error)

    def observe(self, site: str, other: Coordinate, *, rtt_s: float) -> None:
        """A heartbeat's echo came back from ``site``, which says that it stands at ``other``.

        What can't be true is passed over: whoever receives messages has said so already.
        """
        if not 0.0 < rtt_s <= RTT_MAX_S or problem_with_coordinate(other) is not None:
            return
        neighbour = self._neighbour(site)
        neighbour.rtts_ms.append(max(RTT_MIN_MS, rtt_s * 1_000.0))
        if self._has_had_its_share(neighbour):
            return
        self._count_move(neighbour)
        self._move(other, rtt_ms=neighbour.usual_rtt_ms())

    def _neighbour(self, site: str) -> _Neighbour:
        found = self._neighbours.get(site)
        if found is None:
            found = self._neighbours[site] = _Neighbour()
            if len(self._neighbours) > NEIGHBOURS_MAX:
                _, forgotten = self._neighbours.popitem(last=False)
                self._moves -= forgotten.moves
        self._neighbours.move_to_end(site)
        return found

    def _has_had_its_share(self, neighbour: _Neighbour) -> bool:
        """One round of everybody is free, or the first to speak would be refused at once."""
        known = len(self._neighbours)
        return neighbour.moves * known > SHARE_MAX * (self._moves + known)

    def _count_move(self, neighbour: _Neighbour) -> None:
        neighbour.moves += 1
        self._moves += 1
        if self._moves >= MOVES_MAX:
            for each in self._neighbours.values():
                each.moves //= 2
            self._moves = sum(each.moves for each in self._neighbours.values())

    def _move(self, other: Coordinate, *, rtt_ms: float) -> None:
        """Vivaldi's figure 3, with a bound on the push, and with heights (section 5.4)."""
        x, y, z = self._position
        away = (x - other.x, y - other.y, z - other.z)
        apart_ms = hypot(*away)
        heights_ms = self._height + other.height
        excess_ms = rtt_ms - apart_ms - heights_ms
        weight = self._weight_of(other)
        self._learn_error(abs(excess_ms) / rtt_ms, weight)
        step_ms = STEP_SHARE * weight * self._bounded(excess_ms)
        along_ms = apart_ms if apart_ms > 0.0 else rtt_ms
        share = step_ms / (along_ms + heights_ms)
        self._height = min(max(HEIGHT_MIN_MS, self._height + share * heights_ms), POSITION_MAX_MS)
        if apart_ms <= TOGETHER_MS:
            away, apart_ms = self._any_way()
        push = share * along_ms / apart_ms
        x, y, z = x + push * away[0], y + push * away[1], z + push * away[2]
        kept = _kept_share(hypot(x, y, z), weight)
        self._position = (x * kept, y * kept, z * kept)

    def _weight_of(self, other: Coordinate) -> float:
        """Between 0 and 2/3: how much of the disagreement is ours to settle."""
        theirs = max(other.error, self._error / TRUST_MAX, ERROR_FLOOR)
        return self._error / (self._error + theirs)

    def _learn_error(self, sample: float, weight: float) -> None:
        share = ERROR_SHARE * weight
        error = min(sample, ERROR_MAX) * share + self._error * (1.0 - share)
        self._error = max(ERROR_FLOOR, error)

    def _bounded(self, excess_ms: float) -> float:
        """The push of one spring, at most a few times the usual one."""
        bound_ms = EXCESS_MS_MAX
        if len(self._strengths) >= USUAL_SAMPLES // 4:
            usual_ms = self._ranked[len(self._ranked) // 2]
            bound_ms = min(bound_ms, max(EXCESS_MS_MIN, USUAL_TIMES_MAX * usual_ms))
        self._learn_strength(abs(excess_ms))
        return max(-bound_ms, min(bound_ms, excess_ms))

    def _learn_strength(self, strength_ms: float) -> None:
        """Kept in order as they come: sorting them anew was a tenth of a heartbeat's cost."""
        if len(self._strengths) == USUAL_SAMPLES:
            del self._ranked[bisect_left(self._ranked, self._strengths.popleft())]
        self._strengths.append(strength_ms)
        insort(self._ranked, strength_ms)

    def _any_way(self) -> tuple[Point, float]:
        """A direction from one that stands where we stand, and its length."""
        while True:
            away = (
                self._chance.random() - 0.5,
                self._chance.random() - 0.5,
                self._chance.random() - 0.5,
            )
            if hypot(*away) > TOGETHER_MS:
                return away, hypot(*away)


def _kept_share(far_ms: float, weight: float) -> float:
    """What gravity, and the edge of the space, leave of a distance from the origin."""
    if far_ms <= 0.0:
        return 1.0
    pull_ms = min(far_ms, weight * (far_ms / GRAVITY_MS) ** 2)
    return min(1.0 - pull_ms / far_ms, POSITION_MAX_MS / far_ms)


class _Neighbour:
    """The last round trips, and how often it has moved us."""

    def __init__(self) -> None:
        self.rtts_ms: deque[float] = deque(maxlen=FILTER_SAMPLES)
        self.moves = 0

    def usual_rtt_ms(self) -> float:
        return sorted(self.rtts_ms)[ceil(len(self.rtts_ms) / FILTER_RANK) - 1]
