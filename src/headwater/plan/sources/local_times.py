"""Local times of a zone whose clocks are changed: for which sources some of them are a guess.

Where clocks go back, an hour of local times comes twice; where they go forward, an hour does not
come at all. A time that says its own zone, or counts since 1970, is never in doubt.
"""

from __future__ import annotations

import msgspec

from headwater.plan.sources.log_formats import all_options
from headwater.plan.sources.source import Source
from headwater.plan.sources.time_formats import EPOCHS, ISO, formats_of
from headwater.plan.sources.time_patterns import has_zone
from headwater.plan.zones import is_fixed


class Guessed(msgspec.Struct, frozen=True):
    """Records of a source at one site whose time is a guess."""

    zone: str = ""
    twice: int = 0
    """Their local time comes twice: it is taken for the first."""
    never: int = 0
    """Their local time does not come: it is moved on by as much as clocks were."""

    def __bool__(self) -> bool:
        return bool(self.twice or self.never)

    def __add__(self, other: Guessed) -> Guessed:
        zone = self.zone or other.zone
        return Guessed(zone, self.twice + other.twice, self.never + other.never)

    def lines(self) -> list[str]:
        """For people.

        >>> Guessed("Europe/Berlin", 2, 0).lines()
        ['2 records have a local time that comes twice in Europe/Berlin: taken for the first']
        """
        found = []
        if self.twice:
            what = f"that comes twice in {self.zone}: taken for the first"
            found.append(f"{_records(self.twice)} a local time {what}")
        if self.never:
            what = f"that no clock shows in {self.zone}: moved on as clocks were"
            found.append(f"{_records(self.never)} a local time {what}")
        return found


def _records(count: int) -> str:
    return "1 record has" if count == 1 else f"{count:,} records have"


def guessing_zone(source: Source) -> str:
    """In which times of this source may be a guess; empty: none can. A time that is computed has
    no zone beside it."""
    options = all_options(source)
    zone = options.get("zone", "")
    if not zone or is_fixed(zone):
        return ""
    formats = formats_of(options.get("timestamp_format", ISO))
    return zone if any(not says_zone(one) for one in formats) else ""


def says_zone(format_: str) -> bool:
    """Whether every time that is written so says in which zone it is, or needs none. Of one in
    ISO 8601 its text tells."""
    return format_ != ISO and (format_ in EPOCHS or has_zone(format_))
