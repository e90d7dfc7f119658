"""What a query lets its sites keep back: the errors that were asked for, and what follows.

It travels with the query. A site looks at each pane once, when it closes it: groups that are off by
no more than each column allows stay, the others leave. What stays is told with the close, as one
remainder for each column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from math import isfinite
from typing import Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.bounds import Name
from headwater.algebra.remainders.error_bound import ErrorBound, ErrorForm
from headwater.algebra.remainders.remainder import Remainders
from headwater.algebra.remainders.share_table import Dealing

WITHHELD_COLUMNS_MAX = 64
"""Columns of one query that have a bound."""


class Finally(StrEnum):
    """What becomes of what was withheld."""

    EXACT = "exact"
    """It follows, when all that is due has arrived."""
    BOUNDED = "bounded"
    """It stays where it is."""


class ToleratedColumn(msgspec.Struct, frozen=True, array_like=True):
    """One column of the answer and how far it may be off."""

    column: Name
    """As the answer calls it."""
    partial: Name
    """What of a summary's row it goes by."""
    form: ErrorForm
    size: float
    is_largest: bool = False
    """A maximum of values that are never negative: of several sites the worst error counts, and
    all may be off by the whole bound."""

    @property
    def bound(self) -> ErrorBound:
        return ErrorBound(self.form, self.size)


class ChosenRows(msgspec.Struct, frozen=True):
    """An answer has only the rows that are largest by one of these columns: ORDER BY column DESC
    LIMIT n."""

    column: Name
    """As the answer calls it."""
    count: Annotated[int, Meta(ge=1)]
    is_never_negative: bool
    """What is kept back can only be missing, and makes no value too large."""


class Tolerance(msgspec.Struct, frozen=True):
    """Of one query; every column that an aggregate makes is in it."""

    columns: Annotated[
        tuple[ToleratedColumn, ...], Meta(min_length=1, max_length=WITHHELD_COLUMNS_MAX)
    ]
    finally_: Finally = Finally.BOUNDED
    sites: Annotated[int, Meta(ge=0)] = 0
    """Among how many an absolute bound is dealt out, at least all that are asked; 0: nobody knows,
    and nothing is withheld by one."""
    chosen: ChosenRows | msgspec.UnsetType = msgspec.UNSET
    """Which rows an answer has; unset: all."""
    dealing: Dealing | msgspec.UnsetType = msgspec.UNSET
    """From which pane on shares of an absolute bound move; unset: they stay even."""

    def fault(self, partials: Mapping[str, str]) -> str | None:
        """What is wrong with it, whoever has written it; None: nothing. ``partials`` are the
        query's, by name, with the rules that they merge by."""
        for one in self.columns:
            size_max = float("inf") if one.form is ErrorForm.ABSOLUTE else 1.0
            if not isfinite(one.size) or not 0.0 < one.size <= size_max:
                return f"error of {one.column}: wanted a number above 0, got {one.size}"
            if one.is_largest and one.form is not ErrorForm.ABSOLUTE:
                return f"error of {one.column}: wanted a number for a maximum, got {one.form}"
            rule = "max" if one.is_largest else "sum"
            known = [name for name, merge in partials.items() if merge == rule]
            if one.partial not in known:
                return f"error of {one.column}: wanted one of {known}, got {one.partial!r}"
        return self.dealing.fault() if isinstance(self.dealing, Dealing) else None

    def share(self, column: ToleratedColumn, *, panes: int, part: float | None = None) -> float:
        """What one of the sites may keep back of a group in one of a window's panes, of an absolute
        bound: this part of what all may together; None: an even one. Of a maximum all of it."""
        if column.is_largest:
            return column.size
        if part is not None:
            return column.size / panes * part
        return column.size / panes / self.sites if self.sites else 0.0

    def is_even(self, pane: int) -> bool:
        """Whether shares of the pane are those of the install."""
        return not isinstance(self.dealing, Dealing) or pane < self.dealing.first

    @property
    def can_move(self) -> bool:
        """Whether any column has a bound that is dealt out among sites."""
        return any(one.form is ErrorForm.ABSOLUTE and not one.is_largest for one in self.columns)

    def is_stated_by(self, remainders: Remainders) -> bool:
        """Whether they can be what its sites have said."""
        if len(remainders) != len(self.columns):
            return False
        pairs = zip(remainders, self.columns, strict=True)
        return all(said.is_worst == one.is_largest for said, one in pairs)

    def lines(self) -> Iterator[str]:
        """For people, a sentence each."""
        for one in self.columns:
            yield f"{one.column} may be off by {one.bound.text()}"
