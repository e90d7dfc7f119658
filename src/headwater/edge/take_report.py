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
from headwater.algebra.words.site_state import FOREVER, RUNNING, SUSPENDED, Reason, Tally
from headwater.edge.query_edge import MESSAGE_CHARS_MAX, QueryEdge
from headwater.edge.query_state import News, QueryState
from headwater.edge.report import BatchReport, QueryBatch
from headwater.plan.over_limit import OVER_LIMIT


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
    has_lost = False
    if not 0 < report.loss_through <= state.record.loss_heard:
        has_lost = _take_loss(state, report, now_s=now_s)
    if batch is not None:
        if state.query.numbers is not None:
            _take_numbers(edge, batch, has_lost=has_lost)
        take_batch(edge, batch, now_s=now_s)
    has_caught_up = report.read_through_s is not None or report.is_caught_up
    has_caught_up = has_caught_up and not state.record.past and state.ahead_through == FOREVER
    if state.record.catching_up and not state.query.ends and has_caught_up:
        state.change(News.WORD, catching_up=False)


def take_past(
    edge: QueryEdge, batch: QueryBatch | None, report: BatchReport, *, now_s: float
) -> None:
    """The same of a report on the reading of the past that this query awaits."""
    state = edge.state
    state.hear(News.WORK)
    if state.record.status != RUNNING:
        return
    state.add_tally(Tally(unparsed=report.skipped_lines, refused=report.refused))
    if not 0 < report.loss_through <= state.record.past_loss_heard:
        state.add_tally(Tally(lost_bytes=report.lost_bytes))
        if report.lost_bytes:
            state.damage(*_open_panes(state, now_s=now_s))
        if report.loss_through:
            state.change(News.RECORD, past_loss_heard=report.loss_through)
    if batch is not None and state.query.numbers is not None:
        _take_numbers(edge, batch, has_lost=False, is_past=True)
    edge.beginning.hear_past(report)
    if batch is not None:
        take_batch(edge, batch, now_s=now_s)
    if report.ended:
        edge.beginning.end_past(report, now_s=now_s)


def _take_numbers(
    edge: QueryEdge, batch: QueryBatch, *, has_lost: bool, is_past: bool = False
) -> None:
    """How far the batch has read, where numbers say so. What was lost before it lies at most where
    its own do; what was lost at its time (``has_lost``) may lie behind them."""
    state, panes = edge.state, [pane for pane, _ in batch.panes]
    if batch.failed is not None:
        return
    if batch.counted_through is not None:
        _take_count(state, batch.counted_through, has_lost=has_lost)
        return
    has_earlier = batch.before_begin > 0
    edge.beginning.hear_number(panes, has_earlier=has_earlier, is_past=is_past)
    former = state.reached.pane(awaits_past=False)
    state.reached.hear(panes, is_past=is_past)
    if panes and (former is None or max(panes) >= former):
        _find_numbers(state, max(panes), has_lost=has_lost)


def _take_count(state: QueryState, through: int, *, has_lost: bool) -> None:
    """The site's own count is there now, whatever WHERE has kept: the next record is of that pane,
    and the last one was of the one before it or of the same."""
    window = state.query.window
    state.reached.hear([window.pane_at(through)])
    _find_numbers(state, window.pane_at(max(through - 1, 0)), has_lost=has_lost)


def _find_numbers(state: QueryState, pane: int, *, has_lost: bool) -> None:
    """A number of this pane is the next after those that were lost, which may be some ahead."""
    grid, window, lost_from = state.query.numbers, state.query.window, state.record.lost_from
    if grid is None or lost_from is None:
        return
    last = window.pane_at(window.pane_end_us(pane) - 1 + grid.disorder)
    _give_up(state, lost_from, last)
    lost_reason = state.record.lost_reason
    if not has_lost:
        state.change(News.RECORD, lost_from=None, lost_reason=None)
    else:
        state.change(News.RECORD, lost_from=last, lost_reason=lost_reason)


def _give_up(state: QueryState, first: int, last: int) -> None:
    """Panes that lack numbers, as the record says for what reason."""
    first = max(first, state.record.lowest(), state.record.sealed_through)
    if first > last:
        return
    if state.record.lost_reason is None:
        state.damage(first, last)
    else:
        state.decline(first, last, state.record.lost_reason)
        state.count_filled(first, last)


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
        if not state.takes(pane):
            state.add_tally(Tally(not_drawn=rows))
            continue
        if batch.twice_bytes:
            state.damage(pane, pane)
        edge.rows_in(pane, rows, now_s=now_s)
    for keys in (one for one in batch.keys if state.takes(one.pane)):
        edge.early.hear(keys, now_s=now_s)


def _fail(state: QueryState, batch: QueryBatch, message: str, *, now_s: float) -> None:
    record = state.record
    first, last = batch.touched or _open_panes(state, now_s=now_s)
    first = max(first, record.lowest(), record.sealed_through)
    if state.query.holds_states:
        first = max(first, record.lowest_unclosed())
    reason = Reason.LIMIT if message.startswith(OVER_LIMIT) else Reason.FAILED
    if state.query.numbers is not None:
        first = max(record.lowest(), record.sealed_through)
        _lose_numbers(state, first, max(first, last), reason)
    else:
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


def _take_loss(state: QueryState, report: BatchReport, *, now_s: float) -> bool:
    """Whether there is one."""
    state.add_tally(Tally(lost_bytes=report.lost_bytes))
    is_damaged = report.lost_bytes or report.damaged_from_us is not None
    if is_damaged and state.query.numbers is not None:
        first, last = _open_panes(state, now_s=now_s)
        first = min(first, max(state.record.lowest(), state.record.surely_through))
        _lose_numbers(state, first, last, None)
    elif is_damaged and not state.query.holds_states:
        _damage(state, report, now_s=now_s)
    if report.loss_through > state.record.loss_heard:
        state.change(News.RECORD, loss_heard=report.loss_through)
    return bool(is_damaged)


def _lose_numbers(state: QueryState, first: int, last: int, reason: Reason | None) -> None:
    """Some that nobody knows are gone: of panes up to ``last``, so far as is known, and of those up
    to the next number."""
    known, why = state.record.lost_from, state.record.lost_reason or reason
    lost_from = last if known is None else min(known, last)
    state.change(News.RECORD, lost_from=lost_from, lost_reason=why)
    _give_up(state, first, last)


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
    if state.query.numbers is not None:
        reached = state.reached.pane(awaits_past=False)
        return first, first if reached is None else max(first, reached)
    return first, max(first, state.query.window.pane_at(round(state.time.of(now_s) * MICROS)))
