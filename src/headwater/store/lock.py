"""One agent a directory: a lock that dies with its holder.

Two agents on one cube would cut the same lines twice and number updates twice. ``flock`` belongs
to the open file, so the kernel frees it however the holder ends; the pid in the file is only for
the message, and a stale one does no harm.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from headwater.errors import AlreadyRunning
from headwater.store.disk import explained

LOCK_NAME = "agent.lock"


class DirectoryLock:
    """Held from ``take`` until ``release`` or the end of the process."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self._handle: int | None = handle

    @classmethod
    def take(cls, directory: Path) -> DirectoryLock:
        """Lock the directory, making it if needed. Raises ``AlreadyRunning``, never waits."""
        path = directory / LOCK_NAME
        with explained(f"locking {directory}"):
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(handle)
            raise AlreadyRunning(
                f"{directory}: wanted to be the only agent here, but process {holder} holds "
                f"{path.name}; stop it, or give this agent a directory of its own"
            ) from None
        with contextlib.suppress(OSError):
            # The number is for people; on a full disk the lock holds without it.
            os.ftruncate(handle, 0)
            os.pwrite(handle, b"%d\n" % os.getpid(), 0)
        return cls(path, handle)

    def release(self) -> None:
        """Let the next one in. The file stays: removing it would let two hold two locks."""
        handle, self._handle = self._handle, None
        if handle is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(handle, 0)
            os.close(handle)

    def __enter__(self) -> DirectoryLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
