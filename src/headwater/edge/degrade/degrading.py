"""What one query gives up at one site: what is seen at each close, and what follows of it.

The step that is chosen holds for the panes that are closed from then on, and stands in the site's
record before anything leaves that was made by it: so a restart goes on at the same step, and the
root can say of each pane at which step it was closed.
"""

from __future__ import annotations

import msgspec

from headwater.algebra.byte_rate import rate_text
from headwater.algebra.capacity.way_capacity import BUDGET, UNKNOWN, WayCapacity, least
from headwater.algebra.far_times import LONG_AGO_S
from headwater.algebra.panes import MICROS
from headwater.algebra.words.degraded import Degraded, Why, with_degraded
from headwater.edge.degrade.policy import Period, Policy
from headwater.edge.degrade.savings import Savings
from headwater.edge.outputs import Raised, UpdatesMade
from headwater.edge.query_state import News, QueryState
from headwater.plan.altered.link_share import CLOSE_BYTES
from headwater.plan.degrading.degradation import Degradation, OperatorKind
from headwater.plan.notice import Notice

QUIET_PANES = 3
"""Without a row for so many, the query needs nothing."""


class Degrading:
    def __init__(self, state: QueryState) -> None:
        self._state = state
        self.policy = Policy()
        self.savings = Savings()
        self.way: WayCapacity = UNKNOWN
        """As it was last heard."""
        self.need = 0.0
        """Of the newest panes, in bytes a second at the step that they were closed at."""
        self.degraded_count, self.restored_count = 0, 0
        """How often a step came in, and went, in this process."""
        self._beside = 0.0
        """Of that, what does not get less with fewer rows."""
        self._bytes, self._beside_bytes, self._panes = 0, 0, 0
        self._row_counts = tuple[int, ...]()
        self._seen_s = LONG_AGO_S
        self._last = (0, 0.0)
        """The step of the period before, and what its rows needed."""

    @property
    def plan(self) -> Degradation | None:
        """By the settings of the next pane to be closed; None: nothing is given up."""
        return self._state.settings.at(self._state.record.lowest_unclosed()).degradation

    def __bool__(self) -> bool:
        """Whether there may be anything to do: asked at every tick."""
        book = self._state.settings
        return book.first.degradation is not None or bool(book.changes or self.policy.step)

    @property
    def step(self) -> int:
        return self.policy.step

    def resume(self) -> None:
        """As it stood when the former process ended."""
        said = self._state.record.degraded
        if said and said[-1].step:
            self.policy = Policy(said[-1].step, said[-1].why)

    def raised(self, told: int = 0) -> Raised | None:
        """Of a threshold, for what is closed now, be it a pane of the query or of a level; None:
        the query has none. ``told``: the step that somebody has set (``Levels.told``)."""
        plan = self.plan
        found = () if plan is None else tuple(plan.levels_at(max(told, self.policy.step)))
        return next(
            (
                Raised(one.at, one.operator.levels)
                for one in found
                if one.operator.kind is OperatorKind.THRESHOLD
            ),
            None,
        )

    @property
    def sends_largest(self) -> bool:
        """Whether of what is closed now the largest groups alone are sent."""
        plan = self.plan
        return plan is not None and plan.size_at(OperatorKind.TOP, self.policy.step) is not None

    def made(self, done: UpdatesMade, *, is_first: bool, panes: int = 1) -> None:
        """``is_first``: what was closed is live, and no more of a pane that had left before.
        ``panes``: so many of the query are in it, at a coarser level; 0: it is an answer to a
        request for further groups, which takes room as well."""
        if is_first:
            updates = max(1, done.last_update - done.first_update + 1)
            self._bytes += done.wire_bytes + updates * CLOSE_BYTES
            self._beside_bytes += done.beside_bytes + updates * CLOSE_BYTES
            self._panes += panes
            self._row_counts = done.row_counts if panes else self._row_counts

    def look(self, way: WayCapacity, *, now_s: float) -> list[Notice]:
        """Once a tick, when what is being made is known; says it when the step changes."""
        former = self.policy.step
        self._look(way, now_s=now_s)
        step, plan = self.policy.step, self.plan
        if step == former:
            return []
        is_more = step > former
        self.degraded_count += is_more
        self.restored_count += not is_more
        kind = "degraded" if is_more else "restored"
        told = "all is sent again" if plan is None else step_text(plan, step)
        why = f" ({self.policy.why})" if self.policy.why is not None else ""
        text = f"{self._state.id}: {told}{why}; it needs {rate_text(self.need)}"
        return [Notice("edge", kind, text)]

    def _look(self, way: WayCapacity, *, now_s: float) -> None:
        self.way = way
        plan = self.plan
        if plan is None:
            self._go_to(Policy())
            return
        pane_s = self._state.query.window.pane_us / MICROS
        quiet_s = QUIET_PANES * self._longest_s(plan)
        if self._panes:
            self.need = self._bytes / (self._panes * pane_s)
            self._beside = self._beside_bytes / (self._panes * pane_s)
        elif not self.policy.step or now_s - self._seen_s < quiet_s:
            return
        else:
            self.need = self._beside = 0.0
        self._learn(plan)
        self._learn_step(plan)
        self._bytes, self._beside_bytes, self._panes, self._seen_s = 0, 0, 0, now_s
        self._go_to(
            self.policy.after(
                self._seen(plan, now_s),
                last_step=plan.last_step,
                same=self.savings.same(),
                now_s=now_s,
            )
        )

    def _longest_s(self, plan: Degradation) -> float:
        """Of panes that may be under way at the present step."""
        coarse_us = plan.size_at(OperatorKind.COARSEN_TIME, self.policy.step)
        return (coarse_us or self._state.query.window.pane_us) / MICROS

    def _seen(self, plan: Degradation, now_s: float) -> Period:
        step, share = self.policy.step, self._state.settings.newest.share
        left = self.savings.left(plan, step) if step else 1.0
        way = least(self.way, WayCapacity(share.for_panes, BUDGET))
        return Period(
            need=self.need,
            finer=self._beside + (self.need - self._beside) / left,
            way=way.bytes_per_s,
            waited_s=self._waited_s(now_s),
            is_budget=way.narrowest == BUDGET,
        )

    def _waited_s(self, now_s: float) -> float:
        first = next(iter(self._state.book.fresh.values()), None)
        return 0.0 if first is None else max(0.0, now_s - first.closed_s)

    def _learn(self, plan: Degradation) -> None:
        if self._row_counts:
            self.savings = self.savings.saw_rows(plan, self._row_counts)
            self._row_counts = ()

    def _learn_step(self, plan: Degradation) -> None:
        """From what the query needs before and after a step comes in, or goes."""
        (former, was), (step, rows) = self._last, (self.policy.step, self.need - self._beside)
        self._last = (step, rows)
        more, less = (rows, was) if step > former else (was, rows)
        if abs(step - former) == 1 and less > 0.0:
            self.savings = self.savings.saw_step(plan, max(step, former), more / less)

    def _go_to(self, policy: Policy) -> None:
        former, self.policy = self.policy, policy
        if policy.step == former.step:
            return
        record = self._state.record
        is_more = policy.step > former.step
        why = policy.why if is_more and policy.why is not None else Why.RESTORED
        said = with_degraded(record.degraded, Degraded(record.lowest_unclosed(), policy.step, why))
        self._state.change(News.WORD, degraded=said)


