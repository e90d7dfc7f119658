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

from collections import OrderedDict, deque
from math import ceil, sqrt
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
RTT_MAX_S = 60.0
RTT_MIN_MS = 0.02
"""Below, the measure is the clock's, not the network's."""


class Chance(Protocol):
    """What is needed of a random generator; Python's own has it."""

    def random(self) -> float: ...


class Vivaldi:
    """One site's coordinate over time."""

    def __init__(self, *, random: Chance) -> None:
        self._chance = random
        self._position = [ORIGIN.x, ORIGIN.y, ORIGIN.z]
        self._height = ORIGIN.height
        self._error = ORIGIN.error
        self._neighbours: OrderedDict[str, _Neighbour] = OrderedDict()
        self._moves = 0
        self._strengths: deque[float] = deque(maxlen=USUAL_SAMPLES)

    @property
    def coordinate(self) -> Coordinate:
        x, y, z = self._position
        return Coordinate(x, y, z, height=self._height, error=self._error)

    @property
    def neighbour_count(self) -> int:
        return len(self._neighbours)

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
        away = [x - other.x, y - other.y, z - other.z]
        apart_ms = _length(away)
        heights_ms = self._height + other.height
        predicted_ms = apart_ms + heights_ms
        excess_ms = rtt_ms - predicted_ms
        weight = self._weight_of(other)
        self._learn_error(abs(excess_ms) / rtt_ms, weight)
        step_ms = STEP_SHARE * weight * self._bounded(excess_ms)
        unit = self._direction(away, apart_ms)
        along = apart_ms if apart_ms > 0.0 else rtt_ms
        share = step_ms / (along + heights_ms)
        self._height = min(max(HEIGHT_MIN_MS, self._height + share * heights_ms), POSITION_MAX_MS)
        push = share * along
        self._position = [x + push * unit[0], y + push * unit[1], z + push * unit[2]]
        self._sink(weight)

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
            usual_ms = sorted(self._strengths)[len(self._strengths) // 2]
            bound_ms = min(bound_ms, max(EXCESS_MS_MIN, USUAL_TIMES_MAX * usual_ms))
        self._strengths.append(abs(excess_ms))
        return max(-bound_ms, min(bound_ms, excess_ms))

    def _direction(self, away: list[float], apart_ms: float) -> list[float]:
        """Away from the other; any direction from one that stands where we stand."""
        while apart_ms <= 1e-6:
            away = [self._chance.random() - 0.5 for _ in self._position]
            apart_ms = _length(away)
        return [away[0] / apart_ms, away[1] / apart_ms, away[2] / apart_ms]

    def _sink(self, weight: float) -> None:
        far_ms = _length(self._position)
        if far_ms > 0.0:
            pull_ms = min(far_ms, weight * (far_ms / GRAVITY_MS) ** 2)
            kept = min(1.0 - pull_ms / far_ms, POSITION_MAX_MS / far_ms)
            x, y, z = self._position
            self._position = [x * kept, y * kept, z * kept]


def _length(of: list[float]) -> float:
    x, y, z = of
    return sqrt(x * x + y * y + z * z)


class _Neighbour:
    """The last round trips, and how often it has moved us."""

    def __init__(self) -> None:
        self.rtts_ms: deque[float] = deque(maxlen=FILTER_SAMPLES)
        self.moves = 0

    def usual_rtt_ms(self) -> float:
        return sorted(self.rtts_ms)[ceil(len(self.rtts_ms) / FILTER_RANK) - 1]
