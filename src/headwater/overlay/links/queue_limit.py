"""What may wait on a link: so many seconds of what it carries, and not so many bytes.

4 MiB before a link of 200 kbit/s are 168 s, in which summaries die of age and come again. So the
limit goes by the measured rate, or by the link's budget where that is less. A queue that empties
at once shows little: sockets swallow some tens of kilobytes on any link. Therefore the limit is
never more than what has left lately and a little beyond, and doubles as that does, as TCP's own
window does in its slow start.
"""

from __future__ import annotations

from headwater.algebra.drain_rate import DrainRate

CHUNK_BYTES = 16 * 1024
"""The least that may wait: what is written at once."""
FIRST_BYTES = 4 * CHUNK_BYTES
"""On a link of which nothing is known."""


def queue_bytes_max(
    rate: DrainRate, *, queue_s_max: float, budget: float | None = None, now_s: float
) -> int:
    """``budget`` in bytes a second."""
    measured = rate.bytes_per_s(now_s=now_s)
    shown = FIRST_BYTES + int(rate.left_bytes)
    known = [one for one in (measured, budget) if one is not None]
    carries = shown if not known else min(shown, int(queue_s_max * min(known)))
    return max(CHUNK_BYTES, carries)
