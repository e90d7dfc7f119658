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
"""

from __future__ import annotations

from headwater.algebra.panes import MICROS
from headwater.algebra.words.site_state import FOREVER, Reason
from headwater.edge.query_state import News, QueryState
from headwater.edge.record import REFUSED
from headwater.plan.query import Query


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
        begun_s, born_s = state.time.of(now_s), state.time.of_wall(born_s)
        first = first_pane_of(query, now_s=begun_s, future_tolerance_s=self._tolerance_s)
        state.change(
            News.WORD,
            first_pane=first,
            closed_through=first,
            catching_up=query.begin_pane is None or query.ends,
            awaits_greeting=self._cube_made_s is not None and query.begin_pane is not None,
            loss_heard=loss_through,
        )
        if query.begin_pane is not None:
            born_pane = min(first, max(query.begin_pane, pane_from(query, born_s)))
            state.decline(query.begin_pane, born_pane - 1, Reason.LOST)
            state.decline(born_pane, first - 1, Reason.NOT_INSTALLED)

    def refuse(self, reason: str) -> None:
        """This site's policy does not admit the query: all of it is declined for ever."""
        self._state.decline(-FOREVER, FOREVER, Reason.REFUSED)
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
        if self._state.query.begin_pane is not None:
            readable = pane_from(self._state.query, self._state.time.of(at_s))
            self._begin_at(readable, Reason.NOT_INSTALLED)

    def begin_late(self, at_s: float) -> None:
        """What was read before ``at_s`` was read without this query: see ``Edge``."""
        state = self._state
        if state.query.begin_pane is None and state.record.first_pane == -FOREVER:
            whole = pane_from(state.query, state.time.of(at_s) + self._tolerance_s)
            self._begin_at(whole, Reason.NOT_INSTALLED)

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
    """Times are those that panes are numbered by."""
    if query.begin_pane is None:
        return -FOREVER
    if query.window.pane_start_us(query.begin_pane) >= round(now_s * MICROS):
        return query.begin_pane
    return max(query.begin_pane, pane_from(query, now_s + future_tolerance_s))


def pane_from(query: Query, time_s: float) -> int:
    """The first pane that starts at or after this time."""
    pane = query.window.pane_at(round(time_s * MICROS))
    return pane if query.window.pane_start_us(pane) >= round(time_s * MICROS) else pane + 1
