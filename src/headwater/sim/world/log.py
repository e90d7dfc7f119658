"""What is born at a site: numbered records in a log that outlives every crash.

Applications write the log, not the agent: it grows while the agent is down and is there when the
agent comes back without its disk. A record has a number that no other record of the federation
has, and a time, which lies somewhat before the moment it appears: within ``disorder`` for most,
far later for some.
"""

from __future__ import annotations

from random import Random

import msgspec

from headwater.algebra.panes import MICROS
from headwater.sim.world.event_queue import Clock


class Workload(msgspec.Struct, frozen=True):
    """How one site's log grows."""

    records_per_s: float
    busy_s: tuple[tuple[float, float], ...]
    """The stretches of true time in which anything is born at all."""
    disorder_s: float
    """On-time records appear at most this long after their time."""
    late_share: float
    late_s: float
    """Late records appear up to this long after their time, some beyond any lateness."""
    is_even: bool = False
    """Records come at even intervals, from a random first one; else by chance (Poisson)."""


class Log:
    """One site's log. Positions count from 0 and are never used again."""

    def __init__(
        self, workload: Workload, clock: Clock, *, random: Random, slot: int, slot_count: int
    ) -> None:
        self._workload = workload
        self._clock = clock
        self._random = random
        self._slot = slot
        self._slot_count = slot_count
        self._births_s = self._draw_births()
        self.numbers: list[int] = []
        self.times_us: list[int] = []
        """What the records say, by the site's clock."""
        self.true_s: list[float] = []
        """The true times of the same moments."""
        self.highs_us: list[int] = []
        """The highest time up to each position."""
        self._losing = 0
        self.lost: set[int] = set()
        """Positions whose bytes vanished before they were read."""

    def __len__(self) -> int:
        return len(self.numbers)

    def grow(self, now_s: float) -> int:
        """Let everything be born that is due; how long the log is now."""
        births = self._births_s
        while births and births[-1] <= now_s:
            self._append(births.pop())
        return len(self.numbers)

    def lose_next(self, count: int) -> None:
        """The bytes of the next so many records vanish before anybody reads them."""
        self._losing = count

    def _append(self, born_s: float) -> None:
        workload = self._workload
        if self._random.random() < workload.late_share:
            age_s = self._random.uniform(workload.disorder_s, workload.late_s)
        else:
            age_s = self._random.random() * workload.disorder_s
        time_us = int((self._clock.at_s(born_s) - age_s) * MICROS)
        if self._losing > 0:
            self._losing -= 1
            self.lost.add(len(self.numbers))
        self.true_s.append(born_s - age_s)
        self.numbers.append(len(self.numbers) * self._slot_count + self._slot)
        self.times_us.append(time_us)
        self.highs_us.append(max(time_us, self.highs_us[-1]) if self.highs_us else time_us)

    def _draw_births(self) -> list[float]:
        """All births of the run, newest first, so that the next one is at the end."""
        births = []
        rate = self._workload.records_per_s
        for begin_s, end_s in self._workload.busy_s:
            if self._workload.is_even:
                phase = self._random.random()
                births += [
                    begin_s + (phase + n) / rate for n in range(int((end_s - begin_s) * rate))
                ]
                continue
            at_s = begin_s + self._random.expovariate(self._workload.records_per_s)
            while at_s < end_s:
                births.append(at_s)
                at_s += self._random.expovariate(self._workload.records_per_s)
        births.sort(reverse=True)
        return births
