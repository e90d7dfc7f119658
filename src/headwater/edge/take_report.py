"""What a committed batch, or a poll without news, means for one query of the source.

*Each query fails alone*: where it failed on a batch, the panes that the batch touched are declined
and what they had before remains. After ``failures_max`` in a row the query is suspended here; what
was read is still sent, and everything else is declined for ever.

Of a state query the panes after those that a failed batch touched may lack its records too, and so
may all after lost bytes, until enough newer records were read. The cube knows and says so of each
pane when its updates are made (``UpdatesMade.is_whole``); panes that are closed have what was read
until then.
"""

from __future__ import annotations

from headwater.algebra.panes import MICROS
from headwater.algebra.sets.ranges import Range
from headwater.algebra.words.site_state import FOREVER, Reason, Tally
from headwater.edge.query_edge import QueryEdge
from headwater.edge.query_state import News, QueryState
from headwater.edge.record import RUNNING, SUSPENDED
from headwater.edge.report import BatchReport, QueryBatch
from headwater.plan.over_limit import OVER_LIMIT

MESSAGE_CHARS_MAX = 500


def take_report(
    edge: QueryEdge, batch: QueryBatch | None, report: BatchReport, *, now_s: float
) -> None:
    """``batch`` is what the report says of this query; None: it had no part in it."""
    state = edge.state
    state.hear(News.WORK)
    if state.record.status != RUNNING:
        return
    skipped = report.skipped_lines
    state.add_tally(Tally(unparsed=skipped, fenced=report.fenced, refused=report.refused))
    if not 0 < report.loss_through <= state.record.loss_heard:
        _take_loss(state, report, now_s=now_s)
    if batch is not None:
        take_batch(edge, batch, now_s=now_s)
    has_caught_up = report.read_through_s is not None or report.is_caught_up
    if state.record.catching_up and not state.query.ends and has_caught_up:
        state.change(News.WORD, catching_up=False)


def take_batch(edge: QueryEdge, batch: QueryBatch, *, now_s: float) -> None:
    """Also after a restart, for failed batches that no record knew of."""
    state = edge.state
    state.add_tally(
        Tally(batch.malformed, too_late=batch.too_late, before_begin=batch.before_begin)
    )
    if batch.failed is not None:
        _fail(state, batch, batch.failed, now_s=now_s)
        return
    if state.record.failures:
        state.change(News.RECORD, failures=0)
    state.add_tally(Tally(twice_bytes=batch.twice_bytes))
    for pane, rows in batch.panes:
        if batch.twice_bytes:
            state.damage(pane, pane)
        edge.rows_in(pane, rows, now_s=now_s)


def _fail(state: QueryState, batch: QueryBatch, message: str, *, now_s: float) -> None:
    record = state.record
    first, last = batch.touched or _open_panes(state, now_s=now_s)
    first = max(first, record.lowest(), record.sealed_through)
    if state.query.holds_states:
        first = max(first, record.lowest_unclosed())
    reason = Reason.LIMIT if message.startswith(OVER_LIMIT) else Reason.FAILED
    state.decline(first, last, reason)
    state.count_filled(first, last)
    state.change(
        News.WORD,
        message=message[:MESSAGE_CHARS_MAX],
        failures=record.failures + 1,
        failure_heard=max(record.failure_heard, batch.failure),
    )
    if state.record.failures >= state.config.failures_max:
        suspend(state, message, reason)


def suspend(state: QueryState, message: str, reason: Reason) -> None:
    """What was read is still sent; all that is not closed is declined for ever."""
    state.decline(state.record.lowest_unclosed(), FOREVER, reason)
    state.change(News.WORD, status=SUSPENDED, message=message[:MESSAGE_CHARS_MAX])


def _take_loss(state: QueryState, report: BatchReport, *, now_s: float) -> None:
    state.add_tally(Tally(lost_bytes=report.lost_bytes))
    is_damaged = report.lost_bytes or report.damaged_from_us is not None
    if is_damaged and not state.query.holds_states:
        _damage(state, report, now_s=now_s)
    if report.loss_through > state.record.loss_heard:
        state.change(News.RECORD, loss_heard=report.loss_through)


def _damage(state: QueryState, report: BatchReport, *, now_s: float) -> None:
    """What is lost was not there at the last read that reached the end of the input. Panes that
    were closed since, by record times alone, may lack it as well as those that are open."""
    record, window, offset_us = state.record, state.query.window, state.time.offset_us
    _, last = _open_panes(state, now_s=now_s)
    first = min(record.surely_through, record.closed_through)
    if report.damaged_from_us is not None:
        first = window.pane_at(report.damaged_from_us + offset_us)
    if report.damaged_to_us is not None:
        last = max(first, window.pane_at(report.damaged_to_us + offset_us))
    state.damage(max(first, record.lowest()), last)


def _open_panes(state: QueryState, *, now_s: float) -> Range:
    """What a loss of unknown extent may touch: all that is not closed, up to now."""
    first = state.record.lowest_unclosed()
    return first, max(first, state.query.window.pane_at(round(state.time.of(now_s) * MICROS)))
