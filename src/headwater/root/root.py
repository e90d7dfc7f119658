"""The root of one query: it lets summaries in, answers windows, and tells the sites what it holds.

It is driven like every machine: ``receive`` and ``receive_states`` take what the overlay delivers,
``tick`` does what time makes due, ``answered`` tells what became of an answer, ``take`` gives the
outputs, in order. What it has let in is kept (``Keep``) before it is acknowledged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from headwater.algebra.summary import Merger, Summary
from headwater.algebra.words.alarm import Alarm
from headwater.algebra.words.site_state import FOREVER, SiteState
from headwater.plan.over_limit import OVER_LIMIT
from headwater.plan.query import Query
from headwater.plan.roster import Roster
from headwater.root.config import RootConfig
from headwater.root.intake import CarriersOf, Intake
from headwater.root.outputs import Acknowledge, Ended, KeptSummary, Output, Overdone, RootKept, Trim
from headwater.root.said.envelope import NONE_LEFT_OUT, LeftOut
from headwater.root.said.explain import Explanation, RootProgress
from headwater.root.said.view import explain, progress_of
from headwater.root.windows import NEVER_S, Window


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
        start: int = 0,
        ahead_s: float = 0.0,
        carriers_of: CarriersOf = lambda ordinal: (),
    ) -> None:
        """``start`` counts the starts of the ledger's agent; ``ahead_s`` is how far the wall clock
        is ahead of the steady one; ``carriers_of`` names the peers above a site, for alarms."""
        self.query = query
        self.id = str(query.id)
        self._make_intake = partial(
            Intake,
            query=query,
            roster=roster,
            config=config,
            merger=merger,
            start=start,
            carriers_of=carriers_of,
        )
        self._open(self._make_intake(incarnation=incarnation, ahead_s=ahead_s, now_s=now_s))
        self.has_ended = False
        self._over_limit_max = config.over_limit_max
        self._over_limit = 0
        """Answers in a row that went beyond their share."""

    def _open(self, intake: Intake) -> None:
        self._intake = intake
        self.table = intake.table
        self.scoreboard = intake.scoreboard
        self.windows = intake.windows
        self.parking = intake.parking
        self.answers = intake.answers
        self.alarms = intake.alarms

    def restore(self, kept: RootKept, *, now_s: float) -> None:
        """Take up where a former process ended, before anything else."""
        self._intake.restore(kept, now_s=now_s)

    def begin_anew(
        self, kept: RootKept, *, incarnation: int, lost: Sequence[KeptSummary], now_s: float
    ) -> None:
        """The ledger has lost some summaries: take up what it still has.

        As after a restart, but under a new incarnation: what sites know to be acknowledged is in
        doubt, and what the acknowledgements lack from now on they send again. Nothing may be under
        way: neither an answer, nor outputs that are not written yet.
        """
        assert self.answers.under_way is None, "an answer is under way"
        assert not self._intake.outputs, "what is let in is written first"
        counters, raised = self._intake.counters, self.alarms.raised
        ahead_s = self.windows.ahead_s
        self._open(self._make_intake(incarnation=incarnation, ahead_s=ahead_s, now_s=now_s))
        self._intake.counters, self.alarms.raised = counters, raised
        self._intake.restore(kept, now_s=now_s)
        known = {one.number for one in kept.lost}
        self._intake.await_again([one for one in lost if one.number not in known], now_s=now_s)

    def set_clock(self, ahead_s: float) -> None:
        """The wall clock is so far ahead of the steady one from now on."""
        self._intake.set_clock(ahead_s)

    def rise(self, incarnation: int) -> None:
        """Speak as this life of the ledger from now on; it is durable."""
        self._intake.acks.rise(incarnation)

    @property
    def incarnation(self) -> int:
        return self._intake.acks.incarnation

    def receive(self, summary: Summary, *, now_s: float) -> None:
        self._intake.receive(summary, now_s=now_s)

    def receive_states(self, states: Iterable[SiteState], *, now_s: float) -> None:
        self._intake.receive_states(states, now_s=now_s)

    def raise_alarm(self, alarm: Alarm, *, now_s: float) -> None:
        """Somebody has found that panes are not what they are said to be: their windows are not
        exact, those apart that are final, and people hear of it."""
        self._intake.raise_alarm(alarm, now_s=now_s)

    @property
    def kept(self) -> int:
        """The number of the newest kept summary."""
        return self._intake.kept

    @property
    def counters(self) -> Counter[str]:
        return self._intake.counters

    # The end of windows

    def _retire(self, *, now_s: float) -> None:
        """Let go of the oldest windows that are over, and of their panes."""
        oldest = self.windows.oldest()
        while oldest is not None and self._is_over(oldest, now_s=now_s):
            self.windows.retire(oldest)
            self.answers.forget(oldest.window)
            oldest = self.windows.oldest()
        if self.windows.advance(sealed_through=self.table.sealed_through):
            done_through = self.windows.done_through
            self._intake.outputs.append(Trim(self.id, done_through))
            wall_s = now_s + self.windows.ahead_s
            self.alarms.drop_old(done_through=done_through, wall_s=wall_s)
            self.scoreboard.drop_below(done_through)
            self.parking.drop_below(done_through)
            self._intake.agreements.drop_below(done_through)
            self._intake.replacing.drop_below(done_through)
            self._intake.acks.drop_below(done_through)

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

    def tick(self, *, now_s: float, late_s: float = 0.0, awake_share: float = 1.0) -> None:
        """``late_s``: how late this agent was lately, and ``awake_share`` how much of its time it
        was not: acknowledgements ask for less, and not for what may lie here unheard."""
        self._intake.follow_clocks(now_s=now_s)
        for number in self.windows.due_by_clock(now_s=now_s):
            self._intake.open_window(number, now_s=now_s)
        for window in self.windows.overdue(now_s=now_s, caught_up_s=self._intake.caught_up_s):
            window.is_overdue = True
            self.answers.mark(window.window)
        for spare in self.parking.take_due(now_s=now_s):
            self._intake.let_in(spare, now_s=now_s)
        self._intake.replace(now_s=now_s)
        self._intake.compare(now_s=now_s)
        answer = self.answers.ask(kept_through=self.kept, now_s=now_s)
        if answer is not None:
            self._intake.outputs.append(answer)
        self._retire(now_s=now_s)
        self._end()
        if now_s >= self._ack_s():
            intake, done_through = self._intake, self.windows.done_through
            asked = intake.agreements.asked(
                number=intake.acks.next_number, done_through=done_through, now_s=now_s
            )
            ack = intake.acks.cut(
                self.scoreboard,
                done_through=done_through,
                agreed=intake.agreements.take_told(),
                asked=asked,
                wanted=intake.replacing.wanted(number=intake.acks.next_number, now_s=now_s),
                sites_clock_s=self._intake.sites_clock_s(now_s),
                late_s=late_s,
                awake_share=awake_share,
                now_s=now_s,
            )
            self._intake.outputs.append(Acknowledge(ack))

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
            self._intake.notice("answer failed", failed)
            self._count_over_limit(failed)
            return
        self._over_limit = 0
        for window in self.answers.published(now_s=now_s, left_out=left_out):
            self._note_left_out(window, left_out.get(window.window))
            for pane in self.windows.spec.panes_of(window.window):
                self._intake.release(pane, now_s=now_s)
        self._retire(now_s=now_s)
        self._end()

    def _count_over_limit(self, failed: str) -> None:
        """What fails for another reason is tried for ever: Spark may be away, a disk full."""
        self._over_limit = self._over_limit + 1 if failed.startswith(OVER_LIMIT) else 0
        if self._over_limit >= self._over_limit_max:
            self._intake.outputs.append(Overdone(self.id, failed))

    def _note_left_out(self, window: Window, left_out: LeftOut | None) -> None:
        if left_out is not None:
            text = f"window {window.window}: {left_out.text()}"
            self._intake.notice("group left out", text, count=left_out.count)

    def _end(self) -> None:
        intake = self._intake
        is_over = self.table.all_ended and intake.sealed_through == FOREVER
        is_open = self.windows.windows or intake.is_overfull
        if self.query.ends and is_over and not (is_open or self.has_ended):
            self.has_ended = True
            self._intake.outputs.append(Ended(self.id))

    def next_deadline_s(self) -> float:
        if self._intake.agreements.is_due:
            return NEVER_S
        parked_s = self.parking.next_deadline_s()
        due_s = [
            self.windows.next_deadline_s(caught_up_s=self._intake.caught_up_s),
            self.answers.next_deadline_s(),
            self._ack_s(),
        ]
        return min(due_s if parked_s is None else [*due_s, parked_s])

    def _ack_s(self) -> float:
        intake = self._intake
        owes = self.table.owes_greetings or intake.agreements.has_news or bool(intake.replacing)
        return intake.acks.next_deadline_s(owes_greetings=owes)

    def take(self) -> list[Output]:
        outputs, self._intake.outputs = self._intake.outputs, []
        return outputs

    # For people

    def why(self, window: int) -> Explanation:
        return explain(self, window)

    def progress(self) -> RootProgress:
        return progress_of(self)
