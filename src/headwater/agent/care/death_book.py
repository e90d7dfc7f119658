"""How this site's JVMs died, and which queries were at work: written down, so that it can be shown.

One query that is too much for a JVM takes all others with it. Nobody can tell which it was from one
death. So all parts that were there are suspected, and each has the JVM for itself for a while: if
it happens again it was the one that ran. Who has survived ``ALONE_BATCHES`` batches or answers
alone is suspected no more.

A site part that is to blame is suspended in its cube. A root part is so here, until its query is
removed: the next start must not begin with it again.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import msgspec
import structlog

from headwater.errors import StoreError
from headwater.spark.jvm.jvm_end import JvmDied
from headwater.spark.jvm.lease import BATCH, ROOT_PART, Work
from headwater.store.disk import Disk, explained

log = structlog.get_logger()

FILE = "spark_deaths.json"
DEATHS_KEPT = 100
"""The newest; enough to see what they have in common."""
ALONE_BATCHES = 10
"""Parsing the lines again for each suspect costs as much as a query; it ends after so many."""
SUSPENDED_MAX = 1_000
"""Root parts; as many as there are live queries at most, but for a file that somebody wrote."""


class Part(NamedTuple):
    """What a query does here: its site part in batches, or its root part."""

    what: str
    query: str


class Death(msgspec.Struct, frozen=True):
    at_s: float
    """By the site's clock, which may be wrong: for people."""
    cause: str
    text: str
    at_work: tuple[Work, ...]

    def concerns(self, query_id: str) -> bool:
        return any(query_id in work.queries for work in self.at_work)

    def parts(self) -> set[Part]:
        return {Part(work.what, query) for work in self.at_work for query in work.queries}

    def is_alone(self, part: Part) -> bool:
        """It was at work, and nothing of another query."""
        parts = self.parts()
        return part in parts and {one.query for one in parts} == {part.query}


class Book(msgspec.Struct, frozen=True):
    """What is in the file."""

    deaths: tuple[Death, ...] = ()
    suspended: dict[str, str] = {}
    """Queries whose root part is not run here any more, and why."""


class DeathBook:
    """A small file, written whole each time. Safe to use from any thread."""

    def __init__(self, directory: Path, disk: Disk | None = None) -> None:
        self._path = directory / FILE
        self._disk = disk or Disk()
        self._lock = threading.Lock()
        self._book = self._read()
        self._survived: Counter[Part] = Counter()
        """Batches or answers alone, since it was last at work in a death."""

    @property
    def deaths(self) -> tuple[Death, ...]:
        return self._book.deaths

    def add(self, died: JvmDied, *, at_s: float) -> Part | None:
        """Remembered in any case, written down if the disk takes it. Returns the part that is to
        blame: it was suspected, and was alone at work this time."""
        death = Death(at_s, str(died.end.cause), died.text, died.at_work)
        with self._lock:
            suspects = sorted(self._suspects())
            blamed = next((one for one in suspects if death.is_alone(one)), None)
            deaths = (*self._book.deaths, death)[-DEATHS_KEPT:]
            self._book = msgspec.structs.replace(self._book, deaths=deaths)
            for part in death.parts():
                self._survived.pop(part, None)
            self._keep("a death of Spark is not written down")
        return blamed

    def of_query(self, query_id: str) -> tuple[Death, ...]:
        return tuple(death for death in self.deaths if death.concerns(query_id))

    # Suspicion

    def suspects(self) -> frozenset[str]:
        """Queries whose site part may have ended a JVM, and has not shown since that it doesn't."""
        return self._suspected(BATCH)

    def survived(self, query_id: str) -> None:
        """Its site part ran alone, and the JVM lives."""
        self._lived(Part(BATCH, query_id))

    def root_suspects(self) -> frozenset[str]:
        return self._suspected(ROOT_PART)

    def root_survived(self, query_id: str) -> None:
        self._lived(Part(ROOT_PART, query_id))

    def is_suspected(self, work: Work) -> bool:
        """Whether it is to have the JVM for itself."""
        return len(work.queries) == 1 and work.queries[0] in self._suspected(work.what)

    def _suspected(self, what: str) -> frozenset[str]:
        with self._lock:
            return frozenset(part.query for part in self._suspects() if part.what == what)

    def _suspects(self) -> set[Part]:
        found: set[Part] = set().union(*(death.parts() for death in self._book.deaths))
        return {one for one in found if self._survived[one] < ALONE_BATCHES}

    def _lived(self, part: Part) -> None:
        with self._lock:
            self._survived[part] = min(self._survived[part] + 1, ALONE_BATCHES)

    # Root parts that are run no more

    def suspended(self) -> dict[str, str]:
        return self._book.suspended

    def suspend(self, query_id: str, why: str) -> None:
        with self._lock:
            known = dict(list(self._book.suspended.items())[-SUSPENDED_MAX + 1 :])
            self._book = msgspec.structs.replace(self._book, suspended=known | {query_id: why})
            self._keep("a suspended stream is not written down")

    def forget(self, query_id: str) -> None:
        """It was removed."""
        with self._lock:
            if query_id in self._book.suspended:
                left = {key: why for key, why in self._book.suspended.items() if key != query_id}
                self._book = msgspec.structs.replace(self._book, suspended=left)
                self._keep("a stream that was suspended is still written down")

    def _keep(self, failed: str) -> None:
        try:
            with explained("writing down how Spark died"):
                self._write()
        except StoreError as error:
            log.warning(failed, error=str(error))

    def _write(self) -> None:
        new = self._path.with_suffix(".new")
        new.unlink(missing_ok=True)
        self._disk.write_new(new, [msgspec.json.encode(self._book)])
        self._disk.sync_file(new)
        self._disk.rename(new, self._path)
        self._disk.sync_directory(self._path.parent)

    def _read(self) -> Book:
        try:
            return msgspec.json.decode(self._disk.read_file(self._path), type=Book)
        except FileNotFoundError:
            return Book()
        except (OSError, msgspec.DecodeError) as error:
            aside = self._path.with_suffix(".damaged")
            log.warning("the deaths of Spark can't be read", aside=str(aside), error=str(error))
            with contextlib.suppress(OSError):
                self._path.replace(aside)
            return Book()
