"""What the root asks of the sites for the largest groups of one pane, as acknowledgements tell it.

A request is idempotent: whoever has answered it has sent all that it names, and tells so with what
it then still keeps back (``Remainder.asked``). So it is told again until it was heard, and needs no
answer of its own. A later one of the same pane, with a higher number, takes its place; it asks for
all that the earlier one did, so that a site that missed one misses nothing.
"""

from __future__ import annotations

from math import isfinite

import msgspec

TOP_REQUESTS_MAX = 16
"""In one acknowledgement, each of another pane; those of others wait."""
TOP_KEYS_MAX = 1_024
"""Groups that one request names; where more are in question, the root asks for all above a lower
value instead."""
NAME_BYTES = 4
"""Of a group: a part of its hash. A request goes to all sites, so names are the longest part of a
search; whoever shares a name with a group that is asked for is sent, too."""


class TopRequest(msgspec.Struct, frozen=True, array_like=True):
    pane: int
    number: int
    """Of the acknowledgement that told it first. No two requests of a pane have the same, whatever
    life of the root they are of."""
    least: float
    """Send all groups with so much in the column of which the largest are wanted, if it is not sent
    yet."""
    keys: tuple[int, ...] = ()
    """And the groups with these names, rising, whatever they have."""

    def fault(self) -> str | None:
        """What is wrong with it, whoever has written it; None: nothing."""
        if not isfinite(self.least) or self.least < 0.0:
            return f"request for the largest: wanted a value from 0 on, got {self.least}"
        is_named = all(0 <= key < 1 << 8 * NAME_BYTES for key in self.keys)
        is_long = len(self.keys) > TOP_KEYS_MAX
        if is_long or not is_named or list(self.keys) != sorted(set(self.keys)):
            return (
                f"request for the largest: wanted at most {TOP_KEYS_MAX} groups, rising and each "
                f"once, got {len(self.keys)}"
            )
        return None
