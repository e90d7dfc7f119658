"""When a batch helps somebody, so that none is run which doesn't.

A batch costs Spark about as much as reading fifty thousand lines, whatever is in it. Run whenever
there is something to read, a site with little input spends nearly all its CPU on that. Nobody gets
anything by what is read in the middle of a pane. So what was found waits in the spool, which is as
safe there, until

- it closes a pane: a poll that began after the pane's end and disorder has found it (``is_due``);
- somebody else has asked for the source to be read by then (the same list of moments);
- there is no steady state (``is_urgent``): nobody knows how far the source was read, it is behind,
  its input ends, a query waits for its first records, or the spool fills up;
- reading it would take longer than ``batch_s_max``: so a close finds little left to read, and a
  long pane isn't read at its end;
- it has waited for ``batch_wait_s_max``: late records, malformed lines and progress are shown.

::

    panes       |----------- 0 -----------|----------- 1 -----------|
    polls       '    '    '    '    '    '    '|    '    '    '    '|   '
    batches                              disorder ^ closes pane 0
                                                    (one with all five polls)

The sites of one Spark host have their batches together, and mostly the same panes: one whose poll
comes a moment later is waited for that long.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from headwater.algebra.far_times import NEVER_DUE_S
from headwater.edge.batches.reading_pace import ReadingPace

TOGETHER_S = 0.05
"""A batch that is wanted at one site waits for a site that will want one as soon as this."""
OVERDUE_S_MAX = 0.25
"""And no longer than this for a poll that should have come."""
PRESSING = 2.0
"""So many times ``batch_s_max`` is not left to a close that is near."""


class BatchLimits(msgspec.Struct, frozen=True):
    """For how much, and for how long, input that is found may wait."""

    batch_s_max: float = 0.5
    batch_wait_s_max: float = 15.0
    catch_up_share: float = 0.5
    """Of its time a reading of the past takes at most so much, where live ones are beside it."""
    past_batch_s: float = 0.25
    """So long may a batch of the past read then, beyond what every batch costs."""


class Waiting(msgspec.Struct, frozen=True):
    """What one site has of a source that no batch has read."""

    byte_count: int = 0
    age_s: float = 0.0
    """Since the oldest of it was found."""
    is_due: bool = False
    """Reading it now gives somebody what was waited for."""
    is_urgent: bool = False
    """There is no steady state, in which a batch could wait for its time."""
    due_in_s: float = NEVER_DUE_S
    """Until somebody waits for it; below 0 when the poll for that has not come yet."""


def is_batch_wanted(sites: Sequence[Waiting], pace: ReadingPace, limits: BatchLimits) -> bool:
    """Whether the sites' input is to be read now, as one batch."""
    having = [one for one in sites if one.byte_count]
    if not having:
        return False
    if any(one.is_urgent or one.age_s >= limits.batch_wait_s_max for one in having):
        return True
    if any(one.is_due for one in having):
        return not any(_comes_soon(one) for one in having)
    byte_count = sum(one.byte_count for one in having)
    return _has_gathered(byte_count, min(one.due_in_s for one in having), pace, limits)


def _comes_soon(one: Waiting) -> bool:
    return not one.is_due and -OVERDUE_S_MAX < one.due_in_s < TOGETHER_S


def _has_gathered(byte_count: int, due_in_s: float, pace: ReadingPace, limits: BatchLimits) -> bool:
    """A close that would have to wait for this batch takes what is there along, unless that is far
    too much."""
    reading_s = pace.reading_s(byte_count)
    if reading_s < limits.batch_s_max:
        return False
    is_pressing = reading_s >= PRESSING * limits.batch_s_max
    return is_pressing or not 0.0 <= due_in_s < pace.batch_s(byte_count)
