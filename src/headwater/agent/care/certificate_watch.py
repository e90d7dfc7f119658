"""Taking up new certificates and the deny list while the agent runs.

Certificates are replaced by whatever an operator uses to put files in place, which rarely tells
the agent. So the files are looked at once a minute; SIGHUP reads them at once. Several files are
seldom replaced in one step: a key that does not belong to its certificate yet is not an error of
the agent's, and is tried again at the next look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import structlog

from headwater.errors import ConfigurationError

log = structlog.get_logger()

LOOK_EVERY_S = 60.0

Stamp = tuple[int, int, int] | None
"""(inode, time of change in ns, bytes) of one file; None: it is not there."""


class CertificateWatch:
    """Lives on the event loop, as ``reload`` does, which closes connections."""

    def __init__(self, paths: Sequence[Path], reload: Callable[[], None]) -> None:
        self._paths = tuple(paths)
        self._reload = reload
        self._seen = self._stamps()

    async def run(self, *, every_s: float = LOOK_EVERY_S) -> None:
        while True:
            await asyncio.sleep(every_s)
            try:
                self.look()
            except Exception as error:  # the next look may find them in order
                log.warning("certificates not looked at", error=repr(error)[:2000])

    def look(self) -> None:
        """Read the files again if any of them has changed since they were last taken up."""
        if self._stamps() != self._seen:
            self.reload()

    def reload(self) -> None:
        """Read the files again, changed or not; what can't be used changes nothing."""
        stamps = self._stamps()
        try:
            self._reload()
        except ConfigurationError as error:
            log.warning("certificates not taken up", error=str(error))
        else:
            self._seen = stamps
            log.info("certificates taken up")

    def _stamps(self) -> tuple[Stamp, ...]:
        return tuple(_stamp(path) for path in self._paths)


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns, found.st_size
