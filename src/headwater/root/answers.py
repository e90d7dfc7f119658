"""Which windows are answered now, and what became of it: the rule "A revision replaces the whole".

A window is first answered when nothing more is awaited, when it has enough, or at its deadline
(``Eviction``). Later it is revised at
most every ``revise_every_s``, all due windows in one job, the newest first. Where a job has not
places enough, a quarter of them belongs to the oldest: otherwise, under overload, old windows would
never become final and their panes never go. A revision that would say nothing new is not made.

Where less than is demanded is to have no rows, a window that misses its demand has a header that
says so. It is revised when there is enough, which then stays so, or when it is final.

One answer of a query is under way at a time; if it fails, it is tried again after a pause that
doubles, and the reason is shown.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

import msgspec

from headwater.algebra.far_times import DUE_NOW_S, NEVER_DUE_S
from headwater.algebra.fidelity import Fidelity
from headwater.algebra.sets import bitset
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.words.site_state import FOREVER
from headwater.plan.query import Query
from headwater.root.carriers.absences import Absences
from headwater.root.carriers.alarm_book import AlarmBook
from headwater.root.config import RootConfig
from headwater.root.eviction import Eviction
from headwater.root.outputs import Answer, KeptSummary, WindowAnswer, WindowAnswered
from headwater.root.said.assess import Assessment, assess, signature_of
from headwater.root.said.degraded import DEGRADED_LISTED_MAX
from headwater.root.said.envelope import (
    NONE_LEFT_OUT,
    REMARKS_LISTED_MAX,
    Envelope,
    FinalBy,
    LeftOut,
    Trigger,
)
from headwater.root.said.level_join import LevelJoin
from headwater.root.said.reached import Reached
from headwater.root.said.sampled import sample_of
from headwater.root.said.top_book import TopBook
from headwater.root.scoreboard import Scoreboard
from headwater.root.unwanted import UnwantedPanes
from headwater.root.windows import Window, WindowBook

RESERVED_ONE_IN = 4
"""One place in so many belongs to the oldest of the windows that are due."""


class Answers:
    """For one query."""

    def __init__(
        self,
        query: Query,
        config: RootConfig,
        scoreboard: Scoreboard,
        book: WindowBook,
        alarms: AlarmBook,
        absences: Absences,
        *,
        roster_version: int,
    ) -> None:
        self._query = query
        self._config = config
        self._scoreboard = scoreboard
        self._book = book
        self._alarms = alarms
        self._roster_version = roster_version
        self._eviction = Eviction(query, scoreboard, book, absences)
        self.join: LevelJoin | None = None
        """Of a level: what its windows are made of."""
        self.tops: TopBook | None = None
        """Of a query whose sites may send the largest groups alone: what is known of these."""
        self._dirty: dict[int, None] = {}
        self.under_way: Answer | None = None
        self.failure: str | None = None
        self._jobs = 0
        self._pause_s = 0.0
        self._retry_s = DUE_NOW_S
        self.newest: int | None = None
        self._mending: dict[int, int] = {}
        """By pane: sites of which the ledger lost something that was in answers already."""

    def mark(self, window: int) -> None:
        """Something that this window shows may have changed."""
        self._dirty[window] = None

    def forget(self, window: int) -> None:
        self._dirty.pop(window, None)

    def mend(self, lost: KeptSummary) -> None:
        """The ledger has lost this, and answers of these windows had it in them."""
        self._mending[lost.pane] = self._mending.get(lost.pane, 0) | lost.coverage.sites
        for number in self._book.windows_of(lost.pane):
            window = self._book.windows.get(number)
            if window is not None and window.revision and lost.number <= window.kept_through:
                window.is_mending = True

    # Asking

    def ask(self, *, kept_through: int, now_s: float) -> Answer | None:
        """The answers that are due, if none is under way; the newest first, then the oldest."""
        if not self._dirty or self.under_way is not None or now_s < self._retry_s:
            return None
        requests: list[WindowAnswer] = []
        due = deque(self._due(now_s=now_s))
        count = self._config.windows_per_answer_max
        newest_count = count - self._reserved(count)
        while due and len(requests) < count:
            window = due.popleft() if len(requests) < newest_count else due.pop()
            request = self._request(window, now_s=now_s)
            self._dirty.pop(window.window, None)
            if request is not None:
                requests.append(request)
        if not requests:
            return None
        self._jobs += 1
        self.under_way = Answer(str(self._query.id), tuple(requests), kept_through)
        return self.under_way

    def _reserved(self, count: int) -> int:
        """Places of a job that belong to the oldest windows; of single places every fourth."""
        if count == 1:
            return int(self._jobs % RESERVED_ONE_IN == RESERVED_ONE_IN - 1)
        return max(1, count // RESERVED_ONE_IN)

    def _due(self, *, now_s: float) -> Iterator[Window]:
        for number in sorted(self._dirty, reverse=True):
            window = self._book.windows.get(number)
            if window is None or not self._is_answered_or_due(window, now_s=now_s):
                self._dirty.pop(number)
            elif not window.revision or now_s >= self._revise_s(window):
                yield window

    def _is_answered_or_due(self, window: Window, *, now_s: float) -> bool:
        return bool(window.revision) or self._trigger(window, now_s=now_s) is not None

    def _trigger(self, window: Window, *, now_s: float) -> Trigger | None:
        if self.join is not None:
            return self._level_trigger(self.join, window)
        return self._eviction.trigger(window, now_s=now_s)

    def _level_trigger(self, join: LevelJoin, window: Window) -> Trigger | None:
        """A coarse window is answered where some site takes it, when nothing more is awaited or at
        its deadline."""
        if not join.is_any(window.window):
            return None
        if window.is_overdue:
            return Trigger.DEADLINE
        waits = self._book.settings_of(window.window).waits
        return Trigger.COMPLETE if not waits and join.is_complete(window.window) else None

    def _revise_s(self, window: Window) -> float:
        return window.published_s + self._book.settings_of(window.window).revise_every_s

    def _request(self, window: Window, *, now_s: float) -> WindowAnswer | None:
        """What to publish of this window; None: there is nothing new to say."""
        found = self.assess(window.window)
        if not self._is_worth(window, found):
            return None
        window.is_asked = True
        if found.is_final and found.final_by is not FinalBy.ENOUGH:
            for pane in self._book.spec.panes_of(window.window):
                self._scoreboard.open(pane).is_frozen = True
        envelope = self._envelope(window, found, now_s=now_s)
        panes = () if envelope.fidelity.is_silent else found.panes
        return WindowAnswer(window.window, envelope.revision, panes, envelope, found.pieces)

    def _is_worth(self, window: Window, found: Assessment) -> bool:
        if found.is_held:
            return False
        if not window.revision:
            return self._book.has_begin or bool(found.panes)
        if self._is_mending(window) or self._is_less(window, found):
            return False
        if window.reached.is_silent and not window.is_final:
            return found.is_final or not self.reached(found).is_silent
        has_rows = found.rows_number > window.kept_through
        if self.join is not None:
            has_rows = found.made_of != window.made_of
        return not window.is_final and (has_rows or found.signature() != window.signature)

    def _is_mending(self, window: Window) -> bool:
        """Whether it awaits what the ledger lost: a revision would have less in it."""
        window.is_mending = window.is_mending and any(
            self._mending.get(pane, 0) & ~self._scoreboard.open(pane).settled
            for pane in self._book.spec.panes_of(window.window)
        )
        return window.is_mending

    def _is_less(self, window: Window, found: Assessment) -> bool:
        """Whether fewer sites are in it than were, and not for good.

        A site is covered once all that it had closed is in. If it then says that there is more, and
        loses that, a new process of the root knows it only as one that declines the rest: that may
        become final, if the ledger has lost nothing of what was answered.
        """
        has_lost = any(pane in self._mending for pane in self._book.spec.panes_of(window.window))
        is_level = self.join is not None
        return found.covered < window.covered and (is_level or has_lost or not found.is_final)

    def absent(self, window: Window) -> int:
        """Sites that nobody waits for in this window, as a bitset: they are gone."""
        return self._eviction.absent(window)

    def assess(self, window: int) -> Assessment:
        known = self._book.windows.get(window)
        if self.join is not None:
            return self.join.assess(window, known, missing_max=self._config.missing_listed_max)
        found = assess(
            self._scoreboard,
            self._alarms,
            self._book.spec,
            window,
            missing_max=self._config.missing_listed_max,
            demand=self._query.demanded,
            published=Fidelity() if known is None else known.reached.fidelity,
            goes_by_demand=self._query.awaited_demand is not None,
            absent=bitset.EMPTY if known is None else self.absent(known),
        )
        return found if self.tops is None else self._with_largest(found, window, self.tops)

    def _with_largest(self, found: Assessment, window: int, tops: TopBook) -> Assessment:
        """Nothing is final while the largest are still looked for."""
        panes = self._book.spec.panes_of(window)
        withheld = tops.stated(panes, found.withheld)
        is_open = any(map(tops.is_under_way, panes))
        if withheld is found.withheld and not is_open:
            return found
        final_by = None if is_open else found.final_by
        return msgspec.structs.replace(found, withheld=withheld, final_by=final_by)

    def reached(self, found: Assessment) -> Reached:
        """What is to be said of how much is in."""
        is_awaited = self._query.awaited_demand is not None
        return Reached.of(found.fidelity, self._query.demanded, is_awaited=is_awaited)

    def _envelope(self, window: Window, found: Assessment, *, now_s: float) -> Envelope:
        trigger = None if window.revision else self._trigger(window, now_s=now_s)
        remarks = self._scoreboard.table.remarks()
        return Envelope(
            stream=self._query.id.name,
            query=str(self._query.id),
            window=window.window,
            start_us=self._book.spec.window_start_us(window.window),
            end_us=self._book.spec.window_end_us(window.window),
            revision=window.revision + 1,
            roster_version=self._roster_version,
            expected=found.expected,
            covered=max(found.covered, window.covered),
            missing=found.missing,
            missing_count=found.missing_count,
            exact=found.is_exact,
            final=found.is_final,
            staleness_s=self._book.staleness_s(window, now_s=now_s),
            answered_at_s=now_s + self._book.ahead_s,
            trigger=trigger or Trigger.REVISION,
            tally=self._scoreboard.table.tally,
            damaged=found.damaged,
            clocks_unconfirmed=len(self._scoreboard.table.unconfirmed()),
            disputed=found.disputed,
            remarks=remarks[:REMARKS_LISTED_MAX],
            remark_count=len(remarks),
            part=self._query.part,
            alarms=found.alarms,
            alarm_count=found.alarm_count,
            withheld=found.withheld,
            degraded=found.degraded[:DEGRADED_LISTED_MAX],
            degraded_count=len(found.degraded),
            settings=found.settings,
            counted=self._query.counted,
            fidelity=self.reached(found),
            final_by=found.final_by,
            levels=found.levels,
            made_of=found.made_of,
            sampled=sample_of(self._query),
            first_trigger=trigger or window.first_trigger,
            as_of=self._scoreboard.table.as_of() if self._query.asked else (),
        ).near(self._query.bounds)

    # What became of it

    def published(
        self, *, now_s: float, left_out: Mapping[int, LeftOut] = NONE_LEFT_OUT
    ) -> list[Window]:
        """The answer under way is out, without these groups; the windows it was for."""
        answer, self.under_way = self.under_way, None
        assert answer is not None, "only an answer that was asked for is published"
        self.failure, self._pause_s, self._retry_s = None, 0.0, DUE_NOW_S
        found = []
        for request in answer.requests:
            window = self._book.windows.get(request.window)
            if window is not None:
                envelope = request.envelope.without(left_out.get(request.window, LeftOut()))
                self._take_over(window, envelope, answer.kept_through, is_restored=False)
                window.published_s = now_s
                found.append(window)
        return found

    def failed(self, reason: str, *, now_s: float) -> None:
        """It is tried again later, with all that is due then."""
        answer, self.under_way = self.under_way, None
        assert answer is not None, "only an answer that was asked for can fail"
        self.failure = reason
        doubled_s = max(2.0 * self._pause_s, self._config.answer_retry_first_s)
        self._pause_s = min(doubled_s, self._config.answer_retry_last_s)
        self._retry_s = now_s + self._pause_s
        for request in answer.requests:
            window = self._book.windows.get(request.window)
            if window is not None:
                window.is_asked = False
                self.mark(request.window)

    def restore(self, window: Window, answered: WindowAnswered) -> None:
        """What a former process had published of it."""
        self._take_over(window, answered.envelope, answered.kept_through, is_restored=True)
        if answered.envelope.final and answered.envelope.final_by is not FinalBy.ENOUGH:
            for pane in self._book.spec.panes_of(window.window):
                self._scoreboard.open(pane).is_frozen = True

    def _take_over(
        self, window: Window, envelope: Envelope, kept_through: int, *, is_restored: bool
    ) -> None:
        window.revision = envelope.revision
        window.is_final = envelope.final
        window.covered = envelope.covered
        window.signature = signature_of(envelope)
        window.kept_through = kept_through
        window.left_out = envelope.left_out
        window.levels, window.made_of = envelope.levels, envelope.made_of
        window.reached = envelope.fidelity
        window.first_trigger = envelope.first_trigger
        window.is_asked = False
        if envelope.final and self._scoreboard.table.takes_enough:
            self._eviction.freeze(window, is_restored=is_restored)
        if self.newest is None or window.window > self.newest:
            self.newest = window.window

    # What nobody wants any more

    @property
    def unwanted(self) -> Ranges:
        """Panes all of whose windows are final, where windows are so by having enough."""
        return self._eviction.unwanted.panes.ranges()

    def unwanted_panes(self) -> UnwantedPanes:
        return self._eviction.unwanted.told(self._scoreboard.table.names)

    def drop_below(self, pane: int) -> None:
        self._eviction.unwanted.panes.remove(-FOREVER, pane - 1)

    def next_deadline_s(self) -> float:
        if self.under_way is not None or not self._dirty:
            return NEVER_DUE_S
        times = (self._due_s(window) for window in self._dirty)
        return max(self._retry_s, min(times, default=NEVER_DUE_S))

    def _due_s(self, number: int) -> float:
        window = self._book.windows.get(number)
        if window is None or not window.revision:
            return DUE_NOW_S
        return self._revise_s(window)
