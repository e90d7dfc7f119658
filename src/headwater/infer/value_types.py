"""Which type the values of a column have, from what they look like.

The narrowest type that holds every value with room to spare: numbers of a sample say little about
the largest one to come, so integers are ``BIGINT``. What only looks like a number (007, a telephone
number) stays text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from headwater.algebra.rows.types import BIGINT_MAX
from headwater.infer.time_formats import is_iso_date

NULLS = ("\\N", "NULL", "null", "NA", "N/A", "n/a", "-", "None", "nil")
"""Texts that stand for a missing value; ``NaN`` is a number."""
MANY = 50
BAD_SHARE_MAX = 0.02
"""Of many values, so few of another kind are mistakes of their lines, and said to be there."""
_INTEGER = re.compile(r"[+-]?\d{1,19}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(NaN|Infinity)")
_PADDED = re.compile(r"[+-]?0\d+")
_TRUTH = frozenset(("true", "false"))
_COMMA_NUMBER = re.compile(r"[+-]?\d+,\d+")


class TypeGuess(msgspec.Struct, frozen=True):
    type: str
    doubt: str = ""
    """What of it is a guess, to follow the column's name."""


def null_text(values: Sequence[str], nulls: Sequence[str] = NULLS) -> str:
    """The one text that keeps values from being numbers, times or the like; empty: there is none.

    >>> null_text(["1", "-", "3"]), null_text(["a", "-"])
    ('-', '')
    """
    present = set(values)
    for null in nulls:
        rest = [value for value in values if value != null]
        if null in present and rest and find_type(rest).type != "STRING":
            return null
    return ""


def find_type(values: Sequence[str]) -> TypeGuess:
    """Of values that are not empty.

    >>> find_type(["1", "-20"]).type, find_type(["1", "2.5"]).type, find_type(["007"]).type
    ('BIGINT', 'DOUBLE', 'STRING')
    """
    if not values:
        return TypeGuess("STRING", "has no value in the sample; taken as text")
    found = _of_all(values)
    if found.type != "STRING" or len(values) < MANY:
        return found
    good = [value for value in values if _of_all([value]).type != "STRING"]
    rest = len(values) - len(good)
    if not 0 < rest <= BAD_SHARE_MAX * len(values) or _of_all(good).type == "STRING":
        return found
    bad = next(value for value in values if _of_all([value]).type == "STRING")
    doubt = f"has {rest} of {len(values)} values of another kind, such as {bad[:40]!r}"
    return TypeGuess(_of_all(good).type, doubt)


def _of_all(values: Sequence[str]) -> TypeGuess:
    if all(_INTEGER.fullmatch(value) for value in values):
        return _integers(values)
    if all(_NUMBER.fullmatch(value) for value in values):
        return TypeGuess("DOUBLE")
    if all(value.lower() in _TRUTH for value in values):
        return TypeGuess("BOOLEAN")
    if all(is_iso_date(value) for value in values):
        return TypeGuess("DATE")
    if all(_COMMA_NUMBER.fullmatch(value) for value in values):
        return TypeGuess("STRING", "looks like numbers with a decimal comma, which stay text")
    return TypeGuess("STRING")


def _integers(values: Sequence[str]) -> TypeGuess:
    if any(_PADDED.fullmatch(value) for value in values):
        return TypeGuess("STRING", "has digits that begin with 0, so it stays text")
    if any(abs(int(value)) > BIGINT_MAX for value in values):
        return TypeGuess("DECIMAL(38, 0)")
    return TypeGuess("BIGINT")
