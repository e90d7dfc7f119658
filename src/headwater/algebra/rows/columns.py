"""What the rows of a summary are made of: key columns, and partial columns that merge.

Everything that merges rows needs only this much of a query, so it stands below the plan.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec


class Column(msgspec.Struct, frozen=True, array_like=True):
    name: str
    type: str
    """A Spark SQL type as ``simpleString`` writes it: bigint, string, decimal(10,2), …"""


class Partial(msgspec.Struct, frozen=True, array_like=True):
    """One column of partial aggregates in a summary."""

    name: str
    type: str
    merge: str
    """The rule by its name; every aggregate says which is its own (``algebra.aggregates``)."""


class RowLayout(Protocol):
    """What a summary's rows look like; a ``plan.program.Program`` is one."""

    @property
    def keys(self) -> Sequence[Column]: ...

    @property
    def partials(self) -> Sequence[Partial]: ...
