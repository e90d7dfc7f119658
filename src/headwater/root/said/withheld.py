"""What an answer says of what sites have kept back: how far its columns may be off."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np

from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.remainder import Remainder, Remainders
from headwater.algebra.remainders.tolerance import ChosenRows, Finally, Tolerance
from headwater.algebra.remainders.withholding import Floats

ROUNDING = 1e-6
"""By which stated errors, which are rounded up, may be above what was asked and it is kept."""


class StatedError(msgspec.Struct, frozen=True):
    """One column of an answer."""

    column: str
    asked: str
    """As it was written."""
    largest: float
    """By so much a row may be off, or lack, in the column's unit."""
    share: float | None
    """The same as a share of the column's total, where that was asked."""
    total: float
    """What was kept back of the column over all rows: with it, totals are exact."""
    is_kept: bool
    """Whether that is within what was asked."""

    def text(self) -> str:
        """
        >>> StatedError("hits", "1 % of total", 12.0, 0.004, 80.0, True).text()
        'hits may be off by 12 (0.4 % of total; asked: 1 % of total)'
        """
        share = "" if self.share is None else f"{self.share * 100:.3g} % of total; "
        missed = "" if self.is_kept else "; NOT kept"
        return f"{self.column} may be off by {self.largest:g} ({share}asked: {self.asked}{missed})"


class UncertainRows(msgspec.Struct, frozen=True):
    """Of an answer that has only the largest rows: those that might not be among them."""

    column: str
    """By which they are the largest."""
    below: float
    """Whoever has less than this in it is one of them; all others are sure."""
    rows: int
    of: int
    """Rows of the answer."""

    def text(self) -> str:
        """
        >>> UncertainRows("hits", 412.0, 3, 100).text()
        '3 of 100 rows may not be among the largest: those with hits below 412'
        """
        those = f"those with {self.column} below {self.below:g}"
        return f"{self.rows} of {self.of} rows may not be among the largest: {those}"


class StatedErrors(msgspec.Struct, frozen=True):
    """Of one answer."""

    columns: tuple[StatedError, ...] = ()
    keys: int = 0
    """Rows that were kept back; one that several sites keep back counts for each."""
    follows: bool = False
    """Whether they follow: the answer is revised then."""
    uncertain: UncertainRows | None = None
    """Filled in by who publishes the answer; None: every row that it has belongs into it."""

    def __bool__(self) -> bool:
        return self.keys > 0

    def lines(self) -> Iterable[str]:
        """For people, a sentence each."""
        if not self:
            return
        yield from (one.text() for one in self.columns)
        later = "they follow" if self.follows else "they stay at their sites"
        yield f"{self.keys} small groups of sites are not in it; {later}"
        if self.uncertain is not None:
            yield self.uncertain.text()


NONE_STATED = StatedErrors()


def stated_errors(tolerance: Tolerance | None, withheld: Remainders) -> StatedErrors:
    if tolerance is None or not withheld:
        return NONE_STATED
    columns = []
    for asked, remainder in zip(tolerance.columns, withheld, strict=True):
        share = _share(remainder) if asked.form is ErrorForm.TOTAL else None
        reached = remainder.largest if share is None else share
        is_kept = reached <= asked.size * (1.0 + ROUNDING)
        columns.append(
            StatedError(
                column=asked.column,
                asked=asked.bound.text(),
                largest=remainder.largest,
                share=share,
                total=remainder.total,
                is_kept=is_kept,
            )
        )
    keys = max(remainder.keys for remainder in withheld)
    return StatedErrors(tuple(columns), keys, tolerance.finally_ is Finally.EXACT)


def uncertain_rows(
    chosen: ChosenRows, stated: StatedErrors, values: Floats
) -> UncertainRows | None:
    """``values`` are those of the answer's rows in the column by which they were chosen; NULL,
    which an order puts last, is -inf.

    A row that was left out is at most as large as the least one that was not, before what was kept
    back of it is added; and one that nobody sent is at most as large as that alone. So whoever is
    larger than both by what may be off is sure. Where values may be negative, so may be what was
    kept back, and the row itself may be too large by as much.
    """
    off = next((one.largest for one in stated.columns if one.column == chosen.column), 0.0)
    if not stated or not len(values):
        return None
    least = float(np.fmin.reduce(values))
    floor = max(least, 0.0) if len(values) >= chosen.count else 0.0
    below = floor + off * (1.0 if chosen.is_never_negative else 2.0)
    rows = int((values < below).sum())
    return UncertainRows(chosen.column, below, rows, len(values)) if rows else None


def _share(remainder: Remainder) -> float:
    """Of the total of the sites and panes that have withheld something: at most that of all."""
    return remainder.largest / remainder.of if remainder.of > 0.0 else 1.0
