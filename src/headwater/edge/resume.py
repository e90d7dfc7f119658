"""Taking up a query where a former process ended, from what the cube has kept.

What that process had marked as sent may or may not have left, so it counts as sent now. The same
holds for single empty closes, which leave no trace of their sending. What it never sent is backlog.
A failed batch whose decline it had no time to write is declined now.
"""

from __future__ import annotations

from headwater.algebra.sets.interval_set import IntervalSet
from headwater.edge.query_edge import QueryEdge
from headwater.edge.record import PaneKept, QueryKept
from headwater.edge.take_report import take_batch
from headwater.edge.words.site_word import NEVER_S


def resume(edge: QueryEdge, kept: QueryKept, *, now_s: float) -> None:
    record = kept.record
    edge.word.load(record)
    edge.closed_through = record.closed_through
    sure = record.sure_through
    edge.sure_through = record.closed_through if sure is None else sure
    edge.root_incarnation, edge.failures = record.root_incarnation, record.failures
    edge.failure_heard, edge.loss_heard = record.failure_heard, record.loss_heard
    edge.time.resume(record.offset_s)
    edge.belief.doubt(now_s=now_s)
    edge.awaits_greeting = record.awaits_greeting
    edge.reopened = IntervalSet(record.reopened)
    for pane in kept.panes:
        if pane.pane >= record.done_through:
            _resume_pane(edge, pane, now_s=now_s)
    for failed in kept.failures:
        take_batch(edge, failed, now_s=now_s)
    edge.doubt_empty(now_s=now_s)


def _resume_pane(edge: QueryEdge, kept: PaneKept, *, now_s: float) -> None:
    pane, book = kept.pane, edge.book
    book.set_updates(pane, kept.updates, row_bytes=kept.row_bytes)
    if kept.is_same:
        book.same.add(pane, pane)
    if not kept.is_whole:
        edge.word.damage(pane, pane)
    if kept.updates:
        edge.count(pane, kept.updates)
    if kept.waiting_rows:
        edge.rows_in(pane, kept.waiting_rows, now_s=now_s)
    if kept.is_acked or not kept.updates:
        return
    sent = IntervalSet(kept.sent)
    numbers = range(1, kept.updates + 1)
    book.fly(pane, [n for n in numbers if n in sent], now_s=now_s)
    unsent = [n for n in numbers if n not in sent]
    if unsent:
        book.add_unsent(pane, unsent, closed_s=NEVER_S, live=False)
    book.written(pane, now_s=now_s)
