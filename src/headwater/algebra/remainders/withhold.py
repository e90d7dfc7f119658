"""Which groups of a closed pane a site keeps back, under the errors that a query allows.

Whole columns at a time. A group stays if no column of it is off by more than that column allows
when what is unsent of it is not sent at all. So what is said of a column holds for every group.

The rows of a group of which the state grows (distinct values, slots of a histogram) stay one by
one, the least first, as long as all that stay of the group together are within what is allowed.

Values are looked at as doubles. Where that can change them, stated errors are rounded up by more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headwater.algebra.remainders.early_rows import Floats, doubles
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.key_hash import group_numbers
from headwater.algebra.remainders.remainder import Remainder, Remainders
from headwater.algebra.remainders.tolerance import Tolerance, ToleratedColumn

ROUNDING = 1e-9
"""By which stated errors are larger than what was added up in doubles."""
WHOLE_MAX = 2.0**53
"""Whole numbers below are the same as doubles."""

NO_VALUES: Floats = np.zeros(0)


class Allowance(msgspec.Struct, frozen=True):
    """What one site may keep back of the groups of a pane."""

    tolerance: Tolerance
    panes: int
    """Of a window."""
    part: float | None = None
    """Of an absolute bound: the site's share of the pane; None: an even one."""
    is_rehearsed: bool = False
    """Whether all is sent nevertheless, and only what would have stayed is told."""
    keys: tuple[str, ...] = ()
    """By which rows are groups of an answer."""
    is_growing: bool = False
    """Whether a group has several rows."""

    def raised(self, part: float) -> Allowance:
        """With a threshold at this part of its limit."""
        return msgspec.structs.replace(self, tolerance=self.tolerance.raised(part))

    @property
    def keeps_rest(self) -> bool:
        """Whether nobody asks for what is withheld."""
        return self.tolerance.finally_ == "bounded"


AllowanceOf: TypeAlias = Callable[[str, int], Allowance | None]
"""By query and pane; None: nothing may be kept back of it."""


class Withheld(msgspec.Struct, frozen=True):
    """A pane's rows in two."""

    sent: pa.Table
    """The largest errors first."""
    rest: pa.Table
    remainders: Remainders


class Rehearsed(msgspec.Struct, frozen=True):
    """What a site would have kept back of a pane that it sends whole."""

    rows: int
    """Of the pane."""
    kept: int = 0
    remainders: Remainders = ()


def withhold(
    rows: pa.Table, allowance: Allowance, *, early: Sequence[pa.Table] = ()
) -> Withheld | None:
    """None: all of them are sent. Where none of them must be, the pane has an update without rows,
    which its close is told with. ``early`` is what was sent of the pane before, of which a
    share is a share as well; of a group only what is unsent can stay."""
    if not rows.num_rows or allowance.tolerance.keeps_nothing:
        return None
    look = _Look(rows, allowance, early)
    if look.excess is None:
        return None
    excess = look.excess
    order = np.argsort(-excess, kind="stable")
    sent = int(np.count_nonzero(excess > 1.0))
    if sent == rows.num_rows:
        return None
    rest = np.sort(order[sent:])
    return Withheld(
        rows.take(pa.array(order[:sent])), rows.take(pa.array(rest)), look.remainders(rest)
    )


def keep_but(
    rows: pa.Table, allowance: Allowance, is_sent: NDArray[np.bool_], *, asked: int = 0
) -> Withheld | None:
    """All that is not sent stays, whatever it is; None: nothing is left to stay. ``asked``: the
    newest request that has been answered with it."""
    rest = np.flatnonzero(~is_sent)
    if not len(rest):
        return None
    remainders = _Look(rows, allowance, ()).remainders(rest)
    said = tuple(msgspec.structs.replace(one, asked=asked) for one in remainders)
    return Withheld(rows.filter(pa.array(is_sent)), rows.take(pa.array(rest)), said)


def leaving_rows(
    rows: pa.Table, allowance: Allowance, parts: Sequence[float], *, early: Sequence[pa.Table] = ()
) -> tuple[int, ...]:
    """How many of a pane's rows would leave with a threshold at each of these parts of its limit:
    what each level saves, of rows that are there."""
    return tuple(_leaving(rows, allowance.raised(part), early) for part in parts)


def _leaving(rows: pa.Table, allowance: Allowance, early: Sequence[pa.Table]) -> int:
    count = int(rows.num_rows)
    if not count or allowance.tolerance.keeps_nothing:
        return count
    excess = _Look(rows, allowance, early).excess
    return count if excess is None else int(np.count_nonzero(excess > 1.0))


