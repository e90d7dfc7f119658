"""Doing what a node wants done, in order: disk before wire, and nothing out of turn.

Who does what is said by the table of effects (``node.effects.WORK``). Runs of writes to the same
store are done as one, in one transaction, because a transaction costs a sync of the disk. The order
between stores and the network is the node's and is kept: an acknowledgement that follows a ``Keep``
leaves after it is on the disk.

Every write of a node goes by one rule, ``EffectRunner.write``. A write is all or nothing, so one
that failed is tried again. While there is no room it waits, for as long as that takes: nothing may
be said before it is done. Any other failure has ``WRITE_PATIENCE_S`` to pass. What lasts longer,
and a store of which it is open whether its last commit happened, ends the agent with a sentence: a
new start looks at what is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

import structlog

from headwater.agent.patience import PAUSE_S_MIN, Patience
from headwater.agent.threads import done_by
from headwater.errors import DiskFull, StoreBroken, StoreError
from headwater.net.network import Network
from headwater.node import effects as fx
from headwater.node.node import Node
from headwater.plan.notice import Notice

log = structlog.get_logger()
T = TypeVar("T")

WRITE_PATIENCE_S = 60.0
"""For how long a write is tried that fails for another reason than lack of room."""


class EffectRunner:
    """Works off one node's effects. ``stores`` has for each store of the table who does its work:
    durable effects by ``write``, which is given a run of them and gives back what came of each."""

    def __init__(
        self,
        node: Node,
        stores: Mapping[fx.Store, Any],
        *,
        writer: Executor,
        now_s: Callable[[], float],
        patience_s: float = WRITE_PATIENCE_S,
    ) -> None:
        self._node = node
        self._stores = stores
        self._writer = writer
        self._now_s = now_s
        self._patience_s = patience_s
        self._patience = Patience()
        self._failing_s: float | None = None
        """Since when writing has failed for another reason than lack of room."""

    @property
    def trouble(self) -> str:
        """Why writing stands still, for people; empty when it does not."""
        return self._patience.trouble

    async def run(self, effects: Sequence[fx.Effect]) -> None:
        for (name, is_durable), run in groupby(effects, lambda one: fx.WORK[type(one)].place):
            store, group = self._stores[name], list(run)
            if is_durable:
                came = await self.write(partial(store.write, group))
                for effect, one in zip(group, came, strict=True):
                    if told := fx.WORK[type(effect)].told:
                        getattr(self._node, told)(one, now_s=self._now_s())
                continue
            for effect in group:
                takes_time = getattr(store, fx.WORK[type(effect)].method)(effect)
                if takes_time is not None:
                    await takes_time

    async def write(self, write: Callable[[], T]) -> T:
        """Until it is done, by the rule above. Nothing may be said before it is, so a full disk
        stops the node's words, not the process; the trouble is visible and ends when there is
        room."""
        while True:
            try:
                result = await done_by(self._writer, write)
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
            log.warning("write waits", site=self._node.site, error=str(error))
            waits = Notice("disk", "write waits", f"{error}; it is tried again")
            self._stores["people"].notice(waits)
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


class NetworkShell:
    """What a node wants of the network."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def transmit(self, effect: fx.Transmit) -> None:
        self._network.send(effect.to, effect.message, effect.lane_priority)

    def dial(self, effect: fx.Dial) -> None:
        self._network.dial(effect.site)

    def hang_up(self, effect: fx.Hangup) -> None:
        self._network.close_link(effect.site)
