"""How old live summaries are when they arrive at the root: a value.

The root tells it to the sites, so that they know when it is too late to send something for the
first answer of a window. Of the newest arrivals all but one in twenty were not older.
"""

from __future__ import annotations

import msgspec

ARRIVALS_MAX = 100
"""Of so many newest arrivals."""
ARRIVALS_MIN = 5
"""With fewer nothing is told of them."""


class ArrivalAges(msgspec.Struct, frozen=True):
    newest: tuple[float, ...] = ()

    def with_(self, age_s: float) -> ArrivalAges:
        return ArrivalAges((*self.newest[1 - ARRIVALS_MAX :], age_s))

    @property
    def usual_s(self) -> float | None:
        """
        >>> ArrivalAges((0.1,) * 19 + (9.0,)).usual_s, ArrivalAges((0.1,) * 9 + (9.0,)).usual_s
        (0.1, 9.0)
        >>> ArrivalAges((0.1,)).usual_s is None
        True
        """
        if len(self.newest) < ARRIVALS_MIN:
            return None
        return sorted(self.newest)[max(0, -(-len(self.newest) * 19 // 20) - 1)]
