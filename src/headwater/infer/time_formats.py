"""How points in time are written, and which Spark pattern reads them.

A pattern is believed where it reads every value of a column and each is a day that there is. Where
two do (``03/04/2026`` is in March or in April), the more usual one is taken and the doubt is said.

>>> find_format(["01/May/2026:14:00:00 +0200"])
TimeFormat(pattern='dd/MMM/yyyy:HH:mm:ss Z', doubt='')
>>> find_format(["2026-05-01T12:00:00Z"]).pattern, find_format(["soon"])
('', None)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from headwater.plan.timestamps import timestamp_us

_DATES = (
    "yyyy/MM/dd",
    "dd.MM.yyyy",
    "MM/dd/yyyy",
    "dd/MM/yyyy",
    "dd-MM-yyyy",
    "MM-dd-yyyy",
    "dd MMM yyyy",
    "dd-MMM-yyyy",
    "dd/MMM/yyyy",
    "MMM dd yyyy",
    "MMM d, yyyy",
    "MMM d yyyy",
    "d.M.yyyy",
    "M/d/yyyy",
    "d/M/yyyy",
    "yyyyMMdd",
)
_TIMES = ("HH:mm:ss", "HH:mm", "H:mm:ss", "H:mm", "hh:mm:ss", "h:mm:ss", "h:mm", "HHmmss")
"""Those with ``h`` are followed by AM or PM."""
_ZONES = ("", " Z", "Z", "XXX", " XXX", "X", " z")
_SPECIAL = (
    "dd/MMM/yyyy:HH:mm:ss Z",
    "dd/MMM/yyyy:HH:mm:ss",
    "yyyyMMddHHmmss",
    "yyyyMMddHHmmssSSS",
    "yyyyMMdd'T'HHmmss",
    "yyyyMMdd'T'HHmmssX",
    "yyyyMMdd'T'HHmmss.SSSX",
    "yyyyMMdd-H:m:s",
    "yyyy-MM-dd-HH.mm.ss",
    "yyyy-MM-dd-HH.mm.ss.SSSSSS",
    "MMM dd HH:mm:ss yyyy",
    "MMM dd HH:mm:ss.SSSSSS yyyy",
    "MMM d HH:mm:ss yyyy",
    "yy/MM/dd HH:mm:ss",
    "yyMMdd HHmmss",
)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LETTERS = {
    "yyyy": r"(?P<year>\d{4})",
    "yy": r"(?P<short_year>\d\d)",
    "MMM": rf"(?P<name>{'|'.join(MONTHS)})",
    "MM": r"(?P<month>\d\d)",
    "M": r"(?P<month>\d{1,2})",
    "dd": r"(?P<day>\d\d)",
    "d": r"(?P<day>\d{1,2})",
    "HH": r"(?P<hour>\d\d)",
    "H": r"(?P<hour>\d{1,2})",
    "hh": r"(?P<hour>\d\d)",
    "h": r"(?P<hour>\d{1,2})",
    "mm": r"(?P<minute>\d\d)",
    "m": r"(?P<minute>\d{1,2})",
    "ss": r"(?P<second>\d\d)",
    "s": r"(?P<second>\d{1,2})",
    "a": r"(?P<half>AM|PM)",
    "Z": r"(?P<zone>[+-]\d{4})",
    "XXX": r"(?P<zone>Z|[+-]\d\d:\d\d)",
    "X": r"(?P<zone>Z|[+-]\d\d(?:\d\d)?)",
    "z": r"(?P<zone>UTC|GMT)",
}
_PIECE = re.compile(r"'([^']*)'|([A-Za-z])\2*|.")
THIS_CENTURY = "20"
"""Java takes years of two digits for those from 2000 on."""
TRIED_MAX = 5
"""Values whose own patterns are tried: the first ones may be malformed."""
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?"
    r"(\s?(?:Z|UTC|GMT|[+-]\d\d(?::?\d\d)?))?)?"
)
_COMMA = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d),(\d{3})")
_TIME_OF_DAY = re.compile(r"[0-2]?\d:[0-5]\d(?::[0-6]\d(?:[.,]\d{1,9})?)?")
_WEEKDAY = re.compile(r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*\d\d:\d\d.*")


class TimeFormat(msgspec.Struct, frozen=True):
    pattern: str
    """Spark's; empty: ISO 8601, which needs none."""
    doubt: str = ""


def find_format(values: Sequence[str], *, share: float = 1.0) -> TimeFormat | None:
    """Of a column whose values are points in time, with a time of day; None: they are not.

    ``share``: so many of the values must be, at least.
    """
    least = share * len(values)
    if not values:
        return None
    times = [value for value in values if is_iso_time(value)]
    if times and len(times) >= least:
        return TimeFormat("")
    if sum(_COMMA.fullmatch(value) is not None for value in values) >= least:
        letter = "'T'" if "T" in values[0] else " "
        return TimeFormat(f"yyyy-MM-dd{letter}HH:mm:ss,SSS")
    for value in values[:TRIED_MAX]:
        found = _chosen([one for one in patterns_of(value) if _reads(one, values) >= least])
        if found is not None:
            return found
    return None


def find_date_format(values: Sequence[str]) -> TimeFormat | None:
    """Of a column of days, without a time of day."""
    if not values:
        return None
    if all(is_iso_date(value) for value in values):
        return TimeFormat("yyyy-MM-dd")
    return _chosen([pattern for pattern in _DATES if _reads(pattern, values) == len(values)])


def is_iso_date(text: str) -> bool:
    return len(text) == 10 and timestamp_us(text) is not None


