"""The Spark of one run: a given one or one of its own, how far it has read, and how it ended."""

from __future__ import annotations

from pathlib import Path

import msgspec

from headwater.errors import SparkFailed
from headwater.local.free_memory import heap_for_a_run
from headwater.local.little_input import is_little
from headwater.local.trial.results import REDUCING, Progress, Show
from headwater.plan.query import Query
from headwater.spark.jvm.jvm_end import Cause
from headwater.spark.jvm.session import RunningSpark, SparkConfig, start_session

LOOK_EVERY_S = 0.2
ADVICE = {
    Cause.HEAP: "give it more with --memory (2g, say), or ask for fewer groups or longer windows",
    Cause.KILLED: "if nobody ended it, the machine ran out of memory: take less with --memory "
    "(512m, say), or end something else",
}
"""What whoever runs ``try`` can do; there is no configuration file to change."""


class BytesSoFar:
    """What Spark reads counts when it is committed; meanwhile it is shown as read."""

    def __init__(self, spark: RunningSpark) -> None:
        self._spark = spark
        self._committed = -1
        self._begun = 0
        """What Spark had read at the newest commit."""
        self._most = 0

    def added_to(self, committed: Progress) -> Progress:
        """A file may be read twice, and others are read beside it: never more than there is, and
        never less than was said before."""
        scanned = self._spark.bytes_scanned()
        if committed.bytes_read != self._committed:
            self._committed, self._begun = committed.bytes_read, scanned
        now = committed.bytes_read + max(0, scanned - self._begun)
        self._most = max(self._most, min(now, committed.bytes_all))
        phase = REDUCING if self._most == committed.bytes_all else committed.phase
        return msgspec.structs.replace(committed, phase=phase, bytes_read=self._most)


def raise_if_dead(spark: RunningSpark) -> None:
    """Nothing comes of it any more, and a restart would end the same way: the input is the same."""
    end = spark.end()
    if end is not None:
        raise SparkFailed(f"{end.text}; {ADVICE.get(end.cause, end.advice)}")


class SparkForRun:
    """The given Spark, or one of our own that ends with us."""

    def __init__(
        self, given: RunningSpark | None, show: Show, queries: list[Query], folders: dict[str, Path]
    ) -> None:
        """``queries`` and ``folders`` tell how much it is for."""
        self._given = given
        self._show = show
        self._queries = queries
        self._folders = list(folders.values())
        self._own: RunningSpark | None = None

    def __enter__(self) -> RunningSpark:
        if self._given is not None:
            return self._given
        self._show(Progress("starting Spark"))
        is_brief = is_little(self._queries, self._folders)
        self._own = start_session(SparkConfig(memory=heap_for_a_run(), is_brief=is_brief))
        return self._own

    def __exit__(self, *_: object) -> None:
        if self._own is not None:
            self._own.stop()
