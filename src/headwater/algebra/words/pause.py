"""A pause: the youngest pane of a query that somebody takes now, for want of memory.

Sites keep the panes beyond in their cubes, and send them when the pause is over. It is about
sending alone: panes are closed, and told to be, as ever. It has to be repeated, so that nobody
waits for one who has gone; and panes of the oldest window without an answer are exempt, so that
memory is freed by what is let through.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.bounds import Pane
from headwater.algebra.words.site_state import FOREVER

LAPSES_AFTER = 3
"""Of its periods, without being repeated."""
PERIOD_S_MAX = 20.0
"""Whoever names a longer period wants to be believed for too long."""
NO_PANE = -FOREVER
"""In place of the last exempt pane: no window is without an answer, that the root knows of."""


class Pause(msgspec.Struct, frozen=True, array_like=True):
    youngest: Pane
    """Panes beyond are to wait."""
    period_s: Annotated[float, Meta(ge=0.0, le=PERIOD_S_MAX)]
    """It is repeated this often."""

    @property
    def lasts_s(self) -> float:
        """Since it was said."""
        return LAPSES_AFTER * min(self.period_s, PERIOD_S_MAX)


class PauseHeard(msgspec.Struct, frozen=True):
    """What a relay has said to those below it, on one tree of a query's newest plan."""

    query: str
    tree: int
    trees: int
    """How many there are: panes are dealt out to them in turn."""
    pause: Pause | None
    """None: it takes all again."""
