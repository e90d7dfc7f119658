"""A file that one process at a time holds, and that says which one.

Two who start or watch the agents of one directory would start each of them twice, and two who lay
it out would mix the certificates of two CAs. The system lets go of the file when its holder ends,
however that came about, so nothing is left for anybody to remove.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from headwater.errors import HeadwaterError
from headwater.local.local_processes import holder_of, is_alive, send
from headwater.store.owner_alone import owner_alone

END_S_MAX = 10.0


@contextlib.contextmanager
def held(path: Path, *, doing: str) -> Iterator[None]:
    """Raises ``HeadwaterError`` where another process has it; ``doing`` says what for."""
    with _opened(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HeadwaterError(
                f"{path.parent}: process {holder_of(path)} {doing} already; end that one first, or "
                "leave them to it"
            ) from None
        os.truncate(file, 0)
        os.write(file, f"{os.getpid()}\n".encode("ascii"))
        yield
        os.truncate(file, 0)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    with owner_alone():
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        yield file
    finally:
        os.close(file)


def end_holder(path: Path) -> int | None:
    """End the process that holds it, and wait until it has; returns its id, None: nobody does."""
    pid = holder_of(path)
    if pid is None or pid == os.getpid():
        return None
    send(pid, signal.SIGTERM)
    deadline_s = time.monotonic() + END_S_MAX
    while is_alive(pid):
        if time.monotonic() > deadline_s:
            raise HeadwaterError(
                f"{path.parent}: process {pid} holds {path.name} and does not end; end it first, "
                "or it starts agents again"
            )
        time.sleep(0.05)
    return pid
