"""What a site knows of input that it has set aside for a query: the rules "Shed is deferred".

A stretch that was set aside is a reading of its own (``plan/readings.py``), and has the panes that
it may touch. While it stands in the query's record these are closed without being made, and
*deferred*: nothing of them is sent, whatever was read of them before. None of the query's panes is
sealed. When all of a stretch was read it leaves the record, and what no other stretch touches is
made. A stretch that is given up, as ``shed = 'decline'`` gives up all, has its panes declined, and
its bytes are lost. As of other bytes that are lost, nobody knows whether there were records for
panes that were closed before: who is later than ``disorder`` is missed by its bytes alone.
"""

from __future__ import annotations

import msgspec

from headwater.algebra.sets.ranges import Range
from headwater.algebra.words.site_state import RUNNING, Reason, Tally
from headwater.edge.query_edge import QueryEdge
from headwater.edge.query_state import News, QueryState
from headwater.edge.record import SetAside
from headwater.edge.report import BatchReport, QueryBatch
from headwater.edge.take_report import take_batch
from headwater.plan.query import Shed
from headwater.plan.readings import aside_number


def hear_aside(edge: QueryEdge, told: SetAside, *, read_through: int) -> None:
    """A stretch was set aside, or has grown. Told again after a restart: what the record knows of
    and does not have any more is over, unless it has grown. ``read_through``: panes below were read
    to their end."""
    state, record = edge.state, edge.state.record
    number = aside_number(told.reading)
    known = next((one for one in record.set_aside if one.reading == told.reading), None)
    is_old = number <= record.aside_heard and told.through_cut <= record.aside_cut
    if record.status != RUNNING or (known is None and is_old):
        return
    heard = {
        "aside_heard": max(number, record.aside_heard),
        "aside_cut": max(told.through_cut, record.aside_cut),
    }
    first = max(told.first, record.lowest_unclosed(), read_through)
    if known is not None:
        first = min(first, known.first)
    loss_heard = 0 if known is None else known.loss_heard
    aside = msgspec.structs.replace(told, first=min(first, told.last), loss_heard=loss_heard)
    if state.query.sheds is Shed.DECLINE:
        state.change(News.RECORD, **heard)
        state.add_tally(Tally(lost_bytes=told.bytes))
        if first <= told.last:
            _decline(state, first, told.last)
        return
    if aside != known:
        others = tuple(one for one in record.set_aside if one is not known)
        state.change(News.RECORD, set_aside=(*others, aside), **heard)


def take_aside(
    edge: QueryEdge, batch: QueryBatch | None, report: BatchReport, *, now_s: float
) -> None:
    """A report on a stretch that was set aside for this query."""
    state = edge.state
    aside = next(one for one in state.record.set_aside if one.reading == report.source)
    state.hear(News.WORK)
    if state.record.status == RUNNING:
        state.add_tally(Tally(unparsed=report.skipped_lines, refused=report.refused))
        if not 0 < report.loss_through <= aside.loss_heard:
            _take_loss(state, aside, report)
        if batch is not None:
            if batch.failed is not None and batch.touched is None:
                batch = msgspec.structs.replace(batch, touched=(aside.first, aside.last))
            take_batch(edge, batch, now_s=now_s)
    if report.ended:
        _leave(edge, report.source, now_s=now_s)


def _take_loss(state: QueryState, aside: SetAside, report: BatchReport) -> None:
    first = max(aside.first, state.record.lowest())
    if report.lost_bytes and first <= aside.last:
        state.add_tally(Tally(lost_bytes=report.lost_bytes))
        state.damage(first, aside.last)
    if report.loss_through > aside.loss_heard:
        knows = msgspec.structs.replace(aside, loss_heard=report.loss_through)
        left = (knows if one is aside else one for one in state.record.set_aside)
        state.change(News.RECORD, set_aside=tuple(left))


def give_up(edge: QueryEdge, reading: str, *, now_s: float) -> None:
    """There is no more room for it: its panes are declined for ever."""
    state = edge.state
    aside = next((one for one in state.record.set_aside if one.reading == reading), None)
    if aside is not None:
        for first, last in _unmade(state, aside.first, aside.last):
            _decline(state, first, last)
        state.add_tally(Tally(lost_bytes=aside.bytes))
        _leave(edge, reading, now_s=now_s)


def forget_what_is_over(edge: QueryEdge, *, now_s: float) -> None:
    """Stretches of which nothing is owed any more: their panes were declined since, or the root is
    done with them. Of a query that is suspended nothing is read any more, so that all are given
    up."""
    state = edge.state
    for one in state.record.set_aside:
        if state.record.status != RUNNING:
            give_up(edge, one.reading, now_s=now_s)
            continue
        first = max(one.first, state.record.lowest())
        is_past = first > one.last
        if is_past or next(state.owed_of(first, one.last), None) is None:
            state.add_tally(Tally(lost_bytes=one.bytes))
            _leave(edge, one.reading, now_s=now_s)


def _unmade(state: QueryState, first: int, last: int) -> list[Range]:
    """Deferred, or not closed."""
    open_from = max(first, state.record.lowest_unclosed())
    found = list(state.book.deferred.within(first, last))
    return [*found, (open_from, last)] if open_from <= last else found


def _decline(state: QueryState, first: int, last: int) -> None:
    first = max(first, state.record.lowest(), state.record.sealed_through)
    if first > last:
        return
    state.decline(first, last, Reason.SHED)
    deferred = list(state.book.deferred.numbers(first, last))
    state.undefer(deferred)
    state.count_filled(first, last)


def _leave(edge: QueryEdge, reading: str, *, now_s: float) -> None:
    state = edge.state
    gone = [one.first for one in state.record.set_aside if one.reading == reading]
    left = tuple(one for one in state.record.set_aside if one.reading != reading)
    edge.unseal_from(min(gone), now_s=now_s)
    state.change(News.RECORD, set_aside=left)
