"""Times of day as text for people and programs alike."""

from __future__ import annotations

import re
from datetime import UTC, datetime

DAY_US = 86_400_000_000
TIME_OF_DAY = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?Z?")


def iso(time_us: int) -> str:
    """A time of microseconds since 1970 as text, without parts that are zero.

    >>> iso(0), iso(1_500_000)
    ('1970-01-01T00:00:00Z', '1970-01-01T00:00:01.500Z')
    """
    return iso_of(datetime.fromtimestamp(time_us / 1e6, UTC))


def iso_of(at: datetime) -> str:
    """The same of a moment that is known as such."""
    text = at.isoformat(timespec="milliseconds" if at.microsecond else "seconds")
    return text.replace("+00:00", "Z")


def last_time_us(text: str, *, now_us: int) -> int | None:
    """When it was last this time of day, UTC; None: the text is none.

    >>> iso(last_time_us("09:10", now_us=100 * DAY_US))
    '1970-04-10T09:10:00Z'
    """
    match = TIME_OF_DAY.fullmatch(text.strip())
    if match is None:
        return None
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    of_day_us = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000
    today_us = now_us - now_us % DAY_US + of_day_us
    return today_us if today_us <= now_us else today_us - DAY_US
