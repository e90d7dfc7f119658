"""What one query may have of the links that its summaries pass: a weight, and a budget of its own.

Queries that wait for one link share it by weight; what one does not use the others get. A budget is
what one agent, site or relay, sends for the query at most, over all its links together.
"""

from __future__ import annotations

import msgspec

from headwater.algebra.byte_rate import BYTES_PER_S_MAX, rate_text

WEIGHT_MIN = 0.01
WEIGHT_MAX = 100.0
"""Of two queries one may so have ten thousand times what the other has; more is a mistake."""
CONTROL_SHARE = 0.2
"""Of a query's budget: for its states and acknowledgements, which go before its panes."""
STATE_BYTES = 500
"""What a state of one pane and the acknowledgement of it take, headers and all, at the most that
one agent sends of the two."""
STATE_S_MIN = 2.0
"""A root acknowledges no more often."""
STATE_S_MAX = 10.0
"""Beside closes a state tells counts of records that could not be used."""
CLOSE_BYTES = 700
"""A summary of one row with its signature and all headers."""


class LinkShare(msgspec.Struct, frozen=True, omit_defaults=True):
    weight: float = 1.0
    bytes_per_s: float | None = None
    """None: as much as its links carry."""

    @property
    def for_panes(self) -> float | None:
        """What of its budget is left beside states and acknowledgements, which go first."""
        return None if self.bytes_per_s is None else self.bytes_per_s * (1.0 - CONTROL_SHARE)

    def fault(self) -> str | None:
        """What is wrong with it, whoever has written it."""
        if not WEIGHT_MIN <= self.weight <= WEIGHT_MAX:  # not-a-number is in no range
            return f"weight: wanted {WEIGHT_MIN:g} to {WEIGHT_MAX:g}, got {self.weight}"
        rate = self.bytes_per_s
        if rate is not None and not 0.0 < rate <= BYTES_PER_S_MAX:
            return (
                f"budget: wanted more than 0 and at most {rate_text(BYTES_PER_S_MAX)}, got {rate}"
            )
        return None


EVEN = LinkShare()


def least_bytes_per_s(pane_s: float) -> float:
    """A budget that has room for one row a close, beside what is said of the pane.

    >>> rate_text(least_bytes_per_s(10.0)), rate_text(least_bytes_per_s(1.0))
    ('2 kbit/s', '10 kbit/s')
    """
    closes = CLOSE_BYTES / max(pane_s, 1e-6) / (1.0 - CONTROL_SHARE)
    states = STATE_BYTES / min(max(pane_s, STATE_S_MIN), STATE_S_MAX) / CONTROL_SHARE
    return max(closes, states)
