"""Literals that Spark looks at only when a batch runs, looked at before anything is installed.

A bad pattern of a date, an unknown charset, an index of nothing: Spark plans such a query without a
word and then fails every batch of it. Each function below says what is wrong with the arguments of
one call, or None. Patterns must be literals, for only these can be looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from sqlglot import exp

from headwater.plan.sources.java_patterns import regex_fault
from headwater.plan.sources.regex_groups import groups_of
from headwater.plan.sources.time_patterns import pattern_fault
from headwater.plan.zones import zone_fault
from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import sql_of
from headwater.sql.types.call_types import is_integer_literal, name_of
from headwater.sql.types.refused_nodes import brief

Arguments = Sequence[exp.Expr]
Check = Callable[[Arguments], str | None]

CHARSETS = ("US-ASCII", "ISO-8859-1", "UTF-8", "UTF-16BE", "UTF-16LE", "UTF-16", "UTF-32")
DAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
DAY_LENGTHS = (2, 3)
"""A day may be written in full, or with so many letters."""
FORMATTED = re.compile(r"%(?:\d+\$)?[-#+ 0,(<]*\d*(?:\.\d+)?([A-Za-z%])|%")
CONVERSIONS = "bBhHsScCdoxXeEfgGaAn%"


def check_literals(node: exp.Expr) -> None:
    """Raises ``Objection`` for a literal that every batch would fail by."""
    for one in node.walk():
        fault = _fault(one)
        if fault is not None:
            raise Objection(one, fault)


def _fault(node: exp.Expr) -> str | None:
    if isinstance(node, exp.Anonymous):
        check = CHECKS.get(name_of(node))
        return None if check is None else check(node.expressions)
    if isinstance(node, exp.RegexpLike):
        return _regex([node.left, node.right], 1)
    if isinstance(node, exp.Like | exp.ILike):
        above = node.parent
        return _like(node.right, above.expression.name if isinstance(above, exp.Escape) else "\\")
    return None


def _text(arguments: Arguments, position: int) -> str | None:
    """The string literal at this place, if there is one."""
    node = arguments[position] if position < len(arguments) else None
    is_text = isinstance(node, exp.Literal) and node.is_string
    return str(node.name) if is_text and node is not None else None


def _number(arguments: Arguments, position: int) -> int | None:
    node = arguments[position] if position < len(arguments) else None
    is_short = node is not None and is_integer_literal(node) and len(sql_of(node)) <= 12
    return int(sql_of(node)) if is_short and node is not None else None


def _time_pattern(arguments: Arguments, position: int, *, is_read: bool) -> str | None:
    if position >= len(arguments):
        return None
    pattern = _text(arguments, position)
    if pattern is None:
        return f"a pattern is a literal, and `{brief(arguments[position])}` is none"
    fault = pattern_fault(pattern, is_read=is_read)
    return None if fault is None else f"the pattern '{pattern[:60]}' is not Spark's: {fault}"


def _regex(arguments: Arguments, position: int) -> str | None:
    pattern = _text(arguments, position)
    fault = None if pattern is None else regex_fault(pattern)
    return None if fault is None else f"the pattern '{(pattern or '')[:60]}' is not Java's: {fault}"


def _extract(arguments: Arguments) -> str | None:
    pattern, group = _text(arguments, 1), 1 if len(arguments) < 3 else _number(arguments, 2)
    if pattern is not None and group is not None and not 0 <= group <= len(groups_of(pattern)):
        return f"group {group} of a pattern with {len(groups_of(pattern))} groups"
    return _regex(arguments, 1)


def _charset(arguments: Arguments) -> str | None:
    name = _text(arguments, 1)
    if name is None or name.upper() in CHARSETS:
        return None
    return f"charset '{name[:40]}'; wanted {', '.join(CHARSETS)}"


def _zone(arguments: Arguments) -> str | None:
    name = _text(arguments, 1)
    return None if name is None else zone_fault(name)


def _day(arguments: Arguments) -> str | None:
    name = _text(arguments, 1)
    if name is None:
        return None
    word = name.strip().upper()
    is_day = any(day == word or (len(word) in DAY_LENGTHS and day.startswith(word)) for day in DAYS)
    return None if is_day else f"'{name[:40]}' is no day of the week; write 'monday'"


def _not_zero(arguments: Arguments) -> str | None:
    return "parts are numbered from 1, or from -1 backwards" if _number(arguments, 2) == 0 else None


def _share(arguments: Arguments) -> str | None:
    if len(arguments) < 2 or isinstance(arguments[1], exp.Literal):
        return None
    return f"wanted a share in figures, such as 0.5; got `{brief(arguments[1])}`"


def _chosen(arguments: Arguments) -> str | None:
    number = _number(arguments, 0)
    if number is None or 1 <= number < len(arguments):
        return None
    return f"value {number} of {len(arguments) - 1}"


def _like(pattern: exp.Expr, escape: str) -> str | None:
    """An escape stands before %, _ or itself."""
    text = _text([pattern], 0) or ""
    at = 0
    while (at := text.find(escape, at)) >= 0:
        if text[at + 1 : at + 2] not in ("%", "_", escape):
            return f"in a pattern of LIKE {escape!r} stands before %, _ or itself"
        at += 2
    return None


def _format(arguments: Arguments) -> str | None:
    text = _text(arguments, 0) or ""
    wanted = 0
    for match in FORMATTED.finditer(text):
        if match[1] is None or match[1] not in CONVERSIONS:
            return f"format_string: '{match.group()[:20]}' is no conversion; write %s, %d or %f"
        position = re.match(r"%(\d+)\$", match.group())
        takes_next = match[1] not in "n%" and "<" not in match.group()
        wanted = max(wanted, int(position[1][:9])) if position else wanted + takes_next
    have = len(arguments) - 1
    return None if wanted <= have else f"format_string: {wanted} values are written, {have} given"


_READ = partial(_time_pattern, position=1, is_read=True)
_WRITTEN = partial(_time_pattern, position=1, is_read=False)
_REGEX = partial(_regex, position=1)

CHECKS: dict[str, Check] = {
    **dict.fromkeys(["date_format", "from_unixtime"], _WRITTEN),
    **dict.fromkeys(["to_date", "to_timestamp", "to_unix_timestamp", "unix_timestamp"], _READ),
    **dict.fromkeys(["try_to_date", "try_to_timestamp"], _READ),
    **dict.fromkeys(["regexp_count", "regexp_instr", "regexp_like"], _REGEX),
    **dict.fromkeys(["regexp_replace", "regexp_substr"], _REGEX),
    "regexp_extract": _extract,
    **dict.fromkeys(("encode", "decode"), _charset),
    **dict.fromkeys(("from_utc_timestamp", "to_utc_timestamp"), _zone),
    "next_day": _day,
    "split_part": _not_zero,
    "elt": _chosen,
    "format_string": _format,
    **{f"kll_sketch_get_quantile_{kind}": _share for kind in ("bigint", "double", "float")},
}
