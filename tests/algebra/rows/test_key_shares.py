"""Shares of rows: equal keys are in one share, in whatever table they come, and shares are even."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from headwater.algebra.rows.key_shares import END_BYTES, shares
from headwater.algebra.rows.types import arrow_type

COUNT = 8
ALIKE: dict[str, list[tuple[Any, Any]]] = {
    "double": [(0.0, -0.0), (math.nan, -math.nan), (1.5, 1.5), (None, None)],
    "float": [(0.0, -0.0), (math.nan, -math.nan), (None, None)],
    "boolean": [(True, True), (None, None)],
    "bigint": [(-(2**63), -(2**63)), (7, 7), (None, None)],
    "decimal(38,4)": [(Decimal("1.5"), Decimal("1.5000")), (None, None)],
    "string": [("", ""), ("é", "é"), ("x" * 1_000, "x" * 1_000), (None, None)],
    "binary": [(b"\x00", b"\x00"), (None, None)],
    "date": [(date(1, 1, 1), date(1, 1, 1)), (None, None)],
    "timestamp": [(datetime(1969, 12, 31, tzinfo=UTC),) * 2, (None, None)],
}
"""By type: values that are one key."""


def share_of(value: Any, type_name: str, *, behind: list[Any]) -> int:
    """Where other values stand before it."""
    keys = pa.array([*behind, value], arrow_type(type_name))
    rows = pa.table({"k": keys, "n": range(len(keys))})
    (found,) = [s for s, part in shares(rows, ["k"], COUNT) if len(behind) in part["n"].to_pylist()]
    return found


@pytest.mark.parametrize("type_name", ALIKE)
def test_equal_keys_are_in_one_share_wherever_they_stand(type_name: str) -> None:
    others = [value for pair in ALIKE[type_name] for value in pair]
    for one, other in ALIKE[type_name]:
        alone = share_of(one, type_name, behind=[])
        assert share_of(other, type_name, behind=others) == alone
        sliced = pa.table({"k": pa.array([*others, other], arrow_type(type_name))}).slice(
            len(others)
        )
        assert [share for share, _ in shares(sliced, ["k"], COUNT)] == [alone]


MANY: dict[str, list[Any]] = {
    "bigint": list(range(4_000)),
    "double": [n / 7 for n in range(4_000)],
    "decimal(38,4)": [Decimal(n) for n in range(4_000)],
    "timestamp": [datetime.fromtimestamp(n, UTC) for n in range(4_000)],
    "string": [f"https://example.org/{'way/' * 30}{n}" for n in range(4_000)],
}


@pytest.mark.parametrize("type_name", MANY)
@pytest.mark.parametrize("salt", [0, 1])
def test_shares_are_even_and_each_row_is_in_one(type_name: str, salt: int) -> None:
    rows = pa.table({"k": pa.array(MANY[type_name], arrow_type(type_name)), "n": range(4_000)})
    sizes: Counter[int] = Counter()
    seen: list[int] = []
    for share, part in shares(rows, ["k"], COUNT, salt=salt):
        sizes[share] += part.num_rows
        seen += part["n"].to_pylist()
    assert sorted(seen) == list(range(4_000))
    assert len(sizes) == COUNT
    assert max(sizes.values()) < 2 * 4_000 / COUNT


def test_another_salt_divides_a_share_further() -> None:
    rows = pa.table({"k": range(4_000)})
    first = next(part for share, part in shares(rows, ["k"], COUNT) if share == 3)
    assert {share for share, _ in shares(first, ["k"], COUNT, salt=1)} == set(range(COUNT))


def test_texts_that_differ_in_their_middle_alone_share_a_place_and_lose_nothing() -> None:
    ends = "x" * END_BYTES
    rows = pa.table({"k": [f"{ends}{n:03}{ends}" for n in range(100)]})
    ((_, part),) = shares(rows, ["k"], COUNT)
    assert part.equals(rows)
