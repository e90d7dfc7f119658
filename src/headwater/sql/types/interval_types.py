"""Lengths of time as types: ``interval day to second`` and ``interval year to month``, and the
narrower ones that literals have, such as ``interval minute``.

They live within expressions: no answer has them.
"""

from __future__ import annotations

import re

from sqlglot import exp

from headwater.sql.read.objection import Objection

DAY_TIME = ("day", "hour", "minute", "second")
YEAR_MONTH = ("year", "month")
DAYS_TO_SECONDS = "interval day to second"
YEARS_TO_MONTHS = "interval year to month"
DAYS = "interval day"

_FIELDS = {
    "WEEK": "day",
    "MILLISECOND": "second",
    "MICROSECOND": "second",
    **{field.upper(): field for field in (*DAY_TIME, *YEAR_MONTH)},
}
_AMOUNTS = {
    **dict.fromkeys(("day", "hour", "minute"), r"\d{1,9}"),
    "second": r"\d{1,9}(\.\d{1,9})?",
    **dict.fromkeys(("year", "month"), r"\d{1,6}"),
}
_SPANS = {
    ("year", "month"): r"\d{1,6}-\d{1,2}",
    ("day", "hour"): r"\d{1,9} \d{1,2}",
    ("day", "minute"): r"\d{1,9} \d{1,2}:\d{1,2}",
    ("day", "second"): r"\d{1,9} \d{1,2}:\d{1,2}:\d{1,2}(\.\d{1,9})?",
    ("hour", "minute"): r"\d{1,9}:\d{1,2}",
    ("hour", "second"): r"\d{1,9}:\d{1,2}:\d{1,2}(\.\d{1,9})?",
    ("minute", "second"): r"\d{1,9}:\d{1,2}(\.\d{1,9})?",
}
EXAMPLES = "INTERVAL '5' MINUTES, INTERVAL '1 02:30' DAY TO MINUTE or INTERVAL '1-6' YEAR TO MONTH"


def interval_of(fields: tuple[str, ...], first: str, last: str) -> str:
    """
    >>> interval_of(DAY_TIME, "day", "day"), interval_of(DAY_TIME, "hour", "second")
    ('interval day', 'interval hour to second')
    """
    assert fields.index(first) <= fields.index(last)
    return f"interval {first}" if first == last else f"interval {first} to {last}"


def fields_of(type_: str) -> tuple[str, str] | None:
    """The first and the last field of an interval; None for any other type."""
    if not type_.startswith("interval "):
        return None
    words = type_.removeprefix("interval ").split(" to ")
    return words[0], words[-1]


def family_of(type_: str) -> tuple[str, ...] | None:
    """The fields that an interval may have; None for any other type."""
    fields = fields_of(type_)
    if fields is None:
        return None
    return DAY_TIME if fields[0] in DAY_TIME else YEAR_MONTH


def common_interval(left: str, right: str) -> str | None:
    """
    >>> common_interval("interval day", "interval minute")
    'interval day to minute'
    >>> common_interval("interval day", "interval month")
    """
    family = family_of(left)
    one, other = fields_of(left), fields_of(right)
    if family is None or one is None or other is None or family != family_of(right):
        return None
    first = min(one[0], other[0], key=family.index)
    return interval_of(family, first, max(one[1], other[1], key=family.index))


def interval_arithmetic(operator: str, left: str, right: str, *, is_number: bool) -> str | None:
    """Of times, dates and intervals; None where there is none. ``is_number`` tells whether the side
    that is no interval is a number.

    >>> interval_arithmetic("+", "date", "interval day", is_number=False)
    'date'
    >>> interval_arithmetic("-", "timestamp", "timestamp", is_number=False)
    'interval day to second'
    """
    if operator == "-" and {left, right} <= {"date", "timestamp"}:
        return DAYS if left == right == "date" else DAYS_TO_SECONDS
    if operator == "-" and left == right == "timestamp_ntz":
        return DAYS_TO_SECONDS
    if operator in ("*", "/") and is_number:
        whole = left if operator == "/" else (left if family_of(left) else right)
        family = family_of(whole)
        wide = {DAY_TIME: DAYS_TO_SECONDS, YEAR_MONTH: YEARS_TO_MONTHS}
        return None if family is None else wide[family]
    if operator not in ("+", "-"):
        return None
    if family_of(left) and family_of(right):
        return common_interval(left, right)
    if family_of(left) and operator == "+":
        left, right = right, left
    return _moved(left, right) if family_of(right) else None


def _moved(moment: str, by: str) -> str | None:
    if moment in ("timestamp", "timestamp_ntz"):
        return moment
    if moment != "date":
        return None
    return "date" if family_of(by) == YEAR_MONTH or by == DAYS else "timestamp"


def literal_interval(node: exp.Interval) -> str:
    """The type of ``INTERVAL '…' unit``. Raises ``Objection``."""
    unit, amount = node.args.get("unit"), node.this
    is_text = isinstance(amount, exp.Literal) and amount.is_string
    text = str(amount.name).strip() if is_text else ""
    if isinstance(unit, exp.IntervalSpan):
        found = _span(unit, text)
    else:
        field = _FIELDS.get(_singular(unit.name)) if type(unit) is exp.Var else None
        is_amount = field is not None and re.fullmatch(f"[+-]?{_AMOUNTS[field]}", text)
        found = f"interval {field}" if is_amount else None
    if found is None:
        raise Objection(node, f"this INTERVAL is not one that is available; write {EXAMPLES}")
    return found


def _span(unit: exp.IntervalSpan, text: str) -> str | None:
    fields = unit.this.name.lower(), unit.expression.name.lower()
    shape = _SPANS.get(fields)
    if shape is None or re.fullmatch(f"[+-]?{shape}", text) is None:
        return None
    return interval_of(DAY_TIME if fields[0] in DAY_TIME else YEAR_MONTH, *fields)


def _singular(unit: str) -> str:
    return unit.upper().removesuffix("S")


def named_interval(text: str) -> str | None:
    """The type that a person calls so.

    >>> named_interval("INTERVAL  DAY TO SECOND"), named_interval("interval hour to day")
    ('interval day to second', None)
    """
    words = text.lower().split()
    is_one = words[:1] == ["interval"] and (len(words) == 2 or words[2:3] == ["to"])
    if not is_one or len(words) not in (2, 4):
        return None
    first, last = words[1], words[-1]
    for family in (DAY_TIME, YEAR_MONTH):
        if first in family and last in family and family.index(first) <= family.index(last):
            return interval_of(family, first, last)
    return None
