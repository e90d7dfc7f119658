"""One end of a link between two sites of one process that have nothing between them.

What such sites say to each other is frozen values that the same code has made, so they are handed
over as they are: nothing is turned into bytes, and the trees of a query are the same object
everywhere. The simulator does the same. What bytes are checked for (``codec.py``) can only come
from outside, and nobody is outside here.

A message arrives at a later turn of the loop, in order, aged by what it waited. Nothing ever waits
for the link itself, so its queue is empty and is never full.
"""

import asyncio
from collections.abc import Callable

from headwater.net.memory.memory_link import Wire
from headwater.net.network import LinkCounters
from headwater.overlay.messages import Message, aged


class ValueLink:
    wire = Wire()
    queued_bytes = 0
    is_severed = False

    def __init__(
        self, pair: object, *, counters: LinkCounters, deliver: Callable[[Message], None]
    ) -> None:
        """``deliver`` hands a message to the other end; ``pair`` is the same object at both."""
        self.pair = pair
        self._counters = counters
        self._deliver = deliver
        self._is_open = True

    def send(self, message: Message, priority: int) -> bool:
        """It is always taken, and nothing overtakes it: nothing is in its way."""
        self._counters.sent_messages += 1
        loop = asyncio.get_running_loop()
        loop.call_soon(self._arrive, message, loop.time())
        return True

    def receive(self, message: bytes | Message) -> list[Message]:
        assert not isinstance(message, bytes), "here only values are handed over"
        self._counters.received_messages += 1
        return [message]

    def close(self) -> list[Message]:
        """Nothing comes back: what has not arrived is lost, as on any wire."""
        self._is_open = False
        return []

    def _arrive(self, message: Message, sent_s: float) -> None:
        if self._is_open:
            self._deliver(aged(message, asyncio.get_running_loop().time() - sent_s))
