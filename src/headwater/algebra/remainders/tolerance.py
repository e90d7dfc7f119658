"""What a query lets its sites keep back: the errors that were asked for, and what follows.

It travels with the query. A site looks at each pane once, when it closes it: groups that are off by
no more than each column allows stay, the others leave. What stays is told with the close, as one
remainder for each column.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum
from math import isfinite
from typing import Annotated, Literal, TypeAlias, cast

import msgspec
from msgspec import Meta

from headwater.algebra.bounds import Name
from headwater.algebra.remainders.error_bound import ErrorBound, ErrorForm
from headwater.algebra.remainders.meaning import Meaning
from headwater.algebra.remainders.remainder import Remainders
from headwater.algebra.remainders.share_table import Dealing

WITHHELD_COLUMNS_MAX = 64
"""Columns of one query that have a bound."""
CONDITIONS_MAX = 16
"""Comparisons of HAVING beside an error."""
LARGEST_MAX = 100_000
"""Groups beyond are no top."""


FORMS = {Meaning.RECORDS: ErrorForm.VALUE, Meaning.MEMBERS: ErrorForm.ABSOLUTE}
"""Of meanings that have only one."""


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
    """What of a summary's row it goes by; empty: each row is one."""
    form: ErrorForm
    size: float
    is_largest: bool = False
    """A maximum of values that are never negative: of several sites the worst error counts, and
    all may be off by the whole bound."""
    meaning: Meaning = Meaning.ADDED
    """What else it is; ``ADDED`` also beside ``is_largest``, as agents of before write it."""
    among: Name = ""
    """A hidden key: only rows with a value in it count; empty: all do."""

    @property
    def bound(self) -> ErrorBound:
        return ErrorBound(self.form, self.size)

    @property
    def has_total(self) -> bool:
        """Whether what is kept back of all groups can be added up to something."""
        return not self.is_largest and self.meaning is not Meaning.MEMBERS

    @property
    def is_added(self) -> bool:
        """Whether what is kept back is missing from sums."""
        return self.meaning is Meaning.ADDED and not self.is_largest and bool(self.partial)

    def text(self) -> str:
        """
        >>> ToleratedColumn("p99", "n", ErrorForm.VALUE, 0.01, meaning=Meaning.RECORDS).text()
        'p99 may lack 1 % of the records of a group'
        >>> ToleratedColumn("hits", "n", ErrorForm.TOTAL, 0.01).text()
        'hits may be off by 1 % of total'
        """
        if self.meaning is Meaning.RECORDS:
            return f"{self.column} may lack {self.bound.text()} of the records of a group"
        return f"{self.column} may be off by {self.bound.text()}"

    def fault(self, partials: Mapping[str, str], hidden: Collection[str]) -> str | None:
        """What is wrong with it; None: nothing."""
        size_max = float("inf") if self.form is ErrorForm.ABSOLUTE else 1.0
        if not isfinite(self.size) or not 0.0 < self.size <= size_max:
            return f"wanted a number above 0, got {self.size}"
        if self.is_largest and self.form is not ErrorForm.ABSOLUTE:
            return f"wanted a number for a maximum, got {self.form}"
        form = FORMS.get(self.meaning, self.form)
        if self.form is not form or self.meaning is Meaning.LARGEST:
            return f"wanted the form {form} of what is {self.meaning}, got {self.form}"
        if self.among and self.among not in hidden:
            return f"wanted one of {sorted(hidden)} as hidden key, got {self.among!r}"
        rule = "max" if self.is_largest else "sum"
        known = [name for name, merge in partials.items() if merge == rule]
        is_row = self.meaning is Meaning.MEMBERS and not self.partial and bool(self.among)
        if not is_row and self.partial not in known:
            return f"wanted one of {known}, got {self.partial!r}"
        return None


class _ShortColumn(msgspec.Struct, frozen=True, array_like=True):
    """One that is about its values, as it was written before there were other meanings."""

    column: str
    partial: str
    form: ErrorForm
    size: float
    is_largest: bool


class ChosenRows(msgspec.Struct, frozen=True):
    """An answer has only the rows that are largest by one of these columns: ORDER BY column DESC
    LIMIT n."""

    column: Name
    """As the answer calls it."""
    count: Annotated[int, Meta(ge=1)]
    is_never_negative: bool
    """What is kept back can only be missing, and makes no value too large."""


Comparison: TypeAlias = Literal[">", ">=", "<", "<="]


class Condition(msgspec.Struct, frozen=True, array_like=True):
    """One comparison by which HAVING chooses rows."""

    column: Name
    """As the answer calls it; it is one of these columns."""
    comparison: Comparison
    number: float
    is_never_negative: bool
    """What is kept back can only be missing, and makes no value too large."""

    @property
    def wants_more(self) -> bool:
        return self.comparison.startswith(">")

    def text(self) -> str:
        """
        >>> Condition("hits", ">=", 100.0, True).text()
        'hits >= 100'
        """
        return f"{self.column} {self.comparison} {self.number:.12g}"