class _Look:
    """At the rows of one pane. Most groups are one row; those of growing states are several, of
    which some may stay."""

    def __init__(self, rows: pa.Table, allowance: Allowance, early: Sequence[pa.Table]) -> None:
        self._columns = allowance.tolerance.columns
        self._rows = rows
        values = [_values(rows, one) for one in self._columns]
        before = [
            np.concatenate([_values(table, one) for table in early]) if early else NO_VALUES
            for one in self._columns
        ]
        self._values, self._before = values, before
        self._groups, groups_before = self._numbered(rows, allowance, early)
        self._count = int(self._groups.max()) + 1
        self._own = [
            _sums(self._groups, v, self._count) + _sums(groups_before, sent, self._count)
            if one.form is ErrorForm.VALUE
            else NO_VALUES
            for one, v, sent in zip(self._columns, values, before, strict=True)
        ]
        """Of each group, sent and unsent together."""
        allowed = [
            _allowed(one, np.concatenate([sent, v]), own, allowance, self._count)
            for one, v, sent, own in zip(self._columns, values, before, self._own, strict=True)
        ]
        may_stay = [bool(np.max(most) > 0.0) for most in allowed]
        both = zip(may_stay, values, strict=True)
        is_possible = any(may_stay) and all(may or not v.any() for may, v in both)
        self.excess = self._excess(allowed) if is_possible else None
        """Of each row, in units of what may stay; None: nothing may."""

    def _numbered(
        self, rows: pa.Table, allowance: Allowance, early: Sequence[pa.Table]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The groups of rows, and those of rows that were sent before; a number that no row has is
        nobody's."""
        nobody: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        by_value = any(one.form is ErrorForm.VALUE for one in self._columns)
        if not allowance.is_growing and not (by_value and early):
            return np.arange(rows.num_rows), nobody
        keys = list(allowance.keys)
        assert keys, "groups are told apart by keys"
        tables = [pa.table([one.column(k) for k in keys], names=keys) for one in (rows, *early)]
        numbers = group_numbers(pa.concat_tables(tables), keys)
        mine, sent = numbers[: rows.num_rows], numbers[rows.num_rows :]
        return mine, np.minimum(sent, mine.max() + 1)

    def _excess(self, allowed: Sequence[Floats]) -> Floats:
        found = np.zeros(self._rows.num_rows)
        for v, most, one in zip(self._values, allowed, self._columns, strict=True):
            np.maximum(found, _over(np.abs(v), most[self._groups], one), out=found)
        if self._count == self._rows.num_rows:
            return found
        order = np.lexsort((found, self._groups))
        for v, most, one in zip(self._values, allowed, self._columns, strict=True):
            if not one.is_largest:
                together = np.empty_like(found)
                together[order] = _running(np.abs(v)[order], self._groups[order])
                np.maximum(found, _over(together, most[self._groups], one), out=found)
        return found

    def remainders(self, rest: NDArray[np.intp]) -> Remainders:
        return tuple(self._remainder(n, rest) for n in range(len(self._columns)))

    def _remainder(self, column: int, rest: NDArray[np.intp]) -> Remainder:
        one, groups = self._columns[column], self._groups[rest]
        kept = np.zeros(self._count)
        merge = np.maximum if one.is_largest else np.add
        merge.at(kept, groups, np.abs(self._values[column][rest]))
        largest, share = float(kept.max()), 0.0
        if one.form is ErrorForm.VALUE:
            own = self._own[column]
            share = float(np.max(kept / np.where(own > 0.0, own, 1.0)))
        is_sure = not _is_rounded(self._rows, one) and largest < WHOLE_MAX
        up = 1.0 if is_sure else 1.0 + ROUNDING
        total = self._values[column].sum() + self._before[column].sum()
        return Remainder(
            largest=largest * up,
            total=float(self._values[column][rest].sum()) if one.has_total else 0.0,
            keys=len(np.unique(groups)),
            of=max(0.0, float(total)) if one.has_total else 0.0,
            is_worst=one.is_largest,
            share=share * up,
        )


def _values(rows: pa.Table, column: ToleratedColumn) -> Floats:
    """What each row is worth of a column."""
    found = doubles(rows, column.partial) if column.partial else np.ones(rows.num_rows)
    if column.among:
        is_there = rows.column(column.among).is_valid().to_numpy()
        found = np.where(is_there, found, 0.0)
    return found


def _sums(groups: NDArray[np.int64], values: Floats, count: int) -> Floats:
    """By group, of rows that may be of no group of ours."""
    found: Floats = np.zeros(count + 1)
    np.add.at(found, groups, values)
    return found[:count]


def _over(errors: Floats, allowed: Floats, column: ToleratedColumn) -> Floats:
    """In units of what is allowed. Of a group that has nothing yet no share can be told: it is
    sent."""
    is_owed = (errors > 0.0) | (column.form is ErrorForm.VALUE)
    found = np.where(is_owed, np.inf, 0.0)
    return np.divide(errors, allowed, out=found, where=allowed > 0.0)


def _running(values: Floats, groups: NDArray[np.int64]) -> Floats:
    """Sums from the first row of each group on; rows are in the order of their groups."""
    total = np.cumsum(values)
    first = np.flatnonzero(np.diff(groups, prepend=-1))
    lengths = np.diff(np.append(first, len(values)))
    found: Floats = total - np.repeat((total - values)[first], lengths)
    return found


def _allowed(
    column: ToleratedColumn, values: Floats, own: Floats, allowance: Allowance, count: int
) -> Floats:
    """Of each group's value, by all values of the pane; 0: nothing of it may stay."""
    most = 0.0
    is_negative = bool((values < 0.0).any())
    if not np.isfinite(values).all() or (column.is_largest and is_negative):
        pass  # another site may have sent less than nothing, and then nobody knows
    elif column.form is ErrorForm.ABSOLUTE:
        most = allowance.tolerance.share(column, panes=allowance.panes, part=allowance.part)
    elif not is_negative and column.form is ErrorForm.VALUE:
        return column.size * own
    elif not is_negative:
        most = column.size * float(values.sum())
    return np.full(count, most)


def _is_rounded(rows: pa.Table, column: ToleratedColumn) -> bool:
    """Whether what the root adds up may differ from these values by a little."""
    if not column.partial:
        return False
    kind = rows.schema.field(column.partial).type
    return bool(pa.types.is_floating(kind)) or (pa.types.is_decimal(kind) and kind.scale > 0)
