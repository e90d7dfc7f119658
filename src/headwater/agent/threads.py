"""Where a site's work beside the event loop is done: writing, polling, finishing answers.

An agent has threads of its own for it, one each for writing and polling, so that a slow disk does
not hold up its words. Sites that share a process and a disk that nobody opens again have nothing to
wait for: a write there takes less than the way to a thread and back, and two threads a site would
be two thousand. Each write and poll of a site is awaited before its next one begins, so their order
is the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

ANSWERS_AT_ONCE = 2
"""Answers that one site, or all sites that share their threads, finish side by side."""


class SiteThreads:
    """Those of one site."""

    def __init__(self, site: str) -> None:
        self.writer: Executor = ThreadPoolExecutor(1, thread_name_prefix=f"{site}-disk")
        self.poller: Executor = ThreadPoolExecutor(1, thread_name_prefix=f"{site}-poll")
        self.answers: Executor = ThreadPoolExecutor(
            ANSWERS_AT_ONCE, thread_name_prefix=f"{site}-answer"
        )

    async def beside(self, call: Callable[[], T]) -> T:
        """What may wait for another thread or for the disk, without holding up the event loop."""
        return await asyncio.to_thread(call)

    def close(self) -> None:
        """The site is done with them. What is being written or polled ends first; an answer that
        did not end in time (``AnswerRunner.stop``) is not waited for again."""
        self.writer.shutdown(wait=True)
        self.poller.shutdown(wait=True)
        self.answers.shutdown(wait=False, cancel_futures=True)


class SharedThreads(SiteThreads):
    """Those of all sites of a process: writes and polls are done at once, where they are asked for.

    ``end`` ends them; that one site is done with them changes nothing.
    """

    def __init__(self) -> None:
        self.writer = self.poller = AtOnce()
        self.answers = ThreadPoolExecutor(ANSWERS_AT_ONCE, thread_name_prefix="answer")

    async def beside(self, call: Callable[[], T]) -> T:
        """At once, like the writes: there is nothing to wait for."""
        return call()

    def close(self) -> None:
        """The other sites may need them."""

    def end(self) -> None:
        self.answers.shutdown(wait=False, cancel_futures=True)


class AtOnce(Executor):
    """Does what it is given before it returns."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


async def done_by(executor: Executor, call: Callable[[], T]) -> T:
    """What the call gives, done by the executor. One that works at once is not asked: a future
    and two turns of the loop cost more than most writes."""
    if isinstance(executor, AtOnce):
        return call()
    return await asyncio.get_running_loop().run_in_executor(executor, call)
