"""What an answer says of what sites have kept back: how far its columns may be off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.meaning import Meaning
from headwater.algebra.remainders.remainder import MOST, NOTHING_WITHHELD, Remainder, Remainders
from headwater.algebra.remainders.tolerance import (
    ChosenRows,
    Condition,
    Finally,
    Tolerance,
    ToleratedColumn,
)
from headwater.algebra.remainders.withholding import Floats
from headwater.algebra.windows.coarsening import Coarsening

ROUNDING = 1e-6
"""By which stated errors, which are rounded up, may be above what was asked and it is kept."""


OF_VALUE, OF_RECORDS = "each value", "its records"


class StatedError(msgspec.Struct, frozen=True):
    """One column of an answer."""

    column: str
    asked: str
    """As it was written."""
    largest: float
    """By so much a row may be off, or lack, in the column's unit."""
    share: float | None
    """The same as a share, where that was asked: of the column's total, of the row's own value, or
    of the records of its group."""
    total: float
    """What was kept back of the column over all rows: with it, totals are exact."""
    is_kept: bool
    """Whether that is within what was asked."""
    share_of: str = "total"
    """What the share is one of, as people read it; a meaning only where there is one."""

    @property
    def reached(self) -> float:
        """In the terms in which it was asked."""
        return self.largest if self.share is None else self.share

    def text(self) -> str:
        """
        >>> StatedError("hits", "1 % of total", 12.0, 0.004, 80.0, True).text()
        'hits may be off by 12 (0.4 % of total; asked: 1 % of total)'
        >>> StatedError("p99", "1 %", 3.0, 0.004, 9.0, True, OF_RECORDS).text()
        'p99 may lack 3 records of a group (0.4 % of its records; asked: 1 %)'
        """
        share = "" if self.share is None else f"{self.share * 100:.3g} % of {self.share_of}; "
        missed = "" if self.is_kept else "; NOT kept"
        off = f"be off by {self.largest:g}"
        if self.share_of == OF_RECORDS:
            off = f"lack {self.largest:g} records of a group"
        return f"{self.column} may {off} ({share}asked: {self.asked}{missed})"


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


class UncertainCondition(msgspec.Struct, frozen=True):
    """One comparison of HAVING, and the rows that what was kept back may put on its other side."""

    column: str
    condition: str
    """As it was written."""
    rows: int
    """Rows of the answer that may not fulfil it."""
    of: int
    lacking: tuple[float, float] | None = None
    """Rows that are not in the answer because their value of the column is between these may
    fulfil it; None: there are none such."""

    def text(self) -> str:
        """
        >>> UncertainCondition("hits", "hits > 100", 0, 40, (88.0, 100.0)).text()
        'by hits > 100: 0 of 40 rows may not belong in it, rows with 88 to 100 may be lacking'
        """
        text = f"by {self.condition}: {self.rows} of {self.of} rows may not belong in it"
        if self.lacking is None:
            return text
        first, last = self.lacking
        return f"{text}, rows with {first:g} to {last:g} may be lacking"


class FirstRows(msgspec.Struct, frozen=True):
    """Of an answer whose sites have sent the largest groups alone."""

    column: str
    """By which they are the largest."""
    exact: int
    """So many of the largest are surely the largest over the sites that are in, and exact."""
    of: int
    """That were asked for."""

    def text(self) -> str:
        """
        >>> FirstRows("hits", 100, 100).text()
        'the first 100 rows by hits are exact'
        >>> FirstRows("hits", 3, 100).text(), FirstRows("hits", 0, 100).text()
        ('the first 3 of 100 rows by hits are exact', 'none of the first 100 rows by hits is sure')
        """
        if not self.exact:
            return f"none of the first {self.of} rows by {self.column} is sure"
        count = f"{self.exact}" if self.exact == self.of else f"{self.exact} of {self.of}"
        return f"the first {count} rows by {self.column} are exact"