def step_text(plan: Degradation, step: int) -> str:
    """For people."""
    newest = plan.newest_at(step)
    if newest is None:
        return "all is sent"
    return f"{newest.operator.text} at level {newest.at} (step {step} of {plan.last_step})"


class DegradeProgress(msgspec.Struct, frozen=True):
    """Of one query, for people and metrics."""

    step: int = 0
    last_step: int = 0
    text: str = ""
    """What it does, in words."""
    why: str = ""
    need: float = 0.0
    """Bytes a second."""
    way: float | None = None
    narrowest: str = ""
    left: tuple[float, ...] = ()
    """By step from 1 on: what it is estimated to leave of the bytes at full fidelity."""
    degraded_count: int = 0
    restored_count: int = 0
    """How often a step came in, and went, in this process."""


def progress_of(degrading: Degrading) -> DegradeProgress | None:
    """None: it gives up nothing, whatever comes."""
    plan, policy = degrading.plan, degrading.policy
    if plan is None:
        return None
    steps = range(1, plan.last_step + 1)
    left = tuple(degrading.savings.left_of_all(plan, step) for step in steps)
    why = "" if policy.why is None else policy.why.value
    way = degrading.way
    return DegradeProgress(
        policy.step,
        plan.last_step,
        step_text(plan, policy.step),
        why,
        degrading.need,
        way.bytes_per_s,
        way.narrowest,
        left,
        degrading.degraded_count,
        degrading.restored_count,
    )
