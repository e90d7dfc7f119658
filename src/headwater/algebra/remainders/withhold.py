"""Which groups of a closed pane a site keeps back, under the errors that a query allows.

Whole columns at a time. A group stays if no column of it is off by more than that column allows
when the group is not sent at all: its own value. So what is said of a column holds for every group.

Values are looked at as doubles. Where that can change them, stated errors are rounded up by more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from headwater.algebra.remainders.early_rows import Floats, doubles
from headwater.algebra.remainders.error_bound import ErrorForm
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
    """None: all of them are sent. Of several groups one is sent in any case: the pane then has an
    update, which its close is told with. ``early`` is what was sent of the pane before, which a
    share of the site's total is a share of as well; of a group only what is unsent can stay."""
    columns = allowance.tolerance.columns
    values = [doubles(rows, one.partial) for one in columns]
    before = [
        np.concatenate([doubles(table, one.partial) for table in early]) if early else NO_VALUES
        for one in columns
    ]
    allowed = [
        _allowed(one, np.concatenate([sent, v]), allowance)
        for one, sent, v in zip(columns, before, values, strict=True)
    ]
    if rows.num_rows < 2 or not all(most > 0.0 for most in allowed):
        return None
    excess = np.max([np.abs(v) / most for v, most in zip(values, allowed, strict=True)], axis=0)
    order = np.argsort(-excess, kind="stable")
    sent = max(1, int(np.count_nonzero(excess > 1.0)))
    if sent == rows.num_rows:
        return None
    rest = np.sort(order[sent:])
    remainders = tuple(
        _remainder(
            v,
            v[rest],
            sent=float(sent.sum()),
            is_rounded=_is_rounded(rows, one),
            is_worst=one.is_largest,
        )
        for one, sent, v in zip(columns, before, values, strict=True)
    )
    return Withheld(rows.take(pa.array(order[:sent])), rows.take(pa.array(rest)), remainders)


def _allowed(column: ToleratedColumn, values: Floats, allowance: Allowance) -> float:
    """Of each group's value, by all values of the pane; 0: nothing of it may stay."""
    if not np.isfinite(values).all():
        return 0.0
    if column.is_largest and (values < 0.0).any():
        return 0.0  # another site may have sent less than nothing, and then nobody knows
    if column.form is ErrorForm.ABSOLUTE:
        return allowance.tolerance.share(column, panes=allowance.panes, part=allowance.part)
    if column.form is ErrorForm.VALUE or (values < 0.0).any():
        return 0.0  # a group that is not sent is off by all of it
    return column.size * float(values.sum())


def _is_rounded(rows: pa.Table, column: ToleratedColumn) -> bool:
    """Whether what the root adds up may differ from these values by a little."""
    kind = rows.schema.field(column.partial).type
    return bool(pa.types.is_floating(kind)) or (pa.types.is_decimal(kind) and kind.scale > 0)


def _remainder(
    values: Floats, rest: Floats, *, sent: float, is_rounded: bool, is_worst: bool
) -> Remainder:
    largest = float(np.abs(rest).max())
    is_sure = not is_rounded and largest < WHOLE_MAX
    return Remainder(
        largest=largest if is_sure else largest * (1.0 + ROUNDING),
        total=0.0 if is_worst else float(rest.sum()),
        keys=len(rest),
        of=0.0 if is_worst else max(0.0, float(values.sum()) + sent),
        is_worst=is_worst,
    )
