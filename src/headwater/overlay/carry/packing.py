"""How many bytes rows take on a link, beside what they take in memory: learned from what was sent.

A site counts its rows as they lie in memory, a link counts what it carries, and between the two
stand the encoding and its compression: rows of a hundred groups take a fifth on the wire, those of
one take twice as much. Whoever compared the two as they are would take links for slower than they
are. So of each update of the site's own, which is encoded to be signed, both sizes are noted, and
what a link says of itself is told in bytes of memory.
"""

from __future__ import annotations

QUERIES_MAX = 1_024
KEEPS = 0.8
"""Of what the sum of former updates weighs, with each new one: the last four or five count."""
SHARE_MIN, SHARE_MAX = 1 / 32, 4.0
"""Whatever one update was like, the next may be unlike it."""


class Packing:
    def __init__(self) -> None:
        self._sums: dict[str, tuple[float, float]] = {}
        """By query: on the wire, in memory."""

    def learn(self, query: str, *, packed_bytes: int, rows_bytes: int) -> None:
        """Of one update."""
        if packed_bytes <= 0 or rows_bytes <= 0:
            return
        if query not in self._sums and len(self._sums) >= QUERIES_MAX:
            self._sums.clear()
        packed, rows = self._sums.get(query, (0.0, 0.0))
        self._sums[query] = (packed * KEEPS + packed_bytes, rows * KEEPS + rows_bytes)

    def share(self, query: str) -> float:
        """Bytes on the wire for a byte in memory; 1.0 where nothing was sent yet.

        >>> packing = Packing()
        >>> packing.learn("q", packed_bytes=2_000, rows_bytes=10_000)
        >>> packing.share("q"), packing.share("another")
        (0.2, 1.0)
        """
        sums = self._sums.get(query)
        return 1.0 if sums is None else min(max(sums[0] / sums[1], SHARE_MIN), SHARE_MAX)
