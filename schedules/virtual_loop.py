"""An event loop in virtual time, whose executors are threads that take turns.

It needs no change in what runs on it: ``run_in_executor`` and ``to_thread`` are methods of the
loop, ``sleep`` and ``timeout`` ask the loop for the time.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from schedules.turns import Killed, Turns

DEFAULT_WIDTH = 8
"""Threads of the loop's own executor."""


@dataclass
class Pool:
    """One executor: so many jobs at a time, in the order in which they came."""

    width: int
    name: str
    waiting: deque[tuple[asyncio.Future[Any], Callable[[], Any]]] = field(default_factory=deque)
    at_work: int = 0


class VirtualLoop(asyncio.BaseEventLoop):
    """Run by the thread that has the first turn."""

    def __init__(self, turns: Turns) -> None:
        super().__init__()
        self._turns = turns
        self._pools: dict[int, Pool] = {}
        self._selector = self
        self._is_woken = False
        self.set_exception_handler(lambda _loop, _context: None)

    def time(self) -> float:
        return self._turns.steady.now_s

    def select(self, timeout: float | None) -> list[Any]:
        """Where a loop waits for sockets, the others take their turns."""
        if self._turns.is_dead:
            raise Killed
        if (timeout is not None and timeout <= 0) or self._is_woken:
            self._turns.pause()
        else:
            self._turns.wait(timeout)
        self._is_woken = False
        return []

    def _process_events(self, event_list: list[Any]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        self._is_woken = True
        self._turns.wake(self._turns.first)

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        width = DEFAULT_WIDTH if executor is None else executor._max_workers
        name = "loop" if executor is None else executor._thread_name_prefix
        pool = self._pools.setdefault(id(executor), Pool(width, name))
        future: asyncio.Future[Any] = self.create_future()
        pool.waiting.append((future, lambda: func(*args)))
        if pool.at_work < pool.width:
            pool.at_work += 1
            self._turns.start(lambda: self._work_off(pool), pool.name)
        return future

    def _work_off(self, pool: Pool) -> None:
        try:
            while pool.waiting:
                future, call = pool.waiting.popleft()
                if not future.cancelled():
                    self._do(future, call)
        finally:
            pool.at_work -= 1

    def _do(self, future: asyncio.Future[Any], call: Callable[[], Any]) -> None:
        self._turns.pause()
        try:
            result = call()
        except Exception as error:
            self.call_soon_threadsafe(_settle, future, None, error)
        else:
            self.call_soon_threadsafe(_settle, future, result, None)
        self._turns.pause()


def _settle(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
