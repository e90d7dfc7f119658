"""Threads that take turns: real ones, of which one runs at a time, in an order that a seed rules.

A thread goes on until it waits (for a lock, an event, a time) or comes to a place at which another
one may be let in (``pause``: every call of the disk, every statement of SQLite, every lock). What
could happen between two threads of an agent can then happen here, and happens again with the same
seed. Nobody really sleeps: when all wait, the clock is moved to the first moment that one of them
waits for.

A kill ends all threads where they are: each of them meets ``Killed`` in place of its next turn.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

FOREVER_S = float("inf")
STEPS_MAX = 2_000_000
"""A schedule that takes more turns than this goes in circles."""


class Killed(BaseException):
    """The process is dead. Not an ``Exception``: nothing in an agent may handle it."""


class Stuck(Exception):
    """All threads wait for each other, or one runs in circles."""


class Steady:
    """The one clock: seconds since the schedule began, moved when all wait."""

    def __init__(self) -> None:
        self.now_s = 0.0


class Turn:
    """One thread's place in the order."""

    __slots__ = ("go", "is_outside", "is_ready", "is_timed_out", "job", "name", "until_s")

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_outside = False
        """Not of the process: it goes on when that is killed."""
        self.go = threading.Lock()
        self.go.acquire()
        self.is_ready = True
        self.until_s = FOREVER_S
        self.is_timed_out = False
        self.job: Callable[[], None] | None = None


class Turns:
    """Made by the thread that runs the event loop, which has the first turn."""

    def __init__(self, chance: random.Random, *, switch_share: float) -> None:
        """``switch_share``: how often a pause lets somebody else in."""
        self.steady = Steady()
        self.step = 0
        """Counts pauses: what happened earlier has a smaller number."""
        self.is_dead = False
        self.first = Turn("loop")
        self.current = self.first
        self.died_of: BaseException | None = None
        """What a thread ended with that nobody was there to hear."""
        self._chance = chance
        self._switch_share = switch_share
        self._turns: list[Turn] = [self.first]
        self._crew: list[Turn] = []

    # What scheduled threads call

    def pause(self, *, is_likely: bool = False) -> None:
        """Perhaps somebody else goes on; ``is_likely``: somebody waited for just this."""
        self._raise_if_dead()
        self.step += 1
        if self.step > STEPS_MAX:
            raise Stuck(f"more than {STEPS_MAX} turns")
        share = self._switch_share
        if is_likely and share:
            share = 0.5
        if len(self._turns) > 1 and self._chance.random() < share:
            others = [turn for turn in self._turns if turn.is_ready and turn is not self.current]
            if others:
                self._give_to(self._chance.choice(others))

    def wait(self, timeout_s: float | None = None) -> bool:
        """Until ``wake``, or until the time is over; True: it was woken."""
        self._raise_if_dead()
        me = self.current
        me.is_ready = False
        me.until_s = FOREVER_S if timeout_s is None else self.steady.now_s + max(timeout_s, 0.0)
        me.is_timed_out = False
        self._give_to(self._next())
        return not me.is_timed_out

    def wake(self, turn: Turn) -> None:
        if not turn.is_ready:
            turn.is_ready = True
            turn.until_s = FOREVER_S

    def sleep(self, seconds: float) -> None:
        self.wait(seconds)

    def start(self, job: Callable[[], None], name: str, *, is_outside: bool = False) -> Turn:
        """A further thread, which takes its first turn when it gets one."""
        if self._crew:
            turn = self._crew.pop()
            turn.name = name
        else:
            turn = Turn(name)
            threading.Thread(target=self._work, args=(turn,), daemon=True).start()
        turn.job, turn.is_ready, turn.is_outside = job, True, is_outside
        self._turns.append(turn)
        return turn

    # How turns pass

    def _give_to(self, turn: Turn) -> None:
        me = self.current
        if turn is not me:
            self.current = turn
            turn.go.release()
            me.go.acquire()
        self._raise_if_dead()

    def _raise_if_dead(self) -> None:
        if self.is_dead and not self.current.is_outside:
            raise Killed

    def _next(self) -> Turn:
        """Somebody who can go on; if all wait, time passes."""
        ready = [turn for turn in self._turns if turn.is_ready]
        if ready:
            return ready[0] if len(ready) == 1 else self._chance.choice(ready)
        turn = min(self._turns, key=lambda one: one.until_s)
        if turn.until_s == FOREVER_S:
            waiting = ", ".join(one.name for one in self._turns)
            self.died_of = self.died_of or Stuck(f"all threads wait for each other: {waiting}")
            self.is_dead = True
            return self.first
        self.steady.now_s = max(self.steady.now_s, turn.until_s)
        turn.is_ready, turn.is_timed_out, turn.until_s = True, True, FOREVER_S
        return turn

    def _work(self, turn: Turn) -> None:
        """The life of one real thread: job after job, each at its turn."""
        while True:
            turn.go.acquire()
            job, turn.job = turn.job, None
            if job is None:
                return
            try:
                if turn.is_outside or not self.is_dead:
                    job()
            except Killed:
                pass
            except BaseException as error:
                self.died_of = self.died_of or error
            self._turns.remove(turn)
            self._crew.append(turn)
            self.current = self.first if self.is_dead else self._next()
            self.current.go.release()

    # The end of a life, and of a schedule

    def kill(self) -> None:
        """From now on nobody of the process gets anywhere. Called by whoever has the turn."""
        self.is_dead = True
        self._raise_if_dead()
        self._give_to(self.first)

    def bury(self) -> None:
        """After ``Killed`` has come out of the event loop: let every thread unwind."""
        assert self.current is self.first, "only the loop's thread buries the others"
        while inside := [one for one in self._turns[1:] if not one.is_outside]:
            turn = inside[0]
            self.current = turn
            turn.go.release()
            self.first.go.acquire()
        self.is_dead = False
        self.first.is_ready, self.first.until_s = True, FOREVER_S

    def close(self) -> None:
        """End the real threads."""
        for turn in self._turns[1:]:
            turn.is_outside = False
        self.is_dead = True
        self.bury()
        for turn in self._crew:
            turn.go.release()
        self._crew.clear()
