"""What a long command is doing: a moving line for people, plain lines elsewhere, never stdout."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from headwater.cli.output import console_on, say

if TYPE_CHECKING:
    from headwater.agent.try_query import Progress


class ProgressLine:
    """Use it in a ``with`` block; ``show`` is what ``try_query`` wants."""

    def __init__(self) -> None:
        self._status = None
        if sys.stderr.isatty():
            self._status = console_on(sys.stderr).status("starting")
        self._said = ""

    def __enter__(self) -> ProgressLine:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        if self._status is not None:
            self._status.stop()

    def show(self, progress: Progress) -> None:
        """A terminal sees every count; a pipe gets a line when a phase or a site is done."""
        if self._status is not None:
            self._status.update(_text(progress, with_windows=True))
            return
        text = _text(progress, with_windows=False)
        if text != self._said:
            say(text)
            self._said = text


def _text(progress: Progress, *, with_windows: bool) -> str:
    parts = [progress.phase]
    if progress.sites:
        parts.append(f"{progress.sites_read} of {progress.sites} sites read")
    if with_windows and progress.windows:
        parts.append(f"{progress.windows} answers")
    return ", ".join(parts)
