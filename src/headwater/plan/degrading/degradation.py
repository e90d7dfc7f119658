"""What sites may do to a query's data where the way is too narrow: operators in an order.

Each operator has levels, the mildest first. All levels of all operators, in the order of the
list, are the *steps* of the query: step 0 is full fidelity, step 1 the first level of the first
operator, and at the last step every operator is at its last level. An operator comes in only when
those before it have given all they have, and goes first.

::

    coarsen(time, 5 s, 10 s), sample(url, 1/4)

    step      0        1        2        3        4
    time      fine     5 s      10 s     10 s     10 s
    sample    all      all      all      1/2      1/4
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from math import isfinite
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from headwater.algebra.bounds import Name

OPERATORS_MAX = 8
"""There are fewer kinds, and each occurs once."""
LEVELS_MAX = 20
"""Of one operator."""
TEXT_MAX = 500

Step = Annotated[int, Meta(ge=0, le=OPERATORS_MAX * LEVELS_MAX)]


class OperatorKind(StrEnum):
    COARSEN_TIME = "coarsen time"
    """Levels are lengths of coarse panes, in microseconds."""
    COARSEN_KEY = "coarsen key"
    """One level, 1: groups by an expression of the key instead of the key."""
    THRESHOLD = "threshold"
    """Levels are parts of the limit up to which groups are kept back; the last is 1."""
    SAMPLE = "sample"
    """Levels are shares of the values of a key: 1/2, 1/4, and so on."""
    TOP = "top"
    """One level: how many of the largest groups are sent."""
    SHRINK = "shrink"
    """Levels are parts of the precision of a sketch."""
    OTHER = "other"
    """One that only a newer version knows: who can't do it declines the query."""

    @classmethod
    def _missing_(cls, _: object) -> OperatorKind:
        return cls.OTHER

    @property
    def falls(self) -> bool:
        """Whether its levels give up more the smaller they are."""
        return self in (OperatorKind.SAMPLE, OperatorKind.SHRINK)


LEVEL_KINDS = (
    OperatorKind.COARSEN_TIME,
    OperatorKind.COARSEN_KEY,
    OperatorKind.SAMPLE,
    OperatorKind.SHRINK,
)
"""Of which each level is a query of its own, a companion."""


class Operator(msgspec.Struct, frozen=True, omit_defaults=True):
    kind: OperatorKind
    levels: Annotated[tuple[float, ...], Meta(min_length=1, max_length=LEVELS_MAX)]
    """The mildest first; what the numbers are the kind says."""
    column: Name = ""
    """Of the answer or the key that it is about; of time none."""
    expression: Annotated[str, Meta(max_length=4_000)] = ""
    """SQL of the coarser key."""
    text: Annotated[str, Meta(max_length=TEXT_MAX)] = ""
    """As it was written, for people."""

    def fault(self) -> str | None:
        """What is wrong with it, whoever has written it."""
        if not all(isfinite(level) and level > 0.0 for level in self.levels):
            return f"{self.kind}: wanted levels above 0, got {self.levels}"
        ordered = sorted(set(self.levels), reverse=self.kind.falls)
        if list(self.levels) != ordered:
            return f"{self.kind}: wanted each level once, the mildest first, got {self.levels}"
        return None


class Level(msgspec.Struct, frozen=True):
    """What one operator does at a step."""

    operator: Operator
    at: int
    """0: nothing; else its level from 1 on."""

    @property
    def size(self) -> float | None:
        """As the operator's levels say; None: it does nothing."""
        return self.operator.levels[self.at - 1] if self.at else None


class Degradation(msgspec.Struct, frozen=True):
    """Of one query."""

    operators: Annotated[tuple[Operator, ...], Meta(min_length=1, max_length=OPERATORS_MAX)]
    """In the order in which they come in."""
    follows: bool = False
    """Whether what the way had no room for comes when it has."""
    backlog_bytes: int | UnsetType = UNSET
    """Of rows that wait unsent: beyond it the oldest leave at a coarser level of time."""
    backlog_age_s: float | UnsetType = UNSET
    """For how long the oldest of them has waited: beyond it likewise."""

    @property
    def bounds_backlog(self) -> bool:
        return self.backlog_bytes is not UNSET or self.backlog_age_s is not UNSET

    def backlog_text(self) -> str:
        """
        >>> Degradation((), backlog_bytes=16_000_000, backlog_age_s=300.0).backlog_text()
        'more than 16,000,000 bytes wait, or something for longer than 300 s'
        """
        size, age_s = self.backlog_bytes, self.backlog_age_s
        told = [] if size is UNSET else [f"more than {size:,} bytes wait"]
        if age_s is not UNSET:
            told.append(f"something {'for' if told else 'waits for'} longer than {age_s:g} s")
        return ", or ".join(told)

    def is_beyond(self, waiting_bytes: int, waited_s: float) -> bool:
        """Whether more waits than may."""
        is_much = self.backlog_bytes is not UNSET and waiting_bytes > self.backlog_bytes
        return is_much or (self.backlog_age_s is not UNSET and waited_s > self.backlog_age_s)

    def fault(self) -> str | None:
        for name in ("backlog_bytes", "backlog_age_s"):
            limit = getattr(self, name)
            if limit is not UNSET and not (isfinite(limit) and limit > 0):
                return f"degrade: {name}: wanted more than 0, got {limit}"
        kinds = [one.kind for one in self.operators]
        twice = next((kind for kind in kinds if kinds.count(kind) > 1), None)
        if twice is not None:
            return f"degrade: `{twice}` occurs twice"
        faults = (one.fault() for one in self.operators)
        return next((f"degrade: {fault}" for fault in faults if fault), None)

    def step_of(self, kind: OperatorKind, level: int) -> int:
        """The first step at which an operator is at this level, or at its last."""
        steps = range(1, self.last_step + 1)
        found = (
            step
            for step in steps
            for one in self.levels_at(step)
            if one.operator.kind is kind and one.at >= level
        )
        return next(found, self.last_step)

    @property
    def last_step(self) -> int:
        """At which all operators are at their last level; 0 is full fidelity."""
        return sum(len(one.levels) for one in self.operators)

    def levels_at(self, step: int) -> Iterator[Level]:
        """What each operator does at a step, in their order; a step beyond the last is the last."""
        left = step
        for one in self.operators:
            at = max(0, min(left, len(one.levels)))
            yield Level(one, at)
            left -= at

    def companion_at(self, step: int) -> int:
        """Which of the query's companions stands for it, the finest is 1; 0: none does."""
        return sum(one.at for one in self.levels_at(step) if one.operator.kind in LEVEL_KINDS)

    def newest_at(self, step: int) -> Level | None:
        """The level by which the step differs from the one before; None: step 0."""
        return next((one for one in reversed(list(self.levels_at(step))) if one.at), None)

    def size_at(self, kind: OperatorKind, step: int) -> float | None:
        """How far an operator goes at a step; None: it does nothing, or is none of the query's."""
        found = (one.size for one in self.levels_at(step) if one.operator.kind is kind)
        return next(found, None)
