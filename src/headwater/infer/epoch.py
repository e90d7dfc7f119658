"""Numbers that count time since 1970: in which unit.

Seconds of the years 1990 to 2100 are numbers of 9 or 10 digits, and each finer unit has three
digits more, so the size of a number tells its unit; that it is a time at all, its name must help
to tell.

>>> find_unit(["1777636800"]), find_unit(["1777636800.5"]), find_unit(["1777636800123"])
('epoch_s', 'epoch_s', 'epoch_ms')
>>> find_unit(["200", "404"]), find_unit(["1777636800", "1777636800123"])
(None, None)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from headwater.algebra.panes import MICROS

FIRST_S, LAST_S = 631_152_000, 4_102_444_800
"""1990 and 2100."""
UNITS = {"epoch_s": 1, "epoch_ms": 10**3, "epoch_us": 10**6, "epoch_ns": 10**9}
"""By the name of the format, how many of them are a second."""
_NUMBER = re.compile(r"\d{9,19}(\.\d+)?")


def find_unit(values: Sequence[str]) -> str | None:
    """None where they are no such numbers, or of several units."""
    if not values or not all(_NUMBER.fullmatch(value) for value in values):
        return None
    whole = [int(value.partition(".")[0]) for value in values]
    for unit, count in UNITS.items():
        if FIRST_S * count <= min(whole) and max(whole) < LAST_S * count:
            return unit
    return None


def epoch_us(value: str, unit: str) -> int | None:
    """
    >>> epoch_us("1777636800.25", "epoch_s"), epoch_us("1777636800000000123", "epoch_ns")
    (1777636800250000, 1777636800000000)
    """
    if not _NUMBER.fullmatch(value):
        return None
    whole, _, fraction = value.partition(".")
    digits = int(whole + fraction)
    divisor: int = UNITS[unit] * 10 ** len(fraction)
    return digits * MICROS // divisor
