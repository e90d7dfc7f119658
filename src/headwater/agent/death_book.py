"""How this site's JVMs died, and which queries were at work: written down, so that it can be shown.

One query that is too much for a JVM takes all others with it. Nobody can tell which it was from one
death. So all that were there are suspected, and run apart from each other for a while: if it
happens again it was the one that ran. Who has survived ``ALONE_BATCHES`` batches alone is suspected
no more.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from pathlib import Path

import msgspec
import structlog

from headwater.errors import StoreError
from headwater.spark.keeper import JvmDied, Work
from headwater.store.disk import Disk, explained

log = structlog.get_logger()

FILE = "spark_deaths.json"
DEATHS_KEPT = 100
"""The newest; enough to see what they have in common."""


BATCH = "batch"
ALONE_BATCHES = 10
"""Parsing the lines again for each suspect costs as much as a query; it ends after so many."""


class Death(msgspec.Struct, frozen=True):
    at_s: float
    """By the site's clock, which may be wrong: for people."""
    cause: str
    text: str
    at_work: tuple[Work, ...]

    def concerns(self, query_id: str) -> bool:
        return any(query_id in work.queries for work in self.at_work)

    def batched(self) -> set[str]:
        """The queries of sites' parts that were at work."""
        return {query for work in self.at_work if work.what == BATCH for query in work.queries}

    def is_alone(self, query_id: str) -> bool:
        """Its part at the site was at work, and nothing of another query."""
        if query_id not in self.batched():
            return False
        return {query for work in self.at_work for query in work.queries} == {query_id}


class DeathBook:
    """A small file, written whole each time."""

    def __init__(self, directory: Path, disk: Disk | None = None) -> None:
        self._path = directory / FILE
        self._disk = disk or Disk()
        self.deaths: tuple[Death, ...] = self._read()
        self._survived: Counter[str] = Counter()
        """Batches alone, by query, since it was last at work in a death."""

    def add(self, died: JvmDied, *, at_s: float) -> str | None:
        """Remembered in any case, written down if the disk takes it. Returns the query that is to
        blame: it was suspected, and was alone at work this time."""
        death = Death(at_s, str(died.end.cause), died.text, died.at_work)
        blamed = next((one for one in self.suspects() if death.is_alone(one)), None)
        self.deaths = (*self.deaths, death)[-DEATHS_KEPT:]
        for query_id in death.batched():
            self._survived.pop(query_id, None)
        try:
            with explained("writing down how Spark died"):
                self._write()
        except StoreError as error:
            log.warning("a death of Spark is not written down", error=str(error))
        return blamed

    def of_query(self, query_id: str) -> tuple[Death, ...]:
        return tuple(death for death in self.deaths if death.concerns(query_id))

    def suspects(self) -> frozenset[str]:
        """Queries that may have ended a JVM, and have not shown since that they don't."""
        found: set[str] = set().union(*(death.batched() for death in self.deaths))
        return frozenset(one for one in found if self._survived[one] < ALONE_BATCHES)

    def survived(self, query_id: str) -> None:
        """It ran alone, and the JVM lives."""
        self._survived[query_id] = min(self._survived[query_id] + 1, ALONE_BATCHES)

    def _write(self) -> None:
        new = self._path.with_suffix(".new")
        new.unlink(missing_ok=True)
        self._disk.write_new(new, [msgspec.json.encode(self.deaths)])
        self._disk.sync_file(new)
        self._disk.rename(new, self._path)
        self._disk.sync_directory(self._path.parent)

    def _read(self) -> tuple[Death, ...]:
        try:
            data = self._disk.read_file(self._path)
            return msgspec.json.decode(data, type=tuple[Death, ...])
        except FileNotFoundError:
            return ()
        except (OSError, msgspec.DecodeError) as error:
            aside = self._path.with_suffix(".damaged")
            log.warning("the deaths of Spark can't be read", aside=str(aside), error=str(error))
            with contextlib.suppress(OSError):
                self._path.replace(aside)
            return ()
