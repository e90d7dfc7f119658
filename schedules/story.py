"""What happened in a schedule, in order, for people who look for the reason of a failure."""

from __future__ import annotations

import sys
import traceback
from collections import Counter, deque
from collections.abc import MutableMapping
from typing import Any, NoReturn

import structlog

from schedules.turns import Turns

TAIL_MAX = 400
"""Lines that are kept when nobody asked for the whole story."""


class Story:
    """Lines with the virtual time, and counts of what happened."""

    def __init__(self, *, is_whole: bool = False, has_calls: bool = False) -> None:
        """``has_calls``: every call of the disk is told, too."""
        self.has_calls = has_calls
        self.counts: Counter[str] = Counter()
        self.lines: deque[str] = deque(maxlen=None if is_whole else TAIL_MAX)
        self._turns: Turns | None = None

    def follow(self, turns: Turns) -> None:
        self._turns = turns

    def tell(self, text: str) -> None:
        turns = self._turns
        when = "" if turns is None else f"{turns.steady.now_s:8.3f} s  [{turns.current.name}] "
        self.lines.append(f"{when}{text}")

    def count(self, what: str) -> None:
        self.counts[what] += 1

    def logged(self, _logger: Any, method: str, event: MutableMapping[str, Any]) -> NoReturn:
        """A processor for structlog: what the agent logs belongs to the story."""
        trace = _trace() if event.pop("exc_info", None) else ""
        said = ", ".join(f"{key}={value}" for key, value in event.items() if key != "event")
        self.tell(f"log {method}: {event.get('event')} {said}{trace}")
        raise structlog.DropEvent


def _trace() -> str:
    """Where an exception came from, in one line: the functions of ours, outermost first."""
    error = sys.exc_info()[1]
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    ours = [f"{one.name}:{one.lineno}" for one in frames if "/headwater/" in one.filename]
    return f"; {error!r} by {' > '.join(ours)}"
