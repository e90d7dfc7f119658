"""What is said of columns that are near the truth instead of equal to it.

*Bounds are certain, or say how likely*: a bound says what it is relative to, how large it is, and
in which share of cases it holds. *Approximate never passes for exact*: an answer lists the columns
that have one, and whether they decided which rows it has.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.bounds import Name

BOUNDED_MAX = 1_000
"""Columns; as many as an answer may have."""


class BoundKind(StrEnum):
    """What the size of a bound is a share of."""

    VALUE = "value"
    """The true value itself."""
    RANK = "rank"
    """The number of values: so far away in their order the value may lie."""
    COUNT = "count"
    """The number of records: by so many a count may be wrong."""


class Bound(msgspec.Struct, frozen=True, array_like=True):
    """How far from the truth a value may be."""

    kind: BoundKind
    size: Annotated[float, Meta(ge=0)]
    confidence: Annotated[float, Meta(gt=0, le=1)] = 1.0
    """The share of cases in which it holds; 1: always."""

    def text(self) -> str:
        """
        >>> Bound(BoundKind.VALUE, 0.01).text()
        'within 1% of the value'
        >>> Bound(BoundKind.RANK, 0.0133, 0.99).text()
        'within 1.33% of the ranks in 99% of cases'
        """
        of = {"value": "of the value", "rank": "of the ranks", "count": "of all records"}[self.kind]
        likely = "" if self.confidence == 1 else f" in {self.confidence * 100:.4g}% of cases"
        return f"within {self.size * 100:.3g}% {of}{likely}"


class BoundedColumn(msgspec.Struct, frozen=True, array_like=True):
    """A column of an answer that is not exact, whatever was read."""

    column: Name
    bound: Bound
    is_derived: bool = False
    """It is computed of values with this bound, and may be further from the truth than they."""

    def text(self) -> str:
        """
        >>> BoundedColumn("users", Bound(BoundKind.VALUE, 0.1, 0.95)).text()
        'users is within 10% of the value in 95% of cases'
        """
        how = "is computed of what is" if self.is_derived else "is"
        return f"{self.column} {how} {self.bound.text()}"


class Bounded(msgspec.Struct, frozen=True):
    """What of an answer is not exact, though all records are in it."""

    columns: Annotated[tuple[BoundedColumn, ...], Meta(max_length=BOUNDED_MAX)] = ()
    rows: bool = False
    """HAVING, ORDER BY or LIMIT goes by such a value: which rows there are is bounded, too."""
    exact_otherwise: bool = False
    """But for that the answer would be exact; filled in with each answer."""

    def __bool__(self) -> bool:
        return bool(self.columns) or self.rows

    def lines(self) -> Iterable[str]:
        """For people, a sentence each."""
        yield from (one.text() for one in self.columns)
        if self.rows:
            yield "which rows there are, or their order, goes by such a value"

    def of(self, column: str) -> BoundedColumn | None:
        return next((one for one in self.columns if one.column == column), None)


NOT_BOUNDED = Bounded()
