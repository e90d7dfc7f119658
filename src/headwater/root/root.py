"""The root of one query: it lets summaries in, answers windows, and tells the sites what it holds.

It is driven like every machine: ``receive`` and ``receive_states`` take what the overlay delivers,
``tick`` does what time makes due, ``answered`` tells what became of an answer, ``take`` gives the
outputs, in order. What it has let in is kept (``Keep``) before it is acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headwater.algebra.far_times import DUE_NOW_S
from headwater.algebra.sets import bitset
from headwater.algebra.summary import Summary
from headwater.algebra.words.absence import Absence
from headwater.algebra.words.alarm import Alarm
from headwater.algebra.words.site_state import FOREVER, SiteState
from headwater.plan.altered.settings_book import SettingsBook
from headwater.plan.over_limit import OVER_LIMIT
from headwater.root.books import Books
from headwater.root.carriers.disputes import Disputes
from headwater.root.carriers.raise_alarm import raise_alarm
from headwater.root.intake import Intake
from headwater.root.outputs import (
    Acknowledge,
    Ended,
    KeepShares,
    KeptSummary,
    Output,
    Overdone,
    RootKept,
)
from headwater.root.restore import await_again, restore
from headwater.root.said.envelope import NONE_LEFT_OUT, LeftOut
from headwater.root.said.explain import Explanation, RootProgress
from headwater.root.said.level_join import LevelJoin
from headwater.root.said.top_book import TopBook
from headwater.root.said.view import explain, progress_of
from headwater.root.windows import Window


class Root:
    """Windows that are over when its books are made are history: see ``WindowBook``."""

    def __init__(self, books: Books) -> None:
        self.query = books.query
        self.id = books.id
        self._settings: SettingsBook | None = None
        self._followers: list[Root] = []
        self._finer: list[Root] = []
        self._open(books)
        self.has_ended = False
        self._over_limit = 0
        """Answers in a row that went beyond their share."""

    def _open(self, books: Books) -> None:
        self.books = books
        self.table = books.table
        self.scoreboard = books.scoreboard
        self.windows = books.windows
        self.parking = books.parking
        self.answers = books.answers
        self.alarms = books.alarms
        self.counters = books.counters
        self.intake = Intake(books)
        self.disputes = Disputes(books, self.intake)
        if self._settings is not None:
            books.alter(self._settings)
        self._join()

    def stand_beside(self, *, followers: list[Root], finer: list[Root]) -> None:
        """The roots of its levels, and of those that it is a level of, as they are here now."""
        self._followers, self._finer = followers, finer
        self._join()

    def _join(self) -> None:
        """Books are made anew now and then, so who looks into others' asks for them each time."""
        self.books.answers.join = None
        if self.query.stands_for is not None:
            self.books.answers.join = LevelJoin(self.books, lambda: [r.books for r in self._finer])
        self.books.followers = lambda: [
            join for one in self._followers if (join := one.books.answers.join) is not None
        ]

    def alter(self, settings: SettingsBook) -> None:
        """By which windows are answered from now on, those that are open among them."""
        self._settings = settings
        self.books.alter(settings)

    def restore(self, kept: RootKept, *, now_s: float) -> None:
        """Take up where a former process ended, before anything else."""
        restore(self.books, kept, now_s=now_s)

    def begin_anew(
        self, kept: RootKept, *, incarnation: int, lost: Sequence[KeptSummary], now_s: float
    ) -> None:
        """The ledger has lost some summaries: take up what it still has.

        As after a restart, but under a new incarnation: what sites know to be acknowledged is in
        doubt, and what the acknowledgements lack from now on they send again. Nothing may be under
        way: neither an answer, nor outputs that are not written yet.
        """
        assert self.answers.under_way is None, "an answer is under way"
        assert not self.books.outputs, "what is let in is written first"
        counters, raised = self.counters, self.alarms.raised
        ahead_s = self.windows.ahead_s
        self._open(self.books.anew(incarnation=incarnation, ahead_s=ahead_s, now_s=now_s))
        self.counters.update(counters)
        self.alarms.raised = raised
        restore(self.books, kept, now_s=now_s)
        known = {one.number for one in kept.lost}
        await_again(self.books, [one for one in lost if one.number not in known])

    def set_clock(self, ahead_s: float) -> None:
        """The wall clock is so far ahead of the steady one from now on."""
        self.books.clocks.set_clock(ahead_s)

    def rise(self, incarnation: int) -> None:
        """Speak as this life of the ledger from now on; it is durable."""
        self.books.acks.rise(incarnation)

    @property
    def incarnation(self) -> int:
        return self.books.acks.incarnation

    def receive(self, summary: Summary, *, now_s: float) -> None:
        if not self.intake.is_possible(summary):
            return
        self.books.catching_up.hear(summary.coverage.sites, now_s=now_s)
        if self.books.absences.is_told:
            self.books.absences.heard(summary.coverage.sites, now_s=now_s)
        self.books.note_age(summary)
        for one in summary.by_pane():
            if self.intake.is_wanted(one.pane) and not self.disputes.take(one, now_s=now_s):
                self.intake.receive(one, now_s=now_s)
        self.disputes.compare(now_s=now_s)

    def receive_absence(self, absence: Absence, *, now_s: float) -> None:
        """What a peer says of its links."""
        self.books.absences.hear(absence, now_s=now_s)

    def receive_states(self, states: Iterable[SiteState], *, now_s: float) -> None:
        states = tuple(states)
        if self.books.absences.is_told:
            self.books.absences.heard(bitset.of(one.ordinal for one in states), now_s=now_s)
        self.intake.receive_states(states, now_s=now_s)
        self.disputes.compare(now_s=now_s)
        self.books.sum_up()

    def raise_alarm(self, alarm: Alarm, *, now_s: float) -> None:
        """Somebody has found that panes are not what they are said to be: their windows are not
        exact, those apart that are final, and people hear of it."""
        raise_alarm(self.books, alarm, now_s=now_s)

    @property
    def travel_s(self) -> float | None:
        """How old live summaries are when they arrive, all but few of them; None: not known yet."""
        return self.books.ages.usual_s

    @property
    def kept(self) -> int:
        """The number of the newest kept summary."""
        return self.books.kept

    # The end of windows

    def _retire(self, *, now_s: float) -> None:
        """Let go of the oldest windows that are over, and of their panes."""
        oldest = self.windows.oldest()
        while oldest is not None and self._is_over(oldest, now_s=now_s):
            self.windows.retire(oldest)
            self.answers.forget(oldest.window)
            oldest = self.windows.oldest()
        self.books.trim(now_s=now_s)

    def _is_over(self, window: Window, *, now_s: float) -> bool:
        if window.is_asked:
            return False
        if window.is_final or self.windows.is_past_horizon(window, now_s=now_s):
            return True
        panes = self.windows.spec.panes_of(window.window)
        join = self.answers.join
        if join is not None and panes.stop <= self.table.sealed_through:
            return not (window.revision or join.is_any(window.window))
        return (
            not self.windows.has_begin
            and not window.unsettled
            and panes.stop <= self.table.sealed_through
            and not any(self.scoreboard.open(pane).rows_number for pane in panes)
        )

    # Driving

    def tick(self, *, now_s: float, late_s: float = 0.0, awake_share: float = 1.0) -> None:
        """``late_s``: how late this agent was lately, and ``awake_share`` how much of its time it
        was not: acknowledgements ask for less, and not for what may lie here unheard."""
        self.books.clocks.follow_at_times(now_s=now_s)
        if self.books.absences.is_told:
            self.books.absences.follow(now_s=now_s)
        for number in self.windows.due_by_clock(now_s=now_s):
            self.books.open_window(number, now_s=now_s)
        self.windows.passed(self.books.catching_up.follow(now_s=now_s), now_s=now_s)
        for window in self.windows.overdue(now_s=now_s):
            window.is_overdue = True
            self.answers.mark(window.window)
        if self.books.absences.has_news:
            self.books.absences.has_news = False
            self.books.mark_awaited()
        for spare in self.parking.take_due(now_s=now_s):
            self.intake.let_in(spare, now_s=now_s)
        self.disputes.replace(now_s=now_s)
        self.disputes.compare(now_s=now_s)
        self._follow_pause()
        answer = self.answers.ask(kept_through=self.kept, now_s=now_s)
        if answer is not None:
            self.books.outputs.append(answer)
        self._retire(now_s=now_s)
        if self.query.ends:
            self._end()
        if self.books.tops is not None:
            self._look_for_largest(self.books.tops, now_s=now_s)
        if now_s >= self._ack_s():
            self._acknowledge(late_s=late_s, awake_share=awake_share, now_s=now_s)

    def _follow_pause(self) -> None:
        """Where what waits here becomes too much, or is no longer, the sites hear of it soon."""
        pausing = self.books.pausing
        was_on = pausing.is_on
        if pausing.follow() != was_on:
            self.books.acks.tell_soon()
            if pausing.is_on:
                text = f"{pausing.bytes} bytes wait for answers: sites are asked to wait"
                self.books.notice("paused", text)

    def _look_for_largest(self, tops: TopBook, *, now_s: float) -> None:
        """Ask for more of the panes where that can help."""
        for pane in tops.follow(number=self.books.acks.next_number, now_s=now_s):
            self.books.acks.tell_soon()
            for window in self.windows.windows_of(pane):
                self.answers.mark(window)

    def _acknowledge(self, *, late_s: float, awake_share: float, now_s: float) -> None:
        books, done_through = self.books, self.windows.done_through
        number = books.acks.next_number
        if books.shares.follow(now_s=now_s):
            books.outputs.append(KeepShares(self.id, books.shares.tables))
        ack = books.acks.make(
            self.scoreboard,
            done_through=done_through,
            awaited_from=books.catching_up.awaited_from,
            asked=books.agreements.asked(number=number, done_through=done_through, now_s=now_s),
            agreed=books.agreements.take_told(),
            wanted=books.replacing.wanted(number=number, now_s=now_s),
            shares=books.shares.tables,
            travel_s=books.ages.usual_s if books.sends_early else None,
            unwanted=books.answers.unwanted,
            largest=books.tops.requests(now_s=now_s) if books.tops is not None else (),
            pause=books.pausing.said(),
            exempt_through=self._exempt_through(),
            sites_clock_s=books.clocks.shown_s(now_s),
            late_s=late_s,
            awake_share=awake_share,
            now_s=now_s,
        )
        books.outputs.append(Acknowledge(ack))

    def _exempt_through(self) -> int:
        """Told where anybody holds something back, for whomever."""
        pausing, views = self.books.pausing, self.table.views.values()
        is_told = pausing.is_on or any(one.state.paused_from is not None for one in views)
        return pausing.exempt_through() if is_told else FOREVER

    def answered(
        self,
        *,
        now_s: float,
        failed: str | None = None,
        left_out: Mapping[int, LeftOut] = NONE_LEFT_OUT,
    ) -> None:
        """What became of the answer under way: published, lacking these groups of these windows,
        or failed for this reason."""
        if self.answers.under_way is None:
            return
        if failed is not None:
            self.answers.failed(failed, now_s=now_s)
            self.books.notice("answer failed", failed)
            self._count_over_limit(failed)
            return
        self._over_limit = 0
        for window in self.answers.published(now_s=now_s, left_out=left_out):
            if window.window in left_out:
                self._note_left_out(window, left_out[window.window])
            self._note_reached(window)
            if window.is_final and self.table.takes_enough:
                self.books.acks.tell_soon()
            panes = self.windows.spec.panes_of(window.window)
            self.books.pausing.answered(panes)
            for pane in panes:
                self.intake.release(pane, now_s=now_s)
        self._retire(now_s=now_s)
        if self.query.ends:
            self._end()

    def _count_over_limit(self, failed: str) -> None:
        """What fails for another reason is tried for ever: Spark may be away, a disk full."""
        self._over_limit = self._over_limit + 1 if failed.startswith(OVER_LIMIT) else 0
        if self._over_limit >= self.books.config.over_limit_max:
            self.books.outputs.append(Overdone(self.id, failed))

    def _note_left_out(self, window: Window, left_out: LeftOut) -> None:
        text = f"window {window.window}: {left_out.text()}"
        self.books.notice("group left out", text, count=left_out.count)

    def _note_reached(self, window: Window) -> None:
        """Its first answer is out: a demand that it misses is never lost without a trace."""
        if window.revision == 1 and not window.reached.is_met and not self.query.ends:
            text = f"window {window.window}: {'; '.join(window.reached.lines())}"
            self.books.notice("below demand", text)

    def _end(self) -> None:
        is_over = self.table.all_ended and self.books.sealed_through == FOREVER
        is_open = self.windows.windows or self.books.is_overfull
        if is_over and not (is_open or self.has_ended):
            self.has_ended = True
            self.books.outputs.append(Ended(self.id))

    def next_deadline_s(self) -> float:
        if self.books.agreements.is_due or self.books.absences.has_news:
            return DUE_NOW_S
        parked_s = self.parking.next_deadline_s()
        due_s = [
            self.windows.next_deadline_s(),
            self.books.catching_up.next_deadline_s(),
            self.answers.next_deadline_s(),
            self._ack_s(),
        ]
        return min(due_s if parked_s is None else [*due_s, parked_s])

    def _ack_s(self) -> float:
        books = self.books
        owes = self.table.owes_greetings or books.agreements.has_news or bool(books.replacing)
        owes = owes or bool(books.tops) or books.pausing.is_on
        return books.acks.next_deadline_s(owes_greetings=owes)

    def take(self) -> list[Output]:
        outputs, self.books.outputs = self.books.outputs, []
        return outputs

    # For people

    def why(self, window: int) -> Explanation:
        return explain(self, window)

    def progress(self) -> RootProgress:
        return progress_of(self)
