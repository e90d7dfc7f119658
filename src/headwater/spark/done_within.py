"""Calls into a JVM that may never return, with a limit on how long they are waited for."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable


def done_within(wait_s: float, act: Callable[[], object]) -> bool:
    """Do it in a thread of its own; False: it takes longer than that, or failed.

    A call into a JVM that does not answer returns when the JVM is ended, so the thread does not
    stay for ever.
    """
    is_done = threading.Event()

    def run() -> None:
        with contextlib.suppress(Exception):
            act()
            is_done.set()

    thread = threading.Thread(target=run, name="spark-call", daemon=True)
    thread.start()
    thread.join(wait_s)
    return is_done.is_set()
