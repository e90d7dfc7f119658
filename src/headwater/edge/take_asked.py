"""What a site's cube has given for a question: all of its panes at once, or why there are none.

The panes that the cube lacks are declined for the reason that the cube has; those that it has are
closed as if an input had ended, and then travel, are acknowledged and repeated as ever.
"""

from __future__ import annotations

import msgspec

from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.words.as_of import SiteAsOf
from headwater.algebra.words.site_state import RUNNING, Declined
from headwater.edge.query_edge import QueryEdge
from headwater.edge.query_state import News
from headwater.edge.report import BatchReport, QueryBatch


class Asked(msgspec.Struct, frozen=True):
    """An answer at a site, which is in the cube already."""

    question: str
    panes: tuple[tuple[int, int], ...] = ()
    """(pane, rows), of those that have any."""
    declined: tuple[Declined, ...] = ()
    damaged: Ranges = ()
    as_of: SiteAsOf | None = None
    """As of when its panes are; None: nothing, or a former life has told it."""
    refused: str = ""
    """In words, why nothing of it is answered here; empty: it is."""


def take_asked(edge: QueryEdge | None, found: Asked) -> list[BatchReport]:
    """What follows for the question as for any query of a source that has ended, if anything."""
    if edge is None or edge.state.record.status != RUNNING:
        return []
    state = edge.state
    if found.refused:
        edge.beginning.refuse(found.refused)
        return []
    for one in found.declined:
        state.decline(one.first, one.last, one.reason)
    for first, last in found.damaged:
        state.damage(first, last)
    if found.as_of is not None:
        state.change(News.WORD, as_of=found.as_of)
    batch = QueryBatch(found.question, found.panes)
    return [BatchReport(state.query.source_name, (batch,), ended=True)]