class Threshold(msgspec.Struct, frozen=True, array_like=True):
    """The bound of one column is a limit: a site raises its own up to it where the way is too
    narrow, in steps, and only then keeps something back by it."""

    column: Name
    """As the answer calls it."""
    least: Annotated[float, Meta(ge=0.0)] = 0.0
    """Its bound where the way is wide enough; 0: nothing is kept back."""


class Largest(msgspec.Struct, frozen=True, array_like=True):
    """Where the way is too narrow, of each pane only the groups are sent that are the largest by
    this column over all sites (``algebra/top``)."""

    column: Name
    """As the answer calls it."""
    count: Annotated[int, Meta(ge=1, le=LARGEST_MAX)]


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
    conditions: (
        Annotated[tuple[Condition, ...], Meta(max_length=CONDITIONS_MAX)] | msgspec.UnsetType
    ) = msgspec.UNSET
    """All of which rows of an answer fulfil; unset: none."""
    dealing: Dealing | msgspec.UnsetType = msgspec.UNSET
    """From which pane on shares of an absolute bound move; unset: they stay even."""
    threshold: Threshold | msgspec.UnsetType = msgspec.UNSET
    """Which bound is one that the link chooses; unset: none, and all of them hold always."""
    largest: Largest | msgspec.UnsetType = msgspec.UNSET
    """Set: in the place of bounds, all of each column may be kept back, but of the largest groups;
    and nothing where the way is wide enough."""

    @property
    def top(self) -> Largest | None:
        return self.largest if isinstance(self.largest, Largest) else None

    @property
    def named_column(self) -> int:
        """Which of the columns a threshold, or the largest groups, go by; else the first."""
        asked = self.top or self.threshold
        named = asked.column if isinstance(asked, Largest | Threshold) else ""
        return next((n for n, one in enumerate(self.columns) if one.column == named), 0)

    @property
    def top_partial(self) -> str:
        """What of a summary's row the largest are the largest by; empty: none are asked for."""
        top = self.top
        named = (one.partial for one in self.columns if top and one.column == top.column)
        return next(named, "")

    @property
    def is_by_link(self) -> bool:
        """Whether nothing is kept back where the way is wide enough."""
        if self.top is not None:
            return True
        return isinstance(self.threshold, Threshold) and self.threshold.least == 0.0

    @property
    def keeps_nothing(self) -> bool:
        """It is by the link, and not raised."""
        if self.top is not None:
            return True
        threshold = self.threshold
        if not isinstance(threshold, Threshold):
            return False
        return any(one.size == 0.0 for one in self.columns if one.column == threshold.column)

    def raised(self, part: float) -> Tolerance:
        """With the bound of a threshold at this part of its limit; 0: where it begins."""
        threshold = self.threshold
        if not isinstance(threshold, Threshold):
            return self
        columns = tuple(
            msgspec.structs.replace(one, size=max(threshold.least, part * one.size))
            if one.column == threshold.column
            else one
            for one in self.columns
        )
        return msgspec.structs.replace(self, columns=columns)

    def as_written(self) -> Tolerance:
        """For its bytes alone: what was signed before stays what it was."""
        return msgspec.structs.replace(self, columns=tuple(map(_as_written, self.columns)))

    def fault(self, partials: Mapping[str, str], hidden: Collection[str] = ()) -> str | None:
        """What is wrong with it, whoever has written it; None: nothing. ``partials`` are the
        query's, by name, with the rules that they merge by, ``hidden`` its hidden keys."""
        for one in self.columns:
            fault = one.fault(partials, hidden)
            if fault is not None:
                return f"error of {one.column}: {fault}"
        if isinstance(self.threshold, Threshold):
            limits = {one.column: one.size for one in self.columns}
            if not 0.0 <= self.threshold.least <= limits.get(self.threshold.column, -1.0):
                return f"threshold: wanted one of {list(limits)} up to its bound"
        if self.top is not None:
            return self._top_fault(self.top)
        return self.dealing.fault() if isinstance(self.dealing, Dealing) else None

    def _top_fault(self, top: Largest) -> str | None:
        known = [one.column for one in self.columns if one.is_added]
        is_alone = self.threshold is msgspec.UNSET and self.dealing is msgspec.UNSET
        if top.column not in known or not is_alone:
            return f"top: wanted one of {known}, and no other bound, got {top.column!r}"
        return None

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
            yield one.text()


def _as_written(one: ToleratedColumn) -> ToleratedColumn:
    if one.meaning is not Meaning.ADDED or one.among:
        return one
    short = _ShortColumn(one.column, one.partial, one.form, one.size, one.is_largest)
    return cast(ToleratedColumn, short)  # read back as the same
