"""How this site's JVMs died, and which queries were at work: written down, so that it can be shown.

One query that is too much for a JVM takes all others with it. Nobody can tell which it was from one
death; from several, the one that was always there stands out.
"""

from __future__ import annotations

import contextlib
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


class Death(msgspec.Struct, frozen=True):
    at_s: float
    """By the site's clock, which may be wrong: for people."""
    cause: str
    text: str
    at_work: tuple[Work, ...]

    def concerns(self, query_id: str) -> bool:
        return any(query_id in work.queries for work in self.at_work)


class DeathBook:
    """A small file, written whole each time."""

    def __init__(self, directory: Path, disk: Disk | None = None) -> None:
        self._path = directory / FILE
        self._disk = disk or Disk()
        self.deaths: tuple[Death, ...] = self._read()

    def add(self, died: JvmDied, *, at_s: float) -> None:
        """Remembered in any case, written down if the disk takes it."""
        death = Death(at_s, str(died.end.cause), died.text, died.at_work)
        self.deaths = (*self.deaths, death)[-DEATHS_KEPT:]
        try:
            with explained("writing down how Spark died"):
                self._write()
        except StoreError as error:
            log.warning("a death of Spark is not written down", error=str(error))

    def of_query(self, query_id: str) -> tuple[Death, ...]:
        return tuple(death for death in self.deaths if death.concerns(query_id))

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
