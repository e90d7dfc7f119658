"""The alarms that a ledger keeps, also of removed queries: each until it is old, its pane done."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from headwater.algebra.words.alarm import NO_SITE, Alarm, AlarmKind
from headwater.errors import UnreadableRow
from headwater.root.carriers.alarm_book import ALARM_KEPT_S, StandingAlarm
from headwater.store.manifest import Manifest
from headwater.store.row_value import row_value

ENDED_ALARMS_MAX = 1_000
"""Alarms of removed queries that are kept, the newest; all go when they are old."""


class KeptAlarms:
    """Of one ledger, which writes within its transactions."""

    def __init__(self, manifest: Manifest, *, clock: Callable[[], float]) -> None:
        self._manifest = manifest
        self._clock = clock

    def keep(self, query: str, standing: StandingAlarm) -> None:
        self._manifest.run(
            "INSERT OR REPLACE INTO alarms VALUES (?, ?, ?, ?, 0, ?)",
            (
                query,
                standing.number,
                standing.alarm.last,
                standing.last_s,
                msgspec.msgpack.encode(standing),
            ),
        )

    def trim(self, query: str, done_through: int) -> None:
        self._manifest.run(
            "DELETE FROM alarms WHERE query = ? AND last_pane < ? AND last_s < ?",
            (query, done_through, self._clock() - ALARM_KEPT_S),
        )

    def end(self, query: str) -> None:
        """It was removed."""
        self._manifest.run("UPDATE alarms SET is_ended = 1 WHERE query = ?", (query,))
        since_s = self._clock() - ALARM_KEPT_S
        self._manifest.run("DELETE FROM alarms WHERE is_ended = 1 AND last_s < ?", (since_s,))
        self._manifest.run(
            "DELETE FROM alarms WHERE is_ended = 1 AND (query, number) NOT IN ("
            "SELECT query, number FROM alarms WHERE is_ended = 1 "
            "ORDER BY last_s DESC, query, number LIMIT ?)",
            (ENDED_ALARMS_MAX,),
        )

    def all(self) -> tuple[StandingAlarm, ...]:
        """Of all queries, removed ones among them, the newest last."""
        if self._manifest.is_untouched:
            return ()
        found = self._manifest.all("SELECT * FROM alarms ORDER BY last_s, query, number")
        return tuple(self._alarm(*row) for row in found)

    def _alarm(
        self, query: str, number: int, last_pane: int, last_s: float, _: int, content: bytes
    ) -> StandingAlarm:
        """One that can't be read hides no other: it is shown as far as its row tells."""
        try:
            where = f"alarm {number} of {query}, in {self._manifest.path},"
            return row_value(content, StandingAlarm, where=where)
        except UnreadableRow as error:
            panes = (last_pane, last_pane)
            alarm = Alarm.of(AlarmKind.UNNAMED, query, NO_SITE, panes, str(error))
            return StandingAlarm(number, alarm, 1, last_s, last_s)
