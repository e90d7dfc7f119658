"""The scalar functions that the conformance queries call, each in a line.

A function gets its arguments as values and is not called when one of them is NULL, but for those in
``TAKE_NULLS``.
"""

from __future__ import annotations

import calendar
import datetime as dt
import hashlib
import math
import re
import zlib
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from reference.values import by_value, compare

UTC = dt.UTC
EPOCH = dt.datetime(1970, 1, 1, tzinfo=UTC)
DAY = dt.date(1970, 1, 1)
Function = Callable[..., Any]


def _day(value: Any) -> dt.date:
    if isinstance(value, str):
        return dt.date.fromisoformat(value[:10])
    return value.date() if isinstance(value, dt.datetime) else value


def _time(value: Any) -> dt.datetime:
    if isinstance(value, dt.datetime):
        return value
    if isinstance(value, str):
        at = dt.datetime.fromisoformat(value)
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    return dt.datetime(value.year, value.month, value.day, tzinfo=UTC)


def _micros(value: Any) -> int:
    return (_time(value) - EPOCH) // dt.timedelta(microseconds=1)


def _rounded(value: Any, digits: int = 0, rule: str = ROUND_HALF_UP) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return value
    exact = Decimal(repr(value)) if isinstance(value, float) else _decimal(value)
    found = exact.quantize(Decimal(1).scaleb(-digits), rounding=rule)
    if isinstance(value, float):
        return float(found)
    return int(found) if isinstance(value, int) else Fraction(found)


def _decimal(value: Any) -> Decimal:
    if isinstance(value, Fraction):
        return Decimal(value.numerator) / Decimal(value.denominator)
    return Decimal(value)


def _substr(text: str, first: int, length: int | None = None) -> str:
    start = first - 1 if first > 0 else max(0, len(text) + first) if first < 0 else 0
    return text[start:] if length is None else text[start : start + max(0, length)]


def _trunc(kind: str, at: Any) -> dt.datetime:
    at, kind = _time(at), kind.upper()
    if kind == "WEEK":
        monday = at - dt.timedelta(days=at.weekday())
        return monday.replace(hour=0, minute=0, second=0, microsecond=0)
    fields = {"YEAR": 1, "MONTH": 2, "DAY": 3, "HOUR": 4, "MINUTE": 5, "SECOND": 6}
    kept = list(at.timetuple()[: fields[kind]])
    return dt.datetime(*(kept + [1] * (3 - len(kept)) if len(kept) < 3 else kept), tzinfo=UTC)


def _add_months(day: Any, count: int) -> dt.date:
    day = _day(day)
    month = day.month - 1 + count
    year, month = day.year + month // 12, month % 12 + 1
    return dt.date(year, month, min(day.day, calendar.monthrange(year, month)[1]))


PATTERN = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "EEEE": "%A"}


def _formatted(at: Any, pattern: str) -> str:
    for letters, code in PATTERN.items():
        pattern = pattern.replace(letters, code)
    return _time(at).strftime(pattern)


def _wall(at: Any, zone: str) -> dt.datetime:
    """The clock of a zone, told as if it were UTC's."""
    return _time(at).astimezone(ZoneInfo(zone)).replace(tzinfo=UTC)


def _unwall(at: Any, zone: str) -> dt.datetime:
    return _time(at).replace(tzinfo=ZoneInfo(zone), fold=0).astimezone(UTC)


def _like(pattern: str) -> str:
    return re.escape(pattern).replace("%", ".*").replace("_", ".")


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _div(left: Any, right: Any) -> Any:
    return None if right == 0 else divide(left, right)


def divide(left: Any, right: Any) -> Any:
    if isinstance(left, float) or isinstance(right, float):
        return float(left) / float(right)
    if isinstance(left, int) and isinstance(right, int):
        return left / right
    return Fraction(left) / Fraction(right)


def whole_division(left: Any, right: Any) -> int:
    found = abs(left) // abs(right)
    return int(found if (left < 0) == (right < 0) else -found)


def remainder(left: Any, right: Any) -> Any:
    if isinstance(left, float) or isinstance(right, float):
        return math.fmod(left, right)
    return left - whole_division(left, right) * right


def _title(text: str) -> str:
    return " ".join(word[:1].upper() + word[1:].lower() for word in text.split(" "))


def _translated(text: str, old: str, new: str) -> str:
    table = {ord(one): (new[n] if n < len(new) else None) for n, one in enumerate(old)}
    return text.translate(table)


def _substring_index(text: str, mark: str, count: int) -> str:
    parts = text.split(mark)
    return mark.join(parts[:count] if count > 0 else parts[count:])


def _split_part(text: str, mark: str, count: int) -> str:
    parts = text.split(mark)
    place = count - 1 if count > 0 else len(parts) + count
    return parts[place] if 0 <= place < len(parts) else ""


def _element(of: Any, at: Any) -> Any:
    if isinstance(of, dict):
        return of.get(at)
    return of[at - 1 if at > 0 else at] if abs(at) <= len(of) else None


