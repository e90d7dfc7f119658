"""What a command waits for, as one line on a terminal that the next one replaces.

Elsewhere than on a terminal only the first of them is said, and the last if nothing more comes: a
file should not fill with them.
"""

from __future__ import annotations

import shutil
from typing import IO, TYPE_CHECKING

from headwater.shown_text import shown_line

if TYPE_CHECKING:
    from headwater.agent.control.control_api import WaitEvent

CLEAR = "\r\x1b[K"


class WaitingLine:
    """``with WaitingLine(sys.stderr) as waiting``; it leaves a clean line behind."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out
        self._is_terminal = out.isatty()
        self._has_said = False
        self._is_shown = False

    def show(self, event: WaitEvent) -> None:
        text = shown_line(event.text)
        if event.has_ended:
            self.clear()
            print(text, file=self._out, flush=True)
        elif self._is_terminal:
            width = shutil.get_terminal_size().columns - 1
            line = text if len(text) <= width else text[: width - 1] + "…"
            print(f"{CLEAR}{line}", end="", file=self._out, flush=True)
            self._is_shown = True
        elif not self._has_said:
            print(text, file=self._out, flush=True)
        self._has_said = True

    def clear(self) -> None:
        """Before anything else is printed."""
        if self._is_shown:
            print(CLEAR, end="", file=self._out, flush=True)
            self._is_shown = False

    def __enter__(self) -> WaitingLine:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()
