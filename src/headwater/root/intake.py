"""What a root lets in: summaries and states, into the scoreboard, the windows and the parking.

Everything that changes a board goes through ``touch``, which tells the windows of the pane and the
acknowledgement. Everything that is let in is kept first, under a number that rises.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec

from headwater.algebra.coverage import Coverage, SitePart
from headwater.algebra.incarnation import INCARNATION_MAX
from headwater.algebra.summary import STATE_PANES_MAX, Lane, Merger, Summary
from headwater.algebra.words.alarm import Alarm, AlarmKind
from headwater.algebra.words.site_state import FOREVER, SiteState
from headwater.plan.query import Query, TimeKind
from headwater.plan.roster import Roster
from headwater.root.answers import Answers
from headwater.root.carriers.agreements import Agreements
from headwater.root.carriers.alarm_book import AlarmBook
from headwater.root.carriers.replacing import Piece, Replacing
from headwater.root.config import RootConfig
from headwater.root.outputs import (
    Keep,
    KeepAgreement,
    KeepAlarm,
    KeepState,
    KeptSummary,
    Notice,
    Outdated,
    Output,
    Replace,
    RootKept,
    WindowAnswered,
)
from headwater.root.pane_board import PaneBoard
from headwater.root.parking import Parking
from headwater.root.restore import newest_states, replay
from headwater.root.said.ack_cutter import AckCutter
from headwater.root.scoreboard import Scoreboard, Verdict
from headwater.root.site_table import SiteTable
from headwater.root.windows import WindowBook

FOLLOW_CLOCKS_EVERY_S = 0.5
"""How often the median of the sites' clocks is taken."""
CarriersOf = Callable[[int], Sequence[str]]
"""By ordinal: the peers above a site on any of the query's trees, the root apart."""
HIGHER_LIVES_MAX = 3
"""Of this root, that one site is believed to have heard of, in one life of the process."""
MAJORITY_SITES_MIN = 3
"""Of fewer sites none is outvoted by the others."""


