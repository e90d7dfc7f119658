"""What a root lets in: summaries and states, into its books.

A summary is judged by what is held of its pane: it is kept, or parked while it could do harm, or
refused. A state is kept before anything that follows from it is said.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from headwater.algebra.coverage import Coverage, SitePart
from headwater.algebra.incarnation import INCARNATION_MAX
from headwater.algebra.summary import STATE_PANES_MAX, Lane, Summary
from headwater.algebra.words.site_state import FOREVER, SiteState
from headwater.root.books import Books
from headwater.root.carriers.raise_alarm import raise_alarm
from headwater.root.outputs import KeepState, Outdated
from headwater.root.pane_board import PaneBoard
from headwater.root.scoreboard import Verdict

HIGHER_LIVES_MAX = 3
"""Of this root, that one site is believed to have heard of, in one life of the process."""


class Intake:
    """Everything that changes a board goes through ``touch``."""

    def __init__(self, books: Books) -> None:
        self._books = books
        self.table = books.table
        self.scoreboard = books.scoreboard
        self.windows = books.windows
        self.parking = books.parking
        self.agreements = books.agreements
        self.counters = books.counters
        self._higher_lives: dict[int, set[int]] = {}
        """By site, the lives of this root above its own that it was believed to have heard of."""

    # Summaries

    def is_possible(self, summary: Summary) -> bool:
        """A summary of several panes is taken as that many: each is judged by what is held of it,
        and kept, parked or refused by itself. How many they are is looked at before."""
        is_joint = self._books.query.holds_states and 0 < summary.more < STATE_PANES_MAX
        if summary.more and not is_joint:
            text = f"pane {summary.pane}: a summary of too many panes"
            self._books.notice(Verdict.STRANGER, text)
        return is_joint or not summary.more

    def is_wanted(self, pane: int) -> bool:
        if pane < max(self.windows.done_through, self.table.begin):
            self.counters["not wanted"] += 1
            return False
        boards = self.scoreboard.boards
        if pane not in boards and len(boards) >= self._books.config.panes_max:
            text = f"pane {pane}: the root holds {len(boards)} already"
            self._books.notice("too many panes", text)
            return False
        return True

    def receive(self, summary: Summary, *, now_s: float) -> None:
        """Of one pane, that is wanted."""
        is_spare = summary.lane is Lane.SPARE and summary.coverage.has_rows
        if not is_spare or self._is_answered(summary.pane):
            self.let_in(summary, now_s=now_s)
            return
        verdict = self.scoreboard.judge(summary.pane, summary.coverage)
        if verdict in (Verdict.CONTAINED, Verdict.STRANGER):
            self._refuse(summary, verdict, now_s=now_s)
            return
        self._books.open_for(summary, now_s=now_s)
        self.counters["parked"] += 1
        gone = self.parking.park(summary, now_s=now_s)
        if gone:
            text = f"{len(gone)} spares are let in before their time"
            self._books.notice("parking is full", text, count=len(gone))
        for spare in gone:
            self.let_in(spare, now_s=now_s)
        self._release_if_harmless(self.scoreboard.open(summary.pane), now_s=now_s)

    def _is_answered(self, pane: int) -> bool:
        """Whether a spare of it can be used at once."""
        windows = self.windows.windows_of(pane)
        known = (self.windows.windows.get(window) for window in windows)
        return not windows or any(window is not None and window.revision for window in known)

    def let_in(self, summary: Summary, *, now_s: float) -> None:
        verdict = self.scoreboard.judge(summary.pane, summary.coverage)
        if verdict is Verdict.ACCEPTED:
            self._books.keep(summary.pane, summary.coverage, summary.rows)
        elif verdict is Verdict.CLOSES:
            closes = self.scoreboard.closes_of(summary.pane, summary.coverage)
            self._books.keep(summary.pane, closes, None)
        else:
            self._refuse(summary, verdict, now_s=now_s)
            return
        self.counters[verdict] += 1
        self.agreements.held_changed(
            summary.pane, summary.coverage, number=self._books.kept, now_s=now_s
        )
        self._books.open_for(summary, now_s=now_s)
        if summary.coverage.has_close:
            self._books.hear_close(summary.pane, now_s=now_s)
        self.touch(self.scoreboard.open(summary.pane), now_s=now_s)

    def _refuse(self, summary: Summary, verdict: Verdict, *, now_s: float) -> None:
        if verdict is Verdict.AFTER_FINAL and self.table.takes_enough:
            self.counters["not wanted"] += 1  # sites send until they hear of it
            return
        if verdict in (Verdict.STRANGER, Verdict.AFTER_FINAL, Verdict.NOT_DRAWN):
            self._books.notice(verdict, f"pane {summary.pane}: a summary was refused ({verdict})")
            return
        self.counters[verdict] += 1
        if verdict is not Verdict.CONTAINED:
            self._books.open_for(summary, now_s=now_s)

    def touch(self, board: PaneBoard, *, now_s: float) -> None:
        """Something on this board has changed; spares that wait for its pane may do no harm now."""
        self._books.note(board)
        self._release_if_harmless(board, now_s=now_s)

    def _release_if_harmless(self, board: PaneBoard, *, now_s: float) -> None:
        if board.pane not in self.parking:
            return
        awaited = self.table.expected & ~board.settled
        if not awaited & ~self.parking.sites(board.pane):
            self.release(board.pane, now_s=now_s)

    def release(self, pane: int, *, now_s: float) -> None:
        for spare in self.parking.take(pane):
            self.let_in(spare, now_s=now_s)

    # States

    def receive_states(self, states: Iterable[SiteState], *, now_s: float) -> None:
        for state in states:
            if not self.table.expected >> state.ordinal & 1:
                text = f"a state of site {state.ordinal}, which is not expected"
                self._books.notice("stranger", text)
                continue
            if self._books.acks.incarnation < state.root_incarnation <= INCARNATION_MAX:
                self._hear_of_higher_life(state)
            if self.table.is_news(state):
                self._hear(state, now_s=now_s)
                self._books.catching_up.hear(1 << state.ordinal, now_s=now_s)
                continue
            self._books.catching_up.hear(1 << state.ordinal, now_s=now_s)
            self._books.clocks.hear(state, now_s=now_s)
            self.table.greet(state.ordinal)
            if state.incarnation != self.table.present(state.ordinal):
                name = self.table.names[state.ordinal]
                text = f"{name} speaks as an earlier incarnation than the one known here"
                self._books.notice("earlier incarnation", text)
            else:
                self.agreements.tell_again(state.ordinal)

    def _hear_of_higher_life(self, state: SiteState) -> None:
        """A ledger was lost, and what a site hears of this life is lower than what it tells; two
        words of former ones may have been under way. Rising makes all sites compare all that they
        have, so nobody is believed again and again."""
        told = self._higher_lives.setdefault(state.ordinal, set())
        if state.root_incarnation in told or len(told) < HIGHER_LIVES_MAX:
            told.add(state.root_incarnation)
            self._books.outputs.append(Outdated(state.root_incarnation))
        else:
            name = self.table.names[state.ordinal]
            self._books.notice("higher life", f"{name} tells again of a life above this root's own")

    def _hear(self, state: SiteState, *, now_s: float) -> None:
        former = self.table.views.get(state.ordinal)
        told = former.state.alarms if former is not None else ()
        for alarm in state.alarms:
            if alarm not in told:  # it is told until it is greeted
                raise_alarm(self._books, alarm, now_s=now_s)
        if former is not None and former.state.incarnation == state.incarnation:
            self._keep_empty_closes(state)
        boards = self.scoreboard.hear(state, since=self._books.kept + 1)
        self._books.clocks.hear(state, now_s=now_s)
        since = self.table.views[state.ordinal].since
        self._books.outputs.append(KeepState(self._books.id, state, since))
        self.agreements.hear(state, now_s=now_s)
        self._books.replacing.hear(state)
        if former is None or not _tells_digests_alone(former.state, state):
            self.table.greet(state.ordinal)
        for board in boards:
            self.touch(board, now_s=now_s)
        if former is not None and _goes_by(former.state) != _goes_by(state):
            self._books.mark_all()  # what was kept back is stated by the weakest bound
        is_same = former is not None and former.state.incarnation == state.incarnation
        former_through = former.state.sealed_through if former and is_same else -FOREVER
        self._books.hear_state(state, now_s=now_s)
        self._books.open_awaited(state, former_through=former_through, now_s=now_s)

    def _keep_empty_closes(self, state: SiteState) -> None:
        """A pane closed empty has an update after all: the state that said so is replaced now,
        and that the close was in must not be forgotten with it."""
        for pane in self.scoreboard.reopened_by(state):
            part = SitePart(
                ordinal=state.ordinal, incarnation=state.incarnation, updates=(), closed_at=0
            )
            self._books.keep(pane, Coverage(parts=(part,)), None)


def _tells_digests_alone(former: SiteState, state: SiteState) -> bool:
    """Whether nothing else is new in it. That the root agrees to a digest says by itself that it
    has heard the state, so such a one needs no greeting: all sites hear all greetings."""
    return bool(state.digests) and _without_digests(former) == _without_digests(state)


def _goes_by(state: SiteState) -> object:
    """What answers state of how a site has made its panes."""
    return state.settings, state.degraded


def _without_digests(state: SiteState) -> SiteState:
    return msgspec.structs.replace(state, number=0, digests=(), offset_s=None, proof=None)
