"""What a root holds of one query, in memory: a ledger that outlives its root.

Methods that take an effect are those of the table of effects (``node.effects.WORK``).
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from headwater.algebra.remainders.share_table import ShareTable
from headwater.algebra.summary import Merger, Rows
from headwater.node import effects as do
from headwater.plan.query import Query
from headwater.root.carriers.alarm_book import StandingAlarm
from headwater.root.outputs import KeptSummary, RootKept, WindowAnswered


class LedgerDisk:
    def __init__(self, query: Query, merger: Merger) -> None:
        self.query = query
        self._merger = merger
        self._last_number = 0
        self.kept: dict[int, KeptSummary] = {}
        self.states: dict[tuple[int, int], do.KeepState] = {}
        self.answers: dict[int, WindowAnswered] = {}
        self.alarms: dict[int, StandingAlarm] = {}
        self.shares: tuple[ShareTable, ...] = ()
        self.done_through: int | None = None

    def keep(self, keep: do.Keep) -> None:
        self._put(keep.kept)

    def _put(self, kept: KeptSummary) -> None:
        assert kept.number > self._last_number, "a number is never used again"
        self._last_number = kept.number
        self.kept[kept.number] = kept

    def keep_state(self, keep: do.KeepState) -> None:
        """Beside it stays what is agreed with this life of the site."""
        key = keep.state.ordinal, keep.state.incarnation
        known = self.states.get(key, keep)
        self.states[key] = msgspec.structs.replace(known, state=keep.state, since=keep.since)

    def keep_agreement(self, keep: do.KeepAgreement) -> None:
        known = self.states[keep.ordinal, keep.incarnation]
        self.states[keep.ordinal, keep.incarnation] = msgspec.structs.replace(
            known, agreed_through=keep.through, disputed=keep.disputed, sure_number=keep.sure_number
        )

    def replace(self, replace: do.Replace) -> None:
        for number in replace.numbers:
            del self.kept[number]
        for kept in replace.kept:
            self._put(kept)

    def keep_alarm(self, keep: do.KeepAlarm) -> None:
        self.alarms[keep.standing.number] = keep.standing

    def keep_shares(self, keep: do.KeepShares) -> None:
        self.shares = keep.tables

    def trim(self, trim: do.Trim) -> None:
        done_through = self.done_through = trim.done_through
        self.kept = {n: kept for n, kept in self.kept.items() if kept.pane >= done_through}
        panes_of = self.query.window.panes_of
        self.answers = {w: a for w, a in self.answers.items() if panes_of(w)[-1] >= done_through}

    def publish(self, answer: do.Answer) -> None:
        for one in answer.requests:
            self.answers[one.window] = WindowAnswered(
                one.window, one.revision, answer.kept_through, one.envelope
            )

    def rows(self, panes: Collection[int], *, kept_through: int) -> Rows:
        return self._merger.merge(
            [
                kept.rows
                for number, kept in self.kept.items()
                if number <= kept_through and kept.pane in panes and kept.rows is not None
            ]
        )

    def restore(self) -> RootKept:
        summaries = (msgspec.structs.replace(kept, rows=None) for kept in self.kept.values())
        return RootKept(
            str(self.query.id),
            tuple(sorted(summaries, key=lambda kept: kept.number)),
            tuple(self.states[key] for key in sorted(self.states)),
            tuple(self.answers[window] for window in sorted(self.answers)),
            self.done_through,
            self._last_number,
            alarms=tuple(self.alarms.values()),
            shares=self.shares,
        )
