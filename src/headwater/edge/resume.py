"""Taking up a query where a former process ended, from what the cube has kept.

What that process had marked as sent may or may not have left, so it counts as sent now. The same
holds for single empty closes, which leave no trace of their sending. What it never sent is backlog.
A failed batch whose decline it had no time to write is declined now.
"""

from __future__ import annotations

import msgspec

from headwater.algebra.far_times import LONG_AGO_S
from headwater.algebra.sets.interval_set import IntervalSet
from headwater.algebra.words.site_state import FOREVER
from headwater.edge.query_edge import QueryEdge
from headwater.edge.query_state import News, QueryState
from headwater.edge.record import PaneKept, QueryKept, joined
from headwater.edge.take_report import take_batch


def resume(edge: QueryEdge, kept: QueryKept, *, now_s: float) -> None:
    """The next state has a new number in any case."""
    state, record = edge.state, kept.record
    state.time.resume(record.offset_s)
    state.belief.doubt(now_s=now_s)
    record = msgspec.structs.replace(
        record,
        declined=joined(record.declined),
        sure_through=record.surely_through,
        source=state.query.source_name,
        offset_s=state.time.known_s,
    )
    state.put(record, News.WORD)
    state.telling.resume(record)
    edge.degrading.resume()
    if state.query.own_count is not None:
        state.reached.hear([state.query.window.pane_at(record.counted)])
    elif state.query.numbers is not None:
        state.reached.hear(pane.pane for pane in kept.panes if pane.waiting_rows)
    for pane in kept.panes:
        if pane.pane >= record.done_through:
            _resume_pane(edge, pane, now_s=now_s)
    for number in state.book.deferred.numbers(record.lowest(), FOREVER):
        state.book.written(number, now_s=now_s)  # of many nothing was read, so that none is kept
    for failed in kept.failures:
        take_batch(edge, failed, now_s=now_s)
    state.doubt_empty(now_s=now_s)


def _resume_pane(edge: QueryEdge, kept: PaneKept, *, now_s: float) -> None:
    state, book, pane = edge.state, edge.state.book, kept.pane
    book.set_updates(pane, kept.updates, row_bytes=kept.row_bytes, is_same=kept.is_same)
    if not kept.is_whole:
        state.damage(pane, pane)
    if kept.updates and pane >= state.record.lowest_unclosed():
        book.early[pane] = None
    elif kept.updates and pane not in state.unwanted and not (state.is_level and kept.is_acked):
        # which of them the first close had is not known any more
        state.count(pane, kept.updates, is_late=kept.updates > 1 and not kept.is_acked)
    is_left = pane in state.unwanted and pane < state.record.closed_through
    if kept.waiting_rows and not is_left:
        edge.rows_in(pane, kept.waiting_rows, now_s=now_s)
    if pane in state.unwanted:
        return  # nothing of it is to leave
    if kept.withheld is not None:
        book.withheld[pane] = kept.withheld
    if kept.withheld is not None:
        edge.answers_requests().closed(pane, now_s=now_s)
    if kept.owes_rest and not _stays(state, pane):
        book.owing[pane] = None
    if not kept.is_acked and kept.updates:
        sent = IntervalSet(kept.sent)
        book.fly(pane, sent.numbers(1, kept.updates), now_s=now_s)
        unsent = [n for n in range(1, kept.updates + 1) if n not in sent]
        if unsent and pane not in book.deferred:
            book.add_unsent(pane, unsent, closed_s=LONG_AGO_S, live=False)
        book.written(pane, now_s=now_s)


def _stays(state: QueryState, pane: int) -> bool:
    """What was kept back of the pane lies where what is owed lies, and is not owed. Where settings
    may have changed since, which are not known yet, it is taken for owed: then all of it is
    sent."""
    tolerance = state.settings.at(pane).tolerance
    is_top = tolerance is not None and tolerance.top is not None
    return is_top and not state.settings.at(pane).owes_rest and not state.record.settings