class StatedErrors(msgspec.Struct, frozen=True):
    """Of one answer."""

    columns: tuple[StatedError, ...] = ()
    keys: int = 0
    """Rows that were kept back; one that several sites keep back counts for each."""
    follows: bool = False
    """Whether they follow: the answer is revised then."""
    chosen: ChosenRows | None = None
    """Which rows the answer has; None: all."""
    uncertain: UncertainRows | None = None
    """Filled in by who publishes the answer; None: every row that it has belongs into it."""
    conditions: tuple[Condition, ...] = ()
    """By which HAVING has chosen its rows."""
    uncertain_by: tuple[UncertainCondition, ...] = ()
    """Of these, those that not all rows are surely on the right side of; filled in likewise."""
    first: FirstRows | None = None
    """Which rows are exact all the same; None: sites were not asked for the largest."""

    def __bool__(self) -> bool:
        return self.keys > 0

    def for_good(self) -> StatedErrors:
        """In a final answer: what was to follow was declined, or is not wanted any more."""
        return msgspec.structs.replace(self, follows=False)

    def off_by(self, column: str) -> float:
        """A row of it, at most."""
        return next((one.largest for one in self.columns if one.column == column), 0.0)

    def lines(self) -> Iterable[str]:
        """For people, a sentence each; nothing where nothing was kept back."""
        if not self:
            return
        yield from (one.text() for one in self.columns)
        later = "they follow" if self.follows else "they do not follow"
        yield f"{self.keys} small groups of sites are not in it; {later}"
        if self.uncertain is not None:
            yield self.uncertain.text()
        yield from (one.text() for one in self.uncertain_by)
        if self.first is not None:
            yield self.first.text()

    def all_lines(self) -> Iterable[str]:
        """The same, and what was asked where nothing was kept back."""
        if self or not self.columns:
            yield from self.lines()
            return
        asked = ", ".join(f"{one.column} {one.asked}" for one in self.columns)
        yield f"nothing kept back (asked: {asked})"


NONE_STATED = StatedErrors()


class ColumnBound(msgspec.Struct, frozen=True):
    """What people ask first of one column, as it stands beside an envelope."""

    column: str
    asked: str
    reached: float
    """In the same terms: a share (0.01 for 1 %), or a number in the column's unit."""
    is_kept: bool


def in_short(stated: StatedErrors) -> dict[str, Any]:
    """The bound that was asked and reached by column, how many rows were kept back, and a sentence
    for each way in which rows of the answer are not sure: flat, beside the envelope."""
    bound = [ColumnBound(one.column, one.asked, one.reached, one.is_kept) for one in stated.columns]
    unsure = [] if stated.uncertain is None else [stated.uncertain.text()]
    if stated.first is not None and stated.first.exact < stated.first.of:
        unsure.append(stated.first.text())
    return {
        "bound": msgspec.to_builtins(bound),
        "withheld_keys": stated.keys,
        "uncertain": unsure + [one.text() for one in stated.uncertain_by],
    }


def stated_errors(tolerances: Sequence[Tolerance], withheld: Remainders) -> StatedErrors:
    """``tolerances`` are those by which it was kept back: of several, as after settings were
    altered, no column was asked for more than the weakest of them says. Where nothing was kept
    back, what was asked is stated with an error of 0."""
    if not withheld and tolerances:
        withheld = (NOTHING_WITHHELD,) * len(tolerances[0].columns)
    fitting = [one for one in tolerances if len(one.columns) == len(withheld)]
    if not fitting:
        return NONE_STATED
    by_column = zip(*(one.columns for one in fitting), strict=True)
    columns = tuple(map(_stated, by_column, withheld))
    keys = max(remainder.keys for remainder in withheld)
    follows = any(one.finally_ is Finally.EXACT for one in fitting)
    chosen, conditions = fitting[0].chosen, fitting[0].conditions
    return StatedErrors(
        columns,
        keys,
        follows,
        chosen if isinstance(chosen, ChosenRows) else None,
        conditions=conditions if isinstance(conditions, tuple) else (),
    )


def _stated(asked: tuple[ToleratedColumn, ...], remainder: Remainder) -> StatedError:
    weakest: dict[ErrorForm, ToleratedColumn] = {}
    for one in asked:
        known = weakest.setdefault(one.form, one)
        weakest[one.form] = max(known, one, key=_size)
    is_single, share, share_of = len(weakest) == 1, None, "total"
    if ErrorForm.TOTAL in weakest:
        share = _share_of_total(remainder)
    elif is_single and ErrorForm.VALUE in weakest:
        is_of_records = asked[0].meaning is Meaning.RECORDS
        share, share_of = remainder.share, OF_RECORDS if is_of_records else OF_VALUE
    reached = remainder.largest if share is None or not is_single else share
    return StatedError(
        column=asked[0].column,
        asked=" or ".join(weakest[form].bound.text() for form in ErrorForm if form in weakest),
        largest=remainder.largest,
        share=share,
        total=remainder.total,
        is_kept=reached <= _allowed(weakest, remainder) * (1.0 + ROUNDING),
        share_of=share_of,
    )


