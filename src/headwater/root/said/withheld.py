"""What an answer says of what sites have kept back: how far its columns may be off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.remainder import Remainder, Remainders
from headwater.algebra.remainders.tolerance import Finally, Tolerance, ToleratedColumn

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


class StatedErrors(msgspec.Struct, frozen=True):
    """Of one answer."""

    columns: tuple[StatedError, ...] = ()
    keys: int = 0
    """Rows that were kept back; one that several sites keep back counts for each."""
    follows: bool = False
    """Whether they follow: the answer is revised then."""

    def __bool__(self) -> bool:
        return self.keys > 0

    def lines(self) -> Iterable[str]:
        """For people, a sentence each."""
        if not self:
            return
        yield from (one.text() for one in self.columns)
        later = "they follow" if self.follows else "they stay at their sites"
        yield f"{self.keys} small groups of sites are not in it; {later}"


NONE_STATED = StatedErrors()


def stated_errors(tolerances: Sequence[Tolerance], withheld: Remainders) -> StatedErrors:
    """``tolerances`` are those by which it was kept back: of several, as after settings were
    altered, no column was asked for more than the weakest of them says."""
    fitting = [one for one in tolerances if len(one.columns) == len(withheld)]
    if not fitting or not withheld:
        return NONE_STATED
    by_column = zip(*(one.columns for one in fitting), strict=True)
    columns = tuple(map(_stated, by_column, withheld))
    keys = max(remainder.keys for remainder in withheld)
    follows = any(one.finally_ is Finally.EXACT for one in fitting)
    return StatedErrors(columns, keys, follows)


def _stated(asked: tuple[ToleratedColumn, ...], remainder: Remainder) -> StatedError:
    weakest: dict[ErrorForm, ToleratedColumn] = {}
    for one in asked:
        known = weakest.setdefault(one.form, one)
        weakest[one.form] = max(known, one, key=_size)
    total, single = weakest.get(ErrorForm.TOTAL), len(weakest) == 1
    share = _share(remainder) if total is not None else None
    reached = remainder.largest if share is None or not single else share
    return StatedError(
        column=asked[0].column,
        asked=" or ".join(weakest[form].bound.text() for form in ErrorForm if form in weakest),
        largest=remainder.largest,
        share=share,
        total=remainder.total,
        is_kept=reached <= _allowed(weakest, remainder) * (1.0 + ROUNDING),
    )


def _allowed(weakest: dict[ErrorForm, ToleratedColumn], remainder: Remainder) -> float:
    """By one form, its own size. By several each site and pane keeps to one of them, so that what
    they allow together is their sum, in the column's unit."""
    if len(weakest) == 1:
        return next(iter(weakest.values())).size
    sizes = {form: one.size for form, one in weakest.items()}
    return sizes.get(ErrorForm.TOTAL, 0.0) * remainder.of + sizes.get(ErrorForm.ABSOLUTE, 0.0)


def _size(column: ToleratedColumn) -> float:
    return column.size


def _share(remainder: Remainder) -> float:
    """Of the total of the sites and panes that have withheld something: at most that of all."""
    return remainder.largest / remainder.of if remainder.of > 0.0 else 1.0
