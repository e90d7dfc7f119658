"""At which step of its degradation a query is: one step at a time, and without oscillation.

Once a period, at the close of a pane, somebody says what the query needs and what the way carries.
Two periods in a row that fall short bring the next step in. A step goes again when what the finer
one is estimated to need has fitted into nine tenths of the way for a while. That while begins at
ten seconds, and doubles with each *relapse*, when a step that was taken back had to come again
soon: an estimate that is always wrong is then believed every five minutes, and not every few
seconds::

    need ÷ way   ▂▂▂▂██▆▆▆▃▃▃▃▃▃▃▃▂▂▂▂
    step         0000001111111111110000
                     └┘ two periods └ fitted for ten seconds

Without a word of the way nothing changes. A way that carries nothing at all is an outage: what is
closed then waits on the disk and is sent later, so there is nothing to gain by giving it up.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from headwater.algebra.words.degraded import Why

SHORT_PERIODS = 2
"""That fall short, before a step comes in."""
FITS_SHARE = 0.9
"""Of the way that the finer step's need must fit into: the rest is the backlog's and the repairs',
and what estimates are off by."""
RESTORE_S_MIN = 10.0
RESTORE_S_MAX = 300.0
WAITED_S_MAX = 1.0
"""What has waited longer at its site for the way says that it is too narrow, whatever was measured
of it."""


class Period(msgspec.Struct, frozen=True):
    """What is seen in one."""

    need: float
    """Bytes a second that the query's panes take on the wire at its present step."""
    finer: float
    """What they are estimated to take one step before; at step 0 the same."""
    way: float | None
    """What the way carries, in bytes a second; None: nobody knows."""
    waited_s: float = 0.0
    """For how long the oldest live pane has waited to leave the site."""
    is_budget: bool = False
    """The way is as narrow as somebody has set it."""

    def why(self, waited_s: float) -> Why | None:
        """What it lacks; None: it fits. ``waited_s``: as it was a period ago. What waits and gets
        less is what came before the step that made it so, and no reason for another."""
        if self.way is None:
            return None
        if self.need > self.way:
            return Why.BUDGET if self.is_budget else Why.CAPACITY
        is_growing = self.waited_s > max(WAITED_S_MAX, waited_s)
        return Why.QUEUE if is_growing else None

    @property
    def has_finer_fit(self) -> bool:
        way = 0.0 if self.way is None else self.way
        return self.finer <= FITS_SHARE * way and self.waited_s <= WAITED_S_MAX


class Policy(msgspec.Struct, frozen=True):
    """Where one query stands."""

    step: int = 0
    why: Why | None = None
    """For what the step came in that came in last; None: all is at full fidelity."""
    short_count: int = 0
    """Periods in a row, up to now, that fell short."""
    fits_since_s: float | None = None
    """Since when a finer step would have fitted; None: it would not."""
    restore_after_s: float = RESTORE_S_MIN
    restored_s: float | None = None
    """When a step was last taken back, if none has come in since."""
    came_s: float | None = None
    """When a step last came in."""
    waited_s: float = 0.0
    """Of the period before."""

    def after(
        self, seen: Period, *, last_step: int, same: Collection[int] = (), now_s: float
    ) -> Policy:
        """The same, a period later. Steps beyond the last, as after settings were altered, go at
        once. ``same``: steps that are known to leave all that the one before them does. They are no
        change, so nobody rests at one."""
        after = self._after(seen, last_step=last_step, now_s=now_s)
        if after.step != self.step and after.step in same:
            after = after._passing(same, last_step=last_step, is_more=after.step > self.step)
        return msgspec.structs.replace(after, waited_s=seen.waited_s)

    def _after(self, seen: Period, *, last_step: int, now_s: float) -> Policy:
        if self.step > last_step:
            return msgspec.structs.replace(self, step=last_step)
        if seen.way is None or seen.way < 1.0:
            return msgspec.structs.replace(self, short_count=0, fits_since_s=None)
        why = seen.why(self.waited_s)
        if why is not None:
            return self._short(why, last_step=last_step, now_s=now_s)
        if not self.step or not seen.has_finer_fit:
            return msgspec.structs.replace(self, short_count=0, fits_since_s=None)
        return self._fitting(now_s=now_s)

    def _passing(self, same: Collection[int], *, last_step: int, is_more: bool) -> Policy:
        step = self.step
        while is_more and step in same and step < last_step:
            step += 1
        while step in same:
            step -= 1
        return msgspec.structs.replace(self, step=step, why=self.why if step else None)

    def _short(self, why: Why, *, last_step: int, now_s: float) -> Policy:
        count = self.short_count + 1
        if count < SHORT_PERIODS or self.step >= last_step:
            return msgspec.structs.replace(self, short_count=count, fits_since_s=None)
        return Policy(self.step + 1, why, restore_after_s=self._while_s(now_s), came_s=now_s)

    def _while_s(self, now_s: float) -> float:
        """For which the next finer step must fit, when a step comes in now."""
        if self.restored_s is not None and now_s - self.restored_s < RESTORE_S_MAX:
            return min(2.0 * self.restore_after_s, RESTORE_S_MAX)
        if self.came_s is not None and now_s - self.came_s < RESTORE_S_MAX:
            return self.restore_after_s
        return RESTORE_S_MIN

    def _fitting(self, *, now_s: float) -> Policy:
        since_s = now_s if self.fits_since_s is None else min(self.fits_since_s, now_s)
        if now_s - since_s < self.restore_after_s:
            return msgspec.structs.replace(self, short_count=0, fits_since_s=since_s)
        step = self.step - 1
        return msgspec.structs.replace(
            self,
            step=step,
            why=self.why if step else None,
            short_count=0,
            fits_since_s=None,
            restored_s=now_s,
        )
