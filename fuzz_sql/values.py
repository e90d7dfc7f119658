"""Values that break things, by the type of their column."""

from __future__ import annotations

import math
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

NULLS = 0.15
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

WORDS = (
    "",
    "a",
    "A",
    "b",
    " b ",
    "é",
    "e\u0301",
    "ß",
    "日本",
    "𝄞",
    "\ue000",
    "a\x00b",
    "%_\\",
    "12",
)
EXACT = (0.0, -0.0, 1.5, -2.25, 3.0, 2.0**40, -(2.0**40), 2.0**-9, math.inf, math.nan)
"""Doubles whose sums are exact in any order, as far as they are numbers at all: of others the order
of adding shows, in one Spark too."""
STEADY = tuple(n / 8 for n in range(-40, 41, 3))
"""For moments, whose rounding grows with what they are made of."""
DAYS = (date(1, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(2026, 3, 29), date(9999, 12, 31))
CLOCK_CHANGES = (
    datetime(2026, 3, 29, 1, tzinfo=UTC),  # Berlin goes forward
    datetime(2026, 10, 25, 1, tzinfo=UTC),  # and back
    datetime(2026, 11, 1, 6, tzinfo=UTC),  # New York goes back
)
ANCHORS = (EPOCH, datetime(2026, 5, 1, tzinfo=UTC), *CLOCK_CHANGES)
BESIDE_US = (0, 1, -1, 4_999_999, 5_000_000, 5_000_001, -10_000_000, 59_999_999, 3_600_000_000)

CHOICES: dict[str, tuple[Any, ...]] = {
    "boolean": (True, False),
    "tinyint": (0, 1, -1, 7, 127, -128),
    "smallint": (0, 1, 300, -32_768, 32_767),
    "int": (0, 1, 2, -7, 404, 2**31 - 1, -(2**31)),
    "bigint": (0, 1, -1, 2**40, -(2**40), 2**62, -(2**62), 2**53 + 1),
    "float": EXACT,
    "double": EXACT,
    "steady": STEADY,
    "string": WORDS,
    "binary": (b"", b"\x00", b"\xff", b"a"),
    "date": DAYS,
    "decimal(10,2)": tuple(map(Decimal, ("0.00", "0.01", "-1.50", "99999999.99", "-99999999.99"))),
    "decimal(20,4)": tuple(map(Decimal, ("0", "0.0001", "-7.5", "9" * 16, "1234.5678"))),
    "decimal(38,0)": tuple(map(Decimal, ("0", "1", "-5", "9" * 38, "-" + "9" * 37))),
    "array<int>": ([], [1], [3, 1, None], [None], [2**31 - 1, -7, 7, 7]),
    "array<string>": ([], [""], ["b", "a", None], ["日本", "a", "a"]),
    "map<string,int>": ({}, {"a": 1}, {"b": 2, "a": None}, {"": 2**31 - 1, "日本": 0}),
}
STEADY_TYPE = "steady"
"""A double, of which only such values come."""


def spark_type(name: str) -> str:
    return "double" if name == STEADY_TYPE else name


def draw_value(type_name: str, chance: random.Random) -> Any:
    """Often nothing."""
    if chance.random() < NULLS:
        return None
    if type_name == "timestamp":
        return draw_time(chance)
    return chance.choice(CHOICES[type_name])


def draw_time(chance: random.Random) -> datetime:
    """On the edges of windows, a microsecond beside them, and where clocks change."""
    at = chance.choice(ANCHORS) + timedelta(seconds=10 * chance.randrange(-3, 4))
    return at + timedelta(microseconds=chance.choice(BESIDE_US))
