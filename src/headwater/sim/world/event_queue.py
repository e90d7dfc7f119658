"""Virtual time: events in one order, whatever the machine they run on.

Events of the same instant run in the order in which they were made, so a run is a function of its
seed alone.

A large world has tens of thousands of events ahead of it, and a heap of them all touches many that
are cold in memory for each that it gives out. So there is a small heap for each slot of time, and
one of the slots.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

EVENTS_PER_RUN_MAX = 5_000_000
"""A run that needs more has found a way to send for ever, which is a failure of its own."""


SLOTS_PER_S = 100
"""Some dozens of events in each, in a world of hundreds of sites."""

Event = tuple[float, int, Callable[..., None], tuple[Any, ...]]
"""When, its number, what to call, and with what."""


class RunawayRun(Exception):
    """The world made more events than any sound run needs."""


class EventQueue:
    """``now_s`` is true time, which no site knows; see ``Clock`` for what they see."""

    def __init__(self, *, start_s: float, events_max: int = EVENTS_PER_RUN_MAX) -> None:
        self.now_s = start_s
        self._events_max = events_max
        self.event_count = 0
        self._made = 0
        self._events: dict[int, list[Event]] = {}
        """By slot: a heap of its events."""
        self._slots: list[int] = []
        """A heap of the slots that there are."""

    def at(self, time_s: float, action: Callable[..., None], *arguments: Any) -> None:
        """Run ``action`` at that time, or now if it has passed."""
        self._made += 1
        if time_s < self.now_s:
            time_s = self.now_s
        event = (time_s, self._made, action, arguments)
        slot = int(time_s * SLOTS_PER_S)
        events = self._events.get(slot)
        if events is None:
            self._events[slot] = [event]
            heapq.heappush(self._slots, slot)
        else:
            heapq.heappush(events, event)

    def after(self, delay_s: float, action: Callable[..., None], *arguments: Any) -> None:
        self.at(self.now_s + delay_s, action, *arguments)

    def run_until(self, end_s: float) -> None:
        """Run everything that is due up to ``end_s``, which is then the time."""
        while self._slots:
            events = self._events[self._slots[0]]
            self._run_slot(events, end_s)
            if events:
                break
            del self._events[heapq.heappop(self._slots)]
        self.now_s = end_s

    def _run_slot(self, events: list[Event], end_s: float) -> None:
        """What an event adds comes later than itself, so to this slot or to a later one."""
        while events and events[0][0] <= end_s:
            self.now_s, _, action, arguments = heapq.heappop(events)
            self.event_count += 1
            action(*arguments)
            if self.event_count > self._events_max:
                raise RunawayRun(f"more than {self._events_max} events by {self.now_s:.3f} s")


class Clock:
    """One site's clocks: the wall clock, which a fault may set, and the steady one of a process,
    which begins with what the wall clock shows and then runs on, whatever that does.

    ``drift_ppm`` is how much faster both run; ``offset_s`` is then the offset at the start.
    """

    def __init__(self, queue: EventQueue, *, offset_s: float, drift_ppm: float = 0.0) -> None:
        self._queue = queue
        self._rate = 1.0 + drift_ppm * 1e-6
        self.offset_s = offset_s - queue.now_s * (self._rate - 1.0)
        """Of the wall clock to true time."""
        self._steady_s = self.offset_s

    def begin_life(self) -> None:
        """A process starts: its steady clock begins with the wall clock."""
        self._steady_s = self.offset_s

    def now_s(self) -> float:
        """Steady time."""
        return self._queue.now_s * self._rate + self._steady_s

    def wall_s(self) -> float:
        return self._queue.now_s * self._rate + self.offset_s

    def ahead_s(self) -> float:
        """How far the wall clock is ahead of the steady one."""
        return self.offset_s - self._steady_s

    def at_s(self, true_s: float) -> float:
        """What the wall clock shows at that true time, unless it was set since."""
        return true_s * self._rate + self.offset_s

    def true_s(self, local_s: float) -> float:
        """The true time at which the steady clock will show, or showed, ``local_s``."""
        return (local_s - self._steady_s) / self._rate
