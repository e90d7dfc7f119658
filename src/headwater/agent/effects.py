"""Doing what a node wants done, in order: disk before wire, and nothing out of turn.

Runs of writes to the same store are done as one, in one transaction, because a transaction costs
a sync of the disk. The order between stores and the network is the node's and is kept: an
acknowledgement that follows a ``Keep`` leaves after it is on the disk.

Every write of a node goes by one rule, ``EffectRunner.write``. A write is all or nothing, so one
that failed is tried again. While there is no room it waits, for as long as that takes: nothing may
be said before it is done. Any other failure has ``WRITE_PATIENCE_S`` to pass. What lasts longer,
and a store of which it is open whether its last commit happened, ends the agent with a sentence: a
new start looks at what is there.

Rows that can't be read now are not waited for, since others can be: they are as good as lost on the
way, and an acknowledgement asks for them again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

import structlog

from headwater.agent.patience import PAUSE_S_MIN, Patience
from headwater.agent.stores import SiteStores
from headwater.agent.threads import done_by
from headwater.errors import DiskFull, RowsGone, SegmentDamaged, StoreBroken, StoreError
from headwater.net.network import Network
from headwater.node import effects as fx
from headwater.node.node import Node
from headwater.plan.query import Query

log = structlog.get_logger()
T = TypeVar("T")

CUBE_WRITES = (fx.Cut, fx.Remember, fx.MarkSent, fx.MarkAcked, fx.MarkUnacked, fx.Expire, fx.Forget)
LEDGER_WRITES = (fx.Keep, fx.KeepState, fx.KeepAgreement, fx.KeepAlarm, fx.Replace, fx.Trim)
COMMAND_WRITES = (fx.KeepCommand, fx.KeepCounts)
WRITE_PATIENCE_S = 60.0
"""For how long a write is tried that fails for another reason than lack of room."""


class EffectRunner:
    """Works off one node's effects. ``heard`` is told of everything that is not a write."""

    def __init__(
        self,
        node: Node,
        stores: SiteStores,
        network: Network,
        *,
        writer: Executor,
        now_s: Callable[[], float],
        install: Callable[[fx.Installed], Awaitable[None]],
        heard: Callable[[fx.Effect], None],
        begin_answers: Callable[[Query], None] = lambda query: None,
        patience_s: float = WRITE_PATIENCE_S,
    ) -> None:
        """``begin_answers`` makes the results of a query sound; it is a write."""
        self._node = node
        self._stores = stores
        self._network = network
        self._writer = writer
        self._now_s = now_s
        self._install = install
        self._heard = heard
        self._begin_answers = begin_answers
        self._patience_s = patience_s
        self._patience = Patience()
        self._failing_s: float | None = None
        """Since when writing has failed for another reason than lack of room."""
        self.load_trouble = ""
        """Why rows could not be read the last time; empty when they could."""
        self.loads_failed = 0
        """Rows that could not be read when they were to be sent, in this life."""

    @property
    def trouble(self) -> str:
        """Why writing stands still, for people; empty when it does not."""
        return self._patience.trouble

    async def run(self, effects: Sequence[fx.Effect]) -> None:
        for place, group in _runs(effects):
            if place == "cube":
                await self._write_cube(group)
            elif place == "ledger":
                await self.write(partial(self._stores.ledger.write, group))
            elif place == "commands":
                await self.write(partial(self._stores.commands.write, group))
            else:
                for effect in group:
                    await self._do(effect)

    async def _write_cube(self, group: Sequence[Any]) -> None:
        done = await self.write(partial(self._stores.cube.write, group))
        if done:
            self._node.updates_cut(done, now_s=self._now_s())

    async def _do(self, effect: fx.Effect) -> None:
        if isinstance(effect, fx.Transmit):
            self._network.send(effect.to, effect.message, effect.lane_priority)
        elif isinstance(effect, fx.Dial):
            self._network.dial(effect.site)
        elif isinstance(effect, fx.Hangup):
            self._network.close_link(effect.site)
        elif isinstance(effect, fx.LoadAndSend):
            await self._load(effect)
        elif isinstance(effect, fx.Installed):
            await self._install(effect)
        elif isinstance(effect, fx.AnswersBegun):
            self._stores.book.add(effect.query)
            await self.write(partial(self._begin_answers, effect.query))
        elif isinstance(effect, fx.AnswersEnded):
            await self.write(partial(self._stores.ledger.forget, effect.query))
            self._heard(effect)
        elif isinstance(effect, fx.LiveAnew):
            incarnation = await self.write(partial(self._stores.cube.live_anew, effect.above))
            self._node.lives_anew(incarnation, now_s=self._now_s())
        elif isinstance(effect, fx.RiseAbove):
            incarnation = await self.write(partial(self._stores.ledger.rise_above, effect.above))
            self._node.risen(incarnation, now_s=self._now_s())
        else:
            self._heard(effect)

    async def _load(self, send: fx.LoadAndSend) -> None:
        rows = None
        if send.updates:
            cube = self._stores.cube
            try:
                rows = await self._in_writer(lambda: cube.rows(send.query, send.pane, send.updates))
            except (SegmentDamaged, RowsGone) as error:
                is_damaged = isinstance(error, SegmentDamaged)
                now_s = self._now_s()
                self._node.rows_lost(send, str(error), now_s=now_s, is_damaged=is_damaged)
                return
            except StoreBroken:
                raise
            except StoreError as error:
                self.load_trouble = str(error)
                self.loads_failed += 1
                self._node.not_loaded(send, str(error))
                return
            self.load_trouble = ""
        self._node.loaded(send, rows, now_s=self._now_s())

    async def write(self, write: Callable[[], T]) -> T:
        """Until it is done, by the rule above. Nothing may be said before it is, so a full disk
        stops the node's words, not the process; the trouble is visible and ends when there is
        room."""
        while True:
            try:
                result = await self._in_writer(write)
            except StoreBroken:
                raise
            except (StoreError, OSError) as error:
                await asyncio.sleep(self._pause_s(error))
            else:
                self._patience.worked()
                self._failing_s = None
                return result

    def _pause_s(self, error: StoreError | OSError) -> float:
        """Until the next try; raises where there was time enough."""
        now_s = asyncio.get_running_loop().time()
        if str(error) != self._patience.trouble:
            log.warning("write waits", site=self._stores.site, error=str(error))
            self._heard(fx.Notice("disk", "write waits", f"{error}; it is tried again"))
        pause_s = self._patience.failed(str(error), now_s=now_s)
        if isinstance(error, DiskFull):
            self._failing_s = None
            return PAUSE_S_MIN
        self._failing_s = now_s if self._failing_s is None else self._failing_s
        if now_s - self._failing_s > self._patience_s:
            raise StoreError(
                f"writing has failed for {self._patience_s:g} s, the last time with: {error}; "
                "the agent ends, and looks anew when it is started again"
            ) from error
        return pause_s

    async def _in_writer(self, call: Callable[[], T]) -> T:
        return await done_by(self._writer, call)


def _runs(effects: Iterable[fx.Effect]) -> Iterator[tuple[str, list[Any]]]:
    """Neighbouring effects that go to the same place, in order."""
    for place, group in groupby(effects, key=_place):
        yield place, list(group)


def _place(effect: fx.Effect) -> str:
    if isinstance(effect, CUBE_WRITES):
        return "cube"
    if isinstance(effect, LEDGER_WRITES):
        return "ledger"
    return "commands" if isinstance(effect, COMMAND_WRITES) else "elsewhere"
