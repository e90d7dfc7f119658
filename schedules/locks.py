"""``threading`` for scheduled threads: the same verbs, and waiting means that others take turns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from schedules.turns import Killed, Turn, Turns


class Lock:
    """A ``threading.Lock``, or with ``is_reentrant`` an ``RLock``."""

    def __init__(self, turns: Turns, *, is_reentrant: bool) -> None:
        self._turns = turns
        self._is_reentrant = is_reentrant
        self._owner: Turn | None = None
        self._depth = 0
        self._waiting: list[Turn] = []

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        turns = self._turns
        if self._is_reentrant and self._owner is turns.current:
            self._depth += 1
            return True
        turns.pause()
        while self._owner is not None:
            if not blocking:
                return False
            me = turns.current
            self._waiting.append(me)
            try:
                is_woken = turns.wait(None if timeout < 0 else timeout)
            finally:
                if me in self._waiting:
                    self._waiting.remove(me)
            if not is_woken:
                return False
        self._owner, self._depth = turns.current, 1
        return True

    def release(self) -> None:
        self._depth -= 1
        if self._depth <= 0:
            self._owner = None
            if self._waiting and not self._turns.is_dead:
                for turn in self._waiting:
                    self._turns.wake(turn)
                self._waiting.clear()
                self._turns.pause(is_likely=True)

    def locked(self) -> bool:
        return self._owner is not None

    def _is_owned(self) -> bool:
        return self._owner is self._turns.current

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class Event:
    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._is_set = False
        self._waiting: list[Turn] = []

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        for turn in self._waiting:
            self._turns.wake(turn)
        self._waiting.clear()

    def clear(self) -> None:
        self._is_set = False

    def wait(self, timeout: float | None = None) -> bool:
        self._turns.pause()
        if not self._is_set:
            me = self._turns.current
            self._waiting.append(me)
            try:
                self._turns.wait(timeout)
            finally:
                if me in self._waiting:
                    self._waiting.remove(me)
        return self._is_set


class Condition:
    def __init__(self, turns: Turns, lock: Lock | None = None) -> None:
        self._turns = turns
        self._lock = lock or Lock(turns, is_reentrant=True)
        self._waiting: list[Turn] = []
        self.acquire, self.release = self._lock.acquire, self._lock.release

    def wait(self, timeout: float | None = None) -> bool:
        me, depth = self._turns.current, self._lock._depth
        self._waiting.append(me)
        self._lock._depth = 1
        self._lock.release()
        try:
            return self._turns.wait(timeout)
        finally:
            if me in self._waiting:
                self._waiting.remove(me)
            self._lock.acquire()
            self._lock._depth = depth

    def wait_for(self, is_so: Callable[[], Any], timeout: float | None = None) -> Any:
        until_s = None if timeout is None else self._turns.steady.now_s + timeout
        while not (found := is_so()):
            left_s = None if until_s is None else until_s - self._turns.steady.now_s
            if left_s is not None and left_s <= 0:
                return found
            self.wait(left_s)
        return found

    def notify(self, n: int = 1) -> None:
        for turn in self._waiting[:n]:
            self._turns.wake(turn)
        del self._waiting[:n]

    def notify_all(self) -> None:
        self.notify(len(self._waiting))

    def __enter__(self) -> bool:
        return self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Thread:
    def __init__(
        self,
        group: None = None,
        target: Callable[..., Any] | None = None,
        name: str | None = None,
        args: Iterable[Any] = (),
        kwargs: dict[str, Any] | None = None,
        *,
        daemon: bool | None = None,
        turns: Turns,
    ) -> None:
        assert target is not None, "threads of an agent are made with a target"
        self._turns = turns
        self._call = lambda: target(*args, **(kwargs or {}))
        self._is_over = Event(turns)
        self._is_started = False
        self.name = name or "thread"
        self.daemon = daemon

    def start(self) -> None:
        self._is_started = True
        self._turns.start(self._run, self.name)

    def _run(self) -> None:
        try:
            self._call()
        except Killed:
            raise
        finally:
            self._is_over.set()

    def join(self, timeout: float | None = None) -> None:
        self._is_over.wait(timeout)

    def is_alive(self) -> bool:
        return self._is_started and not self._is_over.is_set()


class ScheduledThreading(ModuleType):
    """Stands in for the module ``threading``; what is not named here is the real one's."""

    def __init__(self, turns: Turns) -> None:
        super().__init__("threading")
        self.Lock = lambda: Lock(turns, is_reentrant=False)
        self.RLock = lambda: Lock(turns, is_reentrant=True)
        self.Event = lambda: Event(turns)
        self.Condition = lambda lock=None: Condition(turns, lock)
        self.Thread = lambda *args, **kwargs: Thread(*args, **kwargs, turns=turns)

    def __getattr__(self, name: str) -> Any:
        return getattr(threading, name)
