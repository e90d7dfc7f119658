"""What a long command is doing: a moving line for people, plain lines elsewhere, never stdout.

Each phase says how far it is from its start on: bytes of all bytes, records, and how fast they go.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from headwater.cli.show.amounts import amount
from headwater.cli.show.output import console_on, say
from headwater.shown_text import shown_line

if TYPE_CHECKING:
    from headwater.local.trial.results import Progress

PLAIN_EVERY_S = 5.0
"""Between two lines of one phase for those who have no terminal."""
RATE_AFTER_S = 1.0
"""A phase is so old before its rate is told: of the first batches it would say nothing."""


class ProgressLine:
    """Use it in a ``with`` block; ``show`` is what ``try_query`` wants."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._status = None
        if sys.stderr.isatty():
            self._status = console_on(sys.stderr).status("starting")
        self._first: Progress | None = None
        """What the phase began with."""
        self._began_s = 0.0
        self._line_due_s = 0.0

    def __enter__(self) -> ProgressLine:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, progress: Progress) -> None:
        """A terminal sees every count; a pipe gets a line when a phase begins, and then seldom."""
        now_s = self._now_s()
        if self._first is None or progress.phase != self._first.phase:
            self._first, self._began_s, self._line_due_s = progress, now_s, now_s
        text = progress_text(progress, self._first, elapsed_s=now_s - self._began_s)
        if self._status is not None:
            from rich.text import Text

            self._status.update(Text(shown_line(text), no_wrap=True, overflow="ellipsis"))
        elif now_s >= self._line_due_s:
            say(text)
            self._line_due_s = now_s + PLAIN_EVERY_S


def progress_text(progress: Progress, first: Progress, *, elapsed_s: float) -> str:
    """``first`` is what the phase began with, so long ago."""
    parts = [progress.phase]
    if progress.sites:
        parts.append(f"{progress.sites_read} of {progress.sites} sites done")
    if progress.bytes_all:
        share = 100 * progress.bytes_read // progress.bytes_all
        parts.append(f"{amount(progress.bytes_read)} of {amount(progress.bytes_all)} ({share}%)")
    if progress.records:
        parts.append(f"{progress.records:,} records")
    read = progress.bytes_read - first.bytes_read
    if read > 0 and elapsed_s >= RATE_AFTER_S:
        parts.append(f"{amount(read / elapsed_s)}/s")
    records = progress.records - first.records
    if records > 0 and elapsed_s >= RATE_AFTER_S:
        parts.append(f"{records / elapsed_s:,.0f} records/s")
    if progress.windows:
        parts.append(f"{progress.windows} answers")
    if progress.trouble:
        parts.append(f"in trouble: {progress.trouble}")
    return ", ".join(parts)