def _unique(values: list[Any]) -> list[Any]:
    return [one for n, one in enumerate(values) if one not in values[:n]]


FUNCTIONS: dict[str, Function] = {
    # texts
    "upper": str.upper,
    "ucase": str.upper,
    "lower": str.lower,
    "lcase": str.lower,
    "length": len,
    "char_length": len,
    "character_length": len,
    "octet_length": lambda s: len(s.encode()),
    "bit_length": lambda s: 8 * len(s.encode()),
    "trim": lambda s: s.strip(" "),
    "ltrim": lambda s: s.lstrip(" "),
    "rtrim": lambda s: s.rstrip(" "),
    "reverse": lambda s: s[::-1],
    "initcap": _title,
    "concat": lambda *all_of: (
        [one for part in all_of for one in part] if isinstance(all_of[0], list) else "".join(all_of)
    ),
    "substr": _substr,
    "substring": _substr,
    "left": lambda s, n: s[: max(0, n)],
    "right": lambda s, n: s[-n:] if n > 0 else "",
    "repeat": lambda s, n: s * n,
    "space": lambda n: " " * n,
    "lpad": lambda s, n, p=" ": (p * n)[: n - len(s)] + s if len(s) < n else s[:n],
    "rpad": lambda s, n, p=" ": s + (p * n)[: n - len(s)] if len(s) < n else s[:n],
    "replace": lambda s, old, new="": s.replace(old, new),
    "translate": _translated,
    "instr": lambda s, part: s.find(part) + 1,
    "locate": lambda part, s, at=1: s.find(part, at - 1) + 1,
    "ascii": lambda s: ord(s[0]) if s else 0,
    "chr": lambda n: chr(n % 256) if n > 0 else "",
    "startswith": str.startswith,
    "endswith": str.endswith,
    "contains": lambda s, part: part in s,
    "split_part": _split_part,
    "substring_index": _substring_index,
    "regexp_extract": lambda s, p, n=1: found[n] or "" if (found := re.search(p, s)) else "",
    "regexp_replace": lambda s, p, new: re.sub(p, re.sub(r"\$(\d)", r"\\\1", new), s),
    "regexp_like": lambda s, p: re.search(p, s) is not None,
    "regexp_count": lambda s, p: len(re.findall(p, s)),
    "rlike": lambda s, p: re.search(p, s) is not None,
    "md5": lambda s: hashlib.md5(s.encode()).hexdigest(),
    "sha1": lambda s: hashlib.sha1(s.encode()).hexdigest(),
    "crc32": lambda s: zlib.crc32(s.encode()),
    "hex": lambda v: f"{v & (2**64 - 1):X}" if isinstance(v, int) else v.encode().hex().upper(),
    "find_in_set": lambda s, all_of: (
        all_of.split(",").index(s) + 1 if s in all_of.split(",") else 0
    ),
    "levenshtein": lambda a, b: _distance(a, b),
    # numbers
    "abs": abs,
    "negative": lambda x: -x,
    "positive": lambda x: x,
    "sign": lambda x: float((x > 0) - (x < 0)),
    "signum": lambda x: float((x > 0) - (x < 0)),
    "round": _rounded,
    "bround": lambda x, n=0: _rounded(x, n, ROUND_HALF_EVEN),
    "ceil": math.ceil,
    "ceiling": math.ceil,
    "floor": math.floor,
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else math.nan,
    "cbrt": lambda x: math.cbrt(x),
    "exp": math.exp,
    "ln": lambda x: math.log(x) if x > 0 else None,
    "log10": lambda x: math.log10(x) if x > 0 else None,
    "log2": lambda x: math.log2(x) if x > 0 else None,
    "pow": lambda x, y: float(x) ** float(y),
    "power": lambda x, y: float(x) ** float(y),
    "mod": remainder,
    "pmod": lambda x, y: x - y * math.floor(Fraction(x, y)),
    "hypot": math.hypot,
    "degrees": math.degrees,
    "radians": math.radians,
    "sin": math.sin,
    "cos": math.cos,
    "bit_count": lambda x: bin(x & (2**64 - 1)).count("1"),
    "bin": lambda x: f"{x & (2**64 - 1):b}",
    "shiftleft": lambda x, n: _signed(x << n, 64),
    "shiftright": lambda x, n: x >> n,
    "try_add": lambda x, y: x + y,
    "try_subtract": lambda x, y: x - y,
    "try_multiply": lambda x, y: x * y,
    "try_divide": _div,
    "try_mod": lambda x, y: None if y == 0 else remainder(x, y),
    "isnan": lambda x: x != x,
    "width_bucket": lambda x, lo, hi, n: (
        0 if x < lo else n + 1 if x >= hi else int((x - lo) * n / (hi - lo)) + 1
    ),
    "factorial": lambda n: math.factorial(n) if 0 <= n <= 20 else None,
    # times
    "hour": lambda t: _time(t).hour,
    "minute": lambda t: _time(t).minute,
    "second": lambda t: _time(t).second,
    "year": lambda d: _day(d).year,
    "month": lambda d: _day(d).month,
    "day": lambda d: _day(d).day,
    "dayofmonth": lambda d: _day(d).day,
    "quarter": lambda d: (_day(d).month + 2) // 3,
    "dayofweek": lambda d: _day(d).isoweekday() % 7 + 1,
    "weekday": lambda d: _day(d).weekday(),
    "dayofyear": lambda d: _day(d).timetuple().tm_yday,
    "weekofyear": lambda d: _day(d).isocalendar()[1],
    "dayname": lambda d: _day(d).strftime("%a"),
    "monthname": lambda d: _day(d).strftime("%b"),
    "date": _day,
    "to_date": _day,
    "last_day": lambda d: _add_months(_day(d).replace(day=1), 1) - dt.timedelta(1),
    "date_add": lambda d, n: _day(d) + dt.timedelta(n),
    "date_sub": lambda d, n: _day(d) - dt.timedelta(n),
    "datediff": lambda a, b: (_day(a) - _day(b)).days,
    "date_diff": lambda a, b: (_day(a) - _day(b)).days,
    "add_months": _add_months,
    "date_trunc": _trunc,
    "trunc": lambda d, kind: _trunc(kind, d).date(),
    "date_format": _formatted,
    "unix_micros": _micros,
    "unix_millis": lambda t: _micros(t) // 1000,
    "unix_seconds": lambda t: _micros(t) // 1_000_000,
    "unix_timestamp": lambda t: _micros(t) // 1_000_000,
    "unix_date": lambda d: (_day(d) - DAY).days,
    "make_date": dt.date,
    "timestamp_seconds": lambda n: EPOCH + dt.timedelta(seconds=n),
    "to_timestamp": _time,
    "timestamp_millis": lambda n: EPOCH + dt.timedelta(milliseconds=n),
    "timestamp_micros": lambda n: EPOCH + dt.timedelta(microseconds=n),
    "from_utc_timestamp": _wall,
    "to_utc_timestamp": _unwall,
    # arrays, maps and structs
    "split": lambda s, p, n=-1: re.split(p, s, maxsplit=max(0, n - 1)),
    "array_size": len,
    "size": len,
    "cardinality": len,
    "element_at": _element,
    "array_contains": lambda a, v: v in a,
    "array_distinct": _unique,
    "array_max": lambda a: max((v for v in a if v is not None), key=by_value, default=None),
    "array_min": lambda a: min((v for v in a if v is not None), key=by_value, default=None),
    "sort_array": lambda a, up=True: sorted(a, key=by_value, reverse=not up),
    "array_join": lambda a, m: m.join(v for v in a if v is not None),
    "slice": lambda a, at, n: a[at - 1 :][:n],
    "array_position": lambda a, v: a.index(v) + 1 if v in a else 0,
    "map_keys": lambda m: [*m],
    "map_values": lambda m: [*m.values()],
    "sequence": lambda a, b: list(range(a, b + 1)),
    "array_sort": lambda a: sorted(a, key=by_value),
}


