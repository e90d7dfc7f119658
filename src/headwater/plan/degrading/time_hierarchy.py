"""Lengths of coarse panes: each a multiple of the pane, and of the length before it.

Were any length allowed, two sites that had coarsened to five and to six seconds would meet at
thirty (JetStream, section 5.2). So all choose from one hierarchy, and a coarse pane starts at a
multiple of its length.
"""

from __future__ import annotations

from collections.abc import Iterator

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
HIERARCHY_US = (
    *(SECOND, 5 * SECOND, 10 * SECOND, 30 * SECOND),
    *(MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE),
    *(HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR),
)


def coarse_lengths(pane_us: int) -> Iterator[int]:
    """Those that panes of this length can be put together to.

    >>> [length // SECOND for length in coarse_lengths(10 * SECOND)][:3]
    [30, 60, 300]
    >>> list(coarse_lengths(7 * SECOND))
    []
    """
    return (one for one in HIERARCHY_US if one > pane_us and one % pane_us == 0)
