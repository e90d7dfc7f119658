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

SEND_EVERY_S = 0.2
"""While something waits for room, room is asked for this often."""


class Outbox:
    def __init__(self, config: EdgeConfig) -> None:
        self._config = config
        self._budget = Budget.full(per_s=config.repairs_per_s_max, burst=config.repairs_burst_max)
        self._repairs_wait = False
        """The budget holds some back; said once."""
        self._sent_s = LONG_AGO_S

    def send(
        self, states: Sequence[QueryState], room: Room, *, awake_share: float, now_s: float
    ) -> tuple[list[Notice | MarkSent], list[Send]]:
        """What must be written before anything leaves, and what leaves."""
        self._sent_s = now_s
        waiting = [state for state in states if state.book.waits_for_room]
        if not waiting:  # nearly always: what is live is sent as soon as it is made
            return [], []
        sending = Sending(waiting, room, now_s=now_s)
        sending.send_live()
        notices = self._send_repairs(sending, waiting, awake_share=awake_share, now_s=now_s)
        sending.send_backlog(self._config.sends_per_tick_max)
        return [*notices, *sending.marks()], join_states(sending.sends, waiting)

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
