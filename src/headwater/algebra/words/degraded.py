"""A site's word that it gives up some of a query's data, from which pane on, and why.

It stands in the site's state, beside the panes: so it is signed, kept by the root, and the same
after a restart, whatever became of the summaries that it is about.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.bounds import Pane

DEGRADED_MAX = 32
"""Changes that a site tells of one query; of more the oldest are forgotten."""
STEP_MAX = 200


class Why(StrEnum):
    CAPACITY = "capacity"
    """The way carries less than the query needs."""
    BUDGET = "budget"
    """Somebody has set what may be sent."""
    QUEUE = "queue"
    """What was made waits, whatever was measured of the way."""
    BACKLOG = "backlog"
    """More was waiting, or for longer, than the query may have waiting."""
    RESTORED = "restored"
    """The finer step has room again."""
    OTHER = "other"

    @classmethod
    def _missing_(cls, _: object) -> Why:
        return cls.OTHER


class Degraded(msgspec.Struct, frozen=True, array_like=True):
    """From a pane on, until the next one says otherwise."""

    pane: Pane
    step: Annotated[int, Meta(ge=0, le=STEP_MAX)]
    """Of the query's degradation; 0: everything is sent."""
    why: Why


def degraded_at(said: Sequence[Degraded], pane: int) -> Degraded | None:
    """What holds for a pane; None: everything is sent.

    >>> said = (Degraded(5, 1, Why.CAPACITY), Degraded(8, 0, Why.RESTORED))
    >>> [degraded_at(said, pane) is not None for pane in (4, 5, 7, 8)]
    [False, True, True, False]
    """
    found = next((one for one in reversed(said) if one.pane <= pane), None)
    return found if found is not None and found.step else None


def begun_at(said: Sequence[Degraded], pane: int) -> int | None:
    """From which pane on something has been given up, up to this one without a break; None: all of
    this one is sent.

    >>> said = (Degraded(2, 1, Why.QUEUE), Degraded(4, 0, Why.RESTORED), Degraded(6, 1, Why.QUEUE))
    >>> said = (*said, Degraded(7, 2, Why.QUEUE))
    >>> [begun_at(said, pane) for pane in (3, 5, 9)]
    [2, None, 6]
    """
    begun = None
    for one in said:
        if one.pane <= pane:
            begun = (one.pane if begun is None else begun) if one.step else None
    return begun


def with_degraded(said: tuple[Degraded, ...], new: Degraded) -> tuple[Degraded, ...]:
    """A later word on the same pane replaces an earlier one."""
    kept = [one for one in said if one.pane < new.pane]
    return (*kept, new)[-DEGRADED_MAX:]


def with_degraded_over(
    said: tuple[Degraded, ...], new: Degraded, *, last: int
) -> tuple[Degraded, ...]:
    """The word holds from its pane through the last, and before and after them what held before.

    >>> one = with_degraded_over((), Degraded(5, 1, Why.BACKLOG), last=7)
    >>> two = with_degraded_over(one, Degraded(8, 1, Why.BACKLOG), last=10)
    >>> [(at.pane, at.step) for at in two]
    [(5, 1), (11, 0)]
    """
    held = next((one for one in reversed(said) if one.pane <= last + 1), None)
    step, why = (0, Why.RESTORED) if held is None else (held.step, held.why)
    before = [one for one in said if one.pane < new.pane]
    is_same = bool(before) and (before[-1].step, before[-1].why) == (new.step, new.why)
    after = [one for one in said if one.pane > last + 1]
    joined = (*before, *(() if is_same else (new,)), Degraded(last + 1, step, why), *after)
    return joined[-DEGRADED_MAX:]


def still_said(said: tuple[Degraded, ...], done_through: int) -> tuple[Degraded, ...]:
    """Without what holds for no pane that is left."""
    first = max((at for at, one in enumerate(said) if one.pane <= done_through), default=0)
    kept = said[first:]
    return () if len(kept) == 1 and not kept[0].step else kept
