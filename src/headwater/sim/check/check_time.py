"""*Answered in time*: the rule "Deadlines", where nothing is wrong but clocks.

A window's deadline runs from its end, by the clocks that windows go by. One that had ended when its
query came to the root has none while sites catch up, and is answered when it is complete: which is
as soon as the sites have said that they began later. A query that begins far back, or one by age
whose root's clock is hours ahead of the one that its begin was read off, has thousands of these.
They may take as many Spark jobs as they need, one after the other and without a pause; and windows
that end later are in time all the same.
"""

from __future__ import annotations

from collections import Counter

from headwater.node import effects as do
from headwater.node.config import NodeConfig
from headwater.plan.query import Query
from headwater.root.outputs import WindowAnswer
from headwater.sim.outcome import Violation
from headwater.sim.tuning import Pace

TIMELY_S = 12.0
"""How long after its deadline a window is answered at the latest where nothing is wrong: clocks
are off by some seconds, and one answer waits for another."""


class TimeCheck:
    """For all queries of a run."""

    def __init__(self, pace: Pace, config: NodeConfig) -> None:
        self.is_calm = False
        """No fault troubles this run, so answers must be in time."""
        self._settle_s = config.root.clock_settle_s
        self._job_s = 2.0 * pace.answer_s[1]
        """A job, and now and then a second one after it has failed."""
        self._begun_s: dict[str, float] = {}
        """By query: the root's wall clock when it came there."""
        self._jobs: Counter[str] = Counter()

    def begun(self, query: str, *, wall_s: float) -> None:
        self._begun_s.setdefault(query, wall_s)

    def published(self, query: Query, answer: do.Answer) -> None:
        """Of a calm run. Where no clock is set, a root's wall clock is as good as a steady one."""
        for request in answer.requests:
            if self.is_calm and request.revision == 1:
                self._check(query, request)
        self._jobs[answer.query] += 1

    def _check(self, query: Query, request: WindowAnswer) -> None:
        stale_s = request.envelope.staleness_s
        here_s = request.envelope.answered_at_s - self._begun_s[str(query.id)]
        late_s = stale_s - query.timing.deadline_s
        what = "its deadline"
        if stale_s > here_s:
            jobs_s = self._job_s * self._jobs[str(query.id)]
            late_s = here_s - query.timing.deadline_s - self._settle_s - jobs_s
            what = "it should have been, of those that had ended before its query came"
        if late_s > TIMELY_S:
            window = f"{query.id} window {request.window}"
            raise Violation("answered in time", f"{window}: {late_s:.1f} s after {what}")
