"""Which column places a record in time.

A column of points in time beats a date beside a time of day, which beats a number that could be
seconds since 1970; among equals the name decides, then the place. What was close is named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from headwater.infer.epoch import epoch_us, find_unit
from headwater.infer.guess import TimeGuess
from headwater.infer.time_formats import (
    find_date_format,
    find_format,
    format_us,
    is_time_of_day,
    names_weekday,
)
from headwater.plan.sources.time_formats import EPOCHS, SAYS_ZONE
from headwater.plan.sources.time_patterns import has_zone

NAMES = (
    "@timestamp",
    "timestamp",
    "ts",
    "time",
    "datetime",
    "date_time",
    "event_time",
    "eventtime",
    "time_local",
    "time_iso8601",
    "logtime",
    "log_time",
    "t",
    "at",
    "when",
    "created_at",
    "created",
    "date",
)
"""Names of times, the most telling first."""
_LIKE_A_TIME = re.compile(r"time|date|(^|_)(ts|at|epoch|stamp|created|when)($|_|\d)", re.IGNORECASE)
DAY_ALONE = 4
"""The kind of a day without a time of day, which says of itself that it is in UTC."""
SHARE_MIN = 0.9
"""Of the values that must be times: a file may have a bad line."""


class Candidate(msgspec.Struct, frozen=True):
    columns: tuple[str, ...]
    pattern: str
    rank: tuple[int, int, int]
    """The smallest wins: kind, name, place."""
    symbols: tuple[str, ...] = ()
    doubt: str = ""
    first_us: int | None = None
    last_us: int | None = None


class TimeChoice(msgspec.Struct, frozen=True):
    time: TimeGuess
    others: dict[str, str]
    """Columns that are points in time as well, by name, with their patterns."""
    doubts: tuple[str, ...]
    zone_doubt: str = ""
    """Said where the format itself does not say in which zone its times are."""


def choose_time(columns: Mapping[str, Sequence[str]]) -> TimeChoice | str:
    """``columns``: by name the values that are not empty, in the order of the file. A text says why
    there is none."""
    found = [one for at, name in enumerate(columns) for one in _tried(columns, name, at)]
    found += _in_parts(columns)
    if not found:
        return _why_none(columns)
    best = min(found, key=lambda one: one.rank)
    rest = [one for one in found if one is not best and len(one.columns) == 1]
    doubts = [f"`{'` and `'.join(best.columns)}`: {best.doubt}"] if best.doubt else []
    near = [one.columns[0] for one in rest if one.rank[0] == best.rank[0]]
    near = [name for name in near if name not in best.columns]
    if near:
        doubts.append(
            f"`{best.columns[0]}` places records in time; `{'`, `'.join(near)}` could as well"
        )
    time = TimeGuess(best.columns, best.pattern, best.symbols, best.first_us, best.last_us)
    others = {one.columns[0]: one.pattern for one in rest if one.rank[0] == 0}
    return TimeChoice(time, others, tuple(doubts), _zone_doubt(best, columns))


def _zone_doubt(best: Candidate, columns: Mapping[str, Sequence[str]]) -> str:
    """Empty where the times say their zone."""
    if _says_zone(best, columns):
        return ""
    return (
        f"`{'` and `'.join(best.columns)}`: these times say no zone and are taken for UTC; where "
        "they are another's, write zone = 'Europe/Berlin' or the like (an hour that comes twice "
        "there, as clocks go back, is then the first)"
    )


def _says_zone(best: Candidate, columns: Mapping[str, Sequence[str]]) -> bool:
    """Or needs none, as what counts since 1970."""
    if best.pattern in EPOCHS or best.rank[0] == DAY_ALONE:
        return True
    if best.pattern:
        return has_zone(best.pattern)
    return all(re.search(SAYS_ZONE, value) for value in columns[best.columns[-1]] if ":" in value)


def _tried(columns: Mapping[str, Sequence[str]], name: str, at: int) -> list[Candidate]:
    values = columns[name]
    place = (name_rank(name), at)
    whole = find_format(values, share=SHARE_MIN)
    if whole is not None:
        times = [us for value in values if (us := format_us(value, whole.pattern)) is not None]
        rest = len(values) - len(times)
        doubt = whole.doubt or (f"{rest} of {len(values)} values are no such times" if rest else "")
        return [Candidate((name,), whole.pattern, (0, *place), (), doubt, *_span(times))]
    unit = find_unit(values)
    if unit is not None:
        return [_counted(name, values, unit, place)]
    date = find_date_format(values)
    if date is None:
        return []
    return _with_time_of_day(columns, name, date.pattern, date.doubt, place)


def _counted(name: str, values: Sequence[str], unit: str, place: tuple[int, int]) -> Candidate:
    is_named = _LIKE_A_TIME.search(name) is not None
    doubt = "" if is_named else f"its numbers look like times since 1970 ({unit})"
    times = [us for value in values if (us := epoch_us(value, unit)) is not None]
    rank = (1 if is_named else 3, *place)
    return Candidate((name,), unit, rank, (), doubt, *_span(times))


def _with_time_of_day(
    columns: Mapping[str, Sequence[str]],
    name: str,
    pattern: str,
    doubt: str,
    place: tuple[int, int],
) -> list[Candidate]:
    days = columns[name]
    found = []
    for other, values in columns.items():
        if other != name and values and all(is_time_of_day(value) for value in values):
            whole = f"{pattern} {_time_pattern(values)}"
            texts = [" ".join(pair) for pair in zip(days, values, strict=False)]
            times = _read(texts if len(days) == len(values) else days, whole, pattern)
            found.append(Candidate((name, other), whole, (2, *place), (" ",), doubt, *_span(times)))
    alone = "a day without a time of day: all records of a day are placed at its midnight, in UTC"
    times = _read(days, pattern, pattern)
    return [*found, Candidate((name,), pattern, (DAY_ALONE, *place), (), alone, *_span(times))]


def _read(texts: Sequence[str], *patterns: str) -> list[int]:
    """By the first pattern that reads any of them. ISO dates are their own kind."""
    for pattern in patterns:
        plain = "" if pattern.startswith("yyyy-MM-dd") else pattern
        found = [us for text in texts if (us := format_us(text, plain)) is not None]
        if found:
            return found
    return []


def _in_parts(columns: Mapping[str, Sequence[str]]) -> list[Candidate]:
    """Year, month and day in columns of their own, with a time of day as 12:30 or 1230."""
    found = [_first_of(columns, _PARTS[part], limit) for part, limit in _PART_LIMITS.items()]
    if not all(found):
        return []
    date = tuple(name for name in found if name is not None)
    clock = _first_of(columns, _CLOCK, 2400) or next(
        (
            name
            for name, values in columns.items()
            if values and name not in date and all(map(is_time_of_day, values))
        ),
        None,
    )
    if clock is None:
        doubt = "a day without a time of day: its records are placed at midnight, in UTC"
        return [Candidate(date, "y-M-d", (4, 0, 0), ("-", "-"), doubt)]
    values = columns[clock]
    pattern = "HHmm" if all(value.isdigit() for value in values) else _time_pattern(values)
    doubt = ""
    if pattern == "HHmm" and any(len(value) != 4 for value in values):
        doubt = f"`{clock}` has times of less than four digits, which HHmm does not read"
    return [Candidate((*date, clock), f"y-M-d {pattern}", (2, 0, 0), ("-", "-", " "), doubt)]


_PARTS = {
    "year": re.compile(r"year|yr|yyyy", re.IGNORECASE),
    "month": re.compile(r"month|mon|mm", re.IGNORECASE),
    "day": re.compile(r"day_?of_?month|day|dd|mday", re.IGNORECASE),
}
_PART_LIMITS = {"year": 2200, "month": 12, "day": 31}
_CLOCK = re.compile(r"(crs_?)?(dep|departure|start|local|clock)?_?time|hhmm", re.IGNORECASE)


def _first_of(
    columns: Mapping[str, Sequence[str]], name: re.Pattern[str], limit: int
) -> str | None:
    for column, values in columns.items():
        is_named = name.fullmatch(column) is not None
        if is_named and values and all(v.isdigit() and int(v) <= limit for v in values):
            return column
    return None


def _time_pattern(values: Sequence[str]) -> str:
    value = values[0]
    hour = "HH" if all(one.index(":") == 2 for one in values) else "H"
    pattern = f"{hour}:mm" if value.count(":") == 1 else f"{hour}:mm:ss"
    symbol = next((symbol for symbol in ".," if symbol in value), "")
    return f"{pattern}{symbol}{'S' * len(value.partition(symbol)[2])}" if symbol else pattern


def _span(times: Sequence[int]) -> tuple[int | None, int | None]:
    return (min(times), max(times)) if times else (None, None)


def name_rank(name: str) -> int:
    """The smaller, the more it is the name of a time; below ``len(NAMES)`` it is one of those."""
    short = name.lower().rpartition(".")[2]
    if short in NAMES:
        return NAMES.index(short)
    return len(NAMES) + (_LIKE_A_TIME.search(name) is None)


def _why_none(columns: Mapping[str, Sequence[str]]) -> str:
    weekday = next((name for name, values in columns.items() if names_weekday(values)), None)
    if weekday is not None:
        value = columns[weekday][0]
        zone = " Z" if re.search(r" [+-]\d{4} ", value) else ""
        pattern = "dd MMM yyyy HH:mm:ss z" if "," in value else f"MMM dd HH:mm:ss{zone} yyyy"
        return (
            f"`{weekday}` is a time with the name of a weekday ({value[:40]!r}), which no pattern "
            f"of Spark reads; write the source by hand, with `{weekday}` as a STRING, and the time "
            f"from behind the day on, as in time = "
            f"\"to_timestamp(substring({weekday}, {value.find(' ') + 2}), '{pattern}')\""
        )
    return (
        "no column holds points in time: looked for ISO 8601, the usual dates with a time of day, "
        "and numbers of seconds, milliseconds, micro- or nanoseconds since 1970; write the source "
        "by hand, with what it is made of: time = \"to_timestamp(day, 'yyyyMMdd')\", or "
        "timestamp_format = 'epoch_us' for numbers that begin elsewhere"
    )
