"""What a committed batch, or a poll without news, means for one query of the source.

*Each query fails alone*: where it failed on a batch, the panes that the batch touched are declined
and what they had before remains. After ``failures_max`` in a row the query is suspended here; what
was read is still sent, and everything else is declined for ever.

Of a state query the panes after those that a failed batch touched may lack its records too, and so
may all after lost bytes, until enough newer records were read. The cube knows and says so of each
pane when it is cut (``CutDone.is_whole``); panes that are closed have what was read until then.
"""

from __future__ import annotations

from headwater.algebra.panes import MICROS
from headwater.algebra.sets.ranges import Range
from headwater.algebra.words.site_state import FOREVER, Reason, Tally
from headwater.edge.query_edge import QueryEdge
from headwater.edge.record import RUNNING, SUSPENDED
from headwater.edge.report import BatchReport, QueryBatch
from headwater.plan.over_limit import OVER_LIMIT

MESSAGE_CHARS_MAX = 500


def take_report(
    edge: QueryEdge, batch: QueryBatch | None, report: BatchReport, *, now_s: float
) -> None:
    """``batch`` is what the report says of this query; None: it had no part in it."""
    edge.has_work = True
    word = edge.word
    if word.status != RUNNING:
        return
    skipped = report.skipped_lines
    word.add_tally(Tally(unparsed=skipped, fenced=report.fenced, refused=report.refused))
    if not 0 < report.loss_through <= edge.loss_heard:
        _take_loss(edge, report, now_s=now_s)
    if batch is not None:
        take_batch(edge, batch, now_s=now_s)
    has_caught_up = report.read_through_s is not None or report.is_caught_up
    if word.catching_up and not edge.query.ends and has_caught_up:
        word.catching_up, word.has_changed = False, True


def take_batch(edge: QueryEdge, batch: QueryBatch, *, now_s: float) -> None:
    """Also after a restart, for failed batches that no record knew of."""
    edge.word.add_tally(
        Tally(batch.malformed, too_late=batch.too_late, before_begin=batch.before_begin)
    )
    if batch.failed is not None:
        _fail(edge, batch, batch.failed, now_s=now_s)
        return
    edge.record_changed |= edge.failures > 0
    edge.failures = 0
    edge.word.add_tally(Tally(twice_bytes=batch.twice_bytes))
    for pane, rows in batch.panes:
        if batch.twice_bytes:
            edge.damage(pane, pane)
        edge.rows_in(pane, rows, now_s=now_s)


def _fail(edge: QueryEdge, batch: QueryBatch, message: str, *, now_s: float) -> None:
    first, last = batch.touched or _open_panes(edge, now_s=now_s)
    first = max(first, edge.lowest(), edge.word.sealed_through)
    if edge.query.holds_states:
        first = max(first, edge.lowest_unclosed())
    reason = Reason.LIMIT if message.startswith(OVER_LIMIT) else Reason.FAILED
    edge.word.decline(first, last, reason)
    _count_updates(edge, first, last)
    edge.word.message = message[:MESSAGE_CHARS_MAX]
    edge.failures += 1
    edge.failure_heard = max(edge.failure_heard, batch.failure)
    edge.record_changed = edge.word.has_changed = True
    if edge.failures >= edge.config.failures_max:
        suspend(edge, message, reason)


def suspend(edge: QueryEdge, message: str, reason: Reason) -> None:
    """What was read is still sent; all that is not closed is declined for ever."""
    edge.word.status, edge.word.message = SUSPENDED, message[:MESSAGE_CHARS_MAX]
    edge.word.decline(edge.lowest_unclosed(), FOREVER, reason)
    edge.record_changed = edge.word.has_changed = edge.has_work = True


def _take_loss(edge: QueryEdge, report: BatchReport, *, now_s: float) -> None:
    edge.word.add_tally(Tally(lost_bytes=report.lost_bytes))
    is_damaged = report.lost_bytes or report.damaged_from_us is not None
    if is_damaged and not edge.query.holds_states:
        _damage(edge, report, now_s=now_s)
    if report.loss_through > edge.loss_heard:
        edge.loss_heard, edge.record_changed = report.loss_through, True


def _damage(edge: QueryEdge, report: BatchReport, *, now_s: float) -> None:
    """What is lost was not there at the last read that reached the end of the input. Panes that
    were closed since, by record times alone, may lack it as well as those that are open."""
    _, last = _open_panes(edge, now_s=now_s)
    first = min(edge.sure_through, edge.closed_through)
    if report.damaged_from_us is not None:
        first = edge.query.window.pane_at(report.damaged_from_us + edge.time.offset_us)
    if report.damaged_to_us is not None:
        last = max(first, edge.query.window.pane_at(report.damaged_to_us + edge.time.offset_us))
    edge.damage(max(first, edge.lowest()), last)


def _count_updates(edge: QueryEdge, first: int, last: int) -> None:
    """The state says of these panes that they can't be exact; now it tells their closes too."""
    for a, b in list(edge.book.filled.within(first, last)):
        for pane in range(a, b + 1):
            edge.count(pane, edge.book.updates_of(pane))


def _open_panes(edge: QueryEdge, *, now_s: float) -> Range:
    """What a loss of unknown extent may touch: all that is not closed, up to now."""
    first = edge.lowest_unclosed()
    return first, max(first, edge.query.window.pane_at(round(edge.time.of(now_s) * MICROS)))
