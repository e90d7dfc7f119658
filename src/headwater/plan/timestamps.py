"""Points in time as people write them, in microseconds since 1970, UTC.

By hand, because a pure layer has no calendar module to reach for: a date is turned into days by
counting in years that begin in March, where the leap day comes last.
"""

import re

EXAMPLES = "'2026-05-01', '2026-05-01 12:30', '2026-05-01T12:30:00.250Z', '… +02:00'"

_PATTERN = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?\s*(Z|[+-]\d\d:?\d\d)?)?",
    re.IGNORECASE,
)
_DAYS_BEFORE_1970 = 719_468
"""From 1 March of the year 0 to 1 January 1970."""


def timestamp_us(text: str) -> int | None:
    """None where the text is no timestamp.

    >>> timestamp_us("1970-01-02"), timestamp_us("1970-01-01T01:00:00.5+01:00")
    (86400000000, 500000)
    >>> timestamp_us("2026-02-29")
    """
    match = _PATTERN.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day = (int(part) for part in match.groups()[:3])
    hour, minute, second = (int(part or 0) for part in match.groups()[3:6])
    if not (1 <= month <= 12 and 1 <= day <= _days_in(year, month)):
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    seconds = _days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
    return (seconds - _zone_s(match[8])) * 1_000_000 + int((match[7] or "").ljust(6, "0"))


def timestamp_text(us: int) -> str:
    """
    >>> timestamp_text(86_400_000_000), timestamp_text(-1)
    ('1970-01-02 00:00:00 UTC', '1969-12-31 23:59:59.999999 UTC')
    """
    seconds, fraction = divmod(us, 1_000_000)
    days, second = divmod(seconds, 86_400)
    date = "{:04d}-{:02d}-{:02d}".format(*_date_of(days))
    time = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
    return f"{date} {time}{f'.{fraction:06d}' if fraction else ''} UTC"


def _date_of(days: int) -> tuple[int, int, int]:
    """From an estimate of the year that is never too early and at most two too late."""
    year = 1970 + days * 400 // 146_097 + 1
    while _days_since_1970(year, 1, 1) > days:
        year -= 1
    month = next(m for m in range(12, 0, -1) if _days_since_1970(year, m, 1) <= days)
    return year, month, days - _days_since_1970(year, month, 1) + 1


def _days_in(year: int, month: int) -> int:
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 28 + is_leap if month == 2 else 30 + (month in (1, 3, 5, 7, 8, 10, 12))


def _days_since_1970(year: int, month: int, day: int) -> int:
    year, month = (year, month - 3) if month > 2 else (year - 1, month + 9)
    before_year = 365 * year + year // 4 - year // 100 + year // 400
    before_month = (153 * month + 2) // 5
    return before_year + before_month + day - 1 - _DAYS_BEFORE_1970


def _zone_s(zone: str | None) -> int:
    if not zone or zone in "Zz":
        return 0
    size = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
    return size if zone[0] == "+" else -size
