"""Doing what a node wants done, in order: disk before wire, and nothing out of turn.

Runs of writes to the same store are done as one, in one transaction, because a transaction costs
a sync of the disk. The order between stores and the network is the node's and is kept: an
acknowledgement that follows a ``Keep`` leaves after it is on the disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

import structlog

from headwater.agent.stores import SiteStores
from headwater.errors import DiskFull, StoreError
from headwater.net.network import Network
from headwater.node import effects as fx
from headwater.node.node import Node

log = structlog.get_logger()
T = TypeVar("T")

CUBE_WRITES = (
    fx.Cut, fx.Remember, fx.MarkSent, fx.MarkAcked, fx.MarkUnacked, fx.Expire, fx.Forget,
)  # fmt: skip
LEDGER_WRITES = (fx.Keep, fx.KeepState, fx.Trim)
COMMAND_WRITES = (fx.KeepCommand, fx.KeepVector)
RETRY_S = 1.0
"""Between two tries of a write that the disk had no room for."""


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
    ) -> None:
        self._node = node
        self._stores = stores
        self._network = network
        self._writer = writer
        self._now_s = now_s
        self._install = install
        self._heard = heard
        self.trouble = ""
        """Why writing stands still, for people; empty when it does not."""

    async def run(self, effects: Sequence[fx.Effect]) -> None:
        for place, group in _runs(effects):
            if place == "cube":
                await self._write_cube(group)
            elif place == "ledger":
                await self._write(partial(self._stores.ledger.write, group))
            elif place == "commands":
                await self._write(partial(self._stores.commands.write, group))
            else:
                for effect in group:
                    await self._do(effect)

    async def _write_cube(self, group: Sequence[Any]) -> None:
        done = await self._write(partial(self._stores.cube.write, group))
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
        elif isinstance(effect, fx.LiveAnew):
            incarnation = await self._write(partial(self._stores.cube.live_anew, effect.above))
            self._node.lives_anew(incarnation, now_s=self._now_s())
        elif isinstance(effect, fx.RiseAbove):
            incarnation = await self._write(partial(self._stores.ledger.rise_above, effect.above))
            self._node.risen(incarnation, now_s=self._now_s())
        else:
            self._heard(effect)

    async def _load(self, send: fx.LoadAndSend) -> None:
        rows = None
        if send.updates:
            cube = self._stores.cube
            try:
                rows = await self._in_writer(lambda: cube.rows(send.query, send.pane, send.updates))
            except StoreError as error:
                self._node.not_loaded(send, str(error), now_s=self._now_s())
                return
        self._node.loaded(send, rows, now_s=self._now_s())

    async def _write(self, write: Callable[[], T]) -> T:
        """Until it is done. Nothing may be said before it is, so a full disk stops the node's
        words, not the process; the trouble is visible and ends when there is room."""
        while True:
            try:
                result = await self._in_writer(write)
            except DiskFull as error:
                if not self.trouble:
                    log.warning("disk full", site=self._stores.site, error=str(error))
                self.trouble = str(error)
                await asyncio.sleep(RETRY_S)
            else:
                self.trouble = ""
                return result

    async def _in_writer(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._writer, call)


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