def _allowed(weakest: dict[ErrorForm, ToleratedColumn], remainder: Remainder) -> float:
    """By one form, its own size. By several each site and pane keeps to one of them, so that what
    they allow together is their sum, in the column's unit."""
    if len(weakest) == 1:
        return next(iter(weakest.values())).size
    sizes = {form: one.size for form, one in weakest.items()}
    shares = sizes.get(ErrorForm.TOTAL, 0.0) + sizes.get(ErrorForm.VALUE, 0.0)
    return shares * remainder.of + sizes.get(ErrorForm.ABSOLUTE, 0.0)


def _size(column: ToleratedColumn) -> float:
    return column.size


def as_level(remainders: Remainders, *, finer: Coarsening, level: Coarsening) -> Remainders:
    """What pieces of a finer series lack in a window of the level.

    A group of a coarser key lacks what all of its finer ones do, which may be all that was kept
    back (of shares of a group's own value the worst still counts: Σw ≤ max R · Σv). Of a sample a
    group lacks what it lacks elsewhere, and of what was kept back of all groups there is as much
    in it as there is of groups, on average.
    """
    is_coarser = bool(level.key) and not finer.key
    share = 2.0 ** (finer.halvings - level.halvings)
    return tuple(
        msgspec.structs.replace(
            one,
            largest=max(one.largest, one.total) if is_coarser else one.largest,
            total=one.total * share,
        )
        for one in remainders
    )


def uncertain_rows(stated: StatedErrors, values: Floats) -> UncertainRows | None:
    """``values`` are those of the answer's rows in the column by which they were chosen; NULL,
    which an order puts last, is -inf.

    A row that was left out is at most as large as the least one that was not, before what was kept
    back of it is added; and one that nobody sent is at most as large as that alone. So whoever is
    larger than both by what may be off is sure. Where values may be negative, so may be what was
    kept back, and the row itself may be too large by as much.
    """
    chosen = stated.chosen
    if chosen is None or not stated or not len(values):
        return None
    off = stated.off_by(chosen.column)
    least = float(np.fmin.reduce(values))
    floor = max(least, 0.0) if len(values) >= chosen.count else 0.0
    below = floor + off * (1.0 if chosen.is_never_negative else 2.0)
    rows = int((values < below).sum())
    return UncertainRows(chosen.column, below, rows, len(values)) if rows else None


def uncertain_by(
    stated: StatedErrors, values: Mapping[str, Floats]
) -> tuple[UncertainCondition, ...]:
    """``values`` are those of the answer's rows, by column.

    The truth of a row is at most by as much larger as may be off, and at most by as much smaller
    where values may be negative. So a row that fulfils a condition with the worst of both is sure;
    and one that was left out may belong in the answer only if it would with the best.
    """
    if not stated:
        return ()
    found = (_near(one, stated.off_by(one.column), values[one.column]) for one in stated.conditions)
    return tuple(one for one in found if one.rows or one.lacking is not None)


def _near(condition: Condition, off: float, values: Floats) -> UncertainCondition:
    too_large = 0.0 if condition.is_never_negative else off
    wants_more, number = condition.wants_more, condition.number
    worst = values - too_large if wants_more else values + off
    rows = int(np.count_nonzero(~_COMPARE[condition.comparison](worst, number)))
    lacking = (number - off, number) if wants_more else (number, number + too_large)
    is_lacking = lacking[0] < lacking[1]
    if wants_more and condition.is_never_negative:
        lacking = (max(lacking[0], min(0.0, number)), number)
    return UncertainCondition(
        condition.column, condition.text(), rows, len(values), lacking if is_lacking else None
    )


_COMPARE: dict[str, Callable[[Floats, float], NDArray[np.bool_]]] = {
    ">": np.greater,
    ">=": np.greater_equal,
    "<": np.less,
    "<=": np.less_equal,
}


def _share_of_total(remainder: Remainder) -> float:
    """Of the total of the sites and panes that have withheld something: at most that of all."""
    if not remainder:
        return 0.0
    return min(remainder.largest / remainder.of, MOST) if remainder.of > 0.0 else 1.0
