"""Where a site begins with a query: its first pane, and what it declines before it.

::

    begin |----------|----------|----------|----------|      panes
             ^ born      ^ installed  (+ future_tolerance)
             declined:   declined:          first pane
             lost        not installed

A site that heard of the query before ``begin`` starts there. One that joined late starts at the
first pane that begins after its install and the tolerance for records from the future: an earlier
pane may have had records that were read before the query was there. What it missed it declines:
*lost* where its cube is younger than the pane (its former cube may have had it), *not installed*
otherwise.

A query whose begin had passed when it was installed starts at ``begin`` everywhere: what the site
has read, or was written before, a reading of the past brings. See "A late query reads the past by
itself".
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.algebra.panes import MICROS
from headwater.algebra.words.site_state import FOREVER, REFUSED, Reason
from headwater.edge.query_state import News, QueryState
from headwater.edge.record import UNDECIDED
from headwater.edge.report import BatchReport
from headwater.plan.needs import VERSION
from headwater.plan.query import Query
from headwater.plan.readings import past_reading


class Beginning:
    """Of one query in this process. What was said of a pane is never taken back, so a beginning
    only moves forward: each time what is left out is declined."""

    def __init__(self, state: QueryState, *, made_s: float | None) -> None:
        """``made_s``: when the cube was made; None: in a former process."""
        self._state = state
        self._cube_made_s = made_s
        self._tolerance_s = state.query.future_tolerance_s(state.config.future_tolerance_s)
        self._reading_s: float | None = None
        """When reading for this query began, in this process."""

    def begin(self, *, now_s: float, born_s: float, loss_through: int) -> None:
        """``born_s``: when the cube was made, by the wall clock; ``loss_through``: the newest loss
        of the source that came before this query."""
        state, query = self._state, self._state.query
        # An input that ends is over by itself; of states its end says only how many there are.
        state.change(News.NONE, end_pane=None if query.ends else query.ends_at)
        if query.reads_past is True:  # also of a question, whose past is the cube's
            self._begin_in_past(loss_through=loss_through)
            return
        begun_s, born_s = state.time.of(now_s), state.time.of_wall(born_s)
        is_from_now = query.numbers is not None and query.numbers.from_now
        first = first_pane_of(query, now_s=begun_s, future_tolerance_s=self._tolerance_s)
        state.change(
            News.WORD,
            first_pane=first,
            closed_through=first,
            catching_up=query.ends or (query.begin_pane is None and not is_from_now),
            awaits_greeting=self._cube_made_s is not None and query.begin_pane is not None,
            loss_heard=loss_through,
            past=UNDECIDED if query.wants_past else "",
            begins_after=Reason.NOT_INSTALLED if is_from_now else None,
        )
        if query.begin_pane is not None:
            born_pane = min(first, max(query.begin_pane, pane_from(query, born_s)))
            state.decline(query.begin_pane, born_pane - 1, Reason.LOST)
            state.decline(born_pane, first - 1, Reason.NOT_INSTALLED)

    def _begin_in_past(self, *, loss_through: int) -> None:
        """A site that has lost its cube does not read the past again: what its former life has
        sent counts. So nothing is closed before the root has said that there was none."""
        first = self._state.query.begin_pane
        assert first is not None, "a query that reads the past from a time on has a begin"
        self._state.change(
            News.WORD,
            first_pane=first,
            closed_through=first,
            catching_up=True,
            awaits_greeting=self._cube_made_s is not None,
            loss_heard=loss_through,
            past="" if self._state.query.reads_cube else past_reading(self._state.query),
            begins_after=None if self._state.query.numbers is None else Reason.NOT_RETAINED,
        )

    def refuse(self, reason: str) -> None:
        """This site's policy does not admit the query, or its version does not know what the query
        needs: all of it is declined for ever."""
        why = Reason.VERSION if reason.startswith(VERSION) else Reason.REFUSED
        self._state.decline(-FOREVER, FOREVER, why)
        self._state.change(
            News.WORD,
            status=REFUSED,
            message=reason,
            ended=True,
            sealed_through=FOREVER,
            closed_through=FOREVER,
        )

    def read_from(self, at_s: float) -> None:
        """Batches have this query, and its source is read, from this time on: see ``Edge``."""
        self._reading_s = at_s
        query = self._state.query
        is_live = query.numbers is None and not query.ends and query.reads_past is not True
        if query.begin_pane is not None and is_live:
            readable = pane_from(query, self._state.time.of(at_s))
            self._begin_at(readable, Reason.NOT_INSTALLED)

    def begin_late(self, at_s: float) -> None:
        """What was read before ``at_s`` was read without this query: see ``Edge``."""
        record = self._state.record
        if self._state.query.wants_past and (record.past or record.first_pane == -FOREVER):
            self._begin_after(at_s, Reason.NOT_INSTALLED)

    def read_past(self, is_read: bool) -> None:
        """Whether the past is read for this query by itself: see ``Edge``."""
        if self._state.record.past == UNDECIDED:
            past = past_reading(self._state.query) if is_read else ""
            self._state.change(News.WORD, past=past, catching_up=True)

    def hear_past(self, report: BatchReport) -> None:
        """The reading of the past has come so far. What files no longer hold is declined: with a
        begin in time also the pane of the first record, of which some may be gone."""
        state, window = self._state, self._state.query.window
        is_timed = state.query.begin_pane is not None and state.query.numbers is None
        if is_timed and report.low_time_us is not None:
            self._begin_at(window.pane_at(report.low_time_us) + 1, Reason.NOT_RETAINED)

    def end_past(self, report: BatchReport, *, now_s: float) -> None:
        """This was the last report of it, and its rows are taken."""
        state = self._state
        is_timed = state.query.begin_pane is not None and state.query.numbers is None
        if report.low_time_us is None and is_timed:
            self._begin_after(now_s, Reason.NOT_RETAINED)
        state.telling.tell_past(())
        state.change(News.WORD, past="", catching_up=state.ahead_through < FOREVER)

    def _begin_after(self, at_s: float, reason: Reason) -> None:
        """With the first pane of which nothing can have been read by then; without a past."""
        state = self._state
        if state.query.numbers is not None:
            state.telling.tell_past(())
            state.change(News.WORD, past="", begins_after=reason)
            return
        self._begin_at(pane_from(state.query, state.time.of(at_s) + self._tolerance_s), reason)
        state.telling.tell_past(())
        state.change(News.WORD, past="")

    def hear_number(self, panes: Sequence[int], *, has_earlier: bool, is_past: bool) -> None:
        """Records of these panes were read. Where the first of all decide with which pane this site
        begins, it is one after them; but of a begin that records lie before all is there. Of the
        past the oldest come first; of what is read live any may be a late one, but not all."""
        query, reason = self._state.query, self._state.record.begins_after
        if query.numbers is None or reason is None or not (panes or has_earlier):
            return
        if not has_earlier:
            first = min(panes) if is_past else max(panes)
            self._begin_at(query.numbers.whole_from(query.window, first), reason)
        self._state.change(News.WORD, begins_after=None)

    def hear_clock(self, offset_s: float, *, is_confirmed: bool, now_s: float) -> None:
        """The root's clock is ahead by this much. When that is heard for the first time, reading
        may prove to have begun later, in the root's time, than the first pane says."""
        time = self._state.time
        is_first = time.known_s is None
        is_news = time.hear(offset_s, is_confirmed=is_confirmed, now_s=now_s)
        self._state.change(News.WORD if is_news else News.NONE, offset_s=time.known_s)
        if is_first and self._reading_s is not None:
            self.read_from(self._reading_s)

    def hear_former(self, clock_s: float | None, *, now_s: float) -> None:
        """The root has greeted this life of the site. ``clock_s``: what the clock of its former
        life would show now, if it had one. What that had stamped when it ended is lost, and if our
        clock is an earlier one, it lies in panes that we would answer for."""
        state = self._state
        if not state.record.awaits_greeting:
            return
        state.change(News.RECORD, awaits_greeting=False)
        former_through = state.telling.former_through
        if state.query.numbers is not None:
            if former_through is not None:
                self._begin_at(former_through, Reason.LOST)
            return
        if clock_s is not None and state.record.past:
            self._begin_after(now_s, Reason.LOST)
        if clock_s is not None and not state.time.is_used:
            age_s = 0.0 if self._cube_made_s is None else now_s - self._cube_made_s
            whole = pane_from(state.query, clock_s - age_s + self._tolerance_s)
            self._begin_at(whole, Reason.LOST)

    def _begin_at(self, pane: int, reason: Reason) -> None:
        """Nothing happens where the first pane is a later one."""
        record = self._state.record
        if record.first_pane is not None and pane > record.first_pane:
            self._state.decline(record.first_pane, pane - 1, reason)
            closed_through = max(record.closed_through, pane)
            self._state.change(News.WORD, first_pane=pane, closed_through=closed_through)


def first_pane_of(query: Query, *, now_s: float, future_tolerance_s: float) -> int:
    """Times are those that panes are numbered by. An input that ends is read from its start, long
    ago as that may be; of numbers no clock knows where they are."""
    if query.begin_pane is None:
        return -FOREVER
    if query.numbers is not None:
        return query.begin_pane
    if query.ends or query.window.pane_start_us(query.begin_pane) >= round(now_s * MICROS):
        return query.begin_pane
    return max(query.begin_pane, pane_from(query, now_s + future_tolerance_s))


def pane_from(query: Query, time_s: float) -> int:
    """The first pane that starts at or after this time."""
    pane = query.window.pane_at(round(time_s * MICROS))
    return pane if query.window.pane_start_us(pane) >= round(time_s * MICROS) else pane + 1
