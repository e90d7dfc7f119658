"""The alarms of one query, as its root keeps them: bounded, durable, and cleared by nobody.

What is raised again is counted. Nothing takes an alarm out of the book but its age, once all its
windows are over, or a newer one where the book is full: then the one goes that was raised longest
ago, of those whose windows are over. Where all of them concern windows that are not, the newcomer
is not named: one alarm (*unnamed*) stands for all of these, wide enough for each. So however many
lies are told, no window that an alarm is about is called exact, and the count is true.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from headwater.algebra.words.alarm import NO_SITE, Alarm, AlarmKind

ALARM_KEPT_S = 30 * 86_400.0
"""So long an alarm is shown after it was last raised and its windows are over."""


class StandingAlarm(msgspec.Struct, frozen=True):
    """An alarm as the book has it. ``number`` is its place there, which a later one may take."""

    number: int
    alarm: Alarm
    count: int
    first_s: float
    """When it was raised, by the root's wall clock."""
    last_s: float


class AlarmBook:
    def __init__(self, query: str, *, alarms_max: int) -> None:
        self._query = query
        self._alarms_max = alarms_max
        self._standing: dict[int, StandingAlarm] = {}
        self.raised: Counter[str] = Counter()
        """By kind, in this life."""

    def __len__(self) -> int:
        return len(self._standing)

    def restore(self, kept: Iterable[StandingAlarm]) -> None:
        self._standing = {one.number: one for one in kept}

    def add(self, alarm: Alarm, *, done_through: int, wall_s: float) -> StandingAlarm:
        """Take it; as it stands now. It must be kept. Panes below ``done_through`` are over."""
        self.raised[alarm.kind] += 1
        known = self._find(alarm)
        if known is None and not self._has_room(done_through):
            text = f"more alarms than the {self._alarms_max} that are named; the newest: "
            panes = (alarm.first, alarm.last)
            alarm = Alarm.of(
                AlarmKind.UNNAMED, self._query, NO_SITE, panes, text + alarm.text, alarm.carriers
            )
            known = self._find_unnamed()
        if known is None:
            standing = StandingAlarm(self._free_number(), alarm, 1, wall_s, wall_s)
        else:
            standing = msgspec.structs.replace(
                known, alarm=known.alarm.joined(alarm), count=known.count + 1, last_s=wall_s
            )
        self._standing[standing.number] = standing
        return standing

    def of(self, first: int, last: int) -> list[Alarm]:
        """Those about these panes."""
        if not self._standing:
            return []
        return [one.alarm for one in self._standing.values() if one.alarm.concerns(first, last)]

    def drop_old(self, *, done_through: int, wall_s: float) -> None:
        """The ledger does the same when it trims."""
        since_s = wall_s - ALARM_KEPT_S
        for one in list(self._standing.values()):
            if one.alarm.last < done_through and one.last_s < since_s:
                del self._standing[one.number]

    def _find(self, alarm: Alarm) -> StandingAlarm | None:
        return next((one for one in self._standing.values() if one.alarm.touches(alarm)), None)

    def _find_unnamed(self) -> StandingAlarm | None:
        found = (one for one in self._standing.values() if one.alarm.ordinal == NO_SITE)
        return next(found, None)

    def _has_room(self, done_through: int) -> bool:
        """After making some, if that is possible."""
        if len(self._standing) < self._alarms_max:
            return True
        over = [one for one in self._standing.values() if one.alarm.last < done_through]
        if over:
            del self._standing[min(over, key=lambda one: one.last_s).number]
        return bool(over)

    def _free_number(self) -> int:
        return next(n for n in range(self._alarms_max + 1) if n not in self._standing)
