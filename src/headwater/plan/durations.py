"""Stretches of time as people write them, in whole microseconds, and back.

Only units of fixed length: a month has none.
"""

import re

_UNITS_US = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_SHORT = {
    "us": "microsecond",
    "µs": "microsecond",
    "ms": "millisecond",
    "s": "second",
    "sec": "second",
    "secs": "second",
    "m": "minute",
    "min": "minute",
    "mins": "minute",
    "h": "hour",
    "hr": "hour",
    "hrs": "hour",
    "d": "day",
    "w": "week",
}
EXAMPLES = "'10s', '10 seconds', '2 minutes', '500ms', '1h', '7d'"
DURATION_US_MAX = 100 * 366 * _UNITS_US["day"]
"""A century: longer is a slip of the pen, and would not fit Spark's intervals."""


def duration_us(text: str) -> int | None:
    """The length that the text says, sums included; None if it says none.

    >>> duration_us("10s"), duration_us("2 minutes"), duration_us("1h 30m"), duration_us("500ms")
    (10000000, 120000000, 5400000000, 500000)
    >>> duration_us("1 month")
    """
    pattern = r"\s*(\d{1,18})(?:\.(\d{1,6}))?\s*([A-Za-zµ]+)"
    if re.fullmatch(f"(?:{pattern})+\\s*", text) is None:
        return None
    total = 0
    for whole, fraction, word in re.findall(pattern, text):
        unit = _unit_us(word.lower())
        if unit is None:
            return None
        total += int(whole) * unit + int((fraction or "").ljust(6, "0")) * unit // 1_000_000
    return total if total <= DURATION_US_MAX else None


def _unit_us(word: str) -> int | None:
    name = _SHORT.get(word, word)
    return _UNITS_US.get(name) or _UNITS_US.get(name.removesuffix("s"))


def duration_text(us: int) -> str:
    """In the largest unit that leaves no rest, as Spark's intervals are written.

    >>> duration_text(10_000_000), duration_text(90_000_000), duration_text(3_600_000_000)
    ('10 seconds', '90 seconds', '1 hour')
    """
    units = ("day", "hour", "minute", "second", "millisecond", "microsecond")
    unit = next(unit for unit in units if us % _UNITS_US[unit] == 0) if us else "second"
    count = us // _UNITS_US[unit]
    return f"{count} {unit}{'' if count == 1 else 's'}"


def window_text(*, range_us: int, slide_us: int) -> str:
    """
    >>> day_us = 86_400_000_000
    >>> window_text(range_us=30 * day_us, slide_us=30 * day_us)
    '30 days'
    >>> window_text(range_us=day_us, slide_us=60_000_000)
    '1 day every 1 minute'
    """
    every = "" if slide_us == range_us else f" every {duration_text(slide_us)}"
    return duration_text(range_us) + every
