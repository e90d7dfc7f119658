"""Which panes of a query a stretch may touch that was set aside, and which were given up."""

from __future__ import annotations

from collections.abc import Iterator

from headwater.algebra.sets import ranges
from headwater.algebra.sets.ranges import Range
from headwater.algebra.words.site_state import Reason
from headwater.edge.query_state import QueryState


def shed_within(state: QueryState, first: int, last: int) -> Iterator[Range]:
    """Of these panes those that a stretch which was set aside may touch, and that are owed."""
    asides = ranges.normal((one.first, one.last) for one in state.record.set_aside)
    for a, b in asides:
        if max(a, first) <= min(b, last):
            for run in state.owed_of(max(a, first), min(b, last)):
                yield from _taken(state, run)


def is_given_up(state: QueryState, pane: int) -> bool:
    """What was read of it before is not made: a pane is left out as a whole."""
    return pane in state.declined and any(
        one.reason is Reason.SHED and one.first <= pane <= one.last for one in state.record.declined
    )


def _taken(state: QueryState, run: Range) -> Iterator[Range]:
    """Of a random demand those that were drawn."""
    if state.query.draw is None:
        yield run
        return
    yield from ((pane, pane) for pane in range(run[0], run[1] + 1) if state.takes(pane))
