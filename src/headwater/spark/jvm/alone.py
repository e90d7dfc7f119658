"""Work that is suspected of ending JVMs has the JVM for itself, so that the next death tells more.

Others wait meanwhile: what is under way ends first, and what would begin stands back. Neither takes
longer than the time that one job may take, and whoever can't be alone within ``ALONE_WAIT_S_MAX``
goes to work all the same: a death then tells less, and nobody stands still.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

ALONE_WAIT_S_MAX = 60.0


class Alone:
    """Safe to use from any thread; no thread enters it twice."""

    def __init__(self, *, wait_s_max: float = ALONE_WAIT_S_MAX) -> None:
        self._changed = threading.Condition()
        self._wait_s_max = wait_s_max
        self._with_others = 0
        self._is_held = False
        self._waiting = 0
        """How many want to be alone: nobody else begins before them."""

    @contextlib.contextmanager
    def at_work(self, *, alone: bool) -> Iterator[None]:
        is_held = self._hold() if alone else False
        if not is_held:
            self._join()
        try:
            yield
        finally:
            self._leave(is_held)

    def _hold(self) -> bool:
        with self._changed:
            self._waiting += 1
            try:
                is_free = self._changed.wait_for(
                    lambda: not self._is_held and not self._with_others, timeout=self._wait_s_max
                )
                self._is_held = self._is_held or is_free
                return is_free
            finally:
                self._waiting -= 1
                self._changed.notify_all()

    def _join(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._is_held and not self._waiting)
            self._with_others += 1

    def _leave(self, is_held: bool) -> None:
        with self._changed:
            if is_held:
                self._is_held = False
            else:
                self._with_others -= 1
            self._changed.notify_all()