def _coalesce(*values: Any) -> Any:
    return next((one for one in values if one is not None), None)


def _most(values: tuple[Any, ...], wanted: int) -> Any:
    there = [one for one in values if one is not None]
    found = there[0] if there else None
    for one in there[1:]:
        found = one if compare(one, found) == wanted else found
    return found


TAKE_NULLS: dict[str, Function] = {
    "coalesce": _coalesce,
    "ifnull": _coalesce,
    "nvl": _coalesce,
    "nvl2": lambda x, yes, no: no if x is None else yes,
    "if": lambda c, yes, no: yes if c else no,
    "nullif": lambda x, y: None if x is not None and y is not None and compare(x, y) == 0 else x,
    "isnull": lambda x: x is None,
    "isnotnull": lambda x: x is not None,
    "equal_null": lambda x, y: (
        (x is None and y is None) if x is None or y is None else compare(x, y) == 0
    ),
    "nanvl": lambda x, y: None if x is None else y if x != x else x,
    "array": lambda *values: [*values],
    "greatest": lambda *values: _most(values, 1),
    "least": lambda *values: _most(values, -1),
    "concat_ws": lambda mark, *all_of: mark.join(
        word
        for one in all_of
        for word in (one if isinstance(one, list) else [one])
        if word is not None
    ),
    "map": lambda *all_of: dict(zip(all_of[::2], all_of[1::2], strict=True)),
    "named_struct": lambda *all_of: dict(zip(all_of[::2], all_of[1::2], strict=True)),
    "isnan": lambda x: x is not None and x != x,
}


def _distance(left: str, right: str) -> int:
    row = list(range(len(right) + 1))
    for n, one in enumerate(left, start=1):
        before, row[0] = row[0], n
        for m, other in enumerate(right, start=1):
            before, row[m] = row[m], min(row[m] + 1, row[m - 1] + 1, before + (one != other))
    return row[-1]