class Intake:
    """The books of one query at its root. ``Root`` drives it and decides when to answer."""

    def __init__(
        self,
        *,
        query: Query,
        roster: Roster,
        config: RootConfig,
        merger: Merger,
        incarnation: int,
        start: int,
        ahead_s: float,
        carriers_of: CarriersOf,
        now_s: float,
    ) -> None:
        self.query = query
        self.id = str(query.id)
        self.table = SiteTable(query, roster)
        self.scoreboard = Scoreboard(self.table)
        self.agreements = Agreements(self.scoreboard, config)
        self.replacing = Replacing(self.scoreboard, config, merger)
        self.windows = WindowBook(query, config, now_s=now_s)
        self._goes_by_site_clocks = query.time is TimeKind.EVENT
        self._followed_s = float("-inf")
        self._awaits_clocks_until_s = now_s + config.clock_settle_s
        self._is_restored = False
        self.windows.ahead_s = ahead_s
        self.parking = Parking(config, merger)
        self.alarms = AlarmBook(self.id, alarms_max=config.alarms_max)
        self._carriers_of = carriers_of
        self.answers = Answers(
            query, config, self.scoreboard, self.windows, self.alarms, roster_version=roster.version
        )
        self.acks = AckCutter(self.id, incarnation, config, start=start)
        self._higher_lives: dict[int, set[int]] = {}
        """By site, the lives of this root above its own that it was believed to have heard of."""
        self.kept = 0
        """The number of the newest kept summary."""
        self.caught_up_s: float | None = None
        """Since when no site that has spoken is behind; None: one is, or nobody has spoken."""
        self.sealed_through = self.table.sealed_through
        self.is_overfull = False
        """A site announced more panes than are held here: not all windows are known."""
        self.counters: Counter[str] = Counter()
        self.outputs: list[Output] = []
        self._config = config
        self._restored: dict[int, WindowAnswered] = {}
        self._follow_clocks(now_s=now_s)

    def restore(self, kept: RootKept, *, now_s: float) -> None:
        """Take up where a former process ended, before anything else."""
        self.table.is_restoring = True
        self.alarms.restore(kept.alarms)
        self.kept = replay(self.scoreboard, kept)
        self._restored = {one.window: one for one in kept.answers}
        if kept.done_through is not None:
            self.windows.resume(kept.done_through)
            self.scoreboard.drop_below(kept.done_through)
        if kept.states or kept.answers:
            self._is_restored = True
            self.windows.doubt_clocks(now_s=now_s)
        for one in newest_states(kept):
            self.scoreboard.hear(one.state, since=one.since)
            self.table.greet(one.state.ordinal)
        self._restore_agreements(kept, now_s=now_s)
        self.table.is_restoring = False
        self._follow_clocks(now_s=now_s)
        for window in sorted(self._restored):
            if self.windows.spec.panes_of(window).start >= self.windows.done_through:
                self.open_window(window, now_s=now_s)
        for board in list(self.scoreboard.boards.values()):
            if board.rows_number:
                self._open_windows(board.pane, now_s=now_s)
            self.touch(board, now_s=now_s)
        for window in self.windows.windows:
            self.answers.mark(window)
        for one in newest_states(kept):
            self._open_awaited(one.state, former_through=-FOREVER, now_s=now_s)
        self._hear_sums(now_s=now_s)
        self.await_again(kept.lost, now_s=now_s)

    def _restore_agreements(self, kept: RootKept, *, now_s: float) -> None:
        for summary in kept.summaries:
            piece = Piece(summary.number, summary.coverage, summary.has_rows)
            self.replacing.pieces.add(summary.pane, piece)
        for one in newest_states(kept):
            agreed, disputed = one.agreed_through, one.disputed
            self.agreements.restore(one.state, agreed, disputed, now_s=now_s)
            self.agreements.hear(one.state, now_s=now_s)
        self.agreements.disputed_now.clear()  # the alarms of these stand in the book
        sure = {one.state.ordinal: one.sure_number for one in newest_states(kept)}
        for summary in kept.summaries:
            self.agreements.restore_doubts(
                summary.pane, summary.coverage, number=summary.number, sure=sure, now_s=now_s
            )

    def await_again(self, lost: Sequence[KeptSummary], *, now_s: float) -> None:
        """These were held and are gone: they are let in again, also where a window that has the
        pane is final, and windows are not revised to less than they had."""
        wanted = [one for one in lost if self._is_lacking(one)]
        for one in wanted:
            board = self.scoreboard.owe(one.pane, one.coverage)
            board.is_frozen = False
            self.answers.mend(one)
            self.touch(board, now_s=now_s)
        if wanted:
            panes = sorted({one.pane for one in wanted})
            text = f"panes {panes[:8]} are asked for again"
            self.notice("ledger damaged", text, count=len(panes))

    def _is_lacking(self, lost: KeptSummary) -> bool:
        """Whether it is still of use, and has not come again."""
        is_held = self.scoreboard.judge(lost.pane, lost.coverage) is Verdict.CONTAINED
        return lost.pane >= self.windows.done_through and not is_held

    # What the overlay delivers

    def receive(self, summary: Summary, *, now_s: float) -> None:
        """A summary of several panes is taken as that many: each is judged by what is held of it,
        and kept, parked or refused by itself. How many they are is looked at before."""
        if summary.more and not (self.query.holds_states and 0 < summary.more < STATE_PANES_MAX):
            self.notice(Verdict.STRANGER, f"pane {summary.pane}: a summary of too many panes")
            return
        for one in summary.by_pane():
            self._receive(one, now_s=now_s)
        self.compare(now_s=now_s)

    def _receive(self, summary: Summary, *, now_s: float) -> None:
        if not self._is_wanted(summary.pane) or self._is_own_word(summary, now_s=now_s):
            return
        if summary.lane is not Lane.SPARE or self._is_answered(summary.pane):
            self.let_in(summary, now_s=now_s)
            return
        verdict = self.scoreboard.judge(summary.pane, summary.coverage)
        if verdict in (Verdict.CONTAINED, Verdict.STRANGER):
            self._refuse(summary, verdict, now_s=now_s)
            return
        self._open_for(summary, now_s=now_s)
        self.counters["parked"] += 1
        dropped = self.parking.park(summary, now_s=now_s)
        if dropped:
            self.notice("parking is full", f"{dropped} spares gave way", count=dropped)
        self._release_if_harmless(self.scoreboard.open(summary.pane), now_s=now_s)

    def receive_states(self, states: Iterable[SiteState], *, now_s: float) -> None:
        for state in states:
            if not self.table.expected >> state.ordinal & 1:
                self.notice("stranger", f"a state of site {state.ordinal}, which is not expected")
                continue
            if self.acks.incarnation < state.root_incarnation <= INCARNATION_MAX:
                self._hear_of_higher_life(state)
            if self.table.is_news(state):
                self._hear(state, now_s=now_s)
                continue
            self._hear_clock(state, now_s=now_s)
            self.table.greet(state.ordinal)
            if state.incarnation != self.table.present(state.ordinal):
                name = self.table.names[state.ordinal]
                text = f"{name} speaks as an earlier incarnation than the one known here"
                self.notice("earlier incarnation", text)
            else:
                self.agreements.tell_again(state.ordinal)
        self.compare(now_s=now_s)
        self._hear_sums(now_s=now_s)

    def _hear_of_higher_life(self, state: SiteState) -> None:
        """A ledger was lost, and what a site hears of this life is lower than what it tells; two
        words of former ones may have been under way. Rising makes all sites compare all that they
        have, so nobody is believed again and again."""
        told = self._higher_lives.setdefault(state.ordinal, set())
        if state.root_incarnation in told or len(told) < HIGHER_LIVES_MAX:
            told.add(state.root_incarnation)
            self.outputs.append(Outdated(state.root_incarnation))
        else:
            name = self.table.names[state.ordinal]
            self.notice("higher life", f"{name} tells again of a life above this root's own")

    def _is_wanted(self, pane: int) -> bool:
        if pane < max(self.windows.done_through, self.table.begin):
            self.counters["not wanted"] += 1
            return False
        boards = self.scoreboard.boards
        if pane not in boards and len(boards) >= self._config.panes_max:
            self.notice("too many panes", f"pane {pane}: the root holds {len(boards)} already")
            return False
        return True

    def _is_answered(self, pane: int) -> bool:
        """Whether a spare of it can be used at once."""
        windows = self.windows.windows_of(pane)
        known = (self.windows.windows.get(window) for window in windows)
        return not windows or any(window is not None and window.revision for window in known)

    def let_in(self, summary: Summary, *, now_s: float) -> None:
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
        self.agreements.held_changed(summary.pane, summary.coverage, number=self.kept, now_s=now_s)
        self._open_for(summary, now_s=now_s)
        self.touch(self.scoreboard.open(summary.pane), now_s=now_s)

    def _keep(self, pane: int, coverage: Coverage, rows: object) -> None:
        self.kept += 1
        kept = KeptSummary(self.kept, pane, coverage, rows, rows is not None)
        self.outputs.append(Keep(self.id, kept))
        self.replacing.pieces.add(pane, Piece(self.kept, coverage, kept.has_rows))
        self.scoreboard.accept(pane, coverage, number=self.kept, has_rows=rows is not None)

    def _refuse(self, summary: Summary, verdict: Verdict, *, now_s: float) -> None:
        if verdict in (Verdict.STRANGER, Verdict.AFTER_FINAL):
            self.notice(verdict, f"pane {summary.pane}: a summary was refused ({verdict})")
            return
        self.counters[verdict] += 1
        if verdict is not Verdict.CONTAINED:
            self._open_for(summary, now_s=now_s)

    def _hear(self, state: SiteState, *, now_s: float) -> None:
        former = self.table.views.get(state.ordinal)
        told = former.state.alarms if former is not None else ()
        for alarm in state.alarms:
            if alarm not in told:  # it is told until it is greeted
                self.raise_alarm(alarm, now_s=now_s)
        if former is not None and former.state.incarnation == state.incarnation:
            self._keep_empty_closes(state)
        boards = self.scoreboard.hear(state, since=self.kept + 1)
        self._hear_clock(state, now_s=now_s)
        since = self.table.views[state.ordinal].since
        self.outputs.append(KeepState(self.id, state, since))
        self.agreements.hear(state, now_s=now_s)
        self.replacing.hear(state)
        if former is None or not _tells_digests_alone(former.state, state):
            self.table.greet(state.ordinal)
        for board in boards:
            self.touch(board, now_s=now_s)
        is_same = former is not None and former.state.incarnation == state.incarnation
        former_through = former.state.sealed_through if former and is_same else -FOREVER
        self._open_awaited(state, former_through=former_through, now_s=now_s)

    def _hear_clock(self, state: SiteState, *, now_s: float) -> None:
        if state.offset_s is None or self.table.is_older(state):
            return
        self.table.hear_offset(state)
        self.follow_clocks(now_s=now_s)

    def follow_clocks(self, *, now_s: float) -> None:
        """Now and then: in a large federation the median takes a while."""
        if now_s - self._followed_s >= FOLLOW_CLOCKS_EVERY_S:
            self._follow_clocks(now_s=now_s)

    def set_clock(self, ahead_s: float) -> None:
        """The root's wall clock is so far ahead of steady time from now on."""
        self.windows.ahead_s = ahead_s
        self._followed_s = float("-inf")

    def _follow_clocks(self, *, now_s: float) -> None:
        """Deadlines go by the sites' clocks. By age these are the root's steady one."""
        self._followed_s, lag_s = now_s, 0.0
        if self._goes_by_site_clocks:
            awaits_all = now_s < self._awaits_clocks_until_s
            lag_s = self.table.lag_s(-self.windows.ahead_s, awaits_all=awaits_all)
        self.windows.follow(lag_s)

    def sites_clock_s(self, now_s: float) -> float | None:
        """What the sites' clocks show now, in the middle; None: most have not told, or may have
        told of a former process's clock. Of one or two there is no middle that is worth the wait:
        until they have told, it is the root's own."""
        if not self._goes_by_site_clocks:
            return None
        is_new = now_s < self._awaits_clocks_until_s
        is_doubted = is_new and (self._is_restored or not self.table.knows_most_clocks)
        if self.table.knows_clocks and not is_doubted:
            return now_s - self.windows.lag_s
        return now_s + self.windows.ahead_s if len(self.table.names) < MAJORITY_SITES_MIN else None

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
                self.is_overfull = True
                text = f"site {state.ordinal} announces panes {start} to {end}"
                self.notice("too many panes", text)
                continue
            for pane in range(start, end + 1):
                self._open_windows(pane, now_s=now_s)

    def _hear_sums(self, *, now_s: float) -> None:
        if self.table.catching_up or not self.table.views:
            self.caught_up_s = None
        elif self.caught_up_s is None:
            self.caught_up_s = now_s
        sealed_through = min(self.table.sealed_through, self.agreements.through)
        if sealed_through != self.sealed_through:
            self.sealed_through = sealed_through
            for window in self.windows.sealed_below(sealed_through):
                self.answers.mark(window.window)

    # Alarms

    def raise_alarm(self, alarm: Alarm, *, now_s: float) -> None:
        """Kept before the state that told of it: so a crash in between lets the site say it again.

        An alarm is about what this root holds or held, so nothing beyond is doubted for it.
        """
        newest = max([*self.scoreboard.boards, self.windows.done_through - 1])
        found = alarm.within(self.table.begin, newest)
        if found is None:
            text = f"{self._site_text(alarm)}: of panes that the root holds nothing of"
            self.notice("alarm of nothing", text)
            return
        known = (*self._carriers_of(found.ordinal), *found.carriers)
        carriers = [name for name in known if name != self.query.root]
        found = Alarm.of(
            found.kind, self.id, found.ordinal, (found.first, found.last), found.text, carriers
        )
        standing = self.alarms.add(
            found, done_through=self.windows.done_through, wall_s=now_s + self.windows.ahead_s
        )
        self.outputs.append(KeepAlarm(self.id, standing))
        self.notice("alarm", f"{self._site_text(found)}: {found.text}")
        for number, window in self.windows.windows.items():
            panes = self.windows.spec.panes_of(number)
            if not window.is_final and standing.alarm.concerns(panes.start, panes.stop - 1):
                self.answers.mark(number)

    def _site_text(self, alarm: Alarm) -> str:
        return self.table.names.get(alarm.ordinal, "several sites")

    # The sites' own word on what carriers brought

    def compare(self, *, now_s: float) -> None:
        """Hold digests against what is held, and do what follows."""
        agreements = self.agreements
        agreements.compare(done_through=self.windows.done_through, now_s=now_s)
        for pane, ordinal in agreements.disputed_now:
            self._dispute(pane, ordinal, now_s=now_s)
        for board in list(agreements.touched.values()):
            self.touch(board, now_s=now_s)
        for ordinal in agreements.changed:
            self.outputs.append(KeepAgreement(self.id, ordinal, *agreements.kept(ordinal)))
        is_changed = bool(agreements.changed)
        for news in (agreements.disputed_now, agreements.touched, agreements.changed):
            news.clear()
        if is_changed:
            self._hear_sums(now_s=now_s)

    def _dispute(self, pane: int, ordinal: int, *, now_s: float) -> None:
        """The alarm stands, also when the sites' own updates have taken the place of what relays
        brought: somebody lied, and people must hear of it."""
        text = "it has signed another close than the one that relays brought"
        if not self.replacing.begin(pane, now_s=now_s):
            text += "; what is held of the pane is no longer known piece by piece, and stays"
        self.notice("disputed", f"pane {pane} of {self.table.names[ordinal]}: {text}")
        alarm = Alarm.of(AlarmKind.DISPUTED, self.id, ordinal, (pane, pane), text, ())
        self.raise_alarm(alarm, now_s=now_s)

    def _is_own_word(self, summary: Summary, *, now_s: float) -> bool:
        """Whether a disputed pane waits for this update of one site."""
        verdict = self.scoreboard.judge(summary.pane, summary.coverage)
        if verdict in (Verdict.STRANGER, Verdict.MISTAGGED) or not self.replacing.take(summary):
            return False
        self.counters["own word"] += 1
        self.replace(now_s=now_s)
        return True

    def replace(self, *, now_s: float) -> None:
        """Disputed panes of which all sites' own updates are in, while no answer is made of what
        is to go. A final answer stays as it is."""
        if self.answers.under_way is not None:
            return
        for pane in self.replacing.panes():
            own = None if self.scoreboard.open(pane).is_frozen else self.replacing.complete(pane)
            if own is not None:
                self._replace(pane, own, now_s=now_s)

    def _replace(self, pane: int, own: Sequence[Summary], *, now_s: float) -> None:
        still_open = self.replacing.open_in(pane)
        numbers, left = self.replacing.swap(pane)
        self.scoreboard.make_anew(pane)
        for piece in left:
            self.scoreboard.accept(
                pane, piece.coverage, number=piece.number, has_rows=piece.has_rows
            )
        kept = [
            self._kept_own(pane, summary)
            for summary in own
            if self.scoreboard.judge(pane, summary.coverage) in (Verdict.ACCEPTED, Verdict.CLOSES)
        ]
        for ordinal, incarnation in still_open.items():
            self.scoreboard.keep_open(pane, ordinal, incarnation)
        pieces = [Piece(one.number, one.coverage, one.has_rows) for one in kept]
        self.replacing.pieces.put(pane, [*left, *pieces])
        self.outputs.append(Replace(self.id, pane, tuple(sorted(numbers)), tuple(kept)))
        self.agreements.settle(pane)
        self.notice("replaced", f"pane {pane}: by the own updates of its sites")
        self.touch(self.scoreboard.open(pane), now_s=now_s)
        self.compare(now_s=now_s)

    def _kept_own(self, pane: int, summary: Summary) -> KeptSummary:
        self.kept += 1
        rows, has_rows = summary.rows, summary.rows is not None
        self.scoreboard.accept(pane, summary.coverage, number=self.kept, has_rows=has_rows)
        return KeptSummary(self.kept, pane, summary.coverage, rows, has_rows)

    # Boards and windows

    def touch(self, board: PaneBoard, *, now_s: float) -> None:
        """Something on this board has changed: its windows and the acknowledgement know."""
        is_settled = self.scoreboard.is_settled(board)
        change = board.is_settled - is_settled
        board.is_settled = is_settled
        for number in self.windows.windows_of(board.pane):
            window = self.windows.windows.get(number)
            if window is not None:
                window.unsettled += change
                self.answers.mark(number)
        self.acks.note(board, expected=self.table.expected)
        self._release_if_harmless(board, now_s=now_s)

    def _open_for(self, summary: Summary, *, now_s: float) -> None:
        """A summary is news of its windows; where only rows make windows, one with rows is."""
        if self.windows.has_begin or summary.coverage.has_rows:
            self._open_windows(summary.pane, now_s=now_s)

    def _open_windows(self, pane: int, *, now_s: float) -> None:
        for window in list(self.windows.unopened_of(pane)):
            self.open_window(window, now_s=now_s)

    def open_window(self, number: int, *, now_s: float) -> None:
        window = self.windows.open(number, now_s=now_s)
        for pane in self.windows.spec.panes_of(number):
            is_new = pane not in self.scoreboard.boards
            board = self.scoreboard.open(pane)
            window.unsettled += not board.is_settled
            if is_new and board.known:
                self.acks.note(board, expected=self.table.expected)
        restored = self._restored.pop(number, None)
        if restored is not None:
            self.answers.restore(window, restored)
        self.answers.mark(number)

    def _release_if_harmless(self, board: PaneBoard, *, now_s: float) -> None:
        if board.pane not in self.parking:
            return
        awaited = self.table.expected & ~board.settled
        if not awaited & ~self.parking.sites(board.pane):
            self.release(board.pane, now_s=now_s)

    def release(self, pane: int, *, now_s: float) -> None:
        for spare in self.parking.take(pane):
            self.let_in(spare, now_s=now_s)

    def notice(self, kind: str, text: str, *, count: int = 1) -> None:
        """Counted always, told at the first and then at every doubling."""
        before = self.counters[kind]
        self.counters[kind] += count
        if before.bit_length() != self.counters[kind].bit_length():
            told = f"{self.id}: {text} ({self.counters[kind]} so far)"
            self.outputs.append(Notice(kind, told))


def _tells_digests_alone(former: SiteState, state: SiteState) -> bool:
    """Whether nothing else is new in it. That the root agrees to a digest says by itself that it
    has heard the state, so such a one needs no greeting: all sites hear all greetings."""
    return bool(state.digests) and _without_digests(former) == _without_digests(state)


def _without_digests(state: SiteState) -> SiteState:
    return msgspec.structs.replace(state, number=0, digests=(), offset_s=None, proof=None)
