"""Questions that no cube has, at a site: the same limits, for a reading of the logs.

Such a question is a late query that reads the past of its source. Before that begins its files are
listed, which says how much there is; then it waits for its turn among all questions, and is given
so many seconds. What it has read when these are over is withdrawn: a part of the past would look
like all of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import structlog

from headwater.agent.asking.ask_config import AskConfig
from headwater.agent.asking.cube_answer import OverLimit
from headwater.edge.record import UNDECIDED
from headwater.edge.take_asked import Asked
from headwater.errors import HeadwaterError, StoreBroken
from headwater.plan.query import Query
from headwater.store.cube.cube import Cube

log = structlog.get_logger()

LOOK_S = 0.2
"""How often it is looked whether the past is read."""

Begin = Callable[[Query, bool], Awaitable[None]]


class LogQuestions:
    """On the event loop, but for the listing."""

    def __init__(
        self,
        cube: Cube,
        config: AskConfig,
        turns: asyncio.Semaphore,
        *,
        begin: Begin,
        withdraw: Callable[[str], None],
        listed_bytes: Callable[[Query], int],
        told: Callable[[Asked], None],
        note: Callable[[str, str], None],
    ) -> None:
        """``begin`` has the feeder read (query, whether it is new), ``withdraw`` ends that;
        ``listed_bytes`` may be asked in any thread; ``told`` hears that it is refused."""
        self._cube = cube
        self._config = config
        self._turns = turns
        self._begin = begin
        self._withdraw = withdraw
        self._listed_bytes = listed_bytes
        self._told = told
        self._note = note
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.refused = 0

    async def install(self, query: Query, *, is_new: bool) -> None:
        """It is read when its turn has come. One that was being read when the agent ended goes on
        at once: what is read live meanwhile is for it, too."""
        question = str(query.id)
        if question in self._tasks:
            return
        written = self._cube.past_of(question)
        is_begun = not is_new and written not in (None, UNDECIDED)
        if is_begun:
            await self._begin(query, is_new)
        self._tasks[question] = asyncio.create_task(
            self._answer(query, is_new=is_new, is_begun=is_begun)
        )

    def withdraw(self, question: str) -> None:
        """It is over here. Whether it was begun or not, the feeder is told by who calls this."""
        task = self._tasks.pop(question, None)
        if task is not None:
            task.cancel()

    async def stop(self) -> None:
        tasks, self._tasks = list(self._tasks.values()), {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(self, query: Query, *, is_new: bool, is_begun: bool) -> None:
        question = str(query.id)
        try:
            async with self._turns:
                await self._read(query, is_new=is_new, is_begun=is_begun)
        except StoreBroken:  # the loop finds that by itself, and the agent ends
            pass
        except HeadwaterError as error:
            self._refuse(question, str(error))
        except Exception as error:  # it fails alone
            log.exception("question failed", question=question)
            self._refuse(question, f"it failed: {type(error).__name__}: {error}")

    def _refuse(self, question: str, why: str) -> None:
        self.refused += 1
        self._tasks.pop(question, None)
        self._withdraw(question)
        self._note("question refused", f"{question}: {why}")
        self._told(Asked(question, refused=why[:400]))

    async def _read(self, query: Query, *, is_new: bool, is_begun: bool) -> None:
        question, ask = str(query.id), query.asked
        assert ask is not None, "only questions come here"
        if not is_begun:
            byte_count = await asyncio.to_thread(self._listed_bytes, query)
            bytes_max = min(ask.bytes_max, self._config.bytes_max)
            if byte_count > bytes_max:
                raise OverLimit(
                    f"over its limit: its files have {byte_count} bytes here as they are listed, "
                    f"and it may read {bytes_max}; ask fewer sites, have a stream keep it, or "
                    "raise ask.bytes_max"
                )
            await self._begin(query, is_new)
        seconds_max = min(ask.seconds_max, self._config.seconds_max)
        deadline_s = time.monotonic() + seconds_max
        while not self._cube.asked_rows.is_made(question):
            if time.monotonic() > deadline_s:
                raise OverLimit(
                    f"over its limit: its logs were not read within the {seconds_max:g} s that it "
                    "may take here (ask.seconds_max); ask fewer sites, or raise that"
                )
            await asyncio.sleep(LOOK_S)