def is_iso_time(text: str) -> bool:
    """
    >>> is_iso_time("2026-05-01 12:00"), is_iso_time("2026-05-01"), is_iso_time("2026-13-01 12:00")
    (True, False, False)
    """
    match = _ISO.fullmatch(text)
    return match is not None and match[2] is not None and timestamp_us(match[1]) is not None


def is_time_of_day(text: str) -> bool:
    return _TIME_OF_DAY.fullmatch(text) is not None


def names_weekday(values: Sequence[str]) -> bool:
    """``Fri, 01 May 2026 12:00:00 GMT``: Spark has no pattern that reads names of days."""
    return bool(values) and all(_WEEKDAY.fullmatch(value) for value in values)


def format_us(value: str, pattern: str) -> int | None:
    """Microseconds since 1970, read as UTC where there is no zone; None: it can't be told."""
    if not pattern:
        match = _ISO.fullmatch(value)
        if match is None:
            return None
        zone = (match[4] or "").strip()
        return timestamp_us(f"{match[1]} {_seconds(match[2])}{_offset(zone)}")
    if pattern.endswith(",SSS") and pattern.startswith("yyyy-MM-dd"):
        match = _COMMA.fullmatch(value)
        return None if match is None else timestamp_us(f"{match[1]} {match[2]}.{match[3]}")
    found = _regex(pattern).fullmatch(value)
    return None if found is None else _us_of(found.groupdict())


def patterns_of(value: str) -> list[str]:
    """All that read this text, by parts: the date, the time of day, a fraction, a zone.

    >>> patterns_of("3.4.2026 12:00"), patterns_of("42")
    (['d.M.yyyy HH:mm', 'd.M.yyyy H:mm'], [])
    """
    found = [pattern for pattern in _SPECIAL if _regex(pattern).fullmatch(value)]
    for date in _DATES:
        match = _regex(date).match(value)
        rest = value[match.end() :] if match is not None else ""
        if rest[:1] in (" ", "T"):
            symbol = " " if rest[0] == " " else "'T'"
            found += [f"{date}{symbol}{time}" for time in _times_of(rest[1:])]
    return found


def _times_of(text: str) -> list[str]:
    found = []
    for time in _TIMES:
        match = _regex(time).match(text)
        if match is None:
            continue
        rest = text[match.end() :]
        fraction = re.match(r"[.,]\d{1,9}", rest)
        if fraction is not None and time.endswith("ss"):
            rest = rest[fraction.end() :]
            time += fraction.group()[0] + "S" * (fraction.end() - 1)
        if time[0] == "h":
            if rest[:3] not in (" AM", " PM"):
                continue
            time, rest = f"{time} a", rest[3:]
        found += [time + zone for zone in _ZONES if _regex(zone).fullmatch(rest)]
    return found


def _chosen(patterns: Sequence[str]) -> TimeFormat | None:
    """The first; where another one has day and month exchanged, that is a doubt."""
    if not patterns:
        return None
    first = patterns[0]
    doubt = ""
    other = next((one for one in patterns[1:] if _is_other_order(first, one)), None)
    if other is not None:
        what = "day" if first.lower().startswith("d") else "month"
        doubt = (
            f"could be {first} or {other}: no value tells the day from the month; taken with the "
            f"{what} first"
        )
    return TimeFormat(first, doubt)


def _is_other_order(first: str, second: str) -> bool:
    """The same with day and month exchanged."""
    swapped = first.replace("MM", "\0").replace("dd", "MM").replace("\0", "dd")
    if "MM" not in first:
        swapped = first.replace("M", "\0", 1).replace("d", "M", 1).replace("\0", "d", 1)
    return second == swapped and swapped != first and "MMM" not in first


def _reads(pattern: str, values: Sequence[str]) -> int:
    """How many of the values are such times, on days that there are."""
    regex = _regex(pattern)
    matches = (regex.fullmatch(value) for value in values)
    return sum(match is not None and _us_of(match.groupdict()) is not None for match in matches)


@lru_cache(maxsize=1024)
def _regex(pattern: str) -> re.Pattern[str]:
    parts = []
    for match in _PIECE.finditer(pattern):
        piece = match.group()
        if match[1] is not None:
            parts.append(re.escape(match[1]))
        elif piece[0] == "S":
            parts.append(rf"(?P<fraction>\d{{{len(piece)}}})")
        else:
            parts.append(_LETTERS.get(piece) or re.escape(piece))
    return re.compile("".join(parts))


def _us_of(found: dict[str, str | None]) -> int | None:
    month = found.get("month")
    name = found.get("name")
    number = MONTHS.index(name) + 1 if name else int(month or 0)
    hour = int(found.get("hour") or 0)
    half = found.get("half")
    if half is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (half == "PM")
    minute, second = int(found.get("minute") or 0), int(found.get("second") or 0)
    time = f"{hour:02d}:{minute:02d}:{second:02d}"
    fraction = (found.get("fraction") or "0")[:6]
    year = found.get("year") or f"{THIS_CENTURY}{found['short_year']}"
    day = f"{year}-{number:02d}-{int(found.get('day') or 0):02d}"
    return timestamp_us(f"{day} {time}.{fraction}{_offset(found.get('zone') or '')}")


def _seconds(time: str | None) -> str:
    time = time or "00:00:00"
    return time if len(time) == 8 else f"{time}:00"


def _offset(zone: str) -> str:
    if not zone or zone in ("Z", "UTC", "GMT"):
        return ""
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return f"{zone[0]}{digits}"
