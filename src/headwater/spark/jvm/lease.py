"""The right to use a session of Spark for a while, and where it is had from.

Of a JVM that is kept (``keeper``) a lease may be over at any time; of a session whose JVM somebody
else looks after it never is.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Protocol

import msgspec
from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from headwater.spark.jvm.keeper import SparkKeeper
    from headwater.spark.jvm.session import RunningSpark

BATCH, ROOT_PART = "batch", "root part"


class Work(msgspec.Struct, frozen=True):
    """What a holder is doing."""

    what: str
    """``BATCH`` or ``ROOT_PART``."""
    queries: tuple[str, ...]


class Lease:
    """The right to use a session until ``is_over``; whoever has it gives it back with ``end``."""

    def __init__(self, keeper: SparkKeeper, running: RunningSpark, generation: int) -> None:
        self.session: SparkSession = running.session
        self.generation = generation
        self.is_over = False
        """Let go soon: the JVM is gone, or is to be replaced."""
        self._keeper = keeper
        self._running = running

    def at_work(self, work: Work) -> contextlib.AbstractContextManager[None]:
        """While this is open the work counts as under way; a death in it is remembered."""
        return self._keeper.work_under_way(self._running, work)

    def end(self) -> None:
        self._keeper.let_go(self)

    def why_over(self) -> str | None:
        """In words, how the JVM under it ended; None while it runs."""
        end = self._keeper.end_of(self._running)
        return None if end is None else str(end)

    def condemn(self, waited_s: float) -> None:
        """The JVM does not answer: end it."""
        self._keeper.condemn(self._running, waited_s)


class StandingLease:
    """Of a session whose JVM somebody else looks after."""

    is_over = False
    generation = 1

    def __init__(self, session: SparkSession) -> None:
        self.session = session

    def at_work(self, work: Work) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def end(self) -> None:
        """Nobody waits for it."""

    def why_over(self) -> str | None:
        return None

    def condemn(self, waited_s: float) -> None:
        """Whoever started the JVM ends it."""


AnyLease = Lease | StandingLease


class Spark(Protocol):
    """Where a host and a root get their session from."""

    def lease(self) -> AnyLease:
        """Raises ``SparkDown`` while there is none to be had."""


class StandingSpark:
    """A session for the length of a test, a rehearsal or a ``try``."""

    def __init__(self, session: SparkSession) -> None:
        self._lease = StandingLease(session)

    def lease(self) -> StandingLease:
        return self._lease


def spark_of(given: Spark | SparkSession) -> Spark:
    return StandingSpark(given) if isinstance(given, SparkSession) else given
