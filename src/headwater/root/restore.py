"""Bringing the books of a root back from what the ledger has kept.

Kept summaries are entered again in the order of their numbers. Their bitmaps speak of the
incarnations that sites had at that time, so a site's next life begins again at the number at which
it began (``since``). What states say of panes is order-free and is entered last, with the newest
state; of a life that is over just before the next one begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from headwater.algebra.words.site_state import FOREVER, SiteState
from headwater.root.books import Books
from headwater.root.carriers.replacing import Piece
from headwater.root.outputs import KeepState, KeptSummary, RootKept
from headwater.root.scoreboard import Scoreboard, Verdict


def restore(books: Books, kept: RootKept, *, now_s: float) -> None:
    """Take up where a former process ended, before anything else."""
    states = newest_states(kept)
    books.table.is_restoring = True
    books.alarms.restore(kept.alarms)
    books.shares.restore(kept.shares)
    books.kept = replay(books.scoreboard, kept)
    books.restored = {one.window: one for one in kept.answers}
    if kept.done_through is not None:
        books.windows.resume(kept.done_through)
        books.scoreboard.drop_below(kept.done_through)
    if kept.states or kept.answers:
        books.clocks.doubt(now_s=now_s)
    for one in states:
        books.scoreboard.hear(one.state, since=one.since)
        books.table.greet(one.state.ordinal)
    _restore_agreements(books, kept, states, now_s=now_s)
    books.table.is_restoring = False
    books.clocks.follow(now_s=now_s)
    _open_windows(books, states, now_s=now_s)
    books.sum_up()
    await_again(books, kept.lost)


def _open_windows(books: Books, states: Sequence[KeepState], *, now_s: float) -> None:
    for one in states:
        books.hear_state(one.state, now_s=now_s)
    for board in books.scoreboard.boards.values():
        if board.covered:
            books.hear_close(board.pane, now_s=now_s)
    for window in sorted(books.restored):
        if books.windows.spec.panes_of(window).start >= books.windows.done_through:
            books.open_window(window, now_s=now_s)
    for board in list(books.scoreboard.boards.values()):
        if board.rows_number:
            books.open_windows(board.pane, now_s=now_s)
        books.note(board)
    for window in books.windows.windows:
        books.answers.mark(window)
    for one in states:
        books.open_awaited(one.state, former_through=-FOREVER, now_s=now_s)


def _restore_agreements(
    books: Books, kept: RootKept, states: Sequence[KeepState], *, now_s: float
) -> None:
    for summary in kept.summaries:
        piece = Piece(summary.number, summary.coverage, summary.has_rows)
        books.replacing.pieces.add(summary.pane, piece)
    for one in states:
        books.agreements.restore(one.state, one.agreed_through, one.disputed)
        books.agreements.hear(one.state, now_s=now_s)
    books.agreements.disputed_now.clear()  # the alarms of these stand in the book
    sure = {one.state.ordinal: one.sure_number for one in states}
    for summary in kept.summaries:
        books.agreements.restore_doubts(
            summary.pane, summary.coverage, number=summary.number, sure=sure, now_s=now_s
        )


def await_again(books: Books, lost: Sequence[KeptSummary]) -> None:
    """These were held and are gone: they are let in again, also where a window that has the
    pane is final, and windows are not revised to less than they had."""
    wanted = [one for one in lost if _is_lacking(books, one)]
    for one in wanted:
        board = books.scoreboard.owe(one.pane, one.coverage)
        board.is_frozen = False
        books.answers.mend(one)
        books.note(board)
    if wanted:
        panes = sorted({one.pane for one in wanted})
        text = f"panes {panes[:8]} are asked for again"
        books.notice("ledger damaged", text, count=len(panes))


def _is_lacking(books: Books, lost: KeptSummary) -> bool:
    """Whether it is still of use, and has not come again."""
    is_held = books.scoreboard.judge(lost.pane, lost.coverage) is Verdict.CONTAINED
    return lost.pane >= books.windows.done_through and not is_held


def replay(scoreboard: Scoreboard, kept: RootKept) -> int:
    """Enter all summaries, and of each state only whose life it was; the newest number.

    Summaries may have been trimmed or lost since, so the ledger's count, answers and lives have a
    say in the number too: one that is used again would pass for what an answer has already.
    """
    number = max([kept.last_number, *(one.kept_through for one in kept.answers)])
    number = max(number, max((one.since - 1 for one in kept.states), default=0))
    lives = sorted(kept.states, key=lambda one: (one.since, one.state.incarnation))
    told: dict[int, SiteState] = {}
    for event in _in_order(lives, kept.summaries):
        if isinstance(event, KeepState):
            _begin_life(scoreboard, event, told)
        else:
            number = max(number, event.number)
            scoreboard.accept(
                event.pane, event.coverage, number=event.number, has_rows=event.has_rows
            )
    return number


def newest_states(kept: RootKept) -> list[KeepState]:
    """One for each site: of its newest life."""
    newest: dict[int, KeepState] = {}
    for one in kept.states:
        known = newest.get(one.state.ordinal)
        if known is None or known.state.incarnation < one.state.incarnation:
            newest[one.state.ordinal] = one
    return list(newest.values())


def _begin_life(scoreboard: Scoreboard, life: KeepState, told: dict[int, SiteState]) -> None:
    """``told`` has what each site's present life said last."""
    ordinal = life.state.ordinal
    former = told.get(ordinal)
    if former is not None and former.incarnation >= life.state.incarnation:
        return
    if former is not None:
        scoreboard.hear(former, since=scoreboard.table.views[ordinal].since)
    told[ordinal] = life.state
    scoreboard.hear(_bare(life.state), since=life.since)
    scoreboard.table.views[ordinal].agreed_through = life.agreed_through


def _bare(state: SiteState) -> SiteState:
    return msgspec.structs.replace(
        state, empty=(), declined=(), damaged=(), counts=(), digests=(), closes=()
    )


def _in_order(
    lives: list[KeepState], summaries: tuple[KeptSummary, ...]
) -> Iterator[KeepState | KeptSummary]:
    """A life that counts from number n on comes before summary n."""
    at = 0
    for summary in summaries:
        while at < len(lives) and lives[at].since <= summary.number:
            yield lives[at]
            at += 1
        yield summary
    yield from lives[at:]
