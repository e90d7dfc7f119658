"""What the rows of a summary are made of: key columns, and partial columns that merge.

Everything that merges rows needs only this much of a query, so it stands below the plan.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

import msgspec


class Column(msgspec.Struct, frozen=True, array_like=True):
    name: str
    type: str
    """A Spark SQL type as ``simpleString`` writes it: bigint, string, decimal(10,2), …"""


class MergeRule(StrEnum):
    """How one partial column combines, in Spark's semantics; see ``algebra.arrow_rows``.

    Nulls are skipped, and all of nothing is null. SUM is exact for integers and decimals and an
    error where it leaves its type; MIN and MAX order NaN above everything and strings by bytes.
    """

    SUM = "sum"
    MIN = "min"
    MAX = "max"


class Partial(msgspec.Struct, frozen=True, array_like=True):
    """One column of partial aggregates in a summary."""

    name: str
    type: str
    merge: MergeRule


class RowLayout(Protocol):
    """What a summary's rows look like; a ``plan.program.Program`` is one."""

    @property
    def keys(self) -> Sequence[Column]: ...

    @property
    def partials(self) -> Sequence[Partial]: ...
