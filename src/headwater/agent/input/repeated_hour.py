"""The hour that comes twice, when clocks go back: said once as the records of a source reach it.

Records that say no zone are then placed in the first of both hours, and so are those of the second.
An agent does not count them (``check-source`` and ``try`` do), but nobody shall wonder why an hour
has twice as many, and the next one none.
"""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headwater.plan.sources.local_times import guessing_zone
from headwater.plan.sources.source import Source

KIND = "hour comes twice"
"""Of the notice."""


class RepeatedHour:
    """Of one source."""

    def __init__(self, source: Source) -> None:
        self._source = source.name
        self._zone = _zone(guessing_zone(source))
        self._said_for: object = None

    def reached(self, high_time_us: int | None) -> list[tuple[str, str]]:
        """What people are to be told now that a batch has records up to this time."""
        if self._zone is None or high_time_us is None:
            return []
        try:
            local = datetime.fromtimestamp(high_time_us // 1_000_000, UTC).astimezone(self._zone)
        except (OverflowError, ValueError):  # at the ends of the calendar
            return []
        again = local.replace(fold=1)
        if local.fold or again.utcoffset() == local.utcoffset() or local.date() == self._said_for:
            return []
        self._said_for = local.date()
        text = (
            f"source {self._source}: clocks go back in {self._zone.key}, and local times such as "
            f"{local:%H:%M} come twice; those that say no zone are taken for the first"
        )
        return [(KIND, text)]


def _zone(name: str) -> ZoneInfo | None:
    """None also where this machine has no database of zones: Java's own is not asked for this."""
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, OSError):
        return None
