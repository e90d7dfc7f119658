"""Keys that somebody presses while a picture is drawn; nothing where there is no terminal."""

from __future__ import annotations

import os
import select
import termios
import tty
from typing import IO

KEYS_MAX = 64
"""That are taken at once; who holds a key down is not asked for more."""


class PressedKeys:
    """``with PressedKeys(sys.stdin) as keys``; the terminal is as it was afterwards. Ctrl-C ends a
    command as ever."""

    def __init__(self, source: IO[str]) -> None:
        self._source = source
        self._former: list[object] | None = None

    def __enter__(self) -> PressedKeys:
        try:
            if self._source.isatty() and self._is_in_front():
                self._former = termios.tcgetattr(self._source)
                tty.setcbreak(self._source, termios.TCSANOW)
        except (OSError, ValueError, termios.error):
            self._former = None  # closed, or no terminal after all
        return self

    def __exit__(self, *_: object) -> None:
        if self._former is not None:
            termios.tcsetattr(self._source, termios.TCSADRAIN, self._former)  # type: ignore[arg-type]

    def read(self) -> str:
        """Those since it was asked last."""
        if self._former is None or not select.select([self._source], [], [], 0.0)[0]:
            return ""
        return os.read(self._source.fileno(), KEYS_MAX).decode("ascii", "replace")

    def _is_in_front(self) -> bool:
        """A shell stops who is in its background and touches the terminal."""
        try:
            return os.tcgetpgrp(self._source.fileno()) == os.getpgrp()
        except OSError:
            return True  # a terminal of nobody's shell
