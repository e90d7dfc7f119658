"""What leaves a site in a tick, over all its queries: what goes first, and how much of it.

Live first, in the order of their closes; then repairs, which fill the gaps of old answers; then
backlog, the oldest pane of all queries first. Fewer are repaired while the machine is busy.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.algebra.budget import SLACK, Budget
from headwater.algebra.far_times import LONG_AGO_S, NEVER_DUE_S
from headwater.edge.config import EdgeConfig
from headwater.edge.outbox.sending import Room, Sending, join_states
from headwater.edge.outputs import MarkSent, Send
from headwater.edge.query_state import QueryState
from headwater.plan.notice import Notice

CUT_OFF_S = 5.0
"""Without room for so long a site was cut off, and its way is not only slow."""
MISSED_S = 2.0
"""When it is back, panes that were closed so long before are backlog: their answers have gone
without them, and they would hold up those that are yet to be in time."""
SEND_EVERY_S = 0.2
"""While something waits for room, room is asked for this often."""


class Outbox:
    def __init__(self, config: EdgeConfig) -> None:
        self._config = config
        self._budget = Budget.full(per_s=config.repairs_per_s_max, burst=config.repairs_burst_max)
        self._repairs_wait = False
        """The budget holds some back; said once."""
        self._sent_s = LONG_AGO_S
        self._shut_s: dict[str, float] = {}
        """By query, since when there was no room for what waits."""

    def send(
        self, states: Sequence[QueryState], room: Room, *, awake_share: float, now_s: float
    ) -> tuple[list[Notice | MarkSent], list[Send]]:
        """What must be written before anything leaves, and what leaves."""
        self._sent_s = now_s
        waiting = [state for state in states if state.book.waits_for_room]
        if not waiting:  # nearly always: what is live is sent as soon as it is made
            self._shut_s = {}
            return [], []
        self._look_for_cuts(waiting, room, now_s=now_s)
        sending = Sending(waiting, room, now_s=now_s)
        sending.send_live()
        notices = self._send_repairs(sending, waiting, awake_share=awake_share, now_s=now_s)
        sending.send_backlog(self._config.sends_per_tick_max)
        return [*notices, *sending.marks()], join_states(sending.sends, waiting)

    def _look_for_cuts(self, waiting: Sequence[QueryState], room: Room, *, now_s: float) -> None:
        shut = {state.id: state for state in waiting if not room.is_left(state.id)}
        for state in waiting:
            since_s = self._shut_s.get(state.id, now_s)
            if state.id not in shut and now_s - since_s >= CUT_OFF_S:
                state.book.age_fresh(now_s - MISSED_S)
        self._shut_s = {query: self._shut_s.get(query, now_s) for query in shut}

    def _send_repairs(
        self, sending: Sending, waiting: Sequence[QueryState], *, awake_share: float, now_s: float
    ) -> list[Notice]:
        budget = self._budget.at(now_s, share=awake_share)
        allowed = int(budget.left + SLACK) if budget.allows() else 0
        count = sending.send_repairs(min(allowed, self._config.spares_per_tick_max))
        self._budget = budget.spend(count)
        left = sum(len(state.book.repairs) for state in waiting)
        is_held_back = bool(left) and not self._budget.allows()
        is_news = is_held_back and not self._repairs_wait
        self._repairs_wait = is_held_back or (self._repairs_wait and bool(left))
        text = f"{left} panes are asked for again, and wait for the budget of repairs"
        return [Notice("edge", "repairs wait", text)] if is_news else []

    def next_deadline_s(self, state: QueryState) -> float:
        return self._sent_s + SEND_EVERY_S if state.book.waits_for_room else NEVER_DUE_S
