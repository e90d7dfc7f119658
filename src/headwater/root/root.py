"""The root of one query: it lets summaries in, answers windows, and tells the sites what it holds.

It is driven like every machine: ``receive`` and ``receive_states`` take what the overlay delivers,
``tick`` does what time makes due, ``answered`` tells what became of an answer, ``take`` gives the
outputs, in order. What it has let in is kept (``Keep``) before it is acknowledged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from headwater.algebra.coverage import Coverage, SitePart
from headwater.algebra.site_state import FOREVER, SiteState
from headwater.algebra.summary import Lane, Merger, Summary
from headwater.plan.query import Query
from headwater.plan.roster import Roster
from headwater.root.ack_cutter import AckCutter
from headwater.root.answers import Answers
from headwater.root.config import RootConfig
from headwater.root.explain import Explanation, RootProgress
from headwater.root.outputs import (
    Acknowledge,
    Ended,
    Keep,
    KeepState,
    KeptSummary,
    Notice,
    Output,
    RootKept,
    Trim,
    WindowAnswered,
)
from headwater.root.pane_board import PaneBoard
from headwater.root.parking import Parking
from headwater.root.restore import newest_states, replay
from headwater.root.scoreboard import Scoreboard, Verdict
from headwater.root.site_table import SiteTable
from headwater.root.view import explain, progress_of
from headwater.root.windows import Window, WindowBook


class Root:
    """Begins at ``now_s``: windows that are over by then have no deadline while sites catch up."""

    def __init__(
        self,
        *,
        query: Query,
        roster: Roster,
        config: RootConfig,
        merger: Merger,
        incarnation: int,
        now_s: float,
    ) -> None:
        self.query = query
        self.id = str(query.id)
        self.table = SiteTable(query, roster)
        self.scoreboard = Scoreboard(self.table)
        self.windows = WindowBook(query, config, now_s=now_s)
        self.parking = Parking(config, merger)
        self.answers = Answers(
            query, config, self.scoreboard, self.windows, roster_version=roster.version
        )
        self.kept = 0
        """The number of the newest kept summary."""
        self.has_ended = False
        self.counters: Counter[str] = Counter()
        self._config = config
        self._acks = AckCutter(self.id, incarnation, config)
        self._caught_up_s: float | None = None
        self._sealed_through = self.table.sealed_through
        self._is_overfull = False
        self._restored: dict[int, WindowAnswered] = {}
        self._outputs: list[Output] = []

    def restore(self, kept: RootKept, *, now_s: float) -> None:
        """Take up where a former process ended, before anything else."""
        self.kept = replay(self.scoreboard, kept)
        self._restored = {one.window: one for one in kept.answers}
        if kept.done_through is not None:
            self.windows.resume(kept.done_through)
            self.scoreboard.drop_below(kept.done_through)
        for one in newest_states(kept):
            self.scoreboard.hear(one.state, since=one.since)
            self.table.greet(one.state.ordinal)
        for window in sorted(self._restored):
            if self.windows.spec.panes_of(window).start >= self.windows.done_through:
                self._open_window(window, now_s=now_s)
        for board in list(self.scoreboard.boards.values()):
            if board.rows_number:
                self._open_windows(board.pane, now_s=now_s)
            self._touch(board, now_s=now_s)
        for window in self.windows.windows:
            self.answers.mark(window)
        for one in newest_states(kept):
            self._open_awaited(one.state, former_through=-FOREVER, now_s=now_s)
        self._hear_sums(now_s=now_s)

    # What the overlay delivers

    def receive(self, summary: Summary, *, now_s: float) -> None:
        if not self._is_wanted(summary.pane):
            return
        if summary.lane is not Lane.SPARE or self._is_answered(summary.pane):
            self._let_in(summary, now_s=now_s)
            return
        verdict = self.scoreboard.judge(summary.pane, summary.coverage)
        if verdict in (Verdict.CONTAINED, Verdict.STRANGER):
            self._refuse(summary, verdict, now_s=now_s)
            return
        self._open_for(summary, now_s=now_s)
        self.counters["parked"] += 1
        dropped = self.parking.park(summary, now_s=now_s)
        if dropped:
            self._notice("parking is full", f"{dropped} spares gave way", count=dropped)
        self._release_if_harmless(self.scoreboard.open(summary.pane), now_s=now_s)

    def receive_states(self, states: Iterable[SiteState], *, now_s: float) -> None:
        for state in states:
            if not self.table.expected >> state.ordinal & 1:
                self._notice("stranger", f"a state of site {state.ordinal}, which is not expected")
            elif self.table.is_news(state):
                self._hear(state, now_s=now_s)
            elif state.incarnation == self.table.present(state.ordinal):
                self.table.greet(state.ordinal)
            else:
                name = self.table.names[state.ordinal]
                text = f"{name} speaks as an earlier incarnation than the one known here"
                self._notice("earlier incarnation", text)
        self._hear_sums(now_s=now_s)

    def _is_wanted(self, pane: int) -> bool:
        if pane < max(self.windows.done_through, self.table.begin):
            self.counters["not wanted"] += 1
            return False
        boards = self.scoreboard.boards
        if pane not in boards and len(boards) >= self._config.panes_max:
            self._notice("too many panes", f"pane {pane}: the root holds {len(boards)} already")
            return False
        return True

    def _is_answered(self, pane: int) -> bool:
        """Whether a spare of it can be used at once."""
        windows = self.windows.windows_of(pane)
        known = (self.windows.windows.get(window) for window in windows)
        return not windows or any(window is not None and window.revision for window in known)

    def _let_in(self, summary: Summary, *, now_s: float) -> None:
        verdict = self.scoreboard.judge(summary.pane, summary.coverage)
        if verdict is Verdict.ACCEPTED:
            self._keep(summary.pane, summary.coverage, summary.rows)
        elif verdict is Verdict.CLOSES:
            has_rows = summary.coverage.has_rows
            news = self.scoreboard.news_of(summary.pane, summary.coverage)
            self._keep(summary.pane, news if has_rows else summary.coverage, None)
        else:
            self._refuse(summary, verdict, now_s=now_s)
            return
        self.counters[verdict] += 1
        self._open_for(summary, now_s=now_s)
        self._touch(self.scoreboard.open(summary.pane), now_s=now_s)

    def _keep(self, pane: int, coverage: Coverage, rows: object) -> None:
        self.kept += 1
        kept = KeptSummary(self.kept, pane, coverage, rows, rows is not None)
        self._outputs.append(Keep(self.id, kept))
        self.scoreboard.accept(pane, coverage, number=self.kept, has_rows=rows is not None)

    def _refuse(self, summary: Summary, verdict: Verdict, *, now_s: float) -> None:
        if verdict in (Verdict.STRANGER, Verdict.AFTER_FINAL):
            self._notice(verdict, f"pane {summary.pane}: a summary was refused ({verdict})")
            return
        self.counters[verdict] += 1
        if verdict is not Verdict.CONTAINED:
            self._open_for(summary, now_s=now_s)

    def _hear(self, state: SiteState, *, now_s: float) -> None:
        former = self.table.views.get(state.ordinal)
        if former is not None and former.state.incarnation == state.incarnation:
            self._keep_empty_closes(state)
        boards = self.scoreboard.hear(state, since=self.kept + 1)
        since = self.table.views[state.ordinal].since
        self._outputs.append(KeepState(self.id, state, since))
        self.table.greet(state.ordinal)
        for board in boards:
            self._touch(board, now_s=now_s)
        is_same = former is not None and former.state.incarnation == state.incarnation
        former_through = former.state.sealed_through if former and is_same else -FOREVER
        self._open_awaited(state, former_through=former_through, now_s=now_s)

    def _keep_empty_closes(self, state: SiteState) -> None:
        """A pane closed empty has an update after all: the state that said so is replaced now,
        and that the close was in must not be forgotten with it."""
        for pane in self.scoreboard.reopened_by(state):
            part = SitePart(state.ordinal, state.incarnation, (), 0)
            self._keep(pane, Coverage(parts=(part,)), None)

    def _open_awaited(self, state: SiteState, *, former_through: int, now_s: float) -> None:
        """Where windows open with rows only: a sealed pane that is neither empty nor declined has
        rows, also when none of them has arrived."""
        if self.windows.has_begin and not self.query.ends:
            return
        first = max(self.windows.done_through, self.table.begin, former_through)
        last = state.sealed_through - 1
        for start, end in self.scoreboard.awaited_of(state, first=first, last=last):
            if end - start >= self._config.panes_max - len(self.scoreboard.boards):
                self._is_overfull = True
                text = f"site {state.ordinal} announces panes {start} to {end}"
                self._notice("too many panes", text)
                continue
            for pane in range(start, end + 1):
                self._open_windows(pane, now_s=now_s)

    def _hear_sums(self, *, now_s: float) -> None:
        if self.table.catching_up or not self.table.views:
            self._caught_up_s = None
        elif self._caught_up_s is None:
            self._caught_up_s = now_s
        sealed_through = self.table.sealed_through
        if sealed_through != self._sealed_through:
            self._sealed_through = sealed_through
            for window in self.windows.sealed_below(sealed_through):
                self.answers.mark(window.window)

    # Windows

    def _touch(self, board: PaneBoard, *, now_s: float) -> None:
        """Something on this board has changed: its windows and the acknowledgement know."""
        is_settled = self.scoreboard.is_settled(board)
        change = board.is_settled - is_settled
        board.is_settled = is_settled
        for number in self.windows.windows_of(board.pane):
            window = self.windows.windows.get(number)
            if window is not None:
                window.unsettled += change
                self.answers.mark(number)
        self._acks.note(board, expected=self.table.expected)
        self._release_if_harmless(board, now_s=now_s)

    def _open_for(self, summary: Summary, *, now_s: float) -> None:
        """A summary is news of its windows; where only rows make windows, one with rows is."""
        if self.windows.has_begin or summary.coverage.has_rows:
            self._open_windows(summary.pane, now_s=now_s)

    def _open_windows(self, pane: int, *, now_s: float) -> None:
        for window in list(self.windows.unopened_of(pane)):
            self._open_window(window, now_s=now_s)

    def _open_window(self, number: int, *, now_s: float) -> None:
        window = self.windows.open(number, now_s=now_s)
        for pane in self.windows.spec.panes_of(number):
            is_new = pane not in self.scoreboard.boards
            board = self.scoreboard.open(pane)
            window.unsettled += not board.is_settled
            if is_new and board.known:
                self._acks.note(board, expected=self.table.expected)
        restored = self._restored.pop(number, None)
        if restored is not None:
            self.answers.restore(window, restored)
        self.answers.mark(number)

    def _release_if_harmless(self, board: PaneBoard, *, now_s: float) -> None:
        if board.pane not in self.parking:
            return
        awaited = self.table.expected & ~board.settled
        if not awaited & ~self.parking.sites(board.pane):
            self._release(board.pane, now_s=now_s)

    def _release(self, pane: int, *, now_s: float) -> None:
        for spare in self.parking.take(pane):
            self._let_in(spare, now_s=now_s)

    def _retire(self, *, now_s: float) -> None:
        """Let go of the oldest windows that are over, and of their panes."""
        oldest = self.windows.oldest()
        while oldest is not None and self._is_over(oldest, now_s=now_s):
            self.windows.retire(oldest)
            self.answers.forget(oldest.window)
            oldest = self.windows.oldest()
        if self.windows.advance(sealed_through=self.table.sealed_through):
            done_through = self.windows.done_through
            self._outputs.append(Trim(self.id, done_through))
            self.scoreboard.drop_below(done_through)
            self.parking.drop_below(done_through)
            self._acks.drop_below(done_through)

    def _is_over(self, window: Window, *, now_s: float) -> bool:
        if window.is_asked:
            return False
        if window.is_final or self.windows.is_past_horizon(window, now_s=now_s):
            return True
        panes = self.windows.spec.panes_of(window.window)
        return (
            not self.windows.has_begin
            and not window.unsettled
            and panes.stop <= self.table.sealed_through
            and not any(self.scoreboard.open(pane).rows_number for pane in panes)
        )

    # Driving

    def tick(self, *, now_s: float) -> None:
        for number in self.windows.due_by_clock(now_s=now_s):
            self._open_window(number, now_s=now_s)
        for window in self.windows.overdue(now_s=now_s, caught_up_s=self._caught_up_s):
            window.is_overdue = True
            self.answers.mark(window.window)
        for spare in self.parking.take_due(now_s=now_s):
            self._let_in(spare, now_s=now_s)
        answer = self.answers.ask(kept_through=self.kept, now_s=now_s)
        if answer is not None:
            self._outputs.append(answer)
        self._retire(now_s=now_s)
        self._end()
        if now_s >= self._ack_s():
            done_through = self.windows.done_through
            ack = self._acks.cut(self.scoreboard, done_through=done_through, now_s=now_s)
            self._outputs.append(Acknowledge(ack))

    def answered(self, *, now_s: float, failed: str | None = None) -> None:
        """What became of the answer under way: published, or failed for this reason."""
        if self.answers.under_way is None:
            return
        if failed is not None:
            self.answers.failed(failed, now_s=now_s)
            self._notice("answer failed", failed)
            return
        for window in self.answers.published(now_s=now_s):
            for pane in self.windows.spec.panes_of(window.window):
                self._release(pane, now_s=now_s)
        self._retire(now_s=now_s)
        self._end()

    def _end(self) -> None:
        is_done = self.query.ends and self.table.all_ended and self._sealed_through == FOREVER
        if is_done and not (self.windows.windows or self.has_ended or self._is_overfull):
            self.has_ended = True
            self._outputs.append(Ended(self.id))

    def next_deadline_s(self) -> float:
        parked_s = self.parking.next_deadline_s()
        due_s = [
            self.windows.next_deadline_s(caught_up_s=self._caught_up_s),
            self.answers.next_deadline_s(),
            self._ack_s(),
        ]
        return min(due_s if parked_s is None else [*due_s, parked_s])

    def _ack_s(self) -> float:
        return self._acks.next_deadline_s(owes_greetings=self.table.owes_greetings)

    def take(self) -> list[Output]:
        outputs, self._outputs = self._outputs, []
        return outputs

    # For people

    def why(self, window: int) -> Explanation:
        return explain(self, window)

    def progress(self) -> RootProgress:
        return progress_of(self)

    def _notice(self, kind: str, text: str, *, count: int = 1) -> None:
        """Counted always, told at the first and then at every doubling."""
        before = self.counters[kind]
        self.counters[kind] += count
        if before.bit_length() != self.counters[kind].bit_length():
            told = f"{self.id}: {text} ({self.counters[kind]} so far)"
            self._outputs.append(Notice(kind, told))
