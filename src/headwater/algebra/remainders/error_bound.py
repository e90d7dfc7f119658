"""How far a column of an answer may be from the truth: what the author of a query asks.

Three forms. Each is about the largest error over all keys of a window, over what is covered; a key
that is not in the answer has an error equal to its value.

*Of total*: a share of the column's total over the window. *Of each value*: a share of the key's own
value, so that every key must be sent at least once. *Absolute*: a number in the column's unit.
"""

from __future__ import annotations

from enum import StrEnum
from math import isfinite

import msgspec

from headwater.errors import ConfigurationError


class ErrorForm(StrEnum):
    """What the size of an error bound is measured by."""

    TOTAL = "total"
    VALUE = "value"
    ABSOLUTE = "absolute"


class ErrorBound(msgspec.Struct, frozen=True):
    """Checked when made. Of an average or percentile the form is VALUE, of a group's number of
    records: ``withholding`` says why."""

    form: ErrorForm
    size: float
    """A share (0.01 for 1 %), or a number in the column's unit."""

    def __post_init__(self) -> None:
        if not isfinite(self.size) or self.size <= 0.0:
            raise ConfigurationError(f"error: wanted a number above 0, got {self.size}")
        if self.form is not ErrorForm.ABSOLUTE and self.size > 1.0:
            raise ConfigurationError(f"error: wanted at most 100 %, got {self.size * 100:g} %")

    @property
    def needs_every_key(self) -> bool:
        """Whether a key that was never sent exceeds it, however small it is."""
        return self.form is ErrorForm.VALUE and self.size < 1.0

    def text(self) -> str:
        """
        >>> ErrorBound(ErrorForm.TOTAL, 0.001).text()
        '0.1 % of total'
        >>> ErrorBound(ErrorForm.VALUE, 0.01).text()
        '1 %'
        >>> ErrorBound(ErrorForm.ABSOLUTE, 1_500_000.0).text()
        '1500000'
        """
        if self.form is ErrorForm.ABSOLUTE:
            return f"{self.size:.15g}"
        return f"{self.size * 100:g} %" + (" of total" if self.form is ErrorForm.TOTAL else "")
