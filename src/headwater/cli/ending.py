"""Commands that clean up behind themselves also when they are told to end.

SIGINT raises an exception where the command is, so that every ``with`` and ``finally`` on the way
is done. SIGTERM (a supervisor, ``timeout``, ``kill``) and SIGHUP (a terminal that closes) would end
the process on the spot instead, and leave its files behind. Here they do as SIGINT does.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP)
EXIT_BY_SIGNAL = 128
"""Plus the signal's number: how a shell tells that a signal ended a process (143 of SIGTERM)."""


@contextlib.contextmanager
def ends_in_order() -> Iterator[None]:
    """Within it a signal that ends the process does so by ``SystemExit``; in the main thread.

    A signal that whoever started us has set aside (``nohup``) stays so.
    """
    former = {one: signal.getsignal(one) for one in ENDING}
    heeded = [one for one, handler in former.items() if handler is not signal.SIG_IGN]
    for one in heeded:
        signal.signal(one, _end)
    try:
        yield
    finally:
        for one in heeded:
            signal.signal(one, former[one])


def _end(number: int, frame: FrameType | None) -> None:
    """Once: a second signal would interrupt the cleaning up, which has limits of its own."""
    for one in ENDING:
        signal.signal(one, signal.SIG_IGN)
    raise SystemExit(EXIT_BY_SIGNAL + number)
