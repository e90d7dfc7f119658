"""Links that are being formed: our dials, the dials of others, and which of them is kept.

The rule itself is ``hello.decide_dial``; here is what it needs to know of each neighbour.
"""

import asyncio
import secrets
from collections import Counter

from headwater.net.refusal import Refusal, Refused
from headwater.net.transport.connection import Connection
from headwater.net.transport.hello import Channel, Heard, Hello, RosterHeld, decide_dial


class Dialling:
    """Our attempt to reach a neighbour, until its link is up or it has failed."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_hello_out = False
        self.task: asyncio.Task[None] | None = None

    def give_up(self) -> None:
        if self.task is not None:
            self.task.cancel()


class Half:
    """A neighbour's attempt: its control connection has come, its bulk connection has not."""

    def __init__(self, hello: Hello) -> None:
        self.pair = (hello.life, hello.dial)
        self._bulk: asyncio.Future[Connection | None] = asyncio.get_running_loop().create_future()

    def complete(self, hello: Hello, bulk: Connection) -> bool:
        """False: it belongs to another attempt, or this one is over."""
        if self._bulk.done() or self.pair != (hello.life, hello.dial):
            return False
        self._bulk.set_result(bulk)
        return True

    def give_up(self) -> None:
        if not self._bulk.done():
            self._bulk.set_result(None)

    async def bulk(self, *, timeout_s: float) -> Connection:
        try:
            async with asyncio.timeout(timeout_s):
                found = await self._bulk
        except TimeoutError:
            self.give_up()
            raise Refused(Refusal.HELLO_TIMEOUT, "no bulk connection came") from None
        if found is None:
            raise Refused(Refusal.SUPERSEDED, "a newer dial has taken its place")
        return found


class Attempts:
    def __init__(self, me: str, roster: RosterHeld) -> None:
        self._me = me
        self._roster = roster
        self._life = secrets.randbits(62)
        self._dials: Counter[str] = Counter()
        self._heard: dict[str, Heard] = {}
        self._dialling: dict[str, Dialling] = {}
        self._halves: dict[str, Half] = {}

    def __contains__(self, site: str) -> bool:
        return site in self._dialling or site in self._halves

    # Ours.

    def begin(self, site: str) -> Dialling:
        self._dials[site] += 1
        dialling = self._dialling[site] = Dialling(self._dials[site])
        return dialling

    def answered(self, site: str, hello: Hello) -> None:
        self._heard[site] = Heard(hello.life, hello.dial)

    def done(self, site: str, dialling: Dialling) -> None:
        """A task that is cancelled keeps the frames it was in, and these know the attempt; so the
        attempt forgets the task, or both would wait for a full collection with all they hold."""
        dialling.task = None
        if self._dialling.get(site) is dialling:
            del self._dialling[site]

    def give_up(self, site: str) -> None:
        if (dialling := self._dialling.get(site)) is not None:
            dialling.give_up()

    # Theirs.

    def welcome(self, hello: Hello) -> Half:
        """The other side's attempt, when it is the one to keep. Raises ``Refused`` when not."""
        site = hello.name
        dialling = self._dialling.get(site)
        is_out = dialling is not None and dialling.is_hello_out
        decide_dial(hello, me=self._me, hello_is_out=is_out, heard=self._heard.get(site))
        self._heard[site] = Heard(hello.life, hello.dial)
        self.give_up(site)
        if (older := self._halves.get(site)) is not None:
            older.give_up()
        half = self._halves[site] = Half(hello)
        return half

    def half_of(self, site: str) -> Half | None:
        return self._halves.get(site)

    def forget_half(self, site: str, half: Half) -> None:
        if self._halves.get(site) is half:
            del self._halves[site]

    # Both.

    def hello(self, to: str, channel: Channel) -> Hello:
        """What we say on a new connection, dialled or answered."""
        return Hello(
            self._me, to, channel, life=self._life, dial=self._dials[to], roster=self._roster
        )
